#include "server/process_stats.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* Fields of /proc/self/stat behind the name in brackets, which may hold anything: proc_pid_stat(5), numbers 3 and up. */
static void read_stat(weft_process_stats *out)
{
    char text[1024];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *p = strrchr(text, ')');
    unsigned long long user, system, start, size, pages, threads;
    /* 14 utime, 15 stime, 20 num_threads, 22 starttime, 23 vsize, 24 rss */
    if (!p || sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %llu %*d %llu %llu %llu",
                     &user, &system, &threads, &start, &size, &pages) != 6)
        return;
    double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
    struct timespec boot = {0};
    clock_gettime(CLOCK_BOOTTIME, &boot);
    double since_boot = (double)boot.tv_sec + (double)boot.tv_nsec / 1e9;
    out->cpu_seconds = (double)(user + system) * tick;
    /* in whole ticks: the two clocks are read one after the other, and the figure must not change from scrape to scrape */
    out->start_unix_seconds = round(((double)weft_unix_ns() / 1e9 - since_boot) / tick + (double)start) * tick;
    out->n_threads = threads;
    out->virtual_bytes = size;
    out->resident_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Entries of a folder but "." and "..". */
static uint64_t count_entries(int fd)
{
    _Alignas(8) char buf[8192];
    uint64_t n = 0;
    for (long got; (got = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0;)
        for (long at = 0; at < got;) { /* struct linux_dirent64: inode 8, offset 8, length 2, type 1, name */
            unsigned short length;
            memcpy(&length, buf + at + 16, sizeof(length));
            if (buf[at + 19] != '.')
                n++;
            at += length;
        }
    return n;
}

static void read_fds(weft_process_stats *out)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        out->max_fds = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
    struct stat st;
    if (stat("/proc/self/fd", &st) == 0 && st.st_size > 0) { /* the count itself, since Linux 6.2: ten thousand need no reading */
        out->n_fds = (uint64_t)st.st_size;
        return;
    }
    int fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    uint64_t n = count_entries(fd);
    out->n_fds = n ? n - 1 : 0; /* fd itself */
    close(fd);
}

void weft_process_stats_read(weft_process_stats *out)
{
    memset(out, 0, sizeof(*out));
    read_stat(out);
    read_fds(out);
}
