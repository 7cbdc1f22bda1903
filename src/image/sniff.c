#include "image/sniff.h"

#include <string.h>

static bool has(const uint8_t *b, size_t n, size_t at, const char *magic, size_t n_magic)
{
    return n >= at + n_magic && memcmp(b + at, magic, n_magic) == 0;
}

weft_picture_format weft_sniff_picture(const uint8_t *b, size_t n)
{
    if (has(b, n, 0, "\xff\xd8\xff", 3))
        return WEFT_PICTURE_JPEG;
    if (has(b, n, 0, "\x89PNG\r\n\x1a\n", 8))
        return WEFT_PICTURE_PNG;
    if (has(b, n, 0, "RIFF", 4) && has(b, n, 8, "WEBP", 4))
        return WEFT_PICTURE_WEBP;
    return WEFT_PICTURE_UNKNOWN;
}

typedef struct signature {
    size_t at;
    const char *magic;
    size_t n_magic;
    const char *name;
} signature;

#define SIGNATURE(at, magic, name)                                                                                               \
    {                                                                                                                            \
        at, magic, sizeof(magic) - 1, name                                                                                       \
    }

static const signature signatures[] = {
    SIGNATURE(0, "GIF87a", "a GIF picture"),
    SIGNATURE(0, "GIF89a", "a GIF picture"),
    SIGNATURE(0, "II*\0", "a TIFF picture"),
    SIGNATURE(0, "MM\0*", "a TIFF picture"),
    SIGNATURE(0, "II+\0", "a BigTIFF picture"),
    SIGNATURE(0, "MM\0+", "a BigTIFF picture"),
    SIGNATURE(4, "ftypavi", "an AVIF picture"),
    SIGNATURE(4, "ftyphei", "a HEIC picture"),
    SIGNATURE(4, "ftyphev", "a HEIC picture"),
    SIGNATURE(4, "ftypmif1", "a HEIF picture"),
    SIGNATURE(4, "ftypmsf1", "a HEIF picture"),
    SIGNATURE(4, "ftyp", "an MP4 video"),
    SIGNATURE(0, "\0\0\0\x0cJXL ", "a JPEG XL picture"),
    SIGNATURE(0, "\xff\x0a", "a JPEG XL picture"),
    SIGNATURE(0, "\0\0\0\x0cjP  ", "a JPEG 2000 picture"),
    SIGNATURE(0, "\xff\x4f\xff\x51", "a JPEG 2000 picture"),
    SIGNATURE(0, "%PDF", "a PDF document"),
    SIGNATURE(0, "%!PS", "a PostScript document"),
    SIGNATURE(0, "8BPS", "a Photoshop picture"),
    SIGNATURE(0, "qoif", "a QOI picture"),
    SIGNATURE(0, "\x76\x2f\x31\x01", "an OpenEXR picture"),
    SIGNATURE(0, "#?RADIANCE", "a Radiance HDR picture"),
    SIGNATURE(0, "\0\0\1\0", "an ICO picture"),
    SIGNATURE(0, "PK\3\4", "a ZIP archive"),
    SIGNATURE(0, "\x1f\x8b", "a gzip file"),
    SIGNATURE(0, "RIFF", "a RIFF file that is not WebP"),
    SIGNATURE(0, "\x1a\x45\xdf\xa3", "a Matroska or WebM video"),
    SIGNATURE(0, "data:", "a data: URL; decode its base64 part first"),
    SIGNATURE(0, "/9j/", "a JPEG in base64; decode it first"),
    SIGNATURE(0, "iVBORw0KGgo", "a PNG in base64; decode it first"),
    SIGNATURE(0, "UklGR", "a WebP in base64; decode it first"),
    SIGNATURE(0, "<?xml", "an XML or SVG document"),
    SIGNATURE(0, "<svg", "an SVG document"),
    SIGNATURE(0, "<!DOCTYPE", "an HTML document"),
    SIGNATURE(0, "<html", "an HTML document"),
    SIGNATURE(0, "{", "JSON text"),
};

const char *weft_sniff_name(const uint8_t *b, size_t n)
{
    for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++)
        if (has(b, n, signatures[i].at, signatures[i].magic, signatures[i].n_magic))
            return signatures[i].name;
    if (has(b, n, 1, "PNG", 3))
        return "a damaged PNG (its first bytes were changed, perhaps by a transfer in text mode)";
    if (has(b, n, 0, "BM", 2) && n >= 26 && b[6] == 0 && b[7] == 0)
        return "a BMP picture";
    if (n >= 3 && b[0] == 'P' && b[1] >= '1' && b[1] <= '7' && (b[2] == '\n' || b[2] == ' ' || b[2] == '\r' || b[2] == '\t'))
        return "a PNM picture";
    return NULL;
}
