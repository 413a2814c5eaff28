/* Tests of changes, limits, correction, and Student's t. Expected values come from SciPy 1.10:
 * stats.t, and Welch's test written in NumPy. stats.ttest_ind agrees. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rpistat/tally.h"
#include "rpistat/change.h"
#include "rpistat/random.h"

#define RUNS_MAX 10

/* Check that the values agree to a relative 1e-9. NaN agrees only with NaN. */
static void assert_near(double value, double expected)
{
    if (isnan(value) != isnan(expected) ||
        (!isnan(value) && !(fabs(value - expected) <= 1e-9 * fabs(expected))))
        fail_msg("%.15g is not %.15g", value, expected);
}

static void assert_change(const struct rps_change *change, double ratio, double low, double high,
                          double p)
{
    assert_near(change->ratio, ratio);
    assert_near(change->low, low);
    assert_near(change->high, high);
    assert_near(change->p, p);
    assert_near(change->adjusted, p);
}

/* Find the change between runs that have only a value and a noise floor. */
static struct rps_change find(const double *a, size_t a_count, const double *b, size_t b_count,
                              double floor)
{
    struct rps_change_value value[2][RUNS_MAX];

    for (size_t i = 0; i < RUNS_MAX; i++)
        for (int side = 0; side < 2; side++)
            value[side][i] = (struct rps_change_value){.floor = floor};
    for (size_t i = 0; i < a_count; i++)
        value[0][i].value = a[i];
    for (size_t i = 0; i < b_count; i++)
        value[1][i].value = b[i];
    return rps_change_find(value[0], a_count, value[1], b_count, RPS_CHANGE_MEAN);
}

#define FIND(a, b, floor) find(a, RPS_COUNT(a), b, RPS_COUNT(b), floor)

/* --- Student's t ------------------------------------------------------------------------------ */

static void test_student(void **state)
{
    static const double at[] = {.1, 1, 2.5, 100};
    static const struct {
        double freedom, p[4], t;
    } row[] = {
        {1, {.936548965139, .5, .242237883182, .00636598552982}, 12.7062047364},
        {1.25, {.933941632023, .471878765948, .200119116981, .00215435029147}, 8.02795138851},
        {2.5, {.927806544062, .404061027278, .104569963078, 1.43832984233e-05}, 3.57465484201},
        {3.7, {.92552526747, .37814139976, .0718220229118, 1.73681728651e-07}, 2.86752070719},
        {8, {.922804909431, .346593507087, .0369420377136, 1.11678030483e-13}, 2.30600413503},
        {100, {.920544531096, .319724155784, .0140457891241, 4.86299444454e-102}, 1.98397151845},
        {1234.5, {.920360562026, .317506475231, .0125482604029, 0}, 1.96188748333},
    };

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(row); i++) {
        for (size_t k = 0; k < RPS_COUNT(at); k++) {
            double p = rps_student_p(at[k], row[i].freedom);

            assert_true(fabs(p - row[i].p[k]) <= 1e-8 * row[i].p[k] + 1e-300);
            assert_true(rps_student_p(-at[k], row[i].freedom) == p);
        }
        assert_true(fabs(rps_student_95(row[i].freedom) - row[i].t) < 1e-7);
    }
}

static void test_student_ends(void **state)
{
    (void)state;
    assert_near(rps_student_p(2.5, INFINITY), .0124193306517);
    assert_near(rps_student_95(INFINITY), 1.95996398454);
    assert_true(fabs(rps_student_p(2.5, 9e6) - rps_student_p(2.5, 2e7)) < 1e-7);
    assert_true(rps_student_p(0, 3) == 1 && rps_student_p(1e-300, 3) == 1);
    assert_true(rps_student_p(INFINITY, 3) == 0 && rps_student_p(1e300, 3) == 0);
    assert_true(isnan(rps_student_p(NAN, 3)) && isnan(rps_student_p(1, NAN)));
}

/* --- groups ----------------------------------------------------------------------------------- */

static void test_groups(void **state)
{
    static const double a[] = {1.21, 1.18, 1.2, 1.23, 1.19}, b[] = {1.25, NAN, 1.22, 1.27};
    struct rps_change change = FIND(a, b, 0);

    (void)state;
    assert_int_equal(change.basis, RPS_CHANGE_GROUPS);
    assert_int_equal(change.why, RPS_CHANGE_TESTED);
    assert_near(change.a, 1.20187731832);
    assert_near(change.b, 1.24649685824);
    assert_change(&change, .037124870598, -.00364219626911, .0795599664951, .0641414859304);
}

/* The unit of the values does not change the result, however small. */
static void test_units(void **state)
{
    static const double unit[] = {1e-300, 1, 1e300};

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(unit); i++) {
        double a[] = {1.21, 1.18, 1.2, 1.23, 1.19}, b[] = {1.25, 1.22, 1.27};
        struct rps_change change;

        for (size_t k = 0; k < RPS_COUNT(a); k++)
            a[k] *= unit[i];
        for (size_t k = 0; k < RPS_COUNT(b); k++)
            b[k] *= unit[i];
        change = FIND(a, b, 0);
        assert_near(change.a / unit[i], 1.20187731832);
        assert_true(fabs(change.p - .0641414859304) < 1e-9);
        assert_true(fabs(change.low - -.00364219626911) < 1e-9);
    }
}

static void test_not_positive(void **state)
{
    static const double negative[] = {-2, -1.5, -2.5, -2.2}, mixed[] = {1, 0, .5};
    static const double zero[] = {0, 0, 0}, some[] = {3, 5, 4};
    struct rps_change change = FIND(negative, mixed, 0);

    (void)state;
    assert_near(change.a, -2.05);
    assert_near(change.b, .5);
    assert_change(&change, 1.24390243902, .757545323448, 1.7302595546, .00214636942731);
    change = FIND(zero, some, 0); /* the interval covers the difference */
    assert_true(change.a == 0);
    assert_true(fabs(change.b - 4) < 1e-15);
    assert_change(&change, NAN, 1.51586228816, 6.48413771184, .0202041028867);
    change = FIND(some, zero, 0);
    assert_near(change.ratio, -1);
    assert_near(change.low, -6.48413771184 / 4);
}

static void test_floor(void **state)
{
    static const double a[] = {100, 100, 100}, b[] = {110, 110, 110}, more[] = {100, 100, 100, 100};
    struct rps_change_value value[2][3];
    struct rps_change change;

    (void)state;
    for (int i = 0; i < 3; i++) /* random counts: the variance equals the count */
        for (int side = 0; side < 2; side++)
            value[side][i] =
                (struct rps_change_value){.value = side ? 110 : 100, .floor = side ? 110 : 100};
    change = rps_change_find(value[0], 3, value[1], 3, RPS_CHANGE_MEAN);
    assert_change(&change, .1, -.118712814925, .372991710866, .298311540895);
    assert_true(change.a == 100);
    change = FIND(a, b, 0); /* without variation, any difference is a change */
    assert_near(change.ratio, .1);
    assert_true(change.p < 1e-20 && change.p >= 0);
    assert_near(change.low, change.high);
    change = FIND(a, more, 0);
    assert_true(change.ratio == 0 && change.p == 1 && change.low <= 0 && change.high >= 0);
    assert_true(change.high < 1e-10);
}

static void test_all_zero(void **state)
{
    static const double zero[] = {0, 0, 0};
    struct rps_change change = FIND(zero, zero, 0);

    (void)state;
    assert_true(change.a == 0 && change.b == 0 && isnan(change.ratio));
    assert_true(change.p == 1);
    assert_true(change.low <= 0 && change.high >= 0 && change.high < 1e-10);
}

static void test_rounding(void **state)
{
    static const double a[] = {.3, .1 + .2, .3}, b[] = {.1 + .2, .1 + .2};
    struct rps_change change = FIND(a, b, 0);

    (void)state;
    assert_true(change.p > .9);
}

/* Expected values come from Python's math and statistics, programmed after Price and Bonett. */
static void test_medians(void **state)
{
    static const struct {
        size_t count[2];
        double value[2][RUNS_MAX], median[2], ratio, low, high, p, spread;
    } row[] = {
        {{5, 10}, /* positive values (as logarithms), with an outlier */
         {{1.21, 1.18, 1.2, 1.23, 1.19}, {1.25, 1.22, 1.27, 9, 1.24, 1.26, 1.23, 1.28, 1.21, 1.29}},
         {1.2, 1.255},
         .0458333333333,
         .0126116417836,
         .0801449598037,
         .0065105456809,
         .0457413926921},
        {{4, 5}, /* values that are not all positive */
         {{-3, -1, -2, -4}, {1, 2, 0, 40, 3}},
         {-2.5, 2},
         1.8,
         -6.65242019656,
         10.2524201966,
         .676394941273,
         24.0879872525 / 2.5}, /* relative to the magnitude of a */
        {{3, 3},               /* three runs: Student's t is used */
         {{-1, -2, -3}, {-3, -2, -1}},
         {-2, -2},
         0,
         -1.70664947099,
         1.70664947099,
         1,
         2.12934416671 / 2},
    };

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(row); i++) {
        struct rps_change_value value[2][RUNS_MAX] = {0};
        struct rps_change change;

        for (size_t k = 0; k < RUNS_MAX; k++)
            for (int side = 0; side < 2; side++)
                value[side][k].value = row[i].value[side][k];
        change = rps_change_find(value[0], row[i].count[0], value[1], row[i].count[1],
                                 RPS_CHANGE_MEDIAN);
        assert_int_equal(change.basis, RPS_CHANGE_GROUPS);
        assert_near(change.a, row[i].median[0]);
        assert_near(change.b, row[i].median[1]);
        assert_change(&change, row[i].ratio, row[i].low, row[i].high, row[i].p);
        assert_near(change.spread, row[i].spread);
        change = rps_change_find(value[0], 1, value[1], row[i].count[1], RPS_CHANGE_MEDIAN);
        assert_int_equal(change.why, RPS_CHANGE_SINGLE);
        assert_near(change.b, row[i].median[1]);
    }
}

static void test_outliers(void **state)
{
    static const double elapsed_s[] = {.2, 1.2, .21, .2, .19};
    struct rps_change_value value[RPS_COUNT(elapsed_s) + 1] = {
        [RPS_COUNT(elapsed_s)] = {.value = NAN}};

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(elapsed_s); i++)
        value[i].value = elapsed_s[i];
    for (size_t i = 0; i < RPS_COUNT(value); i++) {
        assert_int_equal(rps_change_is_outlier(value, RPS_COUNT(value), i), i == 1);
        for (size_t k = 0; k < RPS_COUNT(elapsed_s); k++)
            assert_true(value[k].value == elapsed_s[k]);
    }
    for (size_t i = 0; i < 3; i++)
        assert_false(rps_change_is_outlier(value, 3, i));
}

/* --- few runs --------------------------------------------------------------------------------- */

/* Values of one side are all above the other by chance in 2 of C(n + m, n) cases. The comment on
 * the right is this probability. */
static void test_few(void **state)
{
    static const double a[] = {1.01, 1.02, 1.03, 1.04}, six[] = {1.1, 1.11, 1.12, 1.13, 1.14, 1.15};
    static const double mixed[] = {1.1, 1.11, 1.035, 1.12}, tie[] = {1.1, 1.11, 1.04, 1.12};

    (void)state;
    assert_true(find(a, 3, six, 3, 0).is_few); /* probability .1 */
    /* probability .057 */
    assert_true(find(six, 3, a, 4, 0).is_few);
    /* probability .036 */
    assert_false(find(a, 3, six, 5, 0).is_few);
    /* probability .029 */
    assert_false(find(six, 4, a, 4, 0).is_few);
    /* probability .071 */
    assert_true(find(a, 2, six, 6, 0).is_few);
    assert_true(find(a, 1, six, 6, 0).is_few && find(six, 6, a, 1, 0).is_few); /* probability .29 */
    assert_true(find(a, 4, mixed, 4, 0).p < .05 && find(a, 4, mixed, 4, 0).is_few);
    assert_true(find(a, 4, tie, 4, 0).p < .05 && find(a, 4, tie, 4, 0).is_few);
    assert_false(find(six, 5, six, 5, 0).is_few ||
                 find(a, 3, a + 1, 3, 0).is_few); /* p is not small */
}

/* --- one run a side --------------------------------------------------------------------------- */

static void test_baseline(void **state)
{
    static const double many[] = {1.21, 1.18, 1.2, 1.23, 1.19}, one[] = {1.3};
    struct rps_change change = FIND(many, one, 0);

    (void)state;
    assert_int_equal(change.basis, RPS_CHANGE_BASELINE);
    assert_true(change.b == 1.3);
    assert_change(&change, .0816411793329, .0303907740231, .135440718535, .0109155991531);
    assert_true(FIND(many, one, .0144).p > .3); /* .0144 is the square of a tenth of the value */
    change = FIND(one, many, 0);
    assert_int_equal(change.basis, RPS_CHANGE_BASELINE);
    assert_change(&change, -.0754789859085, -.119284711499, -.0294944158947, .0109155991531);
}

static void assert_untested(const struct rps_change *change, enum rps_change_why why)
{
    assert_int_equal(change->basis, RPS_CHANGE_NONE);
    assert_int_equal(change->why, why);
    assert_true(isnan(change->p) && isnan(change->adjusted));
    assert_true(isnan(change->low) && isnan(change->high));
}

static void test_untested(void **state)
{
    struct rps_change_value a = {2, 0}, b = {2.1, 0}, none = {.value = NAN};
    struct rps_change change = rps_change_find(&a, 1, &b, 1, RPS_CHANGE_MEAN);

    (void)state;
    assert_untested(&change, RPS_CHANGE_SINGLE);
    assert_near(change.ratio, .05);
    assert_int_equal(rps_change_judge(&change, .03, 1), RPS_CHANGE_INCONCLUSIVE);
    assert_true(isnan(rps_change_runs(&change, .03)));
    change = rps_change_find(&a, 1, &none, 1, RPS_CHANGE_MEAN);
    assert_untested(&change, RPS_CHANGE_ABSENT);
    assert_true(change.a == 2 && isnan(change.b) && isnan(change.ratio));
    change = rps_change_find(NULL, 0, &b, 1, RPS_CHANGE_MEAN);
    assert_untested(&change, RPS_CHANGE_ABSENT);
    assert_true(isnan(change.a) && change.b == 2.1);
}

/* Single counts differ by chance up to three standard deviations: of logarithms, or of values. */
static void test_chance(void **state)
{
    static const struct {
        double a, b;
        int is_chance;
    } of[] = {{3, 5, 1},     {10, 20, 1}, {10, 40, 0}, {100, 145, 1},
              {100, 150, 0}, {0, 9, 1},   {0, 11, 0}};

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(of); i++) {
        struct rps_change_value a = {of[i].a, fmax(1, of[i].a)}, b = {of[i].b, of[i].b};
        struct rps_change change = rps_change_find(&a, 1, &b, 1, RPS_CHANGE_MEAN);

        assert_untested(&change, RPS_CHANGE_SINGLE);
        assert_int_equal(change.is_chance, of[i].is_chance);
    }
}

/* Return a number that is difficult for arithmetic, at random. */
static double odd(uint64_t *random)
{
    static const double number[] = {0,        -0.,       1,        -1,      1e-300,
                                    1e300,    DBL_MAX,   -DBL_MAX, DBL_MIN, 4.9e-324,
                                    INFINITY, -INFINITY, NAN};

    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return number[(*random >> 33) % RPS_COUNT(number)];
}

/* For any numbers, p is a probability with an interval, or both are missing. */
static void test_hostile(void **state)
{
    uint64_t random = 1;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct rps_change_value value[6];
        struct rps_change change;

        for (size_t k = 0; k < RPS_COUNT(value); k++)
            value[k] = (struct rps_change_value){odd(&random), odd(&random)};
        change = rps_change_find(value, (size_t)(i % 4), value + 3, (size_t)(i / 4 % 4),
                                 RPS_CHANGE_MEAN);
        assert_int_equal(isnan(change.p), change.basis == RPS_CHANGE_NONE);
        assert_int_equal(isnan(change.p), change.why != RPS_CHANGE_TESTED);
        assert_int_equal(isnan(change.p), isnan(change.low) || isnan(change.high));
        assert_true(isnan(change.p) || (change.p >= 0 && change.p <= 1));
        assert_true(isnan(change.low) ||
                    (isfinite(change.low) && isfinite(change.high) && change.low <= change.high));
    }
}

/* --- limits ----------------------------------------------------------------------------------- */

#define GATE_TRIES 2000
#define GATE_SD    .01 /* standard deviation between runs */
#define GATE_LIMIT .03

static double normal(uint64_t *random)
{
    double r = sqrt(-2 * log(1 - rps_random_unit(random)));

    return r * cos(2 * M_PI * rps_random_unit(random));
}

/* Count the answers to a limit of +3 %, for groups of runs that vary by 1 %. */
static void count_answers(double change, size_t runs, int of[3])
{
    struct rps_change_value value[2][64] = {{{0}}};
    uint64_t random = 1;

    memset(of, 0, 3 * sizeof(*of));
    for (int i = 0; i < GATE_TRIES; i++) {
        struct rps_change told;

        for (size_t r = 0; r < 2 * runs; r++)
            value[r % 2][r / 2].value = (r % 2 ? 1 + change : 1) * exp(GATE_SD * normal(&random));
        told = rps_change_find(value[0], runs, value[1], runs, RPS_CHANGE_MEAN);
        of[rps_change_judge(&told, GATE_LIMIT, 1)]++;
    }
}

/* At most 2.5 % of the answers are wrong: a kept limit that fails, or an exceeded limit that holds.
 * The counts belong to these seeds. */
static void test_gate(void **state)
{
    static const struct {
        double change;
        size_t runs;
        int holds, fails; /* minimum percentage of these answers */
    } cases[] = {{0, 5, 95, 0},   {0, 10, 99, 0},   {.02, 5, 10, 0}, {.02, 10, 40, 0},
                 {.05, 5, 0, 70}, {.05, 10, 0, 95}, {.1, 5, 0, 99},  {.1, 10, 0, 99}};

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(cases); i++) {
        int of[3];

        count_answers(cases[i].change, cases[i].runs, of);
        assert_true(of[RPS_CHANGE_HOLDS] * 100 >= cases[i].holds * GATE_TRIES);
        assert_true(of[RPS_CHANGE_FAILS] * 100 >= cases[i].fails * GATE_TRIES);
        assert_true(of[cases[i].change < GATE_LIMIT ? RPS_CHANGE_FAILS : RPS_CHANGE_HOLDS] * 40 <=
                    GATE_TRIES);
    }
}

/* The suggested number of runs decides in 8 of 10 cases, for changes below and above the limit. */
static void test_deciding_runs(void **state)
{
    static const double changes[] = {.02, .022, .037, .045};

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(changes); i++) {
        struct rps_change change = {.ratio = changes[i], .spread = sqrt(2) * GATE_SD, .is_log = 1};
        int of[3];

        count_answers(changes[i], (size_t)rps_change_runs(&change, GATE_LIMIT), of);
        assert_in_range(GATE_TRIES - of[RPS_CHANGE_INCONCLUSIVE], .77 * GATE_TRIES,
                        .92 * GATE_TRIES);
    }
}

static void test_judge(void **state)
{
    static const double a[] = {100, 101, 99}, b[] = {110, 111, 109}, zero[] = {0, 0, 0};
    static const double same[] = {7, 7, 7}, one[] = {110}, noisy[] = {90, 120, 110};
    static const double part[] = {0, 1, 2};
    struct rps_change change = FIND(a, b, 0);

    (void)state;
    assert_near(change.spread, 0.0135150749769);
    assert_int_equal(rps_change_judge(&change, .05, 1), RPS_CHANGE_FAILS);
    assert_int_equal(rps_change_judge(&change, .05, 0), RPS_CHANGE_HOLDS);
    assert_int_equal(rps_change_judge(&change, .2, 1), RPS_CHANGE_HOLDS);
    assert_int_equal(rps_change_judge(&change, .2, 0), RPS_CHANGE_FAILS);
    assert_int_equal(rps_change_judge(&change, .1, 1), RPS_CHANGE_INCONCLUSIVE);
    assert_true(isinf(rps_change_runs(&change, change.ratio)));
    change = FIND(same, same, 0); /* equal values keep every limit */
    assert_int_equal(rps_change_judge(&change, 0, 1), RPS_CHANGE_HOLDS);
    change = FIND(zero, zero, 0);
    assert_int_equal(rps_change_judge(&change, .03, 1), RPS_CHANGE_HOLDS);
    change = FIND(zero, b, 0); /* the old value is 0 */
    assert_int_equal(rps_change_judge(&change, .03, 1), RPS_CHANGE_FAILS);
    change = FIND(zero, part, 0);
    assert_int_equal(rps_change_judge(&change, .03, 1), RPS_CHANGE_INCONCLUSIVE);
    assert_true(rps_change_runs(&change, .03) == 9); /* the spread equals the distance: (2.120 +
                                                        .842)^2 */
    change = FIND(noisy, one, 0);
    assert_int_equal(change.basis, RPS_CHANGE_BASELINE);
    assert_int_equal(rps_change_judge(&change, .03, 1), RPS_CHANGE_INCONCLUSIVE);
    assert_true(rps_change_runs(&change, .03) > 2);
}

/* A limit on values at or below zero compares the difference with a share of the magnitude of A. */
static void test_judge_negative(void **state)
{
    static const double before[] = {-100, -101, -99}, less[] = {-110, -111, -109};
    static const double more[] = {10, 11, 9}, zero[] = {0, 0, 0};
    struct rps_change change = FIND(before, less, 0);

    (void)state;
    assert_near(change.ratio, -.1);
    assert_true(change.low < -.1 && change.high > -.1 && change.high < 0);
    assert_int_equal(rps_change_judge(&change, .03, 1), RPS_CHANGE_HOLDS);
    assert_int_equal(rps_change_judge(&change, -.05, 0), RPS_CHANGE_FAILS);
    /* required: 5 % lower */
    assert_int_equal(rps_change_judge(&change, -.05, 1), RPS_CHANGE_HOLDS);
    assert_int_equal(rps_change_judge(&change, -.2, 1), RPS_CHANGE_FAILS);
    change = FIND(less, before, 0);
    assert_true(change.ratio > .09 && change.low > 0);
    assert_int_equal(rps_change_judge(&change, .03, 1), RPS_CHANGE_FAILS);
    change = FIND(before, more, 0); /* a change from negative to positive */
    assert_near(change.ratio, 1.1);
    assert_int_equal(rps_change_judge(&change, .03, 1), RPS_CHANGE_FAILS);
    assert_int_equal(rps_change_judge(&change, -.03, 0), RPS_CHANGE_HOLDS);
    change = FIND(more, before, 0);
    assert_near(change.ratio, -11);
    assert_int_equal(rps_change_judge(&change, .03, 1), RPS_CHANGE_HOLDS);
    change = FIND(before, zero, 0);
    assert_near(change.ratio, 1);
    assert_int_equal(rps_change_judge(&change, .03, 1), RPS_CHANGE_FAILS);
    change = FIND(zero, before, 0);
    assert_int_equal(rps_change_judge(&change, .03, 1), RPS_CHANGE_HOLDS);
    assert_int_equal(rps_change_judge(&change, -.03, 0), RPS_CHANGE_FAILS);
}

/* The number of runs is the smallest that satisfies the formula, also above 1,000. */
static void test_many_runs(void **state)
{
    static const double distances[] = {.01, .002, .0005, 1e-5};
    struct rps_change change = {.ratio = .03, .spread = .02};

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(distances); i++) {
        double n = rps_change_runs(&change, .03 + distances[i]);
        double q[] = {rps_student_95(2 * n - 4) + .8416212335729143,
                      rps_student_95(2 * n - 2) + .8416212335729143};
        double ratio = change.spread / distances[i];

        assert_true(n >= pow(q[1] * ratio, 2));
        assert_true(n - 1 < pow(q[0] * ratio, 2));
    }
    assert_true(isinf(rps_change_runs(&change, .03)));
}

/* --- Holm's correction ------------------------------------------------------------------------ */

static void test_correct(void **state)
{
    static const double p[] = {.01, .04, .03, .005, .03, NAN, 1, .001};
    static const double expected[] = {.05, .12, .12, .03, .12, NAN, 1, NAN};
    struct rps_change of[RPS_COUNT(p)], *change[RPS_COUNT(p)];
    struct rps_arena *arena = rps_arena_new();

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(p); i++) {
        of[i] = (struct rps_change){.a = i < 7, .p = p[i], .adjusted = NAN};
        change[i] = &of[i];
    }
    rps_change_correct(arena, change, RPS_COUNT(p)); /* the last event never occurred */
    for (size_t i = 0; i < RPS_COUNT(p); i++)
        assert_near(of[i].adjusted, expected[i]);
    rps_change_correct(arena, NULL, 0);
    rps_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_student),
        cmocka_unit_test(test_student_ends),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_not_positive),
        cmocka_unit_test(test_floor),
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_all_zero),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_baseline),
        cmocka_unit_test(test_untested),
        cmocka_unit_test(test_chance),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_gate),
        cmocka_unit_test(test_deciding_runs),
        cmocka_unit_test(test_judge),
        cmocka_unit_test(test_judge_negative),
        cmocka_unit_test(test_many_runs),
        cmocka_unit_test(test_correct),
        cmocka_unit_test(test_medians),
        cmocka_unit_test(test_outliers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
