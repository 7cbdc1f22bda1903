/* ModelInferRequest -> weft_v2_call. Messages marked "google" were made by Google's Python library from Triton's declarations. */
#include "harness/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "server/grpc_internal.h"
#include "server/pb_write.h"

/* google: model_name="resnet" model_version="3" id="req-1", parameters of all five kinds, inputs x FP32[2,300] and i INT8[3],
 * outputs y (classification=5) and z */
static const char google_request[] =
    "\x0a\x06\x72\x65\x73\x6e\x65\x74\x12\x01\x33\x1a\x05\x72\x65\x71\x2d\x31\x22\x0e\x0a\x01\x64\x12\x09\x21\x00\x00\x00\x00"
    "\x00\x00\xe0\x3f\x22\x0a\x0a\x04\x66\x6c\x61\x67\x12\x02\x08\x01\x22\x14\x0a\x05\x6d\x69\x6e\x75\x73\x12\x0b\x10\xfe\xff"
    "\xff\xff\xff\xff\xff\xff\xff\x01\x22\x0a\x0a\x01\x73\x12\x05\x1a\x03\x61\xc3\xa9\x22\x07\x0a\x01\x75\x12\x02\x28\x07\x2a"
    "\x0e\x0a\x01\x78\x12\x04\x46\x50\x33\x32\x1a\x03\x02\xac\x02\x2a\x0c\x0a\x01\x69\x12\x04\x49\x4e\x54\x38\x1a\x01\x03\x32"
    "\x19\x0a\x01\x79\x12\x14\x0a\x0e\x63\x6c\x61\x73\x73\x69\x66\x69\x63\x61\x74\x69\x6f\x6e\x12\x02\x10\x05\x32\x03\x0a\x01"
    "\x7a";

/* google: INT8[2,2] int_contents -128, 127, -1, 0 */
static const char google_int8[] =
    "\x0a\x01\x6d\x2a\x27\x0a\x01\x78\x12\x04\x49\x4e\x54\x38\x1a\x02\x02\x02\x2a\x18\x12\x16\x80\xff\xff\xff\xff\xff\xff\xff"
    "\xff\x01\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00";

/* google: BYTES[2] bytes_contents "", "ab" */
static const char google_bytes[] =
    "\x0a\x01\x6d\x2a\x15\x0a\x01\x78\x12\x05\x42\x59\x54\x45\x53\x1a\x01\x02\x2a\x06\x42\x00\x42\x02\x61\x62";

/* google: FP64[2] 1.5, -2.25 */
static const char google_fp64[] =
    "\x0a\x01\x6d\x2a\x20\x0a\x01\x78\x12\x04\x46\x50\x36\x34\x1a\x01\x02\x2a\x12\x3a\x10\x00\x00\x00\x00\x00\x00\xf8\x3f\x00"
    "\x00\x00\x00\x00\x00\x02\xc0";

/* google: UINT64[2] 2^64 - 1, 300 */
static const char google_u64[] =
    "\x0a\x01\x6d\x2a\x1e\x0a\x01\x78\x12\x06\x55\x49\x4e\x54\x36\x34\x1a\x01\x02\x2a\x0e\x2a\x0c\xff\xff\xff\xff\xff\xff\xff"
    "\xff\xff\x01\xac\x02";

/* google: a FP32[1], b UINT8[3], raw */
static const char google_raw[] =
    "\x0a\x01\x6d\x2a\x0c\x0a\x01\x61\x12\x04\x46\x50\x33\x32\x1a\x01\x01\x2a\x0d\x0a\x01\x62\x12\x05\x55\x49\x4e\x54\x38\x1a"
    "\x01\x03\x3a\x04\x00\x00\x80\x3f\x3a\x03\x01\x02\x03";

static weft_arena *arena;
static weft_v2_call call;
static weft_error err;

static weft_status read_n(const void *data, size_t n, size_t max_bytes)
{
    weft_arena_destroy(&arena);
    arena = weft_arena_create(NULL, 0);
    assert_non_null(arena);
    weft_v2_call_init(&call, arena);
    weft_error_clear(&err);
    weft_status st = weft_grpc_infer_read(&call, data, n, max_bytes, &err);
    assert_int_equal(st, err.status);
    assert_true(st == WEFT_OK || err.text[0]);
    return st;
}

#define READ(text) read_n(text, sizeof(text) - 1, 1 << 20)

static int done(void **state)
{
    (void)state;
    weft_arena_destroy(&arena);
    return 0;
}

static const weft_param *param(const char *name)
{
    for (size_t i = 0; i < call.n_params; i++)
        if (strcmp(call.params[i].name, name) == 0)
            return &call.params[i];
    return NULL;
}

static void reads_names_parameters_and_outputs(void **state)
{
    (void)state;
    const char *model, *version;
    /* its inputs have no contents: the first one with elements is refused, what comes before is read */
    assert_int_equal(READ(google_request), WEFT_E_INVALID);
    assert_non_null(strstr(err.text, "600 elements, but 0 came"));
    assert_string_equal(call.id, "req-1");
    assert_true(param("minus")->kind == WEFT_PARAM_INT && param("minus")->i == -2);
    assert_int_equal(param("flag")->kind, WEFT_PARAM_BOOL);
    assert_int_equal(param("flag")->i, 1);
    assert_int_equal(param("u")->i, 7);
    assert_string_equal(param("s")->s, "a\xc3\xa9");
    assert_true(param("d")->kind == WEFT_PARAM_FLOAT && param("d")->f == 0.5);
    assert_int_equal(call.n_asks, 2);
    assert_string_equal(call.asks[0].name, "y");
    assert_int_equal(call.asks[0].n_classes, 5);
    assert_string_equal(call.asks[1].name, "z");
    assert_int_equal(weft_grpc_infer_model(arena, google_request, sizeof(google_request) - 1, &model, &version, &err), WEFT_OK);
    assert_string_equal(model, "resnet");
    assert_string_equal(version, "3");
    assert_false(weft_grpc_infer_is_raw(google_request, sizeof(google_request) - 1));
    assert_true(weft_grpc_infer_is_raw(google_raw, sizeof(google_raw) - 1));
}

static void reads_typed_contents(void **state)
{
    (void)state;
    assert_int_equal(READ(google_int8), WEFT_OK);
    assert_int_equal(call.n_inputs, 1);
    assert_int_equal(call.inputs[0].dtype, WEFT_DT_I8);
    assert_int_equal(call.inputs[0].rank, 2);
    assert_int_equal(call.inputs[0].n_bytes, 4);
    assert_memory_equal(call.inputs[0].data, "\x80\x7f\xff\x00", 4);
    assert_int_equal(READ(google_bytes), WEFT_OK);
    assert_int_equal(call.inputs[0].n_bytes, 10);
    assert_memory_equal(call.inputs[0].data, "\0\0\0\0\2\0\0\0ab", 10);
    const double d[] = {1.5, -2.25};
    assert_int_equal(READ(google_fp64), WEFT_OK);
    assert_memory_equal(call.inputs[0].data, d, sizeof(d));
    const uint64_t u[] = {UINT64_MAX, 300};
    assert_int_equal(READ(google_u64), WEFT_OK);
    assert_memory_equal(call.inputs[0].data, u, sizeof(u));
}

static void lends_raw_contents(void **state)
{
    (void)state;
    /* the message put so that the first tensor is aligned: it is lent, not copied */
    size_t n = sizeof(google_raw) - 1, at = weft_pb_find_bytes(google_raw, n, 7);
    uint8_t *room = aligned_alloc(64, 256), *m = room + 64 - at % 64;
    assert_non_null(room);
    memcpy(m, google_raw, n);
    assert_int_equal(read_n(m, n, 0), WEFT_OK); /* max_bytes is about typed contents */
    assert_ptr_equal(call.inputs[0].data, m + at);
    assert_true(*(float *)call.inputs[0].data == 1.0f);
    assert_int_equal(call.inputs[1].n_bytes, 3);
    assert_true((uint8_t *)call.inputs[1].data >= m && (uint8_t *)call.inputs[1].data < m + n);
    memmove(m + 1, m, n); /* now it must be copied */
    assert_int_equal(read_n(m + 1, n, 0), WEFT_OK);
    assert_false((uint8_t *)call.inputs[0].data >= m && (uint8_t *)call.inputs[0].data < m + n + 1);
    assert_true(*(float *)call.inputs[0].data == 1.0f && (uintptr_t)call.inputs[0].data % 4 == 0);
    free(room);
}

/* ---- by hand: inputs of one element type, contents as given ---------------------------------------------------------------- */

static weft_buffer b;

static weft_status with_contents(const char *dtype, const int64_t *shape, size_t rank, const char *contents, size_t n)
{
    weft_buffer_init(&b, 0);
    size_t input = weft_pb_begin(&b, 5);
    weft_pb_put_string(&b, 1, "x");
    weft_pb_put_string(&b, 2, dtype);
    weft_pb_put_packed(&b, 3, shape, rank);
    weft_pb_put_bytes(&b, 5, contents, n);
    weft_pb_end(&b, input);
    weft_status st = read_n(b.data, b.n_bytes, 100);
    weft_buffer_fini(&b);
    return st;
}

static void packed_and_unpacked_follow_each_other(void **state)
{
    (void)state;
    const int64_t three[] = {3};
    const int32_t want[] = {1, 2, -1};
    assert_int_equal(with_contents("INT32", three, 1, "\x10\x01\x12\x01\x02\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 16),
                     WEFT_OK);
    assert_memory_equal(call.inputs[0].data, want, sizeof(want));
    const float two[] = {1.0f, 2.0f, 1.0f};
    assert_int_equal(with_contents("FP32", three, 1, "\x35\0\0\x80\x3f\x32\x08\0\0\0\x40\0\0\x80\x3f", 15), WEFT_OK);
    assert_memory_equal(call.inputs[0].data, two, sizeof(two));
    assert_int_equal(with_contents("BOOL", three, 1, "\x0a\x03\x00\x01\x05", 5), WEFT_OK);
    assert_memory_equal(call.inputs[0].data, "\0\1\1", 3);
}

static void counts_kinds_and_ranges_must_fit(void **state)
{
    (void)state;
    const int64_t two[] = {2}, none[] = {0}, huge[] = {INT64_MAX, INT64_MAX}, many[] = {1, 1, 1, 1, 1, 1, 1, 1, 1},
                  minus[] = {-1};
    static const struct {
        const char *dtype, *contents;
        size_t n;
        const char *word;
    } bad[] = {
        {"INT8", "\x12\x01\x01", 3, "1 came"},
        {"INT8", "\x12\x03\x01\x02\x03", 5, "3 came"},
        {"INT8", "\x12\x03\x01\x80\x01", 5, "does not fit"},
        {"UINT8", "\x22\x03\x01\x80\x02", 5, "does not fit"},
        {"INT32", "\x22\x02\x01\x02", 4, "another type"},
        {"FP32", "\x32\x07\0\0\0\0\0\0\0", 9, "protobuf"},
        {"FP32", "\x30\x01", 2, "protobuf"},
        {"INT64", "\x1a\x02\x80\x80", 4, "0 came"},
        {"INT64", "\x1a\x03\x01\x02\x80", 5, "protobuf"},
        {"INT64", "\x1a\x0d\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01\x01", 15, "3 came"},
        {"FP16", "", 0, "raw_input_contents"},
        {"BF16", "", 0, "raw_input_contents"},
        {"FP8", "", 0, "FP8"},
        {"BYTES", "\x42\x05\x01", 3, "protobuf"},
        {"UINT64", "\x2d\0\0\0\0", 5, "protobuf"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(with_contents(bad[i].dtype, two, 1, bad[i].contents, bad[i].n), WEFT_E_INVALID);
        if (!strstr(err.text, bad[i].word))
            fail_msg("case %zu: \"%s\" has no \"%s\"", i, err.text, bad[i].word);
    }
    assert_int_equal(with_contents("INT8", none, 1, "", 0), WEFT_OK);
    assert_int_equal(with_contents("INT8", huge, 2, "", 0), WEFT_E_INVALID);
    assert_int_equal(with_contents("INT8", many, 9, "", 0), WEFT_E_INVALID);
    assert_int_equal(with_contents("INT8", minus, 1, "", 0), WEFT_E_INVALID);
}

static void what_becomes_too_large_is_refused_before_memory_is_taken(void **state)
{
    (void)state;
    const int64_t twenty[] = {20};
    char contents[22] = "\x1a\x14"; /* 20 bytes become 160 */
    memset(contents + 2, 1, 20);
    assert_int_equal(with_contents("INT64", twenty, 1, contents, 22), WEFT_E_TOO_LARGE);
    contents[0] = 0x12;
    assert_int_equal(with_contents("INT8", twenty, 1, contents, 22), WEFT_OK);
}

static void malformed_messages_are_refused(void **state)
{
    (void)state;
    assert_int_equal(READ("\x2a\x02\x0a\x05"), WEFT_E_INVALID);          /* an input cut off inside */
    assert_int_equal(READ("\x3a\x05"), WEFT_E_INVALID);                  /* raw contents that are not there */
    assert_int_equal(READ("\x28\x01"), WEFT_E_INVALID);                  /* an input that is a number */
    assert_int_equal(READ("\x18\x01"), WEFT_E_INVALID);                  /* an id that is a number */
    assert_int_equal(READ("\x1a\x02\xff\xfe"), WEFT_E_INVALID);          /* an id that is not UTF-8 */
    assert_int_equal(READ("\x1a\x02\x61\x00"), WEFT_E_INVALID);          /* NUL */
    assert_int_equal(READ("\x22\x05\x0a\x01p\x12\x00"), WEFT_E_INVALID); /* a parameter without value */
    assert_int_equal(READ("\x22\x07\x0a\x01p\x12\x02\x0d\x00"), WEFT_E_INVALID);
    assert_int_equal(READ("\xf8\x01\x05"), WEFT_OK); /* a field of a later version */
    char long_id[140] = "\x1a\x88\x01";
    memset(long_id + 3, 'i', 136);
    assert_int_equal(read_n(long_id, 139, 0), WEFT_E_INVALID);
    char many[130];
    for (int i = 0; i < 65; i++)
        memcpy(many + 2 * i, "\x2a\x00", 2);
    assert_int_equal(read_n(many, 130, 0), WEFT_E_TOO_LARGE);
}

/* Every prefix of a valid message is refused or read, and nothing outside it is touched (sanitizers watch). */
static void every_prefix_is_safe(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(google_request) - 1; n++) {
        uint8_t *copy = malloc(n ? n : 1);
        assert_non_null(copy);
        memcpy(copy, google_request, n);
        read_n(copy, n, 1000);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_names_parameters_and_outputs),
        cmocka_unit_test(reads_typed_contents),
        cmocka_unit_test(lends_raw_contents),
        cmocka_unit_test(packed_and_unpacked_follow_each_other),
        cmocka_unit_test(counts_kinds_and_ranges_must_fit),
        cmocka_unit_test(what_becomes_too_large_is_refused_before_memory_is_taken),
        cmocka_unit_test(malformed_messages_are_refused),
        cmocka_unit_test(every_prefix_is_safe),
    };
    return cmocka_run_group_tests(tests, NULL, done);
}
