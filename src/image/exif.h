/* The one fact of EXIF that changes pixels: orientation.
 * Source: Exif 2.32 (CIPA DC-008), TIFF header and IFD0, tag 0x0112 (SHORT; other whole numbers are taken as well).
 * Never fails, never loops, reads only inside the block: anything malformed is orientation 1. */
#ifndef WEFT_IMAGE_EXIF_H
#define WEFT_IMAGE_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* tiff: the block from its byte-order mark on ("II*\0" or "MM\0*"); a leading "Exif\0\0" is skipped. Returns 1..8. */
int weft_exif_orientation(const uint8_t *tiff, size_t n_bytes);

#endif
