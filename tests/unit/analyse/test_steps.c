/* Tests of steps: how often noise has one, how often a step is found, outliers and repeats. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "rpistat/random.h"
#include "rpistat/steps.h"

#define RUNS_MAX 205
#define NOISE    .02
#define ALPHA    .02

/* A history: `before` runs, then `after` runs with a change; `repeats` runs have one tag. */
struct history {
    size_t before, after, repeats;
    double change;
};

static struct rps_step step[RUNS_MAX];
static uint64_t seed;

static double normal(void)
{
    double radius = sqrt(-2 * log(1 - rps_random_unit(&seed)));

    return radius * cos(2 * M_PI * rps_random_unit(&seed));
}

static void make(const struct history *history)
{
    memset(step, 0, sizeof(step));
    for (size_t i = 0; i < history->before + history->after; i++) {
        step[i].value = exp(NOISE * normal()) * (i < history->before ? 1 : 1 + history->change);
        step[i].may_begin = i % history->repeats == 0;
    }
}

static double trend, alpha = ALPHA;

/* Find the steps of `count` runs. Return their number. */
static size_t find(size_t count, double *ret_found)
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_error err;
    size_t steps = 0;

    assert_int_equal(rps_steps_find(arena, step, count, alpha, ret_found, &trend, &err), 0);
    rps_arena_free(arena);
    for (size_t i = 0; i < count; i++)
        steps += step[i].begins;
    return steps;
}

/* Return how many of `times` histories have a step. */
static int count_found(const struct history *history, int times)
{
    double found;
    int ret = 0;

    seed = 1;
    for (int i = 0; i < times; i++) {
        make(history);
        ret += find(history->before + history->after, &found) > 0;
    }
    return ret;
}

/* Levels share the probability of a false step. If each of the two levels had the whole
 * probability, 36 of these histories would have a false step after the true one. */
static void test_second(void **state)
{
    const struct history history = {20, 20, 1, .08};
    double found;
    int second = 0;

    (void)state;
    seed = 7;
    alpha = .0075;
    for (int i = 0; i < 2000; i++) {
        make(&history);
        second += find(history.before + history.after, &found) > 1;
    }
    alpha = ALPHA;
    if (second > 20)
        fail_msg("%d of 2,000 histories", second);
}

/* With a probability of 2 %, 400 histories have 8 +- 2.8 false steps. */
static void test_nulls(void **state)
{
    static const size_t runs[] = {6, 8, 15, 25, 55, RUNS_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        for (size_t repeats = 1; repeats <= 5; repeats += 4) {
            int found = count_found(&(struct history){runs[i], 0, repeats, 0}, 400);

            print_message("# %zu runs, %zu per tag: %d false\n", runs[i], repeats, found);
            assert_in_range(found, 0, 8 + 3 * 3);
        }
    }
}

static void test_power(void **state)
{
    static const struct {
        struct history history;
        int least;
    } cases[] = {{{10, 5, 1, .05}, 140},  {{20, 5, 1, .05}, 162}, {{50, 5, 1, .05}, 180},
                 {{200, 5, 1, .05}, 182}, {{10, 5, 5, .05}, 162}, {{20, 5, 5, .05}, 174},
                 {{50, 5, 5, .05}, 180},  {{50, 5, 1, .10}, 200}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int found = count_found(&cases[i].history, 200);

        print_message("# %zu runs before, %zu per tag, +%.0f %%: %d of 200 found\n",
                      cases[i].history.before, cases[i].history.repeats,
                      100 * cases[i].history.change, found);
        assert_in_range(found, cases[i].least, 200);
    }
}

/* A steady rise has no step but a trend, and noise has none. */
static void test_trend(void **state)
{
    double found;
    int trends = 0;

    (void)state;
    seed = 5;
    make(&(struct history){60, 0, 1, 0});
    for (size_t i = 0; i < 60; i++)
        step[i].value *= exp(.03 * (double)i);
    assert_int_equal(find(60, &found), 0);
    print_message("# trend: %.3f\n", trend);
    assert_true(trend > 4.5 && trend < 5.5);
    for (int i = 0; i < 400; i++) {
        make(&(struct history){30, 0, 1, 0});
        trends += find(30, &found) == 0 && trend != 0;
    }
    print_message("# false trends: %d of 400\n", trends);
    assert_in_range(trends, 0, 6);
}

/* The step that would be found is the one of test_power, and it is found. */
static void test_found(void **state)
{
    double found;
    int least = 0;

    (void)state;
    seed = 3;
    make(&(struct history){55, 0, 1, 0});
    assert_int_equal(find(55, &found), 0);
    print_message("# found: %.4f\n", found);
    assert_true(found > .035 && found < .065);
    seed = 1;
    alpha = .0004; /* that of the other metrics, with many of them */
    for (int i = 0; i < 200; i++) {
        make(&(struct history){15, 0, 1, 0});
        find(15, &found);
        for (size_t k = 10; k < 15; k++)
            step[k].value *= 1 + found;
        least += find(15, &found) > 0;
    }
    print_message("# found with the change that would be found: %d of 200\n", least);
    alpha = ALPHA;
    assert_in_range(least, 193, 200);
    make(&(struct history){5, 0, 1, 0});
    assert_int_equal(find(5, &found), 0);
    assert_true(isnan(found));
}

/* A lone value, and two last ones, are outliers; three last ones and all repeats are a level. */
static void test_outliers(void **state)
{
    double found;

    (void)state;
    for (size_t last = 1; last <= 3; last++) {
        seed = 7;
        make(&(struct history){30 - last, last, 1, .5});
        step[9].value *= 2;
        assert_int_equal(find(30, &found), last == 3);
        assert_true(step[9].is_outlier);
        assert_int_equal(step[29].is_outlier, last < 3);
        assert_int_equal(step[27].begins, last == 3);
    }
    seed = 7;
    make(&(struct history){30, 0, 3, 0});
    for (size_t i = 12; i < 15; i++)
        step[i].value *= 1.5;
    assert_int_equal(find(30, &found), 2);
    assert_true(step[12].begins && step[15].begins && !step[13].is_outlier);
}

/* Equal values have no step, and one that is 1 % higher has one; zero and missing values work. */
static void test_exact(void **state)
{
    double found;

    (void)state;
    for (size_t i = 0; i < 20; i++)
        step[i] = (struct rps_step){.value = i < 10 ? 100 : 101, .may_begin = 1};
    assert_int_equal(find(10, &found), 0);
    assert_int_equal(find(20, &found), 1);
    assert_true(step[10].begins);
    for (size_t i = 0; i < 20; i++)
        step[i] = (struct rps_step){.value = i % 2 ? NAN : 0, .may_begin = 1};
    assert_int_equal(find(20, &found), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nulls),    cmocka_unit_test(test_second),
        cmocka_unit_test(test_power),    cmocka_unit_test(test_found),
        cmocka_unit_test(test_exact),    cmocka_unit_test(test_trend),
        cmocka_unit_test(test_outliers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
