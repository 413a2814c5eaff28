/* Benchmark of comparing runs: how often a change is reported where there is none, and how often a
 * real change is reported.
 *
 * usage: changes [--quick] [PART...]
 *
 * groups: several runs of the same workload against one or several, which differ by 1 %. All
 *     values are normal (normal), share four fifths of their variance (related), or have two modes
 * power: five runs against five, with 1 % between runs: share of changes with p below .05, of a
 *     single metric (found), and as the only changed metric of 40 (of 40)
 * few: 3, 4, 5 and 10 runs per side that differ by 1 %, alone or with a neighbour that slows down
 *     three successive runs by 10 to 15 %. B takes as long as A, or 5 % longer. Verdicts "less" and
 *     "more", by the interval alone (before) and with ranks
 * gate: a limit of +3 %, as in `compare --fail-if`: how often it holds, fails, and is inconclusive.
 *     For the inconclusive cases: the median of the recommended runs per side (more), and how often
 *     the new runs, at most 200, give a decision (decided)
 *
 * Values are percentages, at p < .05. "any" is the share of comparisons of 40 independent metrics
 * that have an alarm after correction. By default all parts run. --quick runs a tenth of the pairs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/change.h"
#include "rpistat/random.h"

#define PI 3.14159265358979323846

#define PAIRS       4000
#define TESTS       40
#define PERIODS_MAX 3000
#define RUNS_MAX    10
#define POWER_RUNS  5
#define GATE_MAX    200 /* limit of new runs per side */

#define ALARM   .05
#define BETWEEN .01 /* standard deviation between runs */
#define RELATED .8  /* share of the variance that all metrics of a run have in common */
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

/* --- groups ----------------------------------------------------------------------------------- */

/* Return whether any change is significant after correction. */
static int any_alarm(const double *p)
{
    struct rps_change of[TESTS], *change[TESTS];
    struct rps_arena *arena = rps_arena_new();
    int ret = 0;

    for (int t = 0; t < TESTS; t++) {
        of[t] = (struct rps_change){.a = 1, .p = p[t], .adjusted = NAN};
        change[t] = &of[t];
    }
    rps_change_correct(arena, change, TESTS);
    for (int t = 0; t < TESTS; t++)
        ret |= of[t].adjusted < ALARM;
    rps_arena_free(arena);
    return ret;
}

/* Return a random deviation of a run, from a distribution with two modes. */
static double two_modes(uint64_t *random)
{
    return (rps_random_unit(random) < .5 ? -.95 : .95) + .3 * normal(random);
}

/* Make the metric values of the runs of one side. `common` is the share of the variance between
 * runs that all metrics have in common. */
static void make_runs(double (*draw)(uint64_t *random), double common, size_t runs,
                      uint64_t *random, struct rps_change_value value[TESTS][RUNS_MAX])
{
    memset(value, 0, TESTS * sizeof(*value));
    for (size_t r = 0; r < runs; r++) {
        double all = sqrt(common) * draw(random);

        for (int t = 0; t < TESTS; t++)
            value[t][r].value = exp(BETWEEN * (all + sqrt(1 - common) * draw(random)));
    }
}

/* Return the percentage of tests with an alarm. *ret_any is the percentage of comparisons with an
 * alarm. */
static double alarms_of(double (*draw)(uint64_t *random), double common, size_t before,
                        size_t after, int comparisons, double *ret_any)
{
    static struct rps_change_value a[TESTS][RUNS_MAX], b[TESTS][RUNS_MAX];
    int alarms = 0, any = 0;
    uint64_t random = 1;
    double p[TESTS];

    for (int i = 0; i < comparisons; i++) {
        make_runs(draw, common, before, &random, a);
        make_runs(draw, common, after, &random, b);
        for (int t = 0; t < TESTS; t++) {
            p[t] = rps_change_find(a[t], before, b[t], after, RPS_CHANGE_MEAN).p;
            alarms += p[t] < ALARM;
        }
        any += any_alarm(p);
    }
    *ret_any = 100. * any / comparisons;
    return 100. * alarms / TESTS / comparisons;
}

static void print_groups(int pairs)
{
    static const size_t sizes[][2] = {{2, 2}, {3, 3}, {5, 5}, {10, 10},
                                      {2, 1}, {3, 1}, {5, 1}, {10, 1}};
    int comparisons = pairs / 4;

    printf("\n%-16s %8s %8s %8s %8s %8s\n", "groups", "normal", "any", "related", "modes", "any");
    for (size_t k = 0; k < RPS_COUNT(sizes); k++) {
        size_t before = sizes[k][0], after = sizes[k][1];
        double any, related, any_modes, alarms, modes;

        alarms = alarms_of(normal, 0, before, after, comparisons, &any);
        alarms_of(normal, RELATED, before, after, comparisons, &related);
        modes = alarms_of(two_modes, 0, before, after, comparisons, &any_modes);
        printf("%zu against %-6zu %8.1f %8.1f %8.1f %8.1f %8.1f\n", before, after, alarms, any,
               related, modes, any_modes);
    }
}

/* --- power ------------------------------------------------------------------------------------ */

/* Draw two series of runs that differ by `between`, and return the change between the series. */
static struct rps_change draw_change(double change, double between, size_t runs, uint64_t *random)
{
    static struct rps_change_value value[2][GATE_MAX];

    for (size_t r = 0; r < 2 * runs; r++)
        value[r % 2][r / 2].value = (r % 2 ? 1 + change : 1) * exp(between * normal(random));
    return rps_change_find(value[0], runs, value[1], runs, RPS_CHANGE_MEAN);
}

static void print_change(double change, int tries)
{
    int found = 0, sure = 0;
    uint64_t random = 1;

    for (int i = 0; i < tries; i++) {
        struct rps_change told = draw_change(change, BETWEEN, POWER_RUNS, &random);

        found += told.p < ALARM;
        sure += told.p < ALARM / TESTS;
    }
    printf("%+14.0f %% %8.1f %8.1f\n", 100 * change, 100. * found / tries, 100. * sure / tries);
}

static void print_power(int pairs)
{
    static const double changes[] = {0, .01, .02, .03, .04, .05, .06, .10};

    printf("\n%-16s %8s %8s\n", "power", "found", "of 40");
    for (size_t k = 0; k < RPS_COUNT(changes); k++)
        print_change(changes[k], 4 * pairs);
}

/* --- few runs --------------------------------------------------------------------------------- */

#define NEIGHBOUR_RUNS   3  /* number of successive runs that a neighbour slows down */
#define NEIGHBOUR_LONGER .1 /* minimum slowdown, as a share; the maximum is 1.5 times as much */

/* Draw runs of A, then of B, as two series that are recorded one after the other. The neighbour
 * begins at a random run. */
static void draw_series(struct rps_change_value value[2][RUNS_MAX], size_t runs, double change,
                        int has_neighbour, uint64_t *random)
{
    size_t first = (size_t)(rps_random_unit(random) * (double)(2 * runs));

    for (size_t r = 0; r < 2 * runs; r++) {
        double *time = &value[r / runs][r % runs].value;

        *time = (r < runs ? 1 : 1 + change) * exp(BETWEEN * normal(random));
        if (has_neighbour && r >= first && r < first + NEIGHBOUR_RUNS)
            *time *= 1 + NEIGHBOUR_LONGER * (1 + rps_random_unit(random) / 2);
    }
}

static void print_few_of(size_t runs, int has_neighbour, double change, int tries)
{
    struct rps_change_value value[2][RUNS_MAX] = {{{0}}};
    int before[2] = {0}, after[2] = {0};
    uint64_t random = 1;

    for (int i = 0; i < tries; i++) {
        struct rps_change told;

        draw_series(value, runs, change, has_neighbour, &random);
        told = rps_change_find(value[0], runs, value[1], runs, RPS_CHANGE_MEAN);
        before[told.ratio > 0] += told.p < ALARM;
        after[told.ratio > 0] += told.p < ALARM && !told.is_few;
    }
    printf("%6zu %-9s %+5.0f %% %8.1f %8.1f %8.1f %8.1f\n", runs,
           has_neighbour ? "neighbour" : "alone", 100 * change, 100. * before[0] / tries,
           100. * before[1] / tries, 100. * after[0] / tries, 100. * after[1] / tries);
}

static void print_few(int pairs)
{
    static const size_t runs[] = {3, 4, 5, 10};

    printf("\n%6s %-9s %7s %8s %8s %8s %8s\n", "few", "machine", "true", "less", "more", "less now",
           "more now");
    for (int has_neighbour = 0; has_neighbour < 2; has_neighbour++)
        for (size_t r = 0; r < RPS_COUNT(runs); r++)
            for (int is_longer = 0; is_longer < 2; is_longer++)
                print_few_of(runs[r], has_neighbour, is_longer ? .05 : 0, pairs);
}

/* --- the gate --------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print_gate_of(double between, double change, size_t runs, int tries)
{
    double *more = calloc((size_t)tries, sizeof(*more));
    int of[RPS_CHANGE_INCONCLUSIVE + 1] = {0}, decided = 0, again = 0;
    uint64_t random = 1;

    for (int i = 0; i < tries; i++) {
        struct rps_change told = draw_change(change, between, runs, &random);
        enum rps_change_answer answer = rps_change_judge(&told, LIMIT, 1);
        double anew = rps_change_runs(&told, LIMIT);

        if (answer == RPS_CHANGE_INCONCLUSIVE)
            more[of[answer]] = anew;
        of[answer]++;
        if (answer != RPS_CHANGE_INCONCLUSIVE || anew > GATE_MAX)
            continue;
        again++;
        told = draw_change(change, between, (size_t)anew, &random);
        decided += rps_change_judge(&told, LIMIT, 1) != RPS_CHANGE_INCONCLUSIVE;
    }
    qsort(more, (size_t)of[RPS_CHANGE_INCONCLUSIVE], sizeof(*more), by_size);
    printf("%+5.0f %% %6.0f %% %6zu %8.1f %8.1f %10.1f %8.0f %8.1f\n", 100 * change, 100 * between,
           runs, 100. * of[RPS_CHANGE_HOLDS] / tries, 100. * of[RPS_CHANGE_FAILS] / tries,
           100. * of[RPS_CHANGE_INCONCLUSIVE] / tries,
           of[RPS_CHANGE_INCONCLUSIVE] > 0 ? more[of[RPS_CHANGE_INCONCLUSIVE] / 2] : NAN,
           again > 0 ? 100. * decided / again : NAN);
    free(more);
}

static void print_gate(int pairs)
{
    static const double spreads[] = {.01, .03}, changes[] = {0, .02, .05, .10};
    static const size_t runs[] = {5, 10};

    printf("\n%7s %8s %6s %8s %8s %10s %8s %8s\n", "gate", "between", "runs", "holds", "fails",
           "undecided", "more", "decided");
    for (size_t s = 0; s < RPS_COUNT(spreads); s++)
        for (size_t r = 0; r < RPS_COUNT(runs); r++)
            for (size_t k = 0; k < RPS_COUNT(changes); k++)
                print_gate_of(spreads[s], changes[k], runs[r], pairs);
}

/* ---------------------------------------------------------------------------------------------- */

static const struct part {
    const char *name;
    void (*print)(int pairs);
} parts[] = {
    {"groups", print_groups}, {"power", print_power}, {"few", print_few}, {"gate", print_gate}};

static int usage(void)
{
    fprintf(stderr, "usage: changes [--quick] [groups|power|few|gate]...\n");
    return 2;
}

static int is_asked(const char *part, int count, char **names)
{
    for (int i = 0; i < count; i++)
        if (strcmp(part, names[i]) == 0)
            return 1;
    return count == 0;
}

int main(int argc, char **argv)
{
    int quick = argc > 1 && strcmp(argv[1], "--quick") == 0, known = 0;

    argc -= 1 + quick;
    argv += 1 + quick;
    for (size_t p = 0; p < RPS_COUNT(parts); p++)
        known += argc > 0 && is_asked(parts[p].name, argc, argv);
    if (known < argc)
        return usage();
    for (size_t p = 0; p < RPS_COUNT(parts); p++)
        if (is_asked(parts[p].name, argc, argv))
            parts[p].print(quick ? PAIRS / 10 : PAIRS);
    return 0;
}
