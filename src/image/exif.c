#include "image/exif.h"

#include <string.h>

static uint32_t rd16(const uint8_t *p, int little)
{
    return little ? (uint32_t)p[0] | (uint32_t)p[1] << 8 : (uint32_t)p[1] | (uint32_t)p[0] << 8;
}

static uint32_t rd32(const uint8_t *p, int little)
{
    return little ? rd16(p, 1) | rd16(p + 2, 1) << 16 : rd16(p + 2, 0) | rd16(p, 0) << 16;
}

/* The value of an entry with one whole number; 0 for anything else. The standard says SHORT; cameras and tools write the other
 * widths too. */
static uint32_t number_of(const uint8_t *entry, int little)
{
    enum { BYTE = 1, SHORT = 3, LONG = 4, SBYTE = 6, SSHORT = 8, SLONG = 9 };
    if (rd32(entry + 4, little) != 1)
        return 0;
    switch (rd16(entry + 2, little)) {
    case BYTE:
    case SBYTE:
        return entry[8];
    case SHORT:
    case SSHORT:
        return rd16(entry + 8, little);
    case LONG:
    case SLONG:
        return rd32(entry + 8, little);
    default:
        return 0;
    }
}

int weft_exif_orientation(const uint8_t *tiff, size_t n_bytes)
{
    enum { TAG_ORIENTATION = 0x0112, ENTRY_BYTES = 12 };
    if (n_bytes >= 6 && memcmp(tiff, "Exif\0\0", 6) == 0) {
        tiff += 6;
        n_bytes -= 6;
    }
    if (n_bytes < 8)
        return 1;
    int little = memcmp(tiff, "II*\0", 4) == 0;
    if (!little && memcmp(tiff, "MM\0*", 4) != 0)
        return 1;
    size_t at = rd32(tiff + 4, little);
    if (at < 8 || at > n_bytes || n_bytes - at < 2)
        return 1;
    size_t n_entries = rd16(tiff + at, little); /* at most 65535: the loop is bounded */
    for (size_t i = 0; i < n_entries; i++) {
        size_t entry = at + 2 + i * ENTRY_BYTES;
        if (entry + ENTRY_BYTES > n_bytes)
            return 1;
        if (rd16(tiff + entry, little) != TAG_ORIENTATION)
            continue;
        uint32_t v = number_of(tiff + entry, little);
        return v >= 1 && v <= 8 ? (int)v : 1;
    }
    return 1;
}
