/* From a recogniser's class scores to text: the dictionary and greedy CTC decoding.
 *
 * Classes of PP-OCR recognisers: 0 is the blank, k is line k of the dictionary, and one more class after the last line is the
 * space. Threads: any; a dictionary is immutable after open. */
#ifndef WEFT_EXECUTOR_OCR_TEXT_H
#define WEFT_EXECUTOR_OCR_TEXT_H

#include "weft/executor.h"

#define WEFT_OCR_DICTIONARY_MAX_BYTES (8u << 20)
#define WEFT_OCR_MAX_CLASSES 1000000
#define WEFT_OCR_MAX_WORD_BYTES 255 /* of one dictionary line */

typedef struct weft_ocr_word {
    const char *text; /* not NUL-terminated */
    size_t n_bytes;
} weft_ocr_word;

typedef struct weft_ocr_dictionary {
    const weft_ocr_word *words; /* by class; [0] is the blank and empty */
    int64_t n_classes;          /* with the blank and, when the model has it, the space */
    int64_t n_lines;            /* of the file */
    const char *path;
} weft_ocr_dictionary;

/* Reads the file that `path` names. n_model_classes: of the recogniser, -1 = known with each answer only (then the space class is
 * expected). CONFIG when the file is not UTF-8 text or its size does not fit the model; the sentence has both numbers. The bytes
 * live as long as o's state. */
weft_status weft_ocr_dictionary_open(const weft_open *o, const char *path, int64_t n_model_classes, weft_ocr_dictionary *out,
                                     weft_error *err);
/* RUN_FAILED when an answer has another number of classes than the dictionary. */
weft_status weft_ocr_dictionary_check(const weft_ocr_dictionary *d, int64_t n_classes, weft_error *err);

/* What was read: the classes kept, and the mean of their probabilities (0 when there are none). */
typedef struct weft_ocr_path {
    uint32_t *classes; /* the caller's, room for one a step */
    size_t n;
    float score;
} weft_ocr_path;

/* Greedy CTC: best class of each step, repeats dropped, then blanks. `scores`: n_steps rows of n_classes in dtype FP32, FP16,
 * BF16 or FP64; probabilities, or logits (told apart by the first step), of which the softmax is taken. `row`: room for n_classes
 * floats, used for other types than FP32. Equal scores: the smallest class. RUN_FAILED when a step holds no finite number. */
weft_status weft_ocr_ctc(const void *scores, weft_dtype dtype, int64_t n_steps, int64_t n_classes, float *row,
                         weft_ocr_path *path, weft_error *err);

/* Bytes of the path's text, and the text itself (no NUL). `backwards`: last class first. */
size_t weft_ocr_path_bytes(const weft_ocr_dictionary *d, const weft_ocr_path *path);
void weft_ocr_path_write(const weft_ocr_dictionary *d, const weft_ocr_path *path, bool backwards, char *text);

#endif
