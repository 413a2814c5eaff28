/* Main program for a matrix multiplication. The default of 500 x 500 is the size of the published
 * measurements on the first Raspberry Pi (see README.md). Matrices of that size (1 MB each) are far
 * larger than the caches of the first Raspberry Pi. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "matrix.h"
#include "options.h"
#include "rpistat/region.h"
#include "self.h"

#define SIZE_DEFAULT  500
#define SIZE_MAX_SIDE 20000
#define REPEAT_MAX    1000000

/* Fill a matrix with small integers. A sum of SIZE_MAX_SIDE products of them is exact in a float.
 */
static void fill(float *matrix, size_t count, uint32_t random)
{
    for (size_t i = 0; i < count; i++) {
        random = random * 1664525 + 1013904223;
        matrix[i] = (float)(random >> 29);
    }
}

static double checksum(const float *matrix, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += matrix[i] * (double)(i % 7 + 1);
    return sum;
}

static int multiply_and_print(matrix_multiply *multiply, size_t size, long repeats, int self)
{
    const size_t count = size * size;
    float *matrix = calloc(count * 3, sizeof(*matrix));

    if (!matrix) {
        fprintf(stderr, "out of memory for three matrices of %zu x %zu\n", size, size);
        return EXIT_FAILURE;
    }
    fill(matrix, count, 1);
    fill(matrix + count, count, 2);
    for (long i = 0; i < repeats; i++) {
        if (self)
            rps_region_begin("multiply");
        multiply(matrix + 2 * count, matrix, matrix + count, size);
        if (self)
            rps_region_end("multiply");
    }
    printf("checksum %.0f\n", checksum(matrix + 2 * count, count));
    free(matrix);
    return EXIT_SUCCESS;
}

int matrix_main(int argc, char *argv[], const char *summary, matrix_multiply *multiply)
{
    long long size = SIZE_DEFAULT, repeats = 1;
    int self = 0, status;
    const struct example_option options[] = {
        {.name = "size",
         .argument = "N",
         .help = "rows and columns of the matrices",
         .min = 1,
         .max = SIZE_MAX_SIDE,
         .number = &size},
        {.name = "repeats",
         .argument = "N",
         .help = "how many times to multiply",
         .min = 1,
         .max = REPEAT_MAX,
         .number = &repeats},
        {.name = "self", .help = "count the multiplications with rpistat/region.h", .flag = &self},
        {.name = NULL},
    };

    status = example_options(argc, argv, summary, options);
    if (status != 0)
        return status > 0 ? EXIT_SUCCESS : 2;
    if (self)
        self_open();
    status = multiply_and_print(multiply, (size_t)size, (long)repeats, self);
    if (self)
        self_report();
    return status;
}
