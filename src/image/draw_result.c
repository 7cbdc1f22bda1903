#include "image/draw_result.h"

#include "image/decode.h"
#include "image/draw_panel.h"
#include "image/resize.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITEMS = 1000, MAX_WHOLES = 8 };

/* The first column of each kind, checked: dtype, shape and bytes are what result.h promises. */
typedef struct parts {
    const weft_result *result;
    size_t n_items;
    const float *boxes, *quads, *points, *scores;
    size_t n_points; /* per item */
    const weft_column *labels, *texts, *matte, *picture;
    const weft_column *wholes[MAX_WHOLES]; /* scores of the whole answer */
    size_t n_wholes;
    weft_color colors[MAX_ITEMS];
} parts;

static const float *floats_of(const weft_column *c, size_t n_items, size_t per_item)
{
    const weft_tensor *t = &c->tensor;
    if (!c->per_item || t->dtype != WEFT_DT_F32 || t->rank < 1 || t->shape[0] != (int64_t)n_items ||
        t->n_bytes < n_items * per_item * sizeof(float))
        return NULL;
    return t->data;
}

static bool strings_ok(const weft_column *c, size_t n_items)
{
    return c->per_item && c->tensor.dtype == WEFT_DT_STRING && c->tensor.rank == 1 && c->tensor.shape[0] == (int64_t)n_items;
}

static void take(parts *p, const weft_column *c)
{
    const weft_tensor *t = &c->tensor;
    switch (c->kind) {
    case WEFT_FIELD_BOX:
        p->boxes = p->boxes ? p->boxes : floats_of(c, p->n_items, 4);
        break;
    case WEFT_FIELD_QUAD:
        p->quads = p->quads ? p->quads : floats_of(c, p->n_items, 8);
        break;
    case WEFT_FIELD_POINTS:
        if (p->points || t->rank != 3 || t->shape[1] < 1 || t->shape[1] > 4096 || t->shape[2] != 2)
            break;
        p->points = floats_of(c, p->n_items, 2 * (size_t)t->shape[1]);
        p->n_points = (size_t)t->shape[1];
        break;
    case WEFT_FIELD_SCORE:
        p->scores = p->scores ? p->scores : floats_of(c, p->n_items, 1);
        if (!c->per_item && t->dtype == WEFT_DT_F32 && t->n_bytes == sizeof(float) && p->n_wholes < MAX_WHOLES)
            p->wholes[p->n_wholes++] = c;
        break;
    case WEFT_FIELD_LABEL:
        p->labels = p->labels || !strings_ok(c, p->n_items) ? p->labels : c;
        break;
    case WEFT_FIELD_TEXT:
        p->texts = p->texts || !strings_ok(c, p->n_items) ? p->texts : c;
        break;
    case WEFT_FIELD_MATTE:
        if (t->dtype == WEFT_DT_U8 && t->rank == 2 && t->shape[0] >= 1 && t->shape[1] >= 1 && t->shape[0] <= 65536 &&
            t->shape[1] <= 65536 && t->n_bytes >= (size_t)t->shape[0] * (size_t)t->shape[1])
            p->matte = c;
        break;
    case WEFT_FIELD_PICTURE:
        p->picture = c;
        break;
    default:
        break;
    }
}

static void find_parts(const weft_result *r, parts *p)
{
    memset(p, 0, sizeof(*p));
    p->result = r;
    p->n_items = r->n_items;
    for (size_t i = 0; i < r->n_columns; i++)
        take(p, &r->columns[i]);
    p->n_items = r->n_items < MAX_ITEMS ? r->n_items : MAX_ITEMS;
}

static const char *string_of(const parts *p, const weft_column *c, size_t i, size_t *n_bytes)
{
    const char *s = c ? weft_result_text(p->result, c->tensor.name, i, n_bytes) : NULL;
    if (!s)
        *n_bytes = 0;
    return s ? s : "";
}

/* ---- matte --------------------------------------------------------------------------------------------------------------- */
static void show_hidden(weft_picture *p, const weft_picture *matte)
{
    int32_t cell = (p->width < p->height ? p->width : p->height) / 40 + 4;
    for (int32_t y = 0; y < p->height; y++) {
        uint8_t *d = p->data + (size_t)y * p->stride_bytes;
        for (int32_t x = 0; x < p->width; x++, d += 3) {
            int a = matte->data[(size_t)y * matte->stride_bytes + (size_t)x], back = (x / cell + y / cell) % 2 ? 225 : 250;
            for (int c = 0; c < 3; c++)
                d[c] = (uint8_t)((d[c] * a + back * (255 - a) + 127) / 255);
        }
    }
}

static weft_status draw_matte(weft_picture *p, const weft_tensor *t, weft_error *err)
{
    weft_picture small = weft_picture_wrap(t->data, (int32_t)t->shape[1], (int32_t)t->shape[0], 1, (size_t)t->shape[1]),
                 full = {0};
    weft_status s = weft_picture_resize(&small, p->width, p->height, WEFT_INTERPOLATION_AUTO, &full, err);
    if (s == WEFT_OK)
        show_hidden(p, &full);
    weft_picture_destroy(&full);
    return s;
}

/* ---- items --------------------------------------------------------------------------------------------------------------- */
/* The same label has the same colour; labels are numbered as they come. Without labels every item has its own. */
static void choose_colors(parts *p)
{
    size_t first[MAX_ITEMS], n_labels = 0; /* the item that brought each label */
    for (size_t i = 0; i < p->n_items; i++) {
        size_t n_bytes, n_other, k = 0;
        const char *mine = string_of(p, p->labels, i, &n_bytes);
        for (; p->labels && k < n_labels; k++) {
            const char *other = string_of(p, p->labels, first[k], &n_other);
            if (n_other == n_bytes && memcmp(other, mine, n_bytes) == 0)
                break;
        }
        if (!p->labels)
            k = i;
        else if (k == n_labels)
            first[n_labels++] = i;
        p->colors[i] = weft_palette(k);
    }
}

/* The box of an item: its own, or the one around its quad. */
static bool outline_of(const parts *p, size_t i, float box[4])
{
    if (p->boxes)
        memcpy(box, p->boxes + 4 * i, 4 * sizeof(float));
    else if (p->quads) {
        const float *q = p->quads + 8 * i;
        box[0] = fminf(fminf(q[0], q[2]), fminf(q[4], q[6]));
        box[1] = fminf(fminf(q[1], q[3]), fminf(q[5], q[7]));
        box[2] = fmaxf(fmaxf(q[0], q[2]), fmaxf(q[4], q[6]));
        box[3] = fmaxf(fmaxf(q[1], q[3]), fmaxf(q[5], q[7]));
    } else
        return false;
    return isfinite(box[0]) && isfinite(box[1]) && isfinite(box[2]) && isfinite(box[3]);
}

static void draw_shapes(weft_canvas *c, const parts *p, size_t i, weft_color color)
{
    if (p->quads) {
        weft_color tint = color;
        tint.alpha = 36;
        weft_draw_polygon(c, p->quads + 8 * i, 4, tint);
        weft_draw_lines(c, p->quads + 8 * i, 4, true, c->line_px * 0.8f, color);
    } else if (p->boxes) {
        weft_draw_box(c, p->boxes + 4 * i, c->line_px, color);
    }
    if (!p->points)
        return;
    float box[4], radius = c->line_px * 1.8f;
    if (outline_of(p, i, box)) /* dots stay small on small faces */
        radius = fminf(radius, fmaxf(1, hypotf(box[2] - box[0], box[3] - box[1]) / 60));
    if (p->n_points > 40)
        radius *= 0.5f;
    for (size_t k = 0; k < p->n_points; k++) {
        const float *xy = p->points + 2 * (i * p->n_points + k);
        weft_draw_point(c, xy[0], xy[1], radius, color);
    }
}

static size_t tag_text(const parts *p, size_t i, char *buf, size_t n_buf)
{
    size_t n_bytes;
    const char *s = string_of(p, p->labels ? p->labels : p->texts, i, &n_bytes);
    int n = 0;
    if (p->scores && isfinite(p->scores[i]) && n_bytes)
        n = snprintf(buf, n_buf, "%.*s %.0f%%", (int)(n_bytes < 200 ? n_bytes : 200), s, 100 * (double)p->scores[i]);
    else if (p->scores && isfinite(p->scores[i]))
        n = snprintf(buf, n_buf, "%.0f%%", 100 * (double)p->scores[i]);
    else
        n = snprintf(buf, n_buf, "%.*s", (int)(n_bytes < 200 ? n_bytes : 200), s);
    return n < 0 ? 0 : (size_t)n < n_buf ? (size_t)n : n_buf - 1;
}

/* Tags of large things are drawn in the common size; things smaller than a line of text get a smaller one. */
static weft_status draw_tags(weft_canvas *c, const parts *p, const size_t *order, weft_error *err)
{
    float(*taken)[4] = malloc(sizeof(*taken) * (p->n_items ? p->n_items : 1)), usual = c->text_px;
    size_t n_taken = 0;
    if (!taken)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory while drawing a result");
    for (size_t k = 0; k < p->n_items; k++) {
        char text[256];
        float box[4];
        size_t i = order[k], n = tag_text(p, i, text, sizeof(text));
        if (n == 0 || !outline_of(p, i, box))
            continue;
        float room = fminf(box[3] - box[1], (box[2] - box[0]) * 1.2f);
        c->text_px = fmaxf(fminf(usual, room * 0.32f), fminf(usual, 11));
        weft_draw_label(c, box, text, n, p->colors[i], (const float(*)[4])taken, n_taken, taken[n_taken]);
        n_taken++;
    }
    c->text_px = usual;
    free(taken);
    return WEFT_OK;
}

static float area_of(const parts *p, size_t i)
{
    float b[4];
    return outline_of(p, i, b) ? (b[2] - b[0]) * (b[3] - b[1]) : 0;
}

/* Large ones first, so that small ones lie on top. */
static size_t *drawing_order(const parts *p)
{
    size_t *order = malloc(sizeof(*order) * (p->n_items ? p->n_items : 1));
    for (size_t i = 0; order && i < p->n_items; i++) {
        size_t j = i;
        for (; j > 0 && area_of(p, order[j - 1]) < area_of(p, i); j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
    return order;
}

static weft_status draw_items(weft_picture *picture, const parts *p, const weft_draw_options *options, bool tags, weft_error *err)
{
    weft_canvas c;
    size_t *order = drawing_order(p);
    if (!order)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory while drawing a result");
    weft_status s = weft_canvas_init(&c, picture, options, err);
    for (size_t k = 0; s == WEFT_OK && k < p->n_items; k++)
        draw_shapes(&c, p, order[k], p->colors[order[k]]);
    if (s == WEFT_OK && tags)
        s = draw_tags(&c, p, order, err);
    weft_canvas_fini(&c);
    free(order);
    return s;
}

static weft_status draw_panel(weft_picture *picture, const parts *p, const weft_draw_options *options, bool paper,
                              weft_error *err)
{
    size_t n = p->n_items;
    weft_panel_item *items = calloc(n + p->n_wholes, sizeof(*items));
    if (!items)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory while drawing a result");
    for (size_t i = 0; i < p->n_items; i++) {
        items[i].text = string_of(p, p->labels ? p->labels : p->texts, i, &items[i].n_bytes);
        items[i].quad = p->quads ? p->quads + 8 * i : NULL;
        items[i].score = p->scores && isfinite(p->scores[i]) ? fmaxf(0, p->scores[i]) : -1;
        items[i].color = p->colors[i];
    }
    for (size_t i = 0; !paper && i < p->n_wholes; i++) {
        const weft_tensor *t = &p->wholes[i]->tensor;
        float score = *(const float *)t->data;
        items[n++] = (weft_panel_item){.text = t->name,
                                       .n_bytes = strlen(t->name),
                                       .score = isfinite(score) ? fmaxf(0, score) : -1,
                                       .color = weft_palette(p->n_items + i)};
    }
    weft_status s = paper ? weft_draw_paper(picture, items, n, options, err) : weft_draw_list(picture, items, n, options, err);
    free(items);
    return s;
}

static weft_status take_picture(weft_picture *picture, const parts *p, weft_error *err)
{
    weft_picture decoded = {0};
    size_t n_bytes;
    const char *bytes = weft_result_text(p->result, p->picture->tensor.name, 0, &n_bytes);
    if (!bytes)
        return WEFT_OK;
    weft_status s = weft_picture_decode(bytes, n_bytes, NULL, 3, &decoded, err);
    if (s == WEFT_OK) {
        weft_picture_destroy(picture);
        *picture = decoded;
    }
    return s;
}

weft_status weft_draw_result(weft_picture *picture, const weft_result *result, const weft_draw_options *options, weft_error *err)
{
    parts p;
    weft_status s = WEFT_OK;
    if (picture->channels != 3 || picture->width < 1)
        return weft_fail(err, WEFT_E_INVALID, "a result is drawn on a picture with 3 channels; this one has %d",
                         picture->channels);
    find_parts(result, &p);
    choose_colors(&p);
    if (p.picture)
        s = take_picture(picture, &p, err);
    if (s == WEFT_OK && p.matte)
        s = draw_matte(picture, &p.matte->tensor, err);
    if (s != WEFT_OK || (p.n_items == 0 && p.n_wholes == 0))
        return s;
    bool shapes = p.boxes || p.quads || p.points, named = p.labels || p.texts, paper = p.quads && p.texts && !p.labels;
    if (shapes)
        s = draw_items(picture, &p, options, !paper && (named || p.scores), err);
    if (s == WEFT_OK && (named || p.n_wholes) && (paper || !shapes))
        s = draw_panel(picture, &p, options, paper, err);
    return s;
}
