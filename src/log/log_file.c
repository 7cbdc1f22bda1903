#include "log/log_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define MAX_OLD_FILES 4096

void weft_log_file_init(weft_log_file *f, const char *directory, const char *name, uint64_t rotate_bytes, int64_t rotate_age_ns,
                        int64_t keep_files)
{
    memset(f, 0, sizeof(*f));
    f->fd = -1;
    f->directory = directory;
    f->rotate_bytes = rotate_bytes;
    f->rotate_age_ns = rotate_age_ns;
    f->keep_files = keep_files;
    snprintf(f->name, sizeof(f->name), "%s", name);
}

void weft_log_file_fini(weft_log_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

/* NAME-YYYYMMDD-HHMMSS-mmm.log and nothing else, so that a model "a" never removes files of a model "a-b". */
static bool is_ours(const weft_log_file *f, const char *entry)
{
    static const char shape[] = "dddddddd-dddddd-ddd.log";
    size_t n = strlen(f->name);
    if (strncmp(entry, f->name, n) != 0 || entry[n] != '-' || strlen(entry + n + 1) != sizeof(shape) - 1)
        return false;
    const char *p = entry + n + 1;
    for (size_t i = 0; shape[i]; i++)
        if (shape[i] == 'd' ? (p[i] < '0' || p[i] > '9') : p[i] != shape[i])
            return false;
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names sort by time, so the first ones are the oldest. */
static void remove_old(const weft_log_file *f)
{
    DIR *d = opendir(f->directory);
    if (!d)
        return;
    char *names[MAX_OLD_FILES];
    size_t n = 0;
    for (struct dirent *e; n < MAX_OLD_FILES && (e = readdir(d)) != NULL;)
        if (is_ours(f, e->d_name) && (names[n] = strdup(e->d_name)) != NULL)
            n++;
    qsort(names, n, sizeof(names[0]), by_name);
    for (size_t i = 0; i < n; i++) {
        if (n - i > (size_t)f->keep_files)
            unlinkat(dirfd(d), names[i], 0);
        free(names[i]);
    }
    closedir(d);
}

static weft_status open_next(weft_log_file *f, weft_error *err)
{
    char stamp[32], path[1200];
    weft_log_file_fini(f);
    for (int tries = 0; tries < 50; tries++) { /* a name that is taken is free again one millisecond later */
        int64_t unix_ms = weft_unix_ns() / WEFT_MS + tries;
        time_t seconds = (time_t)(unix_ms / 1000);
        struct tm tm;
        gmtime_r(&seconds, &tm);
        strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm);
        int n = snprintf(path, sizeof(path), "%s/%s-%s-%03d.log", f->directory, f->name, stamp, (int)(unix_ms % 1000));
        if (n < 0 || (size_t)n >= sizeof(path))
            return weft_fail(err, WEFT_E_IO, "The log folder's name is too long.");
        f->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0640);
        if (f->fd >= 0 || errno != EEXIST)
            break;
    }
    if (f->fd < 0)
        return weft_fail(err, WEFT_E_IO, "Cannot create a log file in %s: %s.", f->directory, strerror(errno));
    f->n_bytes = 0;
    f->opened_ns = weft_now_ns();
    f->failed = false;
    remove_old(f);
    return WEFT_OK;
}

static bool due(const weft_log_file *f)
{
    if (f->fd < 0)
        return !f->failed || weft_now_ns() - f->opened_ns > 10 * WEFT_S;
    return (f->n_bytes > 0 && f->n_bytes >= f->rotate_bytes) ||
           (f->rotate_age_ns > 0 && weft_now_ns() - f->opened_ns >= f->rotate_age_ns);
}

weft_status weft_log_file_write(weft_log_file *f, const char *lines, size_t n_bytes, weft_error *err)
{
    weft_status st = WEFT_OK;
    if (due(f))
        st = open_next(f, err);
    while (st == WEFT_OK && f->fd >= 0 && n_bytes > 0) {
        ssize_t n = write(f->fd, lines, n_bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            st = weft_fail(err, WEFT_E_IO, "Cannot write the log %s: %s.", f->name, strerror(errno));
            break;
        }
        lines += n;
        n_bytes -= (size_t)n;
        f->n_bytes += (uint64_t)n;
    }
    if (st != WEFT_OK) {
        bool known = f->failed;
        weft_log_file_fini(f);
        f->failed = true;
        f->opened_ns = weft_now_ns();
        return known ? WEFT_OK : st;
    }
    return WEFT_OK;
}
