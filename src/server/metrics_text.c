#include "server/metrics_text.h"

#include <math.h>
#include <string.h>

#include "base/lock.h"

static size_t family_length(const weft_metrics_text *t)
{
    size_t n = strlen(t->decl->name);
    const char *cut = t->decl->kind == WEFT_METRIC_COUNTER ? "_total" : "_info";
    size_t k = strlen(cut);
    return t->open_metrics && n > k && strcmp(t->decl->name + n - k, cut) == 0 ? n - k : n;
}

static bool is_info(const weft_metric_decl *d)
{
    size_t n = strlen(d->name);
    return d->kind == WEFT_METRIC_GAUGE && n > 5 && strcmp(d->name + n - 5, "_info") == 0;
}

static void begin_line(weft_metrics_text *t, const char *what)
{
    weft_buffer_puts(t->out, what);
    weft_buffer_append(t->out, t->decl->name, family_length(t));
    weft_buffer_putc(t->out, ' ');
}

/* Backslash and line end always, the quote in label values and in all of OpenMetrics' texts. */
static void put_escaped(weft_buffer *out, const char *s, bool quote)
{
    for (const char *from = s;; s++) {
        if (*s && *s != '\\' && *s != '\n' && !(quote && *s == '"'))
            continue;
        weft_buffer_append(out, from, (size_t)(s - from));
        if (!*s)
            return;
        weft_buffer_putc(out, '\\');
        weft_buffer_putc(out, *s == '\n' ? 'n' : *s);
        from = s + 1;
    }
}

void weft_metrics_family(weft_metrics_text *t, const weft_metric_decl *decl)
{
    static const char *const kinds[] = {"untyped", "counter", "gauge", "histogram"};
    t->decl = decl;
    begin_line(t, "# HELP ");
    put_escaped(t->out, decl->help, t->open_metrics);
    weft_buffer_putc(t->out, '\n');
    begin_line(t, "# TYPE ");
    weft_buffer_puts(t->out, t->open_metrics && is_info(decl) ? "info" : kinds[decl->kind]);
    weft_buffer_putc(t->out, '\n');
    if (t->open_metrics && decl->unit[0]) {
        begin_line(t, "# UNIT ");
        weft_buffer_puts(t->out, decl->unit);
        weft_buffer_putc(t->out, '\n');
    }
}

static void begin_sample(weft_metrics_text *t, const char *suffix, const char *labels, weft_label more, const char *le)
{
    weft_buffer *b = t->out;
    weft_buffer_puts(b, t->decl->name);
    weft_buffer_puts(b, suffix);
    char glue = '{';
    if (labels[0]) {
        weft_buffer_putc(b, glue);
        weft_buffer_puts(b, labels);
        glue = ',';
    }
    if (more.key) {
        weft_buffer_putc(b, glue);
        weft_buffer_puts(b, more.key);
        weft_buffer_append(b, "=\"", 2);
        put_escaped(b, more.value, true);
        weft_buffer_putc(b, '"');
        glue = ',';
    }
    if (le) {
        weft_buffer_putc(b, glue);
        weft_buffer_append(b, "le=\"", 4);
        weft_buffer_puts(b, le);
        weft_buffer_putc(b, '"');
        glue = ',';
    }
    if (glue == ',')
        weft_buffer_putc(b, '}');
    weft_buffer_putc(b, ' ');
}

static void end_uint(weft_metrics_text *t, uint64_t v)
{
    char text[WEFT_NUMBER_BYTES];
    weft_print_uint(v, text);
    weft_buffer_puts(t->out, text);
    weft_buffer_putc(t->out, '\n');
}

/* Most values are whole nanoseconds as seconds: nine decimals say them exactly, ten times as fast as the search for the shortest
 * text. False when they do not. */
static bool print_nanos(double v, char *text)
{
    if (!(v >= 0 && v < 9e6))
        return false;
    uint64_t n = (uint64_t)llround(v * 1e9), rest = n % 1000000000;
    if ((double)n / 1e9 != v)
        return false;
    weft_print_uint(n / 1000000000, text);
    char *p = text + strlen(text);
    if (rest) {
        *p++ = '.';
        for (uint64_t place = 100000000; rest; place /= 10) {
            *p++ = (char)('0' + rest / place);
            rest %= place;
        }
    }
    *p = 0;
    return true;
}

static void end_double(weft_metrics_text *t, double v)
{
    char text[WEFT_NUMBER_BYTES];
    if (!print_nanos(v, text) && !weft_print_double(v, text))
        strcpy(text, isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf");
    weft_buffer_puts(t->out, text);
    weft_buffer_putc(t->out, '\n');
}

void weft_metrics_uint(weft_metrics_text *t, const char *labels, weft_label more, uint64_t value)
{
    begin_sample(t, "", labels, more, NULL);
    end_uint(t, value);
}

void weft_metrics_double(weft_metrics_text *t, const char *labels, weft_label more, double value)
{
    begin_sample(t, "", labels, more, NULL);
    end_double(t, value);
}

/* OpenMetrics wants a bound to look like a float (1.0, not 1), so that the two forms of one bound never differ. */
static void print_bound(double v, char text[WEFT_NUMBER_BYTES])
{
    if (!print_nanos(v, text))
        weft_print_double(v, text);
    if (!strpbrk(text, ".eE"))
        strcat(text, ".0");
}

void weft_metrics_histogram(weft_metrics_text *t, const char *labels, weft_label more, const double *bounds,
                            const uint64_t *counts, size_t n_bounds, double sum)
{
    uint64_t total = 0;
    weft_assert(n_bounds <= WEFT_METRICS_MAX_BOUNDS);
    for (size_t i = 0; i < n_bounds && t->bounds != bounds; i++) /* shortest decimals are dear: once, not for every model */
        print_bound(bounds[i], t->le[i]);
    t->bounds = bounds;
    for (size_t i = 0; i <= n_bounds; i++) {
        total += counts[i];
        begin_sample(t, "_bucket", labels, more, i < n_bounds ? t->le[i] : "+Inf");
        end_uint(t, total);
    }
    begin_sample(t, "_sum", labels, more, NULL);
    end_double(t, sum);
    begin_sample(t, "_count", labels, more, NULL);
    end_uint(t, total);
}

void weft_metrics_end(weft_metrics_text *t)
{
    if (t->open_metrics)
        weft_buffer_puts(t->out, "# EOF\n");
}

void weft_label_text(char *text, size_t n_text, const char *key, const char *value)
{
    size_t n = strlen(text);
    if (n)
        text[n++] = ',';
    n += (size_t)(stpcpy(text + n, key) - (text + n));
    text[n++] = '=';
    text[n++] = '"';
    while (*value) {
        size_t k = 1;
        while (((unsigned char)value[k] & 0xc0) == 0x80) /* the rest of a UTF-8 character */
            k++;
        bool escape = *value == '\\' || *value == '"' || *value == '\n';
        if (n + k + escape + 2 > n_text)
            break;
        if (escape)
            text[n++] = '\\';
        memcpy(text + n, *value == '\n' ? "n" : value, k);
        n += k;
        value += k;
    }
    text[n++] = '"';
    text[n] = 0;
}
