/* The executors that are built in. */
#ifndef WEFT_EXECUTOR_LIST_H
#define WEFT_EXECUTOR_LIST_H

#include "weft/executor.h"

/* NULL-terminated, in the order of the manual. */
extern const weft_executor *const weft_builtin_executors[];

#endif
