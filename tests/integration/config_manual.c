/* docs/reference.md is what `weft config reference` would write now. With --write it is written; `ninja refresh-reference` does
 * that. */
#include <stdio.h>
#include <string.h>

#include "backend/backend_list.h"
#include "base/buffer.h"
#include "config/reference.h"
#include "executor/executor_list.h"

#define PATH WEFT_SOURCE_DIR "/docs/reference.md"

static int write_page(const weft_buffer *page)
{
    FILE *f = fopen(PATH, "wb");
    bool good = f && fwrite(page->data, 1, page->n_bytes, f) == page->n_bytes;
    good &= f && !fclose(f);
    printf("%s %s\n", good ? "wrote" : "cannot write", PATH);
    return !good;
}

/* The first line that differs, for the person who has to decide whether the page or the declaration is wrong. */
static void show_difference(const char *a, const char *b)
{
    int line = 1;
    const char *start = a, *other = b;
    while (*a && *a == *b) {
        if (*a == '\n') {
            line++;
            start = a + 1;
            other = b + 1;
        }
        a++;
        b++;
    }
    printf("line %d\n  page:     %.*s\n  declared: %.*s\n", line, (int)strcspn(start, "\n"), start, (int)strcspn(other, "\n"),
           other);
}

static int compare_page(const weft_buffer *page)
{
    static char committed[4 << 20];
    FILE *f = fopen(PATH, "rb");
    size_t n = f ? fread(committed, 1, sizeof(committed) - 1, f) : 0;
    if (f)
        fclose(f);
    if (n == page->n_bytes && !memcmp(committed, page->data, n))
        return 0;
    printf("docs/reference.md is not what the declarations say; refresh it with `ninja refresh-reference`\n");
    show_difference(committed, (const char *)page->data);
    return 1;
}

int main(int argc, char **argv)
{
    weft_buffer page;
    weft_buffer_init(&page, 0);
    weft_config_reference(weft_builtin_executors, weft_builtin_backends, &page);
    int failed = page.failed ? 1 : argc > 1 && !strcmp(argv[1], "--write") ? write_page(&page) : compare_page(&page);
    weft_buffer_fini(&page);
    return failed;
}
