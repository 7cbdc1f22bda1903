/* Face detection: box, score and six points of each face. */
#ifndef WEFT_EXECUTOR_FACE_H
#define WEFT_EXECUTOR_FACE_H

#include "weft/executor.h"

extern const weft_executor weft_executor_face;

#endif
