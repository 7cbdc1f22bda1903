/* What the system says about this process. Linux: /proc. Nothing is allocated; about 10 us. */
#ifndef WEFT_SERVER_PROCESS_STATS_H
#define WEFT_SERVER_PROCESS_STATS_H

#include <stdint.h>

typedef struct weft_process_stats {
    double cpu_seconds; /* user and system */
    double start_unix_seconds;
    uint64_t resident_bytes, virtual_bytes;
    uint64_t n_threads;
    uint64_t n_fds, max_fds; /* max_fds: the soft limit, UINT64_MAX = none */
} weft_process_stats;

/* What cannot be read stays 0. Any thread. */
void weft_process_stats_read(weft_process_stats *out);

#endif
