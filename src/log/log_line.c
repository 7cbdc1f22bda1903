#include "log/log_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "config/log_options.h"

#define TAIL 8 /* room kept for closing quote, brace and line end */

static bool room(const weft_log_line *l, size_t n)
{
    return l->n + n + TAIL <= l->capacity;
}

static void add(weft_log_line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(weft_log_line *l, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(l->p + l->n, l->capacity - l->n - TAIL, fmt, ap);
    va_end(ap);
    size_t left = l->capacity - l->n - TAIL;
    l->n += n < 0 ? 0 : (size_t)n < left ? (size_t)n : left - 1;
}

/* Control characters, quotes and backslashes escaped as in JSON; malformed UTF-8 becomes U+FFFD. A text value without blanks,
 * quotes or equals signs stays bare. */
static void add_quoted(weft_log_line *l, const char *s)
{
    size_t left = strlen(s);
    l->p[l->n++] = '"';
    while (left && room(l, 8)) {
        const char *at = s;
        uint32_t c = weft_utf8_next(&s, &left);
        if (c == '"' || c == '\\') {
            l->p[l->n++] = '\\';
            l->p[l->n++] = (char)c;
        } else if (c < 0x20 || c == 0x7f) {
            l->n += (size_t)snprintf(l->p + l->n, 7, "\\u%04x", (unsigned)c);
        } else if (c == 0xfffd) {
            memcpy(l->p + l->n, "\xef\xbf\xbd", 3);
            l->n += 3;
        } else {
            memcpy(l->p + l->n, at, (size_t)(s - at));
            l->n += (size_t)(s - at);
        }
    }
    l->p[l->n++] = '"';
}

static bool is_bare(const char *s)
{
    if (!*s)
        return false;
    for (; *s; s++)
        if ((unsigned char)*s <= 0x20 || (unsigned char)*s >= 0x7f || *s == '"' || *s == '=' || *s == '\\')
            return false;
    return true;
}

static bool begin_pair(weft_log_line *l, const char *key)
{
    if (!room(l, strlen(key) + 32))
        return false;
    if (l->json)
        add(l, ",\"%s\":", key);
    else
        add(l, " %s=", key);
    return true;
}

void weft_log_line_begin(weft_log_line *l, char *buf, size_t capacity, int format, weft_log_level level, const char *event,
                         const char *model)
{
    static const char *const names[] = {"?", "ERROR", "WARN", "INFO", "DEBUG"};
    int64_t now = weft_unix_ns();
    time_t seconds = (time_t)(now / WEFT_S);
    struct tm tm;
    char stamp[32];
    gmtime_r(&seconds, &tm);
    strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm);
    *l = (weft_log_line){.p = buf, .capacity = capacity, .json = format == WEFT_LOG_FORMAT_JSON};
    int millis = (int)(now / WEFT_MS % 1000);
    if (l->json)
        add(l, "{\"time\":\"%s.%03dZ\",\"level\":\"%s\",\"event\":\"%s\"", stamp, millis, names[level], event);
    else
        add(l, "%s.%03dZ %-5s %s", stamp, millis, names[level], event);
    if (model[0])
        weft_log_line_text(l, "model", model);
}

void weft_log_line_text(weft_log_line *l, const char *key, const char *value)
{
    if (!begin_pair(l, key))
        return;
    if (l->json || !is_bare(value) || !room(l, strlen(value)))
        add_quoted(l, value);
    else
        add(l, "%s", value);
}

void weft_log_line_int(weft_log_line *l, const char *key, int64_t value)
{
    if (begin_pair(l, key))
        add(l, "%lld", (long long)value);
}

void weft_log_line_ms(weft_log_line *l, const char *key, int64_t ns)
{
    if (begin_pair(l, key))
        add(l, "%.3f", (double)ns / 1e6);
}

size_t weft_log_line_end(weft_log_line *l)
{
    if (l->json)
        l->p[l->n++] = '}';
    l->p[l->n++] = '\n';
    return l->n;
}

size_t weft_log_line_request(char *buf, size_t capacity, int format, const weft_result *r, const char *trace)
{
    weft_log_line l;
    const weft_timing *t = &r->timing;
    size_t n_bytes = 0;
    for (size_t i = 0; i < r->n_columns; i++)
        n_bytes += r->columns[i].tensor.n_bytes;
    bool ok = r->error.status == WEFT_OK;
    weft_log_line_begin(&l, buf, capacity, format, ok ? WEFT_LOG_INFO : WEFT_LOG_WARN, "request", r->model);
    if (r->id && r->id[0])
        weft_log_line_text(&l, "id", r->id);
    weft_log_line_text(&l, "status", weft_status_name(r->error.status));
    weft_log_line_int(&l, "arrived_unix_ms", t->arrived_unix_ns / WEFT_MS);
    weft_log_line_ms(&l, "queue_ms", t->queue_ns);
    weft_log_line_ms(&l, "preprocess_ms", t->preprocess_ns);
    weft_log_line_ms(&l, "run_ms", t->run_ns);
    weft_log_line_ms(&l, "postprocess_ms", t->postprocess_ns);
    weft_log_line_ms(&l, "total_ms", t->total_ns);
    weft_log_line_int(&l, "batch", t->batch_rows);
    weft_log_line_int(&l, "items", (int64_t)r->n_items);
    weft_log_line_int(&l, "bytes", (int64_t)n_bytes);
    if (trace && trace[0])
        weft_log_line_text(&l, "trace", trace);
    if (!ok)
        weft_log_line_text(&l, "message", r->error.text);
    return weft_log_line_end(&l);
}

size_t weft_log_line_access(char *buf, size_t capacity, int format, const weft_access *a)
{
    weft_log_line l;
    weft_log_line_begin(&l, buf, capacity, format, WEFT_LOG_INFO, "access", "");
    weft_log_line_text(&l, "method", a->method[0] ? a->method : "-");
    weft_log_line_text(&l, "path", a->path[0] ? a->path : "-");
    weft_log_line_int(&l, "status", a->status);
    weft_log_line_ms(&l, "ms", a->total_ns);
    weft_log_line_int(&l, "received", (int64_t)a->n_received_bytes);
    weft_log_line_int(&l, "sent", (int64_t)a->n_sent_bytes);
    if (a->peer[0])
        weft_log_line_text(&l, "peer", a->peer);
    if (a->id[0])
        weft_log_line_text(&l, "id", a->id);
    if (a->trace[0])
        weft_log_line_text(&l, "trace", a->trace);
    return weft_log_line_end(&l);
}
