/* Numbers as text, independent of the process's locale: '.' is the decimal point. */
#ifndef WEFT_WIRE_NUMBER_TEXT_H
#define WEFT_WIRE_NUMBER_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#define WEFT_NUMBER_BYTES 40 /* enough for every number and its NUL */

void weft_print_int(int64_t v, char *text);
void weft_print_uint(uint64_t v, char *text);
/* The shortest decimal that reads back to exactly v; among those of that length a nearest one. False for NaN and infinities (text
 * is empty). */
bool weft_print_float(float v, char *text);
bool weft_print_double(double v, char *text);

#endif
