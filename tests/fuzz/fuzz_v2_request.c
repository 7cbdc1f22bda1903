/* Bodies of infer requests: the first two bytes choose how many bytes at the end are binary and what the model is. What is
 * accepted must be tensors that pass the check or are refused with a sentence, and must be writable as an answer. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/v2_answer.h"
#include "server/v2_repository.h"
#include "server/v2_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static const weft_v2_tensor_info inputs[] = {{"x", WEFT_DT_F32, 2, {-1, 2}, false}};
static const weft_model_info info = {.name = "m", .version = "1", .type = "tensor", .backend = "", .state_cause = ""};
static const weft_v2_model model = {&info, "p", 8, false, 1, 1, inputs, inputs};

static void write_back(weft_v2_call *c)
{
    weft_v2_output outs[WEFT_V2_MAX_INPUTS];
    weft_piece pieces[WEFT_V2_MAX_INPUTS];
    weft_buffer json;
    weft_error err;
    size_t n = 0, n_pieces;
    for (size_t i = 0; i < c->n_inputs; i++) {
        if (weft_tensor_check(&c->inputs[i], &err) != WEFT_OK)
            continue;
        outs[n] = (weft_v2_output){.tensor = c->inputs[i]};
        if (c->inputs[i].dtype != WEFT_DT_STRING) {
            weft_tensor t;
            weft_v2_classes(c->arena, &c->inputs[i], c->inputs[i].rank > 1, 3, NULL, &t, &err);
        }
        n++;
    }
    weft_buffer_init(&json, 1 << 24);
    weft_v2_answer_write(c, "m", "1", outs, n, &json, pieces, &n_pieces);
    weft_buffer_fini(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    if (n_bytes < 2)
        return 0;
    size_t n = n_bytes - 2, n_binary = data[0] <= n ? data[0] : 0;
    unsigned skew = 16 + data[1] % 16;
    uint8_t *block = aligned_alloc(64, (skew + n + 64) / 64 * 64);
    weft_arena *arena = weft_arena_create(NULL, 0);
    weft_error err;
    if (block && arena) {
        weft_v2_call *c = weft_arena_zalloc(arena, sizeof(*c));
        uint8_t *body = block + skew;
        memcpy(body, data + 2, n);
        weft_v2_call_init(c, arena);
        weft_status st = data[1] & 0x80 ? weft_v2_request_raw(c, &model, body, n, &err)
                                        : weft_v2_request_read(c, body, n, n - n_binary, 1 << 16, &err);
        if (st && !err.text[0])
            abort();
        if (!st)
            write_back(c);
        if (data[1] & 0x40) {
            weft_model_config config = {.name = "m", .backend = "fake"};
            weft_v2_config_override(&config, (const char *)body, n, &err);
        }
    }
    weft_arena_destroy(&arena);
    free(block);
    return 0;
}
