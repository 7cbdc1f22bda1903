/* Random calls and results, and whether two of them say the same. */
#ifndef WEFT_TESTS_HELP_MESSAGES_H
#define WEFT_TESTS_HELP_MESSAGES_H

#include "base/arena.h"
#include "weft/builder.h"
#include "weft/request.h"

weft_call *random_call(weft_arena *a, uint64_t *seed);
/* Carries one reference; its memory is its own. */
weft_result *random_result(uint64_t *seed);
void assert_same_call(const weft_call *a, const weft_call *b);
void assert_same_result(const weft_result *a, const weft_result *b);

#endif
