/* cmocka with everything it wants included before it. */
#ifndef WEFT_TESTS_CMOCKA_ALL_H
#define WEFT_TESTS_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
