/* Image classification: the k best classes of one score vector. */
#ifndef WEFT_EXECUTOR_CLASSIFY_H
#define WEFT_EXECUTOR_CLASSIFY_H

#include "weft/executor.h"

extern const weft_executor weft_executor_classify;

#endif
