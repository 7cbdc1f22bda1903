/* A result as a table for people, from its column kinds alone. */
#ifndef WEFT_CLI_SHOW_RESULT_H
#define WEFT_CLI_SHOW_RESULT_H

#include "base/buffer.h"
#include "weft/result.h"

/* One head line (title, items, time by stages) and a table. */
void weft_show_result(weft_buffer *out, const char *title, const weft_result *r);

#endif
