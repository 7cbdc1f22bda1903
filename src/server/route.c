/* The table of what is served. */
#include <string.h>

#include "server/docs_page.h"
#include "server/metrics_http.h"
#include "server/openapi.h"
#include "server/server_internal.h"
#include "server/v2_http.h"

/* Every path of a model is there with and without a version; `GET /` lists it once. */
#define V2_MODEL(method, tail, admit, handle, finish, body, help)                                                                \
    {method, "/v2/models/{}" tail, admit, handle, finish, body, help},                                                           \
    {                                                                                                                            \
        method, "/v2/models/{}/versions/{}" tail, admit, handle, finish, body, NULL                                              \
    }

const weft_route weft_routes[] = {
    {WEFT_HTTP_GET, "/", NULL, weft_root_handle, NULL, false, "this list"},
    {WEFT_HTTP_GET, "/healthz", NULL, weft_healthz_handle, NULL, false,
     "state of the process and of every model; 503 when it is not ready"},
    {WEFT_HTTP_GET, "/metrics", NULL, weft_metrics_handle, NULL, false, "figures for Prometheus; OpenMetrics by Accept"},
    {WEFT_HTTP_GET, "/openapi.json", NULL, weft_openapi_handle, NULL, false,
     "this interface as OpenAPI 3.1, with the loaded models"},
    {WEFT_HTTP_GET, "/docs", NULL, weft_docs_handle, NULL, false, "a page to read about the interface and to try it"},
    {WEFT_HTTP_GET, "/v2/health/live", NULL, weft_live_handle, NULL, false, "200 while the process answers"},
    {WEFT_HTTP_GET, "/v2/health/ready", NULL, weft_ready_handle, NULL, false, "200 when every required model is ready, else 503"},
    {WEFT_HTTP_GET, "/v1/models", NULL, weft_models_handle, NULL, false, "the models with their states and shapes"},
    {WEFT_HTTP_GET, "/v1/models/{}", NULL, weft_model_handle, NULL, false, "one model, with its figures"},
    {WEFT_HTTP_POST, "/v1/models/{}/predict", weft_predict_admit, weft_predict_handle, weft_predict_finish, true,
     "body: a JPEG, PNG or WebP picture, or a form with one; ?draw=1 answers with the picture drawn on; ?timeout_ms= and "
     "?priority="},
    {WEFT_HTTP_GET, "/v2", NULL, weft_v2_server_handle, NULL, false, "Open Inference Protocol V2: name, version, extensions"},
    {WEFT_HTTP_GET, "/v2/models/stats", NULL, weft_v2_stats_handle, NULL, false, "statistics of all models"},
    V2_MODEL(WEFT_HTTP_GET, "", NULL, weft_v2_metadata_handle, NULL, false, "a model's inputs and outputs"),
    V2_MODEL(WEFT_HTTP_GET, "/ready", NULL, weft_v2_model_ready_handle, NULL, false, "200 when the model is ready, else 503"),
    V2_MODEL(WEFT_HTTP_GET, "/config", NULL, weft_v2_config_handle, NULL, false, "its configuration in Triton's shape"),
    V2_MODEL(WEFT_HTTP_GET, "/stats", NULL, weft_v2_stats_handle, NULL, false, "its statistics"),
    V2_MODEL(WEFT_HTTP_POST, "/infer", weft_v2_infer_admit, weft_v2_infer_handle, weft_v2_infer_finish, true,
             "body: tensors as JSON or binary"),
    {WEFT_HTTP_POST, "/v2/repository/index", NULL, weft_v2_index_handle, NULL, false, "configured models and their states"},
    {WEFT_HTTP_POST, "/v2/repository/models/{}/load", weft_v2_admin_admit, weft_v2_load_handle, weft_v2_change_finish, false,
     "load a configured model, or load it anew"},
    {WEFT_HTTP_POST, "/v2/repository/models/{}/unload", weft_v2_admin_admit, weft_v2_unload_handle, weft_v2_change_finish, false,
     "unload a model"},
    {0, NULL, NULL, NULL, NULL, false, NULL},
};

static bool path_fits(const char *pattern, weft_http_slice path, char *model, char *version, size_t n)
{
    const char *p = path.p, *end = path.p + path.n;
    char *capture = model;
    while (*pattern) {
        if (pattern[0] == '{') {
            const char *stop = memchr(p, '/', (size_t)(end - p));
            if (!stop)
                stop = end;
            if (stop == p || !weft_http_decode_segment(p, (size_t)(stop - p), capture, n))
                return false;
            capture = version;
            p = stop;
            pattern += 2;
            continue;
        }
        if (p == end || *p != *pattern)
            return false;
        p++, pattern++;
    }
    return p == end;
}

const weft_route *weft_route_find(const weft_http_head *head, char *model, char *version, size_t n, int *status)
{
    weft_http_method m = head->method == WEFT_HTTP_HEAD ? WEFT_HTTP_GET : head->method;
    *status = 404;
    for (const weft_route *r = weft_routes; r->pattern; r++) {
        if (!path_fits(r->pattern, head->path, model, version, n))
            continue; /* what it captured is overwritten by the route that fits */
        if (r->method == m)
            return r;
        *status = 405;
    }
    return NULL;
}

size_t weft_route_index(const weft_route *r)
{
    const size_t n = sizeof(weft_routes) / sizeof(weft_routes[0]);
    _Static_assert(sizeof(weft_routes) / sizeof(weft_routes[0]) <= WEFT_ROUTE_OTHER, "http_counters.h has too few columns");
    if (!r)
        return WEFT_ROUTE_NONE;
    return r >= weft_routes && r < weft_routes + n ? (size_t)(r - weft_routes) : WEFT_ROUTE_OTHER;
}

unsigned weft_route_methods(const weft_http_head *head)
{
    char model[65], version[65];
    unsigned mask = 0;
    for (const weft_route *r = weft_routes; r->pattern; r++)
        if (path_fits(r->pattern, head->path, model, version, sizeof(model)))
            mask |= 1u << r->method | (r->method == WEFT_HTTP_GET ? 1u << WEFT_HTTP_HEAD : 0);
    return mask;
}

void weft_route_path(const weft_route *r, char *path, size_t n_path)
{
    static const char *const captures[] = {"{name}", "{version}"};
    size_t n = 0, k = 0;
    for (const char *p = r->pattern; *p && n + 10 < n_path; p++) {
        if (*p != '{') {
            path[n++] = *p;
            continue;
        }
        n += (size_t)(stpcpy(path + n, captures[k++ > 0]) - (path + n));
        p++;
    }
    path[n] = 0;
}

const char *weft_http_method_name(weft_http_method m)
{
    static const char *const names[] = {"", "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"};
    return (unsigned)m < sizeof(names) / sizeof(names[0]) ? names[m] : "";
}
