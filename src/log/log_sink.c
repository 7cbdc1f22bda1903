/* The ring between the callers and the writing thread.
 *
 *   record: header {bytes of text, level, model name} then text, 8-byte aligned, wraps by a skip record at the end of the ring.
 * One lock guards the ring; formatting happens before it is taken, writing after it is dropped. */
#include "log/log_sink.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/text.h"
#include "base/thread.h"
#include "log/log_file.h"
#include "log/log_line.h"

#define RING_BYTES (1u << 20)
#define LINE_BYTES 2048
#define MAX_FILES 1024

typedef enum record_to { TO_PROCESS = 0, TO_MODEL, TO_ACCESS } record_to;

typedef struct record {
    uint32_t n_bytes; /* of text; SKIP = go on at the start of the ring */
    uint32_t to;      /* record_to */
    char model[72];
} record;
#define SKIP UINT32_MAX

struct weft_log_sink {
    weft_log_options options;
    char *directory; /* NULL = stderr */
    weft_lock lock;
    weft_cond filled, emptied;
    char *ring;
    size_t head, tail, used; /* bytes; tail is the oldest record */
    uint64_t n_put, n_written, n_dropped, n_dropped_told;
    bool stop, writing;
    weft_thread thread;
    weft_log_file process, access;
    weft_log_file *models; /* opened on first use, MAX_FILES slots; the writing thread's own */
    size_t n_models;
};

/* ---- the writing thread ------------------------------------------------------------------------------------------------ */

/* The process log or the access log: stderr where there is no folder, or no room in it. */
static void write_or_tell(weft_log_sink *s, weft_log_file *f, const char *text, size_t n)
{
    weft_error err;
    if (s->directory && weft_log_file_write(f, text, n, &err) == WEFT_OK && !f->failed)
        return;
    if (s->directory)
        dprintf(STDERR_FILENO, "weft: the %s log cannot be written; this line goes to stderr instead: ",
                f == &s->process ? "process" : "access");
    ssize_t ignored = write(STDERR_FILENO, text, n);
    (void)ignored;
}

static weft_log_file *model_file(weft_log_sink *s, const char *model)
{
    for (size_t i = 0; i < s->n_models; i++)
        if (strcmp(s->models[i].name, model) == 0)
            return &s->models[i];
    if (s->n_models == MAX_FILES)
        return NULL;
    weft_log_file *f = &s->models[s->n_models++];
    weft_log_file_init(f, s->directory, model, s->options.rotate_bytes, weft_ms_to_ns(s->options.rotate_age_ms),
                       s->options.keep_files);
    return f;
}

static void write_one(weft_log_sink *s, const record *r, const char *text)
{
    if (r->to != TO_MODEL) {
        write_or_tell(s, r->to == TO_ACCESS ? &s->access : &s->process, text, r->n_bytes);
        return;
    }
    weft_error err;
    weft_log_file *f = model_file(s, r->model);
    if (f && weft_log_file_write(f, text, r->n_bytes, &err) != WEFT_OK)
        dprintf(STDERR_FILENO, "weft: %s\n", err.text);
}

static void tell_dropped(weft_log_sink *s, uint64_t n)
{
    char line[256];
    weft_log_line l;
    weft_log_line_begin(&l, line, sizeof(line), s->options.format, WEFT_LOG_WARN, "log_dropped", "");
    weft_log_line_int(&l, "lines", (int64_t)n);
    write_or_tell(s, &s->process, line, weft_log_line_end(&l));
}

static size_t record_bytes(size_t n_text)
{
    return (sizeof(record) + n_text + 7) & ~(size_t)7;
}

/* Takes the oldest record out while holding the lock; the text is copied so that writing needs no lock. */
static bool take(weft_log_sink *s, record *r, char *text)
{
    if (s->used == 0)
        return false;
    memcpy(r, s->ring + s->tail, sizeof(r->n_bytes));
    if (r->n_bytes == SKIP) {
        s->used -= RING_BYTES - s->tail;
        s->tail = 0;
        if (s->used == 0)
            return false;
    }
    memcpy(r, s->ring + s->tail, sizeof(*r));
    memcpy(text, s->ring + s->tail + sizeof(*r), r->n_bytes);
    size_t n = record_bytes(r->n_bytes);
    s->tail = (s->tail + n) % RING_BYTES;
    s->used -= n;
    return true;
}

static void run(void *arg)
{
    weft_log_sink *s = arg;
    record r;
    char text[LINE_BYTES];
    weft_lock_take(&s->lock);
    for (;;) {
        while (take(s, &r, text)) {
            uint64_t dropped = s->n_dropped - s->n_dropped_told;
            s->n_dropped_told = s->n_dropped;
            weft_lock_drop(&s->lock);
            if (dropped)
                tell_dropped(s, dropped);
            write_one(s, &r, text);
            weft_lock_take(&s->lock);
            s->n_written++;
        }
        weft_cond_broadcast(&s->emptied);
        if (s->stop)
            break;
        weft_cond_wait(&s->filled, &s->lock);
    }
    weft_lock_drop(&s->lock);
}

/* ---- the callers -------------------------------------------------------------------------------------------------------------
 */

static void put(weft_log_sink *s, record_to to, const char *model, const char *text, size_t n)
{
    record r = {.n_bytes = (uint32_t)n, .to = to};
    snprintf(r.model, sizeof(r.model), "%s", model);
    size_t need = record_bytes(n);
    weft_lock_take(&s->lock);
    size_t to_end = RING_BYTES - s->head;
    size_t all = need > to_end ? need + to_end : need; /* a record never wraps: the rest of the ring is skipped */
    if (s->used + all > RING_BYTES) {
        s->n_dropped++;
        weft_lock_drop(&s->lock);
        return;
    }
    if (need > to_end) {
        uint32_t skip = SKIP;
        memcpy(s->ring + s->head, &skip, sizeof(skip));
        s->head = 0;
    }
    memcpy(s->ring + s->head, &r, sizeof(r));
    memcpy(s->ring + s->head + sizeof(r), text, n);
    s->head = (s->head + need) % RING_BYTES;
    bool wake = s->used == 0;
    s->used += all;
    s->n_put++;
    if (wake)
        weft_cond_signal(&s->filled);
    weft_lock_drop(&s->lock);
}

void weft_log_sink_write(void *cookie, weft_log_level level, const char *event, const char *model, const char *line)
{
    weft_log_sink *s = cookie;
    if ((int)level > s->options.level)
        return;
    char text[LINE_BYTES];
    weft_log_line l;
    weft_log_line_begin(&l, text, sizeof(text), s->options.format, level, event, model);
    weft_log_line_text(&l, "message", line);
    put(s, TO_PROCESS, "", text, weft_log_line_end(&l));
}

void weft_log_sink_observe(void *cookie, const weft_result *r, const char *trace)
{
    weft_log_sink *s = cookie;
    bool slow = s->options.slow_ms > 0 && (double)r->timing.total_ns / 1e6 > s->options.slow_ms;
    bool to_model = s->directory && s->options.per_model && s->options.level >= WEFT_LOG_INFO;
    if (!slow && !to_model)
        return;
    char text[LINE_BYTES];
    size_t n = weft_log_line_request(text, sizeof(text), s->options.format, r, trace);
    if (to_model)
        put(s, TO_MODEL, r->model, text, n);
    if (slow)
        put(s, TO_PROCESS, "", text, n);
}

void weft_log_sink_access(void *cookie, const weft_access *a)
{
    weft_log_sink *s = cookie;
    char text[LINE_BYTES];
    size_t n = weft_log_line_access(text, sizeof(text), s->options.format, a);
    put(s, TO_ACCESS, "", text, n);
}

void weft_log_sink_flush(weft_log_sink *s)
{
    weft_lock_take(&s->lock);
    uint64_t until = s->n_put;
    while (s->n_written < until) {
        weft_cond_signal(&s->filled);
        weft_cond_wait(&s->emptied, &s->lock);
    }
    weft_lock_drop(&s->lock);
}

uint64_t weft_log_sink_dropped(weft_log_sink *s)
{
    weft_lock_take(&s->lock);
    uint64_t n = s->n_dropped;
    weft_lock_drop(&s->lock);
    return n;
}

/* ---- life ------------------------------------------------------------------------------------------------------------------ */

static weft_status make_directory(const char *path, weft_error *err)
{
    char part[1100];
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof(part))
        return weft_fail(err, WEFT_E_CONFIG, "log.directory must be a path of 1 to %zu bytes.", sizeof(part) - 1);
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i] != 0)
            continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, 0750) < 0 && errno != EEXIST)
            return weft_fail(err, WEFT_E_IO, "Cannot create the log folder %s: %s.", part, strerror(errno));
    }
    if (access(path, W_OK | X_OK) < 0)
        return weft_fail(err, WEFT_E_IO, "Cannot write into the log folder %s: %s.", path, strerror(errno));
    return WEFT_OK;
}

weft_status weft_log_sink_create(const weft_log_options *options, weft_log_sink **out, weft_error *err)
{
    *out = NULL;
    weft_log_sink *s = calloc(1, sizeof(*s));
    if (!s)
        return weft_fail(err, WEFT_E_NO_MEMORY, "No memory for the logs.");
    s->options = *options;
    weft_lock_init(&s->lock, "log-ring", 1000);
    weft_cond_init(&s->filled);
    weft_cond_init(&s->emptied);
    s->ring = malloc(RING_BYTES);
    s->models = calloc(MAX_FILES, sizeof(*s->models));
    s->directory = options->directory ? strdup(options->directory) : NULL;
    weft_status st = WEFT_OK;
    if (!s->ring || !s->models || (options->directory && !s->directory))
        st = weft_fail(err, WEFT_E_NO_MEMORY, "No memory for the logs.");
    if (st == WEFT_OK && s->directory)
        st = make_directory(s->directory, err);
    weft_log_file_init(&s->process, s->directory, "weft", options->rotate_bytes, weft_ms_to_ns(options->rotate_age_ms),
                       options->keep_files);
    weft_log_file_init(&s->access, s->directory, "access", options->rotate_bytes, weft_ms_to_ns(options->rotate_age_ms),
                       options->keep_files);
    if (st == WEFT_OK)
        st = weft_thread_start(&s->thread, "weft-log", run, s, err);
    if (st != WEFT_OK)
        weft_log_sink_destroy(&s);
    *out = s;
    return st;
}

void weft_log_sink_destroy(weft_log_sink **sp)
{
    if (!sp || !*sp)
        return;
    weft_log_sink *s = *sp;
    *sp = NULL;
    weft_lock_take(&s->lock);
    s->stop = true;
    weft_cond_signal(&s->filled);
    weft_lock_drop(&s->lock);
    weft_thread_join(&s->thread);
    weft_log_file_fini(&s->process);
    weft_log_file_fini(&s->access);
    for (size_t i = 0; s->models && i < s->n_models; i++)
        weft_log_file_fini(&s->models[i]);
    weft_cond_fini(&s->filled);
    weft_cond_fini(&s->emptied);
    weft_lock_fini(&s->lock);
    free(s->directory);
    free(s->models);
    free(s->ring);
    free(s);
}
