#include "server/openapi_schema.h"

#include <stdio.h>

/* Opens an object with its type; the caller closes it. */
static void open_type(weft_json *j, const char *type)
{
    weft_json_object_begin(j);
    weft_json_key_string(j, "type", type);
}

static void put_ref(weft_json *j, const char *key, const char *schema)
{
    char ref[96];
    snprintf(ref, sizeof(ref), "#/components/schemas/%s", schema);
    weft_json_key(j, key);
    weft_json_object_begin(j);
    weft_json_key_string(j, "$ref", ref);
    weft_json_object_end(j);
}

/* An array of n numbers, as the members of an object that is open. */
static void put_numbers(weft_json *j, int n)
{
    weft_json_key_string(j, "type", "array");
    weft_json_key_int(j, "minItems", n);
    weft_json_key_int(j, "maxItems", n);
    weft_json_key(j, "items");
    open_type(j, "number");
    weft_json_object_end(j);
}

/* [[x,y], ...] */
static void put_points(weft_json *j, int n)
{
    weft_json_key_string(j, "type", "array");
    weft_json_key_int(j, "minItems", n);
    weft_json_key_int(j, "maxItems", n);
    weft_json_key(j, "items");
    weft_json_object_begin(j);
    put_numbers(j, 2);
    weft_json_object_end(j);
}

static bool is_whole(weft_dtype t)
{
    return t >= WEFT_DT_U8 && t <= WEFT_DT_I64;
}

/* A number, or where there are more of them an array; NaN is written as null. */
static void put_number(weft_json *j, const weft_field_decl *f)
{
    weft_json_key(j, "type");
    weft_json_array_begin(j);
    weft_json_string(j, is_whole(f->dtype) ? "integer" : "number");
    weft_json_string(j, "array");
    if (!is_whole(f->dtype))
        weft_json_string(j, "null");
    weft_json_array_end(j);
}

static void put_matte(weft_json *j)
{
    static const char *const members[] = {"width", "height"};
    weft_json_key_string(j, "type", "object");
    weft_json_key(j, "properties");
    weft_json_object_begin(j);
    for (int i = 0; i < 2; i++) {
        weft_json_key(j, members[i]);
        open_type(j, "integer");
        weft_json_object_end(j);
    }
    weft_json_key(j, "data");
    open_type(j, "string");
    weft_json_key_string(j, "contentEncoding", "base64");
    weft_json_object_end(j);
    weft_json_object_end(j);
}

static void put_field(weft_json *j, const weft_field_decl *f)
{
    weft_json_key(j, f->name);
    weft_json_object_begin(j);
    if (f->help && f->help[0])
        weft_json_key_string(j, "description", f->help);
    switch (f->kind) {
    case WEFT_FIELD_TEXT:
    case WEFT_FIELD_LABEL:
        weft_json_key_string(j, "type", "string");
        break;
    case WEFT_FIELD_SCORE:
        weft_json_key_string(j, "type", "number");
        weft_json_key_int(j, "minimum", 0);
        weft_json_key_int(j, "maximum", 1);
        break;
    case WEFT_FIELD_BOX:
        put_numbers(j, 4);
        break;
    case WEFT_FIELD_QUAD:
        put_points(j, 4);
        break;
    case WEFT_FIELD_POINTS:
        put_points(j, f->n_points);
        break;
    case WEFT_FIELD_NUMBER:
        put_number(j, f);
        break;
    case WEFT_FIELD_MATTE:
        put_matte(j);
        break;
    case WEFT_FIELD_PICTURE:
        weft_json_key_string(j, "type", "string");
        weft_json_key_string(j, "contentEncoding", "base64");
        break;
    case WEFT_FIELD_TENSOR:
        break;
    }
    weft_json_object_end(j);
}

/* One object of "items": the per-item fields, zipped. */
static void put_items(weft_json *j, const weft_model_info *m)
{
    weft_json_key(j, "items");
    open_type(j, "array");
    weft_json_key(j, "items");
    open_type(j, "object");
    weft_json_key(j, "properties");
    weft_json_object_begin(j);
    for (size_t i = 0; i < m->n_fields; i++)
        if (m->fields[i].per_item)
            put_field(j, &m->fields[i]);
    weft_json_object_end(j);
    weft_json_object_end(j);
    weft_json_object_end(j);
}

void weft_openapi_result(weft_json *j, const weft_model_info *m)
{
    static const char *const texts[] = {"id", "model", "version"};
    bool items = false, outputs = m->n_fields == 0;
    for (size_t i = 0; i < m->n_fields; i++) {
        items = items || m->fields[i].per_item;
        outputs = outputs || m->fields[i].kind == WEFT_FIELD_TENSOR;
    }
    open_type(j, "object");
    weft_json_key(j, "required");
    weft_json_array_begin(j);
    for (int i = 1; i < 3; i++)
        weft_json_string(j, texts[i]);
    weft_json_string(j, "timing");
    weft_json_array_end(j);
    weft_json_key(j, "properties");
    weft_json_object_begin(j);
    for (int i = 0; i < 3; i++) {
        weft_json_key(j, texts[i]);
        open_type(j, "string");
        weft_json_object_end(j);
    }
    if (items)
        put_items(j, m);
    for (size_t i = 0; i < m->n_fields; i++)
        if (!m->fields[i].per_item && m->fields[i].kind != WEFT_FIELD_TENSOR)
            put_field(j, &m->fields[i]);
    if (outputs) {
        weft_json_key(j, "outputs");
        open_type(j, "object");
        put_ref(j, "additionalProperties", "RawOutput");
        weft_json_object_end(j);
    }
    put_ref(j, "timing", "Timing");
    weft_json_object_end(j);
    weft_json_object_end(j);
}
