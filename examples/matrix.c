/*
 * The program around a matrix multiplication. The default of 500 x 500 is the size of the published
 * measurements on the first Raspberry Pi (see README.md); its matrices (1 MB each) are far larger
 * than that machine's caches.
 */
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "matrix.h"

#define SIZE_DEFAULT  500
#define SIZE_MAX_SIDE 20000
#define REPEAT_MAX    1000000

static int parse_number(const char *option, const char *text, long max, long *ret)
{
    char *end;
    const long number = strtol(text, &end, 10);

    if (end == text || *end || number < 1 || number > max) {
        fprintf(stderr, "%s takes a number from 1 to %ld, not '%s'\n", option, max, text);
        return -1;
    }
    *ret = number;
    return 0;
}

/* Returns 0; 1 when help was asked for; -1 for wrong usage. */
static int parse_arguments(int argc, char *argv[], long *ret_size, long *ret_repeats)
{
    static const struct option options[] = {
        {"size", required_argument, NULL, 'n'},
        {"repeats", required_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(argc, argv, "n:r:h", options, NULL)) != -1) {
        if (option == 'h')
            return 1;
        if (option == 'n' && parse_number("--size", optarg, SIZE_MAX_SIDE, ret_size) == 0)
            continue;
        if (option == 'r' && parse_number("--repeats", optarg, REPEAT_MAX, ret_repeats) == 0)
            continue;
        return -1;
    }
    if (optind < argc) {
        fprintf(stderr, "%s: unexpected '%s'; see --help\n", argv[0], argv[optind]);
        return -1;
    }
    return 0;
}

/* Small whole numbers: a sum of SIZE_MAX_SIDE products of them is still exact in a float. */
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

static int multiply_and_print(matrix_multiply *multiply, size_t size, long repeats)
{
    const size_t count = size * size;
    float *matrix = calloc(count * 3, sizeof(*matrix));

    if (!matrix) {
        fprintf(stderr, "out of memory for three matrices of %zu x %zu\n", size, size);
        return EXIT_FAILURE;
    }
    fill(matrix, count, 1);
    fill(matrix + count, count, 2);
    for (long i = 0; i < repeats; i++)
        multiply(matrix + 2 * count, matrix, matrix + count, size);
    printf("checksum %.0f\n", checksum(matrix + 2 * count, count));
    free(matrix);
    return EXIT_SUCCESS;
}

int matrix_main(int argc, char *argv[], const char *summary, matrix_multiply *multiply)
{
    long size = SIZE_DEFAULT, repeats = 1;
    const int status = parse_arguments(argc, argv, &size, &repeats);

    if (status < 0)
        return 2;
    if (status > 0) {
        printf("usage: %s [--size N] [--repeats N]\n\n%s\n\n"
               "  -n, --size N     rows and columns of the matrices (%d)\n"
               "  -r, --repeats N  how many times to multiply (1)\n",
               argv[0], summary, SIZE_DEFAULT);
        return EXIT_SUCCESS;
    }
    return multiply_and_print(multiply, (size_t)size, repeats);
}
