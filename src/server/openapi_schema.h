/* The JSON Schema of a model's result, from its field declarations: what wire/result_json.c writes. */
#ifndef WEFT_SERVER_OPENAPI_SCHEMA_H
#define WEFT_SERVER_OPENAPI_SCHEMA_H

#include "weft/model.h"
#include "wire/json.h"

/* One schema as a value of j. */
void weft_openapi_result(weft_json *j, const weft_model_info *info);

#endif
