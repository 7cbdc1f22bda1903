/* Reading a model's outputs in postprocess: floats whatever their width, with their size checked. */
#ifndef WEFT_VISION_OUTPUTS_H
#define WEFT_VISION_OUTPUTS_H

#include "weft/builder.h"
#include "weft/executor.h"

/* FP32, FP16, BF16, FP64: what weft_output_floats reads. */
bool weft_is_float(weft_dtype t);
/* The elements of an output as float. FP32 is not copied; other types are converted into memory of the result. RUN_FAILED when
 * the tensor is absent, no float or does not have exactly n_expected elements (n_expected < 0: any number above 0). */
weft_status weft_output_floats(const weft_tensor *t, int64_t n_expected, weft_builder *b, const float **values, int64_t *n,
                               weft_error *err);
/* "cls [1,1000] FP32, boxes [1,-1,4] FP32": all outputs of a model for a message; cut where buf ends. Returns buf. */
char *weft_outputs_print(const weft_model_view *m, char *buf, size_t n_buf);
/* Index of the output with this name, or -1. */
int weft_output_index(const weft_model_view *m, const char *name);
/* The output that is one vector a row ([N,n], [N,n,1,1], or [n] without a batch): the one called `name`, or with name NULL the
 * only one. *n is its length, -1 when it is dynamic. CONFIG with the outputs there are otherwise. */
weft_status weft_vector_output(const weft_model_view *m, const char *name, size_t *index, int64_t *n, weft_error *err);

#endif
