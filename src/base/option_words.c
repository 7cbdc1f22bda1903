/* Options in words: what is expected, and values as they are written in a file. Parsing is in option_text.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/option_text.h"

#define NUMBER_BYTES 64 /* no number is printed longer */

typedef struct unit {
    const char *name;
    double factor;
} unit;

/* One stored scalar that is not text. */
typedef union value {
    bool b;
    int64_t i;
    double f;
    int e;
    uint64_t bytes;
    weft_size size;
} value;

const char *weft_option_kind_words(weft_option_kind kind)
{
    switch (kind) {
    case WEFT_OPT_BOOL:
        return "true or false";
    case WEFT_OPT_INT:
        return "a whole number";
    case WEFT_OPT_FLOAT:
        return "a number";
    case WEFT_OPT_STRING:
        return "text";
    case WEFT_OPT_ENUM:
        return "one word of a list";
    case WEFT_OPT_DURATION_MS:
        return "a duration";
    case WEFT_OPT_BYTES:
        return "a number of bytes";
    case WEFT_OPT_SIZE:
        return "a size";
    case WEFT_OPT_LIST:
        return "a list";
    case WEFT_OPT_STRUCT:
        return "a block of settings";
    case WEFT_OPT_STRUCT_LIST:
        return "a list of blocks";
    case WEFT_OPT_STRUCT_MAP:
        return "named blocks";
    case WEFT_OPT_PASSTHROUGH:
        return "a block of KEY: value";
    case WEFT_OPT_END:
        break;
    }
    return "nothing";
}

/* ---- words ------------------------------------------------------------------------------------------------------------ */
static void print_number(double v, char *buf, size_t n)
{
    if (v == rint(v) && fabs(v) < 1e18) {
        snprintf(buf, n, "%.0f", v);
        return;
    }
    weft_c_locale old = weft_c_locale_enter();
    snprintf(buf, n, "%.15g", v);
    if (strtod(buf, NULL) != v)
        snprintf(buf, n, "%.17g", v);
    weft_c_locale_leave(old);
}

static void print_duration(double ms, char *buf, size_t n)
{
    static const unit large[] = {{"d", 8.64e7}, {"h", 3.6e6}, {"m", 6e4}, {"s", 1e3}};
    for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++) {
        if (ms >= large[i].factor && fmod(ms, large[i].factor) == 0) {
            snprintf(buf, n, "%.0f%s", ms / large[i].factor, large[i].name);
            return;
        }
    }
    print_number(ms, buf, n);
    if (ms != 0) {
        size_t len = strlen(buf);
        snprintf(buf + len, n - len, "ms");
    }
}

static void print_bytes_bound(double v, char *buf, size_t n)
{
    static const unit large[] = {{"TiB", 1099511627776.0}, {"TB", 1e12}, {"GiB", 1073741824.0}, {"GB", 1e9},
                                 {"MiB", 1048576.0},       {"MB", 1e6},  {"KiB", 1024.0},       {"kB", 1e3}};
    for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++) {
        if (v >= large[i].factor && fmod(v, large[i].factor) == 0) {
            snprintf(buf, n, "%.0f%s", v / large[i].factor, large[i].name);
            return;
        }
    }
    print_number(v, buf, n);
}

static bool counts_bytes(const weft_option *o)
{
    return !o->unit || !strncmp(o->unit, "bytes", 5);
}

static void print_bound(const weft_option *o, weft_option_kind kind, double v, char *buf, size_t n)
{
    if (kind == WEFT_OPT_DURATION_MS)
        print_duration(v, buf, n);
    else if (kind == WEFT_OPT_BYTES && counts_bytes(o))
        print_bytes_bound(v, buf, n);
    else
        print_number(v, buf, n);
}

bool weft_option_has_bounds(const weft_option *o)
{
    return o->min != 0 || o->max != 0;
}

static char *expected_enum(const weft_option *o, char *buf, size_t n)
{
    size_t len = (size_t)snprintf(buf, n, "one of");
    for (const weft_enum_value *v = o->values; v && v->name && len < n; v++)
        len += (size_t)snprintf(buf + len, n - len, "%s %s", v == o->values ? "" : ",", v->name);
    return buf;
}

char *weft_option_expected(const weft_option *o, weft_option_kind kind, char *buf, size_t n)
{
    char lo[NUMBER_BYTES], hi[NUMBER_BYTES], item[256];
    const char *words = weft_option_kind_words(kind);
    if (kind == WEFT_OPT_ENUM)
        return expected_enum(o, buf, n);
    if (kind == WEFT_OPT_LIST) {
        snprintf(buf, n, "a list (each %s)", weft_option_expected(o, o->item, item, sizeof(item)));
        return buf;
    }
    if (kind == WEFT_OPT_STRING) {
        if (weft_option_string_bytes(o) == WEFT_OPTION_DEFAULT_STRING_BYTES)
            snprintf(buf, n, "%s", words);
        else
            snprintf(buf, n, "%s of at most %zu bytes", words, weft_option_string_bytes(o));
        return buf;
    }
    if (!weft_option_is_scalar(kind) || kind == WEFT_OPT_BOOL) {
        snprintf(buf, n, "%s", words);
        return buf;
    }
    const char *example = kind == WEFT_OPT_DURATION_MS                ? ", like 250ms or 5s"
                          : kind == WEFT_OPT_BYTES && counts_bytes(o) ? ", like 64MB"
                          : kind == WEFT_OPT_SIZE                     ? ", like [640, 480]"
                                                                      : "";
    const char *unit_name = kind == WEFT_OPT_INT || kind == WEFT_OPT_FLOAT ? o->unit : NULL;
    char counted[NUMBER_BYTES];
    if (kind == WEFT_OPT_BYTES && !counts_bytes(o)) {
        snprintf(counted, sizeof(counted), "a number of %s", o->unit);
        words = counted;
    }
    if (weft_option_has_bounds(o)) {
        print_bound(o, kind, o->min, lo, sizeof(lo));
        print_bound(o, kind, o->max, hi, sizeof(hi));
        snprintf(buf, n, "%s%s from %s to %s%s%s%s", words, kind == WEFT_OPT_SIZE ? " with sides" : "", lo, hi,
                 unit_name ? " " : "", unit_name ? unit_name : "", example);
    } else {
        snprintf(buf, n, "%s%s%s%s", words, unit_name ? " of " : "", unit_name ? unit_name : "", example);
    }
    return buf;
}

/* ---- output ----------------------------------------------------------------------------------------------------------- */
size_t weft_option_print(const weft_option *o, weft_option_kind kind, const void *p, char *buf, size_t n)
{
    value v = {0};
    const char *s = NULL;
    if (kind == WEFT_OPT_STRING)
        memcpy(&s, p, sizeof(s));
    else
        memcpy(&v, p, weft_option_storage_bytes(o, kind));
    char number[NUMBER_BYTES];
    switch (kind) {
    case WEFT_OPT_BOOL:
        return (size_t)snprintf(buf, n, "%s", v.b ? "true" : "false");
    case WEFT_OPT_INT:
        return (size_t)snprintf(buf, n, "%lld", (long long)v.i);
    case WEFT_OPT_FLOAT:
    case WEFT_OPT_DURATION_MS:
        print_number(v.f, number, sizeof(number));
        return (size_t)snprintf(buf, n, "%s", number);
    case WEFT_OPT_BYTES:
        return (size_t)snprintf(buf, n, "%llu", (unsigned long long)v.bytes);
    case WEFT_OPT_SIZE:
        return (size_t)snprintf(buf, n, "[%d, %d]", (int)v.size.width, (int)v.size.height);
    case WEFT_OPT_ENUM:
        for (const weft_enum_value *e = o->values; e && e->name; e++)
            if (e->value == v.e)
                return (size_t)snprintf(buf, n, "%s", e->name);
        return (size_t)snprintf(buf, n, "%d", v.e);
    case WEFT_OPT_STRING:
        return (size_t)snprintf(buf, n, "%s", s ? s : "");
    default:
        return (size_t)snprintf(buf, n, "%s", "");
    }
}
