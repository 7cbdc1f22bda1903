#include "server/http_parse.h"

#include <string.h>
#include <strings.h>

/* ---- framing --------------------------------------------------------------------------------------------------------- */

size_t weft_http_head_end(const char *buf, size_t n, size_t *scanned)
{
    size_t i = *scanned;
    bool in_text = i > 0; /* leading CRLFs do not end a head that has not begun */
    if (i == 0) {
        while (i < n && (buf[i] == '\r' || buf[i] == '\n'))
            i++;
        if (i == n)
            return 0;
        in_text = true;
    }
    for (; in_text && i < n; i++) {
        if (buf[i] != '\n')
            continue;
        if (i + 1 < n && buf[i + 1] == '\n')
            return i + 2;
        if (i + 2 < n && buf[i + 1] == '\r' && buf[i + 2] == '\n')
            return i + 3;
        if (i + 2 >= n)
            break; /* look at this line end again when more has come */
    }
    *scanned = i;
    return 0;
}

static bool is_token_char(unsigned char c)
{
    static const char extra[] = "!#$%&'*+-.^_`|~"; /* RFC 9110 5.6.2 */
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return true;
    return c != 0 && strchr(extra, c) != NULL;
}

static bool refuse(weft_http_refusal *no, int status, const char *text)
{
    no->status = status;
    no->text = text;
    return false;
}

/* Raw checks that the library leaves out. Every line must end in CRLF. */
static bool check_raw(const char *buf, size_t n, weft_http_refusal *no)
{
    bool line_start = true, first_line = true, in_name = false;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)buf[i];
        if (c == '\n') {
            if (i == 0 || buf[i - 1] != '\r')
                return refuse(no, 400, "A line of the request head ends with a bare LF; lines must end with CR LF.");
            if (in_name && !line_start && !first_line)
                return refuse(no, 400, "A header line has no colon.");
            first_line = false;
            line_start = true;
            continue;
        }
        if (c == '\r') {
            if (i + 1 >= n || buf[i + 1] != '\n')
                return refuse(no, 400, "The request head contains a bare CR.");
            continue;
        }
        if (c < 0x20 && c != '\t')
            return refuse(no, 400, "The request head contains a control character.");
        if (c == 0x7f)
            return refuse(no, 400, "The request head contains a control character.");
        if (first_line) {
            line_start = false;
            continue;
        }
        if (line_start) {
            if (c == ' ' || c == '\t')
                return refuse(no, 400, "A header line is folded (starts with a blank); send it on one line.");
            in_name = true;
            line_start = false;
        }
        if (in_name) {
            if (c == ':')
                in_name = false;
            else if (!is_token_char(c))
                return refuse(no, 400, "A header name contains a blank or another character that is not allowed.");
        }
    }
    return true;
}

/* ---- the library ------------------------------------------------------------------------------------------------------- */

typedef struct parse_state {
    weft_http_head *head;
    weft_http_slice target;
    bool complete, overflow;
    bool value_next; /* the last callback was a field name: a value may follow */
    bool (*sink)(void *cookie, const char *data, size_t n);
    void *cookie;
    bool done, stopped;
    int method;
} parse_state;

static void extend(weft_http_slice *s, const char *at, size_t n)
{
    if (!s->p)
        s->p = at;
    s->n = (size_t)(at + n - s->p);
}

static int on_target(weft_http_engine *p, const char *at, size_t n)
{
    parse_state *st = p->data;
    if (st->head)
        extend(&st->target, at, n);
    return 0;
}

static int on_field(weft_http_engine *p, const char *at, size_t n)
{
    parse_state *st = p->data;
    if (!st->head) /* trailers of a chunked body are read and dropped */
        return 0;
    if (!st->value_next) {
        if (st->head->n_headers == WEFT_HTTP_MAX_HEADERS) {
            st->overflow = true;
            return -1;
        }
        st->head->n_headers++;
        st->value_next = true;
    }
    extend(&st->head->headers[st->head->n_headers - 1].name, at, n);
    return 0;
}

static int on_value(weft_http_engine *p, const char *at, size_t n)
{
    parse_state *st = p->data;
    if (!st->head)
        return 0;
    st->value_next = false;
    extend(&st->head->headers[st->head->n_headers - 1].value, at, n);
    return 0;
}

static int on_headers_complete(weft_http_engine *p)
{
    parse_state *st = p->data;
    if (!st->head)
        return 0;
    st->complete = true;
    st->method = (int)p->method;
    st->head->minor = p->http_minor;
#if WEFT_HAVE_LLHTTP
    st->head->keep_alive = llhttp_should_keep_alive(p) != 0;
#else
    st->head->keep_alive = http_should_keep_alive(p) != 0;
#endif
    p->upgrade = 0; /* an upgrade is never accepted on this path: the request is served as it is (RFC 9110 7.8) */
    return 0;
}

static int on_body(weft_http_engine *p, const char *at, size_t n)
{
    parse_state *st = p->data;
    if (st->sink && !st->sink(st->cookie, at, n)) {
        st->stopped = true;
        return -1;
    }
    return 0;
}

static int on_message_complete(weft_http_engine *p)
{
    parse_state *st = p->data;
    st->done = true;
#if WEFT_HAVE_LLHTTP
    return st->sink ? HPE_PAUSED : 0;
#else
    if (st->sink)
        http_parser_pause(p, 1);
    return 0;
#endif
}

#if WEFT_HAVE_LLHTTP
static const llhttp_settings_t *settings(void)
{
    static const llhttp_settings_t s = {
        .on_url = on_target,
        .on_header_field = on_field,
        .on_header_value = on_value,
        .on_headers_complete = on_headers_complete,
        .on_body = on_body,
        .on_message_complete = on_message_complete,
    };
    return &s;
}

static bool run_library(weft_http_engine *p, const char *buf, size_t n, size_t *n_used)
{
    llhttp_errno_t e = llhttp_execute(p, buf, n);
    *n_used = n;
    if (e == HPE_PAUSED || e == HPE_PAUSED_UPGRADE) {
        *n_used = (size_t)(llhttp_get_error_pos(p) - buf);
        return true;
    }
    return e == HPE_OK;
}
#else
static const http_parser_settings *settings(void)
{
    static const http_parser_settings s = {
        .on_url = on_target,
        .on_header_field = on_field,
        .on_header_value = on_value,
        .on_headers_complete = on_headers_complete,
        .on_body = on_body,
        .on_message_complete = on_message_complete,
    };
    return &s;
}

static bool run_library(weft_http_engine *p, const char *buf, size_t n, size_t *n_used)
{
    *n_used = http_parser_execute(p, settings(), buf, n);
    enum http_errno e = HTTP_PARSER_ERRNO(p);
    return e == HPE_PAUSED || e == HPE_OK;
}
#endif

static void start_library(weft_http_engine *p, parse_state *st)
{
#if WEFT_HAVE_LLHTTP
    llhttp_init(p, HTTP_REQUEST, settings());
#else
    http_parser_init(p, HTTP_REQUEST);
#endif
    p->data = st;
}

/* ---- what the head says -------------------------------------------------------------------------------------------------- */

static void trim(weft_http_slice *s)
{
    while (s->n && (s->p[0] == ' ' || s->p[0] == '\t'))
        s->p++, s->n--;
    while (s->n && (s->p[s->n - 1] == ' ' || s->p[s->n - 1] == '\t' || s->p[s->n - 1] == '\r'))
        s->n--;
}

static bool read_length(weft_http_slice v, uint64_t *out)
{
    if (v.n == 0 || v.n > 19)
        return false;
    uint64_t x = 0;
    for (size_t i = 0; i < v.n; i++) {
        if (v.p[i] < '0' || v.p[i] > '9')
            return false;
        x = x * 10 + (uint64_t)(v.p[i] - '0');
    }
    *out = x;
    return true;
}

static bool read_framing(weft_http_head *h, weft_http_refusal *no)
{
    int n_host = 0, n_length = 0, n_coding = 0;
    for (size_t i = 0; i < h->n_headers; i++) {
        weft_http_slice name = h->headers[i].name, *v = &h->headers[i].value;
        trim(v);
        if (weft_http_slice_is(name, "host")) {
            n_host++;
        } else if (weft_http_slice_is(name, "content-length")) {
            n_length++;
            if (!read_length(*v, &h->content_length))
                return refuse(no, 400, "Content-Length must be one plain decimal number.");
        } else if (weft_http_slice_is(name, "transfer-encoding")) {
            n_coding++;
            if (!weft_http_slice_is(*v, "chunked"))
                return refuse(no, 501, "The only Transfer-Encoding understood here is chunked.");
        } else if (weft_http_slice_is(name, "expect")) {
            if (!weft_http_slice_is(*v, "100-continue"))
                return refuse(no, 417, "The only Expect understood here is 100-continue.");
            h->expect_continue = h->minor >= 1;
        }
    }
    if (n_host > 1 || (n_host == 0 && h->minor >= 1))
        return refuse(no, 400, "An HTTP/1.1 request needs exactly one Host header.");
    if (n_length > 1)
        return refuse(no, 400, "Content-Length is given more than once.");
    if (n_coding > 1 || (n_coding && n_length))
        return refuse(no, 400, "Content-Length and Transfer-Encoding must not be sent together, nor Transfer-Encoding twice.");
    if (n_coding && h->minor == 0)
        return refuse(no, 400, "HTTP/1.0 has no Transfer-Encoding.");
    h->chunked = n_coding == 1;
    h->has_length = n_length == 1;
    return true;
}

static weft_http_method known_method(int m)
{
    switch (m) {
    case HTTP_GET:
        return WEFT_HTTP_GET;
    case HTTP_HEAD:
        return WEFT_HTTP_HEAD;
    case HTTP_POST:
        return WEFT_HTTP_POST;
    case HTTP_PUT:
        return WEFT_HTTP_PUT;
    case HTTP_DELETE:
        return WEFT_HTTP_DELETE;
    case HTTP_OPTIONS:
        return WEFT_HTTP_OPTIONS;
    default:
        return WEFT_HTTP_OTHER;
    }
}

/* Absolute form (http://host/path) is allowed towards a proxy and must be understood (RFC 9112 3.2.2). */
static bool split_target(weft_http_slice t, weft_http_head *h, weft_http_refusal *no)
{
    if (t.n > WEFT_HTTP_MAX_TARGET)
        return refuse(no, 414, "The request target is longer than 4096 bytes.");
    if (weft_http_slice_starts(t, "http://") || weft_http_slice_starts(t, "https://")) {
        const char *slash = memchr(t.p + 8, '/', t.n - 8);
        if (!slash)
            return refuse(no, 400, "The request target has no path.");
        t.n -= (size_t)(slash - t.p);
        t.p = slash;
    }
    if (t.n == 0 || (t.p[0] != '/' && !(t.n == 1 && t.p[0] == '*')))
        return refuse(no, 400, "The request target must start with a slash.");
    const char *hash = memchr(t.p, '#', t.n);
    if (hash)
        return refuse(no, 400, "The request target must not contain a fragment.");
    const char *q = memchr(t.p, '?', t.n);
    h->path = (weft_http_slice){t.p, q ? (size_t)(q - t.p) : t.n};
    h->query = q ? (weft_http_slice){q + 1, (size_t)(t.p + t.n - q - 1)} : (weft_http_slice){t.p + t.n, 0};
    return true;
}

static bool failed_at_method(const weft_http_engine *engine)
{
#if WEFT_HAVE_LLHTTP
    return llhttp_get_errno(engine) == HPE_INVALID_METHOD;
#else
    return HTTP_PARSER_ERRNO(engine) == HPE_INVALID_METHOD;
#endif
}

/* A method of capital letters and a target, so that what is no request at all stays a 400. */
static bool starts_with_token(const char *buf, size_t n)
{
    size_t i = 0;
    while (i < n && i < 32 && ((buf[i] >= 'A' && buf[i] <= 'Z') || buf[i] == '-'))
        i++;
    return i > 0 && i + 1 < n && buf[i] == ' ' && buf[i + 1] == '/';
}

bool weft_http_head_parse(weft_http_engine *engine, const char *buf, size_t n, weft_http_head *out, weft_http_refusal *no)
{
    while (n >= 2 && buf[0] == '\r' && buf[1] == '\n')
        buf += 2, n -= 2;
    out->n_headers = 0;
    memset(out->headers, 0, sizeof(out->headers));
    out->content_length = 0;
    out->expect_continue = out->chunked = out->has_length = out->keep_alive = false;
    out->minor = 1;
    if (!check_raw(buf, n, no))
        return false;

    parse_state st = {.head = out};
    size_t n_used = 0;
    start_library(engine, &st);
    bool ok = run_library(engine, buf, n, &n_used);
    engine->data = NULL;
    if (st.overflow)
        return refuse(no, 431, "The request has more than 100 headers.");
    if (!ok && failed_at_method(engine) && starts_with_token(buf, n)) /* RFC 9110, section 9.1 */
        return refuse(no, 501, "This request method is not known here; GET / lists what is served and with which methods.");
    if (!ok || !st.complete)
        return refuse(no, 400, "The request head is not valid HTTP/1.1.");
    if (engine->http_major != 1 || out->minor > 1)
        return refuse(no, 505, "Only HTTP/1.0 and HTTP/1.1 are spoken here.");
    out->method = known_method(st.method);
    return split_target(st.target, out, no) && read_framing(out, no);
}

weft_http_chunk_state weft_http_chunk_feed(weft_http_engine *engine, const char *buf, size_t n, size_t *n_used,
                                           bool (*sink)(void *cookie, const char *data, size_t n), void *cookie)
{
    parse_state st = {.sink = sink, .cookie = cookie};
    engine->data = &st;
    bool ok = run_library(engine, buf, n, n_used);
    engine->data = NULL;
    if (st.stopped)
        return WEFT_CHUNK_STOPPED;
    if (!ok)
        return WEFT_CHUNK_BAD;
    return st.done ? WEFT_CHUNK_DONE : WEFT_CHUNK_MORE;
}

/* ---- small readers ------------------------------------------------------------------------------------------------------- */

const weft_http_slice *weft_http_header(const weft_http_head *h, const char *name)
{
    for (size_t i = 0; i < h->n_headers; i++)
        if (weft_http_slice_is(h->headers[i].name, name))
            return &h->headers[i].value;
    return NULL;
}

bool weft_http_slice_is(weft_http_slice s, const char *text)
{
    return strlen(text) == s.n && strncasecmp(s.p, text, s.n) == 0;
}

bool weft_http_slice_starts(weft_http_slice s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.n >= n && strncasecmp(s.p, prefix, n) == 0;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool percent_decode(const char *p, size_t n, bool plus_is_space, char *out, size_t n_out)
{
    size_t o = 0;
    for (size_t i = 0; i < n; i++) {
        char c = p[i];
        if (c == '%') {
            if (i + 2 >= n || hex_value(p[i + 1]) < 0 || hex_value(p[i + 2]) < 0)
                return false;
            c = (char)(hex_value(p[i + 1]) * 16 + hex_value(p[i + 2]));
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        if (c == 0 || o + 1 >= n_out)
            return false;
        out[o++] = c;
    }
    if (n_out == 0)
        return false;
    out[o] = 0;
    return true;
}

bool weft_http_query_get(weft_http_slice query, const char *name, char *out, size_t n_out)
{
    size_t n_name = strlen(name);
    const char *p = query.p, *end = query.p + query.n;
    while (p < end) {
        const char *amp = memchr(p, '&', (size_t)(end - p));
        const char *stop = amp ? amp : end;
        const char *eq = memchr(p, '=', (size_t)(stop - p));
        const char *key_end = eq ? eq : stop;
        if ((size_t)(key_end - p) == n_name && memcmp(p, name, n_name) == 0) {
            const char *v = eq ? eq + 1 : stop;
            return percent_decode(v, (size_t)(stop - v), true, out, n_out);
        }
        p = stop + 1;
    }
    return false;
}

int weft_http_query_next(weft_http_slice *query, char *name, size_t n_name, char *value, size_t n_value)
{
    while (query->n && *query->p == '&')
        query->p++, query->n--;
    if (query->n == 0)
        return 0;
    const char *p = query->p, *end = p + query->n;
    const char *amp = memchr(p, '&', query->n), *stop = amp ? amp : end;
    const char *eq = memchr(p, '=', (size_t)(stop - p)), *name_end = eq ? eq : stop, *v = eq ? eq + 1 : stop;
    query->p = stop;
    query->n = (size_t)(end - stop);
    return percent_decode(p, (size_t)(name_end - p), true, name, n_name) &&
                   percent_decode(v, (size_t)(stop - v), true, value, n_value)
               ? 1
               : -1;
}

bool weft_http_decode_segment(const char *p, size_t n, char *out, size_t n_out)
{
    return percent_decode(p, n, false, out, n_out) && strchr(out, '/') == NULL;
}

const char *weft_http_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } table[] = {
        {100, "Continue"},
        {200, "OK"},
        {202, "Accepted"},
        {204, "No Content"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {499, "Client Closed Request"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].status == status)
            return table[i].reason;
    return "Unknown";
}
