/* The middle between doors and engine: parameters, classification, joined results; the HTTP body's reading in detail. No engine.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka_all.h"
#include "server/v2_answer.h"
#include "server/v2_call.h"
#include "server/v2_repository.h"
#include "server/v2_request.h"
#include "weft/builder.h"

static weft_arena *arena;
static weft_v2_call call;
static weft_error err;

static int set_up(void **state)
{
    arena = weft_arena_create(NULL, 0);
    if (!arena)
        return -1;
    weft_v2_call_init(&call, arena);
    weft_error_clear(&err);
    return 0;
}

static int tear_down(void **state)
{
    weft_arena_destroy(&arena);
    return 0;
}

static weft_status param(const char *name, weft_param_kind kind, int64_t i)
{
    weft_param p = {.name = name, .kind = kind, .i = i, .s = "text"};
    return weft_v2_call_add_param(&call, &p, &err);
}

static void parameters(void **state)
{
    static const struct {
        int64_t triton;
        int weft;
    } priorities[] = {{0, 0}, {1, 10}, {2, 9}, {11, 0}, {21, -10}, {22, -10}, {INT64_MAX, -10}};
    for (size_t i = 0; i < sizeof(priorities) / sizeof(priorities[0]); i++) {
        assert_int_equal(param("priority", WEFT_PARAM_INT, priorities[i].triton), WEFT_OK);
        assert_int_equal(call.priority, priorities[i].weft);
    }
    static const struct {
        int64_t us, ms;
    } timeouts[] = {{0, 0}, {1, 1}, {999, 1}, {1000, 1}, {1001, 2}, {5000000, 5000}, {INT64_MAX, WEFT_V2_MAX_TIMEOUT_MS}};
    for (size_t i = 0; i < sizeof(timeouts) / sizeof(timeouts[0]); i++) {
        assert_int_equal(param("timeout", WEFT_PARAM_INT, timeouts[i].us), WEFT_OK);
        assert_int_equal(call.timeout_ms, timeouts[i].ms);
    }
    assert_int_equal(param("timeout", WEFT_PARAM_STRING, 0), WEFT_E_INVALID);
    assert_int_equal(param("timeout", WEFT_PARAM_INT, -1), WEFT_E_INVALID);
    assert_int_equal(param("priority", WEFT_PARAM_FLOAT, 0), WEFT_E_INVALID);
    assert_int_equal(param("binary_data_output", WEFT_PARAM_BOOL, 1), WEFT_OK);
    assert_true(call.binary_outputs);
    assert_int_equal(param("sequence_id", WEFT_PARAM_INT, 7), WEFT_OK);
    assert_int_equal(call.n_params, 0);
    assert_int_equal(param("other", WEFT_PARAM_STRING, 0), WEFT_OK);
    assert_int_equal(call.n_params, 1);
    assert_int_equal(param("other", WEFT_PARAM_STRING, 0), WEFT_E_INVALID);
    static char names[WEFT_V2_MAX_PARAMS + 1][16];
    weft_status st = WEFT_OK;
    for (int i = 0; i <= WEFT_V2_MAX_PARAMS && !st; i++) {
        snprintf(names[i], sizeof(names[i]), "p%d", i);
        st = param(names[i], WEFT_PARAM_INT, i);
    }
    assert_int_equal(st, WEFT_E_TOO_LARGE);
    assert_int_equal(call.n_params, WEFT_V2_MAX_PARAMS);
}

/* ---- classification -------------------------------------------------------------------------------------------------------- */

static void expect_classes(const weft_tensor *t, bool rows, int64_t n, const weft_tensor *labels, const char *want)
{
    weft_tensor out;
    char got[512] = "";
    assert_int_equal(weft_v2_classes(arena, t, rows, n, labels, &out, &err), WEFT_OK);
    assert_int_equal(weft_tensor_check(&out, &err), WEFT_OK);
    const uint8_t *p = out.data;
    for (size_t at = 0; at < out.n_bytes;) {
        size_t len = p[at];
        strncat(got, (const char *)p + at + 4, len);
        strcat(got, " ");
        at += 4 + len;
    }
    assert_string_equal(got, want);
}

static void classes(void **state)
{
    float f[] = {0.25f, NAN, 1e-8f, -3, 0.25f, 7};
    int64_t i[] = {-1, INT64_MAX, INT64_MAX - 1};
    uint8_t b[] = {3, 200, 3};
    weft_tensor t = {.name = "y", .dtype = WEFT_DT_F32, .rank = 2, .shape = {2, 3}, .data = f, .n_bytes = sizeof(f)};
    expect_classes(&t, true, 3, NULL, "0.250000:0 0.000000:2 nan:1 7.000000:2 0.250000:1 -3.000000:0 ");
    expect_classes(&t, false, 2, NULL, "7.000000:5 0.250000:0 ");
    expect_classes(&t, false, 100, NULL, "7.000000:5 0.250000:0 0.250000:4 0.000000:2 -3.000000:3 nan:1 ");
    weft_tensor whole = {.name = "y", .dtype = WEFT_DT_I64, .rank = 1, .shape = {3}, .data = i, .n_bytes = sizeof(i)};
    expect_classes(&whole, false, 1, NULL, "9223372036854775807:1 ");
    weft_tensor bytes = {.name = "y", .dtype = WEFT_DT_U8, .rank = 1, .shape = {3}, .data = b, .n_bytes = 3};
    weft_tensor labels = {.dtype = WEFT_DT_STRING, .rank = 1, .shape = {3}, .data = "\1\0\0\0a\0\0\0\0\2\0\0\0cc", .n_bytes = 15};
    expect_classes(&bytes, false, 3, &labels, "200:1: 3:0:a 3:2:cc ");
    weft_tensor none = {.name = "y", .dtype = WEFT_DT_F32, .rank = 2, .shape = {0, 3}};
    expect_classes(&none, true, 3, NULL, "");
    weft_tensor out;
    assert_int_equal(weft_v2_classes(arena, &labels, false, 1, NULL, &out, &err), WEFT_E_INVALID);
    static float many[3000];
    weft_tensor large = {.name = "y", .dtype = WEFT_DT_F32, .rank = 1, .shape = {3000}, .data = many, .n_bytes = sizeof(many)};
    assert_int_equal(weft_v2_classes(arena, &large, false, 3000, NULL, &out, &err), WEFT_E_TOO_LARGE);
    double widest[] = {1.7976931348623157e308, -1.7976931348623157e308};
    weft_tensor wide = {.name = "y", .dtype = WEFT_DT_F64, .rank = 1, .shape = {2}, .data = widest, .n_bytes = sizeof(widest)};
    assert_int_equal(weft_v2_classes(arena, &wide, false, 2, NULL, &out, &err), WEFT_OK);
    assert_int_equal(weft_tensor_check(&out, &err), WEFT_OK);
}

/* ---- results of pictures --------------------------------------------------------------------------------------------------- */

static const weft_field_decl fields[] = {
    {"text", WEFT_FIELD_TEXT, WEFT_DT_STRING, true, 0, ""},
    {"box", WEFT_FIELD_BOX, WEFT_DT_F32, true, 0, ""},
    {"matte", WEFT_FIELD_MATTE, WEFT_DT_U8, false, 0, ""},
};
static const weft_model_info info = {.name = "m",
                                     .version = "1",
                                     .type = "t",
                                     .backend = "",
                                     .state_cause = "",
                                     .n_fields = 3,
                                     .fields = fields,
                                     .picture_input = "image"};
static const weft_v2_tensor_info outputs[] = {{"text", WEFT_DT_STRING, 1, {-1}, false},
                                              {"box", WEFT_DT_F32, 2, {-1, 4}, false},
                                              {"matte", WEFT_DT_U8, 2, {-1, -1}, false},
                                              {"n_items", WEFT_DT_I32, 1, {-1}, false}};
static const weft_v2_tensor_info inputs[] = {{"image", WEFT_DT_STRING, 1, {-1}, false}};
static const weft_v2_model model = {&info, "weft_pipeline", 0, true, 1, 4, inputs, outputs};

static void release(void *owner)
{
    weft_arena *a = owner;
    weft_arena_destroy(&a);
}

/* n items "a0".."an", boxes of the value v, a matte of 2 x w. */
static weft_result *result(size_t n, float v, int64_t w)
{
    weft_arena *a = weft_arena_create(NULL, 0);
    weft_builder *b;
    const char *texts[] = {"a0", "a1", "a2"};
    float *box;
    uint8_t *matte;
    assert_int_equal(weft_builder_create(a, fields, 3, release, a, &b, &err), WEFT_OK);
    weft_builder_items(b, n);
    assert_int_equal(weft_builder_strings(b, "text", texts, NULL, n, &err), WEFT_OK);
    assert_int_equal(weft_builder_column(b, "box", (int64_t[]){(int64_t)n, 4}, 2, (void **)&box, &err), WEFT_OK);
    for (size_t i = 0; i < n * 4; i++)
        box[i] = v;
    assert_int_equal(weft_builder_column(b, "matte", (int64_t[]){2, w}, 2, (void **)&matte, &err), WEFT_OK);
    memset(matte, (int)v, (size_t)(2 * w));
    return weft_builder_finish(b, "", "m", "1", NULL, NULL);
}

static void results_are_joined(void **state)
{
    weft_result *r[] = {result(2, 1, 3), result(0, 2, 3), result(1, 3, 3)};
    weft_v2_output *outs;
    size_t n;
    assert_int_equal(weft_v2_outputs(&call, &model, r, 1, &outs, &n, &err), WEFT_OK);
    assert_int_equal(n, 4);
    assert_ptr_equal(outs[1].tensor.data, weft_result_column(r[0], "box")->tensor.data); /* one result: nothing is copied */
    assert_int_equal(outs[2].tensor.rank, 2);
    assert_int_equal(weft_v2_outputs(&call, &model, r, 3, &outs, &n, &err), WEFT_OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(weft_tensor_check(&outs[i].tensor, &err), WEFT_OK);
    assert_int_equal(outs[0].tensor.shape[0], 3);
    assert_memory_equal(outs[0].tensor.data, "\2\0\0\0a0\2\0\0\0a1\2\0\0\0a0", 18);
    assert_int_equal(outs[1].tensor.shape[0], 3);
    assert_true(((float *)outs[1].tensor.data)[8] == 3);
    assert_int_equal(outs[2].tensor.rank, 3);
    assert_int_equal(outs[2].tensor.shape[0], 3);
    assert_int_equal(((uint8_t *)outs[2].tensor.data)[6], 2);
    assert_memory_equal(outs[3].tensor.data, ((int32_t[]){2, 0, 1}), 12);
    weft_result_unref(r[2]);
    r[2] = result(1, 3, 4); /* a matte of another size cannot be stacked */
    assert_int_equal(weft_v2_outputs(&call, &model, r, 3, &outs, &n, &err), WEFT_E_INVALID);
    assert_int_equal(weft_v2_call_add_ask(&call, "n_items", &err), WEFT_OK);
    assert_int_equal(weft_v2_call_add_ask(&call, "text", &err), WEFT_OK);
    assert_int_equal(weft_v2_call_add_ask(&call, "text", &err), WEFT_E_INVALID);
    assert_int_equal(weft_v2_outputs(&call, &model, r, 3, &outs, &n, &err), WEFT_OK);
    assert_int_equal(n, 2);
    assert_string_equal(outs[0].tensor.name, "n_items");
    for (int i = 0; i < 3; i++)
        weft_result_unref(r[i]);
}

static void pictures_become_calls(void **state)
{
    weft_call *calls;
    size_t n;
    weft_tensor t = {
        .name = "image", .dtype = WEFT_DT_STRING, .rank = 2, .shape = {1, 2}, .data = "\1\0\0\0A\2\0\0\0BC", .n_bytes = 11};
    call.model = "m";
    assert_int_equal(weft_v2_call_plan(&call, &model, 500, &calls, &n, &err), WEFT_E_INVALID);
    assert_int_equal(weft_v2_call_add_input(&call, &t, &err), WEFT_OK);
    assert_int_equal(weft_v2_call_plan(&call, &model, 500, &calls, &n, &err), WEFT_OK);
    assert_int_equal(n, 2);
    assert_true(calls[1].inputs[0].is_bytes && calls[1].inputs[0].n_bytes == 2 && calls[1].timeout_ms == 500);
    assert_ptr_equal(calls[1].inputs[0].bytes, (uint8_t *)t.data + 9);
    call.inputs[0].n_bytes = 10;
    assert_int_equal(weft_v2_call_plan(&call, &model, 500, &calls, &n, &err), WEFT_E_INVALID);
    call.inputs[0] = (weft_tensor){.name = "image", .dtype = WEFT_DT_U8, .rank = 1, .shape = {1}, .data = "A", .n_bytes = 1};
    assert_int_equal(weft_v2_call_plan(&call, &model, 500, &calls, &n, &err), WEFT_E_INVALID);
    call.inputs[0] = t;
    assert_int_equal(weft_v2_call_add_ask(&call, "nothing", &err), WEFT_OK);
    assert_int_equal(weft_v2_call_plan(&call, &model, 500, &calls, &n, &err), WEFT_E_INVALID);
    assert_non_null(strstr(err.text, "\"n_items\""));
}

/* ---- bodies ---------------------------------------------------------------------------------------------------------------- */

/* The first tensor behind the JSON part is lent where it lies if its address fits, and copied if not. */
static void binary_tensors_are_lent(void **state)
{
    static const char json[] =
        "{\"inputs\":[{\"name\":\"a\",\"shape\":[2],\"datatype\":\"FP32\",\"parameters\":{\"binary_data_size\":8}},"
        "{\"name\":\"b\",\"shape\":[3],\"datatype\":\"UINT8\",\"parameters\":{\"binary_data_size\":3}},"
        "{\"name\":\"c\",\"shape\":[1],\"datatype\":\"INT16\",\"parameters\":{\"binary_data_size\":2}}]}";
    size_t n_json = sizeof(json) - 1, n = n_json + 13;
    uint8_t *block = aligned_alloc(64, 1024);
    for (size_t skew = 0; skew < 64; skew++) {
        uint8_t *body = block + skew;
        weft_v2_call_init(&call, arena);
        memcpy(body, json, n_json);
        memcpy(body + n_json, "\0\0\x80\x3f\0\0\0\x40xyz\1\2", 13);
        assert_int_equal(weft_v2_request_read(&call, body, n, n_json, 1 << 20, &err), WEFT_OK);
        bool fits = (uintptr_t)(body + n_json) % 4 == 0;
        assert_int_equal(call.inputs[0].data == body + n_json, fits);
        assert_int_equal((uintptr_t)call.inputs[0].data % 4, 0);
        assert_memory_equal(call.inputs[0].data, "\0\0\x80\x3f\0\0\0\x40", 8);
        assert_ptr_equal(call.inputs[1].data, body + n_json + 8);
        assert_int_equal((uintptr_t)call.inputs[2].data % 2, 0);
        assert_memory_equal(call.inputs[2].data, "\1\2", 2);
    }
    free(block);
}

static void raw_bodies(void **state)
{
    static const weft_v2_tensor_info in[] = {{"x", WEFT_DT_F32, 3, {-1, 2, -1}, false}};
    weft_v2_model m = {&info, "p", 8, false, 1, 0, in, NULL};
    uint8_t block[128], *body = block + 16;
    assert_int_equal(weft_v2_request_raw(&call, &m, body, 24, &err), WEFT_OK); /* batch 1 */
    assert_true(call.inputs[0].shape[0] == 1 && call.inputs[0].shape[2] == 3 && call.inputs[0].data == body);
    weft_v2_call_init(&call, arena);
    assert_int_equal(weft_v2_request_raw(&call, &m, body, 23, &err), WEFT_E_INVALID);
    m.max_batch_size = 0; /* now the first is variable, too */
    assert_int_equal(weft_v2_request_raw(&call, &m, body, 24, &err), WEFT_E_INVALID);
    weft_v2_call_init(&call, arena);
    memcpy(body, "JPEG", 4);
    assert_int_equal(weft_v2_request_raw(&call, &model, body, 4, &err), WEFT_OK);
    assert_int_equal(weft_tensor_check(&call.inputs[0], &err), WEFT_OK);
    assert_memory_equal(call.inputs[0].data, "\4\0\0\0JPEG", 8);
    m.n_inputs = 2;
    assert_int_equal(weft_v2_request_raw(&call, &m, body, 24, &err), WEFT_E_INVALID);
}

/* ---- configurations of clients --------------------------------------------------------------------------------------------- */

static void overrides(void **state)
{
    weft_model_config c;
    weft_model_config_init(&c);
    c.name = "m";
    c.backend = "fake";
    const char text[] =
        "{\"name\":\"m\",\"max_batch_size\":16,\"instance_group\":[{\"kind\":\"KIND_CPU\",\"count\":3}],\"dynamic_batching\":"
        "{\"max_queue_delay_microseconds\":2500,\"default_queue_policy\":{\"max_queue_size\":7,\"default_timeout_microseconds\":"
        "1500}}}";
    assert_int_equal(weft_v2_config_override(&c, text, strlen(text), &err), WEFT_OK);
    assert_true(c.max_batch == 16 && c.instances == 3 && c.queue_size == 7);
    assert_true(c.batch_window_ms == 2.5 && c.timeout_ms == 1.5);
    static const struct {
        const char *text;
        weft_status st;
    } bad[] = {
        {"{\"name\":\"other\"}", WEFT_E_FORBIDDEN},
        {"{\"backend\":\"acl\"}", WEFT_E_FORBIDDEN},
        {"{\"default_model_filename\":\"x\"}", WEFT_E_FORBIDDEN},
        {"{\"dynamic_batching\":{\"preferred_batch_size\":[1]}}", WEFT_E_FORBIDDEN},
        {"{\"instance_group\":[{\"gpus\":[0]}]}", WEFT_E_FORBIDDEN},
        {"{\"instance_group\":[{\"count\":1},{\"count\":2}]}", WEFT_E_INVALID},
        {"{\"instance_group\":[{\"count\":0}]}", WEFT_E_INVALID},
        {"{\"max_batch_size\":-1}", WEFT_E_INVALID},
        {"{\"max_batch_size\":\"4\"}", WEFT_E_INVALID},
        {"{\"max_batch_size\":4", WEFT_E_INVALID},
        {"[]", WEFT_E_INVALID},
        {"{} {}", WEFT_E_INVALID},
        {"", WEFT_E_INVALID},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (weft_v2_config_override(&c, bad[i].text, strlen(bad[i].text), &err) != bad[i].st)
            fail_msg("%s: %s", bad[i].text, err.text);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(parameters), TEST(classes),   TEST(results_are_joined), TEST(pictures_become_calls), TEST(binary_tensors_are_lent),
        TEST(raw_bodies), TEST(overrides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
