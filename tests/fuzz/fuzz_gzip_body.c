/* Compressed bodies on any bytes: within the limit, or refused; what comes out goes in again. Accept-Encoding values as well. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/gzip_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static weft_chunk_pool *pool;
    if (!pool)
        pool = weft_chunk_pool_create(1 << 20, 0);
    if (!pool || n_bytes < 1)
        return 0;
    weft_coding coding = data[0] & 1 ? WEFT_CODING_GZIP : WEFT_CODING_DEFLATE;
    size_t max = (size_t)(data[0] >> 1) * 512, skew = data[0] % 64, n_out, n_again;
    uint8_t *out, *again;
    weft_error err = {0};
    bool single;
    weft_coding_accepted((const char *)data, n_bytes, &single);
    weft_coding_of((const char *)data, n_bytes);
    if (weft_inflate(pool, coding, data + 1, n_bytes - 1, max, skew, &out, &n_out, &err) != WEFT_OK) {
        if (!err.text[0] || out)
            abort();
        return 0;
    }
    if (n_out > max)
        abort();
    weft_buffer packed;
    weft_piece piece = {out, n_out};
    weft_buffer_init(&packed, 0);
    if (!weft_deflate(coding, &piece, 1, &packed) ||
        weft_inflate(pool, coding, packed.data, packed.n_bytes, n_out, 0, &again, &n_again, &err) != WEFT_OK ||
        n_again != n_out || (n_out && memcmp(again, out, n_out) != 0))
        abort();
    weft_chunk_give(pool, again);
    weft_chunk_give(pool, out - skew);
    weft_buffer_fini(&packed);
    return 0;
}
