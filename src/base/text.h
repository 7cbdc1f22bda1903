/* Text helpers: UTF-8 validity, nearest name, sizes for people. */
#ifndef WEFT_BASE_TEXT_H
#define WEFT_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool weft_utf8_valid(const char *s, size_t n_bytes);
/* Length of the longest prefix of at most max_bytes that ends at a character. */
size_t weft_utf8_cut(const char *s, size_t n_bytes, size_t max_bytes);
/* Next code point; *s advances; U+FFFD for a malformed byte. n is the number of bytes left at *s. */
uint32_t weft_utf8_next(const char **s, size_t *n);
/* Edit distance with transpositions, capped at max + 1. */
size_t weft_edit_distance(const char *a, const char *b, size_t max);
/* The nearest of names (n of them, NULL entries skipped) if it is near enough to be a typing error, else NULL. */
const char *weft_nearest_name(const char *name, const char *const *names, size_t n);
/* "1.5 MiB" */
char *weft_print_bytes(uint64_t n, char *buf, size_t n_buf);
bool weft_name_valid(const char *s); /* [A-Za-z0-9._-]{1,64}, not starting with a dot */

#endif
