#include "base/option_text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/c_locale.h"
#include "base/text.h"

#define NUMBER_BYTES 64 /* no sensible number is written longer */

typedef struct unit {
    const char *name;
    double factor;
} unit;

static const unit duration_units[] = {{"us", 1e-3}, {"ms", 1},    {"s", 1e3},    {"m", 6e4},
                                      {"min", 6e4}, {"h", 3.6e6}, {"d", 8.64e7}, {NULL, 0}};
static const unit byte_units[] = {{"b", 1},
                                  {"kb", 1e3},
                                  {"mb", 1e6},
                                  {"gb", 1e9},
                                  {"tb", 1e12},
                                  {"k", 1024},
                                  {"m", 1048576},
                                  {"g", 1073741824},
                                  {"t", 1099511627776},
                                  {"kib", 1024},
                                  {"mib", 1048576},
                                  {"gib", 1073741824},
                                  {"tib", 1099511627776},
                                  {NULL, 0}};

bool weft_option_is_scalar(weft_option_kind kind)
{
    return kind >= WEFT_OPT_BOOL && kind <= WEFT_OPT_SIZE;
}

size_t weft_option_storage_bytes(const weft_option *o, weft_option_kind kind)
{
    switch (kind) {
    case WEFT_OPT_BOOL:
        return sizeof(bool);
    case WEFT_OPT_INT:
        return sizeof(int64_t);
    case WEFT_OPT_FLOAT:
    case WEFT_OPT_DURATION_MS:
        return sizeof(double);
    case WEFT_OPT_STRING:
        return sizeof(const char *);
    case WEFT_OPT_ENUM:
        return sizeof(int);
    case WEFT_OPT_BYTES:
        return sizeof(uint64_t);
    case WEFT_OPT_SIZE:
        return sizeof(weft_size);
    case WEFT_OPT_LIST:
    case WEFT_OPT_STRUCT_LIST:
    case WEFT_OPT_STRUCT_MAP:
    case WEFT_OPT_PASSTHROUGH:
        return sizeof(weft_list);
    case WEFT_OPT_STRUCT:
        return o->item_size;
    case WEFT_OPT_END:
        break;
    }
    return 0;
}

size_t weft_option_max_count(const weft_option *o)
{
    if (o->max_count)
        return o->max_count;
    return o->kind == WEFT_OPT_STRING ? WEFT_OPTION_DEFAULT_STRING_BYTES : WEFT_OPTION_DEFAULT_ENTRIES;
}

size_t weft_option_string_bytes(const weft_option *o)
{
    return o->kind == WEFT_OPT_STRING ? weft_option_max_count(o) : WEFT_OPTION_DEFAULT_STRING_BYTES;
}

size_t weft_option_table_length(const weft_option *table)
{
    size_t n = 0;
    while (table && table[n].kind != WEFT_OPT_END)
        n++;
    return n;
}

static bool name_is(const char *name, const char *s, size_t n)
{
    return name && strlen(name) == n && !memcmp(name, s, n);
}

static bool alias_is(const char *aliases, const char *s, size_t n)
{
    while (aliases && *aliases) {
        size_t len = strcspn(aliases, " ");
        if (len && len == n && !memcmp(aliases, s, n))
            return true;
        aliases += len + strspn(aliases + len, " ");
    }
    return false;
}

const weft_option *weft_option_find(const weft_option *table, const char *name, size_t n_name)
{
    for (const weft_option *o = table; o && o->kind != WEFT_OPT_END; o++)
        if (name_is(o->name, name, n_name) || alias_is(o->alias, name, n_name))
            return o;
    return NULL;
}

/* Text from outside, made fit for a message: one line, short, no control characters. */
static char *quote(const char *s, size_t n, char *buf, size_t n_buf)
{
    size_t cut = weft_utf8_cut(s, n, n_buf - 8), k = 0;
    buf[k++] = '"';
    for (size_t i = 0; i < cut; i++)
        buf[k++] = (unsigned char)s[i] < 0x20 || s[i] == 0x7f ? ' ' : s[i];
    snprintf(buf + k, n_buf - k, "%s", cut < n ? "...\"" : "\"");
    return buf;
}

static weft_status refuse(const weft_option *o, weft_option_kind kind, const char *text, size_t n, weft_error *err)
{
    char want[512], got[80];
    return weft_fail(err, WEFT_E_CONFIG, "expected %s, got %s", weft_option_expected(o, kind, want, sizeof(want)),
                     n ? quote(text, n, got, sizeof(got)) : "nothing");
}

/* ---- scalars ---------------------------------------------------------------------------------------------------------- */
static bool read_bool(const char *s, bool *out)
{
    static const struct {
        const char *word;
        bool value;
    } words[] = {{"true", true}, {"yes", true}, {"on", true}, {"false", false}, {"no", false}, {"off", false}};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (!strcasecmp(s, words[i].word)) {
            *out = words[i].value;
            return true;
        }
    }
    return false;
}

static bool read_int(const char *s, int64_t *out)
{
    bool negative = *s == '-';
    if (*s == '-' || *s == '+')
        s++;
    unsigned base = 10;
    if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
        base = 16;
        s += 2;
    } else if (s[0] == '0' && s[1]) {
        return false;
    }
    if (!*s)
        return false;
    uint64_t v = 0, limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    for (; *s; s++) {
        unsigned c = (unsigned char)*s, digit = isdigit(c) ? c - '0' : isxdigit(c) ? (unsigned)tolower((int)c) - 'a' + 10 : 99;
        if (digit >= base || v > (limit - digit) / base)
            return false;
        v = v * base + digit;
    }
    *out = negative ? (v == limit ? INT64_MIN : -(int64_t)v) : (int64_t)v;
    return true;
}

/* A decimal number at s; *end is the first byte after it. */
static bool read_real(const char *s, double *out, const char **end)
{
    size_t n = strspn(s, "+-.0123456789");
    if ((s[n] == 'e' || s[n] == 'E') && n > 0) {
        size_t sign = s[n + 1] == '+' || s[n + 1] == '-' ? 1 : 0, digits = strspn(s + n + 1 + sign, "0123456789");
        if (digits)
            n += 1 + sign + digits;
    }
    char copy[NUMBER_BYTES], *stop;
    if (n == 0 || n >= sizeof(copy))
        return false;
    memcpy(copy, s, n);
    copy[n] = 0;
    weft_c_locale old = weft_c_locale_enter();
    double v = strtod(copy, &stop);
    weft_c_locale_leave(old);
    if (*stop || !isfinite(v))
        return false;
    *out = v;
    *end = s + n;
    return true;
}

static bool find_unit(const unit *units, const char *s, bool any_case, double *factor)
{
    while (*s == ' ')
        s++;
    for (; units->name; units++) {
        if (!(any_case ? strcasecmp(s, units->name) : strcmp(s, units->name))) {
            *factor = units->factor;
            return true;
        }
    }
    return false;
}

static bool read_duration(const char *s, double *out)
{
    const char *end;
    double v, factor = 1;
    if (!read_real(s, &v, &end) || v < 0 || (*end && !find_unit(duration_units, end, false, &factor)) || !isfinite(v * factor))
        return false;
    *out = v * factor;
    return true;
}

static bool read_bytes(const char *s, uint64_t *out)
{
    double factor = 1;
    size_t n_digits = strspn(s, "0123456789");
    if (n_digits && s[n_digits] != '.' && !(s[n_digits] == 'e' || s[n_digits] == 'E')) { /* whole: exact in 64 bits */
        if (s[n_digits] && !find_unit(byte_units, s + n_digits, true, &factor))
            return false;
        uint64_t v = 0, scale = (uint64_t)factor;
        for (size_t i = 0; i < n_digits; i++) {
            unsigned digit = (unsigned)(s[i] - '0');
            if (v > (UINT64_MAX - digit) / 10)
                return false;
            v = v * 10 + digit;
        }
        if (v > UINT64_MAX / scale)
            return false;
        *out = v * scale;
        return true;
    }
    const char *end;
    double v;
    if (!read_real(s, &v, &end) || v < 0 || (*end && !find_unit(byte_units, end, true, &factor)))
        return false;
    v *= factor;
    if (v != rint(v) || v >= 9007199254740992.0) /* fractions of a byte, or beyond what a double counts */
        return false;
    *out = (uint64_t)v;
    return true;
}

static const char *skip_blanks(const char *s)
{
    return s + strspn(s, " \t\r\n");
}

static bool read_side(const char **s, int32_t *out)
{
    const char *p = skip_blanks(*s);
    size_t n = strspn(p, "0123456789");
    if (n == 0 || n > 9)
        return false;
    *out = (int32_t)strtol(p, NULL, 10);
    *s = skip_blanks(p + n);
    return *out > 0;
}

static bool read_size(const char *s, weft_size *out)
{
    weft_size v;
    bool bracket = *s == '[';
    s += bracket;
    if (!read_side(&s, &v.width))
        return false;
    if (!bracket && !*s) {
        v.height = v.width;
    } else {
        if (bracket ? *s != ',' : *s != 'x' && *s != 'X')
            return false;
        s++;
        if (!read_side(&s, &v.height))
            return false;
        if (bracket && *s++ != ']')
            return false;
        if (*skip_blanks(s))
            return false;
    }
    *out = v;
    return true;
}

static weft_status read_string(const weft_option *o, const char *text, size_t n, weft_arena *arena, void *dst, weft_error *err)
{
    if (n > weft_option_string_bytes(o))
        return weft_fail(err, WEFT_E_CONFIG, "expected text of at most %zu bytes, got %zu", weft_option_string_bytes(o), n);
    if (memchr(text, 0, n) || !weft_utf8_valid(text, n))
        return weft_fail(err, WEFT_E_CONFIG, "expected UTF-8 text without NUL characters");
    const char *s = arena ? weft_arena_strndup(arena, text, n) : text;
    if (!s)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory for a text of %zu bytes", n);
    memcpy(dst, &s, sizeof(s));
    return WEFT_OK;
}

typedef union value {
    bool b;
    int64_t i;
    double f;
    int e;
    uint64_t bytes;
    weft_size size;
} value;

static bool read_enum(const weft_option *o, const char *text, int *out)
{
    bool yes;
    for (int pass = 0; pass < 2; pass++) { /* second: true and false in an enum may be written like any other bool */
        for (const weft_enum_value *v = o->values; v && v->name; v++) {
            if (!strcmp(v->name, text)) {
                *out = v->value;
                return true;
            }
        }
        if (!read_bool(text, &yes))
            return false;
        text = yes ? "true" : "false";
    }
    return false;
}

static bool read_scalar(const weft_option *o, weft_option_kind kind, const char *s, value *v)
{
    const char *end;
    switch (kind) {
    case WEFT_OPT_BOOL:
        return read_bool(s, &v->b);
    case WEFT_OPT_INT:
        return read_int(s, &v->i);
    case WEFT_OPT_FLOAT:
        return read_real(s, &v->f, &end) && !*end;
    case WEFT_OPT_ENUM:
        return read_enum(o, s, &v->e);
    case WEFT_OPT_DURATION_MS:
        return read_duration(s, &v->f);
    case WEFT_OPT_BYTES:
        return read_bytes(s, &v->bytes);
    case WEFT_OPT_SIZE:
        return read_size(s, &v->size);
    default:
        return false;
    }
}

weft_status weft_option_parse(const weft_option *o, weft_option_kind kind, const char *text, size_t n, weft_arena *arena,
                              void *dst, weft_error *err)
{
    if (kind == WEFT_OPT_STRING)
        return read_string(o, text, n, arena, dst, err);
    char copy[256];
    value v = {0};
    if (n == 0 || n >= sizeof(copy) || memchr(text, 0, n))
        return refuse(o, kind, text, n, err);
    memcpy(copy, text, n);
    copy[n] = 0;
    if (!read_scalar(o, kind, copy, &v))
        return refuse(o, kind, text, n, err);
    if (weft_option_check_value(o, kind, &v, NULL))
        return refuse(o, kind, text, n, err);
    memcpy(dst, &v, weft_option_storage_bytes(o, kind));
    return WEFT_OK;
}

/* ---- checks ----------------------------------------------------------------------------------------------------------- */
static bool in_bounds(const weft_option *o, double v)
{
    return !weft_option_has_bounds(o) || (v >= o->min && v <= o->max);
}

static bool enum_known(const weft_option *o, int v)
{
    for (const weft_enum_value *e = o->values; e && e->name; e++)
        if (e->value == v)
            return true;
    return false;
}

static bool value_fits(const weft_option *o, weft_option_kind kind, const void *p)
{
    value v = {0};
    memcpy(&v, p, weft_option_storage_bytes(o, kind));
    switch (kind) {
    case WEFT_OPT_INT:
        return in_bounds(o, (double)v.i);
    case WEFT_OPT_FLOAT:
        return isfinite(v.f) && in_bounds(o, v.f);
    case WEFT_OPT_DURATION_MS:
        return isfinite(v.f) && v.f >= 0 && in_bounds(o, v.f);
    case WEFT_OPT_BYTES:
        return in_bounds(o, (double)v.bytes);
    case WEFT_OPT_ENUM:
        return enum_known(o, v.e);
    case WEFT_OPT_SIZE:
        if (!v.size.width && !v.size.height)
            return true;
        return v.size.width > 0 && v.size.height > 0 && in_bounds(o, v.size.width) && in_bounds(o, v.size.height);
    default:
        return true;
    }
}

weft_status weft_option_check_value(const weft_option *o, weft_option_kind kind, const void *p, weft_error *err)
{
    if (kind == WEFT_OPT_STRING) {
        const char *s;
        memcpy(&s, p, sizeof(s));
        size_t n = s ? strnlen(s, weft_option_string_bytes(o) + 1) : 0;
        if (n > weft_option_string_bytes(o))
            return weft_fail(err, WEFT_E_CONFIG, "expected text of at most %zu bytes, got more", weft_option_string_bytes(o));
        if (s && !weft_utf8_valid(s, n))
            return weft_fail(err, WEFT_E_CONFIG, "expected UTF-8 text");
        return WEFT_OK;
    }
    if (value_fits(o, kind, p))
        return WEFT_OK;
    char text[NUMBER_BYTES];
    weft_option_print(o, kind, p, text, sizeof(text));
    return refuse(o, kind, text, strlen(text), err);
}

static weft_status check_items(const weft_option *o, const weft_list *list, weft_error *err);

static weft_status check_field(const weft_option *o, const void *p, weft_error *err)
{
    if (weft_option_is_scalar(o->kind)) {
        const char *s;
        memcpy(&s, p, o->kind == WEFT_OPT_STRING ? sizeof(s) : 0);
        if (o->kind == WEFT_OPT_STRING && o->required && !s)
            return weft_fail_prefix(
                err, weft_fail(err, WEFT_E_CONFIG, "expected %s, got nothing", weft_option_kind_words(o->kind)), "%s", o->name);
        static const value zero;
        if (!o->def && o->kind != WEFT_OPT_STRING && !memcmp(p, &zero, weft_option_storage_bytes(o, o->kind)))
            return WEFT_OK; /* absent */
        weft_status s1 = weft_option_check_value(o, o->kind, p, err);
        return s1 ? weft_fail_prefix(err, s1, "%s", o->name) : WEFT_OK;
    }
    weft_status st = o->kind == WEFT_OPT_STRUCT ? weft_options_check(o->fields, p, err) : check_items(o, p, err);
    return st ? weft_fail_prefix(err, st, "%s", o->name) : WEFT_OK;
}

static weft_status check_items(const weft_option *o, const weft_list *list, weft_error *err)
{
    if (list->n > weft_option_max_count(o))
        return weft_fail(err, WEFT_E_CONFIG, "expected at most %zu entries, got %zu", weft_option_max_count(o), list->n);
    if (list->n && !list->items)
        return weft_fail(err, WEFT_E_CONFIG, "expected %zu entries, got a list without memory", list->n);
    size_t item_bytes = o->kind == WEFT_OPT_LIST          ? weft_option_storage_bytes(o, o->item)
                        : o->kind == WEFT_OPT_PASSTHROUGH ? sizeof(weft_key_value)
                                                          : o->item_size;
    for (size_t i = 0; i < list->n; i++) {
        const char *item = (const char *)list->items + i * item_bytes;
        weft_status s = WEFT_OK;
        if (o->kind == WEFT_OPT_LIST)
            s = weft_option_check_value(o, o->item, item, err);
        else if (o->kind != WEFT_OPT_PASSTHROUGH)
            s = weft_options_check(o->fields, item, err);
        if (s)
            return weft_fail_prefix(err, s, "entry %zu", i + 1);
    }
    return WEFT_OK;
}

weft_status weft_options_check(const weft_option *table, const void *base, weft_error *err)
{
    for (const weft_option *o = table; o && o->kind != WEFT_OPT_END; o++) {
        weft_status s = check_field(o, (const char *)base + o->offset, err);
        if (s)
            return s;
    }
    return WEFT_OK;
}
