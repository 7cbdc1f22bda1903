#include "base/buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void weft_buffer_init(weft_buffer *b, size_t max_bytes)
{
    *b = (weft_buffer){.max_bytes = max_bytes};
}

void weft_buffer_fini(weft_buffer *b)
{
    free(b->data);
    weft_buffer_init(b, b->max_bytes);
}

void weft_buffer_clear(weft_buffer *b)
{
    b->n_bytes = 0;
    b->failed = false;
    if (b->data)
        b->data[0] = 0;
}

bool weft_buffer_reserve(weft_buffer *b, size_t more_bytes)
{
    size_t need, capacity;
    uint8_t *data;

    if (b->failed)
        return false;
    if (__builtin_add_overflow(b->n_bytes, more_bytes, &need) || need >= SIZE_MAX / 2 || (b->max_bytes && need > b->max_bytes)) {
        b->failed = true;
        return false;
    }
    if (need < b->capacity)
        return true;
    capacity = b->capacity ? b->capacity + b->capacity / 2 : 256;
    if (b->max_bytes && capacity > b->max_bytes + 1)
        capacity = b->max_bytes + 1;
    if (capacity < need + 1) /* one more for the NUL */
        capacity = need + 1;
    data = realloc(b->data, capacity);
    if (!data) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->capacity = capacity;
    return true;
}

bool weft_buffer_append(weft_buffer *b, const void *data, size_t n_bytes)
{
    if (!weft_buffer_reserve(b, n_bytes))
        return false;
    if (n_bytes)
        memcpy(b->data + b->n_bytes, data, n_bytes);
    b->n_bytes += n_bytes;
    return true;
}

static bool append_text(weft_buffer *b, const char *s, size_t n)
{
    if (!weft_buffer_append(b, s, n))
        return false;
    b->data[b->n_bytes] = 0;
    return true;
}

bool weft_buffer_puts(weft_buffer *b, const char *s)
{
    return append_text(b, s, strlen(s));
}

bool weft_buffer_putc(weft_buffer *b, char c)
{
    return append_text(b, &c, 1);
}

bool weft_buffer_printf(weft_buffer *b, const char *fmt, ...)
{
    va_list ap, again;
    int n;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        b->failed = true;
    else if (weft_buffer_reserve(b, (size_t)n)) {
        vsnprintf((char *)b->data + b->n_bytes, (size_t)n + 1, fmt, again);
        b->n_bytes += (size_t)n;
    }
    va_end(again);
    return !b->failed;
}
