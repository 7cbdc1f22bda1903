#include "executor/executor_list.h"

#define EXECUTOR(name) extern const weft_executor weft_executor_##name;
#include "executor/executor_list.def"
#undef EXECUTOR

const weft_executor *const weft_builtin_executors[] = {
#define EXECUTOR(name) &weft_executor_##name,
#include "executor/executor_list.def"
#undef EXECUTOR
    NULL,
};
