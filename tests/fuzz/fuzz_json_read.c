/* The JSON reader on any bytes. Invariants: tokens lie inside the text, what is read ends, depth stays in bounds, and the events
 * of an accepted text do not depend on whether values are skipped. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "wire/json_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check(bool ok)
{
    if (!ok)
        abort();
}

static void check_token(const weft_json_reader *r, weft_json_event e, const char *text, size_t n_bytes, char *out)
{
    double d;
    float f;
    int64_t i;
    uint64_t u;
    if (e != WEFT_JSON_KEY && e != WEFT_JSON_STRING && e != WEFT_JSON_NUMBER)
        return;
    check(r->token >= text && r->token + r->n_token <= text + n_bytes);
    if (e == WEFT_JSON_NUMBER) {
        weft_json_read_double(r, &d);
        weft_json_read_float(r, &f);
        weft_json_read_i64(r, &i);
        weft_json_read_u64(r, &u);
        return;
    }
    size_t n = weft_json_read_text(r, out);
    check(n <= r->n_token && weft_utf8_valid(out, n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    char *text = malloc(n_bytes + !n_bytes), *out = malloc(n_bytes + !n_bytes);
    weft_json_reader r;
    weft_json_event e;
    size_t n_events = 0;
    memcpy(text, data, n_bytes);
    weft_json_read_init(&r, text, n_bytes);
    while ((e = weft_json_read(&r)) > WEFT_JSON_END) {
        check(r.depth >= 0 && r.depth <= WEFT_JSON_READ_DEPTH && r.at <= n_bytes && ++n_events <= n_bytes);
        check_token(&r, e, text, n_bytes, out);
    }
    bool whole = e == WEFT_JSON_END;
    check(whole || (r.problem && r.problem_at <= n_bytes));
    weft_json_read_init(&r, text, n_bytes);
    bool skipped = weft_json_skip(&r, weft_json_read(&r)) && weft_json_read(&r) == WEFT_JSON_END;
    check(whole == skipped);
    free(text);
    free(out);
    return 0;
}
