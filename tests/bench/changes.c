/*
 * The yardstick of comparing runs: how often a change is told where there is none, and how often
 * one that is there.
 *
 * usage: changes [--quick] [PART...]
 *
 * pairs: two runs of the same, one against one, by series and periods: of 100 pairs those in which
 *     the ratio of sums differs at 5 %: by Welch's test on periods (welch), by rpistat of all pairs
 *     (ours) and of those in which it tells (told), with the share that it calls too short to tell
 *     (short). Comparisons of 40 such figures with any alarm, corrected (any)
 * groups: likewise groups of runs, 1 % between runs, as normal numbers and as two modes
 * power: changes found by five runs a side with 1 % between runs: p below .05 (found), estimate
 *     beyond 3 % besides (fails), the whole interval beyond 3 % (proven)
 *
 * All parts by default. --quick: a tenth of the pairs.
 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/change.h"
#include "rpistat/random.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define PI           3.14159265358979323846

#define PAIRS        2000
#define TESTS        40
#define PERIODS_MOST 3000
#define RUNS_MOST    10

#define ALARM   .05
#define BETWEEN .01 /* standard deviation between runs */
#define LIMIT   .03

/* --- random numbers --------------------------------------------------------------------------- */

static double exponential(uint64_t *random)
{
    return -log(1 - rps_random_unit(random));
}

static double normal(uint64_t *random)
{
    return sqrt(2 * exponential(random)) * cos(2 * PI * rps_random_unit(random));
}

/* --- series of variance 1 --------------------------------------------------------------------- */

static void add_ar(uint64_t *random, double phi, double variance, double *z, size_t n)
{
    double value = normal(random), deviation = sqrt(variance), shock = sqrt(1 - phi * phi);

    for (size_t i = 0; i < n; i++) {
        z[i] += deviation * value;
        value = phi * value + shock * normal(random);
    }
}

static void fill_ar(uint64_t *random, double phi, double *z, size_t n)
{
    add_ar(random, phi, 1, z, n);
}

/* A slow one of the given correlation beside white noise, and beside a quick one. */
static void fill_white_slow(uint64_t *random, double phi, double *z, size_t n)
{
    add_ar(random, 0, .5, z, n);
    add_ar(random, phi, .5, z, n);
}

static void fill_quick_slow(uint64_t *random, double phi, double *z, size_t n)
{
    add_ar(random, .5, .5, z, n);
    add_ar(random, phi, .5, z, n);
}

/* Two phases in turn, of exponential length. */
static void fill_turns(uint64_t *random, double length, double *z, size_t n)
{
    double level = rps_random_unit(random) < .5 ? -1 : 1, left = length * exponential(random);

    for (size_t i = 0; i < n; i++) {
        z[i] = .9 * level + .4 * normal(random);
        left -= 1;
        if (left < 0) {
            level = -level;
            left += length * exponential(random);
        }
    }
}

static void fill_sine(uint64_t *random, double period, double *z, size_t n)
{
    double phase = 2 * PI * rps_random_unit(random);

    for (size_t i = 0; i < n; i++)
        z[i] = 1.3 * sin(phase + 2 * PI * (double)i / period) + .4 * normal(random);
}

static const struct kind {
    const char *name;
    void (*fill)(uint64_t *random, double number, double *z, size_t n); /* z: zeros */
    double number;
} kinds[] = {
    {"white", fill_ar, 0},
    {"AR .5", fill_ar, .5},
    {"AR .8", fill_ar, .8},
    {"AR .9", fill_ar, .9},
    {"AR .97", fill_ar, .97},
    {"white + AR .9", fill_white_slow, .9},
    {"white + AR .97", fill_white_slow, .97},
    {"AR .5 + AR .97", fill_quick_slow, .97},
    {"turns of 20", fill_turns, 20},
    {"sine of 30", fill_sine, 30},
    {"sine of 200", fill_sine, 200},
};

static const size_t lengths[] = {60, 200, 600, 3000};

/* --- one against one -------------------------------------------------------------------------- */

/* A run: a ratio of sums, as CPI is of cycles and instructions, and by its periods. */
struct run {
    struct rps_change_value value;
    double mean, variance; /* of the mean of the periods' ratios, as if they were independent */
};

static struct run make_run(const struct kind *kind, size_t n, uint64_t *random)
{
    static double x[PERIODS_MOST], y[PERIODS_MOST];
    double sum_x = 0, sum_y = 0, sum = 0, squares = 0, ratio;
    struct rps_within within;
    struct run ret;

    memset(y, 0, n * sizeof(*y));
    kind->fill(random, kind->number, y, n);
    for (size_t i = 0; i < n; i++) {
        double cpi = 1 + .1 * y[i];

        x[i] = 1e6 * (1 + .2 * rps_random_unit(random));
        y[i] = cpi * x[i];
        sum_x += x[i];
        sum_y += y[i];
        sum += cpi;
        squares += cpi * cpi;
    }
    ratio = sum_y / sum_x;
    for (size_t i = 0; i < n; i++)
        y[i] -= ratio * x[i];
    within = rps_within_find(y, n);
    ret.mean = sum / (double)n;
    ret.variance = (squares / (double)n - ret.mean * ret.mean) / (double)(n - 1);
    ret.value = (struct rps_change_value){.value = ratio,
                                          .variance = within.variance / sum_x / sum_x,
                                          .degrees = within.degrees,
                                          .effective = within.effective};
    return ret;
}

static struct rps_change compare_pair(const struct kind *kind, size_t n, uint64_t *random,
                                      int *ret_welch)
{
    struct run a = make_run(kind, n, random), b = make_run(kind, n, random);

    *ret_welch = fabs(a.mean - b.mean) > 1.96 * sqrt(a.variance + b.variance);
    return rps_change_find(&a.value, 1, &b.value, 1);
}

/* Whether there is an alarm after correction. */
static int any_alarm(const double *p, size_t count)
{
    double adjusted[TESTS];
    int ret = 0;

    if (rps_change_correct(p, count, adjusted) < 0)
        exit(1);
    for (size_t i = 0; i < count; i++)
        ret |= adjusted[i] < ALARM;
    return ret;
}

static void print_pair(const struct kind *kind, size_t n, int pairs)
{
    int welch = 0, told = 0, alarms = 0, any = 0;
    uint64_t random = n;
    double p[TESTS];

    for (int i = 0; i < pairs; i++) {
        int by_welch;
        struct rps_change change = compare_pair(kind, n, &random, &by_welch);

        welch += by_welch;
        told += !isnan(change.p);
        alarms += change.p < ALARM;
        p[i % TESTS] = change.p;
        if (i % TESTS == TESTS - 1)
            any += any_alarm(p, TESTS);
    }
    printf("%-16s %6zu %8.1f %8.1f %8.1f %8.1f %8.1f\n", kind->name, n, 100. * welch / pairs,
           100. * alarms / pairs, told > 0 ? 100. * alarms / told : NAN,
           100. * (pairs - told) / pairs, 100. * any * TESTS / pairs);
}

static void print_pairs(int pairs)
{
    printf("\n%-16s %6s %8s %8s %8s %8s %8s\n", "pairs", "n", "welch", "ours", "told", "short", "any");
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (size_t i = 0; i < COUNT(lengths); i++)
            print_pair(&kinds[k], lengths[i], pairs);
}

int main(int argc, char **argv)
{
    print_pairs(argc > 1 ? atoi(argv[1]) : PAIRS);
    return 0;
}
