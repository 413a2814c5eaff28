/* Tests of phases by the mix of counts, with signals and without. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyse/counts.h"
#include "support/arena.h"
#include "analyse/levels_tree.h"
#include "rpistat/joint.h"
#include "rpistat/phases.h"
#include "rpistat/random.h"

#define SYMBOLS 6

/* Shares of the symbols in the counts. */
struct mix {
    double share[SYMBOLS];
};

static const struct mix a = {{.7, 0, .1, .1, .1, 0}}, b = {{0, .8, .1, .05, .05, 0}},
                        c = {{.1, .1, .1, .1, .1, .5}}, even = {{.3, .3, .2, .1, .05, .05}};

struct series {
    uint64_t state;
    size_t count; /* number of observations */
    struct rps_count *entry;
    size_t entries;
};

/* Add `length` observations with `mean` counts each. Counts come in groups of `step`. */
static void add(struct series *series, const struct mix *mix, size_t length, double mean,
                double step)
{
    for (size_t i = 0; i < length; i++, series->count++) {
        for (double n = mean * 2 * rps_random_unit(&series->state); n >= 1; n -= 1) {
            double at = rps_random_unit(&series->state);
            uint32_t k = 0;

            while (k + 1 < SYMBOLS && at >= mix->share[k])
                at -= mix->share[k++];
            assert_non_null(rps_array_add(&series->entry, series->entries, sizeof(*series->entry)));
            series->entry[series->entries++] = (struct rps_count){series->count, k, (float)step};
        }
    }
}

/* Return the series as signals that contain only a table. */
static struct rps_signals end(struct series *series, double divisor)
{
    struct rps_signals signals = {.count = series->count, .table_count = 1};

    signals.table = calloc(1, sizeof(*signals.table));
    assert_non_null(signals.table);
    *signals.table =
        rps_count_table_make(series->count, SYMBOLS, divisor, series->entry, series->entries);
    return signals;
}

static struct rps_phases find(struct rps_signals *signals)
{
    static const struct rps_phases_options usual = {.level = {.fine = 1}};
    struct rps_found_phases found;
    struct rps_phases *shown, phases;
    struct rps_error err;

    if (rps_phases_find(arena, signals, &usual, &found, &err) < 0)
        fail_msg("%s", err.message);
    shown = rps_phase_levels_shown(&found.levels);
    phases = *shown;
    *shown = (struct rps_phases){0};
    return phases;
}

static void check(struct rps_phases *phases, const size_t *first, const char *labels)
{
    assert_int_equal(phases->count, strlen(labels));
    for (size_t k = 0; k < phases->count; k++) {
        assert_in_range(phases->phase[k].first + 4, first[k], first[k] + 8);
        assert_in_range(phases->phase[k].first, phases->phase[k].earliest, phases->phase[k].latest);
        assert_true(labels[k] == '?' || phases->phase[k].label == labels[k] - 'A');
    }
}

/* --- tables ----------------------------------------------------------------------------------- */

static void test_a_table(void **state)
{
    static const struct rps_count counts[] = {{3, 1, 2}, {0, 2, .5F}, {3, 0, 1}, {3, 1, 4}};
    struct rps_count *given = malloc(sizeof(counts));
    struct rps_count_table table, dense, joined;
    const struct rps_count_table *both[] = {&table, &dense};

    (void)state;
    assert_non_null(given);
    memcpy(given, counts, sizeof(counts));
    table = rps_count_table_make(5, 3, 1, given, 4);
    assert_int_equal(table.begin[1], 1);
    assert_int_equal(table.begin[3], 1);
    assert_int_equal(table.begin[4], 3);
    assert_int_equal(table.begin[5], 3);
    assert_int_equal(table.entry[1].symbol, 0);
    assert_int_equal(table.entry[2].symbol, 1);
    assert_true(fabsf(table.entry[2].count - 6) < 1e-6F);
    dense = table; /* a second table with the same entries */
    dense.divisor = 1.5;
    joined = rps_count_table_join(both, 2);
    assert_true(joined.divisor > 1.49);
    assert_int_equal(joined.count, 10);
    assert_int_equal(joined.begin[10], 6);
    assert_int_equal(joined.entry[5].observation, 8);
    rps_count_table_free(&joined);
    rps_count_table_free(&table);
}

/* ln Gamma is correct, both from the table and computed. */
static void test_the_cost_of_counts(void **state)
{
    struct series series = {.state = 1};
    struct rps_signals signals;
    struct rps_mix mix;

    (void)state;
    add(&series, &even, 100, 3, 1);
    signals = end(&series, 1);
    mix = rps_mix_make(arena, signals.table);
    for (size_t k = 0; k <= SYMBOLS; k++) {
        for (double n = 0; n < 3000; n += n < 600 ? .25 : 7.5) {
            double exact = lgamma(mix.prior[k] + n) - lgamma(mix.prior[k]);

            assert_true(fabs(rps_mix_rise(&mix, k, n) - exact) < 1e-7 * (1 + fabs(exact)));
        }
    }
    rps_signals_free(&signals);
}

/* --- phases ----------------------------------------------------------------------------------- */

/* Mixes become phases with few counts per observation, with ten counts, and with halves of a count.
 */
static void test_mixes_are_phases(void **state)
{
    static const double mean[] = {2, 10, 4}, step[] = {1, 1, .5};
    static const size_t first[] = {0, 80, 140, 260, 300};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct series series = {.state = 7};
        struct rps_signals signals;
        struct rps_phases phases;

        add(&series, &a, 80, mean[i], step[i]);
        add(&series, &b, 60, mean[i], step[i]);
        add(&series, &c, 120, mean[i], step[i]);
        add(&series, &a, 40, mean[i], step[i]);
        add(&series, &c, 100, mean[i], step[i]);
        signals = end(&series, 1);
        phases = find(&signals);
        check(&phases, first, "ABCAC");
        rps_signals_free(&signals);
    }
}

/* A mix that differs little, compared with the differences between neighbours, is no separate
 * class, even if it is long. */
static void test_hardly_other(void **state)
{
    static const struct mix nearly = {{.36, .26, .2, .1, .04, .04}};
    struct series series = {.state = 5};
    struct rps_signals signals;
    struct rps_phases phases;

    (void)state;
    for (int turn = 0; turn < 200; turn++) {
        add(&series, &c, 20, 8, 1);
        add(&series, turn % 8 == 3 ? &nearly : &even, 40, 8, 1);
    }
    signals = end(&series, 1);
    phases = find(&signals);
    assert_int_equal(phases.count, 400);
    for (size_t k = 0; k < phases.count; k++)
        assert_int_equal(phases.phase[k].label, k % 2);
    rps_signals_free(&signals);
}

/* Changes are found in one run with long and short segments. */
static void test_all_lengths(void **state)
{
    static const size_t first[] = {0, 6000, 6009, 9000, 9400, 9406};
    struct series series = {.state = 3};
    struct rps_signals signals;
    struct rps_phases phases;

    (void)state;
    add(&series, &even, 6000, 2, 1);
    add(&series, &b, 9, 6, 1);
    add(&series, &even, 2991, 2, 1);
    add(&series, &c, 400, 2, 1);
    add(&series, &a, 6, 8, 1);
    add(&series, &c, 5000, 2, 1);
    signals = end(&series, 1);
    phases = find(&signals);
    check(&phases, first, "ABA???"); /* six are too few for a label */
    rps_signals_free(&signals);
}

/* Steady mixes of many lengths, with few and many counts, have only one phase. */
static void test_chance_makes_no_phase(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct series series = {.state = seed};
        struct rps_signals signals;
        struct rps_phases phases;

        add(&series, seed % 2 ? &even : &c, 200 + 100 * seed * seed % 6000, seed % 3 ? 1.5 : 12, 1);
        signals = end(&series, 1);
        phases = find(&signals);
        if (phases.count != 1)
            fail_msg("seed %d: %zu phases", (int)seed, phases.count);
        rps_signals_free(&signals);
    }
}

/* The start and end of a run may differ from the rest without being phases. */
static void test_ends(void **state)
{
    static const size_t first[] = {0, 500};
    struct series series = {.state = 5};
    struct rps_signals signals;
    struct rps_phases phases;

    (void)state;
    add(&series, &c, 8, 10, 1);
    add(&series, &a, 492, 5, 1);
    add(&series, &b, 494, 5, 1);
    add(&series, &c, 6, 10, 1);
    signals = end(&series, 1);
    phases = find(&signals);
    check(&phases, first, "AB");
    rps_signals_free(&signals);
}

/* A phase begins after each gap, even if the mix stays the same. */
static void test_gaps(void **state)
{
    static const size_t first[] = {0, 90};
    struct series series = {.state = 9};
    struct rps_phases_options fine = {.level = {.fine = 1}};
    struct rps_signals signals;
    struct rps_found_phases found;
    struct rps_error err;

    (void)state;
    add(&series, &a, 200, 5, 1);
    signals = end(&series, 1);
    signals.broken = calloc(200, 1);
    assert_non_null(signals.broken);
    signals.broken[90] = RPS_BROKEN_GAP;
    assert_int_equal(rps_phases_find(arena, &signals, &fine, &found, &err), 0);
    assert_int_equal(rps_phase_levels_shown(&found.levels)->count, 2);
    assert_int_equal(rps_phase_levels_shown(&found.levels)->phase[1].first, first[1]);
    rps_signals_free(&signals);
}

#define PARTS 3

/* Add a loop of `iterations` iterations between two other segments. An iteration has three short
 * parts. */
static void add_loop(struct series *series, size_t iterations)
{
    static const struct mix *const part[PARTS] = {&a, &b, &c};

    add(series, &c, 100, 3, 1);
    for (size_t i = 0; i < PARTS * iterations; i++)
        add(series, part[i % PARTS], 6 + i % 3, 3, 1);
    add(series, &b, 100, 3, 1);
}

/* Check that nine of ten boundaries of the loop are found, and that its phases have three classes.
 */
static void check_loop(const struct rps_phases *phases, size_t iterations)
{
    size_t at = 100, k = 0, near = 0, most = PARTS * iterations + 2;

    for (size_t i = 0; i < PARTS * iterations; at += 6 + i++ % 3) {
        while (k + 1 < phases->count && phases->phase[k].first + 2 < at)
            k++;
        near += phases->phase[k].first <= at + 2;
    }
    assert_in_range(phases->count, most * 9 / 10, most);
    assert_in_range(near, most * 9 / 10, most);
    assert_int_equal(phases->label_count, PARTS);
}

/* Segments that are too short to be phases alone become phases because they recur. */
static void test_short_iterations(void **state)
{
    struct series series = {.state = 3};
    struct rps_signals signals;
    struct rps_phases phases;

    (void)state;
    add_loop(&series, 25);
    signals = end(&series, 1);
    phases = find(&signals);
    check_loop(&phases, 25);
    rps_signals_free(&signals);
}

/* Short iterations are found in several runs together, and have the same classes in all runs. */
static void test_short_iterations_of_two_runs(void **state)
{
    static const struct rps_phases_options fine = {.level = {.fine = 1}};
    struct series first = {.state = 3}, second = {.state = 4};
    struct rps_signals run[2];
    struct rps_joint joint;
    struct rps_error err;

    (void)state;
    add_loop(&first, 25);
    add_loop(&second, 20);
    run[0] = end(&first, 1);
    run[1] = end(&second, 1);
    assert_int_equal(rps_joint_find(arena, (const struct rps_signals *const[]){&run[0], &run[1]}, 2,
                                    &fine, &joint, &err),
                     0);
    check_loop(&joint.run[0], 25);
    check_loop(&joint.run[1], 20);
    rps_signals_free(&run[0]);
    rps_signals_free(&run[1]);
}

/* A change that is too small to be found alone is a boundary if one of the signals ends there. */
static void test_an_end_of_a_signal(void **state)
{
    static const size_t first[] = {0, 200};
    struct series series = {.state = 6};
    struct rps_signals signals;
    struct rps_phases phases;

    (void)state;
    for (int ends = 0; ends < 2; ends++) {
        series = (struct series){.state = 6};
        add(&series, &a, 400, 5, 1);
        signals = end(&series, 1);
        signals.signal_count = 2;
        signals.value = calloc(2 * 400, sizeof(*signals.value));
        assert_non_null(signals.value);
        for (size_t i = 0; i < 400; i++) {
            signals.value[i] = rps_random_unit(&series.state) + (i < 200 ? 0 : .2);
            signals.value[400 + i] =
                ends && i >= 200 ? (double)NAN : rps_random_unit(&series.state);
        }
        phases = find(&signals);
        check(&phases, first, ends ? "AB" : "A");
        rps_signals_free(&signals);
    }
}

/* Between two mixes are 30 observations without counts. The cut may be anywhere there, unless CPU
 * use ends where the counts end. */
static void test_place_without_counts(void **state)
{
    (void)state;
    for (int is_known = 0; is_known < 2; is_known++) {
        struct series series = {.state = 1};
        struct rps_signals signals;
        struct rps_cuts cuts;

        add(&series, &a, 40, 20, 1);
        add(&series, &a, 30, 0, 1);
        add(&series, &b, 40, 20, 1);
        signals = end(&series, 1);
        signals.signal_count = signals.use_signal = 1;
        signals.value = calloc(series.count, sizeof(*signals.value));
        assert_non_null(signals.value);
        for (size_t i = 0; i < series.count; i++)
            signals.value[i] = (is_known && i >= 40 && i < 70 ? 0 : 100) + (double)(i % 7);
        cuts = rps_counts_find_cuts(arena, &signals, signals.table, 2, .7);
        assert_int_equal(cuts.count, 1);
        assert_int_equal(cuts.cut[0].at, 40);
        assert_int_equal(cuts.cut[0].earliest, 40);
        assert_int_equal(cuts.cut[0].latest, is_known ? 40 : 70);
        rps_signals_free(&signals);
    }
}

/* In segments of 100 observations, a signal that differs by 1.4 deviations makes a boundary. */
static void test_a_step_of_noise(void **state)
{
    static const size_t first[] = {0, 100};
    struct series series = {.state = 7};
    struct rps_signals signals;
    struct rps_phases phases;

    (void)state;
    add(&series, &a, 200, 5, 1);
    signals = end(&series, 1);
    signals.signal_count = 1;
    signals.value = calloc(200, sizeof(*signals.value));
    assert_non_null(signals.value);
    for (size_t i = 0; i < 200; i++)
        signals.value[i] = rps_random_unit(&series.state) + (i < 100 ? 0 : .4);
    phases = find(&signals);
    check(&phases, first, "AB");
    rps_signals_free(&signals);
}

/* Add a signal without values. The signal is read from the system, like memory. */
static void add_read_signal(struct rps_signals *signals)
{
    signals->signal_count = 1;
    signals->value = calloc(signals->count, sizeof(*signals->value));
    signals->resolution = calloc(1, sizeof(*signals->resolution));
    signals->noise_floor = calloc(1, sizeof(*signals->noise_floor));
    assert_true(signals->value && signals->resolution && signals->noise_floor);
    signals->resolution[0] = .15;
    signals->noise_floor[0] = .0375;
}

/* Find phases of a constant table and one signal of 160 observations. The signal has three levels
 * of 50 observations: `from`, `over` and `to`. A ramp of ten observations leads from `from` to
 * `over`. */
static struct rps_phases found_beside_ramp(double from, double over, double to)
{
    struct series series = {.state = 11};
    struct rps_signals signals;
    struct rps_phases phases;

    add(&series, &a, 160, 5, 1);
    signals = end(&series, 1);
    add_read_signal(&signals);
    for (int i = 0; i < 160; i++)
        signals.value[i] = i < 50    ? from
                           : i < 60  ? from + (over - from) * (i - 49) / 10
                           : i < 110 ? over
                                     : to;
    phases = find(&signals);
    rps_signals_free(&signals);
    return phases;
}

/* A share of .05 rises to .9 in a ramp, stays, and falls again. */
static void test_ramps(void **state)
{
    static const size_t first[] = {0, 100, 260, 380, 540};

    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct series series = {.state = seed};
        struct rps_signals signals;
        struct rps_phases phases;

        for (int i = 0; i < 640; i++) {
            double to_ramp = fmin(fmax(fmin(i - 100, 540 - i) / 160., 0), 1);
            struct mix mix = {{.05 + .85 * to_ramp, .95 - .85 * to_ramp}};

            add(&series, &mix, 1, 20, 1);
        }
        signals = end(&series, 1);
        phases = find(&signals);
        assert_int_equal(phases.count, 5);
        for (size_t k = 0; k < 5; k++) {
            assert_in_range(phases.phase[k].first + 15, first[k], first[k] + 30);
            assert_int_equal(phases.phase[k].trend != 0, k % 2);
        }
        assert_int_equal(phases.phase[1].trend, -phases.phase[3].trend);
        assert_int_not_equal(phases.phase[1].label, phases.phase[3].label);
        assert_int_equal(phases.phase[0].label, phases.phase[4].label);
        rps_signals_free(&signals);
    }
}

/* A boundary is found where memory is released at once, even if the memory was filled gradually. */
static void test_a_step_beside_a_ramp(void **state)
{
    struct rps_phases phases = found_beside_ramp(1.4, 4.4, 2.8);

    (void)state;
    assert_true(phases.count >= 3);
    assert_int_equal(phases.phase[phases.count - 1].first, 110);
    phases = found_beside_ramp(1.4, 1.45, 1.4);
    assert_int_equal(phases.count, 1);
}

/* Return the number of phases of 600 observations of one mix, in which a signal is high in the
 * first `length` observations. */
static size_t count_with_start(size_t length, int is_fault, int is_memory)
{
    struct series series = {.state = 5};
    struct rps_signals signals;
    struct rps_phases phases;
    size_t count;

    add(&series, &a, 600, 5, 1);
    signals = end(&series, 1);
    add_read_signal(&signals);
    signals.fault_signal = is_fault;
    signals.memory_signal = is_memory;
    for (size_t i = 0; i < 600; i++)
        signals.value[i] = i < length ? 9 : 1;
    phases = find(&signals);
    count = phases.count;
    rps_signals_free(&signals);
    return count;
}

/* A short start is no phase if it differs from what follows only in page faults or memory. */
static void test_short_growth_is_no_phase(void **state)
{
    (void)state;
    assert_int_equal(count_with_start(20, 0, 0), 2);
    assert_int_equal(count_with_start(20, 1, 0), 1);
    assert_int_equal(count_with_start(20, 0, 1), 1);
    assert_int_equal(count_with_start(40, 1, 0), 2);
    assert_int_equal(count_with_start(40, 0, 1), 2);
}

/* Check the labels of five segments with these mixes and memory values, in one run or two. */
static void check_memory(const struct mix *const *mix, const double *memory, int runs,
                         const char *labels)
{
    static const struct rps_phases_options usual = {0};
    struct series series = {.state = 11};
    struct rps_signals signals;
    struct rps_joint joint;
    struct rps_error err;

    for (int k = 0; k < 5; k++)
        add(&series, mix[k], 60, 5, 1);
    signals = end(&series, 1);
    add_read_signal(&signals);
    signals.memory_signal = 1;
    for (size_t i = 0; i < signals.count; i++)
        signals.value[i] = memory[i / 60];
    assert_int_equal(rps_joint_find(arena, (const struct rps_signals *const[]){&signals, &signals},
                                    (size_t)runs, &usual, &joint, &err),
                     0);
    for (int r = 0; r < runs; r++) {
        assert_int_equal(joint.run[r].count, strlen(labels));
        for (size_t k = 0; k < joint.run[r].count; k++)
            assert_int_equal(joint.run[r].phase[k].label, labels[k] - 'A');
    }
    rps_signals_free(&signals);
}

/* Recurring work is one class even if memory grew, except if only memory distinguishes some phases.
 */
static void test_memory_in_labels(void **state)
{
    static const struct mix *const recurs[] = {&a, &b, &a, &c, &a}, *const rests[] = {&a, &a, &a,
                                                                                      &b, &a};

    (void)state;
    for (int runs = 1; runs <= 2; runs++) {
        check_memory(recurs, (double[]){1, 2, 3, 4, 5}, runs, "ABACA");
        check_memory(recurs, (double[]){1, 1, 3, 1, 1}, runs, "ABACA");
        check_memory(rests, (double[]){1, 3, 5, 3, 1}, runs, "ABCDA");
    }
}

/* The first and last of three or more blocks are left out, because they may be mixtures. */
static void test_mixed_blocks(void **state)
{
    struct rps_phase phase[] = {{.first = 0, .last = 2, .confidence = 1},
                                {.first = 3, .last = 4, .confidence = 1},
                                {.first = 5, .last = 9, .confidence = 1}};
    const struct rps_phases fine = {.count = 3, .phase = phase};
    static const double inside[] = {1, 2, 3}, all[] = {3, 2, 5};
    struct series series = {.state = 2};
    struct rps_moments3 *moments;
    struct rps_signals signals;

    (void)state;
    for (size_t i = 0; i < 10; i++) {
        assert_non_null(rps_array_add(&series.entry, series.entries, sizeof(*series.entry)));
        series.entry[series.entries++] = (struct rps_count){series.count++, 0, 1};
    }
    signals = end(&series, 1);
    add_read_signal(&signals);
    for (signals.in_blocks = 0; signals.in_blocks < 2; signals.in_blocks++) {
        struct rps_level_tree tree = rps_level_tree_make(arena, &signals, &fine);

        moments = rps_arena_get(arena, tree.width, sizeof(*moments));
        for (size_t k = 0; k < 3; k++) {
            const double weight = signals.in_blocks ? inside[k] : all[k];

            rps_level_tree_moments(&tree, k, k + 1, moments);
            /* weights of the signal, of the table, and of all observations */
            assert_true(fabs(moments[0].weight - weight) < 1e-9);
            assert_true(fabs(moments[1].weight - weight) < 1e-9);
            assert_true(fabs(moments[tree.width - 1].weight - weight) < 1e-9);
        }
    }
    rps_signals_free(&signals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_table),
        cmocka_unit_test(test_the_cost_of_counts),
        cmocka_unit_test(test_mixes_are_phases),
        cmocka_unit_test(test_hardly_other),
        cmocka_unit_test(test_all_lengths),
        cmocka_unit_test(test_chance_makes_no_phase),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_short_iterations),
        cmocka_unit_test(test_short_iterations_of_two_runs),
        cmocka_unit_test(test_an_end_of_a_signal),
        cmocka_unit_test(test_place_without_counts),
        cmocka_unit_test(test_a_step_of_noise),
        cmocka_unit_test(test_ramps),
        cmocka_unit_test(test_a_step_beside_a_ramp),
        cmocka_unit_test(test_short_growth_is_no_phase),
        cmocka_unit_test(test_memory_in_labels),
        cmocka_unit_test(test_mixed_blocks),
    };

    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
