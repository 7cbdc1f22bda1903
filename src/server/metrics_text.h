/* Metrics as text: the Prometheus exposition format 0.0.4, or OpenMetrics 1.0 where that is asked for.
 *
 * A streaming writer into one buffer; a lost append is in out->failed. All samples of a family follow its head. One thread. */
#ifndef WEFT_SERVER_METRICS_TEXT_H
#define WEFT_SERVER_METRICS_TEXT_H

#include "base/buffer.h"
#include "tbl/metrics.h"
#include "wire/number_text.h"

#define WEFT_METRICS_PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define WEFT_METRICS_OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

#define WEFT_METRICS_MAX_BOUNDS 24

/* Zeroed but for out and open_metrics. */
typedef struct weft_metrics_text {
    weft_buffer *out;
    bool open_metrics;
    const weft_metric_decl *decl; /* of the family that is being written */
    const double *bounds;         /* whose texts are in `le`: one histogram after the other has the same */
    char le[WEFT_METRICS_MAX_BOUNDS][WEFT_NUMBER_BYTES];
} weft_metrics_text;

/* One label more than those of `labels`; key NULL = none. The value is escaped. */
typedef struct weft_label {
    const char *key, *value;
} weft_label;

void weft_metrics_family(weft_metrics_text *t, const weft_metric_decl *decl);
/* labels: key="value" pairs made with weft_label_text, joined by commas; "" = none. */
void weft_metrics_uint(weft_metrics_text *t, const char *labels, weft_label more, uint64_t value);
void weft_metrics_double(weft_metrics_text *t, const char *labels, weft_label more, double value);
/* bounds: n_bounds of them, at most WEFT_METRICS_MAX_BOUNDS, the same numbers whenever the pointer is the same.
 * A histogram: counts[i] observations up to bounds[i], n_bounds of them, and one count more for the rest. */
void weft_metrics_histogram(weft_metrics_text *t, const char *labels, weft_label more, const double *bounds,
                            const uint64_t *counts, size_t n_bounds, double sum);
/* The end of the document. */
void weft_metrics_end(weft_metrics_text *t);

/* Appends key="value", with a comma when text is not empty; the value is escaped and cut where there is no room (whole
 * characters, the result stays well-formed). text is terminated, n_text its capacity, at least 8 + strlen(key) more than what it
 * holds. */
void weft_label_text(char *text, size_t n_text, const char *key, const char *value);

#endif
