#include "executor/executor_list.h"

extern const weft_executor weft_executor_classify, weft_executor_face, weft_executor_detect, weft_executor_ocr;

const weft_executor *const weft_builtin_executors[] = {
    &weft_executor_ocr, &weft_executor_face, &weft_executor_detect, &weft_executor_classify, NULL,
};
