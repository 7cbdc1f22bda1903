#include "cli/show_result.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fp.h"
#include "cli/table.h"

#define MAX_NUMBERS 4 /* of a vector that are spelled out */

/* Element i of a dense tensor as a double; strings and bools too large to print are 0. */
static double number_at(const weft_tensor *t, size_t i)
{
    const void *d = t->data;
    switch (t->dtype) {
    case WEFT_DT_F32:
        return ((const float *)d)[i];
    case WEFT_DT_F64:
        return ((const double *)d)[i];
    case WEFT_DT_F16:
        return weft_f16_to_f32(((const uint16_t *)d)[i]);
    case WEFT_DT_BF16:
        return weft_bf16_to_f32(((const uint16_t *)d)[i]);
    case WEFT_DT_I64:
        return (double)((const int64_t *)d)[i];
    case WEFT_DT_U64:
        return (double)((const uint64_t *)d)[i];
    case WEFT_DT_I32:
        return ((const int32_t *)d)[i];
    case WEFT_DT_U32:
        return ((const uint32_t *)d)[i];
    case WEFT_DT_I16:
        return ((const int16_t *)d)[i];
    case WEFT_DT_U16:
        return ((const uint16_t *)d)[i];
    case WEFT_DT_I8:
        return ((const int8_t *)d)[i];
    case WEFT_DT_U8:
    case WEFT_DT_BOOL:
        return ((const uint8_t *)d)[i];
    default:
        return 0;
    }
}

static void cell_numbers(weft_table *t, const weft_tensor *x, size_t first, size_t n)
{
    char text[256];
    size_t o = 0, shown = n < MAX_NUMBERS + 1 ? n : MAX_NUMBERS;
    text[0] = 0;
    for (size_t i = 0; i < shown; i++)
        o += (size_t)snprintf(text + o, sizeof(text) - o, "%s%.5g", i ? " " : "", number_at(x, first + i));
    if (shown < n)
        snprintf(text + o, sizeof(text) - o, " … (%zu numbers)", n);
    weft_table_cell(t, text);
}

/* Pixels: "x,y x,y ..." rounded. */
static void cell_points(weft_table *t, const float *xy, size_t n_points)
{
    char text[512];
    size_t o = 0;
    text[0] = 0;
    for (size_t i = 0; i < n_points && o + 32 < sizeof(text); i++)
        o += (size_t)snprintf(text + o, sizeof(text) - o, "%s%.0f,%.0f", i ? " " : "", (double)xy[2 * i], (double)xy[2 * i + 1]);
    weft_table_cell(t, text);
}

static void cell_item(weft_table *t, const weft_result *r, const weft_column *c, size_t i)
{
    const weft_tensor *x = &c->tensor;
    size_t n = 1;
    for (int d = 1; d < x->rank; d++)
        n *= (size_t)x->shape[d];
    switch (c->kind) {
    case WEFT_FIELD_TEXT:
    case WEFT_FIELD_LABEL: {
        size_t n_bytes = 0;
        const char *s = weft_result_text(r, x->name, i, &n_bytes);
        weft_table_cellf(t, "%.*s", (int)(n_bytes > 500 ? 500 : n_bytes), s ? s : "");
        break;
    }
    case WEFT_FIELD_SCORE:
        weft_table_cellf(t, "%.3f", (double)((const float *)x->data)[i]);
        break;
    case WEFT_FIELD_BOX:
    case WEFT_FIELD_QUAD:
    case WEFT_FIELD_POINTS:
        cell_points(t, (const float *)x->data + i * n, n / 2);
        break;
    default:
        cell_numbers(t, x, i * n, n);
    }
}

static void show_items(weft_buffer *out, const weft_result *r)
{
    weft_table t;
    size_t n_columns = 1;
    for (size_t c = 0; c < r->n_columns; c++)
        n_columns += r->columns[c].per_item;
    if (n_columns == 1 || r->n_items == 0)
        return;
    weft_table_init(&t, n_columns);
    weft_table_right(&t, 0);
    weft_table_cell(&t, "#");
    for (size_t c = 0; c < r->n_columns; c++)
        if (r->columns[c].per_item)
            weft_table_cell(&t, r->columns[c].tensor.name);
    for (size_t i = 0; i < r->n_items; i++) {
        weft_table_cellf(&t, "%zu", i + 1);
        for (size_t c = 0; c < r->n_columns; c++)
            if (r->columns[c].per_item)
                cell_item(&t, r, &r->columns[c], i);
    }
    weft_table_print(&t, 2, out);
    weft_table_fini(&t);
}

static void cell_range(weft_table *t, const weft_tensor *x, size_t n)
{
    double low = INFINITY, high = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++) {
        double v = number_at(x, i);
        low = v < low ? v : low;
        high = v > high ? v : high;
        sum += v;
    }
    weft_table_cellf(t, "min %.5g  max %.5g  mean %.5g", low, high, sum / (double)n);
}

/* A declared field with one value for the whole answer: a name and a number, not a tensor. */
static bool is_single(const weft_column *c)
{
    int64_t n = 0;
    weft_shape_elements(c->tensor.shape, c->tensor.rank, &n);
    return !c->per_item && n == 1 && c->kind != WEFT_FIELD_TENSOR && c->kind != WEFT_FIELD_MATTE && c->kind != WEFT_FIELD_PICTURE;
}

static void show_singles(weft_buffer *out, const weft_result *r)
{
    weft_table t;
    weft_table_init(&t, 2);
    for (size_t c = 0; c < r->n_columns; c++) {
        const weft_column *column = &r->columns[c];
        if (!is_single(column))
            continue;
        weft_table_cell(&t, column->tensor.name);
        if (column->kind == WEFT_FIELD_SCORE) /* may be far below a thousandth */
            weft_table_cellf(&t, "%.4f", number_at(&column->tensor, 0));
        else
            cell_item(&t, r, column, 0);
    }
    weft_table_print(&t, 2, out);
    weft_table_fini(&t);
}

static void show_wholes(weft_buffer *out, const weft_result *r)
{
    weft_table t;
    char shape[128];
    weft_table_init(&t, 5);
    for (size_t c = 0; c < r->n_columns; c++) {
        const weft_tensor *x = &r->columns[c].tensor;
        if (r->columns[c].per_item || is_single(&r->columns[c]))
            continue;
        if (t.n_cells == 0) {
            const char *const head[] = {"output", "type", "shape", "values", ""};
            for (size_t i = 0; i < 5; i++)
                weft_table_cell(&t, head[i]);
        }
        int64_t n = 0;
        weft_shape_elements(x->shape, x->rank, &n);
        weft_table_cell(&t, x->name);
        weft_table_cell(&t, weft_dtype_name(x->dtype));
        weft_table_cell(&t, weft_shape_print(x->shape, x->rank, shape, sizeof(shape)));
        if (x->dtype == WEFT_DT_STRING || n == 0) {
            weft_table_cellf(&t, "%zu bytes", x->n_bytes);
            weft_table_cell(&t, "");
        } else {
            cell_numbers(&t, x, 0, (size_t)n);
            cell_range(&t, x, (size_t)n);
        }
    }
    weft_table_print(&t, 2, out);
    weft_table_fini(&t);
}

void weft_show_result(weft_buffer *out, const char *title, const weft_result *r)
{
    const weft_timing *t = &r->timing;
    weft_buffer_printf(out, "%s  %s", title, r->model);
    if (r->error.status != WEFT_OK) {
        weft_buffer_printf(out, "  failed: %s\n", r->error.text);
        return;
    }
    bool has_items = false;
    for (size_t c = 0; c < r->n_columns; c++)
        has_items |= r->columns[c].per_item;
    if (has_items)
        weft_buffer_printf(out, "  %zu found", r->n_items);
    weft_buffer_printf(out, "  %.1f ms (queue %.1f, preprocess %.1f, run %.1f", (double)t->total_ns / 1e6,
                       (double)t->queue_ns / 1e6, (double)t->preprocess_ns / 1e6, (double)t->run_ns / 1e6);
    if (t->n_runs > 1) /* a pipeline's: the sum may be more than the whole took */
        weft_buffer_printf(out, " over %d runs, some at once", (int)t->n_runs);
    weft_buffer_printf(out, ", postprocess %.1f)\n", (double)t->postprocess_ns / 1e6);
    show_items(out, r);
    show_singles(out, r);
    show_wholes(out, r);
}
