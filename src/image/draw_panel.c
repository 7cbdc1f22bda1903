#include "image/draw_panel.h"

#include "base/text.h"
#include "image/geometry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LIST_ITEMS = 12, MIN_LIST_WIDTH_PX = 420, MAX_SIDE_PX = 65536 };

static const weft_color ink = {22, 24, 29, 255}, paper = {252, 252, 249, 255};

static void swap_pictures(weft_picture *a, weft_picture *b)
{
    weft_picture t = *a;
    *a = *b;
    *b = t;
}

/* ---- text in a quadrilateral --------------------------------------------------------------------------------------------- */
typedef struct frame { /* origin, direction of writing and direction of the next line, both with their lengths */
    float x, y, right[2], down[2], width, height;
} frame;

static frame frame_of(const float *q, bool along_the_right_side)
{
    const float *o = q + (along_the_right_side ? 2 : 0), *r = q + (along_the_right_side ? 4 : 2),
                *d = q + (along_the_right_side ? 0 : 6);
    frame f = {o[0], o[1], {r[0] - o[0], r[1] - o[1]}, {d[0] - o[0], d[1] - o[1]}, 0, 0};
    f.width = hypotf(f.right[0], f.right[1]);
    f.height = hypotf(f.down[0], f.down[1]);
    return f;
}

static bool has_wide_character(const char *s, size_t n)
{
    while (n > 0) {
        uint32_t cp = weft_utf8_next(&s, &n);
        if (cp >= 0x2e80 && cp <= 0xffdc && cp != 0xfffd)
            return true;
    }
    return false;
}

/* Text size that fills the frame, at most `limit`: a detector's quad is about as high as the font size of its letters. Advances
 * are rounded to pixels at each size, so that the width has to be tried. */
static float fitting_size(weft_canvas *c, const weft_panel_item *i, float width, float height, float limit)
{
    float w, h, size = fminf(height * 0.92f, limit);
    for (int k = 0; k < 4; k++) {
        weft_draw_text_size(c, i->text, i->n_bytes, size, &w, &h);
        if (w <= width || size <= 4)
            break;
        size *= fminf(width / w, 0.985f);
    }
    return size;
}

static float sample(const weft_picture *p, float x, float y)
{
    int32_t ix = (int32_t)floorf(x), iy = (int32_t)floorf(y);
    float fx = x - (float)ix, fy = y - (float)iy, sum = 0;
    for (int k = 0; k < 4; k++) {
        int32_t u = ix + (k & 1), v = iy + (k >> 1);
        float w = (k & 1 ? fx : 1 - fx) * (k >> 1 ? fy : 1 - fy);
        if (u >= 0 && v >= 0 && u < p->width && v < p->height)
            sum += w * (float)p->data[(size_t)v * p->stride_bytes + 3 * (size_t)u];
    }
    return sum / 255;
}

/* Copies the written strip into the frame's place: each pixel of the place is looked up in the strip. */
static void paste(weft_picture *to, const weft_picture *strip, const frame *f)
{
    float det = f->right[0] * f->down[1] - f->right[1] * f->down[0];
    float low_x = f->x + fminf(0, f->right[0]) + fminf(0, f->down[0]),
          high_x = f->x + fmaxf(0, f->right[0]) + fmaxf(0, f->down[0]);
    float low_y = f->y + fminf(0, f->right[1]) + fminf(0, f->down[1]),
          high_y = f->y + fmaxf(0, f->right[1]) + fmaxf(0, f->down[1]);
    if (fabsf(det) < 1)
        return;
    for (int32_t y = (int32_t)fmaxf(0, low_y); y < to->height && (float)y < high_y + 1; y++)
        for (int32_t x = (int32_t)fmaxf(0, low_x); x < to->width && (float)x < high_x + 1; x++) {
            float px = (float)x + 0.5f - f->x, py = (float)y + 0.5f - f->y;
            float u = (px * f->down[1] - py * f->down[0]) / det, v = (f->right[0] * py - f->right[1] * px) / det;
            float a = sample(strip, u * f->width - 0.5f, v * f->height - 0.5f);
            uint8_t *d = to->data + (size_t)y * to->stride_bytes + 3 * (size_t)x;
            const uint8_t front[3] = {ink.red, ink.green, ink.blue};
            for (int c = 0; c < 3 && a > 0; c++)
                d[c] = (uint8_t)lroundf((float)front[c] * a + (float)d[c] * (1 - a));
        }
}

static weft_status write_turned(weft_canvas *c, const weft_panel_item *i, const frame *f, float limit, weft_error *err)
{
    weft_picture strip = {0}, *page = c->picture;
    static const weft_color white = {255, 255, 255, 255};
    weft_status s = weft_picture_create(&strip, (int32_t)ceilf(f->width), (int32_t)ceilf(f->height), 3, err);
    if (s != WEFT_OK)
        return s;
    memset(strip.data, 0, strip.stride_bytes * (size_t)strip.height);
    float w, h, size = fitting_size(c, i, f->width, f->height, limit);
    weft_draw_text_size(c, i->text, i->n_bytes, size, &w, &h);
    c->picture = &strip;
    weft_draw_text(c, fminf(f->height * 0.12f, (f->width - w) / 2), (f->height - h) / 2, i->text, i->n_bytes, size, 0, white);
    c->picture = page;
    paste(page, &strip, f);
    weft_picture_destroy(&strip);
    return WEFT_OK;
}

/* Chinese columns: characters upright, one below the other. */
static void write_column(weft_canvas *c, const weft_panel_item *i, const frame *f)
{
    size_t n_characters = 0;
    const char *s = i->text;
    for (size_t n = i->n_bytes; n > 0; n_characters++)
        weft_utf8_next(&s, &n);
    float step = f->height / (float)(n_characters ? n_characters : 1), size = fminf(step * 0.92f, f->width * 0.8f);
    s = i->text;
    for (size_t n = i->n_bytes, k = 0; n > 0; k++) {
        const char *at = s;
        float w, h, middle = ((float)k + 0.5f) / (float)n_characters;
        weft_utf8_next(&s, &n);
        weft_draw_text_size(c, at, (size_t)(s - at), size, &w, &h);
        float x = f->x + f->right[0] / 2 + f->down[0] * middle, y = f->y + f->right[1] / 2 + f->down[1] * middle;
        weft_draw_text(c, x - w / 2, y - h / 2, at, (size_t)(s - at), size, 0, ink);
    }
}

/* A quad that covers more than the page is no line of text on it (and its strip would take more memory than the picture). */
static bool frame_ok(const weft_canvas *c, const weft_panel_item *i, const frame *f)
{
    float page_area = (float)c->picture->width * (float)c->picture->height;
    for (int k = 0; k < 8; k++)
        if (!isfinite(i->quad[k]) || fabsf(i->quad[k]) > MAX_SIDE_PX)
            return false;
    return f->width >= 2 && f->height >= 2 && f->width * f->height <= 2 * page_area + 1000;
}

static weft_status write_item(weft_canvas *c, const weft_panel_item *i, float limit, weft_error *err)
{
    frame f = frame_of(i->quad, false);
    if (!frame_ok(c, i, &f))
        return WEFT_OK;
    bool tall = f.height >= 1.5f * f.width;
    if (tall && has_wide_character(i->text, i->n_bytes)) {
        write_column(c, i, &f);
        return WEFT_OK;
    }
    if (tall)
        f = frame_of(i->quad, true);
    if (tall || fabsf(f.right[1]) > 0.03f * f.width || f.right[0] < 0)
        return write_turned(c, i, &f, limit, err);
    float w, h, size = fitting_size(c, i, f.width, f.height, limit);
    weft_draw_text_size(c, i->text, i->n_bytes, size, &w, &h);
    /* sizes differ a little from line to line; text starts where its quad starts and stands in its middle */
    weft_draw_text(c, f.x + fminf(f.height * 0.12f, (f.width - w) / 2), f.y + f.right[1] / 2 + (f.height - h) / 2, i->text,
                   i->n_bytes, size, 0, ink);
    return WEFT_OK;
}

/* The size that neighbours of the same height have: lines of one paragraph look alike although their quads differ by a pixel.
 * What could be much larger (a heading whose quad is as high because the others are tilted) is not held back. */
static float common_size(weft_canvas *c, const weft_panel_item *items, size_t n_items, size_t i)
{
    frame mine = frame_of(items[i].quad, false);
    float sum = 0;
    int n = 0;
    for (size_t k = 0; k < n_items && n < 40; k++) {
        frame f = frame_of(items[k].quad, false);
        if (!frame_ok(c, &items[k], &f) || f.height > f.width || fabsf(f.height - mine.height) > 0.22f * mine.height)
            continue;
        sum += fitting_size(c, &items[k], f.width, f.height, MAX_SIDE_PX);
        n++;
    }
    float own = frame_ok(c, &items[i], &mine) ? fitting_size(c, &items[i], mine.width, mine.height, MAX_SIDE_PX) : 0;
    return n && own < 1.2f * sum / (float)n ? sum / (float)n : MAX_SIDE_PX;
}

static weft_status write_items(weft_canvas *c, const weft_panel_item *items, size_t n_items, weft_error *err)
{
    weft_status s = WEFT_OK;
    for (size_t i = 0; i < n_items; i++) {
        weft_color tint = items[i].color, cover = paper;
        tint.alpha = 38;
        cover.alpha = 248;
        weft_draw_polygon(c, items[i].quad, 4, cover);
        weft_draw_polygon(c, items[i].quad, 4, tint);
    }
    for (size_t i = 0; s == WEFT_OK && i < n_items; i++)
        s = write_item(c, &items[i], common_size(c, items, n_items, i), err);
    return s;
}

/* A breath of the picture in grey shows where on it the text stands, and what was not read. */
static void ghost(const weft_picture *from, weft_picture *page)
{
    const int share = 30; /* of 255 */
    for (int32_t y = 0; y < page->height; y++) {
        const uint8_t *s = from->data + (size_t)y * from->stride_bytes;
        uint8_t *d = page->data + (size_t)y * page->stride_bytes;
        for (int32_t x = 0; x < page->width; x++, s += 3, d += 3) {
            int grey = (299 * s[0] + 587 * s[1] + 114 * s[2]) / 1000;
            for (int c = 0; c < 3; c++)
                d[c] = (uint8_t)((grey * share + d[c] * (255 - share)) / 255);
        }
    }
}

weft_status weft_draw_paper(weft_picture *p, const weft_panel_item *items, size_t n_items, const weft_draw_options *options,
                            weft_error *err)
{
    weft_picture wide = {0}, page;
    weft_canvas c = {0};
    const uint8_t color[4] = {paper.red, paper.green, paper.blue, 255};
    if (p->width > MAX_SIDE_PX / 2)
        return WEFT_OK; /* no room for a sheet: the outlines must do */
    weft_status s = weft_picture_pad(p, 0, 0, p->width, 0, color, &wide, err);
    if (s != WEFT_OK)
        return s;
    page = weft_picture_view(&wide, p->width, 0, p->width, p->height);
    ghost(p, &page);
    s = weft_canvas_init(&c, &page, options, err);
    if (s == WEFT_OK)
        s = write_items(&c, items, n_items, err);
    const weft_color seam = {0, 0, 0, 40};
    if (s == WEFT_OK)
        weft_draw_fill(&c, -1, -2, 1.5f, (float)page.height + 2, 0, seam);
    weft_canvas_fini(&c);
    if (s == WEFT_OK)
        swap_pictures(p, &wide);
    weft_picture_destroy(&wide);
    return s;
}

/* ---- list ---------------------------------------------------------------------------------------------------------------- */
typedef struct list_layout {
    float text_px, row_px, margin_px, label_px, score_px, width;
} list_layout;

static void list_row(weft_canvas *c, const weft_panel_item *i, const list_layout *l, float top, bool first)
{
    char percent[16];
    weft_color text = first ? (weft_color){255, 255, 255, 255} : (weft_color){190, 196, 206, 255}, track = {255, 255, 255, 22};
    float w, h, left = l->margin_px, right = l->width - l->margin_px, bar = l->text_px * 0.5f;
    weft_draw_text_size(c, i->text, i->n_bytes, l->text_px, &w, &h);
    float y = top + (l->row_px - h) / 2, x1 = left + l->label_px + l->margin_px, x2 = right - l->score_px - l->margin_px;
    weft_draw_text(c, left, y, i->text, i->n_bytes, l->text_px, i->score < 0 ? right - left : l->label_px, text);
    if (!(i->score >= 0))
        return;
    float middle = top + l->row_px / 2, part = fminf(i->score, 1);
    weft_draw_fill(c, x1, middle - bar / 2, x2, middle + bar / 2, bar / 2, track);
    weft_draw_fill(c, x1, middle - bar / 2, x1 + fmaxf(bar, (x2 - x1) * part), middle + bar / 2, bar / 2, i->color);
    int n = snprintf(percent, sizeof(percent), "%.1f%%", 100 * (double)part);
    weft_draw_text_size(c, percent, (size_t)n, l->text_px, &w, &h);
    weft_draw_text(c, right - w, y, percent, (size_t)n, l->text_px, 0, text);
}

static weft_status add_panel(const weft_picture *p, int32_t width, int32_t panel_height, weft_picture *out, weft_error *err)
{
    const uint8_t color[4] = {20, 22, 27, 255};
    int32_t left = (width - p->width) / 2;
    return weft_picture_pad(p, left, 0, width - p->width - left, panel_height, color, out, err);
}

static list_layout list_layout_of(weft_canvas *c, const weft_panel_item *items, size_t n, int32_t width)
{
    list_layout l = {.text_px = fminf(fmaxf(15, (float)width / 36), 64), .width = (float)width};
    float w, h;
    l.row_px = ceilf(l.text_px * 1.75f);
    l.margin_px = ceilf(l.text_px * 0.9f);
    weft_draw_text_size(c, "100.0%", 6, l.text_px, &l.score_px, &h);
    for (size_t i = 0; i < n; i++) {
        weft_draw_text_size(c, items[i].text, items[i].n_bytes, l.text_px, &w, &h);
        l.label_px = fmaxf(l.label_px, w);
    }
    l.label_px = fminf(ceilf(l.label_px + 1), l.width * 0.5f);
    return l;
}

weft_status weft_draw_list(weft_picture *p, const weft_panel_item *items, size_t n_items, const weft_draw_options *options,
                           weft_error *err)
{
    weft_picture tall = {0};
    weft_canvas c = {0};
    size_t n = n_items < MAX_LIST_ITEMS ? n_items : MAX_LIST_ITEMS;
    int32_t width = p->width > MIN_LIST_WIDTH_PX ? p->width : MIN_LIST_WIDTH_PX;
    weft_status s = weft_canvas_init(&c, p, options, err);
    if (s != WEFT_OK)
        goto done;
    list_layout l = list_layout_of(&c, items, n, width);
    s = add_panel(p, width, (int32_t)(l.row_px * (float)n + l.margin_px), &tall, err);
    if (s != WEFT_OK)
        goto done;
    c.picture = &tall;
    for (size_t i = 0; i < n; i++)
        list_row(&c, &items[i], &l, (float)p->height + l.margin_px / 2 + l.row_px * (float)i, i == 0);
    swap_pictures(p, &tall);
done:
    weft_canvas_fini(&c);
    weft_picture_destroy(&tall);
    return s;
}
