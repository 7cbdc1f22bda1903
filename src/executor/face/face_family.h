/* Families of face detectors. A family knows one way in which a network writes faces into its outputs; face.c knows everything
 * else (options, picture, coordinates, result).
 *
 * To add one: a file with a static table like weft_face_blazeface, and a line in weft_face_families. */
#ifndef WEFT_EXECUTOR_FACE_FAMILY_H
#define WEFT_EXECUTOR_FACE_FAMILY_H

#include <math.h>

#include "image/preprocess.h"
#include "vision/boxes.h"
#include "weft/executor.h"

#define WEFT_FACE_POINTS 6 /* right eye, left eye, nose, mouth, right ear, left ear; right and left are the person's */

/* In pixels of the model's input. */
typedef struct weft_face {
    weft_box box;
    float score;
    float points[WEFT_FACE_POINTS][2];
} weft_face;

static inline bool weft_face_points_finite(const weft_face *f)
{
    bool finite = true;
    for (int k = 0; k < WEFT_FACE_POINTS; k++)
        finite = finite && isfinite(f->points[k][0]) && isfinite(f->points[k][1]);
    return finite;
}

typedef struct weft_face_rules {
    float min_confidence; /* candidates below are dropped */
    float iou;            /* boxes that overlap more are the same face */
    bool blend;           /* average the boxes of one face by score; false: take the best */
} weft_face_rules;

typedef struct weft_face_family {
    const char *name;
    const char *outputs; /* what it looks like, in words, for the message when nothing fits */
    weft_preprocess_defaults preprocess;
    /* From shapes alone. */
    bool (*match)(const weft_model_view *m);
    /* Builds what decode needs, once (anchors). `plan` is the preprocess as opened; memory from o->alloc. */
    weft_status (*open)(const weft_open *o, const weft_preprocess_plan *plan, const void **decoder, weft_error *err);
    /* The faces of row 0, best first, in memory of the result. RUN_FAILED when an output has another size than its description
     * says or scores that are not numbers. Any thread. */
    weft_status (*decode)(const void *decoder, const weft_face_rules *rules, const weft_tensor *outputs, size_t n_outputs,
                          weft_builder *b, weft_face **faces, size_t *n_faces, weft_error *err);
} weft_face_family;

extern const weft_face_family weft_face_blazeface;

#endif
