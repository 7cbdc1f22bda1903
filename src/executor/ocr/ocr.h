/* Reading text: boxes, lines, characters. A pipeline over up to three models. */
#ifndef WEFT_EXECUTOR_OCR_H
#define WEFT_EXECUTOR_OCR_H

#include "weft/executor.h"

extern const weft_executor weft_executor_ocr;

#endif
