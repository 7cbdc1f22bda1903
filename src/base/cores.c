#include "base/cores.h"
#include "base/thread.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PATH_BYTES 2048

/* First line of a small file, without newline; false when it cannot be read. */
static bool read_line(const char *path, char *buf, int n_buf)
{
    FILE *f = fopen(path, "re");
    bool ok;

    if (!f)
        return false;
    ok = fgets(buf, n_buf, f) != NULL;
    fclose(f);
    if (ok)
        buf[strcspn(buf, "\n")] = 0;
    return ok;
}

static void take_less(int *cores, long long quota_us, long long period_us)
{
    long long n;

    if (quota_us <= 0 || period_us <= 0)
        return;
    n = quota_us / period_us + (quota_us % period_us != 0);
    if (n > 0 && (!*cores || n < *cores))
        *cores = (int)(n > 1000000 ? 1000000 : n);
}

static void read_quota_v2(const char *folder, int *cores)
{
    char path[MAX_PATH_BYTES + 32], line[128];
    long long quota, period;

    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (read_line(path, line, sizeof line) && sscanf(line, "%lld %lld", &quota, &period) == 2) /* "max 100000" does not match */
        take_less(cores, quota, period);
}

static void read_quota_v1(const char *folder, int *cores)
{
    char path[MAX_PATH_BYTES + 32], quota[64], period[64];

    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_line(path, quota, sizeof quota))
        return;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (read_line(path, period, sizeof period))
        take_less(cores, strtoll(quota, NULL, 10), strtoll(period, NULL, 10));
}

/* Asks the group `path` under `root` and every one above it. A container sees its own group as the root, where its path may not
 * exist: then only the levels that do are read. */
static void walk_up(const char *root, const char *path, void (*read_quota)(const char *folder, int *cores), int *cores)
{
    char folder[MAX_PATH_BYTES];
    size_t n_root = strlen(root);
    char *slash;

    if ((size_t)snprintf(folder, sizeof folder, "%s%s", root, path) >= sizeof folder)
        return;
    for (;;) {
        read_quota(folder, cores);
        slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < n_root)
            return;
        *slash = 0;
    }
}

/* "cpu" among the comma-separated controllers. */
static bool has_cpu(const char *controllers)
{
    for (const char *s = controllers; s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL)
        if (!strncmp(s, "cpu", 3) && (s[3] == ',' || s[3] == 0))
            return true;
    return false;
}

int weft_cgroup_cores(const char *proc_cgroup, const char *mount)
{
    char line[MAX_PATH_BYTES], root[MAX_PATH_BYTES];
    FILE *f = fopen(proc_cgroup, "re");
    int cores = 0;

    if (!f)
        return 0;
    while (fgets(line, sizeof line, f)) { /* "0::/path" or "4:cpu,cpuacct:/path" */
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;

        if (!path)
            continue;
        *path++ = 0;
        controllers++;
        path[strcspn(path, "\n")] = 0;
        if (!strcmp(path, "/"))
            path[0] = 0;
        if (!controllers[0]) {
            walk_up(mount, path, read_quota_v2, &cores);
            snprintf(root, sizeof root, "%.*s/unified", MAX_PATH_BYTES - 16, mount); /* both versions mounted */
            walk_up(root, path, read_quota_v2, &cores);
        } else if (has_cpu(controllers)) {
            snprintf(root, sizeof root, "%.*s/cpu", MAX_PATH_BYTES - 16, mount);
            walk_up(root, path, read_quota_v1, &cores);
            snprintf(root, sizeof root, "%.*s/cpu,cpuacct", MAX_PATH_BYTES - 16, mount);
            walk_up(root, path, read_quota_v1, &cores);
        }
    }
    fclose(f);
    return cores;
}

static int affinity_cores(void)
{
    for (int n = 1024; n <= 1 << 20; n *= 2) { /* the kernel refuses a set smaller than its own */
        cpu_set_t *set = CPU_ALLOC((size_t)n);
        size_t bytes = CPU_ALLOC_SIZE((size_t)n);
        int count = 0;

        if (!set)
            break;
        if (!sched_getaffinity(0, bytes, set))
            count = CPU_COUNT_S(bytes, set);
        CPU_FREE(set);
        if (count > 0)
            return count;
    }
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

int weft_cores(void)
{
    int cores = affinity_cores(), quota = weft_cgroup_cores("/proc/self/cgroup", "/sys/fs/cgroup");

    if (quota && quota < cores)
        cores = quota;
    return cores < 1 ? 1 : cores;
}
