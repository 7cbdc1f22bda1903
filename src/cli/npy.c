#include "cli/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *descr;
    weft_dtype dtype;
} types[] = {{"|b1", WEFT_DT_BOOL}, {"|u1", WEFT_DT_U8},  {"|i1", WEFT_DT_I8},  {"<u2", WEFT_DT_U16},
             {"<u4", WEFT_DT_U32},  {"<u8", WEFT_DT_U64}, {"<i2", WEFT_DT_I16}, {"<i4", WEFT_DT_I32},
             {"<i8", WEFT_DT_I64},  {"<f2", WEFT_DT_F16}, {"<f4", WEFT_DT_F32}, {"<f8", WEFT_DT_F64}};

/* The text after 'key': in the header's Python dictionary, or NULL. */
static const char *value_of(const char *header, const char *key)
{
    const char *p = strstr(header, key);
    return p ? p + strlen(key) + strspn(p + strlen(key), " ") : NULL;
}

static bool read_shape(const char *p, weft_tensor *t)
{
    if (*p++ != '(')
        return false;
    t->rank = 0;
    for (;;) {
        p += strspn(p, " ,");
        if (*p == ')')
            return true;
        char *end;
        long long v = strtoll(p, &end, 10);
        if (end == p || v < 0 || t->rank == WEFT_MAX_RANK)
            return false;
        t->shape[t->rank++] = v;
        p = end;
    }
}

weft_status weft_npy_read(const void *bytes, size_t n_bytes, weft_tensor *out, weft_error *err)
{
    const unsigned char *b = bytes;
    char header[1024];
    memset(out, 0, sizeof(*out));
    if (n_bytes < 12 || memcmp(b, "\x93NUMPY", 6) != 0 || b[6] < 1 || b[6] > 3)
        return weft_fail(err, WEFT_E_INVALID, "this is not a NumPy .npy file (version 1 to 3); write one with numpy.save");
    size_t at = b[6] == 1 ? 10 : 12;
    size_t n =
        b[6] == 1 ? (size_t)(b[8] | b[9] << 8) : (size_t)b[8] | (size_t)b[9] << 8 | (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (n >= sizeof(header) || at + n > n_bytes)
        return weft_fail(err, WEFT_E_INVALID, "the header of the .npy file is cut short or longer than %zu bytes",
                         sizeof(header));
    memcpy(header, b + at, n);
    header[n] = 0;
    const char *descr = value_of(header, "'descr':"), *order = value_of(header, "'fortran_order':"),
               *shape = value_of(header, "'shape':");
    if (!descr || !order || !shape || strncmp(order, "False", 5) != 0 || !read_shape(shape, out))
        return weft_fail(err, WEFT_E_INVALID,
                         "the .npy file must hold one array in C order with at most %d axes; use numpy.ascontiguousarray",
                         WEFT_MAX_RANK);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (descr[0] == '\'' && strncmp(descr + 1, types[i].descr, 3) == 0 && descr[4] == '\'')
            out->dtype = types[i].dtype;
    if (!out->dtype)
        return weft_fail(
            err, WEFT_E_INVALID,
            "the .npy file's element type %.8s is not one a model takes; convert it with astype, for example to float32", descr);
    if (!weft_tensor_dense_bytes(out->dtype, out->shape, out->rank, &out->n_bytes) || out->n_bytes != n_bytes - at - n)
        return weft_fail(err, WEFT_E_INVALID, "the .npy file holds %zu bytes of data, but its shape needs %zu", n_bytes - at - n,
                         out->n_bytes);
    out->data = (void *)(b + at + n);
    return WEFT_OK;
}

weft_status weft_npy_write(const weft_tensor *t, weft_buffer *out, weft_error *err)
{
    const char *descr = t->dtype == WEFT_DT_BF16 ? "<u2" : NULL;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i].dtype == t->dtype)
            descr = types[i].descr;
    if (!descr)
        return weft_fail(err, WEFT_E_UNSUPPORTED, "output %s has type %s, which a .npy file written here cannot hold", t->name,
                         weft_dtype_name(t->dtype));
    char header[320];
    int n = snprintf(header, sizeof(header), "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int d = 0; d < t->rank; d++)
        n += snprintf(header + n, sizeof(header) - (size_t)n, "%lld,%s", (long long)t->shape[d], d + 1 < t->rank ? " " : "");
    n += snprintf(header + n, sizeof(header) - (size_t)n, "), }");
    while ((10 + n + 1) % 64)
        header[n++] = ' ';
    header[n++] = '\n';
    const unsigned char head[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(n & 255), (unsigned char)(n >> 8)};
    weft_buffer_append(out, head, sizeof(head));
    weft_buffer_append(out, header, (size_t)n);
    if (t->n_bytes)
        weft_buffer_append(out, t->data, t->n_bytes);
    return out->failed ? weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the output file") : WEFT_OK;
}
