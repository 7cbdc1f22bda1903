#include "vision/boxes.h"

#include <math.h>

bool weft_box_valid(const weft_box *b)
{
    return isfinite(b->x1) && isfinite(b->y1) && isfinite(b->x2) && isfinite(b->y2) && b->x2 > b->x1 && b->y2 > b->y1;
}

float weft_box_area(const weft_box *b)
{
    return weft_box_valid(b) ? (b->x2 - b->x1) * (b->y2 - b->y1) : 0.0f;
}

static float overlap(float a1, float a2, float b1, float b2)
{
    float lo = a1 > b1 ? a1 : b1, hi = a2 < b2 ? a2 : b2;
    return hi > lo ? hi - lo : 0.0f;
}

float weft_box_iou(const weft_box *a, const weft_box *b)
{
    if (!weft_box_valid(a) || !weft_box_valid(b))
        return 0.0f;
    float shared = overlap(a->x1, a->x2, b->x1, b->x2) * overlap(a->y1, a->y2, b->y1, b->y2);
    float both = weft_box_area(a) + weft_box_area(b) - shared;
    if (!(shared > 0.0f) || !(both > 0.0f) || !isfinite(both))
        return 0.0f;
    return shared < both ? shared / both : 1.0f;
}

static float clamp(float v, float hi)
{
    return v < 0.0f ? 0.0f : v > hi ? hi : v;
}

weft_box weft_box_clip(weft_box b, float width, float height)
{
    return (weft_box){clamp(b.x1, width), clamp(b.y1, height), clamp(b.x2, width), clamp(b.y2, height)};
}

/* True when a is to come before b. A total order: no two candidates of one request have the same class and source. */
static bool better(const weft_candidate *a, const weft_candidate *b)
{
    if (a->score != b->score)
        return a->score > b->score;
    if (a->class_index != b->class_index)
        return a->class_index < b->class_index;
    return a->source < b->source;
}

static void swap(weft_candidate *a, weft_candidate *b)
{
    weft_candidate t = *a;
    *a = *b;
    *b = t;
}

/* The heap has its worst item on top, so that one comparison refuses a candidate once it is full. */
static void sift_up(weft_candidate *heap, size_t i)
{
    while (i > 0 && better(&heap[(i - 1) / 2], &heap[i])) {
        swap(&heap[(i - 1) / 2], &heap[i]);
        i = (i - 1) / 2;
    }
}

static void sift_down(weft_candidate *heap, size_t n)
{
    for (size_t i = 0;;) {
        size_t worst = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
            if (better(&heap[worst], &heap[child]))
                worst = child;
        if (worst == i)
            return;
        swap(&heap[i], &heap[worst]);
        i = worst;
    }
}

void weft_candidates_add(weft_candidates *c, const weft_candidate *item)
{
    if (isnan(item->score) || !weft_box_valid(&item->box))
        return;
    if (c->n < c->capacity) {
        c->items[c->n] = *item;
        sift_up(c->items, c->n++);
    } else if (c->capacity > 0 && better(item, &c->items[0])) {
        c->items[0] = *item;
        sift_down(c->items, c->n);
    }
}

/* Heapsort: in place and without allocation (glibc's qsort takes memory for large arrays). The worst goes to the back each time.
 */
void weft_candidates_sort(weft_candidates *c)
{
    for (size_t i = 1; i < c->n; i++)
        sift_up(c->items, i);
    for (size_t n = c->n; n > 1; n--) {
        swap(&c->items[0], &c->items[n - 1]);
        sift_down(c->items, n - 1);
    }
}

size_t weft_nms(weft_candidates *c, float iou, bool per_class, size_t max_keep)
{
    weft_candidates_sort(c);
    size_t kept = 0;
    for (size_t i = 0; i < c->n && kept < max_keep; i++) {
        bool covered = false;
        for (size_t k = 0; k < kept && !covered; k++) {
            bool rivals = !per_class || c->items[k].class_index == c->items[i].class_index;
            covered = rivals && weft_box_iou(&c->items[k].box, &c->items[i].box) > iou;
        }
        if (!covered)
            c->items[kept++] = c->items[i];
    }
    c->n = kept;
    return kept;
}

#define TAKEN (-1) /* class of an item that already belongs to a group */

size_t weft_nms_groups(weft_candidates *c, float iou, size_t max_groups, weft_group_fn member, void *cookie)
{
    weft_candidates_sort(c);
    size_t n_groups = 0;
    for (size_t i = 0; i < c->n && n_groups < max_groups; i++) {
        if (c->items[i].class_index == TAKEN)
            continue;
        member(cookie, n_groups, &c->items[i]);
        for (size_t k = i + 1; k < c->n; k++) {
            weft_candidate *other = &c->items[k];
            if (other->class_index == TAKEN || weft_box_iou(&c->items[i].box, &other->box) <= iou)
                continue;
            member(cookie, n_groups, other);
            other->class_index = TAKEN;
        }
        n_groups++;
    }
    c->n = 0;
    return n_groups;
}
