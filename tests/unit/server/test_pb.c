/* Protocol Buffers read and written. Messages marked "google" were made by Google's Python library from the real declarations
 * (tritonclient's service_pb2); the others by hand from protobuf.dev/programming-guides/encoding. */
#include "harness/cmocka_all.h"

#include <string.h>

#include "server/pb_read.h"
#include "server/pb_write.h"

/* google: ModelMetadataResponse(name="n", versions=["1"], platform="p", inputs=[name="x", datatype="FP32", shape=[-1, 300]]) */
static const char google_meta[] =
    "\x0a\x01\x6e\x12\x01\x31\x1a\x01\x70\x22\x17\x0a\x01\x78\x12\x04\x46\x50\x33\x32\x1a\x0c\xff\xff\xff\xff\xff\xff\xff\xff"
    "\xff\x01\xac\x02";

/* google: ModelMetadataResponse(name="n", inputs=[name="x" * 200]): a message whose length takes two bytes */
static const char google_long[] =
    "\x0a\x01\x6e\x22\xcb\x01\x0a\xc8\x01\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78"
    "\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78"
    "\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78"
    "\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78"
    "\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78"
    "\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78"
    "\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78\x78";

static weft_pb_reader r;
static weft_pb_field f;

static void read(const char *data, size_t n)
{
    weft_pb_read_init(&r, data, n);
}

#define READ(text) read(text, sizeof(text) - 1)

static void reads_varints(void **state)
{
    (void)state;
    uint64_t v;
    READ("\x08\x96\x01");
    assert_true(weft_pb_next(&r, &f));
    assert_int_equal(f.number, 1);
    assert_int_equal(f.type, WEFT_PB_VARINT);
    assert_int_equal(f.value, 150); /* the example of the encoding page */
    assert_false(weft_pb_next(&r, &f));
    assert_false(r.bad);
    READ("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x80\x80\x00");
    assert_true(weft_pb_varint(&r, &v));
    assert_true(v == UINT64_MAX);
    assert_true(weft_pb_varint(&r, &v)); /* a longer spelling of 0 */
    assert_true(v == 0 && !r.bad);
    READ("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"); /* more than 64 bits */
    assert_false(weft_pb_varint(&r, &v));
    assert_true(r.bad);
    READ("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"); /* more than ten bytes */
    assert_false(weft_pb_varint(&r, &v));
    assert_true(r.bad);
}

static void reads_every_type_and_the_end(void **state)
{
    (void)state;
    READ("\x12\x07testing\x1d\x01\x02\x03\x04\x21\x01\x02\x03\x04\x05\x06\x07\x08\xa0\x06\x01\x12\x00");
    assert_true(weft_pb_next(&r, &f));
    assert_int_equal(f.number, 2);
    assert_int_equal(f.n_bytes, 7);
    assert_memory_equal(f.data, "testing", 7);
    assert_true(weft_pb_next(&r, &f) && f.number == 3 && f.type == WEFT_PB_FIXED32 && f.value == 0x04030201);
    assert_true(weft_pb_next(&r, &f) && f.number == 4 && f.type == WEFT_PB_FIXED64 && f.value == 0x0807060504030201);
    assert_true(weft_pb_next(&r, &f) && f.number == 100 && f.value == 1);
    assert_true(weft_pb_next(&r, &f) && f.number == 2 && f.type == WEFT_PB_BYTES && f.n_bytes == 0);
    assert_false(weft_pb_next(&r, &f));
    assert_false(r.bad);
    read("", 0);
    assert_false(weft_pb_next(&r, &f));
    assert_false(r.bad);
    weft_pb_read_init(&r, NULL, 0);
    assert_false(weft_pb_next(&r, &f));
    assert_false(r.bad);
}

static void refuses_what_is_malformed(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        size_t n;
    } bad[] = {
        {"\x08", 1},                                      /* no value */
        {"\x08\x80", 2},                                  /* half a value */
        {"\x12", 1},                                      /* no length */
        {"\x12\x05test", 6},                              /* a byte short */
        {"\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10}, /* 2^63 - 1 bytes */
        {"\x1d\x01\x02\x03", 4},                          /* a byte short */
        {"\x21\x01\x02\x03", 4},
        {"\x00\x01", 2},                     /* field 0 */
        {"\x0b\x0c", 2},                     /* a group */
        {"\x0e\x01", 2},                     /* wire type 6 */
        {"\x88\x80\x80\x80\x80\x01\x01", 7}, /* field number over 2^29 - 1 */
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        read(bad[i].data, bad[i].n);
        assert_false(weft_pb_next(&r, &f));
        assert_true(r.bad);
        assert_false(weft_pb_next(&r, &f)); /* and stays so */
    }
}

static void finds_where_bytes_begin(void **state)
{
    (void)state;
    const char m[] = "\x0a\x01m\x2a\x02\x0a\x00\x3a\x84\x01"; /* field 7 of 132 bytes begins at 10; nothing of it is here yet */
    assert_int_equal(weft_pb_find_bytes(m, sizeof(m) - 1, 7), 10);
    assert_int_equal(weft_pb_find_bytes(m, 9, 7), 0); /* half of its length */
    assert_int_equal(weft_pb_find_bytes(m, 5, 7), 0);
    assert_int_equal(weft_pb_find_bytes(m, 0, 7), 0);
    assert_int_equal(weft_pb_find_bytes(m, sizeof(m) - 1, 1), 2);
    assert_int_equal(weft_pb_find_bytes("\x0b", 1, 7), 0);
}

/* ---- writing --------------------------------------------------------------------------------------------------------------- */

static weft_buffer b;

static void written(const void *want, size_t n)
{
    assert_false(b.failed);
    assert_int_equal(b.n_bytes, n);
    assert_memory_equal(b.data, want, n);
    weft_buffer_fini(&b);
    weft_buffer_init(&b, 0);
}

static void writes_what_google_writes(void **state)
{
    (void)state;
    char name[201];
    const int64_t shape[] = {-1, 300};
    memset(name, 'x', 200);
    name[200] = 0;
    weft_buffer_init(&b, 0);
    weft_pb_put_string(&b, 1, "n");
    weft_pb_put_string(&b, 2, "1");
    weft_pb_put_string(&b, 3, "p");
    size_t input = weft_pb_begin(&b, 4);
    weft_pb_put_string(&b, 1, "x");
    weft_pb_put_string(&b, 2, "FP32");
    weft_pb_put_packed(&b, 3, shape, 2);
    weft_pb_end(&b, input);
    written(google_meta, sizeof(google_meta) - 1);
    weft_pb_put_string(&b, 1, "n");
    input = weft_pb_begin(&b, 4);
    weft_pb_put_string(&b, 1, name);
    weft_pb_end(&b, input);
    written(google_long, sizeof(google_long) - 1);
}

static void leaves_out_defaults(void **state)
{
    (void)state;
    weft_buffer_init(&b, 0);
    weft_pb_put_uint(&b, 1, 0);
    weft_pb_put_int(&b, 1, 0);
    weft_pb_put_string(&b, 1, "");
    weft_pb_put_string(&b, 1, NULL);
    weft_pb_put_packed(&b, 1, NULL, 0);
    assert_int_equal(b.n_bytes, 0);
    weft_pb_put_bytes(&b, 6, NULL, 0); /* one of a repeated field */
    weft_pb_put_int(&b, 2, -2);
    weft_pb_put_uint(&b, 100, 1);
    weft_pb_end(&b, weft_pb_begin(&b, 1));
    written("\x32\x00\x10\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\xa0\x06\x01\x0a\x00", 18);
}

static void writes_heads_apart(void **state)
{
    (void)state;
    uint8_t out[16];
    assert_int_equal(weft_pb_bytes_head(out, 6, 0), 2);
    assert_memory_equal(out, "\x32\x00", 2);
    assert_int_equal(weft_pb_bytes_head(out, 6, 300), 3);
    assert_memory_equal(out, "\x32\xac\x02", 3);
    assert_true(weft_pb_bytes_head(out, 536870911, SIZE_MAX) <= 16);
}

static void long_messages_nest(void **state)
{
    (void)state;
    char text[20001];
    size_t depth[5], n = 20000;
    memset(text, 'y', n);
    text[n] = 0;
    weft_buffer_init(&b, 0);
    for (int i = 0; i < 5; i++)
        depth[i] = weft_pb_begin(&b, (uint32_t)i + 1);
    weft_pb_put_string(&b, 6, text);
    for (int i = 4; i >= 0; i--)
        weft_pb_end(&b, depth[i]);
    read((char *)b.data, b.n_bytes);
    for (uint32_t i = 1; i <= 6; i++) {
        assert_true(weft_pb_next(&r, &f));
        assert_int_equal(f.number, i);
        assert_false(weft_pb_next(&(weft_pb_reader){r.p, r.end, false}, &(weft_pb_field){0}));
        weft_pb_read_init(&r, f.data, f.n_bytes);
    }
    assert_int_equal(f.n_bytes, n);
    assert_memory_equal(f.data, text, n);
    weft_buffer_fini(&b);
}

static void remembers_that_it_is_full(void **state)
{
    (void)state;
    weft_buffer_init(&b, 64);
    size_t begun = weft_pb_begin(&b, 1);
    for (int i = 0; i < 100; i++)
        weft_pb_put_uint(&b, 1, 1);
    weft_pb_end(&b, begun);
    assert_true(b.failed);
    weft_buffer_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_varints),
        cmocka_unit_test(reads_every_type_and_the_end),
        cmocka_unit_test(refuses_what_is_malformed),
        cmocka_unit_test(finds_where_bytes_begin),
        cmocka_unit_test(writes_what_google_writes),
        cmocka_unit_test(leaves_out_defaults),
        cmocka_unit_test(writes_heads_apart),
        cmocka_unit_test(long_messages_nest),
        cmocka_unit_test(remembers_that_it_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
