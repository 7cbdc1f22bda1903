/* Borders of the regions of a mask, and their convex hulls, without keeping a single border point: a hull needs only the leftmost
 * and rightmost pixel of each row. */
#include "executor/ocr/ocr_boxes.h"

enum { UNSEEN = 1, SEEN = 2, SEEN_RIGHT_EDGE = -2 };

typedef struct follower {
    int8_t *marks;
    int32_t stride;
    int32_t step[8]; /* cell offsets, counter-clockwise on screen from east */
    int32_t *min_x, *max_x;
    weft_ocr_extents e;
} follower;

static const int8_t step_x[8] = {1, 1, 0, -1, -1, -1, 0, 1};
static const int8_t step_y[8] = {0, -1, -1, -1, 0, 1, 1, 1};
enum { EAST = 0, WEST = 4 };

/* Borders are connected, so a row between y0 and y1 has always been entered: a new row starts its extents afresh. */
static void extents_add(follower *f, int32_t x, int32_t y)
{
    weft_ocr_extents *e = &f->e;
    if (y < e->y0 || y > e->y1) {
        f->min_x[y] = f->max_x[y] = x;
        if (y < e->y0)
            e->y0 = y;
        else
            e->y1 = y;
    } else if (x < f->min_x[y]) {
        f->min_x[y] = x;
    } else if (x > f->max_x[y]) {
        f->max_x[y] = x;
    }
    if (x < e->x0)
        e->x0 = x;
    if (x > e->x1)
        e->x1 = x;
}

/* Follows the border that starts at (x, y), whose background neighbour lies in direction `from`. */
static void follow(follower *f, int32_t x, int32_t y, int from)
{
    int8_t *start = f->marks + (size_t)(y + 1) * (size_t)f->stride + (size_t)(x + 1);
    f->e.x0 = f->e.x1 = x;
    f->e.y0 = f->e.y1 = y;
    f->min_x[y] = f->max_x[y] = x;

    int first = -1; /* direction of the last border pixel, seen from the start */
    for (int k = 1; k < 8 && first < 0; k++) {
        int d = (from - k) & 7;
        if (start[f->step[d]])
            first = d;
    }
    if (first < 0) {
        *start = SEEN_RIGHT_EDGE;
        return;
    }
    int8_t *last = start + f->step[first], *cell = start;
    int back = first;
    for (;;) {
        int d = back;
        bool east_is_background = false;
        do {
            d = (d + 1) & 7;
            if (d == EAST && !cell[f->step[EAST]])
                east_is_background = true;
        } while (!cell[f->step[d]]);
        if (east_is_background)
            *cell = SEEN_RIGHT_EDGE;
        else if (*cell == UNSEEN)
            *cell = SEEN;
        int8_t *next = cell + f->step[d];
        if (next == start && cell == last)
            return;
        x += step_x[d];
        y += step_y[d];
        extents_add(f, x, y);
        cell = next;
        back = (d + 4) & 7;
    }
}

void weft_ocr_contours(int8_t *marks, int32_t width, int32_t height, int32_t *rows,
                       bool (*visit)(void *cookie, const weft_ocr_extents *e), void *cookie)
{
    follower f = {.marks = marks, .stride = width + 2, .min_x = rows, .max_x = rows + height};
    for (int d = 0; d < 8; d++)
        f.step[d] = step_y[d] * f.stride + step_x[d];
    for (int32_t y = 0; y < height; y++) {
        const int8_t *row = marks + (size_t)(y + 1) * (size_t)f.stride + 1;
        for (int32_t x = 0; x < width; x++) {
            if (!row[x])
                continue;
            if (row[x] == UNSEEN && !row[x - 1])
                follow(&f, x, y, WEST);
            else if (row[x] > 0 && !row[x + 1])
                follow(&f, x, y, EAST);
            else
                continue;
            weft_ocr_extents e = f.e;
            e.min_x = f.min_x + e.y0;
            e.max_x = f.max_x + e.y0;
            if (!visit(cookie, &e))
                return;
        }
    }
}

/* Twice the area of a, b, c; positive when c lies to the right of a -> b on a screen. Coordinates are below 2^14, so nothing
 * overflows. */
static int64_t turn(const int32_t a[2], const int32_t b[2], const int32_t c[2])
{
    return (int64_t)(b[0] - a[0]) * (c[1] - a[1]) - (int64_t)(b[1] - a[1]) * (c[0] - a[0]);
}

static size_t hull_add(int32_t (*hull)[2], size_t n, size_t base, int32_t x, int32_t y)
{
    const int32_t p[2] = {x, y};
    if (n > 0 && hull[n - 1][0] == x && hull[n - 1][1] == y)
        return n;
    while (n >= base + 2 && turn(hull[n - 2], hull[n - 1], p) <= 0)
        n--;
    hull[n][0] = x;
    hull[n][1] = y;
    return n + 1;
}

size_t weft_ocr_hull(const weft_ocr_extents *e, int32_t (*hull)[2])
{
    size_t n = 0;
    int32_t n_rows = e->y1 - e->y0 + 1;
    for (int32_t i = 0; i < n_rows; i++) /* down the right side */
        n = hull_add(hull, n, 0, e->max_x[i], e->y0 + i);
    size_t base = n - 1;
    for (int32_t i = n_rows - 1; i >= 0; i--) /* up the left side */
        n = hull_add(hull, n, base, e->min_x[i], e->y0 + i);
    if (n > 1 && hull[n - 1][0] == hull[0][0] && hull[n - 1][1] == hull[0][1])
        n--;
    return n;
}
