/* Families of object detectors. A family knows one way in which a network writes boxes and classes into its outputs; detect.c
 * knows everything else (options, picture, suppression, labels, coordinates, result).
 *
 * To add one: a static table like those below, a line in `families` of detect.c and a name in its enum. */
#ifndef WEFT_EXECUTOR_DETECT_FAMILY_H
#define WEFT_EXECUTOR_DETECT_FAMILY_H

#include "image/preprocess.h"
#include "vision/boxes.h"
#include "vision/labels.h"
#include "weft/executor.h"

/* What a request may look at, whatever the model gives: the best ones by score go into suppression. */
#define WEFT_DETECT_MAX_CANDIDATES 4096

/* How the outputs are to be read; filled by match, immutable afterwards. */
typedef struct weft_detect_layout {
    int64_t n_classes;                                         /* -1 = the model does not say */
    size_t scores, boxes;                                      /* output indices; the same one for the YOLO families */
    int64_t n_positions;                                       /* cells, anchors or rows; -1 = known with each answer */
    int64_t n_values;                                          /* YOLO families: values of one position */
    int64_t height, width;                                     /* CenterNet: cells */
    int64_t of_channel, of_y, of_x, box_channel, box_y, box_x; /* CenterNet: distances between neighbours, in elements */
    bool positions_last; /* YOLO families: [N,values,positions] instead of [N,positions,values] */
} weft_detect_layout;

typedef struct weft_detect_rules {
    float min_confidence;
    const bool *wanted; /* by class, n_wanted of them; NULL = all */
    size_t n_wanted;
    float input_width, input_height; /* pixels */
} weft_detect_rules;

static inline bool weft_detect_wants(const weft_detect_rules *r, int32_t class_index)
{
    return !r->wanted || ((size_t)class_index < r->n_wanted && r->wanted[class_index]);
}

typedef struct weft_detect_family {
    const char *outputs; /* what it looks like, in words, for the message when nothing fits */
    weft_preprocess_defaults preprocess;
    bool suppressed; /* the model has done non-maximum suppression itself */
    /* From shapes alone. `chosen`: the configuration names this family, so that readings which another family is likelier to mean
     * are allowed too. */
    bool (*match)(const weft_model_view *m, bool chosen, weft_detect_layout *layout);
    /* Adds what row 0 holds, in input pixels, with a score of min_confidence or more. RUN_FAILED for scores that are not numbers.
     * Any thread. */
    weft_status (*collect)(const weft_detect_layout *layout, const weft_detect_rules *rules, const weft_tensor *outputs,
                           weft_builder *b, weft_candidates *c, weft_error *err);
} weft_detect_family;

extern const weft_detect_family weft_detect_centernet;
extern const weft_detect_family weft_detect_yolov8; /* and v9, v11: boxes and class scores */
extern const weft_detect_family weft_detect_yolov5; /* and v7: boxes, objectness, class scores */
extern const weft_detect_family
    weft_detect_rows; /* finished rows x1,y1,x2,y2,score,class: YOLOv10, exports with suppression inside */

extern const weft_labels weft_coco80; /* the 80 classes of COCO in their usual order */

#endif
