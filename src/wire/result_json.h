/* Results, models and errors as JSON, generated from columns, kinds and descriptions alone.
 *
 *     {"id":"r1","model":"ocr","version":"1",
 *      "items":[{"text":"hello","score":0.98,"box":[1,2,30,40]}, ...],          the per_item columns, zipped
 *      "matte":{"width":640,"height":480,"data":"..."}, "picture":"...",         the others, beside: base64 where binary
 *      "outputs":{"logits":{"datatype":"FP32","shape":[1,1000],"data":[...]}},   raw outputs of a model (TENSOR): row-major, flat
 *      "timing":{"total_ms":12.5,"queue_ms":1.25,...,"batch_rows":4,"runs":1}}
 *
 * BOX is [x1,y1,x2,y2], QUAD and POINTS are [[x,y],...]. "items" is there when the result has per_item columns. A failed result
 * has "error":{"code":"BUSY","message":"...","retry_after_ms":30} instead of data. Strings that are not UTF-8 are repaired. A
 * column called like one of the fixed members gets a "_" behind its name. */
#ifndef WEFT_WIRE_RESULT_JSON_H
#define WEFT_WIRE_RESULT_JSON_H

#include "weft/model.h"
#include "wire/json.h"

/* Whole documents, on one line, without line end. A lost append is in out->failed. */
void weft_result_json(weft_buffer *out, const weft_result *r);
void weft_model_info_json(weft_buffer *out, const weft_model_info *info);
void weft_error_json(weft_buffer *out, const weft_error *err); /* {"error":{...}} */

/* The same as one value of a larger document. */
void weft_json_result(weft_json *j, const weft_result *r);
void weft_json_model_info(weft_json *j, const weft_model_info *info);
void weft_json_model_stats(weft_json *j, const weft_model_stats *s);
void weft_json_error(weft_json *j, const weft_error *err); /* {"code":...,"message":...} */
/* The elements of a tensor in row-major order as one flat array. The tensor must have passed weft_tensor_check. */
void weft_json_tensor_data(weft_json *j, const weft_tensor *t);

/* "text", "label", "score", "box", "quad", "points", "number", "matte", "picture", "tensor"; "?" outside. */
const char *weft_field_kind_name(weft_field_kind k);

#endif
