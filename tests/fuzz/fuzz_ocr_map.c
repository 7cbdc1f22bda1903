/* Maps of a text detector. Bytes 0 and 1: width and height; the rest repeats as the map. Every text pixel lies inside the extents
 * of an outer border, hulls are convex and hold their extents, boxes lie in the picture, and no more come than were allowed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "executor/ocr/ocr_boxes.h"

enum { MAX_SIDE = 64, MAX_FOUND = 40 };

static void must(int ok)
{
    if (!ok)
        abort();
}

typedef struct seen {
    uint8_t covered[MAX_SIDE][MAX_SIDE];
} seen;

static int64_t turn(const int32_t *a, const int32_t *b, const int32_t *c)
{
    return (int64_t)(b[0] - a[0]) * (c[1] - a[1]) - (int64_t)(b[1] - a[1]) * (c[0] - a[0]);
}

static bool visit(void *cookie, const weft_ocr_extents *e)
{
    seen *s = cookie;
    int32_t hull[2 * MAX_SIDE][2];
    size_t n = weft_ocr_hull(e, hull);
    must(n >= 1 && n <= 2 * (size_t)(e->y1 - e->y0 + 1));
    for (int32_t y = e->y0; y <= e->y1; y++) {
        int32_t from = e->min_x[y - e->y0], to = e->max_x[y - e->y0];
        must(from >= e->x0 && to <= e->x1 && from <= to);
        memset(&s->covered[y][from], 1, (size_t)(to - from + 1));
        for (size_t i = 0; n >= 3 && i < n; i++) {
            const int32_t left[2] = {from, y}, right[2] = {to, y};
            must(turn(hull[i], hull[(i + 1) % n], left) >= 0 && turn(hull[i], hull[(i + 1) % n], right) >= 0);
        }
    }
    for (size_t i = 0; n >= 3 && i < n; i++)
        must(turn(hull[i], hull[(i + 1) % n], hull[(i + 2) % n]) > 0);
    weft_ocr_rect r;
    weft_ocr_min_rect(hull, n, &r);
    must(r.width >= 0 && r.height >= 0 && r.width * r.height <= (double)(e->x1 - e->x0) * (e->y1 - e->y0) + 1e-6);
    return true;
}

static void check_borders(const float *p, int32_t width, int32_t height)
{
    static int8_t marks[(MAX_SIDE + 2) * (MAX_SIDE + 2)];
    int32_t rows[2 * MAX_SIDE];
    seen s;
    memset(&s, 0, sizeof s);
    memset(marks, 0, sizeof marks);
    for (int32_t i = 0; i < width * height; i++)
        marks[(i / width + 1) * (width + 2) + i % width + 1] = p[i] > 0.3f;
    weft_ocr_contours(marks, width, height, rows, visit, &s);
    for (int32_t i = 0; i < width * height; i++)
        must(!(p[i] > 0.3f) || s.covered[i / width][i % width]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    if (n_bytes < 3)
        return 0;
    int32_t width = data[0] % MAX_SIDE + 1, height = data[1] % MAX_SIDE + 1;
    size_t n_values = (size_t)width * (size_t)height;
    float *p = malloc(n_values * sizeof *p);
    for (size_t i = 0; i < n_values; i++)
        p[i] = (float)data[2 + i % (n_bytes - 2)] / 255.0f;
    check_borders(p, width, height);
    const weft_ocr_map map = {p, (size_t)width, width, height, 1.5, 2.5, 0, width, height * 2};
    const weft_ocr_box_options options = {0.3f, 0.5f, 1.5f, 3, MAX_FOUND};
    weft_ocr_box boxes[MAX_FOUND];
    size_t n;
    void *work = malloc(weft_ocr_boxes_work_bytes(width, height));
    must(weft_ocr_boxes_find(&map, &options, work, boxes, &n, NULL) == WEFT_OK);
    must(n <= MAX_FOUND);
    for (size_t i = 0; i < n; i++) {
        must(boxes[i].score >= 0.5f && boxes[i].score <= 1);
        for (int k = 0; k < 4; k++)
            must(boxes[i].quad[k][0] >= 0 && boxes[i].quad[k][0] <= (float)width && boxes[i].quad[k][1] >= 0 &&
                 boxes[i].quad[k][1] <= (float)(2 * height));
    }
    weft_ocr_boxes_sort(boxes, n, WEFT_OCR_LEFT_TO_RIGHT, 10, false);
    for (size_t i = 1; i < n;
         i++) /* a row never stands after one that lies wholly below it by the tolerance times the boxes between */
        must(boxes[i].quad[0][1] + 10 * MAX_FOUND >= boxes[i - 1].quad[0][1]);
    free(work);
    free(p);
    return 0;
}
