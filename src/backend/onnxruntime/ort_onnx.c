/* An ONNX file is one protobuf message, ModelProto. Its outer fields are few and small except the graph, and of the graph only
 * the operator names matter here; weights are skipped with a seek. Field numbers: onnx.proto of the ONNX project (ModelProto:
 * ir_version 1, producer_name 2, producer_version 3, graph 7, opset_import 8; OperatorSetIdProto: domain 1, version 2;
 * GraphProto: node 1; NodeProto: op_type 4). Wire format: protobuf encoding guide. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/onnxruntime/ort_internal.h"

#define MAX_FIELDS 4000000 /* of one message; a graph has one for every node and every weight */

/* Reads forward through a file or a piece of memory. */
typedef struct source {
    FILE *file;
    const uint8_t *data;
    uint64_t at, end;
} source;

static bool take(source *s, void *to, uint64_t n)
{
    if (n > s->end - s->at)
        return false;
    if (s->file) {
        if (fread(to, 1, n, s->file) != n)
            return false;
    } else {
        memcpy(to, s->data + s->at, n);
    }
    s->at += n;
    return true;
}

static bool skip(source *s, uint64_t n)
{
    if (n > s->end - s->at)
        return false;
    s->at += n;
    return !s->file || fseeko(s->file, (off_t)s->at, SEEK_SET) == 0;
}

static bool varint(source *s, uint64_t *v)
{
    uint8_t byte;

    *v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (!take(s, &byte, 1))
            return false;
        *v |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128))
            return true;
    }
    return false;
}

/* One field: its number and kind; a varint's value; or the length of what follows. */
typedef struct field {
    uint64_t number, value;
    int wire;
} field;

static bool next_field(source *s, uint64_t end, field *f)
{
    uint64_t key;

    if (s->at >= end || !varint(s, &key))
        return false;
    f->number = key >> 3;
    f->wire = (int)(key & 7);
    f->value = 0;
    switch (f->wire) {
    case 0:
        return varint(s, &f->value);
    case 1:
        return skip(s, 8);
    case 2:
        return varint(s, &f->value) && f->value <= end - s->at;
    case 5:
        return skip(s, 4);
    default:
        return false;
    }
}

/* Reads the bytes of a field as text, cut to the buffer. */
static bool text(source *s, const field *f, char *buf, size_t n_buf)
{
    uint64_t n = f->value < n_buf - 1 ? f->value : n_buf - 1;

    if (!take(s, buf, n))
        return false;
    buf[n] = 0;
    for (uint64_t i = 0; i < n; i++)
        if ((unsigned char)buf[i] < ' ')
            buf[i] = ' ';
    return skip(s, f->value - n);
}

static bool read_opset(source *s, uint64_t end, weft_onnx_facts *out)
{
    char domain[32] = "";
    uint64_t version = 0;
    field f;

    for (int i = 0; i < MAX_FIELDS && next_field(s, end, &f); i++) {
        if (f.number == 1 && f.wire == 2) {
            if (!text(s, &f, domain, sizeof domain))
                return false;
        } else if (f.number == 2 && f.wire == 0) {
            version = f.value;
        } else if (f.wire == 2 && !skip(s, f.value)) {
            return false;
        }
    }
    if (!*domain || !strcmp(domain, "ai.onnx"))
        out->opset = (int64_t)(version & INT32_MAX);
    return s->at == end;
}

static bool read_node(source *s, uint64_t end, weft_onnx_facts *out)
{
    /* Operators whose output shape depends on the values of their inputs, not on the shapes. */
    static const char *const ops[] = {"NonZero", "Unique",     "NonMaxSuppression", "Compress",          "Loop",
                                      "If",      "SequenceAt", "StringSplit",       "ConcatFromSequence"};
    char op[32] = "";
    field f;

    for (int i = 0; i < MAX_FIELDS && next_field(s, end, &f); i++) {
        if (f.number == 4 && f.wire == 2) {
            if (!text(s, &f, op, sizeof op))
                return false;
        } else if (f.wire == 2 && !skip(s, f.value)) {
            return false;
        }
    }
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        out->sizes_follow_values = out->sizes_follow_values || !strcmp(op, ops[i]);
    return s->at == end;
}

static bool read_graph(source *s, uint64_t end, weft_onnx_facts *out)
{
    field f;

    for (int i = 0; i < MAX_FIELDS && next_field(s, end, &f); i++) {
        if (f.wire != 2)
            continue;
        if (f.number == 1 ? !read_node(s, s->at + f.value, out) : !skip(s, f.value))
            return false;
    }
    return s->at == end;
}

static void read_model(source *s, weft_onnx_facts *out)
{
    char version[48] = "";
    size_t n;
    field f;

    for (int i = 0; i < MAX_FIELDS && next_field(s, s->end, &f); i++) {
        if (f.number == 1 && f.wire == 0)
            out->ir_version = (int64_t)(f.value & INT32_MAX);
        if (f.wire != 2)
            continue;
        if (f.number == 2   ? !text(s, &f, out->producer, sizeof out->producer - sizeof version)
            : f.number == 3 ? !text(s, &f, version, sizeof version)
            : f.number == 7 ? !read_graph(s, s->at + f.value, out)
            : f.number == 8 ? !read_opset(s, s->at + f.value, out)
                            : !skip(s, f.value))
            break;
    }
    n = strlen(out->producer);
    if (n && *version)
        snprintf(out->producer + n, sizeof out->producer - n, " %s", version);
}

void weft_onnx_parse_facts(const uint8_t *data, size_t n_bytes, weft_onnx_facts *out)
{
    source s = {.data = data, .end = n_bytes};

    memset(out, 0, sizeof *out);
    read_model(&s, out);
}

void weft_onnx_read_facts(const char *path, weft_onnx_facts *out)
{
    source s = {.file = fopen(path, "rb")};
    struct stat st;

    memset(out, 0, sizeof *out);
    if (!s.file)
        return;
    if (fstat(fileno(s.file), &st) == 0 && S_ISREG(st.st_mode)) {
        s.end = (uint64_t)st.st_size;
        read_model(&s, out);
    }
    fclose(s.file);
}
