/* What every simple picture executor does in the same way: one encoded picture in, one tensor row to the model, the shared
 * `preprocess:` options, labels from a file, parameters of a call.
 *
 * An executor keeps a weft_picture_input in its state and a weft_fit at the start of its scratch, and its plan, preprocess and
 * warm functions are one line each. docs/howto/add-an-executor.md walks through it. Immutable after open; any thread. */
#ifndef WEFT_VISION_PICTURE_INPUT_H
#define WEFT_VISION_PICTURE_INPUT_H

#include "image/preprocess.h"
#include "vision/labels.h"
#include "weft/executor.h"

#define WEFT_PICTURE_INPUT "image" /* the name of a picture in a call */

typedef struct weft_picture_input {
    const weft_model_view *model;
    weft_preprocess_plan preprocess;
} weft_picture_input;

/* Checks that the model has exactly one input and that it takes pictures with these options. CONFIG otherwise. */
weft_status weft_picture_input_open(weft_picture_input *in, const weft_open *o, const weft_preprocess_options *options,
                                    const weft_preprocess_defaults *defaults, weft_error *err);
/* For `plan`: reads the header of the picture only. */
weft_status weft_picture_input_plan(const weft_picture_input *in, const weft_call *call, weft_plan *plan, weft_error *err);
/* For `preprocess`: decodes and writes the row; *fit says how to get from input coordinates back to the picture. */
weft_status weft_picture_input_run(const weft_picture_input *in, const weft_call *call, weft_tensor *dst, size_t n_dst,
                                   weft_fit *fit, weft_error *err);
/* For `warm`: the one bucket there is. */
bool weft_picture_input_warm(const weft_picture_input *in, size_t i, weft_plan *plan);

/* For `open`: the names in the file at `path`; path NULL gives no names. They live as long as the state. */
weft_status weft_labels_open(const weft_open *o, const char *path, weft_labels *out, weft_error *err);

/* A parameter of the call that overrides an option: leaves *value alone when it is absent, INVALID when it is no number or
 * outside min..max. */
weft_status weft_param_int(const weft_call *call, const char *name, int64_t min, int64_t max, int64_t *value, weft_error *err);
weft_status weft_param_float(const weft_call *call, const char *name, double min, double max, double *value, weft_error *err);

#endif
