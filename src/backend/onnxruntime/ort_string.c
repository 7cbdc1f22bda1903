#include <string.h>

#include "backend/onnxruntime/ort_internal.h"

#define OFFSETS_ON_STACK 256

weft_status weft_ort_string_value(const weft_tensor *t, ort_value **out, weft_error *err)
{
    const uint8_t *p = t->data;
    ort_allocator *a;
    int64_t n = 0;
    weft_status s = weft_ort_check(ORT(default_allocator)(&a), "no default allocator", err);

    *out = NULL;
    if (!s)
        s = weft_ort_check(ORT(value_create)(a, t->shape, (size_t)t->rank, ORT_ELEMENT_STRING, out),
                           "cannot create a string tensor", err);
    if (!s && !weft_shape_elements(t->shape, t->rank, &n))
        s = weft_fail(err, WEFT_E_INVALID, "input \"%.64s\" has an impossible shape", t->name ? t->name : "?");
    for (int64_t i = 0; i < n && !s; i++) {
        uint32_t length = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        char *to = NULL;

        s = weft_ort_check(ORT(string_room)(*out, (size_t)i, length, &to), "no room for a string", err);
        if (!s && length)
            memcpy(to, p + 4, length);
        p += 4 + (size_t)length;
    }
    if (s && *out) {
        ORT(value_release)(*out);
        *out = NULL;
    }
    return s;
}

void *weft_ort_room(weft_run *run, size_t output, size_t n_bytes)
{
    static char nothing;
    weft_tensor *t = &run->outputs[output];

    if (t->data && t->n_bytes >= n_bytes)
        return t->data;
    if (!n_bytes)
        return &nothing;
    return run->alloc ? run->alloc(run->cookie, output, n_bytes) : NULL;
}

/* The library gives all bytes in one piece with the start of each string; the result has a length before each. The pieces are
 * moved apart from the back, within the one buffer. */
weft_status weft_ort_string_output(ort_value *v, weft_run *run, size_t output, int64_t n_elements, weft_error *err)
{
    size_t few[OFFSETS_ON_STACK], *offsets = few, n = (size_t)n_elements, n_text = 0, n_bytes, end;
    weft_tensor *t = &run->outputs[output];
    weft_arena *arena = NULL;
    weft_status s = weft_ort_check(ORT(strings_bytes)(v, &n_text), "cannot measure strings", err);
    uint8_t *to = NULL;

    if (s)
        return s;
    if (n > OFFSETS_ON_STACK) {
        arena = weft_arena_create(NULL, 0);
        offsets = arena ? weft_arena_array(arena, n, sizeof *offsets) : NULL;
    }
    if (!offsets || __builtin_mul_overflow(n, (size_t)4, &n_bytes) || __builtin_add_overflow(n_bytes, n_text, &n_bytes) ||
        !(to = weft_ort_room(run, output, n_bytes))) {
        weft_arena_destroy(&arena);
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for %zu bytes of output \"%.64s\"", n_text, t->name);
    }
    if (n)
        s = weft_ort_check(ORT(strings_content)(v, to, n_text, offsets, n), "cannot read strings", err);
    end = n_text;
    for (size_t i = n; !s && i-- > 0;) {
        size_t length = end - offsets[i];
        uint8_t *at = to + offsets[i] + 4 * i;

        if (length > UINT32_MAX) {
            s = weft_fail(err, WEFT_E_TOO_LARGE, "a string of output \"%.64s\" has more than 4 GiB", t->name);
            break;
        }
        memmove(at + 4, to + offsets[i], length);
        at[0] = (uint8_t)length;
        at[1] = (uint8_t)(length >> 8);
        at[2] = (uint8_t)(length >> 16);
        at[3] = (uint8_t)(length >> 24);
        end = offsets[i];
    }
    weft_arena_destroy(&arena);
    t->data = to;
    t->n_bytes = n_bytes;
    return s;
}
