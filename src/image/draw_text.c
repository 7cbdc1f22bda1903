#include "image/draw.h"

#include "base/text.h"

#include <math.h>

#define ELLIPSIS 0x2026u

static float advance_of(weft_canvas *c, uint32_t code_point, float text_px)
{
    weft_glyph g;
    return weft_font_glyph(c->font, code_point, text_px, &g, NULL) == WEFT_OK ? g.advance_px : 0;
}

static uint32_t next_printable(const char **s, size_t *n)
{
    uint32_t cp = weft_utf8_next(s, n);
    return cp < 32 || cp == 127 || cp == 0x2028 || cp == 0x2029 ? ' ' : cp;
}

void weft_draw_text_size(weft_canvas *c, const char *text, size_t n_bytes, float text_px, float *width, float *height)
{
    float ascent, descent, w = 0;
    for (size_t n = n_bytes; n > 0;)
        w += advance_of(c, next_printable(&text, &n), text_px);
    weft_font_line(c->font, text_px, &ascent, &descent);
    *width = w;
    *height = ascent + descent;
}

static void blend_glyph(weft_picture *p, const weft_glyph *g, int32_t x0, int32_t y0, weft_color color)
{
    for (int32_t y = 0; y < g->height; y++) {
        if (y0 + y < 0 || y0 + y >= p->height)
            continue;
        uint8_t *row = p->data + (size_t)(y0 + y) * p->stride_bytes;
        for (int32_t x = 0; x < g->width; x++) {
            int a = g->coverage[(size_t)y * (size_t)g->stride_bytes + (size_t)x] * color.alpha / 255;
            if (a == 0 || x0 + x < 0 || x0 + x >= p->width)
                continue;
            uint8_t *d = row + 3 * (size_t)(x0 + x);
            d[0] = (uint8_t)((color.red * a + d[0] * (255 - a) + 127) / 255);
            d[1] = (uint8_t)((color.green * a + d[1] * (255 - a) + 127) / 255);
            d[2] = (uint8_t)((color.blue * a + d[2] * (255 - a) + 127) / 255);
        }
    }
}

static float put_glyph(weft_canvas *c, uint32_t cp, float text_px, float pen, int32_t base_line, weft_color color)
{
    weft_glyph g;
    if (weft_font_glyph(c->font, cp, text_px, &g, NULL) != WEFT_OK)
        return pen;
    if (g.coverage)
        blend_glyph(c->picture, &g, (int32_t)lroundf(pen) + g.left, base_line - g.top, color);
    return pen + g.advance_px;
}

void weft_draw_text(weft_canvas *c, float x, float y, const char *text, size_t n_bytes, float text_px, float max_width,
                    weft_color color)
{
    float ascent, descent, width, height;
    if (!isfinite(x) || !isfinite(y) || fabsf(x) > 1e6f || fabsf(y) > 1e6f || !isfinite(text_px))
        return;
    weft_font_line(c->font, text_px, &ascent, &descent);
    weft_draw_text_size(c, text, n_bytes, text_px, &width, &height);
    uint32_t dots = weft_font_has(c->font, ELLIPSIS) ? ELLIPSIS : '~';
    float limit = max_width > 0 && width > max_width ? max_width - advance_of(c, dots, text_px) : INFINITY;
    int32_t base_line = (int32_t)lroundf(y + ascent);
    float pen = x;
    for (size_t n = n_bytes; n > 0 && pen < (float)c->picture->width;) {
        uint32_t cp = next_printable(&text, &n);
        if (pen - x + advance_of(c, cp, text_px) > limit) {
            put_glyph(c, dots, text_px, pen, base_line, color);
            return;
        }
        pen = put_glyph(c, cp, text_px, pen, base_line, color);
    }
}

/* ---- tags ---------------------------------------------------------------------------------------------------------------- */
void weft_draw_tag_size(weft_canvas *c, const char *text, size_t n_bytes, float *width, float *height)
{
    weft_draw_text_size(c, text, n_bytes, c->text_px, width, height);
    *width = ceilf(*width + c->text_px * 0.7f);
    *height = ceilf(*height + c->text_px * 0.12f);
}

void weft_draw_tag(weft_canvas *c, float x, float y, const char *text, size_t n_bytes, weft_color color)
{
    float w, h;
    weft_draw_tag_size(c, text, n_bytes, &w, &h);
    weft_draw_fill(c, x, y, x + w, y + h, c->text_px * 0.22f, color);
    weft_draw_text(c, x + c->text_px * 0.35f, y + c->text_px * 0.06f, text, n_bytes, c->text_px, (float)c->picture->width,
                   weft_ink_on(color));
}

static bool overlaps(const float a[4], const float (*taken)[4], size_t n_taken)
{
    for (size_t i = 0; i < n_taken; i++)
        if (a[0] < taken[i][2] && taken[i][0] < a[2] && a[1] < taken[i][3] && taken[i][1] < a[3])
            return true;
    return false;
}

static float between(float v, float low, float high)
{
    return v > high ? (high > low ? high : low) : v > low ? v : low;
}

void weft_draw_label(weft_canvas *c, const float box[4], const char *text, size_t n_bytes, weft_color color,
                     const float (*taken)[4], size_t n_taken, float placed[4])
{
    float w, h, out = c->line_px / 2, pw = (float)c->picture->width, ph = (float)c->picture->height;
    weft_draw_tag_size(c, text, n_bytes, &w, &h);
    const float tries[8][2] = {{box[0] - out, box[1] - out - h},     {box[0] + out, box[1] + out},
                               {box[0] - out, box[3] + out},         {box[0] + out, box[3] - out - h},
                               {box[2] + out - w, box[1] - out - h}, {box[2] - out - w, box[1] + out},
                               {box[2] + out - w, box[3] + out},     {box[2] - out - w, box[3] - out - h}};
    float best[4] = {0};
    bool found = false;
    for (int i = 0; i < 8 && !found; i++) {
        float x = between(tries[i][0], 0, pw - w), y = tries[i][1];
        const float here[4] = {x, y, x + w, y + h};
        found = y >= 0 && y + h <= ph && !overlaps(here, taken, n_taken);
        for (int k = 0; k < 4 && (found || i == 0); k++)
            best[k] = here[k];
    }
    if (!found) { /* no free place: the first one, pushed into the picture */
        best[1] = between(best[1], 0, ph - h);
        best[3] = best[1] + h;
    }
    weft_draw_tag(c, best[0], best[1], text, n_bytes, color);
    for (int k = 0; k < 4 && placed; k++)
        placed[k] = best[k];
}
