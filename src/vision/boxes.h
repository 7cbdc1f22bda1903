/* Boxes, candidates and non-maximum suppression: what detectors of every family share.
 *
 * Coordinates are in whatever plane the caller works in (model input or picture pixels). Nothing here allocates; every function
 * may be called from any thread on its own data. */
#ifndef WEFT_VISION_BOXES_H
#define WEFT_VISION_BOXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct weft_box {
    float x1, y1, x2, y2; /* left, top, right, bottom; x2 and y2 are the far edges, so width = x2 - x1 */
} weft_box;

typedef struct weft_candidate {
    weft_box box;
    float score;
    int32_t class_index; /* 0 when there is only one class */
    int32_t source; /* which anchor, cell or row it came from; breaks ties so that an answer never depends on the order of work */
} weft_candidate;

/* All four numbers finite and the area above zero. */
bool weft_box_valid(const weft_box *b);
float weft_box_area(const weft_box *b); /* 0 for an empty or invalid box */
/* Intersection over union, 0..1; 0 when either box is invalid. */
float weft_box_iou(const weft_box *a, const weft_box *b);
/* Cut to the rectangle 0,0,width,height. */
weft_box weft_box_clip(weft_box b, float width, float height);

/* A collector that keeps the best `capacity` candidates of a stream of any length, in O(log capacity) each. */
typedef struct weft_candidates {
    weft_candidate *items; /* the caller's memory */
    size_t n, capacity;
} weft_candidates;

/* Worse candidates fall out when it is full. A candidate with an invalid box or a score that is not a number is ignored. */
void weft_candidates_add(weft_candidates *c, const weft_candidate *item);
/* Best first; equal scores by class, then source. */
void weft_candidates_sort(weft_candidates *c);

/* Greedy suppression: walks from the best score down, keeps a box unless one that is kept already (of the same class, with
 * per_class) overlaps it by more than `iou`. Sorts `c`, moves what is kept to its front and returns how many; at most max_keep,
 * so the work is bounded by c->n * max_keep. */
size_t weft_nms(weft_candidates *c, float iou, bool per_class, size_t max_keep);

/* Suppression by groups (Bazarevsky et al., BlazeFace, 2019, section 3.3: the boxes of one face are blended instead of all but
 * one dropped): takes the best candidate, calls `member` for it and then for every other one that overlaps it by more than `iou`,
 * best first, and goes on with the rest. Classes are ignored. Uses `c` up (its n is 0 afterwards). Stops after max_groups, so the
 * work is bounded by c->n * max_groups; returns the number of groups. */
typedef void (*weft_group_fn)(void *cookie, size_t group, const weft_candidate *member);
size_t weft_nms_groups(weft_candidates *c, float iou, size_t max_groups, weft_group_fn member, void *cookie);

#endif
