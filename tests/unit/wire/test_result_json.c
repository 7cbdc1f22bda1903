#include "harness/check.h"

#include "base/arena.h"
#include "base/fp.h"
#include "weft/builder.h"
#include "wire/result_json.h"

static weft_buffer out;

static void free_arena(void *owner)
{
    weft_arena *a = owner;

    weft_arena_destroy(&a);
}

static weft_builder *start(void)
{
    weft_arena *a = weft_arena_create(NULL, 0);
    weft_builder *b;

    assert_int_equal(weft_builder_create(a, NULL, 0, free_arena, a, &b, NULL), WEFT_OK);
    return b;
}

static void column(weft_builder *b, weft_field_kind kind, bool per_item, const char *name, weft_dtype t, int rank,
                   const int64_t *shape, const void *data, size_t n_bytes)
{
    weft_tensor v = {.name = name, .dtype = t, .rank = rank, .data = (void *)(uintptr_t)data, .n_bytes = n_bytes};

    for (int i = 0; i < rank; i++)
        v.shape[i] = shape[i];
    assert_int_equal(weft_builder_tensor(b, kind, per_item, &v, true, NULL), WEFT_OK);
}
#define DIMS(...)                                                                                                                \
    (int64_t[])                                                                                                                  \
    {                                                                                                                            \
        __VA_ARGS__                                                                                                              \
    }

static const char *json_of(weft_builder *b, const char *id, const weft_error *failure)
{
    const weft_timing timing = {.arrived_unix_ns = 1700000000123456789,
                                .total_ns = 12345678,
                                .queue_ns = 1000000,
                                .run_ns = 11000000,
                                .batch_rows = 4,
                                .n_runs = 1};
    weft_result *r = weft_builder_finish(b, id, "ocr", "1", &timing, failure);

    weft_buffer_fini(&out);
    weft_buffer_init(&out, 0);
    weft_result_json(&out, r);
    assert_false(out.failed);
    weft_result_unref(r);
    return (char *)out.data;
}

#define HEAD "{\"id\":\"r1\",\"model\":\"ocr\",\"version\":\"1\""
#define TAIL                                                                                                                     \
    "\"timing\":{\"arrived_unix_ms\":1700000000123,\"total_ms\":12.345678,\"queue_ms\":1,\"preprocess_ms\":0,\"run_ms\":11,"     \
    "\"postprocess_ms\":0,"                                                                                                      \
    "\"batch_rows\":4,\"runs\":1}}"

static void items_are_zipped(void **state)
{
    weft_builder *b = start();
    const float score[] = {0.5f, 0.25f}, box[] = {1, 2, 3, 4, 5.5f, 6, 7, 8}, quad[16] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int64_t index[] = {7, -8};

    weft_builder_items(b, 2);
    column(b, WEFT_FIELD_TEXT, true, "text", WEFT_DT_STRING, 1, DIMS(2), "\2\0\0\0\xe4\xb8\1\0\0\0\"", 11);
    column(b, WEFT_FIELD_SCORE, true, "score", WEFT_DT_F32, 1, DIMS(2), score, 8);
    column(b, WEFT_FIELD_BOX, true, "box", WEFT_DT_F32, 2, DIMS(2, 4), box, 32);
    column(b, WEFT_FIELD_QUAD, true, "quad", WEFT_DT_F32, 3, DIMS(2, 4, 2), quad, 64);
    column(b, WEFT_FIELD_NUMBER, true, "index", WEFT_DT_I64, 1, DIMS(2), index, 16);
    assert_string_equal(
        json_of(b, "r1", NULL), HEAD
        ",\"items\":["
        "{\"text\":\"\xef\xbf\xbd\xef\xbf\xbd\",\"score\":0.5,\"box\":[1,2,3,4],\"quad\":[[0,1],[2,3],[4,5],[6,7]],\"index\":7},"
        "{\"text\":\"\\\"\",\"score\":0.25,\"box\":[5.5,6,7,8],\"quad\":[[0,0],[0,0],[0,0],[0,0]],\"index\":-8}]," TAIL);
}

static void no_items_is_an_empty_list(void **state)
{
    weft_builder *b = start();

    column(b, WEFT_FIELD_SCORE, true, "score", WEFT_DT_F32, 1, DIMS(0), NULL, 0);
    assert_string_equal(json_of(b, "r1", NULL), HEAD ",\"items\":[]," TAIL);
    assert_string_equal(json_of(start(), "", NULL), "{\"model\":\"ocr\",\"version\":\"1\"," TAIL);
}

static void others_stand_beside(void **state)
{
    weft_builder *b = start();
    const uint8_t matte[] = {0, 255, 1, 2, 3, 4};

    column(b, WEFT_FIELD_MATTE, false, "matte", WEFT_DT_U8, 2, DIMS(2, 3), matte, 6);
    column(b, WEFT_FIELD_PICTURE, false, "picture", WEFT_DT_STRING, 1, DIMS(1), "\3\0\0\0\xff\xd8\xff", 7);
    column(b, WEFT_FIELD_NUMBER, false, "timing", WEFT_DT_U8, 0, NULL, matte + 1, 1); /* a name that is taken */
    column(b, WEFT_FIELD_TEXT, false, "texts", WEFT_DT_STRING, 1, DIMS(2), "\1\0\0\0a\0\0\0\0", 9);
    assert_string_equal(json_of(b, "r1", NULL), HEAD ",\"matte\":{\"width\":3,\"height\":2,\"data\":\"AP8BAgME\"},\"picture\":\"/"
                                                     "9j/\",\"timing_\":255,\"texts\":[\"a\",\"\"]," TAIL);
}

static void every_element_type(void **state)
{
    weft_builder *b = start();
    const uint16_t half = weft_f32_to_f16(-1.5f), brain = weft_f32_to_bf16(2), u16 = 65535;
    const int8_t i8 = -128;
    const int16_t i16 = -32768;
    const uint32_t u32 = UINT32_MAX;
    const int32_t i32 = INT32_MIN;
    const uint64_t u64 = UINT64_MAX;
    const double f64 = 0.1;
    const uint8_t flags[] = {0, 1};

    column(b, WEFT_FIELD_TENSOR, false, "a", WEFT_DT_BOOL, 1, DIMS(2), flags, 2);
    column(b, WEFT_FIELD_TENSOR, false, "b", WEFT_DT_I8, 1, DIMS(1), &i8, 1);
    column(b, WEFT_FIELD_TENSOR, false, "c", WEFT_DT_I16, 1, DIMS(1), &i16, 2);
    column(b, WEFT_FIELD_TENSOR, false, "d", WEFT_DT_U16, 1, DIMS(1), &u16, 2);
    column(b, WEFT_FIELD_TENSOR, false, "e", WEFT_DT_U32, 1, DIMS(1), &u32, 4);
    column(b, WEFT_FIELD_TENSOR, false, "f", WEFT_DT_I32, 1, DIMS(1), &i32, 4);
    column(b, WEFT_FIELD_TENSOR, false, "g", WEFT_DT_U64, 1, DIMS(1), &u64, 8);
    column(b, WEFT_FIELD_TENSOR, false, "h", WEFT_DT_F16, 0, NULL, &half, 2);
    column(b, WEFT_FIELD_TENSOR, false, "i", WEFT_DT_BF16, 2, DIMS(1, 1), &brain, 2);
    column(b, WEFT_FIELD_TENSOR, false, "j", WEFT_DT_F64, 1, DIMS(1), &f64, 8);
    column(b, WEFT_FIELD_TENSOR, false, "k", WEFT_DT_STRING, 1, DIMS(1), "\1\0\0\0z", 5);
    column(b, WEFT_FIELD_TENSOR, false, "l", WEFT_DT_F32, 2, DIMS(1LL << 40, 0), NULL, 0);
    assert_string_equal(
        json_of(b, "r1", NULL), HEAD
        ",\"outputs\":{"
        "\"a\":{\"datatype\":\"BOOL\",\"shape\":[2],\"data\":[false,true]},\"b\":{\"datatype\":\"INT8\",\"shape\":[1],\"data\":[-"
        "128]},"
        "\"c\":{\"datatype\":\"INT16\",\"shape\":[1],\"data\":[-32768]},\"d\":{\"datatype\":\"UINT16\",\"shape\":[1],\"data\":["
        "65535]},"
        "\"e\":{\"datatype\":\"UINT32\",\"shape\":[1],\"data\":[4294967295]},\"f\":{\"datatype\":\"INT32\",\"shape\":[1],"
        "\"data\":[-2147483648]},"
        "\"g\":{\"datatype\":\"UINT64\",\"shape\":[1],\"data\":[18446744073709551615]},\"h\":{\"datatype\":\"FP16\",\"shape\":[],"
        "\"data\":[-1.5]},"
        "\"i\":{\"datatype\":\"BF16\",\"shape\":[1,1],\"data\":[2]},\"j\":{\"datatype\":\"FP64\",\"shape\":[1],\"data\":[0.1]},"
        "\"k\":{\"datatype\":\"BYTES\",\"shape\":[1],\"data\":[\"z\"]},\"l\":{\"datatype\":\"FP32\",\"shape\":[1099511627776,0],"
        "\"data\":[]}}," TAIL);
}

static void empty_shapes_cost_nothing(void **state)
{
    weft_builder *b = start();

    column(b, WEFT_FIELD_NUMBER, false, "n", WEFT_DT_F32, 3, DIMS(1LL << 40, 1LL << 20, 0), NULL, 0);
    assert_string_equal(json_of(b, "r1", NULL), HEAD ",\"n\":[]," TAIL);
}

static void failures(void **state)
{
    weft_error err = {0};

    weft_fail(&err, WEFT_E_BUSY, "the queue of \"ocr\" is full");
    err.retry_after_ms = 30;
    assert_string_equal(
        json_of(start(), "r1", &err),
        HEAD ",\"error\":{\"code\":\"BUSY\",\"message\":\"the queue of \\\"ocr\\\" is full\",\"retry_after_ms\":30}," TAIL);
    weft_buffer_clear(&out);
    err.retry_after_ms = 0;
    weft_error_json(&out, &err);
    assert_string_equal((char *)out.data, "{\"error\":{\"code\":\"BUSY\",\"message\":\"the queue of \\\"ocr\\\" is full\"}}");
}

static void model_info(void **state)
{
    const weft_tensor_desc in[] = {{.name = "x", .dtype = WEFT_DT_F32, .rank = 2, .shape = {-1, 3}, .dim_names = {"batch", NULL}},
                                   {.name = "s", .dtype = WEFT_DT_I64, .rank = 0, .optional = true}};
    const weft_field_decl fields[] = {{"points", WEFT_FIELD_POINTS, WEFT_DT_F32, true, 6, "px"},
                                      {"*", WEFT_FIELD_TENSOR, WEFT_DT_NONE, false, 0, NULL}};
    const weft_model_info m = {.name = "face",
                               .version = "2",
                               .type = "face",
                               .backend = "onnxruntime",
                               .state = WEFT_MODEL_DEGRADED,
                               .state_cause = "one of two",
                               .state_since_unix_ns = 5000000,
                               .batched = true,
                               .max_batch = 4,
                               .n_inputs = 2,
                               .inputs = in,
                               .n_fields = 2,
                               .fields = fields,
                               .picture_input = "image",
                               .weights_bytes = 10,
                               .peak_bytes = 20};

    weft_buffer_fini(&out);
    weft_buffer_init(&out, 0);
    weft_model_info_json(&out, &m);
    assert_string_equal(
        (char *)out.data,
        "{\"name\":\"face\",\"version\":\"2\",\"type\":\"face\",\"backend\":\"onnxruntime\",\"state\":\"degraded\",\"state_"
        "cause\":\"one of two\","
        "\"state_since_unix_ms\":5,\"required\":false,\"batched\":true,\"max_batch\":4,\"picture_input\":\"image\","
        "\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[-1,3],\"dim_names\":[\"batch\",null]},"
        "{\"name\":\"s\",\"datatype\":\"INT64\",\"shape\":[],\"optional\":true}],\"outputs\":[],"
        "\"fields\":[{\"name\":\"points\",\"kind\":\"points\",\"datatype\":\"FP32\",\"per_item\":true,\"points\":6,\"help\":"
        "\"px\"},"
        "{\"name\":\"*\",\"kind\":\"tensor\",\"per_item\":false,\"help\":\"\"}],"
        "\"memory\":{\"weights_bytes\":10,\"work_bytes\":0,\"peak_bytes\":20}}");
    weft_buffer_fini(&out);
    assert_string_equal(weft_field_kind_name((weft_field_kind)11), "?");
}

static void model_stats(void **state)
{
    const weft_model_stats s = {.accepted = 3, .succeeded = 2, .queue_ns = 1500000, .batch_rows = {1, 2}};
    weft_json j;

    weft_buffer_init(&out, 0);
    weft_json_init(&j, &out);
    weft_json_model_stats(&j, &s);
    assert_true(weft_json_finish(&j));
    assert_non_null(strstr((char *)out.data, "{\"accepted\":3,\"succeeded\":2,"));
    assert_non_null(strstr((char *)out.data, "\"queue_ms\":1.5,"));
    assert_non_null(strstr((char *)out.data, "\"batch_rows\":[1,2,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}"));
    weft_buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_are_zipped),
        cmocka_unit_test(no_items_is_an_empty_list),
        cmocka_unit_test(others_stand_beside),
        cmocka_unit_test(every_element_type),
        cmocka_unit_test(empty_shapes_cost_nothing),
        cmocka_unit_test(failures),
        cmocka_unit_test(model_info),
        cmocka_unit_test(model_stats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
