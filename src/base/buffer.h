/* A growable byte buffer that remembers a failed allocation, so that a writer checks once at the end. */
#ifndef WEFT_BASE_BUFFER_H
#define WEFT_BASE_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct weft_buffer {
    uint8_t *data;    /* owned; NUL-terminated after any weft_buffer_* text function (the NUL is not counted) */
    size_t n_bytes;
    size_t capacity;
    size_t max_bytes; /* 0 = no limit; going over sets `failed` */
    bool failed;      /* an append was lost: out of memory or over max_bytes */
} weft_buffer;

void weft_buffer_init(weft_buffer *b, size_t max_bytes);
void weft_buffer_fini(weft_buffer *b); /* may be used again after init */
void weft_buffer_clear(weft_buffer *b); /* keeps the memory */
bool weft_buffer_reserve(weft_buffer *b, size_t more_bytes);
bool weft_buffer_append(weft_buffer *b, const void *data, size_t n_bytes);
bool weft_buffer_puts(weft_buffer *b, const char *s);
bool weft_buffer_putc(weft_buffer *b, char c);
bool weft_buffer_printf(weft_buffer *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
