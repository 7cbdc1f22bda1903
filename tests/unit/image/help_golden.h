/* Reading files and golden PNG pictures without the code under test (libpng's simplified interface). */
#ifndef WEFT_TESTS_IMAGE_HELP_GOLDEN_H
#define WEFT_TESTS_IMAGE_HELP_GOLDEN_H

#include "harness/check.h"
#include "image/picture.h"

#define GOLDEN_DIR WEFT_TEST_DATA "/image/golden"

/* The file's bytes, malloc'ed; fails the test when it cannot be read. */
uint8_t *help_read_file(const char *path, size_t *n_bytes);
/* A grey, RGB or RGBA PNG of golden/ as it is. Owned by the caller; freed by weft_picture_destroy. */
weft_picture help_golden(const char *name);
/* Largest difference of any sample; 1000 when size or channels differ. */
int help_difference(const weft_picture *a, const weft_picture *b);

#endif
