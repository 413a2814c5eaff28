/*
 * What naive and interchange share: matrices, options, and a checksum so that no compiler can drop
 * the work. Each of the two brings its multiplication, kept in a file of its own.
 */
#ifndef EXAMPLES_MATRIX_H
#define EXAMPLES_MATRIX_H

#include <stddef.h>

/* product = a x b; all are size x size, row by row; product is overwritten. */
typedef void matrix_multiply(float *product, const float *a, const float *b, size_t size);

/* The whole program around a multiplication: options, matrices, checksum. Returns the exit status.
 */
int matrix_main(int argc, char *argv[], const char *summary, matrix_multiply *multiply);

#endif
