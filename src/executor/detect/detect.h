/* Object detection: label, score and box of each object. */
#ifndef WEFT_EXECUTOR_DETECT_H
#define WEFT_EXECUTOR_DETECT_H

#include "weft/executor.h"

extern const weft_executor weft_executor_detect;

#endif
