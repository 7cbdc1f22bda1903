#include "server/http_counters.h"

/* 100 us to 60 s, about three a decade. */
const double weft_http_time_bounds[WEFT_COUNTED_TIMES - 1] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                                              0.05,   0.1,     0.25,   0.5,   1,      5,     60};
/* Every status that a door of this server gives, in order; the last column is for what is missing here. */
static const short codes[] = {200, 204, 206, 304, 400, 401, 403, 404, 405, 406, 408, 409, 410, 411, 412,
                              413, 414, 415, 417, 422, 424, 426, 429, 431, 499, 500, 501, 503, 504, 505};
#define N_CODES (sizeof(codes) / sizeof(codes[0]))
_Static_assert(N_CODES < WEFT_COUNTED_CODES, "one column is for the rest");

int weft_http_counted_code(size_t i)
{
    return i < N_CODES ? codes[i] : 0;
}

void weft_http_count_answer(weft_http_counters *c, size_t r, int status, int64_t ns)
{
    size_t k = 0, t = 0;
    while (k < N_CODES && codes[k] != status)
        k++;
    while (t < WEFT_COUNTED_TIMES - 1 && (double)ns > weft_http_time_bounds[t] * 1e9)
        t++;
    weft_counter_add(&c->answers[r][k], 1);
    weft_counter_add(&c->times[r][t], 1);
    weft_counter_add(&c->time_ns[r], ns > 0 ? (uint64_t)ns : 0);
}
