/* cmocka with everything it wants included before it. */
#ifndef WEFT_TESTS_CMOCKA_ALL_H
#define WEFT_TESTS_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

/* cmocka's own takes NaN for equal to everything, so a test of a number that became NaN could not fail. */
#undef assert_float_equal
#define assert_float_equal(a, b, epsilon)                                                                                        \
    (assert_true(isnan((double)(a)) == isnan((double)(b))),                                                                      \
     _assert_float_equal((float)(a), (float)(b), (float)(epsilon), __FILE__, __LINE__))

#endif
