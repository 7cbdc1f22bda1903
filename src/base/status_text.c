#include "weft/status.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

const char *weft_status_name(weft_status s)
{
    switch ((int)s) {
    case WEFT_OK:
        return "OK";
#define CASE(name, code, http, grpc, text)                                                                                       \
    case code:                                                                                                                   \
        return #name;
        WEFT_STATUS_TABLE(CASE)
#undef CASE
    }
    return "UNKNOWN";
}

const char *weft_status_text(weft_status s)
{
    switch ((int)s) {
    case WEFT_OK:
        return "success";
#define CASE(name, code, http, grpc, text)                                                                                       \
    case code:                                                                                                                   \
        return text;
        WEFT_STATUS_TABLE(CASE)
#undef CASE
    }
    return "a code that this version does not know";
}

int weft_status_http(weft_status s)
{
    switch ((int)s) {
    case WEFT_OK:
        return 200;
#define CASE(name, code, http, grpc, text)                                                                                       \
    case code:                                                                                                                   \
        return http;
        WEFT_STATUS_TABLE(CASE)
#undef CASE
    }
    return 500;
}

int weft_status_grpc(weft_status s)
{
    switch ((int)s) {
    case WEFT_OK:
        return 0;
#define CASE(name, code, http, grpc, text)                                                                                       \
    case code:                                                                                                                   \
        return grpc;
        WEFT_STATUS_TABLE(CASE)
#undef CASE
    }
    return 2; /* UNKNOWN */
}

/* Error text is shown to clients and put into JSON: always valid UTF-8, whatever a name or a file held. */
static void repair(char *text)
{
    size_t n = strlen(text);
    const char *s = text;

    while (n) {
        char *at = text + (s - text);
        size_t before = n;

        if (weft_utf8_next(&s, &n) == 0xfffd && before - n == 1)
            *at = '?';
    }
}

/* Copies as much of `from` as fits after `at` bytes of err->text, cut at a character. */
static void put_text(weft_error *err, size_t at, const char *from)
{
    size_t n = strlen(from), cut = weft_utf8_cut(from, n, sizeof err->text - 1 - at);

    memcpy(err->text + at, from, cut);
    err->text[at + cut] = 0;
}

weft_status weft_failv(weft_error *err, weft_status s, const char *fmt, va_list ap)
{
    char text[WEFT_ERROR_TEXT_BYTES +
              4]; /* the arguments may point into err itself; 4 more so that a cut character is seen whole */

    if (!err)
        return s;
    if (vsnprintf(text, sizeof text, fmt, ap) < 0)
        text[0] = 0;
    err->status = s;
    err->retry_after_ms = 0;
    put_text(err, 0, text);
    repair(err->text);
    return s;
}

weft_status weft_fail(weft_error *err, weft_status s, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    weft_failv(err, s, fmt, ap);
    va_end(ap);
    return s;
}

weft_status weft_fail_prefix(weft_error *err, weft_status s, const char *fmt, ...)
{
    char old[WEFT_ERROR_TEXT_BYTES], text[WEFT_ERROR_TEXT_BYTES];
    va_list ap;
    size_t n;

    if (!err)
        return s;
    memcpy(old, err->text, sizeof old);
    old[sizeof old - 1] = 0;
    va_start(ap, fmt);
    if (vsnprintf(text, sizeof text, fmt, ap) < 0)
        text[0] = 0;
    va_end(ap);
    if (err->status == WEFT_OK) /* nothing had been said yet */
        err->status = s;
    put_text(err, 0, text);
    n = strlen(err->text);
    if (n && strncmp(old, err->text, n) == 0 && old[n] == ':' && old[n + 1] == ' ') { /* an inner function said it already */
        put_text(err, 0, old);
        return s;
    }
    if (old[0] && n + 3 < sizeof err->text) {
        memcpy(err->text + n, ": ", 3);
        put_text(err, n + 2, old);
    }
    repair(err->text);
    return s;
}

void weft_error_clear(weft_error *err)
{
    if (!err)
        return;
    err->status = WEFT_OK;
    err->retry_after_ms = 0;
    err->text[0] = 0;
}
