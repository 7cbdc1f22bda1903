/* Class names: a text file with one name a line, in the order of the classes. */
#ifndef WEFT_VISION_LABELS_H
#define WEFT_VISION_LABELS_H

#include <stddef.h>
#include <stdint.h>

#include "weft/status.h"

#define WEFT_LABELS_MAX_BYTES (16u << 20) /* of a file: 100,000 long names fit */
#define WEFT_LABELS_MAX 1000000u
#define WEFT_LABEL_TEXT_BYTES 24 /* room for "class 4294967295" */

typedef struct weft_labels {
    const char *const *names; /* n of them; an empty line is NULL */
    size_t n;                 /* 0 = no names known */
} weft_labels;

/* `text` is the content of `path` (named in messages); it need not be NUL-terminated. A byte order mark, CR at line ends and
 * empty lines at the end are dropped; blanks around a name too. Memory comes from alloc(cookie, n_bytes), zeroed, and is never
 * freed here. CONFIG when the text is not UTF-8, holds no name or more than WEFT_LABELS_MAX. */
weft_status weft_labels_parse(const char *path, const char *text, size_t n_bytes, void *(*alloc)(void *cookie, size_t n_bytes),
                              void *cookie, weft_labels *out, weft_error *err);
/* The name of a class; a class without one is "class 17", written into buf. */
const char *weft_label(const weft_labels *l, int64_t index, char buf[WEFT_LABEL_TEXT_BYTES]);
/* The class with exactly this name, or -1. */
int64_t weft_label_index(const weft_labels *l, const char *name);
/* CONFIG when there are names and not as many as classes. */
weft_status weft_labels_check(const weft_labels *l, const char *path, int64_t n_classes, weft_error *err);

#endif
