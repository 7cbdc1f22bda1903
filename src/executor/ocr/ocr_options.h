/* The options of the OCR executor, as a file sets them. Filled by the configuration; read-only. */
#ifndef WEFT_EXECUTOR_OCR_OPTIONS_H
#define WEFT_EXECUTOR_OCR_OPTIONS_H

#include "image/preprocess.h"
#include "weft/option.h"

typedef enum weft_ocr_orientation {
    WEFT_OCR_ORIENTATION_AUTO = 0, /* PAGE when there is an orient model, else OFF */
    WEFT_OCR_ORIENTATION_OFF = 1,
    WEFT_OCR_ORIENTATION_PAGE = 2, /* the lines vote, all are turned or none */
    WEFT_OCR_ORIENTATION_LINE = 3, /* each line by itself */
} weft_ocr_orientation;

typedef enum weft_ocr_limit_rule {
    WEFT_OCR_LIMIT_LONGEST = 0,  /* scaled down when the longest side is over the limit */
    WEFT_OCR_LIMIT_SHORTEST = 1, /* scaled up when the shortest side is under the limit */
} weft_ocr_limit_rule;

#define WEFT_OCR_MAX_LIMIT_SIDE 4096
#define WEFT_OCR_MAX_LINE_WIDTH 8192
#define WEFT_OCR_MAX_TEXTS 4096
#define WEFT_OCR_MAX_IN_FLIGHT 64

typedef struct weft_ocr_boxes_block {
    int64_t limit_side;
    int limit_rule;
    double threshold, box_threshold, unclip, min_side;
    int64_t max_boxes, small_border;
} weft_ocr_boxes_block;

typedef struct weft_ocr_lines_block {
    int64_t min_width, width_step, max_width;
    weft_list widths; /* int64_t, rising; instead of the three above */
    int64_t in_flight;
} weft_ocr_lines_block;

typedef struct weft_ocr_postprocess {
    double min_confidence;
    int64_t max_texts;
    int direction; /* weft_ocr_direction */
    double row_tolerance;
} weft_ocr_postprocess;

typedef struct weft_ocr_options {
    weft_preprocess_options preprocess; /* of the detector */
    weft_ocr_boxes_block boxes;
    weft_ocr_lines_block lines;
    const char *dictionary;
    int orientation;
    double orientation_threshold;
    weft_ocr_postprocess postprocess;
} weft_ocr_options;

extern const weft_option weft_ocr_option_table[];

#endif
