#include "wire/json_read.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* What may come next. */
enum { VALUE, VALUE_OR_END, KEY_OR_END, KEY, COMMA_OR_END, NOTHING, BROKEN };

void weft_json_read_init(weft_json_reader *r, const char *text, size_t n_bytes)
{
    *r = (weft_json_reader){.text = text, .n_bytes = n_bytes, .max_depth = WEFT_JSON_READ_DEPTH, .expect = VALUE};
}

static weft_json_event fail(weft_json_reader *r, size_t at, const char *problem)
{
    if (r->expect != BROKEN) {
        r->problem = problem;
        r->problem_at = at;
        r->expect = BROKEN;
    }
    return WEFT_JSON_ERROR;
}

weft_status weft_json_read_fail(const weft_json_reader *r, const char *what, weft_error *err)
{
    return weft_fail(err, WEFT_E_INVALID, "%s is not valid JSON: %s at byte %zu", what,
                     r->problem ? r->problem : "something is wrong", r->problem_at);
}

static void skip_blanks(weft_json_reader *r)
{
    while (r->at < r->n_bytes) {
        char c = r->text[r->at];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
            return;
        r->at++;
    }
}

/* ---- strings --------------------------------------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hex digits at p, or -1. */
static int32_t hex4(const char *p, const char *end)
{
    int32_t v = 0;
    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int d = hex_digit(p[i]);
        if (d < 0)
            return -1;
        v = v << 4 | d;
    }
    return v;
}

/* The code point of the escape whose 'u' is at p; *n_used counts from there. -1: malformed or a lone surrogate. */
static int32_t unicode_escape(const char *p, const char *end, size_t *n_used)
{
    int32_t high = hex4(p + 1, end), low;
    *n_used = 5;
    if (high < 0xd800 || high > 0xdfff)
        return high;
    if (high > 0xdbff || end - p < 11 || p[5] != '\\' || p[6] != 'u')
        return -1;
    low = hex4(p + 7, end);
    *n_used = 11;
    return low >= 0xdc00 && low <= 0xdfff ? 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00) : -1;
}

/* Length of the escape at p (the backslash), 0 if it is wrong. */
static size_t escape_length(const char *p, const char *end)
{
    size_t n;
    if (end - p < 2)
        return 0;
    if (p[1] == 'u')
        return unicode_escape(p + 1, end, &n) < 0 ? 0 : n + 1;
    return memchr("\"\\/bfnrt", p[1], 8) ? 2 : 0;
}

/* From behind the opening quote to behind the closing one. */
static bool scan_string(weft_json_reader *r)
{
    const char *start = r->text + r->at, *p = start, *end = r->text + r->n_bytes;
    r->escaped = false;
    for (;;) {
        while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != '"' && *p != '\\')
            p++;
        if (p == end) {
            fail(r, r->n_bytes, "the text ends inside a string");
            return false;
        }
        if (*p == '"')
            break;
        if ((unsigned char)*p < 0x20) {
            fail(r, (size_t)(p - r->text), "control characters in a string must be escaped; one stands");
            return false;
        }
        if (*p == '\\') {
            size_t n = escape_length(p, end);
            if (!n) {
                fail(r, (size_t)(p - r->text), "a string holds a wrong escape or half a surrogate pair");
                return false;
            }
            r->escaped = true;
            p += n;
            continue;
        }
        const char *before = p;
        size_t left = (size_t)(end - p);
        if (weft_utf8_next(&p, &left) == 0xfffd && p - before == 1) {
            fail(r, (size_t)(before - r->text), "a string is not valid UTF-8");
            return false;
        }
    }
    r->token = start;
    r->n_token = (size_t)(p - start);
    r->at = (size_t)(p - r->text) + 1;
    if (r->max_string_bytes && r->n_token > r->max_string_bytes) {
        fail(r, (size_t)(start - r->text), "a string is longer than allowed here; it stands");
        return false;
    }
    return true;
}

static char *put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    } else {
        *out++ = (char)(0xf0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 0x3f));
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    }
    return out;
}

size_t weft_json_read_text(const weft_json_reader *r, char *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *p = r->token, *end = r->token + r->n_token;
    char *to = out;
    if (!r->escaped) {
        if (r->n_token)
            memmove(out, r->token, r->n_token);
        return r->n_token;
    }
    while (p < end) {
        size_t n = 1;
        if (*p != '\\') {
            *to++ = *p++;
            continue;
        }
        p++;
        if (*p == 'u')
            to = put_utf8(to, (uint32_t)unicode_escape(p, end, &n));
        else
            *to++ = values[strchr(names, *p) - names];
        p += n;
    }
    return (size_t)(to - out);
}

bool weft_json_read_string(const weft_json_reader *r, char *out, size_t n)
{
    char buf[1024], *to = out;
    size_t got;
    if (r->n_token >= n) { /* with escapes it may still fit */
        if (!r->escaped || r->n_token > sizeof(buf))
            return false;
        to = buf;
    }
    got = weft_json_read_text(r, to);
    if (got >= n || memchr(to, 0, got))
        return false;
    if (to != out)
        memcpy(out, to, got);
    out[got] = 0;
    return true;
}

bool weft_json_read_is(const weft_json_reader *r, const char *text)
{
    char buf[65];
    if (!r->escaped)
        return strlen(text) == r->n_token && memcmp(text, r->token, r->n_token) == 0;
    return weft_json_read_string(r, buf, sizeof(buf)) && strcmp(buf, text) == 0;
}

/* ---- numbers --------------------------------------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *scan_digits(const char *p, const char *end)
{
    while (p < end && is_digit(*p))
        p++;
    return p;
}

static weft_json_event scan_number(weft_json_reader *r)
{
    const char *start = r->text + r->at, *end = r->text + r->n_bytes, *p = start, *digits;
    if (*p == '-')
        p++;
    if (p < end && *p == '0') {
        p++;
    } else {
        digits = p;
        p = scan_digits(p, end);
        if (p == digits)
            return fail(r, r->at, "expected a value, but a sign without a number stands");
    }
    r->whole = true;
    if (p < end && *p == '.') {
        r->whole = false;
        digits = ++p;
        if ((p = scan_digits(p, end)) == digits)
            return fail(r, (size_t)(p - r->text), "a digit is missing behind the decimal point");
    }
    if (p < end && (*p | 0x20) == 'e') {
        r->whole = false;
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        digits = p;
        if ((p = scan_digits(p, end)) == digits)
            return fail(r, (size_t)(p - r->text), "a digit is missing in the exponent");
    }
    if (p < end && (is_digit(*p) || (*p | 0x20) == 'x'))
        return fail(r, r->at, "a number is written wrongly (leading zeros and 0x are not JSON)");
    r->token = start;
    r->n_token = (size_t)(p - start);
    if (r->n_token > WEFT_JSON_READ_NUMBER_BYTES)
        return fail(r, r->at, "a number has too many digits");
    r->at += r->n_token;
    return WEFT_JSON_NUMBER;
}

/* Magnitude of a whole number; false when it does not fit 64 bits. */
static bool magnitude(const weft_json_reader *r, bool *negative, uint64_t *v)
{
    const char *p = r->token, *end = p + r->n_token;
    if (!r->whole)
        return false;
    *negative = *p == '-';
    p += *negative;
    *v = 0;
    for (; p < end; p++)
        if (__builtin_mul_overflow(*v, (uint64_t)10, v) || __builtin_add_overflow(*v, (uint64_t)(*p - '0'), v))
            return false;
    return true;
}

bool weft_json_read_i64(const weft_json_reader *r, int64_t *v)
{
    bool negative;
    uint64_t m;
    if (!magnitude(r, &negative, &m) || m > (uint64_t)INT64_MAX + negative)
        return false;
    *v = negative ? (int64_t)(0 - m) : (int64_t)m;
    return true;
}

bool weft_json_read_u64(const weft_json_reader *r, uint64_t *v)
{
    bool negative;
    return magnitude(r, &negative, v) && (!negative || *v == 0);
}

static locale_t c_locale;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* glibc and musl give a static object for "C" */
}

static double slow_number(const char *token, size_t n, bool is_float)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char text[WEFT_JSON_READ_NUMBER_BYTES + 1];
    pthread_once(&once, make_c_locale);
    memcpy(text, token, n);
    text[n] = 0;
    if (c_locale == (locale_t)0)
        return is_float ? (double)strtof(text, NULL) : strtod(text, NULL);
    return is_float ? (double)strtof_l(text, NULL, c_locale) : strtod_l(text, NULL, c_locale);
}

/* m * 10^e where both are exact in a double, so that one rounding is left (Clinger 1990, "How to read floating point numbers
 * accurately", the fast case). */
static bool quick_double(const char *p, size_t n, double *v)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *end = p + n;
    uint64_t m = 0;
    int n_digits = 0, e = 0, written = 0;
    bool negative = *p == '-', in_fraction = false, e_negative = false;
    for (p += negative; p < end && (*p | 0x20) != 'e'; p++) {
        if (*p == '.') {
            in_fraction = true;
            continue;
        }
        if (m || *p != '0')
            n_digits++;
        if (n_digits > 18)
            return false;
        m = m * 10 + (uint64_t)(*p - '0');
        e -= in_fraction;
    }
    if (p < end) {
        p++;
        e_negative = *p == '-';
        p += *p == '-' || *p == '+';
        for (; p < end; p++) {
            written = written * 10 + (*p - '0');
            if (written > 400)
                return false;
        }
        e += e_negative ? -written : written;
    }
    if (m > (uint64_t)1 << 53 || (m && (e < -22 || e > 22)))
        return false;
    *v = m == 0 ? 0.0 : e < 0 ? (double)m / powers[-e] : (double)m * powers[e];
    *v = negative ? -*v : *v;
    return true;
}

bool weft_json_read_double(const weft_json_reader *r, double *v)
{
    if (!quick_double(r->token, r->n_token, v))
        *v = slow_number(r->token, r->n_token, false);
    return isfinite(*v);
}

bool weft_json_read_float(const weft_json_reader *r, float *v)
{
    double d;
    uint64_t bits;
    if (quick_double(r->token, r->n_token, &d)) {
        memcpy(&bits, &d, sizeof(bits));
        /* The second rounding, to float, is harmless unless the double lies just between two floats or below the normal ones. */
        if (d == 0 || (fabs(d) >= (double)FLT_MIN && (bits & 0x1fffffff) != 0x10000000)) {
            *v = (float)d;
            return isfinite(*v);
        }
    }
    *v = (float)slow_number(r->token, r->n_token, true);
    return isfinite(*v);
}

/* ---- structure ------------------------------------------------------------------------------------------------------------- */

static void after_value(weft_json_reader *r)
{
    r->expect = r->depth ? COMMA_OR_END : NOTHING;
}

static weft_json_event open_level(weft_json_reader *r, bool is_array)
{
    if (r->depth >= r->max_depth || r->depth >= 64)
        return fail(r, r->at, "arrays and objects are nested too deeply");
    r->at++;
    r->depth++;
    uint64_t bit = (uint64_t)1 << (r->depth - 1);
    r->is_array = is_array ? r->is_array | bit : r->is_array & ~bit;
    r->expect = is_array ? VALUE_OR_END : KEY_OR_END;
    return is_array ? WEFT_JSON_ARRAY : WEFT_JSON_OBJECT;
}

static bool in_array(const weft_json_reader *r)
{
    return r->depth && (r->is_array >> (r->depth - 1) & 1);
}

static weft_json_event close_level(weft_json_reader *r)
{
    bool was_array = in_array(r);
    r->at++;
    r->depth--;
    after_value(r);
    return was_array ? WEFT_JSON_ARRAY_END : WEFT_JSON_OBJECT_END;
}

static weft_json_event word(weft_json_reader *r, const char *text, weft_json_event event)
{
    size_t n = strlen(text);
    if (r->n_bytes - r->at < n || memcmp(r->text + r->at, text, n) != 0)
        return fail(r, r->at, "expected a value");
    r->at += n;
    after_value(r);
    return event;
}

static weft_json_event read_value(weft_json_reader *r, char c)
{
    weft_json_event event;
    switch (c) {
    case '{':
        return open_level(r, false);
    case '[':
        return open_level(r, true);
    case '"':
        r->at++;
        if (!scan_string(r))
            return WEFT_JSON_ERROR;
        after_value(r);
        return WEFT_JSON_STRING;
    case 't':
        return word(r, "true", WEFT_JSON_TRUE);
    case 'f':
        return word(r, "false", WEFT_JSON_FALSE);
    case 'n':
        return word(r, "null", WEFT_JSON_NULL);
    default:
        if (c != '-' && !is_digit(c))
            return fail(r, r->at, "expected a value");
        event = scan_number(r);
        if (event == WEFT_JSON_NUMBER)
            after_value(r);
        return event;
    }
}

static weft_json_event read_key(weft_json_reader *r, char c)
{
    if (c != '"')
        return fail(r, r->at, "expected a name in quotes");
    r->at++;
    if (!scan_string(r))
        return WEFT_JSON_ERROR;
    skip_blanks(r);
    if (r->at == r->n_bytes || r->text[r->at] != ':')
        return fail(r, r->at, "expected a colon");
    r->at++;
    r->expect = VALUE;
    return WEFT_JSON_KEY;
}

weft_json_event weft_json_read(weft_json_reader *r)
{
    if (r->expect == BROKEN)
        return WEFT_JSON_ERROR;
    skip_blanks(r);
    if (r->at == r->n_bytes)
        return r->expect == NOTHING ? WEFT_JSON_END : fail(r, r->at, "the text ends too early");
    char c = r->text[r->at];
    switch (r->expect) {
    case NOTHING:
        return fail(r, r->at, "something follows the end");
    case COMMA_OR_END:
        if (c == (in_array(r) ? ']' : '}'))
            return close_level(r);
        if (c != ',')
            return fail(r, r->at, in_array(r) ? "expected a comma or ]" : "expected a comma or }");
        r->at++;
        r->expect = in_array(r) ? VALUE : KEY;
        return weft_json_read(r);
    case VALUE_OR_END:
        return c == ']' ? close_level(r) : read_value(r, c);
    case KEY_OR_END:
        return c == '}' ? close_level(r) : read_key(r, c);
    case KEY:
        return read_key(r, c);
    default:
        return read_value(r, c);
    }
}

bool weft_json_skip(weft_json_reader *r, weft_json_event first)
{
    if (first != WEFT_JSON_OBJECT && first != WEFT_JSON_ARRAY)
        return first != WEFT_JSON_ERROR;
    int depth = r->depth;
    while (r->depth >= depth)
        if (weft_json_read(r) == WEFT_JSON_ERROR)
            return false;
    return true;
}
