#include "server/trace_context.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"

#define PARENT_LENGTH 55

static bool is_hex(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!((p[i] >= '0' && p[i] <= '9') || (p[i] >= 'a' && p[i] <= 'f'))) /* lower case only: section 3.2.2 */
            return false;
    return true;
}

static bool all_zero(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != '0')
            return false;
    return true;
}

static bool is_valid(const char *p, size_t n)
{
    if (n < PARENT_LENGTH || p[2] != '-' || p[35] != '-' || p[52] != '-')
        return false;
    if (!is_hex(p, 2) || !is_hex(p + 3, 32) || !is_hex(p + 36, 16) || !is_hex(p + 53, 2))
        return false;
    if (memcmp(p, "ff", 2) == 0 || all_zero(p + 3, 32) || all_zero(p + 36, 16))
        return false;
    return n == PARENT_LENGTH || (memcmp(p, "00", 2) != 0 && p[PARENT_LENGTH] == '-');
}

/* Not zero. One system call a thread, then splitmix64: span-ids must differ, not be secret. */
static uint64_t next_span(void)
{
    static _Thread_local uint64_t state;
    if (!state && getrandom(&state, sizeof(state), GRND_NONBLOCK) != sizeof(state))
        state = (uint64_t)weft_now_ns() ^ (uint64_t)(uintptr_t)&state;
    uint64_t z;
    do {
        z = (state += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
    } while (!z);
    return z;
}

bool weft_trace_continue(weft_http_slice value, char out[WEFT_TRACE_BYTES])
{
    out[0] = 0;
    if (!is_valid(value.p, value.n))
        return false;
    char low = value.p[54];
    bool sampled = (low >= 'a' ? low - 'a' + 10 : low - '0') & 1;
    snprintf(out, WEFT_TRACE_BYTES, "00-%.32s-%016llx-0%d", value.p + 3, (unsigned long long)next_span(), sampled);
    return true;
}

bool weft_trace_from_head(const weft_http_head *head, char out[WEFT_TRACE_BYTES])
{
    const weft_http_slice *found = NULL;
    out[0] = 0;
    for (size_t i = 0; i < head->n_headers; i++) {
        if (!weft_http_slice_is(head->headers[i].name, "traceparent"))
            continue;
        if (found)
            return false;
        found = &head->headers[i].value;
    }
    return found && weft_trace_continue(*found, out);
}
