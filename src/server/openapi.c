#include "server/openapi.h"

#include <stdio.h>
#include <string.h>

#include "server/docs_page.h"
#include "server/metrics_http.h"
#include "server/openapi_schema.h"
#include "server/v2_http.h"
#include "wire/json.h"

extern const unsigned char weft_openapi_schemas[];
extern const size_t weft_openapi_schemas_bytes;

/* ---- what the route table does not say ------------------------------------------------------------------------------------ */

typedef enum body { NO_BODY = 0, PICTURE_BODY, INFER_BODY, INDEX_BODY, LOAD_BODY, UNLOAD_BODY } body;

/* One for each handler; the paths come from the route table. */
typedef struct operation {
    void (*handle)(weft_exchange *x, const weft_http_head *head);
    const char *id, *tag;
    const char *type;   /* of a 200 */
    const char *schema; /* of components/schemas; NULL = none */
    body body;
    bool also_503;      /* answers 503 in the same form as 200 */
    uint16_t errors[8]; /* besides "default" */
} operation;

#define JSON "application/json"
static const operation operations[] = {
    {weft_root_handle, "listRoutes", "process", JSON, "Serves", NO_BODY, false, {0}},
    {weft_healthz_handle, "health", "process", JSON, "Health", NO_BODY, true, {0}},
    {weft_metrics_handle, "metrics", "process", "text/plain", NULL, NO_BODY, false, {503}},
    {weft_openapi_handle, "openapi", "process", JSON, NULL, NO_BODY, false, {503}},
    {weft_docs_handle, "docs", "process", "text/html", NULL, NO_BODY, false, {0}},
    {weft_live_handle, "live", "process", JSON, "Live", NO_BODY, false, {0}},
    {weft_ready_handle, "ready", "process", JSON, "Ready", NO_BODY, true, {0}},
    {weft_models_handle, "listModels", "models", JSON, "Models", NO_BODY, false, {0}},
    {weft_model_handle, "getModel", "models", JSON, "ModelAndStats", NO_BODY, false, {404, 503}},
    {weft_predict_handle, "predict", "models", JSON, "Result", PICTURE_BODY, false, {400, 404, 413, 415, 422, 429, 503, 504}},
    {weft_v2_server_handle, "serverMetadata", "v2", JSON, "ServerMetadata", NO_BODY, false, {0}},
    {weft_v2_metadata_handle, "modelMetadata", "v2", JSON, "ModelMetadata", NO_BODY, false, {404, 503}},
    {weft_v2_model_ready_handle, "modelReady", "v2", JSON, "ModelReady", NO_BODY, true, {404}},
    {weft_v2_config_handle, "modelConfig", "v2", JSON, "ModelConfig", NO_BODY, false, {404, 503}},
    {weft_v2_stats_handle, "modelStatistics", "v2", JSON, "Statistics", NO_BODY, false, {404, 503}},
    {weft_v2_infer_handle, "infer", "v2", JSON, "InferResponse", INFER_BODY, false, {400, 404, 413, 415, 422, 429, 503, 504}},
    {weft_v2_index_handle, "repositoryIndex", "repository", JSON, "RepositoryIndex", INDEX_BODY, false, {400}},
    {weft_v2_load_handle, "loadModel", "repository", NULL, NULL, LOAD_BODY, false, {400, 403, 404, 409, 503}},
    {weft_v2_unload_handle, "unloadModel", "repository", NULL, NULL, UNLOAD_BODY, false, {400, 403, 404, 409, 503}},
};

static const operation *operation_of(const weft_route *r)
{
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
        if (operations[i].handle == r->handle)
            return &operations[i];
    return NULL;
}

bool weft_openapi_knows(const weft_route *r)
{
    return operation_of(r) != NULL;
}

/* ---- small pieces --------------------------------------------------------------------------------------------------------- */

static void put_ref(weft_json *j, const char *kind, const char *name)
{
    char ref[128];
    snprintf(ref, sizeof(ref), "#/components/%s/%s", kind, name);
    weft_json_object_begin(j);
    weft_json_key_string(j, "$ref", ref);
    weft_json_object_end(j);
}

/* {"application/json": {"schema": {"$ref": ...}}, as one member of "content" */
static void put_content(weft_json *j, const char *type, const char *schema)
{
    weft_json_key(j, type);
    weft_json_object_begin(j);
    if (schema) {
        weft_json_key(j, "schema");
        put_ref(j, "schemas", schema);
    }
    weft_json_object_end(j);
}

static void open_schema(weft_json *j, const char *key, const char *type)
{
    weft_json_key(j, key);
    weft_json_object_begin(j);
    weft_json_key_string(j, "type", type);
}

static size_t n_captures(const char *pattern)
{
    size_t n = 0;
    for (; *pattern; pattern++)
        n += *pattern == '{';
    return n;
}

/* ---- parameters ----------------------------------------------------------------------------------------------------------- */

static void begin_parameter(weft_json *j, const char *name, const char *in, const char *description)
{
    weft_json_object_begin(j);
    weft_json_key_string(j, "name", name);
    weft_json_key_string(j, "in", in);
    if (strcmp(in, "path") == 0)
        weft_json_key_bool(j, "required", true);
    weft_json_key_string(j, "description", description);
}

static void put_text_parameter(weft_json *j, const char *name, const char *in, const char *description)
{
    begin_parameter(j, name, in, description);
    open_schema(j, "schema", "string");
    weft_json_object_end(j);
    weft_json_object_end(j);
}

static void put_number_parameter(weft_json *j, const char *name, int64_t min, int64_t max, const char *description)
{
    begin_parameter(j, name, "query", description);
    open_schema(j, "schema", "integer");
    weft_json_key_int(j, "minimum", min);
    weft_json_key_int(j, "maximum", max);
    weft_json_object_end(j);
    weft_json_object_end(j);
}

static void put_draw_parameter(weft_json *j)
{
    static const char *const values[] = {"0", "1", "false", "true"};
    begin_parameter(j, "draw", "query", "1 answers with the picture as JPEG, the result drawn on it");
    open_schema(j, "schema", "string");
    weft_json_key(j, "enum");
    weft_json_array_begin(j);
    for (int i = 0; i < 4; i++)
        weft_json_string(j, values[i]);
    weft_json_array_end(j);
    weft_json_object_end(j);
    weft_json_object_end(j);
}

static void put_parameters(weft_json *j, const weft_route *r, const operation *op, const weft_model_info *model)
{
    size_t captures = model ? 0 : n_captures(r->pattern);
    weft_json_key(j, "parameters");
    weft_json_array_begin(j);
    if (captures > 0)
        put_text_parameter(j, "name", "path", "name of a model");
    if (captures > 1)
        put_text_parameter(j, "version", "path", "version of the model");
    if (op->body == PICTURE_BODY) {
        put_draw_parameter(j);
        put_number_parameter(j, "timeout_ms", 1, 86400000, "the answer is wanted within this time; else 504");
        put_number_parameter(j, "priority", WEFT_PRIORITY_MIN, WEFT_PRIORITY_MAX, "larger is sooner");
    }
    for (const char *const *p = model ? model->params : NULL; p && *p; p++)
        put_text_parameter(j, *p, "query", "as in the configuration of this model's executor");
    if (op->body == PICTURE_BODY || op->body == INFER_BODY) {
        put_text_parameter(j, "X-Request-Id", "header", "comes back with the answer and stands in the logs");
        put_text_parameter(j, "traceparent", "header", "W3C trace context; the answer carries this server's span");
    }
    weft_json_array_end(j);
}

/* ---- bodies --------------------------------------------------------------------------------------------------------------- */

static void put_picture_body(weft_json *j)
{
    static const char *const types[] = {"image/jpeg", "image/png", "image/webp", "application/octet-stream"};
    for (int i = 0; i < 4; i++)
        put_content(j, types[i], NULL);
    weft_json_key(j, "multipart/form-data");
    weft_json_object_begin(j);
    open_schema(j, "schema", "object");
    weft_json_key(j, "required");
    weft_json_array_begin(j);
    weft_json_string(j, "image");
    weft_json_array_end(j);
    weft_json_key(j, "properties");
    weft_json_object_begin(j);
    open_schema(j, "image", "string");
    weft_json_key_string(j, "contentMediaType", "application/octet-stream");
    weft_json_object_end(j);
    weft_json_object_end(j);
    weft_json_object_end(j);
    weft_json_object_end(j);
}

/* {"key": {"type": type}} inside an open object schema; extra members are not accepted in `parameters`. */
static void put_member(weft_json *j, const char *key, const char *type)
{
    open_schema(j, key, type);
    weft_json_object_end(j);
}

static void put_admin_body(weft_json *j, body kind)
{
    weft_json_key(j, JSON);
    weft_json_object_begin(j);
    open_schema(j, "schema", "object");
    weft_json_key(j, "properties");
    weft_json_object_begin(j);
    if (kind == INDEX_BODY) {
        put_member(j, "ready", "boolean");
    } else {
        open_schema(j, "parameters", "object");
        weft_json_key(j, "properties");
        weft_json_object_begin(j);
        if (kind == LOAD_BODY)
            put_member(j, "config", "string");
        else
            put_member(j, "unload_dependents", "boolean");
        weft_json_object_end(j);
        weft_json_key_bool(j, "additionalProperties", false);
        weft_json_object_end(j);
    }
    weft_json_object_end(j);
    weft_json_object_end(j);
    weft_json_object_end(j);
}

static void put_body(weft_json *j, const operation *op)
{
    weft_json_key(j, "requestBody");
    weft_json_object_begin(j);
    weft_json_key_bool(j, "required", op->body == PICTURE_BODY || op->body == INFER_BODY);
    weft_json_key(j, "content");
    weft_json_object_begin(j);
    if (op->body == PICTURE_BODY)
        put_picture_body(j);
    else if (op->body == INFER_BODY)
        put_content(j, JSON, "InferRequest");
    else
        put_admin_body(j, op->body);
    weft_json_object_end(j);
    weft_json_object_end(j);
}

/* ---- answers -------------------------------------------------------------------------------------------------------------- */

static void put_answer(weft_json *j, const char *status, const operation *op, const char *schema)
{
    weft_json_key(j, status);
    weft_json_object_begin(j);
    weft_json_key_string(j, "description",
                         strcmp(status, "200") == 0 ? "the answer" : "not ready; the body says what is missing");
    if (op->type) {
        weft_json_key(j, "content");
        weft_json_object_begin(j);
        put_content(j, op->type, schema ? schema : op->schema);
        if (op->body == PICTURE_BODY)
            put_content(j, "image/jpeg", NULL);
        if (op->body == INFER_BODY)
            put_content(j, "application/octet-stream", NULL);
        if (op->handle == weft_metrics_handle)
            put_content(j, "application/openmetrics-text", NULL);
        weft_json_object_end(j);
    }
    weft_json_object_end(j);
}

static void put_answers(weft_json *j, const weft_route *r, const operation *op, const char *schema)
{
    const char *shape = strncmp(r->pattern, "/v2", 3) == 0 ? "V2" : "";
    char status[8], name[16];
    weft_json_key(j, "responses");
    weft_json_object_begin(j);
    put_answer(j, "200", op, schema);
    if (op->also_503)
        put_answer(j, "503", op, NULL);
    for (size_t i = 0; i < 8 && op->errors[i]; i++) {
        snprintf(status, sizeof(status), "%u", (unsigned)op->errors[i]);
        snprintf(name, sizeof(name), "%sError%s", shape, status);
        weft_json_key(j, status);
        put_ref(j, "responses", name);
    }
    snprintf(name, sizeof(name), "%sError", shape);
    weft_json_key(j, "default");
    put_ref(j, "responses", name);
    weft_json_object_end(j);
}

/* ---- paths ---------------------------------------------------------------------------------------------------------------- */

/* model NULL: the route itself. Else that model's own path of it. */
static void put_operation(weft_json *j, const weft_route *r, const weft_model_info *model)
{
    static const char *const verbs[] = {"", "get", "head", "post", "put", "delete", "options"};
    const operation *op = operation_of(r);
    char text[256];
    if (!op)
        return;
    weft_json_key(j, verbs[r->method]);
    weft_json_object_begin(j);
    size_t captures = n_captures(r->pattern);
    const char *more = op->handle == weft_v2_stats_handle && captures == 0 ? "All" : captures > 1 ? "OfVersion" : "";
    snprintf(text, sizeof(text), "%s%s%s%s", op->id, more, model ? "." : "", model ? model->name : "");
    weft_json_key_string(j, "operationId", text);
    weft_json_key(j, "tags");
    weft_json_array_begin(j);
    weft_json_string(j, op->tag);
    weft_json_array_end(j);
    /* the spelling with a version stands behind the one without, which has the text */
    const char *help = r->help ? r->help : r > weft_routes && r[-1].help ? r[-1].help : "";
    weft_json_key_string(j, "summary", help);
    put_parameters(j, r, op, model);
    if (op->body)
        put_body(j, op);
    snprintf(text, sizeof(text), "Result.%s", model ? model->name : "");
    put_answers(j, r, op, model ? text : NULL);
    weft_json_object_end(j);
}

/* Every method of the pattern of r, once. */
static void put_path(weft_json *j, const weft_route *r)
{
    char path[160];
    for (const weft_route *before = weft_routes; before < r; before++)
        if (strcmp(before->pattern, r->pattern) == 0)
            return;
    weft_route_path(r, path, sizeof(path));
    weft_json_key(j, path);
    weft_json_object_begin(j);
    for (const weft_route *o = r; o->pattern; o++)
        if (strcmp(o->pattern, r->pattern) == 0)
            put_operation(j, o, NULL);
    weft_json_object_end(j);
}

static bool takes_pictures(const weft_model_info *m)
{
    return !m->hidden && m->picture_input;
}

static void put_model_path(void *cookie, const weft_model_info *info)
{
    weft_json *j = cookie;
    char path[128];
    if (!takes_pictures(info))
        return;
    const weft_route *r = weft_routes;
    while (r->pattern && r->handle != weft_predict_handle)
        r++;
    snprintf(path, sizeof(path), "/v1/models/%s/predict", info->name);
    weft_json_key(j, path);
    weft_json_object_begin(j);
    put_operation(j, r, info);
    weft_json_object_end(j);
}

/* ---- components ----------------------------------------------------------------------------------------------------------- */

static void put_error(weft_json *j, const char *shape, int status, const char *meaning)
{
    static const char *const advice[] = {"Retry-After", "retry-after-ms"};
    char name[16];
    snprintf(name, sizeof(name), status ? "%sError%d" : "%sError", shape, status);
    weft_json_key(j, name);
    weft_json_object_begin(j);
    weft_json_key_string(j, "description", meaning);
    if (status == 429 || status == 503) {
        weft_json_key(j, "headers");
        weft_json_object_begin(j);
        for (int i = 0; i < 2; i++) {
            weft_json_key(j, advice[i]);
            weft_json_object_begin(j);
            weft_json_key_string(j, "description", i ? "when to try again, in milliseconds" : "when to try again, in seconds");
            open_schema(j, "schema", "integer");
            weft_json_object_end(j);
            weft_json_object_end(j);
        }
        weft_json_object_end(j);
    }
    weft_json_key(j, "content");
    weft_json_object_begin(j);
    put_content(j, JSON, *shape ? "ErrorV2" : "Error");
    weft_json_object_end(j);
    weft_json_object_end(j);
}

/* One response for each HTTP status of the table of errors, with all its meanings. */
static void put_errors(weft_json *j, const char *shape)
{
    static const struct {
        const char *name, *text;
        int http;
    } table[] = {
#define ROW(name, code, http, grpc, text) {#name, text, http},
        WEFT_STATUS_TABLE(ROW)
#undef ROW
    };
    const size_t n = sizeof(table) / sizeof(table[0]);
    for (size_t i = 0; i < n; i++) {
        char meaning[512] = "";
        size_t k = 0;
        while (table[k].http != table[i].http)
            k++;
        if (k < i) /* written with the first of that status */
            continue;
        for (size_t at = 0; k < n; k++)
            if (table[k].http == table[i].http && at < sizeof(meaning))
                at += (size_t)snprintf(meaning + at, sizeof(meaning) - at, "%s%s: %s", at ? "; " : "", table[k].name,
                                       table[k].text);
        put_error(j, shape, table[i].http, meaning);
    }
    put_error(j, shape, 0, "any other error, as of HTTP itself: 405, 408, 411, 414, 431");
}

static void put_model_schema(void *cookie, const weft_model_info *info)
{
    weft_buffer *out = cookie;
    weft_json j;
    char name[96];
    if (!takes_pictures(info))
        return;
    snprintf(name, sizeof(name), ",\"Result.%s\":", info->name); /* names of models need no escaping */
    weft_buffer_puts(out, name);
    weft_json_init(&j, out);
    weft_openapi_result(&j, info);
}

static void put_info(weft_json *j)
{
    weft_json_object_begin(j);
    weft_json_key_string(j, "title", "weft");
    weft_json_key_string(j, "version", weft_version());
    weft_json_key_string(j, "summary", "Models behind HTTP: pictures and tensors in, typed results out");
    weft_json_key_string(
        j, "description",
        "Below /v1 for people: a picture in, JSON or the drawn picture out. Below /v2 the Open Inference Protocol. "
        "An error is one sentence: what was expected, what came, what to do.");
    weft_json_object_end(j);
}

/* The parts are values of writers of their own, so that the compiled-in text can stand between them. */
void weft_openapi_write(weft_engine *e, weft_buffer *out)
{
    weft_json j;
    weft_buffer_puts(out, "{\"openapi\":\"3.1.0\",\"info\":");
    weft_json_init(&j, out);
    put_info(&j);
    weft_buffer_puts(out, ",\"servers\":[{\"url\":\"/\"}],\"paths\":");
    weft_json_init(&j, out);
    weft_json_object_begin(&j);
    for (const weft_route *r = weft_routes; r->pattern; r++)
        put_path(&j, r);
    weft_engine_each_model(e, put_model_path, &j);
    weft_json_object_end(&j);
    weft_buffer_puts(out, ",\"components\":{\"responses\":");
    weft_json_init(&j, out);
    weft_json_object_begin(&j);
    put_errors(&j, "");
    put_errors(&j, "V2");
    weft_json_object_end(&j);
    weft_buffer_puts(out, ",\"schemas\":{");
    weft_buffer_append(out, weft_openapi_schemas, weft_openapi_schemas_bytes - 1); /* without its line end */
    weft_engine_each_model(e, put_model_schema, out);
    weft_buffer_puts(out, "}}}\n");
}

void weft_openapi_handle(weft_exchange *x, const weft_http_head *head)
{
    (void)head;
    weft_openapi_write(x->loop->server->engine, &x->answer);
    weft_exchange_reply(x, 200, JSON);
}
