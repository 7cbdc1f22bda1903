/* Glyphs from a chain of faces (the first that has the code point wins), kept in a small direct-mapped cache. */
#include "image/font.h"

#include "image/font_builtin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ft2build.h>
#include FT_FREETYPE_H

enum { MAX_FACES = 3, CACHE_SLOTS = 512, MIN_SIZE_PX = 4, MAX_SIZE_PX = 512 };

typedef struct cached {
    uint32_t code_point;
    int32_t size_64; /* size in 1/64 pixel; 0 = empty slot */
    weft_glyph glyph;
    uint8_t *coverage; /* owned */
} cached;

struct weft_font {
    FT_Library library;
    FT_Face faces[MAX_FACES];
    int n_faces;
    cached cache[CACHE_SLOTS];
};

/* Looked through in this order; the first that loads is the main face, the next two fill its gaps. One of the three can write
 * Chinese when any file here can. Collections: the face with the
 * wanted language, by its usual place in the file (opening every face of a collection to look for it would take longer than
 * drawing). */
static const struct {
    const char *path;
    FT_Long index;
} usual_fonts[] = {
    {"/usr/share/fonts/opentype/noto/NotoSansCJK-Medium.ttc", 2}, /* 2 = Simplified Chinese */
    {"/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc", 2},
    {"/usr/share/fonts/noto-cjk/NotoSansCJK-Regular.ttc", 2},
    {"/usr/share/fonts/google-noto-cjk/NotoSansCJK-Regular.ttc", 2},
    {"/usr/share/fonts/google-noto-sans-cjk-fonts/NotoSansCJK-Regular.ttc", 2},
    {"/usr/share/fonts/truetype/noto/NotoSans-Regular.ttf", 0},
    {"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", 0},
    {"/usr/share/fonts/dejavu/DejaVuSans.ttf", 0},
    {"/usr/share/fonts/TTF/DejaVuSans.ttf", 0},
    {"/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc", 0},
    {"/usr/share/fonts/truetype/wqy/wqy-microhei.ttc", 0},
    {"/usr/share/fonts/wqy-zenhei/wqy-zenhei.ttc", 0},
    {"/usr/share/fonts/wqy-microhei/wqy-microhei.ttc", 0},
    {"/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf", 0},
    {"/usr/share/fonts/truetype/arphic/uming.ttc", 0},
};

/* ---- open ---------------------------------------------------------------------------------------------------------------- */
static bool writes_chinese(FT_Face face)
{
    return FT_Get_Char_Index(face, 0x4e2d) != 0;
}

static void open_usual(weft_font *f)
{
    const char *named = getenv("WEFT_FONT");
    if (named && named[0] && FT_New_Face(f->library, named, 0, &f->faces[0]) == 0)
        f->n_faces = FT_IS_SCALABLE(f->faces[0]) ? 1 : (FT_Done_Face(f->faces[0]), 0);
    bool chinese = f->n_faces && writes_chinese(f->faces[0]);
    for (size_t i = 0; i < sizeof(usual_fonts) / sizeof(usual_fonts[0]) && f->n_faces < MAX_FACES; i++) {
        FT_Face *face = &f->faces[f->n_faces];
        if (FT_New_Face(f->library, usual_fonts[i].path, usual_fonts[i].index, face) != 0 &&
            FT_New_Face(f->library, usual_fonts[i].path, 0, face) != 0)
            continue;
        chinese |= writes_chinese(*face);
        if (!chinese && f->n_faces == MAX_FACES - 1) /* the last place is for one that can */
            FT_Done_Face(*face);
        else
            f->n_faces++;
    }
}

static weft_status open_given(weft_font *f, const char *path, weft_error *err)
{
    FT_Error e = FT_New_Face(f->library, path, 0, &f->faces[0]);
    if (e == FT_Err_Cannot_Open_Resource)
        return weft_fail(err, WEFT_E_NOT_FOUND, "the font file cannot be opened; give the path of a TrueType or OpenType font");
    if (e == FT_Err_Out_Of_Memory)
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory while opening a font");
    if (e != 0 || !FT_IS_SCALABLE(f->faces[0])) {
        f->n_faces = e == 0;
        return weft_fail(err, WEFT_E_UNPROCESSABLE, "the font file is damaged or not scalable; give a TrueType or OpenType font");
    }
    f->n_faces = 1;
    return WEFT_OK;
}

weft_status weft_font_create(weft_font **out, const char *path, weft_error *err)
{
    weft_status s = WEFT_OK;
    weft_font *f = calloc(1, sizeof(*f));
    *out = NULL;
    if (!f || FT_Init_FreeType(&f->library) != 0) {
        free(f);
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory while opening a font");
    }
    if (path && path[0])
        s = open_given(f, path, err);
    else
        open_usual(f);
    if (s != WEFT_OK) {
        weft_font_destroy(&f);
        return s;
    }
    *out = f;
    return WEFT_OK;
}

void weft_font_destroy(weft_font **f)
{
    if (!f || !*f)
        return;
    for (int i = 0; i < CACHE_SLOTS; i++)
        free((*f)->cache[i].coverage);
    for (int i = 0; i < (*f)->n_faces; i++)
        FT_Done_Face((*f)->faces[i]);
    FT_Done_FreeType((*f)->library);
    free(*f);
    *f = NULL;
}

const char *weft_font_name(const weft_font *f)
{
    const char *name = f->n_faces ? f->faces[0]->family_name : NULL;
    return name ? name : "built-in";
}

static int face_with(weft_font *f, uint32_t code_point)
{
    for (int i = 0; i < f->n_faces; i++)
        if (FT_Get_Char_Index(f->faces[i], code_point) != 0)
            return i;
    return -1;
}

bool weft_font_has(weft_font *f, uint32_t code_point)
{
    return f->n_faces ? face_with(f, code_point) >= 0 : code_point >= 32 && code_point < 127;
}

/* ---- the built-in font: 10 grid units are one em, each lit cell is drawn as a square with its covered area -------------- */
static float cells_covered(const uint8_t rows[WEFT_FONT_BUILTIN_ROWS], float x1, float y1, float x2, float y2)
{
    float sum = 0;
    for (int r = 0; r < WEFT_FONT_BUILTIN_ROWS; r++) {
        float h = fminf(y2, (float)r + 1) - fmaxf(y1, (float)r);
        for (int c = 0; h > 0 && c < WEFT_FONT_BUILTIN_COLUMNS; c++) {
            float w = fminf(x2, (float)c + 1) - fmaxf(x1, (float)c);
            if (w > 0 && (rows[r] >> (WEFT_FONT_BUILTIN_COLUMNS - 1 - c) & 1))
                sum += w * h;
        }
    }
    return sum / ((x2 - x1) * (y2 - y1));
}

static bool render_builtin(uint32_t code_point, float size_px, weft_glyph *g, uint8_t **coverage)
{
    static const uint8_t hollow[WEFT_FONT_BUILTIN_ROWS] = {0x1f, 0x11, 0x11, 0x11, 0x11, 0x11, 0x1f};
    const uint8_t *rows = code_point >= 32 && code_point < 127 ? weft_font_builtin[code_point - 32] : hollow;
    float unit = size_px / 10;
    *g = (weft_glyph){.advance_px = 6 * unit};
    if (code_point == ' ')
        return true;
    g->width = g->stride_bytes = (int32_t)ceilf(WEFT_FONT_BUILTIN_COLUMNS * unit);
    g->height = (int32_t)ceilf(WEFT_FONT_BUILTIN_ROWS * unit);
    g->top = (int32_t)lroundf(7 * unit);
    *coverage = malloc((size_t)g->width * (size_t)g->height);
    for (int32_t i = 0; *coverage && i < g->width * g->height; i++) {
        float x = (float)(i % g->width) / unit, y = (float)(i / g->width) / unit;
        (*coverage)[i] = (uint8_t)lroundf(255 * cells_covered(rows, x, y, x + 1 / unit, y + 1 / unit));
    }
    g->coverage = *coverage;
    return *coverage != NULL;
}

/* ---- FreeType ------------------------------------------------------------------------------------------------------------ */
static bool copy_bitmap(const FT_GlyphSlot slot, weft_glyph *g, uint8_t **coverage)
{
    const FT_Bitmap *b = &slot->bitmap;
    *g = (weft_glyph){.left = slot->bitmap_left, .top = slot->bitmap_top, .advance_px = (float)slot->advance.x / 64.f};
    if (b->width == 0 || b->rows == 0 || b->pixel_mode != FT_PIXEL_MODE_GRAY || b->width > 4096 || b->rows > 4096)
        return true;
    g->width = g->stride_bytes = (int32_t)b->width;
    g->height = (int32_t)b->rows;
    *coverage = malloc((size_t)b->width * b->rows);
    for (unsigned y = 0; *coverage && y < b->rows; y++)
        memcpy(*coverage + (size_t)y * b->width, b->buffer + (ptrdiff_t)y * b->pitch, b->width);
    g->coverage = *coverage;
    return *coverage != NULL;
}

static bool render_face(FT_Face face, uint32_t code_point, int32_t size_64, weft_glyph *g, uint8_t **coverage)
{
    if (FT_Set_Char_Size(face, 0, size_64, 72, 72) != 0 ||
        FT_Load_Char(face, code_point, FT_LOAD_RENDER | FT_LOAD_TARGET_LIGHT | FT_LOAD_NO_BITMAP) != 0)
        return render_builtin(0xfffd, (float)size_64 / 64.f, g, coverage);
    return copy_bitmap(face->glyph, g, coverage);
}

static float limit_size(float size_px)
{
    return size_px > MIN_SIZE_PX ? (size_px < MAX_SIZE_PX ? size_px : MAX_SIZE_PX) : MIN_SIZE_PX;
}

weft_status weft_font_glyph(weft_font *f, uint32_t code_point, float size_px, weft_glyph *out, weft_error *err)
{
    int32_t size_64 = (int32_t)lroundf(limit_size(size_px) * 64);
    cached *c = &f->cache[(code_point * 2654435761u ^ (uint32_t)size_64 * 40503u) >> 7 & (CACHE_SLOTS - 1)];
    if (c->size_64 != size_64 || c->code_point != code_point) {
        free(c->coverage);
        *c = (cached){0};
        int face = face_with(f, code_point);
        bool ok = face >= 0 ? render_face(f->faces[face], code_point, size_64, &c->glyph, &c->coverage)
                            : render_builtin(code_point, (float)size_64 / 64.f, &c->glyph, &c->coverage);
        if (!ok) {
            *out = (weft_glyph){0};
            return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory while drawing text");
        }
        c->size_64 = size_64;
        c->code_point = code_point;
    }
    *out = c->glyph;
    return WEFT_OK;
}

void weft_font_line(weft_font *f, float size_px, float *ascent_px, float *descent_px)
{
    float size = limit_size(size_px);
    /* Collections of CJK faces ask for very tall lines (1.45 em); one and a quarter holds every script drawn here. */
    *ascent_px = size * (f->n_faces ? 0.93f : 0.8f);
    *descent_px = size * (f->n_faces ? 0.27f : 0.2f);
}
