#include "unit/image/help_golden.h"

#include <png.h>
#include <stdio.h>

uint8_t *help_read_file(const char *path, size_t *n_bytes)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("cannot open %s", path);
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    uint8_t *data = malloc(n > 0 ? (size_t)n : 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, (size_t)n, f), n);
    fclose(f);
    *n_bytes = (size_t)n;
    return data;
}

weft_picture help_golden(const char *name)
{
    char path[512];
    png_image image = {.version = PNG_IMAGE_VERSION};
    weft_picture p = {0};
    snprintf(path, sizeof(path), "%s/%s", GOLDEN_DIR, name);
    if (!png_image_begin_read_from_file(&image, path))
        fail_msg("%s: %s", path, image.message);
    bool colour = image.format & PNG_FORMAT_FLAG_COLOR, alpha = image.format & PNG_FORMAT_FLAG_ALPHA;
    image.format = alpha ? PNG_FORMAT_RGBA : colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    assert_int_equal(weft_picture_create(&p, (int32_t)image.width, (int32_t)image.height,
                                         alpha    ? 4
                                         : colour ? 3
                                                  : 1,
                                         NULL),
                     WEFT_OK);
    if (!png_image_finish_read(&image, NULL, p.data, (png_int_32)p.stride_bytes, NULL))
        fail_msg("%s: %s", path, image.message);
    return p;
}

int help_difference(const weft_picture *a, const weft_picture *b)
{
    int worst = 0;
    if (a->width != b->width || a->height != b->height || a->channels != b->channels)
        return 1000;
    for (int32_t y = 0; y < a->height; y++)
        for (int32_t x = 0; x < a->width * a->channels; x++) {
            int d = abs(a->data[(size_t)y * a->stride_bytes + (size_t)x] - b->data[(size_t)y * b->stride_bytes + (size_t)x]);
            worst = d > worst ? d : worst;
        }
    return worst;
}
