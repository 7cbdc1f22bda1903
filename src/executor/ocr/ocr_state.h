/* What the files of the OCR executor share: the open state, and one page on its way through. */
#ifndef WEFT_EXECUTOR_OCR_STATE_H
#define WEFT_EXECUTOR_OCR_STATE_H

#include "executor/ocr/ocr_boxes.h"
#include "executor/ocr/ocr_line_input.h"
#include "executor/ocr/ocr_options.h"
#include "executor/ocr/ocr_text.h"

/* Slots, in the order of the table. MODEL is the file of the executor's own block and takes the part that its output fits. */
enum { WEFT_OCR_SLOT_DETECT, WEFT_OCR_SLOT_RECOGNISE, WEFT_OCR_SLOT_ORIENT, WEFT_OCR_SLOT_MODEL, WEFT_OCR_SLOTS };

/* A model in its part. */
typedef struct weft_ocr_part {
    const weft_model_view *model; /* NULL: the part is not played */
    size_t slot;
    size_t output; /* the one that is read */
} weft_ocr_part;

/* Immutable after open; shared by all pages. */
typedef struct weft_ocr_state {
    const weft_ocr_options *options;
    weft_ocr_part detect, recognise, orient;
    weft_preprocess_plan detect_input;
    bool any_size; /* the detector takes the size that the limit gives */
    weft_ocr_line_input recognise_input, orient_input;
    weft_ocr_dictionary dictionary;
    weft_ocr_orientation orientation; /* never AUTO */
} weft_ocr_state;

/* A line that was read. */
typedef struct weft_ocr_line {
    const char *text; /* memory of the request, not NUL-terminated */
    size_t n_bytes;
    float score;
} weft_ocr_line;

/* One page: lives on the stack of `run`; memory from the request's arena, except the pictures. */
typedef struct weft_ocr_page {
    const weft_ocr_state *state;
    weft_pipe *pipe;
    weft_group *group;
    weft_builder *builder;
    size_t in_flight;      /* calls that the group takes */
    double min_confidence; /* of this call */
    int64_t max_texts;
    weft_picture picture;
    weft_ocr_cutter cutter;
    weft_ocr_box *boxes; /* in reading order */
    size_t n_boxes;
    float row_tolerance;                 /* in pixels of the picture */
    bool whole;                          /* no detector: the page is one line */
    bool *flipped;                       /* by box: stands on its head */
    weft_ocr_line *lines;                /* by box; text NULL = nothing read */
    void *slots[WEFT_OCR_MAX_IN_FLIGHT]; /* one line's input each; NULL until the first line goes out */
    float *class_row;                    /* scratch of the decoder: scores of one step, and the classes of a line */
    uint32_t *classes;
    size_t classes_room;
} weft_ocr_page;

/* Finds the boxes of the page (ocr_detect.c). */
weft_status weft_ocr_detect(weft_ocr_page *page, weft_error *err);
/* Decides which boxes stand on their head and, when the whole page does, brings them into its order (ocr_orient.c). */
weft_status weft_ocr_orient_page(weft_ocr_page *page, weft_error *err);
/* Likewise for some boxes, each by itself. */
weft_status weft_ocr_orient_lines(weft_ocr_page *page, size_t first, size_t n, weft_error *err);
/* Reads boxes first .. first + n into page->lines (ocr_recognise.c). */
weft_status weft_ocr_recognise(weft_ocr_page *page, size_t first, size_t n, weft_error *err);
/* The order of reading, for a page that stands upright or on its head. */
void weft_ocr_page_sort(weft_ocr_page *page, bool turned);

/* Sends lines of the page through one model with as many in flight as the page may have; answers come in any order. */
typedef struct weft_ocr_stream {
    const weft_ocr_part *part;
    const weft_ocr_line_input *input;
    const char *doing;   /* "reading": for messages */
    const size_t *boxes; /* in this order; n of them */
    size_t n;
    bool upright; /* cut lines as they stand on the page, without page->flipped */
    weft_status (*finish)(weft_ocr_page *page, void *cookie, size_t box, const weft_tensor *output, weft_error *err);
    void *cookie;
} weft_ocr_stream;
weft_status weft_ocr_stream_run(weft_ocr_page *page, const weft_ocr_stream *s, weft_error *err);

/* CANCELLED or DEADLINE when the request is over, else OK. */
weft_status weft_ocr_still_wanted(const weft_ocr_page *page, weft_error *err);

#endif
