/* Compressed bodies: gzip bytes made by other programs, limits, every cut, codings and weights. */
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka_all.h"
#include "server/gzip_body.h"

/* printf hello | gzip -n; python3 zlib.compress(b"hello"); the same without its head and sum */
static const uint8_t hello_gzip[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xcb, 0x48, 0xcd,
                                     0xc9, 0xc9, 0x07, 0x00, 0x86, 0xa6, 0x10, 0x36, 0x05, 0x00, 0x00, 0x00};
static const uint8_t hello_zlib[] = {0x78, 0x9c, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x06, 0x2c, 0x02, 0x15};
static const uint8_t hello_raw[] = {0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00};

static weft_chunk_pool *pool;

static int set_up(void **state)
{
    pool = weft_chunk_pool_create(1 << 20, 0);
    return pool ? 0 : -1;
}

static int tear_down(void **state)
{
    assert_int_equal(weft_chunk_pool_out_bytes(pool), 0);
    weft_chunk_pool_destroy(&pool);
    return 0;
}

static void expect(weft_coding c, const void *data, size_t n, size_t max, size_t skew, weft_status want, const char *text)
{
    uint8_t *out;
    size_t n_out;
    weft_error err = {0};
    assert_int_equal(weft_inflate(pool, c, data, n, max, skew, &out, &n_out, &err), want);
    if (want) {
        assert_null(out);
        assert_true(err.text[0]);
        return;
    }
    assert_int_equal(n_out, strlen(text));
    assert_memory_equal(out, text, n_out);
    assert_int_equal((uintptr_t)out % 64, skew);
    weft_chunk_give(pool, out - skew);
}

static void inflates(void **state)
{
    uint8_t two[2 * sizeof(hello_gzip)];
    expect(WEFT_CODING_GZIP, hello_gzip, sizeof(hello_gzip), 100, 0, WEFT_OK, "hello");
    expect(WEFT_CODING_GZIP, hello_gzip, sizeof(hello_gzip), 5, 60, WEFT_OK, "hello");
    expect(WEFT_CODING_DEFLATE, hello_zlib, sizeof(hello_zlib), 100, 16, WEFT_OK, "hello");
    expect(WEFT_CODING_DEFLATE, hello_raw, sizeof(hello_raw), 100, 0, WEFT_OK, "hello");
    memcpy(two, hello_gzip, sizeof(hello_gzip));
    memcpy(two + sizeof(hello_gzip), hello_gzip, sizeof(hello_gzip));
    expect(WEFT_CODING_GZIP, two, sizeof(two), 100, 0, WEFT_OK, "hellohello");
    expect(WEFT_CODING_GZIP, two, sizeof(two), 9, 0, WEFT_E_TOO_LARGE, NULL);
}

static void refuses(void **state)
{
    uint8_t bytes[64];
    expect(WEFT_CODING_GZIP, hello_gzip, sizeof(hello_gzip), 4, 0, WEFT_E_TOO_LARGE, NULL);
    for (size_t n = 0; n < sizeof(hello_gzip); n++)
        expect(WEFT_CODING_GZIP, hello_gzip, n, 100, 0, WEFT_E_UNPROCESSABLE, NULL);
    for (size_t n = 0; n < sizeof(hello_zlib); n++)
        expect(WEFT_CODING_DEFLATE, hello_zlib, n, 100, 0, WEFT_E_UNPROCESSABLE, NULL);
    for (size_t i = 10; i < sizeof(hello_gzip); i++) { /* each byte of data and sum matters */
        if (i == 16)                                   /* but for the bits that fill the last byte of the stream */
            continue;
        memcpy(bytes, hello_gzip, sizeof(hello_gzip));
        bytes[i] ^= 0x10;
        uint8_t *out;
        size_t n;
        weft_error err;
        assert_int_not_equal(weft_inflate(pool, WEFT_CODING_GZIP, bytes, sizeof(hello_gzip), 100, 0, &out, &n, &err), WEFT_OK);
    }
    memcpy(bytes, hello_zlib, sizeof(hello_zlib));
    bytes[sizeof(hello_zlib)] = 'x';
    expect(WEFT_CODING_DEFLATE, bytes, sizeof(hello_zlib) + 1, 100, 0, WEFT_E_UNPROCESSABLE, NULL);
    expect(WEFT_CODING_GZIP, hello_zlib, sizeof(hello_zlib), 100, 0, WEFT_E_UNPROCESSABLE, NULL);
}

/* What becomes a thousand times larger is stopped at the limit, with memory of about the limit. */
static void bombs_stay_small(void **state)
{
    enum { N = 8 << 20 };
    uint8_t *zeros = calloc(1, N), *out;
    size_t n_out;
    weft_buffer small;
    weft_error err;
    weft_piece piece = {zeros, N};
    weft_buffer_init(&small, 0);
    assert_true(weft_deflate(WEFT_CODING_GZIP, &piece, 1, &small));
    assert_true(small.n_bytes < N / 100);
    assert_int_equal(weft_inflate(pool, WEFT_CODING_GZIP, small.data, small.n_bytes, 100000, 0, &out, &n_out, &err),
                     WEFT_E_TOO_LARGE);
    assert_int_equal(weft_inflate(pool, WEFT_CODING_GZIP, small.data, small.n_bytes, N - 1, 0, &out, &n_out, &err),
                     WEFT_E_TOO_LARGE);
    assert_int_equal(weft_inflate(pool, WEFT_CODING_GZIP, small.data, small.n_bytes, N, 0, &out, &n_out, &err), WEFT_OK);
    assert_int_equal(n_out, N);
    assert_memory_equal(out, zeros, N);
    weft_chunk_give(pool, out);
    weft_buffer_fini(&small);
    free(zeros);
}

static void pieces_become_one(void **state)
{
    weft_piece pieces[] = {{"he", 2}, {"", 0}, {NULL, 0}, {"llo", 3}};
    for (int c = WEFT_CODING_GZIP; c <= WEFT_CODING_DEFLATE; c++) {
        weft_buffer out;
        weft_buffer_init(&out, 0);
        assert_true(weft_deflate((weft_coding)c, pieces, 4, &out));
        expect((weft_coding)c, out.data, out.n_bytes, 100, 0, WEFT_OK, "hello");
        weft_buffer_fini(&out);
    }
}

static void names_and_weights(void **state)
{
    static const struct {
        const char *value;
        weft_coding coding;
        bool single;
    } cases[] = {
        {"gzip", WEFT_CODING_GZIP, true},
        {"deflate", WEFT_CODING_DEFLATE, true},
        {" GZip ", WEFT_CODING_GZIP, true},
        {"gzip, deflate", WEFT_CODING_GZIP, false},
        {"deflate, gzip", WEFT_CODING_GZIP, false},
        {"deflate, gzip;q=0.9", WEFT_CODING_DEFLATE, false},
        {"deflate;q=0.5,gzip;q=0.501", WEFT_CODING_GZIP, false},
        {"gzip;q=0", WEFT_CODING_NONE, false},
        {"gzip;q=0.000, deflate;q=0.001", WEFT_CODING_DEFLATE, false},
        {"br, zstd", WEFT_CODING_NONE, false},
        {"*", WEFT_CODING_GZIP, true},
        {"identity", WEFT_CODING_NONE, false},
        {"", WEFT_CODING_NONE, false},
        {",,", WEFT_CODING_NONE, false},
        {"gzip;q=x", WEFT_CODING_NONE, false},
        {"gzip ; q=1", WEFT_CODING_GZIP, true},
        {"gzip;q", WEFT_CODING_NONE, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool single;
        weft_coding c = weft_coding_accepted(cases[i].value, strlen(cases[i].value), &single);
        if (c != cases[i].coding || single != cases[i].single)
            fail_msg("%s: %d %d", cases[i].value, c, single);
    }
    assert_int_equal(weft_coding_of("", 0), WEFT_CODING_NONE);
    assert_int_equal(weft_coding_of("x-gzip", 6), WEFT_CODING_GZIP);
    assert_int_equal(weft_coding_of("identity", 8), WEFT_CODING_NONE);
    assert_int_equal(weft_coding_of("gzip, deflate", 13), WEFT_CODING_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inflates),          cmocka_unit_test(refuses),           cmocka_unit_test(bombs_stay_small),
        cmocka_unit_test(pieces_become_one), cmocka_unit_test(names_and_weights),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
