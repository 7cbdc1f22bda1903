/* Label files. What is accepted has at least one line, no name with blanks around it or a line break in it, and gives each name
 * its own index or an earlier one. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vision/labels.h"

typedef struct memory {
    void *taken[2];
    size_t n;
} memory;

static void *take(void *cookie, size_t n_bytes)
{
    memory *m = cookie;
    return m->n < 2 ? (m->taken[m->n++] = calloc(1, n_bytes)) : NULL;
}

static void must(int ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    memory m = {{NULL, NULL}, 0};
    weft_labels l;
    weft_error err;
    char *copy = malloc(n_bytes + (n_bytes == 0)); /* exactly as long: a read past the end is seen */
    if (n_bytes > 0)
        memcpy(copy, data, n_bytes);
    weft_status s = weft_labels_parse("file", copy, n_bytes, take, &m, &l, &err);
    free(copy);
    must(s == WEFT_OK ? l.n > 0 : l.n == 0 && s == WEFT_E_CONFIG && err.text[0] != 0);
    for (size_t i = 0; i < l.n; i++) {
        char buf[WEFT_LABEL_TEXT_BYTES];
        const char *name = weft_label(&l, (int64_t)i, buf);
        must(name[0] != 0 && !strchr(name, '\n') && !strchr(" \t\r", name[0]) && !strchr(" \t\r", name[strlen(name) - 1]));
        if (l.n <= 1000 && l.names[i])
            must(weft_label_index(&l, name) >= 0 && weft_label_index(&l, name) <= (int64_t)i);
    }
    free(m.taken[0]);
    free(m.taken[1]);
    return 0;
}
