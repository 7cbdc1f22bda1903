/* The reference manual, generated from the declarations: root, engine, server, log, models, every executor with its results,
 * every backend. */
#ifndef WEFT_CONFIG_REFERENCE_H
#define WEFT_CONFIG_REFERENCE_H

#include "weft/backend.h"
#include "weft/executor.h"

struct weft_buffer;

/* Appends Markdown. The same tables give the same bytes. `failed` of the buffer says when memory ran out. */
void weft_config_reference(const weft_executor *const *executors, const weft_backend *const *backends, struct weft_buffer *out);

#endif
