#include "server/v2_answer.h"

#include "wire/json_tensor.h"

static bool goes_binary(const weft_v2_call *c, const weft_v2_output *out)
{
    return out->ask && out->ask->binary >= 0 ? out->ask->binary : c->binary_outputs;
}

size_t weft_v2_answer_json_bytes(const weft_v2_call *c, const weft_v2_output *outs, size_t n)
{
    size_t n_bytes = 0;
    for (size_t i = 0; i < n; i++)
        n_bytes += goes_binary(c, &outs[i]) ? 0 : outs[i].tensor.n_bytes;
    return n_bytes;
}

static void put_output(weft_json *j, const weft_tensor *t, bool binary, bool nan)
{
    weft_json_object_begin(j);
    weft_json_key_string(j, "name", t->name);
    weft_json_key_string(j, "datatype", weft_dtype_name(t->dtype));
    weft_json_key(j, "shape");
    weft_json_array_begin(j);
    for (int i = 0; i < t->rank; i++)
        weft_json_int(j, t->shape[i]);
    weft_json_array_end(j);
    bool base64 = !binary && t->dtype == WEFT_DT_STRING && !weft_tensor_is_text(t);
    if (binary || base64) {
        weft_json_key(j, "parameters");
        weft_json_object_begin(j);
        if (binary)
            weft_json_key_uint(j, "binary_data_size", t->n_bytes);
        else
            weft_json_key_string(j, "content_type", "base64");
        weft_json_object_end(j);
    }
    if (!binary) {
        weft_json_key(j, "data");
        weft_json_write_tensor(j, t, (base64 ? WEFT_JSON_BASE64 : 0u) | (nan ? WEFT_JSON_NAN : 0u));
    }
    weft_json_object_end(j);
}

void weft_v2_answer_write(const weft_v2_call *c, const char *model, const char *version, const weft_v2_output *outs, size_t n,
                          weft_buffer *json, weft_piece *pieces, size_t *n_pieces)
{
    weft_json j;
    *n_pieces = 0;
    weft_json_init(&j, json);
    weft_json_object_begin(&j);
    weft_json_key_string(&j, "model_name", model);
    weft_json_key_string(&j, "model_version", version);
    if (c->id[0])
        weft_json_key_string(&j, "id", c->id);
    weft_json_key(&j, "outputs");
    weft_json_array_begin(&j);
    for (size_t i = 0; i < n; i++) {
        bool binary = goes_binary(c, &outs[i]);
        put_output(&j, &outs[i].tensor, binary, c->nan_in_json);
        if (binary && outs[i].tensor.n_bytes)
            pieces[(*n_pieces)++] = (weft_piece){outs[i].tensor.data, outs[i].tensor.n_bytes};
    }
    weft_json_array_end(&j);
    weft_json_object_end(&j);
}
