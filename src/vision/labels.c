#include "vision/labels.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t count_lines(const char *text, size_t n_bytes)
{
    size_t n = n_bytes > 0;
    for (size_t i = 0; i + 1 < n_bytes; i++)
        n += text[i] == '\n';
    return n;
}

/* Copies the next line without the blanks around it to *to, ends it with NUL and moves both positions; NULL for an empty line. */
static const char *take_line(const char **at, const char *end, char **to)
{
    const char *start = *at, *stop = memchr(start, '\n', (size_t)(end - start));
    stop = stop ? stop : end;
    *at = stop < end ? stop + 1 : end;
    while (start < stop && blank(*start))
        start++;
    while (stop > start && blank(stop[-1]))
        stop--;
    if (start == stop)
        return NULL;
    char *name = *to;
    memcpy(name, start, (size_t)(stop - start));
    *to = name + (stop - start) + 1;
    return name;
}

weft_status weft_labels_parse(const char *path, const char *text, size_t n_bytes, void *(*alloc)(void *cookie, size_t n_bytes),
                              void *cookie, weft_labels *out, weft_error *err)
{
    *out = (weft_labels){NULL, 0};
    if (n_bytes >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        n_bytes -= 3;
    }
    if (n_bytes > 0 && (memchr(text, 0, n_bytes) || !weft_utf8_valid(text, n_bytes)))
        return weft_fail(err, WEFT_E_CONFIG, "the label file %s is not UTF-8 text; it needs one class name a line", path);
    while (n_bytes > 0 && blank(text[n_bytes - 1]))
        n_bytes--;
    size_t n = count_lines(text, n_bytes);
    if (n == 0)
        return weft_fail(err, WEFT_E_CONFIG, "the label file %s is empty; it needs one class name a line", path);
    if (n > WEFT_LABELS_MAX || n_bytes > WEFT_LABELS_MAX_BYTES)
        return weft_fail(err, WEFT_E_CONFIG, "the label file %s has %zu lines; at most %u are read", path, n, WEFT_LABELS_MAX);
    const char **names = alloc(cookie, n * sizeof *names);
    char *bytes = alloc(cookie, n_bytes + 1);
    if (!names || !bytes)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the %zu names of %s", n, path);
    const char *at = text;
    for (size_t i = 0; i < n; i++)
        names[i] = take_line(&at, text + n_bytes, &bytes);
    *out = (weft_labels){names, n};
    return WEFT_OK;
}

const char *weft_label(const weft_labels *l, int64_t index, char buf[WEFT_LABEL_TEXT_BYTES])
{
    if (index >= 0 && (uint64_t)index < l->n && l->names[index])
        return l->names[index];
    snprintf(buf, WEFT_LABEL_TEXT_BYTES, "class %" PRId32, (int32_t)index);
    return buf;
}

int64_t weft_label_index(const weft_labels *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->names[i] && strcmp(l->names[i], name) == 0)
            return (int64_t)i;
    return -1;
}

weft_status weft_labels_check(const weft_labels *l, const char *path, int64_t n_classes, weft_error *err)
{
    if (l->n == 0 || n_classes < 0 || (uint64_t)n_classes == l->n)
        return WEFT_OK;
    return weft_fail(err, WEFT_E_CONFIG,
                     "the label file %s names %zu classes, but the model has %" PRId64
                     "; give one name a line, in the order of the classes",
                     path, l->n, n_classes);
}
