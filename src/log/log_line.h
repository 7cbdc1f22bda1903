/* One log line, as text (time LEVEL event key=value ...) or as a JSON object. Nothing is allocated; a value that does not fit is
 * cut, the line stays well-formed. */
#ifndef WEFT_LOG_LOG_LINE_H
#define WEFT_LOG_LOG_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/access.h"
#include "weft/engine.h"

typedef struct weft_log_line {
    char *p;
    size_t n, capacity;
    bool json;
} weft_log_line;

/* capacity at least 256. format: weft_log_format. model "" = none. */
void weft_log_line_begin(weft_log_line *l, char *buf, size_t capacity, int format, weft_log_level level, const char *event,
                         const char *model);
void weft_log_line_text(weft_log_line *l, const char *key, const char *value);
void weft_log_line_int(weft_log_line *l, const char *key, int64_t value);
void weft_log_line_ms(weft_log_line *l, const char *key, int64_t ns);
/* Adds the line end; number of bytes. */
size_t weft_log_line_end(weft_log_line *l);

/* The whole line of an answered HTTP request. */
size_t weft_log_line_access(char *buf, size_t capacity, int format, const weft_access *a);
/* The whole line of a finished request: id, status, stage times, rows of its batch, items and bytes of the result, trace. */
size_t weft_log_line_request(char *buf, size_t capacity, int format, const weft_result *r, const char *trace);

#endif
