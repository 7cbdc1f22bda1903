/* PNG -> pixels, through libpng. Source of the chunk layout: PNG specification, third edition (W3C), 5.3. */
#include <png.h>

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "image/codec.h"
#include "image/exif.h"

enum { PNG_SIGNATURE_BYTES = 8, CHUNK_OVERHEAD = 12, MAX_CHUNKS = 100000, MAX_CHUNK_MEMORY = 1 << 20 };

/* ---- header -------------------------------------------------------------------------------------------------------------- */
static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static weft_status read_ihdr(const uint8_t *b, size_t n, weft_picture_info *out, weft_error *err)
{
    if (n < PNG_SIGNATURE_BYTES + CHUNK_OVERHEAD + 13 || be32(b + 8) != 13 || memcmp(b + 12, "IHDR", 4) != 0)
        return weft_fail(err, WEFT_E_UNPROCESSABLE, "the PNG has no complete header; the file is damaged or incomplete");
    uint32_t w = be32(b + 16), h = be32(b + 20);
    int type = b[25];
    static const signed char channels_of[7] = {1, -1, 3, 3, 2, -1, 4};
    if (w > INT32_MAX || h > INT32_MAX || type > 6 || channels_of[type] < 0)
        return weft_fail(err, WEFT_E_UNPROCESSABLE, "the PNG's header is damaged (%ux%u pixels, colour type %d)", w, h, type);
    out->coded_width = (int32_t)w;
    out->coded_height = (int32_t)h;
    out->bit_depth = b[24];
    out->channels = channels_of[type];
    out->has_alpha = type == 4 || type == 6;
    out->progressive = b[28] != 0;
    return WEFT_OK;
}

weft_status weft_png_probe(const uint8_t *b, size_t n, weft_picture_info *out, weft_error *err)
{
    weft_status s = read_ihdr(b, n, out, err);
    if (s != WEFT_OK)
        return s;
    size_t at = PNG_SIGNATURE_BYTES;
    for (int i = 0; i < MAX_CHUNKS && n - at >= CHUNK_OVERHEAD; i++) {
        size_t length = be32(b + at);
        const uint8_t *type = b + at + 4;
        if (length > n - at - CHUNK_OVERHEAD)
            break;
        if (memcmp(type, "eXIf", 4) == 0)
            out->orientation = weft_exif_orientation(b + at + 8, length);
        else if (memcmp(type, "tRNS", 4) == 0)
            out->has_alpha = true;
        at += CHUNK_OVERHEAD + length;
    }
    return WEFT_OK;
}

/* ---- pixels -------------------------------------------------------------------------------------------------------------- */
typedef struct png_reader {
    const uint8_t *bytes;
    size_t n_bytes, at;
    const weft_picture_info *info;
    weft_picture *pixels; /* where rows go: the caller's picture or `colour` */
    weft_picture colour;  /* RGB, when grey is wanted from a colour picture */
    bool hit_end, rows_done;
    weft_status status;
    weft_error *err;
} png_reader;

static void on_error(png_structp png, png_const_charp text)
{
    png_reader *r = png_get_error_ptr(png);
    if (r->status == WEFT_OK) {
        if (r->hit_end)
            r->status = weft_fail(r->err, WEFT_E_UNPROCESSABLE,
                                  "the PNG is truncated: it ends before its last pixels; send the whole file");
        else
            r->status = weft_fail(r->err, WEFT_E_UNPROCESSABLE, "the PNG cannot be decoded: %s", text);
    }
    longjmp(png_jmpbuf(png), 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static png_voidp on_malloc(png_structp png, png_alloc_size_t n)
{
    void *p = malloc(n);
    png_reader *r = png_get_mem_ptr(png);
    if (!p && r->status == WEFT_OK)
        r->status = weft_fail(r->err, WEFT_E_NO_MEMORY, "out of memory while decoding a PNG");
    return p;
}

static void on_free(png_structp png, png_voidp p)
{
    (void)png;
    free(p);
}

static void on_read(png_structp png, png_bytep to, size_t n)
{
    png_reader *r = png_get_io_ptr(png);
    if (n > r->n_bytes - r->at) {
        r->hit_end = true;
        png_error(png, "end of file");
    }
    memcpy(to, r->bytes + r->at, n);
    r->at += n;
}

static void set_limits(png_structp png)
{
    png_set_user_limits(png, 65536, 65536);
    png_set_chunk_cache_max(png, 16);
    png_set_chunk_malloc_max(png, MAX_CHUNK_MEMORY);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, 0);
    /* Texts, profiles and dates can be large when unpacked and are not needed. */
    static const png_byte unwanted[] =
        "zTXt\0iTXt\0tEXt\0iCCP\0eXIf\0sPLT\0hIST\0tIME\0pCAL\0sCAL\0oFFs\0pHYs\0sRGB\0gAMA\0cHRM\0bKGD\0sBIT";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, unwanted, (int)(sizeof(unwanted) / 5));
}

/* To 8 bits and `channels` of 1, 3 or 4. */
static void set_transforms(png_structp png, png_infop info, int channels)
{
    int type = png_get_color_type(png, info);
    png_set_expand(png);
    png_set_strip_16(png);
    if (channels == 4)
        png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
    else
        png_set_strip_alpha(png);
    if (channels != 1 && (type == PNG_COLOR_TYPE_GRAY || type == PNG_COLOR_TYPE_GRAY_ALPHA))
        png_set_gray_to_rgb(png);
}

static weft_status read_header(png_reader *r, png_structp png, png_infop info, int channels, weft_picture *out)
{
    png_set_read_fn(png, r, on_read);
    set_limits(png);
    png_read_info(png, info);
    if ((int32_t)png_get_image_width(png, info) != r->info->coded_width ||
        (int32_t)png_get_image_height(png, info) != r->info->coded_height)
        return weft_fail(r->err, WEFT_E_UNPROCESSABLE, "the PNG's headers contradict each other");
    bool grey = !(png_get_color_type(png, info) & PNG_COLOR_MASK_COLOR);
    bool through_colour = channels == 1 && !grey;
    r->pixels = through_colour ? &r->colour : out;
    set_transforms(png, info, through_colour ? 3 : channels);
    return weft_picture_create(r->pixels, r->info->coded_width, r->info->coded_height, through_colour ? 3 : channels, r->err);
}

static void read_rows(png_reader *r, png_structp png, png_infop info)
{
    int n_passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    if (png_get_rowbytes(png, info) != r->pixels->stride_bytes)
        png_error(png, "unexpected row size");
    for (int pass = 0; pass < n_passes; pass++)
        for (int32_t y = 0; y < r->pixels->height; y++)
            png_read_row(png, r->pixels->data + (size_t)y * r->pixels->stride_bytes, NULL);
    r->rows_done = true;
    png_read_end(png, NULL);
}

/* The frame that setjmp returns into changes no object of its own. */
static void run(png_reader *r, png_structp png, png_infop info, int channels, weft_picture *out)
{
    if (setjmp(png_jmpbuf(png)) != 0)
        return;
    r->status = read_header(r, png, info, channels, out);
    if (r->status == WEFT_OK)
        read_rows(r, png, info);
}

weft_status weft_png_decode(const uint8_t *bytes, size_t n_bytes, const weft_picture_info *info, int channels, weft_picture *out,
                            weft_error *err)
{
    png_reader r = {.bytes = bytes, .n_bytes = n_bytes, .info = info, .err = err};
    png_structp png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &r, on_error, on_warning, &r, on_malloc, on_free);
    png_infop header = png ? png_create_info_struct(png) : NULL;
    if (!header) {
        png_destroy_read_struct(&png, NULL, NULL);
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory while decoding a PNG");
    }
    run(&r, png, header, channels, out);
    png_destroy_read_struct(&png, &header, NULL);
    if (r.status == WEFT_E_UNPROCESSABLE && r.rows_done && r.hit_end) { /* only bytes after the pixels are missing */
        r.status = WEFT_OK;
        if (err)
            weft_error_clear(err);
    }
    if (r.status == WEFT_OK && r.pixels == &r.colour)
        r.status = weft_picture_convert(&r.colour, channels, out, err);
    weft_picture_destroy(&r.colour);
    return r.status;
}
