/* Dictionary files of a recogniser. The first byte says how many classes the model has beyond the file's lines (0 = not known).
 * What is accepted has a word for every class, none longer than the limit, none with a line break, all of them UTF-8; and every
 * path through it can be written. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "executor/ocr/ocr_text.h"

typedef struct memory {
    const char *text;
    size_t n_bytes;
    void *taken;
} memory;

static weft_status give(const weft_open *o, const char *path, size_t max_bytes, const char **text, size_t *n_bytes,
                        weft_error *err)
{
    const memory *m = o->internal;
    *text = m->text;
    *n_bytes = m->n_bytes;
    return m->n_bytes <= max_bytes ? WEFT_OK : weft_fail(err, WEFT_E_TOO_LARGE, "too large");
}

static void *take(const weft_open *o, size_t n_bytes)
{
    memory *m = o->internal;
    return m->taken ? NULL : (m->taken = calloc(1, n_bytes));
}

static void must(int ok)
{
    if (!ok)
        abort();
}

static void walk(const weft_ocr_dictionary *d)
{
    uint32_t classes[64];
    weft_ocr_path path = {.classes = classes};
    for (int64_t k = 0; k < d->n_classes; k++) {
        const weft_ocr_word *w = &d->words[k];
        must(w->n_bytes <= WEFT_OCR_MAX_WORD_BYTES && !memchr(w->text, '\n', w->n_bytes) && weft_utf8_valid(w->text, w->n_bytes));
        if (path.n < 64)
            classes[path.n++] = (uint32_t)k;
    }
    size_t n = weft_ocr_path_bytes(d, &path);
    char *text = malloc(n + (n == 0));
    weft_ocr_path_write(d, &path, false, text);
    must(weft_utf8_valid(text, n));
    weft_ocr_path_write(d, &path, true, text);
    must(weft_utf8_valid(text, n));
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    if (n_bytes < 1)
        return 0;
    char *copy = malloc(n_bytes); /* exactly as long as the file, and one: a read past the end is seen */
    memcpy(copy, data + 1, n_bytes - 1);
    memory m = {copy, n_bytes - 1, NULL};
    const weft_open o = {.name = "fuzz", .read_file = give, .alloc = take, .internal = &m};
    weft_ocr_dictionary d;
    weft_error err = {0};
    int64_t lines = n_bytes > 1 && copy[n_bytes - 2] != '\n';
    for (size_t i = 0; i + 1 < n_bytes; i++)
        lines += copy[i] == '\n';
    weft_status s = weft_ocr_dictionary_open(&o, "keys", data[0] % 4 ? lines + data[0] % 4 : -1, &d, &err);
    must(s == WEFT_OK || (s == WEFT_E_CONFIG && err.text[0] != 0));
    if (s == WEFT_OK) {
        must(d.n_classes >= 2 && d.n_classes <= d.n_lines + 2);
        walk(&d);
    }
    free(m.taken);
    free(copy);
    return 0;
}
