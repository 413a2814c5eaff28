/* decimal: converts 64-bit numbers to decimal in three ways. Each way was found by counting the
 * events of the previous one. The first way divides for each digit: few instructions, but slow
 * ones. The second lets the compiler multiply by the reciprocal instead: more instructions in less
 * time. The third has fewer instructions and takes less time, because it does the expensive part
 * once per eight digits.
 *
 * The texts of all three ways are compared with those of printf before the measurement. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "list.h"
#include "options.h"
#include "rpistat/region.h"
#include "self.h"

#define TEXT_SIZE       24 /* room for the 20 digits of a number */
#define NUMBERS_DEFAULT 5000000
#define NUMBER_COUNT    4096 /* how many numbers are converted in rotation */

/* The base, hidden from the compiler, as in a library function that accepts any base. */
static volatile uint64_t any_base = 10;

static char *convert_general(char *end, uint64_t number)
{
    const uint64_t base = any_base;

    do {
        *--end = (char)('0' + number % base);
        number /= base;
    } while (number > 0);
    return end;
}

/* The compiler turns a division by a constant into a multiplication by its reciprocal. */
static char *convert_constant(char *end, uint64_t number)
{
    do {
        *--end = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return end;
}

/* The digits of 0 to 99, in pairs. */
static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233"
                            "34353637383940414243444546474849505152535455565758596061626364656667"
                            "6869707172737475767778798081828384858687888990919293949596979899";

/* Write the eight digits of a number below 10^8. The number is converted once to fixed point, with
 * its first two digits as integer part and units of 2^-57. Then each step writes the integer part
 * and multiplies the rest by a hundred. The fraction is too large by less than 2^27 units. After
 * three steps the error is below 2^47, less than a digit. */
static void put_eight(char *text, uint32_t number)
{
    const uint64_t unit = (UINT64_C(1) << 57) / 1000000 + 1, mask = (UINT64_C(1) << 57) - 1;
    uint64_t rest = number * unit;

    for (int i = 0; i < 8; i += 2) {
        memcpy(text + i, pairs + 2 * (rest >> 57), 2);
        rest = (rest & mask) * 100;
    }
}

/* Convert with strength reduction: one 64-bit division per eight digits. The rest has 32 bits and
 * is divided once per two digits, which come from a table. */
static char *convert_reduced(char *end, uint64_t number)
{
    uint32_t top;

    while (number >= 100000000) {
        const uint64_t blocks = number / 100000000;

        end -= 8;
        put_eight(end, (uint32_t)(number - blocks * 100000000));
        number = blocks;
    }
    for (top = (uint32_t)number; top >= 10;) {
        const uint32_t hundreds = top / 100;

        end -= 2;
        memcpy(end, pairs + 2 * (size_t)(top - hundreds * 100), 2);
        if (top < 100)
            return end;
        top = hundreds;
    }
    *--end = (char)('0' + top);
    return end;
}

static const struct way {
    const char *name, *what;
    char *(*convert)(char *end, uint64_t number);
} ways[] = {
    {"general", "n / base", convert_general},
    {"constant", "n / 10", convert_constant},
    {"reduced", "n / 10^8, pairs by table", convert_reduced},
};

#define WAY_COUNT (sizeof(ways) / sizeof(ways[0]))

/* Find the way of this name. Return 1 and its number, or 0 with a message on standard error. */
static int find_way(const char *name, size_t *ret)
{
    for (size_t w = 0; w < WAY_COUNT; w++) {
        if (strcmp(ways[w].name, name) == 0) {
            *ret = w;
            return 1;
        }
    }
    fprintf(stderr, "decimal: there is no way '%s': general, constant or reduced\n", name);
    return 0;
}

/* Fill an array with numbers whose lengths are equally frequent, as in texts. */
static void make_numbers(uint64_t *number)
{
    uint32_t random = 20130626;

    for (int i = 0; i < NUMBER_COUNT; i++) {
        uint64_t high = list_random(&random), low = list_random(&random);

        number[i] = (high << 32 | low) >> (list_random(&random) & 63);
    }
    number[0] = 0;
    number[1] = UINT64_MAX;
}

static int check(const uint64_t *number)
{
    for (int i = 0; i < NUMBER_COUNT; i++) {
        char expected[TEXT_SIZE];

        snprintf(expected, sizeof(expected), "%" PRIu64, number[i]);
        for (size_t w = 0; w < WAY_COUNT; w++) {
            char room[TEXT_SIZE + 8] = "";
            char *end = room + TEXT_SIZE, *text = ways[w].convert(end, number[i]);

            if ((size_t)(end - text) != strlen(expected) ||
                memcmp(text, expected, strlen(expected)) != 0) {
                fprintf(stderr, "decimal: %s makes '%s' of %s\n", ways[w].name, text, expected);
                return -1;
            }
        }
    }
    return 0;
}

/* Return the time of the conversions in seconds. *sum keeps the compiler from removing the work. */
static double measure(const struct way *way, const uint64_t *number, long long count, int self,
                      uint64_t *sum)
{
    struct timespec from, to;
    char room[TEXT_SIZE + 8];
    char *end = room + TEXT_SIZE;

    if (self)
        rps_region_begin(way->name);
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long long i = 0; i < count; i++)
        *sum += (uint64_t)*way->convert(end, number[i % NUMBER_COUNT]);
    clock_gettime(CLOCK_MONOTONIC, &to);
    if (self)
        rps_region_end(way->name);
    return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

static void print_figure(double figure)
{
    if (isnan(figure))
        printf("  %12s", "-");
    else
        printf("  %12.2f", figure);
}

static void print_row(const struct way *way, double seconds, long long count, int self)
{
    printf("%-9s %-27s", way->name, way->what);
    print_figure(seconds / (double)count * 1e9);
    if (self) {
        print_figure(rps_region_value(way->name, "instructions") / (double)count);
        print_figure(rps_region_value(way->name, "clock") / (double)count);
        print_figure(rps_region_value(way->name, "cpi"));
    }
    putchar('\n');
}

/* Print the headings of the --self columns. The clock column has the name of the clock event, such
 * as "cycles". */
static void print_self_heading(void)
{
    struct rps_region_item item = {.label = "clock"};

    rps_region_item(0, &item);
    printf("  %12s  %12s  %12s", "instructions", item.label, "CPI");
}

int main(int argc, char *argv[])
{
    static uint64_t number[NUMBER_COUNT];
    long long count = NUMBERS_DEFAULT;
    const char *only = NULL;
    size_t from = 0, to = WAY_COUNT;
    int self = 0, status;
    const struct example_option options[] = {
        {.name = "numbers",
         .argument = "N",
         .help = "how many to convert, each way",
         .min = 1,
         .max = 1LL << 40,
         .number = &count},
        {.name = "self", .help = "count each way with rpistat/region.h", .flag = &self},
        {.name = "way",
         .argument = "NAME",
         .help = "general, constant or reduced alone",
         .text = &only},
        {.name = NULL},
    };
    uint64_t sum = 0;

    status = example_options(argc, argv, "64-bit numbers to decimal, three ways.", options);
    if (status != 0)
        return status > 0 ? EXIT_SUCCESS : 2;
    if (only && !find_way(only, &from))
        return 2;
    to = only ? from + 1 : to;
    make_numbers(number);
    if (check(number) < 0)
        return EXIT_FAILURE;
    if (self)
        self_open();
    printf("%-9s %-27s  %12s", "way", "division", "ns/number");
    if (self)
        print_self_heading();
    putchar('\n');
    for (size_t w = from; w < to; w++)
        print_row(&ways[w], measure(&ways[w], number, count, self, &sum), count, self);
    printf("checksum %" PRIu64 "\n", sum);
    if (self)
        self_report();
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
