#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* Length of the well-formed character at s (Unicode 15, table 3-7), or 0. */
static size_t char_bytes(const uint8_t *s, size_t n)
{
    uint8_t low = 0x80, high = 0xbf;
    size_t length;

    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf) {
        length = 2;
    } else if (s[0] >= 0xe0 && s[0] <= 0xef) {
        length = 3;
        low = s[0] == 0xe0 ? 0xa0 : low;   /* no over-long form */
        high = s[0] == 0xed ? 0x9f : high; /* no surrogate */
    } else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        length = 4;
        low = s[0] == 0xf0 ? 0x90 : low;
        high = s[0] == 0xf4 ? 0x8f : high; /* nothing above U+10FFFF */
    } else {
        return 0;
    }
    if (n < length || s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (s[i] < 0x80 || s[i] > 0xbf)
            return 0;
    return length;
}

bool weft_utf8_valid(const char *s, size_t n_bytes)
{
    size_t i = 0;

    while (i < n_bytes) {
        size_t length = char_bytes((const uint8_t *)s + i, n_bytes - i);
        if (!length)
            return false;
        i += length;
    }
    return true;
}

size_t weft_utf8_cut(const char *s, size_t n_bytes, size_t max_bytes)
{
    size_t cut = max_bytes, start;

    if (n_bytes <= max_bytes)
        return n_bytes;
    /* Step back over at most three continuation bytes to the start of the character that the cut would split. */
    for (start = cut; start > 0 && cut - start < 3 && ((uint8_t)s[start] & 0xc0) == 0x80; start--)
        ;
    if (start == cut || start + char_bytes((const uint8_t *)s + start, n_bytes - start) <= cut)
        return cut;
    return start;
}

uint32_t weft_utf8_next(const char **s, size_t *n)
{
    const uint8_t *p = (const uint8_t *)*s;
    static const uint8_t lead_mask[5] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    size_t length;
    uint32_t c;

    if (!*n)
        return 0;
    length = char_bytes(p, *n);
    if (!length) {
        ++*s;
        --*n;
        return 0xfffd;
    }
    c = p[0] & lead_mask[length];
    for (size_t i = 1; i < length; i++)
        c = (c << 6) | (p[i] & 0x3f);
    *s += length;
    *n -= length;
    return c;
}

#define MAX_EDIT_BYTES 128

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t weft_edit_distance(const char *a, const char *b, size_t max)
{
    size_t na = strlen(a), nb = strlen(b), far = max + 1;
    size_t rows[3][MAX_EDIT_BYTES + 1], *before = rows[0], *above = rows[1], *row = rows[2], *spare;

    if ((na > nb ? na - nb : nb - na) > max)
        return far;
    if (na > MAX_EDIT_BYTES || nb > MAX_EDIT_BYTES)
        return strcmp(a, b) ? far : 0;
    for (size_t j = 0; j <= nb; j++)
        above[j] = j;
    for (size_t i = 1; i <= na; i++) {
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            row[j] = least(above[j - 1] + (a[i - 1] != b[j - 1]), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return least(above[nb], far);
}

/* For comparison only: case and the kind of separator are no difference between names. */
static void plain_name(const char *s, char *out, size_t n_out)
{
    size_t i;

    for (i = 0; s[i] && i + 1 < n_out; i++) {
        out[i] = s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] + 'a' - 'A') : s[i];
        if (out[i] == '-' || out[i] == '.' || out[i] == ' ')
            out[i] = '_';
    }
    out[i] = 0;
}

const char *weft_nearest_name(const char *name, const char *const *names, size_t n)
{
    const char *best = NULL;
    char wanted[MAX_EDIT_BYTES + 1], other[MAX_EDIT_BYTES + 1];
    size_t length, limit, best_distance;

    if (!name)
        return NULL;
    plain_name(name, wanted, sizeof wanted);
    length = strlen(wanted);
    limit = least((length + 2) / 3, 3); /* one error in three letters, at most three */
    best_distance = limit + 1;
    for (size_t i = 0; i < n; i++) {
        size_t distance;

        if (!names[i])
            continue;
        plain_name(names[i], other, sizeof other);
        distance = weft_edit_distance(wanted, other, limit);
        if (distance < best_distance && distance < length) {
            best_distance = distance;
            best = names[i];
        }
    }
    return best;
}

char *weft_print_bytes(uint64_t n, char *buf, size_t n_buf)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)n / 1024;
    size_t unit = 0;

    if (n < 1024) {
        snprintf(buf, n_buf, "%u B", (unsigned)n);
        return buf;
    }
    while (value >= 1023.95 && unit + 1 < sizeof units / sizeof units[0]) { /* what would print as 1024.0 */
        value /= 1024;
        unit++;
    }
    snprintf(buf, n_buf, "%.1f %s", value, units[unit]);
    return buf;
}

bool weft_name_valid(const char *s)
{
    size_t i;

    if (!s || s[0] == '.' || !s[0])
        return false;
    for (i = 0; s[i]; i++) {
        char c = s[i];
        bool ok = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
        if (!ok || i >= 64)
            return false;
    }
    return true;
}
