/* Any bytes as an EXIF block: always an orientation. */
#include "image/exif.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    int o = weft_exif_orientation(data, n);
    if (o < 1 || o > 8)
        abort();
    return 0;
}
