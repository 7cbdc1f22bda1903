/* Embedding: a picture as one vector, for comparing and searching. */
#ifndef WEFT_EXECUTOR_EMBED_H
#define WEFT_EXECUTOR_EMBED_H

#include "weft/executor.h"

extern const weft_executor weft_executor_embed;

#endif
