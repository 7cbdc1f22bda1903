/* Status codes and error text.
 *
 * Every fallible function of weft returns a weft_status: WEFT_OK (0) or a negative code. On failure it also
 * fills the optional, caller-owned weft_error with one sentence that is fit to show a client: what was
 * expected, what came, what to do. Codes are frozen once released.
 *
 * Threads: everything here may be called from any thread; a weft_error belongs to one thread at a time. */
#ifndef WEFT_STATUS_H
#define WEFT_STATUS_H

#include <stdarg.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_API __attribute__((visibility("default")))

/* The one table of errors: X(NAME, code, HTTP status, gRPC status, one-line meaning).
 * HTTP numbers: RFC 9110 (499 is the customary "client closed request"); gRPC numbers: grpc/status.h. */
#define WEFT_STATUS_TABLE(X)                                                                      \
    X(INVALID, -1, 400, 3, "the request or an argument is wrong")                                 \
    X(CONFIG, -2, 400, 3, "the configuration is wrong")                                           \
    X(UNAUTHORIZED, -3, 401, 16, "no valid key was given")                                        \
    X(FORBIDDEN, -4, 403, 7, "the caller may not do this")                                        \
    X(NOT_FOUND, -5, 404, 5, "no such model, version, job or file")                               \
    X(CONFLICT, -6, 409, 6, "it exists already, or the state does not allow it")                  \
    X(GONE, -7, 410, 5, "it existed and was removed")                                             \
    X(TOO_LARGE, -8, 413, 8, "a size is over its limit")                                          \
    X(MEDIA_TYPE, -9, 415, 3, "this kind of content is not accepted here")                        \
    X(UNPROCESSABLE, -10, 422, 3, "the content is of the right kind but cannot be decoded")       \
    X(BUSY, -11, 429, 8, "the queue is full or the wait would be too long; try again later")      \
    X(CANCELLED, -12, 499, 1, "the caller cancelled or went away")                                \
    X(UNAVAILABLE, -13, 503, 14, "the model or the server is not ready")                          \
    X(DEADLINE, -14, 504, 4, "the deadline passed")                                               \
    X(NO_MEMORY, -15, 503, 8, "out of memory on host or device")                                  \
    X(RUN_FAILED, -16, 500, 13, "the model run failed")                                           \
    X(DEVICE, -17, 503, 14, "the device failed")                                                  \
    X(IO, -18, 500, 13, "reading or writing a file or socket failed")                             \
    X(UNSUPPORTED, -19, 501, 12, "this build, backend or model cannot do that")                   \
    X(INTERNAL, -20, 500, 13, "a fault inside weft")

typedef enum weft_status {
    WEFT_OK = 0,
#define WEFT_STATUS_ENUM(name, code, http, grpc, text) WEFT_E_##name = (code),
    WEFT_STATUS_TABLE(WEFT_STATUS_ENUM)
#undef WEFT_STATUS_ENUM
} weft_status;

#define WEFT_ERROR_TEXT_BYTES 1024

/* Owned by the caller, usually on its stack; no pointers inside, so it can be copied. */
typedef struct weft_error {
    weft_status status;                /* WEFT_OK when nothing failed */
    int64_t retry_after_ms;            /* advice with BUSY and UNAVAILABLE; 0 = none */
    char text[WEFT_ERROR_TEXT_BYTES];  /* UTF-8, NUL-terminated, truncated at a character */
} weft_error;

/* "INVALID", "BUSY", ...; "OK" for 0; "UNKNOWN" for a code outside the table. Static text. */
WEFT_API const char *weft_status_name(weft_status s);
/* The one-line meaning of the table. Static text. */
WEFT_API const char *weft_status_text(weft_status s);
WEFT_API int weft_status_http(weft_status s);
WEFT_API int weft_status_grpc(weft_status s);

/* Fills err (may be NULL) and returns s, so that `return weft_fail(err, WEFT_E_INVALID, "...")` reads well. */
WEFT_API weft_status weft_fail(weft_error *err, weft_status s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
WEFT_API weft_status weft_failv(weft_error *err, weft_status s, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));
/* Puts "prefix: " before the text that err already holds, unless it begins with just that (err may be NULL); keeps the status and returns it. */
WEFT_API weft_status weft_fail_prefix(weft_error *err, weft_status s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
WEFT_API void weft_error_clear(weft_error *err);

#ifdef __cplusplus
}
#endif
#endif
