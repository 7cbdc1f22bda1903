/* The backends that are built in. */
#ifndef WEFT_BACKEND_LIST_H
#define WEFT_BACKEND_LIST_H

#include "weft/backend.h"

/* NULL-terminated; the first whose extensions fit a file is its backend. */
extern const weft_backend *const weft_builtin_backends[];

#endif
