/* Rectangles of least area around convex hulls, their corners, and the mean of a map inside a quadrilateral. */
#include "executor/ocr/ocr_boxes.h"

#include <math.h>

static int64_t along(const int32_t p[2], int64_t dx, int64_t dy)
{
    return p[0] * dx + p[1] * dy;
}

/* The hull is convex: from the support of the edge before, values only grow up to the new support. */
static size_t advance(int32_t (*hull)[2], size_t n, size_t i, int64_t dx, int64_t dy)
{
    for (size_t k = 0; k < n; k++) {
        size_t next = i + 1 == n ? 0 : i + 1;
        if (along(hull[next], dx, dy) <= along(hull[i], dx, dy))
            break;
        i = next;
    }
    return i;
}

static void line_rect(int32_t (*hull)[2], size_t n, weft_ocr_rect *out)
{
    const int32_t *a = hull[0], *b = hull[n - 1];
    double dx = b[0] - a[0], dy = b[1] - a[1], length = sqrt(dx * dx + dy * dy);
    *out = (weft_ocr_rect){.cx = (a[0] + b[0]) / 2.0, .cy = (a[1] + b[1]) / 2.0, .ux = 1, .width = length};
    if (length > 0) {
        out->ux = dx / length;
        out->uy = dy / length;
    }
}

void weft_ocr_min_rect(int32_t (*hull)[2], size_t n, weft_ocr_rect *out)
{
    if (n < 3) {
        line_rect(hull, n ? n : 1, out);
        return;
    }
    double best = INFINITY;
    size_t front = 1, across = 1, rear = 1; /* corners farthest along the edge, across it, against it */
    for (size_t i = 0; i < n; i++) {
        const int32_t *a = hull[i], *b = hull[i + 1 == n ? 0 : i + 1];
        int64_t dx = b[0] - a[0], dy = b[1] - a[1];
        front = advance(hull, n, front, dx, dy);
        across = advance(hull, n, i == 0 ? front : across, -dy, dx);
        rear = advance(hull, n, i == 0 ? across : rear, -dx, -dy);
        double edge2 = (double)(dx * dx + dy * dy);
        double u0 = (double)along(hull[rear], dx, dy), u1 = (double)along(hull[front], dx, dy);
        double v0 = (double)along(a, -dy, dx), v1 = (double)along(hull[across], -dy, dx);
        double area = (u1 - u0) * (v1 - v0) / edge2;
        if (area >= best)
            continue;
        best = area;
        double edge = sqrt(edge2), u = (u0 + u1) / 2 / edge2, v = (v0 + v1) / 2 / edge2;
        *out = (weft_ocr_rect){.cx = u * (double)dx - v * (double)dy,
                               .cy = u * (double)dy + v * (double)dx,
                               .ux = (double)dx / edge,
                               .uy = (double)dy / edge,
                               .width = (u1 - u0) / edge,
                               .height = (v1 - v0) / edge};
    }
}

void weft_ocr_rect_quad(const weft_ocr_rect *r, double grow, float quad[4][2])
{
    double a = r->width / 2 + grow, b = r->height / 2 + grow;
    float c[4][2];
    for (int i = 0; i < 4; i++) { /* around the rectangle */
        double u = i == 0 || i == 3 ? -a : a, v = i < 2 ? -b : b;
        float x = (float)(r->cx + u * r->ux - v * r->uy), y = (float)(r->cy + u * r->uy + v * r->ux);
        int k = i;
        for (; k > 0 && x < c[k - 1][0]; k--) { /* sorted by x */
            c[k][0] = c[k - 1][0];
            c[k][1] = c[k - 1][1];
        }
        c[k][0] = x;
        c[k][1] = y;
    }
    int tl = c[0][1] <= c[1][1] ? 0 : 1, tr = c[2][1] <= c[3][1] ? 2 : 3;
    const int order[4] = {tl, tr, 5 - tr, 1 - tl};
    for (int i = 0; i < 4; i++) {
        quad[i][0] = c[order[i]][0];
        quad[i][1] = c[order[i]][1];
    }
}

static int32_t clamp_int(double v, int32_t low, int32_t high)
{
    return v <= low ? low : v >= high ? high : (int32_t)v;
}

static void widen(int32_t *min_x, int32_t *max_x, int32_t x0, int32_t x1)
{
    if (x0 < *min_x)
        *min_x = x0;
    if (x1 > *max_x)
        *max_x = x1;
}

/* Adds the pixels of one edge to the extents of its rows: where it crosses the middle of a steep edge's row, and the whole run of
 * a flat one. */
static void raster_edge(const int32_t a[2], const int32_t b[2], int32_t y0, int32_t y1, int32_t *min_x, int32_t *max_x)
{
    if (a[1] > b[1]) {
        const int32_t *t = a;
        a = b;
        b = t;
    }
    int32_t dx = b[0] - a[0], dy = b[1] - a[1];
    if (dy == 0) {
        if (a[1] >= y0 && a[1] <= y1)
            widen(&min_x[a[1] - y0], &max_x[a[1] - y0], dx < 0 ? b[0] : a[0], dx < 0 ? a[0] : b[0]);
        return;
    }
    double slope = (double)dx / dy, half = fabs(slope) > 1 ? slope / 2 : 0;
    int32_t low = dx < 0 ? b[0] : a[0], high = dx < 0 ? a[0] : b[0];
    for (int32_t y = a[1] > y0 ? a[1] : y0; y <= b[1] && y <= y1; y++) {
        double x = a[0] + (y - a[1]) * slope, left = x - fabs(half), right = x + fabs(half);
        if (half != 0) /* whole pixels between the crossings half a row above and below */
            widen(&min_x[y - y0], &max_x[y - y0], clamp_int(ceil(left), low, high), clamp_int(floor(right), low, high));
        else
            widen(&min_x[y - y0], &max_x[y - y0], clamp_int(floor(x + 0.5), low, high), clamp_int(floor(x + 0.5), low, high));
    }
}

static double sum_run(const float *p, size_t n)
{
    float lane[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++)
            lane[k] += p[i + (size_t)k];
    double sum = 0;
    for (int k = 0; k < 8; k++)
        sum += (double)lane[k];
    for (; i < n; i++)
        sum += (double)p[i];
    return sum;
}

float weft_ocr_quad_score(const weft_ocr_map *map, float quad[4][2], int32_t *rows)
{
    double left = quad[0][0], right = left, top = quad[0][1], bottom = top;
    for (int i = 1; i < 4; i++) {
        left = fmin(left, quad[i][0]);
        right = fmax(right, quad[i][0]);
        top = fmin(top, quad[i][1]);
        bottom = fmax(bottom, quad[i][1]);
    }
    int32_t x0 = clamp_int(floor(left), 0, map->width - 1), x1 = clamp_int(ceil(right), 0, map->width - 1);
    int32_t y0 = clamp_int(floor(top), 0, map->height - 1), y1 = clamp_int(ceil(bottom), 0, map->height - 1);
    int32_t *min_x = rows, *max_x = rows + map->height;
    for (int32_t y = 0; y <= y1 - y0; y++) {
        min_x[y] = INT32_MAX;
        max_x[y] = INT32_MIN;
    }
    int32_t c[4][2];
    for (int i = 0; i < 4; i++) {
        c[i][0] = x0 + (int32_t)(quad[i][0] - (float)x0);
        c[i][1] = y0 + (int32_t)(quad[i][1] - (float)y0);
    }
    for (int i = 0; i < 4; i++)
        raster_edge(c[i], c[(i + 1) & 3], y0, y1, min_x, max_x);
    double sum = 0;
    int64_t n = 0;
    for (int32_t y = 0; y <= y1 - y0; y++) {
        int32_t from = min_x[y] < x0 ? x0 : min_x[y], to = max_x[y] > x1 ? x1 : max_x[y];
        if (from > to)
            continue;
        sum += sum_run(map->p + (size_t)(y0 + y) * map->stride + (size_t)from, (size_t)(to - from + 1));
        n += to - from + 1;
    }
    return n > 0 ? (float)(sum / (double)n) : NAN;
}
