/* JPEG -> pixels, through libjpeg.
 *
 * libjpeg reports by callback and leaves by longjmp. Everything that lives across the jump is in one struct that the frame
 * calling setjmp does not modify afterwards. Source of the marker numbers: ITU-T T.81, table B.1. */
#include <stddef.h>
#include <stdio.h>

#include <jpeglib.h>

#include <jerror.h>
#include <setjmp.h>
#include <string.h>

#include "image/codec.h"
#include "image/exif.h"

enum {
    MARKER_SOI = 0xd8,
    MARKER_EOI = 0xd9,
    MARKER_SOS = 0xda,
    MARKER_DHT = 0xc4,
    MARKER_JPG = 0xc8,
    MARKER_DAC = 0xcc,
    MARKER_APP1 = 0xe1,
    MAX_SEGMENTS = 4096,
};

/* ---- header -------------------------------------------------------------------------------------------------------------- */
static weft_status read_frame(int marker, const uint8_t *body, size_t n, weft_picture_info *out, weft_error *err)
{
    if (n < 6)
        return weft_fail(err, WEFT_E_UNPROCESSABLE, "the JPEG's frame header is too short (%zu bytes)", n);
    bool arithmetic = marker == 0xc9 || marker == 0xca;
    if (marker > 0xc2 && !arithmetic)
        return weft_fail(err, WEFT_E_UNPROCESSABLE,
                         "this is a lossless or hierarchical JPEG (SOF%d); baseline and progressive JPEG are accepted",
                         marker - 0xc0);
    if (body[0] != 8)
        return weft_fail(err, WEFT_E_UNPROCESSABLE, "this JPEG has %d bits per channel; 8 are accepted", body[0]);
    out->bit_depth = 8;
    out->coded_height = body[1] << 8 | body[2];
    out->coded_width = body[3] << 8 | body[4];
    out->channels = body[5];
    out->progressive = marker == 0xc2 || marker == 0xca;
    if (out->channels != 1 && out->channels != 3 && out->channels != 4)
        return weft_fail(err, WEFT_E_UNPROCESSABLE, "this JPEG has %d components; 1, 3 and 4 are accepted", out->channels);
    if (n < 6 + 3 * (size_t)out->channels)
        return weft_fail(err, WEFT_E_UNPROCESSABLE, "the JPEG's frame header is too short (%zu bytes)", n);
    return WEFT_OK;
}

static bool is_frame(int marker)
{
    return marker >= 0xc0 && marker <= 0xcf && marker != MARKER_DHT && marker != MARKER_JPG && marker != MARKER_DAC;
}

/* Position after the next marker's code, or 0 at the end. Bytes between segments are skipped, as decoders do. */
static size_t next_marker(const uint8_t *b, size_t n, size_t at, int *marker)
{
    while (at < n) {
        const uint8_t *ff = memchr(b + at, 0xff, n - at);
        if (!ff)
            return 0;
        at = (size_t)(ff - b) + 1;
        while (at < n && b[at] == 0xff)
            at++;
        if (at < n && b[at] != 0) {
            *marker = b[at];
            return at + 1;
        }
    }
    return 0;
}

static weft_status ends_early(weft_error *err)
{
    return weft_fail(err, WEFT_E_UNPROCESSABLE, "the JPEG ends before its pixels begin; the file is damaged or incomplete");
}

/* Walks the segments up to the first scan; a scan with fewer components than the frame means several scans, which libjpeg buffers
 * whole. */
weft_status weft_jpeg_probe(const uint8_t *b, size_t n, weft_picture_info *out, weft_error *err)
{
    bool have_frame = false, have_exif = false;
    size_t at = 2;
    for (int i = 0; i < MAX_SEGMENTS; i++) {
        int marker = 0;
        at = next_marker(b, n, at, &marker);
        if (at == 0 || marker == MARKER_EOI)
            return ends_early(err);
        if ((marker >= 0xd0 && marker <= MARKER_SOI) || marker == 0x01)
            continue;
        if (n - at < 2)
            return ends_early(err);
        size_t length = (size_t)(b[at] << 8 | b[at + 1]);
        if (length < 2)
            return weft_fail(err, WEFT_E_UNPROCESSABLE, "a segment of the JPEG says it is %zu bytes long; the file is damaged",
                             length);
        if (length > n - at)
            return ends_early(err);
        const uint8_t *body = b + at + 2;
        if (is_frame(marker)) {
            if (have_frame)
                return weft_fail(err, WEFT_E_UNPROCESSABLE, "the JPEG has two frame headers; one is accepted");
            weft_status s = read_frame(marker, body, length - 2, out, err);
            if (s != WEFT_OK)
                return s;
            have_frame = true;
        } else if (marker == MARKER_APP1 && !have_exif && length > 8 && memcmp(body, "Exif\0\0", 6) == 0) {
            out->orientation = weft_exif_orientation(body, length - 2);
            have_exif = true;
        } else if (marker == MARKER_SOS) {
            if (!have_frame)
                return weft_fail(err, WEFT_E_UNPROCESSABLE, "the JPEG has pixels without a frame header; the file is damaged");
            if (length > 2 && body[0] < out->channels)
                out->progressive = true;
            return WEFT_OK;
        }
        at += length;
    }
    return weft_fail(err, WEFT_E_UNPROCESSABLE, "the JPEG has more than %d segments before its pixels", MAX_SEGMENTS);
}

/* ---- pixels -------------------------------------------------------------------------------------------------------------- */
typedef struct jpeg_reader {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf out_of_here;
    const weft_picture_info *info;
    weft_picture *out;
    weft_picture row; /* one row in libjpeg's own channels, when they are not the wanted ones */
    int channels;
    int max_scans;
    bool hit_end; /* libjpeg asked for bytes after the last one */
    weft_status status;
    weft_error *err;
} jpeg_reader;

static jpeg_reader *reader_of(j_common_ptr c)
{
    return (jpeg_reader *)c->client_data;
}

static void give_up(jpeg_reader *r, weft_status s) __attribute__((noreturn));
static void give_up(jpeg_reader *r, weft_status s)
{
    r->status = s;
    longjmp(r->out_of_here, 1);
}

static void on_error(j_common_ptr c)
{
    jpeg_reader *r = reader_of(c);
    char text[JMSG_LENGTH_MAX];
    if (c->err->msg_code == JERR_OUT_OF_MEMORY)
        give_up(r, weft_fail(r->err, WEFT_E_NO_MEMORY, "out of memory while decoding a JPEG"));
    c->err->format_message(c, text);
    give_up(r, weft_fail(r->err, WEFT_E_UNPROCESSABLE, "the JPEG cannot be decoded: %s", text));
}

/* Warnings that mean lost pixels end the decoding; the rest (extra bytes, odd version numbers) does not matter. */
static void on_message(j_common_ptr c, int level)
{
    jpeg_reader *r = reader_of(c);
    char text[JMSG_LENGTH_MAX];
    if (level >= 0)
        return;
    switch (c->err->msg_code) {
    case JWRN_HIT_MARKER:
        if (r->hit_end)
            give_up(r, weft_fail(r->err, WEFT_E_UNPROCESSABLE,
                                 "the JPEG is truncated: it ends before its last pixels; send the whole file"));
        /* fall through */
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
        c->err->format_message(c, text);
        give_up(r, weft_fail(r->err, WEFT_E_UNPROCESSABLE, "the JPEG is damaged: %s", text));
    default:
        break;
    }
}

static void silence(j_common_ptr c)
{
    (void)c;
}

static void source_nothing(j_decompress_ptr c)
{
    (void)c;
}

static boolean source_fill(j_decompress_ptr c)
{
    static const JOCTET eoi[2] = {0xff, MARKER_EOI};
    reader_of((j_common_ptr)c)->hit_end = true;
    c->src->next_input_byte = eoi;
    c->src->bytes_in_buffer = 2;
    return TRUE;
}

static void source_skip(j_decompress_ptr c, long n_bytes)
{
    if (n_bytes <= 0)
        return;
    if ((size_t)n_bytes > c->src->bytes_in_buffer) {
        source_fill(c);
        return;
    }
    c->src->next_input_byte += n_bytes;
    c->src->bytes_in_buffer -= (size_t)n_bytes;
}

static void on_progress(j_common_ptr c)
{
    jpeg_reader *r = reader_of(c);
    if (r->cinfo.input_scan_number > r->max_scans)
        give_up(r, weft_fail(r->err, WEFT_E_UNPROCESSABLE, "the JPEG has more than %d scans; save it again with fewer",
                             r->max_scans));
}

/* A scan costs a pass over all coefficients: many for small pictures, few for large ones. Encoders in use write up to 20. */
static int scan_limit(const weft_picture_info *info)
{
    int64_t n_pixels = (int64_t)info->coded_width * info->coded_height;
    int64_t limit = n_pixels > 0 ? 500000000 / n_pixels : 200;
    return limit < 25 ? 25 : limit > 200 ? 200 : (int)limit;
}

static void open_source(jpeg_reader *r, const uint8_t *bytes, size_t n_bytes)
{
    r->source.next_input_byte = bytes;
    r->source.bytes_in_buffer = n_bytes;
    r->source.init_source = source_nothing;
    r->source.fill_input_buffer = source_fill;
    r->source.skip_input_data = source_skip;
    r->source.resync_to_restart = jpeg_resync_to_restart;
    r->source.term_source = source_nothing;
    r->cinfo.src = &r->source;
    r->progress.progress_monitor = on_progress;
    r->cinfo.progress = &r->progress;
}

static void check_header(jpeg_reader *r, size_t n_bytes)
{
    struct jpeg_decompress_struct *c = &r->cinfo;
    if ((int32_t)c->image_width != r->info->coded_width || (int32_t)c->image_height != r->info->coded_height ||
        c->num_components != r->info->channels)
        give_up(r, weft_fail(r->err, WEFT_E_UNPROCESSABLE, "the JPEG's headers contradict each other"));
    /* Every 8x8 block takes at least one bit, so a file of a few bytes that claims millions of pixels is refused before memory is
     * taken. */
    uint64_t n_blocks = 0;
    int max_h = 1, max_v = 1;
    for (int i = 0; i < c->num_components; i++) {
        max_h = c->comp_info[i].h_samp_factor > max_h ? c->comp_info[i].h_samp_factor : max_h;
        max_v = c->comp_info[i].v_samp_factor > max_v ? c->comp_info[i].v_samp_factor : max_v;
    }
    for (int i = 0; i < c->num_components; i++)
        n_blocks += (uint64_t)(c->image_width * (unsigned)c->comp_info[i].h_samp_factor / (8 * (unsigned)max_h)) *
                    (c->image_height * (unsigned)c->comp_info[i].v_samp_factor / (8 * (unsigned)max_v));
    if (!c->arith_code && n_blocks > (uint64_t)n_bytes * 8)
        give_up(r, weft_fail(r->err, WEFT_E_UNPROCESSABLE,
                             "the JPEG is truncated: %zu bytes cannot hold %ux%u pixels; send the whole file", n_bytes,
                             c->image_width, c->image_height));
}

static void choose_colour(jpeg_reader *r)
{
    struct jpeg_decompress_struct *c = &r->cinfo;
    if (c->num_components == 4)
        c->out_color_space = JCS_CMYK;
    else if (c->num_components == 1 || (r->channels == 1 && c->jpeg_color_space == JCS_YCbCr))
        c->out_color_space = JCS_GRAYSCALE;
    else
        c->out_color_space = JCS_RGB;
    c->dct_method = JDCT_ISLOW;
}

/* With every byte of a multi-scan file read, libjpeg would show what is there; a file that ended without EOI before its last scan
 * is refused instead. */
static void check_complete(jpeg_reader *r)
{
    struct jpeg_decompress_struct *c = &r->cinfo;
    bool whole = true;
    if (!r->hit_end || !jpeg_has_multiple_scans(c))
        return;
    for (int i = 0; i < c->num_components; i++) {
        whole = whole && c->comp_info[i].quant_table;
        for (int k = 0; k < DCTSIZE2 && c->progressive_mode && c->coef_bits; k++)
            whole = whole && c->coef_bits[i][k] == 0;
    }
    if (!whole)
        give_up(
            r, weft_fail(r->err, WEFT_E_UNPROCESSABLE, "the JPEG is truncated: its last scans are missing; send the whole file"));
}

/* stored inverted (Adobe): c, m, y, k are 255 - ink */
static void cmyk_to_rgb(const uint8_t *s, uint8_t *d, int32_t width)
{
    for (int32_t x = 0; x < width; x++, s += 4, d += 3)
        for (int i = 0; i < 3; i++) {
            int v = s[i] * s[3] + 128;
            d[i] = (uint8_t)((v + (v >> 8)) >> 8); /* s[i] * s[3] / 255, rounded */
        }
}

static void read_rows(jpeg_reader *r)
{
    struct jpeg_decompress_struct *c = &r->cinfo;
    weft_picture *out = r->out;
    bool direct = c->output_components == r->channels && c->out_color_space != JCS_CMYK;
    int row_channels = c->out_color_space == JCS_CMYK ? 4 : c->output_components;
    if (!direct && weft_picture_create(&r->row, out->width, 2, row_channels, r->err) != WEFT_OK)
        give_up(r, WEFT_E_NO_MEMORY);
    while (c->output_scanline < c->output_height) {
        uint8_t *to = out->data + (size_t)c->output_scanline * out->stride_bytes;
        JSAMPROW rows[4] = {to, to + out->stride_bytes, to + 2 * out->stride_bytes, to + 3 * out->stride_bytes};
        if (direct) {
            unsigned left = c->output_height - c->output_scanline;
            jpeg_read_scanlines(c, rows, left < 4 ? left : 4);
            continue;
        }
        rows[0] = r->row.data;
        jpeg_read_scanlines(c, rows, 1);
        if (c->out_color_space == JCS_CMYK) {
            uint8_t *rgb = r->row.data + r->row.stride_bytes;
            cmyk_to_rgb(r->row.data, rgb, out->width);
            weft_convert_row(rgb, 3, to, r->channels, out->width);
        } else {
            weft_convert_row(r->row.data, row_channels, to, r->channels, out->width);
        }
    }
}

/* The frame that setjmp returns into changes no object of its own. */
static void run(jpeg_reader *r, const uint8_t *bytes, size_t n_bytes)
{
    if (setjmp(r->out_of_here) != 0)
        return;
    jpeg_create_decompress(&r->cinfo);
    open_source(r, bytes, n_bytes);
    jpeg_read_header(&r->cinfo, TRUE);
    check_header(r, n_bytes);
    choose_colour(r);
    if (weft_picture_create(r->out, r->info->coded_width, r->info->coded_height, r->channels, r->err) != WEFT_OK)
        give_up(r, WEFT_E_NO_MEMORY);
    jpeg_start_decompress(&r->cinfo);
    check_complete(r);
    read_rows(r);
}

weft_status weft_jpeg_decode(const uint8_t *bytes, size_t n_bytes, const weft_picture_info *info, int channels, weft_picture *out,
                             weft_error *err)
{
    jpeg_reader r;
    memset(&r, 0, sizeof(r));
    r.info = info;
    r.out = out;
    r.channels = channels;
    r.err = err;
    r.max_scans = scan_limit(info);
    r.cinfo.err = jpeg_std_error(&r.errors);
    r.errors.error_exit = on_error;
    r.errors.emit_message = on_message;
    r.errors.output_message = silence;
    r.cinfo.client_data = &r;
    run(&r, bytes, n_bytes);
    jpeg_destroy_decompress(&r.cinfo);
    weft_picture_destroy(&r.row);
    return r.status;
}
