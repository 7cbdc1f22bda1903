/* The values behind tbl/metrics.h. A metric that is declared and has no value here aborts the first scrape: test_metrics.c sees
 * it. */
#include "server/metrics_http.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/metrics_text.h"
#include "server/process_stats.h"
#include "tbl/metrics.h"

#define LABEL_BYTES 640
/* A guess of the document's size, so that the buffer is taken at once. */
#define SCRAPE_BYTES 32768
#define MODEL_BYTES 16384

/* What is written about one model, copied before the first line so that all families show the same moment. */
typedef struct scraped_model {
    char labels[LABEL_BYTES];
    weft_model_state state;
    int64_t since_unix_ns;
    uint64_t weights_bytes, work_bytes, peak_bytes;
    weft_model_stats stats;
} scraped_model;

typedef struct scrape {
    weft_server *server;
    weft_metrics_text text;
    scraped_model *models; /* a chunk of the server's pool: kept there between two scrapes */
    size_t n_models, capacity;
    weft_engine_stats engine;
    weft_process_stats process;
    bool ready;
} scrape;

static const weft_label no_label = {NULL, NULL};

static void put_uint(scrape *s, uint64_t v)
{
    weft_metrics_uint(&s->text, "", no_label, v);
}

static void put_double(scrape *s, double v)
{
    weft_metrics_double(&s->text, "", no_label, v);
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* ---- histograms of the engine --------------------------------------------------------------------------------------------- */

/* 64 us to 33.6 s by powers of two; the engine counts half-powers from 1 us on. */
#define FIRST_LOG2_US 6
#define N_TIME_BOUNDS 20
static const double time_bounds[N_TIME_BOUNDS] = {64e-6,    128e-6,    256e-6,    512e-6,    1.024e-3,  2.048e-3, 4.096e-3,
                                                  8.192e-3, 16.384e-3, 32.768e-3, 65.536e-3, 0.131072,  0.262144, 0.524288,
                                                  1.048576, 2.097152,  4.194304,  8.388608,  16.777216, 33.554432};

static void put_latency(scrape *s, const char *labels, weft_label more, const uint64_t *latency, uint64_t sum_ns)
{
    uint64_t counts[N_TIME_BOUNDS + 1] = {0};
    for (size_t i = 0; i < WEFT_STAT_LATENCY_BUCKETS; i++) { /* bucket i ends at 2^((i+1)/2) us */
        size_t k = i / 2 < FIRST_LOG2_US ? 0 : i / 2 - FIRST_LOG2_US + 1;
        counts[k < N_TIME_BOUNDS ? k : N_TIME_BOUNDS] += latency[i];
    }
    weft_metrics_histogram(&s->text, labels, more, time_bounds, counts, N_TIME_BOUNDS, seconds((int64_t)sum_ns));
}

static void put_stages(scrape *s, const scraped_model *m)
{
    static const char *const names[WEFT_N_STAGES] = {"queue", "preprocess", "run", "postprocess"};
    const uint64_t sums[WEFT_N_STAGES] = {m->stats.queue_ns, m->stats.preprocess_ns, m->stats.run_ns, m->stats.postprocess_ns};
    for (int i = 0; i < WEFT_N_STAGES; i++)
        put_latency(s, m->labels, (weft_label){"stage", names[i]}, m->stats.stage_latency[i], sums[i]);
}

static void put_batch_rows(scrape *s, const scraped_model *m)
{
    static const double bounds[] = {1, 2, 3, 4, 6, 8, 12, 15}; /* the engine counts 1 to 15, and 16 and more */
    uint64_t counts[9] = {0};
    for (size_t i = 0, k = 0; i < WEFT_STAT_BATCH_BUCKETS; i++) {
        while (k < 8 && (double)(i + 1) > bounds[k])
            k++;
        counts[k] += m->stats.batch_rows[i];
    }
    weft_metrics_histogram(&s->text, m->labels, no_label, bounds, counts, 8, (double)m->stats.rows);
}

/* ---- one model ------------------------------------------------------------------------------------------------------------ */

static void put_state(scrape *s, const scraped_model *m)
{
    for (int i = WEFT_MODEL_LOADING; i <= WEFT_MODEL_UNLOADING; i++)
        weft_metrics_uint(&s->text, m->labels, (weft_label){"state", weft_model_state_name((weft_model_state)i)},
                          (int)m->state == i);
}

static void put_outcomes(scrape *s, const scraped_model *m)
{
    const weft_model_stats *t = &m->stats;
    const struct {
        const char *name;
        uint64_t n;
    } outcomes[] = {{"succeeded", t->succeeded}, {"failed_client", t->failed_client}, {"failed_server", t->failed_server},
                    {"expired", t->expired},     {"cancelled", t->cancelled},         {"refused", t->refused}};
    for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++)
        weft_metrics_uint(&s->text, m->labels, (weft_label){"outcome", outcomes[i].name}, outcomes[i].n);
}

static void put_refusals(scrape *s, const scraped_model *m)
{
    static const char *const names[WEFT_N_REFUSALS] = {"queue_full", "queue_bytes", "too_late", "not_ready"};
    for (int i = 0; i < WEFT_N_REFUSALS; i++)
        weft_metrics_uint(&s->text, m->labels, (weft_label){"reason", names[i]}, m->stats.refused_by[i]);
}

static void put_memory(scrape *s, const scraped_model *m)
{
    weft_metrics_uint(&s->text, m->labels, (weft_label){"kind", "weights"}, m->weights_bytes);
    weft_metrics_uint(&s->text, m->labels, (weft_label){"kind", "work"}, m->work_bytes);
    weft_metrics_uint(&s->text, m->labels, (weft_label){"kind", "work_peak"}, m->peak_bytes);
}

/* The metrics that are one number a model. */
static const struct {
    weft_metric metric;
    size_t at;
    enum { NUMBER, NS } unit;
} model_numbers[] = {
#define NUMBER_OF(id, member, unit)                                                                                              \
    {                                                                                                                            \
        WEFT_METRIC_##id##_ID, offsetof(weft_model_stats, member), unit                                                          \
    }
    NUMBER_OF(ACCEPTED, accepted, NUMBER),
    NUMBER_OF(FAILED_TIME, failed_ns, NS),
    NUMBER_OF(RUNS, runs, NUMBER),
    NUMBER_OF(ROWS, rows, NUMBER),
    NUMBER_OF(SPLITS, splits, NUMBER),
    NUMBER_OF(LOST_RUNS, lost_runs, NUMBER),
    NUMBER_OF(RECOVERIES, recoveries, NUMBER),
    NUMBER_OF(QUEUED, queued, NUMBER),
    NUMBER_OF(QUEUE_CAPACITY, queue_capacity, NUMBER),
    NUMBER_OF(QUEUED_BYTES, queued_bytes, NUMBER),
    NUMBER_OF(READY_ROWS, ready_rows, NUMBER),
    NUMBER_OF(RUNNING, running, NUMBER),
    NUMBER_OF(INSTANCES, instances, NUMBER),
    NUMBER_OF(OLDEST_WAIT, oldest_wait_ns, NS),
    NUMBER_OF(EXPECTED_WAIT, expected_wait_ns, NS),
    NUMBER_OF(LAST_SUCCESS, last_success_unix_ns, NS),
#undef NUMBER_OF
};

static void put_model_number(scrape *s, weft_metric id, const scraped_model *m)
{
    for (size_t i = 0; i < sizeof(model_numbers) / sizeof(model_numbers[0]); i++) {
        if (model_numbers[i].metric != id)
            continue;
        uint64_t v; /* int64_t members are never negative */
        memcpy(&v, (const char *)&m->stats + model_numbers[i].at, sizeof(v));
        if (model_numbers[i].unit == NS)
            weft_metrics_double(&s->text, m->labels, no_label, seconds((int64_t)v));
        else
            weft_metrics_uint(&s->text, m->labels, no_label, v);
        return;
    }
    weft_assert(!"a metric without a value");
}

static void put_model(scrape *s, weft_metric id, const scraped_model *m)
{
    uint64_t run_ns = 0;
    switch ((int)id) {
    case WEFT_METRIC_MODEL_STATE_ID:
        put_state(s, m);
        break;
    case WEFT_METRIC_MODEL_STATE_SINCE_ID:
        weft_metrics_double(&s->text, m->labels, no_label, seconds(m->since_unix_ns));
        break;
    case WEFT_METRIC_REQUESTS_ID:
        put_outcomes(s, m);
        break;
    case WEFT_METRIC_REFUSED_ID:
        put_refusals(s, m);
        break;
    case WEFT_METRIC_REQUEST_TIME_ID:
        put_latency(s, m->labels, no_label, m->stats.latency, m->stats.total_ns);
        break;
    case WEFT_METRIC_STAGE_TIME_ID:
        put_stages(s, m);
        break;
    case WEFT_METRIC_RUN_TIME_ID:
        for (size_t i = 0; i < WEFT_STAT_BATCH_BUCKETS; i++)
            run_ns += m->stats.batch_run_ns[i];
        weft_metrics_double(&s->text, m->labels, no_label, seconds((int64_t)run_ns));
        break;
    case WEFT_METRIC_BATCH_ROWS_ID:
        put_batch_rows(s, m);
        break;
    case WEFT_METRIC_WAIT_RATIO_ID:
        weft_metrics_histogram(&s->text, m->labels, no_label, weft_stat_ratio_bounds, m->stats.wait_ratio,
                               WEFT_STAT_RATIO_BUCKETS - 1, m->stats.wait_ratio_sum);
        break;
    case WEFT_METRIC_MODEL_MEMORY_ID:
        put_memory(s, m);
        break;
    default:
        put_model_number(s, id, m);
    }
}

/* ---- the HTTP door -------------------------------------------------------------------------------------------------------- */

static uint64_t over_loops(const weft_server *s, size_t at)
{
    uint64_t n = 0;
    for (size_t i = 0; i < s->n_loops; i++)
        n += atomic_load_explicit((_Atomic uint64_t *)((char *)&s->loops[i].counters + at), memory_order_relaxed);
    return n;
}

/* method="GET",route="/v1/models/{name}" */
static void route_labels(size_t i, char text[LABEL_BYTES])
{
    char path[160];
    const char *method = "any";
    text[0] = 0;
    snprintf(path, sizeof(path), "%s", i == WEFT_ROUTE_OTHER ? "grpc" : "none");
    if (i < WEFT_ROUTE_OTHER) {
        weft_route_path(&weft_routes[i], path, sizeof(path));
        method = weft_http_method_name(weft_routes[i].method);
    }
    weft_label_text(text, LABEL_BYTES, "method", method);
    weft_label_text(text, LABEL_BYTES, "route", path);
}

static void put_http_route(scrape *s, weft_metric id, size_t route)
{
    char labels[LABEL_BYTES], code[8];
    route_labels(route, labels);
    if (id == WEFT_METRIC_HTTP_TIME_ID) {
        uint64_t counts[WEFT_COUNTED_TIMES], total = 0;
        for (size_t i = 0; i < WEFT_COUNTED_TIMES; i++) {
            counts[i] = over_loops(s->server, offsetof(weft_http_counters, times[route][i]));
            total += counts[i];
        }
        if (total)
            weft_metrics_histogram(&s->text, labels, no_label, weft_http_time_bounds, counts, WEFT_COUNTED_TIMES - 1,
                                   seconds((int64_t)over_loops(s->server, offsetof(weft_http_counters, time_ns[route]))));
        return;
    }
    for (size_t i = 0; i < WEFT_COUNTED_CODES; i++) {
        uint64_t n = over_loops(s->server, offsetof(weft_http_counters, answers[route][i]));
        int status = weft_http_counted_code(i);
        if (!n)
            continue;
        snprintf(code, sizeof(code), "%d", status);
        weft_metrics_uint(&s->text, labels, (weft_label){"code", status ? code : "other"}, n);
    }
}

/* Only what has happened: forty routes with thirty codes would be a thousand lines of 0. */
static void put_http(scrape *s, weft_metric id)
{
    for (size_t i = 0; weft_routes[i].pattern; i++)
        put_http_route(s, id, i);
    put_http_route(s, id, WEFT_ROUTE_OTHER);
    put_http_route(s, id, WEFT_ROUTE_NONE);
}

/* ---- all ------------------------------------------------------------------------------------------------------------------ */

static void put_build(scrape *s)
{
    char labels[LABEL_BYTES] = "";
    weft_label_text(labels, sizeof(labels), "version", weft_version());
    weft_label_text(labels, sizeof(labels), "revision", weft_revision());
    weft_metrics_uint(&s->text, labels, no_label, 1);
}

static void put_log_dropped(scrape *s)
{
    const weft_server_hooks *h = atomic_load(&s->server->hooks);
    put_uint(s, h && h->dropped_lines ? h->dropped_lines(h->cookie) : 0);
}

/* The metrics of the process as a whole; false: it is one of each model. */
static bool put_process(scrape *s, weft_metric id)
{
    const weft_server *server = s->server;
    switch ((int)id) {
    case WEFT_METRIC_BUILD_ID:
        return put_build(s), true;
    case WEFT_METRIC_READY_ID:
        return put_uint(s, s->ready), true;
    case WEFT_METRIC_PROCESS_START_ID:
        return put_double(s, s->process.start_unix_seconds), true;
    case WEFT_METRIC_PROCESS_CPU_ID:
        return put_double(s, s->process.cpu_seconds), true;
    case WEFT_METRIC_PROCESS_RESIDENT_ID:
        return put_uint(s, s->process.resident_bytes), true;
    case WEFT_METRIC_PROCESS_VIRTUAL_ID:
        return put_uint(s, s->process.virtual_bytes), true;
    case WEFT_METRIC_PROCESS_FDS_ID:
        return put_uint(s, s->process.n_fds), true;
    case WEFT_METRIC_PROCESS_MAX_FDS_ID:
        return put_double(s, s->process.max_fds == UINT64_MAX ? HUGE_VAL : (double)s->process.max_fds), true;
    case WEFT_METRIC_PROCESS_THREADS_ID:
        return put_uint(s, s->process.n_threads), true;
    case WEFT_METRIC_CORES_ID:
        return put_uint(s, (uint64_t)s->engine.cores), true;
    case WEFT_METRIC_CORES_BUSY_ID:
        return put_uint(s, (uint64_t)s->engine.cores_busy), true;
    case WEFT_METRIC_OPEN_REQUESTS_ID:
        return put_uint(s, s->engine.open_requests), true;
    case WEFT_METRIC_REQUEST_MEMORY_ID:
        return put_uint(s, s->engine.request_bytes), true;
    case WEFT_METRIC_REQUEST_MEMORY_KEPT_ID:
        return put_uint(s, s->engine.request_kept_bytes), true;
    case WEFT_METRIC_CONNECTIONS_ID:
        return put_uint(s, (uint64_t)atomic_load(&server->n_conns)), true;
    case WEFT_METRIC_CONNECTIONS_ACCEPTED_ID:
        return put_uint(s, over_loops(server, offsetof(weft_http_counters, accepted))), true;
    case WEFT_METRIC_HTTP_OPEN_ID:
        return put_uint(s, (uint64_t)atomic_load(&server->n_exchanges)), true;
    case WEFT_METRIC_HTTP_REQUESTS_ID:
    case WEFT_METRIC_HTTP_TIME_ID:
        return put_http(s, id), true;
    case WEFT_METRIC_HTTP_RECEIVED_ID:
        return put_uint(s, over_loops(server, offsetof(weft_http_counters, received_bytes))), true;
    case WEFT_METRIC_HTTP_SENT_ID:
        return put_uint(s, over_loops(server, offsetof(weft_http_counters, sent_bytes))), true;
    case WEFT_METRIC_LOG_DROPPED_ID:
        return put_log_dropped(s), true;
    default:
        return false;
    }
}

static bool make_room(scrape *s)
{
    if (s->n_models < s->capacity)
        return true;
    size_t want = s->capacity ? 2 * s->capacity : 16;
    scraped_model *bigger = weft_chunk_take(s->server->pool, want * sizeof(*bigger));
    if (!bigger)
        return false;
    if (s->n_models)
        memcpy(bigger, s->models, s->n_models * sizeof(*bigger));
    weft_chunk_give(s->server->pool, s->models);
    s->models = bigger;
    s->capacity = want;
    return true;
}

static void copy_model(void *cookie, const weft_model_info *info)
{
    scrape *s = cookie;
    if (!make_room(s)) {
        s->text.out->failed = true;
        return;
    }
    scraped_model *m = &s->models[s->n_models++];
    m->labels[0] = 0;
    weft_label_text(m->labels, sizeof(m->labels), "model", info->name);
    weft_label_text(m->labels, sizeof(m->labels), "version", info->version);
    m->state = info->state;
    m->since_unix_ns = info->state_since_unix_ns;
    m->weights_bytes = info->weights_bytes;
    m->work_bytes = info->work_bytes;
    m->peak_bytes = info->peak_bytes;
    weft_engine_model_stats(s->server->engine, info->name, &m->stats, NULL); /* all 0 while it loads for the first time */
}

void weft_metrics_write(weft_server *server, bool open_metrics, weft_buffer *out)
{
    scrape s = {.server = server, .text = {.out = out, .open_metrics = open_metrics}, .ready = weft_server_is_ready(server)};
    size_t n;
    const weft_metric_decl *decls = weft_metrics(&n);
    weft_engine_each_model(server->engine, copy_model, &s);
    weft_buffer_reserve(out, SCRAPE_BYTES + s.n_models * MODEL_BYTES);
    weft_engine_stats_get(server->engine, &s.engine);
    weft_process_stats_read(&s.process);
    for (size_t i = 0; i < n; i++) {
        weft_metrics_family(&s.text, &decls[i]);
        if (put_process(&s, (weft_metric)i))
            continue;
        for (size_t k = 0; k < s.n_models; k++)
            put_model(&s, (weft_metric)i, &s.models[k]);
    }
    weft_metrics_end(&s.text);
    weft_chunk_give(server->pool, s.models);
}

/* ---- the handler ---------------------------------------------------------------------------------------------------------- */

/* The weight of one entry of Accept, "type/sub;a=b;q=0.5": 1 when it has none. */
static double quality(const char *p, const char *end)
{
    for (; p < end; p++) {
        if (*p != ';')
            continue;
        do
            p++;
        while (p < end && (*p == ' ' || *p == '\t'));
        if (end - p < 3 || (p[0] | 32) != 'q' || p[1] != '=')
            continue;
        double v = 0, place = 1;
        for (p += 2; p < end && ((*p >= '0' && *p <= '9') || *p == '.'); p++) {
            if (*p == '.')
                continue;
            v += place * (*p - '0');
            place /= 10;
        }
        return v;
    }
    return 1;
}

bool weft_metrics_wants_openmetrics(const weft_http_slice *accept)
{
    static const char open_type[] = "application/openmetrics-text", text_type[] = "text/plain";
    double open_quality = 0, text_quality = 0;
    for (const char *p = accept ? accept->p : NULL, *end = p ? p + accept->n : NULL; p && p < end;) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const char *stop = comma ? comma : end;
        while (p < stop && (*p == ' ' || *p == '\t'))
            p++;
        size_t n = (size_t)(stop - p);
        double q = quality(p, stop);
        if (n >= sizeof(open_type) - 1 && strncasecmp(p, open_type, sizeof(open_type) - 1) == 0 && q > open_quality)
            open_quality = q;
        if (n >= sizeof(text_type) - 1 && strncasecmp(p, text_type, sizeof(text_type) - 1) == 0 && q > text_quality)
            text_quality = q;
        p = stop + 1;
    }
    return open_quality > 0 && open_quality >= text_quality;
}

void weft_metrics_handle(weft_exchange *x, const weft_http_head *head)
{
    bool open_metrics = weft_metrics_wants_openmetrics(weft_http_header(head, "accept"));
    weft_metrics_write(x->loop->server, open_metrics, &x->answer);
    weft_exchange_reply(x, 200, open_metrics ? WEFT_METRICS_OPENMETRICS_TYPE : WEFT_METRICS_PROMETHEUS_TYPE);
}
