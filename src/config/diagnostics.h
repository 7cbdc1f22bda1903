/* Diagnostics: every mistake of a configuration, with its place, as text for people and as JSON for programs.
 *
 * One thread at a time. Bounded: WEFT_DIAGNOSTICS_MAX are kept, further ones are only counted. Out of memory is remembered and
 * reported by weft_diagnostics_status. */
#ifndef WEFT_CONFIG_DIAGNOSTICS_H
#define WEFT_CONFIG_DIAGNOSTICS_H

#include <stdbool.h>
#include <stddef.h>

#include "weft/status.h"

struct weft_buffer;

#define WEFT_DIAGNOSTICS_MAX 100

typedef enum weft_severity {
    WEFT_SEVERITY_ERROR = 1,
    WEFT_SEVERITY_WARNING,
    WEFT_SEVERITY_NOTE, /* worth knowing, nothing to do: what `config check` found in a model */
} weft_severity;

/* A stretch of one line. Lines and columns count from 1, columns in characters; all 0 = the file as a whole. */
typedef struct weft_place {
    int line, column;
    int n_chars; /* how much to underline; 0 = one character */
} weft_place;

typedef struct weft_diagnostic {
    weft_severity severity;
    weft_place place;
    const char *key;        /* "models[1].preprocess.resize_mode"; "" = none */
    const char *text;       /* one sentence: what was expected, what came, what to do */
    const char *suggestion; /* the nearest valid key, value or name, or NULL */
} weft_diagnostic;

typedef struct weft_diagnostics weft_diagnostics;

weft_diagnostics *weft_diagnostics_create(void); /* NULL when out of memory */
void weft_diagnostics_destroy(weft_diagnostics **d);
/* Name and content of the file that places refer to; both are copied. Without it nothing is quoted. */
void weft_diagnostics_source(weft_diagnostics *d, const char *file, const char *text, size_t n_bytes);
/* key and suggestion may be NULL; everything is copied. d NULL is allowed and does nothing. */
void weft_diagnostics_add(weft_diagnostics *d, weft_severity severity, weft_place place, const char *key, const char *suggestion,
                          const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* By place; entries of one place keep their order. */
void weft_diagnostics_sort(weft_diagnostics *d);

size_t weft_diagnostics_count(const weft_diagnostics *d);
const weft_diagnostic *weft_diagnostics_at(const weft_diagnostics *d, size_t i); /* NULL past the end; lives until destroy */
size_t weft_diagnostics_errors(const weft_diagnostics *d);                       /* those not kept included */
size_t weft_diagnostics_warnings(const weft_diagnostics *d);
const char *weft_diagnostics_file(const weft_diagnostics *d); /* "" when not set */

/* "weft.yaml:3:9: error: models[0].max_batch: ..." with the line of the file and a caret below it, and a closing count. colour:
 * ANSI. */
void weft_diagnostics_print(const weft_diagnostics *d, struct weft_buffer *out, bool colour);
/* {"file":...,"errors":n,"warnings":n,"diagnostics":[{"severity","line","column","length","key","message","suggestion"}]} */
void weft_diagnostics_json(const weft_diagnostics *d, struct weft_buffer *out);
/* OK when there are no errors; else CONFIG with all messages joined as far as the text of *err holds; NO_MEMORY when some could
 * not be kept. */
weft_status weft_diagnostics_status(const weft_diagnostics *d, weft_error *err);

#endif
