#include "wire/json.h"

#include "base/lock.h"
#include "base/text.h"
#include "wire/base64.h"
#include "wire/number_text.h"

#include <string.h>

void weft_json_init(weft_json *j, weft_buffer *out)
{
    *j = (weft_json){.out = out};
}

bool weft_json_finish(const weft_json *j)
{
    return j->done && !j->out->failed;
}

static uint64_t bit(int depth)
{
    return (uint64_t)1 << (depth - 1);
}

static void line_break(weft_json *j)
{
    if (!j->indent)
        return;
    weft_buffer_putc(j->out, '\n');
    for (int i = 0; i < j->indent * j->depth; i++)
        weft_buffer_putc(j->out, ' ');
}

/* Before a member of what is open: the comma and the line break. */
static void separate(weft_json *j)
{
    if (j->has_any & bit(j->depth))
        weft_buffer_putc(j->out, ',');
    j->has_any |= bit(j->depth);
    line_break(j);
}

static void before_value(weft_json *j)
{
    weft_assert(!j->done);
    if (j->after_key) {
        j->after_key = false;
    } else if (j->depth) {
        weft_assert(j->is_array & bit(j->depth)); /* in an object a key comes first */
        separate(j);
    }
}

static void after_value(weft_json *j)
{
    j->done = j->depth == 0;
}

static void open_level(weft_json *j, bool is_array)
{
    before_value(j);
    weft_assert(j->depth < WEFT_JSON_MAX_DEPTH);
    weft_buffer_putc(j->out, is_array ? '[' : '{');
    j->depth++;
    j->has_any &= ~bit(j->depth);
    j->is_array = is_array ? j->is_array | bit(j->depth) : j->is_array & ~bit(j->depth);
}

static void close_level(weft_json *j, bool is_array)
{
    bool any;

    weft_assert(j->depth > 0 && !j->after_key && is_array == !!(j->is_array & bit(j->depth)));
    any = j->has_any & bit(j->depth);
    j->depth--;
    if (any)
        line_break(j);
    weft_buffer_putc(j->out, is_array ? ']' : '}');
    after_value(j);
}

void weft_json_object_begin(weft_json *j)
{
    open_level(j, false);
}

void weft_json_object_end(weft_json *j)
{
    close_level(j, false);
}

void weft_json_array_begin(weft_json *j)
{
    open_level(j, true);
}

void weft_json_array_end(weft_json *j)
{
    close_level(j, true);
}

/* One character that may not stand in a string as it is. */
static void put_escaped(weft_buffer *out, uint8_t c)
{
    static const char short_forms[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    const char *p;

    for (p = short_forms; *p; p += 2)
        if ((uint8_t)*p == c) {
            weft_buffer_putc(out, '\\');
            weft_buffer_putc(out, p[1]);
            return;
        }
    weft_buffer_printf(out, "\\u%04x", c);
}

static void put_text(weft_json *j, const char *s, size_t n)
{
    weft_buffer *out = j->out;
    const char *plain = s;

    weft_buffer_putc(out, '"');
    while (n) {
        const char *at = s;
        size_t before = n;
        uint8_t c = (uint8_t)*s;
        bool bad;

        if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
            s++;
            n--;
            continue;
        }
        bad = weft_utf8_next(&s, &n) == 0xfffd && before - n == 1;
        if (c >= 0x80 && !bad)
            continue;
        weft_buffer_append(out, plain, (size_t)(at - plain));
        plain = s;
        if (bad)
            weft_buffer_append(out, "\xef\xbf\xbd", 3);
        else
            put_escaped(out, c);
    }
    weft_buffer_append(out, plain, (size_t)(s - plain));
    weft_buffer_putc(out, '"');
}

void weft_json_key(weft_json *j, const char *key)
{
    weft_assert(j->depth > 0 && !j->after_key && !(j->is_array & bit(j->depth)));
    separate(j);
    put_text(j, key, strlen(key));
    weft_buffer_puts(j->out, j->indent ? ": " : ":");
    j->after_key = true;
}

static void put_value(weft_json *j, const char *text)
{
    before_value(j);
    weft_buffer_puts(j->out, text);
    after_value(j);
}

void weft_json_null(weft_json *j)
{
    put_value(j, "null");
}

void weft_json_bool(weft_json *j, bool v)
{
    put_value(j, v ? "true" : "false");
}

void weft_json_int(weft_json *j, int64_t v)
{
    char text[WEFT_NUMBER_BYTES];

    weft_print_int(v, text);
    put_value(j, text);
}

void weft_json_uint(weft_json *j, uint64_t v)
{
    char text[WEFT_NUMBER_BYTES];

    weft_print_uint(v, text);
    put_value(j, text);
}

void weft_json_float(weft_json *j, float v)
{
    char text[WEFT_NUMBER_BYTES];

    put_value(j, weft_print_float(v, text) ? text : "null");
}

void weft_json_double(weft_json *j, double v)
{
    char text[WEFT_NUMBER_BYTES];

    put_value(j, weft_print_double(v, text) ? text : "null");
}

void weft_json_text(weft_json *j, const char *s, size_t n_bytes)
{
    before_value(j);
    put_text(j, s, n_bytes);
    after_value(j);
}

void weft_json_string(weft_json *j, const char *s)
{
    if (s)
        weft_json_text(j, s, strlen(s));
    else
        weft_json_null(j);
}

void weft_json_base64(weft_json *j, const void *data, size_t n_bytes)
{
    size_t n = weft_base64_encoded_bytes(n_bytes);

    before_value(j);
    weft_buffer_putc(j->out, '"');
    if (weft_buffer_reserve(j->out, n)) {
        weft_base64_encode(data, n_bytes, (char *)j->out->data + j->out->n_bytes);
        j->out->n_bytes += n;
    }
    weft_buffer_putc(j->out, '"');
    after_value(j);
}

void weft_json_key_string(weft_json *j, const char *key, const char *s)
{
    weft_json_key(j, key);
    weft_json_string(j, s);
}

void weft_json_key_int(weft_json *j, const char *key, int64_t v)
{
    weft_json_key(j, key);
    weft_json_int(j, v);
}

void weft_json_key_uint(weft_json *j, const char *key, uint64_t v)
{
    weft_json_key(j, key);
    weft_json_uint(j, v);
}

void weft_json_key_double(weft_json *j, const char *key, double v)
{
    weft_json_key(j, key);
    weft_json_double(j, v);
}

void weft_json_key_bool(weft_json *j, const char *key, bool v)
{
    weft_json_key(j, key);
    weft_json_bool(j, v);
}
