#include "image/encode.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#include <jerror.h>
#include <string.h>

enum { BLOCK_BYTES = 65536 };

static weft_status check_picture(const weft_picture *p, weft_error *err)
{
    if (p->data && p->width >= 1 && p->height >= 1 && (p->channels == 1 || p->channels == 3 || p->channels == 4))
        return WEFT_OK;
    return weft_fail(err, WEFT_E_INVALID, "a picture to encode must have pixels and 1, 3 or 4 channels; it has %dx%d and %d",
                     p->width, p->height, p->channels);
}

static void cut_back(weft_buffer *out, size_t n_bytes)
{
    out->n_bytes = n_bytes;
    out->failed = false;
}

/* ---- JPEG ---------------------------------------------------------------------------------------------------------------- */
typedef struct jpeg_writer {
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr destination;
    jmp_buf out_of_here;
    weft_buffer *out;
    uint8_t *rgb_row; /* RGBA pictures: one row without alpha */
    weft_status status;
    weft_error *err;
} jpeg_writer;

static void jpeg_on_error(j_common_ptr c)
{
    jpeg_writer *w = c->client_data;
    char text[JMSG_LENGTH_MAX];
    c->err->format_message(c, text);
    if (w->status == WEFT_OK && c->err->msg_code == JERR_OUT_OF_MEMORY)
        w->status = weft_fail(w->err, WEFT_E_NO_MEMORY, "out of memory while encoding a JPEG");
    if (w->status == WEFT_OK)
        w->status = weft_fail(w->err, WEFT_E_INTERNAL, "the JPEG could not be encoded: %s", text);
    longjmp(w->out_of_here, 1);
}

static void jpeg_silence(j_common_ptr c, int level)
{
    (void)c;
    (void)level;
}

static void jpeg_silence_text(j_common_ptr c)
{
    (void)c;
}

static void destination_open(j_compress_ptr c)
{
    jpeg_writer *w = c->client_data;
    if (!weft_buffer_reserve(w->out, BLOCK_BYTES)) {
        w->status = weft_fail(w->err, WEFT_E_NO_MEMORY, "out of memory for an encoded JPEG");
        longjmp(w->out_of_here, 1);
    }
    c->dest->next_output_byte = w->out->data + w->out->n_bytes;
    c->dest->free_in_buffer = BLOCK_BYTES;
}

static boolean destination_full(j_compress_ptr c)
{
    jpeg_writer *w = c->client_data;
    w->out->n_bytes += BLOCK_BYTES;
    destination_open(c);
    return TRUE;
}

static void destination_close(j_compress_ptr c)
{
    jpeg_writer *w = c->client_data;
    w->out->n_bytes += BLOCK_BYTES - c->dest->free_in_buffer;
}

static void jpeg_configure(jpeg_writer *w, const weft_picture *p, int quality, weft_chroma chroma)
{
    struct jpeg_compress_struct *c = &w->cinfo;
    c->image_width = (JDIMENSION)p->width;
    c->image_height = (JDIMENSION)p->height;
    c->input_components = p->channels == 1 ? 1 : 3;
    c->in_color_space = p->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(c);
    jpeg_set_quality(c, quality, TRUE);
    c->dct_method = JDCT_ISLOW;
    if (p->channels != 1 && chroma == WEFT_CHROMA_444)
        c->comp_info[0].h_samp_factor = c->comp_info[0].v_samp_factor = 1;
}

static void jpeg_write_rows(jpeg_writer *w, const weft_picture *p)
{
    for (int32_t y = 0; y < p->height; y++) {
        uint8_t *row = p->data + (size_t)y * p->stride_bytes;
        for (int32_t x = 0; x < p->width && w->rgb_row; x++)
            memcpy(w->rgb_row + 3 * (size_t)x, row + 4 * (size_t)x, 3);
        JSAMPROW rows[1] = {w->rgb_row ? w->rgb_row : row};
        jpeg_write_scanlines(&w->cinfo, rows, 1);
    }
}

/* The frame that setjmp returns into changes no object of its own. */
static void jpeg_run(jpeg_writer *w, const weft_picture *p, int quality, weft_chroma chroma)
{
    if (setjmp(w->out_of_here) != 0)
        return;
    jpeg_create_compress(&w->cinfo);
    w->destination.init_destination = destination_open;
    w->destination.empty_output_buffer = destination_full;
    w->destination.term_destination = destination_close;
    w->cinfo.dest = &w->destination;
    jpeg_configure(w, p, quality, chroma);
    jpeg_start_compress(&w->cinfo, TRUE);
    jpeg_write_rows(w, p);
    jpeg_finish_compress(&w->cinfo);
}

weft_status weft_picture_encode_jpeg(const weft_picture *p, int quality, weft_chroma chroma, weft_buffer *out, weft_error *err)
{
    weft_status s = check_picture(p, err);
    if (s != WEFT_OK)
        return s;
    if (quality < 1 || quality > 100 || (chroma != WEFT_CHROMA_420 && chroma != WEFT_CHROMA_444))
        return weft_fail(err, WEFT_E_INVALID, "JPEG quality must be 1 to 100 and chroma 4:2:0 or 4:4:4; quality %d came",
                         quality);
    jpeg_writer w;
    size_t before = out->n_bytes;
    memset(&w, 0, sizeof(w));
    w.out = out;
    w.err = err;
    if (p->channels == 4 && !(w.rgb_row = malloc((size_t)p->width * 3)))
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory while encoding a JPEG");
    w.cinfo.err = jpeg_std_error(&w.errors);
    w.errors.error_exit = jpeg_on_error;
    w.errors.emit_message = jpeg_silence;
    w.errors.output_message = jpeg_silence_text;
    w.cinfo.client_data = &w;
    jpeg_run(&w, p, quality, chroma);
    jpeg_destroy_compress(&w.cinfo);
    free(w.rgb_row);
    if (w.status != WEFT_OK)
        cut_back(out, before);
    return w.status;
}

/* ---- PNG ----------------------------------------------------------------------------------------------------------------- */
typedef struct png_writer {
    weft_buffer *out;
    weft_status status;
    weft_error *err;
} png_writer;

static void png_on_error(png_structp png, png_const_charp text)
{
    png_writer *w = png_get_error_ptr(png);
    if (w->status == WEFT_OK)
        w->status = weft_fail(w->err, WEFT_E_INTERNAL, "the PNG could not be encoded: %s", text);
    longjmp(png_jmpbuf(png), 1);
}

static void png_on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static png_voidp png_on_malloc(png_structp png, png_alloc_size_t n)
{
    png_writer *w = png_get_mem_ptr(png);
    void *p = malloc(n);
    if (!p && w->status == WEFT_OK)
        w->status = weft_fail(w->err, WEFT_E_NO_MEMORY, "out of memory while encoding a PNG");
    return p;
}

static void png_on_free(png_structp png, png_voidp p)
{
    (void)png;
    free(p);
}

static void png_on_write(png_structp png, png_bytep bytes, size_t n)
{
    png_writer *w = png_get_io_ptr(png);
    if (weft_buffer_append(w->out, bytes, n))
        return;
    w->status = weft_fail(w->err, WEFT_E_NO_MEMORY, "out of memory for an encoded PNG");
    png_error(png, "no memory");
}

static void png_on_flush(png_structp png)
{
    (void)png;
}

static void png_write_all(png_structp png, png_infop info, const weft_picture *p, int level)
{
    static const int types[5] = {0, PNG_COLOR_TYPE_GRAY, 0, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    png_set_user_limits(png, 65536, 65536);
    png_set_compression_level(png, level < 0 ? 6 : level);
    png_set_IHDR(png, info, (png_uint_32)p->width, (png_uint_32)p->height, 8, types[p->channels], PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int32_t y = 0; y < p->height; y++)
        png_write_row(png, p->data + (size_t)y * p->stride_bytes);
    png_write_end(png, NULL);
}

static void png_run(png_writer *w, png_structp png, png_infop info, const weft_picture *p, int level)
{
    if (setjmp(png_jmpbuf(png)) != 0)
        return;
    png_set_write_fn(png, w, png_on_write, png_on_flush);
    png_write_all(png, info, p, level);
}

weft_status weft_picture_encode_png(const weft_picture *p, int level, weft_buffer *out, weft_error *err)
{
    weft_status s = check_picture(p, err);
    if (s != WEFT_OK)
        return s;
    if (level < -1 || level > 9)
        return weft_fail(err, WEFT_E_INVALID, "the PNG level must be 0 to 9, or -1 for the usual one; %d came", level);
    png_writer w = {out, WEFT_OK, err};
    size_t before = out->n_bytes;
    png_structp png =
        png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &w, png_on_error, png_on_warning, &w, png_on_malloc, png_on_free);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        png_destroy_write_struct(&png, NULL);
        return weft_fail(err, WEFT_E_NO_MEMORY, "out of memory while encoding a PNG");
    }
    png_run(&w, png, info, p, level);
    png_destroy_write_struct(&png, &info);
    if (w.status != WEFT_OK)
        cut_back(out, before);
    return w.status;
}
