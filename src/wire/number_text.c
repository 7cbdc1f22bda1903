#include "wire/number_text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void weft_print_uint(uint64_t v, char *text)
{
    char digits[24];
    int n = 0;

    do
        digits[n++] = (char)('0' + v % 10);
    while (v /= 10);
    while (n)
        *text++ = digits[--n];
    *text = 0;
}

void weft_print_int(int64_t v, char *text)
{
    if (v < 0)
        *text++ = '-';
    weft_print_uint(v < 0 ? 0 - (uint64_t)v : (uint64_t)v, text);
}

/* The locale may have put another sign (of one byte or more) where the decimal point belongs. */
static void mend_point(char *text)
{
    char *to = text;
    bool in_point = false;

    for (char *from = text; *from; from++) {
        bool ours = (*from >= '0' && *from <= '9') || *from == '-' || *from == '+' || *from == 'e';

        if (ours)
            *to++ = *from;
        else if (!in_point)
            *to++ = '.';
        in_point = !ours;
    }
    *to = 0;
}

/* Decimals of up to FLT_DIG (DBL_DIG) digits survive the way into a float (double) and back, so for normal numbers fewer digits
 * need no try of their own: %g leaves trailing zeros out. */
static void print_slowly(double v, bool is_float, char *text)
{
    int n = is_float ? (isnormal((float)v) ? FLT_DIG : 1) : isnormal(v) ? DBL_DIG : 1;

    for (;; n++) {
        snprintf(text, WEFT_NUMBER_BYTES, "%.*g", n, v);
        if (is_float ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v)
            break;
    }
    mend_point(text);
}

/* Writes c / 10^q, without trailing zeros. */
static void print_decimal(uint64_t c, int q, uint64_t power, char *text)
{
    uint64_t whole = c / power, fraction = c % power;
    size_t n;

    weft_print_uint(whole, text);
    if (!fraction)
        return;
    n = strlen(text);
    text[n] = '.';
    for (int i = q; i > 0; i--) {
        text[n + (size_t)i] = (char)('0' + fraction % 10);
        fraction /= 10;
    }
    n += (size_t)q;
    while (text[n] == '0')
        n--;
    text[n + 1] = 0;
}

__extension__ typedef unsigned __int128 wide;

/* v = m * 2^-s exactly, with 1e-5 <= v < 1e6. Tries 6 to 9 digits in whole numbers: c = v * 10^q rounded reads back to v when it
 * is nearer to v than half a unit of m, that is |c * 2^s - m * 10^q| * 2 < 10^q. About twenty times as fast as printf and strtof.
 */
static bool print_quickly(float v, char *text)
{
    static const uint64_t powers[] = {1,        10,        100,        1000,        10000,        100000,        1000000,
                                      10000000, 100000000, 1000000000, 10000000000, 100000000000, 1000000000000, 10000000000000};
    static const float limits[] = {1e-5f, 1e-4f, 1e-3f, 1e-2f, 1e-1f, 1, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f};
    uint32_t bits, m;
    int s, x = -5;

    if (!(v >= limits[0] && v < limits[11]))
        return false;
    memcpy(&bits, &v, 4);
    m = (bits & 0x7fffff) | 0x800000;
    s = 150 - (int)(bits >> 23);
    if (m == 0x800000 || s < 1) /* a power of two: the neighbour below is nearer than the one above */
        return false;
    while (v >= limits[x + 6])
        x++; /* 10^x <= v, but for the rounding of the limits themselves, which costs at most a digit that is tried in vain */
    for (int digits = 6; digits <= 9; digits++) {
        int q = digits - 1 - x;
        wide exact = (wide)m * powers[q], c = (exact + ((wide)1 << (s - 1))) >> s, back = c << s;
        wide off = back > exact ? back - exact : exact - back;

        if (off * 2 < powers[q]) {
            print_decimal((uint64_t)c, q, powers[q], text);
            return true;
        }
    }
    return false;
}

static bool print_number(double v, bool is_float, char *text)
{
    *text = 0;
    if (!isfinite(v))
        return false;
    if (signbit(v)) {
        *text++ = '-';
        v = -v;
    }
    if (v < 1e6 && v == (double)(uint32_t)v) /* also 0; larger ones may have a shorter form with an exponent */
        weft_print_uint((uint32_t)v, text);
    else if (!is_float || !print_quickly((float)v, text))
        print_slowly(v, is_float, text);
    return true;
}

bool weft_print_float(float v, char *text)
{
    return print_number((double)v, true, text);
}

bool weft_print_double(double v, char *text)
{
    return print_number(v, false, text);
}
