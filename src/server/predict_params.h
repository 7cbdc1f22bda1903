/* What the caller of POST /v1/models/{name}/predict may say beside the picture: the door's own parameters (draw, timeout_ms,
 * priority) and those that the model's executor declares, from the query and from text fields of a form. Everything else is
 * refused, with the nearest name. */
#ifndef WEFT_SERVER_PREDICT_PARAMS_H
#define WEFT_SERVER_PREDICT_PARAMS_H

#include "server/http_parse.h"
#include "weft/request.h"

enum { WEFT_PREDICT_MAX_PARAMS = 32, WEFT_PREDICT_NAME_BYTES = 64, WEFT_PREDICT_VALUE_BYTES = 1024 };

typedef struct weft_predict_params {
    const char *const *known; /* of the model, NULL-terminated; NULL = none. Static text */
    bool draw;
    int64_t timeout_ms, priority;
    unsigned door_given; /* bits of the door's parameters that came */
    size_t n;
    weft_param params[WEFT_PREDICT_MAX_PARAMS]; /* for weft_call; names are those of `known` */
    char *texts[WEFT_PREDICT_MAX_PARAMS];       /* owned: values that are text */
} weft_predict_params;

void weft_predict_params_init(weft_predict_params *p, const char *const *known, int64_t timeout_ms);
void weft_predict_params_fini(weft_predict_params *p);
/* Reads the whole query. INVALID for a name that nobody knows, a value of the wrong kind, a parameter given twice, text that is
 * not percent-encoding or too long, and too many parameters. */
weft_status weft_predict_params_query(weft_predict_params *p, weft_http_slice query, weft_error *err);
/* One text field of a form. INVALID likewise. */
weft_status weft_predict_params_field(weft_predict_params *p, const char *name, const void *value, size_t n_bytes,
                                      weft_error *err);

#endif
