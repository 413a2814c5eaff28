/* Tests of comparisons of runs with known counts: values, tests, phases, functions, remarks,
 * rejected comparisons. */
#include "support/fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rpistat/comparison.h"
#include "rpistat/plan.h"
#include "rpistat/store.h"

#define RUNS_MAX 10

enum kind { QUIET, BUSY, SLOW };

/* Counts per period: cycles, then the events of the first sets of arm1176. */
static const double rates[][5][2] = {
    {{7e7}, {2e7, 2e6}, {5e6, 1e5}, {1e5, 1e4}, {2e6, 1e4}},
    {{7e7}, {7e6, 9e6}, {5e6, 1e6}, {9e5, 4e5}, {8e5, 9e4}},
    {{7e7}, {5e6, 3e7}, {5e6, 2e6}, {9e5, 4e5}, {8e5, 2e5}},
};

struct group {
    struct rps_arena *arena;
    size_t count;
    struct fixture fixture[RUNS_MAX];
    struct rps_comparison_choice choice[RUNS_MAX];
};

static struct group group;

/* Begin the next run of a side. All runs are in the store of the first. */
static struct fixture *begin_run(enum rps_comparison_side side)
{
    struct fixture *fixture = &group.fixture[group.count];

    fixture_begin(fixture, "arm1176");
    if (!group.arena)
        group.arena = rps_arena_new();
    if (group.count > 0)
        strcpy(fixture->path, group.fixture[0].path);
    group.choice[group.count].side = side;
    return fixture;
}

static void end_run(void)
{
    struct fixture *fixture = &group.fixture[group.count];
    struct rps_comparison_choice *choice = &group.choice[group.count];

    fixture_read(fixture);
    choice->reader = fixture->reader;
    choice->store = fixture->path;
    choice->run_id = fixture->run_id;
    group.count++;
}

static int end_group(void **state)
{
    (void)state;
    for (size_t i = 0; i < group.count; i++)
        fixture_end(&group.fixture[i]);
    rps_arena_free(group.arena);
    group.arena = NULL;
    group.count = 0;
    return 0;
}

/* Return a number in 1 - part ... 1 + part. Every test run gets the same sequence. */
static double jitter(uint64_t *state, double part)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return 1 - part + 2 * part * (double)(*state >> 11) / (double)(UINT64_C(1) << 53);
}

static void add_periods(struct fixture *fixture, enum kind kind, int count, double scale,
                        uint64_t *noise)
{
    for (int i = 0; i < count; i++) {
        const double(*rate)[2] = rates[kind];
        uint64_t counts[8] = {0};
        double part = noise ? .02 : 0;
        uint64_t none = 0, *state = noise ? noise : &none;
        size_t set = 1 + fixture->next.period % 4;

        for (int s = 0; s < 2; s++)
            counts[s] = (uint64_t)(rate[set][s] * scale * jitter(state, part));
        fixture_period(fixture, (uint64_t)(rate[0][0] * jitter(state, part)), counts);
    }
}

static void must_compare(const struct rps_comparison_options *options, struct rps_comparison *ret)
{
    struct rps_error err;

    if (rps_comparison_find(group.arena, group.choice, group.count, options, ret, &err) < 0)
        fail_msg("%s", err.message);
}

static const struct rps_change *change_of(const struct rps_comparison *comparison, size_t row,
                                          const char *name)
{
    int figure = rps_comparison_figure(comparison, name);

    if (figure < 0 || row >= comparison->row_count)
        fail_msg("no %s in row %zu of %zu", name, row, comparison->row_count);
    return &comparison->row[row].change[figure];
}

static void near(double value, double expected, double margin)
{
    if (!(fabs(value - expected) <= margin))
        fail_msg("%g is not %g within %g", value, expected, margin);
}

static int has_remark(const struct rps_comparison *comparison, const char *part)
{
    for (size_t i = 0; i < comparison->remark_count; i++) {
        if (strstr(comparison->remark[i], part))
            return 1;
    }
    return 0;
}

static void needs_remark(const struct rps_comparison *comparison, const char *part)
{
    if (has_remark(comparison, part))
        return;
    for (size_t i = 0; i < comparison->remark_count; i++)
        print_message("%s\n", comparison->remark[i]);
    fail_msg("no remark has '%s'", part);
}

static const struct rps_comparison_options whole_only = {.no_phases = 1};

/* --- values ----------------------------------------------------------------------------------- */

/* Runs without noise: 80 quiet periods, and 120 periods with twice the counts per cycle. */
static void test_exact(void **state)
{
    static const char *const names[] = {"elapsed", "cpu_time", "cpi"};
    struct rps_comparison comparison;
    const struct rps_change *change;

    (void)state;
    fixture_write(begin_run(RPS_SIDE_B));
    add_periods(&group.fixture[0], QUIET, 120, 2, NULL);
    end_run();
    fixture_write(begin_run(RPS_SIDE_A));
    add_periods(&group.fixture[1], QUIET, 80, 1, NULL);
    end_run();
    must_compare(&whole_only, &comparison);
    assert_int_equal(comparison.row_count, 1);
    assert_int_equal(comparison.row[0].label, -1);
    assert_int_equal(comparison.run[0].side, RPS_SIDE_A);
    assert_int_equal(comparison.figure_count, 2 + 8 + 9);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(comparison.figure[i].name, names[i]);
    assert_string_equal(comparison.figure[9].name, "cpu_use");
    assert_string_equal(comparison.figure[10].name, "cycles");
    change = change_of(&comparison, 0, "elapsed");
    near(change->a, 8, 1e-9);
    near(change->b, 12, 1e-9);
    near(change->ratio, .5, 1e-9);
    assert_int_equal(change->why, RPS_CHANGE_SINGLE);
    assert_true(isnan(change->p) && isnan(change->adjusted));
    assert_int_equal(rps_comparison_verdict(change), RPS_VERDICT_NONE);
    near(change_of(&comparison, 0, "cpu_time")->b, 12, 1e-9);
    near(change_of(&comparison, 0, "cycles")->a, 80 * 7e7, 1);
    near(change_of(&comparison, 0, "instructions")->a, 80 * 2e7, 1);
    near(change_of(&comparison, 0, "instructions")->b, 120 * 4e7, 1);
    change = change_of(&comparison, 0, "cpi");
    near(change->a, 3.5, 1e-9);
    near(change->ratio, -.5, 1e-9);
    assert_int_equal(change->why, RPS_CHANGE_SINGLE);
    change = change_of(&comparison, 0, "cpu_use");
    near(change->b, 100, 1e-9);
    needs_remark(&comparison, "rpistat record --repeat 5");
}

/* Add runs of one side that vary by a few percent in all counts except cycles. */
static void add_runs(enum rps_comparison_side side, size_t count, double scale, uint64_t *noise)
{
    for (size_t i = 0; i < count; i++) {
        struct fixture *fixture = begin_run(side);

        fixture_write(fixture);
        add_periods(fixture, QUIET, 40, scale * jitter(noise, .01), noise);
        end_run();
    }
}

static void check_basis(size_t a_count, size_t b_count, enum rps_change_basis basis,
                        enum rps_comparison_verdict more, enum rps_comparison_verdict less)
{
    struct rps_comparison comparison;
    uint64_t noise = 3;

    add_runs(RPS_SIDE_A, a_count, 1, &noise);
    add_runs(RPS_SIDE_B, b_count, 1.1, &noise);
    must_compare(&whole_only, &comparison);
    assert_int_equal(comparison.a_count, a_count);
    assert_int_equal(change_of(&comparison, 0, "instructions")->basis, basis);
    assert_int_equal(rps_comparison_verdict(change_of(&comparison, 0, "instructions")), more);
    assert_int_equal(rps_comparison_verdict(change_of(&comparison, 0, "cpi")), less);
    assert_int_equal(rps_comparison_verdict(change_of(&comparison, 0, "elapsed")),
                     RPS_VERDICT_SAME);
    assert_int_equal(rps_comparison_verdict(change_of(&comparison, 0, "dc_miss_ratio")),
                     RPS_VERDICT_SAME);
    assert_true(change_of(&comparison, 0, "cpi")->adjusted > change_of(&comparison, 0, "cpi")->p);
    assert_false(has_remark(&comparison, "One run per side"));
}

static void test_five_against_five(void **state)
{
    (void)state;
    check_basis(5, 5, RPS_CHANGE_GROUPS, RPS_VERDICT_MORE, RPS_VERDICT_LESS);
}

static void test_one_against_five(void **state)
{
    (void)state;
    check_basis(5, 1, RPS_CHANGE_BASELINE, RPS_VERDICT_PERHAPS_MORE, RPS_VERDICT_PERHAPS_LESS);
}

/* Tests by rank can confirm a change with four runs per side, but not with three. */
static void test_few_runs(void **state)
{
    (void)state;
    check_basis(4, 4, RPS_CHANGE_GROUPS, RPS_VERDICT_MORE, RPS_VERDICT_LESS);
}

static void test_too_few_runs(void **state)
{
    (void)state;
    check_basis(3, 3, RPS_CHANGE_GROUPS, RPS_VERDICT_PERHAPS_MORE, RPS_VERDICT_PERHAPS_LESS);
}

/* A run with one phase is not corrected twice. An event that never occurred is not tested. */
static void test_corrected(void **state)
{
    static const struct rps_comparison_options options = {.no_phases = 0};
    struct rps_comparison comparison;
    uint64_t noise = 3;
    double least = 1, adjusted = 0;
    size_t tests = 0;

    (void)state;
    add_runs(RPS_SIDE_A, 2, 1, &noise);
    add_runs(RPS_SIDE_B, 2, 1.1, &noise);
    must_compare(&options, &comparison);
    assert_int_equal(comparison.row_count, 2);
    for (size_t f = 0; f < comparison.figure_count; f++) {
        const struct rps_change *change = &comparison.row[0].change[f];

        tests += !isnan(change->p);
        if (change->p < least) {
            least = change->p;
            adjusted = change->adjusted;
        }
    }
    assert_int_equal(tests, 2 + 8 + 9);
    near(adjusted, (double)tests * least, 1e-12);
}

/* --- phases ----------------------------------------------------------------------------------- */

/* Add the phases quiet, busy, quiet. In B, the busy phase is longer and has fewer instructions. */
static void add_phases(enum rps_comparison_side side, uint64_t *noise)
{
    struct fixture *fixture = begin_run(side);

    fixture_write(fixture);
    add_periods(fixture, QUIET, 80, 1, noise);
    add_periods(fixture, BUSY, side == RPS_SIDE_A ? 80 : 120, side == RPS_SIDE_A ? 1 : .9, noise);
    add_periods(fixture, QUIET, 60, 1, noise);
    end_run();
}

static void check_labels(const struct rps_comparison_run *run)
{
    static const int labels[] = {0, 1, 0};

    assert_int_equal(run->phases.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(run->phases.phase[i].label, labels[i]);
}

static void test_phases(void **state)
{
    static const struct rps_comparison_options options = {0};
    struct rps_comparison comparison;
    uint64_t noise = 11;

    (void)state;
    for (size_t i = 0; i < 8; i++)
        add_phases(i < 4 ? RPS_SIDE_A : RPS_SIDE_B, &noise);
    must_compare(&options, &comparison);
    assert_int_equal(comparison.row_count, 3);
    for (size_t r = 0; r < comparison.run_count; r++)
        check_labels(&comparison.run[r]);
    assert_int_equal(comparison.row[1].label, 0);
    assert_int_equal(comparison.row[1].a_times, 2);
    assert_int_equal(comparison.row[2].b_times, 1);
    near((double)comparison.row[2].b_start_ns, 8e9, 3e8);
    near(change_of(&comparison, 1, "elapsed")->a, 14, .5);
    near(change_of(&comparison, 2, "elapsed")->b, 12, .5);
    near(change_of(&comparison, 2, "cpi")->ratio, 1 / .9 - 1, .01);
    assert_int_equal(rps_comparison_verdict(change_of(&comparison, 2, "elapsed")),
                     RPS_VERDICT_MORE);
    assert_int_equal(rps_comparison_verdict(change_of(&comparison, 2, "cpi")), RPS_VERDICT_MORE);
    assert_int_equal(rps_comparison_verdict(change_of(&comparison, 1, "cpi")), RPS_VERDICT_SAME);
    assert_int_equal(rps_comparison_verdict(change_of(&comparison, 1, "elapsed")),
                     RPS_VERDICT_SAME);
}

/* A run without the phase is reported, and spent no time in it, so that the classes add up to the
 * whole run. It does not count in the phase's other metrics. */
static void test_phase_that_a_run_lacks(void **state)
{
    static const struct rps_comparison_options options = {0};
    struct rps_comparison comparison;
    struct fixture *fixture;
    uint64_t noise = 11;

    (void)state;
    add_phases(RPS_SIDE_A, &noise);
    add_phases(RPS_SIDE_A, &noise);
    fixture = begin_run(RPS_SIDE_A);
    fixture_write(fixture);
    add_periods(fixture, QUIET, 140, 1, &noise);
    end_run();
    for (int i = 0; i < 3; i++)
        add_phases(RPS_SIDE_B, &noise);
    must_compare(&options, &comparison);
    assert_int_equal(comparison.row_count, 3);
    near(change_of(&comparison, 1, "elapsed")->a, 14, .5);
    near(change_of(&comparison, 2, "elapsed")->a, 16. / 3, .3);
    near(change_of(&comparison, 0, "elapsed")->a, (22 + 22 + 14) / 3., .6);
    near(change_of(&comparison, 2, "cpi")->ratio, 1 / .9 - 1, .01);
    needs_remark(&comparison,
                 "Run 3: no phase matches B, so 0 s in it, and left out of its other metrics.");
}

/* With one run per side, nothing is tested. A new phase has no value on the side that lacks the
 * phase. */
static void test_phases_of_two(void **state)
{
    static const struct rps_comparison_options options = {0};
    struct rps_comparison comparison;
    uint64_t noise = 13;

    (void)state;
    fixture_write(begin_run(RPS_SIDE_A));
    add_periods(&group.fixture[0], QUIET, 100, 1, &noise);
    add_periods(&group.fixture[0], BUSY, 100, 1, &noise);
    end_run();
    fixture_write(begin_run(RPS_SIDE_B));
    add_periods(&group.fixture[1], QUIET, 100, 1, &noise);
    add_periods(&group.fixture[1], BUSY, 100, .9, &noise);
    add_periods(&group.fixture[1], SLOW, 100, 1, &noise);
    end_run();
    must_compare(&options, &comparison);
    assert_int_equal(comparison.row_count, 4);
    assert_int_equal(change_of(&comparison, 2, "cpi")->why, RPS_CHANGE_SINGLE);
    near(change_of(&comparison, 2, "cpi")->ratio, .11, .05);
    near(change_of(&comparison, 1, "cpi")->ratio, 0, .05);
    assert_true(change_of(&comparison, 1, "cpi")->is_chance); /* one period at its boundary */
    assert_false(change_of(&comparison, 2, "cpi")->is_chance);
    assert_int_equal(comparison.row[3].a_times, 0);
    assert_int_equal(comparison.row[3].b_times, 1);
    assert_int_equal(comparison.row[3].a_start_ns, -1);
    assert_int_equal(change_of(&comparison, 3, "cpi")->why, RPS_CHANGE_ABSENT);
    near(change_of(&comparison, 3, "elapsed")->b, 10, .4);
}

/* --- functions -------------------------------------------------------------------------------- */

static void write_code(struct fixture *fixture, const char *path)
{
    const struct rps_module module[] = {{0, RPS_MODULE_FILE, path, ""},
                                        {1, RPS_MODULE_KERNEL, "[kernel]", ""}};
    static const struct rps_frame frame[] = {
        {0, 0, 16, 0}, {1, 0, 32, 0}, {2, 0, 48, 0}, {3, 1, 64, 0}};
    static const struct rps_stack stack[] = {{0, -1, 0}, {1, 0, 1}, {2, 0, 2}, {3, 2, 3}};
    const struct rps_sampling sampling = {.event = "cpu-clock", .frequency = 100, .stacks = "fp"};

    rps_writer_sampling(fixture->writer, &sampling);
    for (int i = 0; i < 2; i++)
        rps_writer_module(fixture->writer, &module[i]);
    for (int i = 0; i < 4; i++) {
        rps_writer_frame(fixture->writer, &frame[i]);
        rps_writer_stack(fixture->writer, &stack[i]);
    }
}

/* Add a run with half of its periods in work (`samples` samples each) and half in rest, which calls
 * the kernel. Only the first `sampled` periods have samples. */
static void add_sampled_for(enum rps_comparison_side side, const char *path, uint64_t samples,
                            uint64_t sampled)
{
    static struct rps_location location[] = {{0, 0, "main", "story.c", 9, RPS_LOCATION_DEBUG},
                                             {1, 0, "work", "story.c", 3, RPS_LOCATION_DEBUG},
                                             {2, 0, "rest", "story.c", 5, RPS_LOCATION_DEBUG},
                                             {3, 0, "sys", "", 0, RPS_LOCATION_SYMBOL}};
    const struct rps_code code = {.location_count = 4, .location = location};
    struct fixture *fixture = begin_run(side);
    struct rps_error err;

    fixture_write(fixture);
    write_code(fixture, path);
    for (uint64_t i = 0; i < 120; i++) {
        struct rps_code_count count = {.cpu = -1, .period = i, .id = 1, .samples = samples};

        add_periods(fixture, i < 60 ? QUIET : BUSY, 1, 1, NULL);
        if (i >= sampled)
            continue;
        if (i >= 60) {
            count.id = 2;
            count.samples = sampled == 61 ? 2 : 4;
            rps_writer_code_count(fixture->writer, RPS_COUNT_STACKS, &count);
            count.id = 3;
            count.samples = 2;
        }
        rps_writer_code_count(fixture->writer, RPS_COUNT_STACKS, &count);
    }
    end_run();
    if (rps_store_set_locations(fixture->path, fixture->run_id, &code, &err) < 0)
        fail_msg("%s", err.message);
}

static void add_sampled(enum rps_comparison_side side, const char *path, uint64_t samples)
{
    add_sampled_for(side, path, samples, 120);
}

static void check_function(const struct rps_comparison_function *function, const char *name,
                           int line, double a, double b)
{
    assert_string_equal(function->name.name, name);
    assert_int_equal(function->name.line, line);
    near(function->seconds.a, a, 1e-9);
    near(function->seconds.b, b, 1e-9);
    assert_false(rps_comparison_verdict(&function->seconds) >= RPS_VERDICT_LESS);
}

/* Another build in another directory has the same functions. Kernel code counts for its caller. */
static void test_functions(void **state)
{
    static const struct rps_comparison_options no_samples = {.no_phases = 1, .no_samples = 1};
    struct rps_comparison comparison;

    (void)state;
    add_sampled(RPS_SIDE_A, "/old/story", 8);
    add_sampled(RPS_SIDE_B, "/new/story", 5);
    must_compare(&whole_only, &comparison);
    assert_int_equal(comparison.row[0].function_count, 2);
    check_function(&comparison.row[0].function[0], "work", 3, 4.8, 3);
    check_function(&comparison.row[0].function[1], "rest", 5, 3.6, 3.6);
    assert_int_equal(comparison.row[0].function[0].seconds.why, RPS_CHANGE_SINGLE);
    near(comparison.row[0].function[0].a_share, 4.8 / 8.4, 1e-9);
    near(comparison.row[0].function[0].b_share, 3 / 6.6, 1e-9);
    must_compare(&no_samples, &comparison);
    assert_int_equal(comparison.row[0].function_count, 0);
}

/* A side with fewer than 20 samples has no shares, while the other side has shares. */
static void test_functions_of_few_samples(void **state)
{
    struct rps_comparison comparison;

    (void)state;
    add_sampled_for(RPS_SIDE_A, "/old/story", 8, 2);
    add_sampled_for(RPS_SIDE_B, "/new/story", 9, 2);
    must_compare(&whole_only, &comparison);
    assert_int_equal(comparison.row[0].function_count, 0);
    add_sampled(RPS_SIDE_B, "/new/story", 5);
    must_compare(&whole_only, &comparison);
    assert_int_equal(comparison.row[0].function_count, 2);
    assert_true(isnan(comparison.row[0].function[0].a_share));
    assert_false(isnan(comparison.row[0].function[0].b_share));
}

/* A function with only four samples in all runs is not compared. */
static void test_functions_of_four_samples(void **state)
{
    struct rps_comparison comparison;

    (void)state;
    add_sampled_for(RPS_SIDE_A, "/old/story", 1, 61);
    add_sampled_for(RPS_SIDE_B, "/new/story", 1, 60);
    must_compare(&whole_only, &comparison);
    assert_int_equal(comparison.row[0].function_count, 1);
    check_function(&comparison.row[0].function[0], "work", 3, .6, .6);
}

/* A function of a renamed program is compared with the old function. Functions of one name in two
 * modules of a run are compared separately. */
static void test_functions_of_programs(void **state)
{
    static const struct rps_module module = {2, RPS_MODULE_FILE, "/lib/other", ""};
    static const struct rps_frame frame = {4, 2, 16, 0};
    static const struct rps_stack stack = {4, -1, 4};
    static struct rps_location location[] = {{1, 0, "work", "", 0, RPS_LOCATION_SYMBOL},
                                             {2, 0, "rest", "", 0, RPS_LOCATION_SYMBOL},
                                             {4, 0, "work", "", 0, RPS_LOCATION_SYMBOL}};
    const struct rps_code code = {.location_count = 3, .location = location};
    const struct rps_code_count count = {.cpu = -1, .period = 0, .id = 4, .samples = 1000};
    struct rps_comparison comparison;
    struct rps_error err;

    (void)state;
    add_sampled(RPS_SIDE_A, "/bin/naive", 8);
    add_sampled(RPS_SIDE_B, "/bin/interchange", 5);
    must_compare(&whole_only, &comparison);
    assert_int_equal(comparison.row[0].function_count, 2);
    check_function(&comparison.row[0].function[0], "work", 3, 4.8, 3);
    assert_string_equal(comparison.row[0].function[0].name.module, "/bin/interchange");
    group.choice[1].side = RPS_SIDE_A;
    fixture_write(begin_run(RPS_SIDE_B));
    write_code(&group.fixture[2], "/usr/bin/naive");
    rps_writer_module(group.fixture[2].writer, &module);
    rps_writer_frame(group.fixture[2].writer, &frame);
    rps_writer_stack(group.fixture[2].writer, &stack);
    add_periods(&group.fixture[2], QUIET, 4, 1, NULL);
    rps_writer_code_count(group.fixture[2].writer, RPS_COUNT_STACKS, &count);
    end_run();
    if (rps_store_set_locations(group.fixture[2].path, group.fixture[2].run_id, &code, &err) < 0)
        fail_msg("%s", err.message);
    must_compare(&whole_only, &comparison);
    assert_int_equal(comparison.row[0].function_count, 5);
    check_function(&comparison.row[0].function[0], "work", 0, 0, 10);
    assert_string_equal(comparison.row[0].function[0].name.module, "/lib/other");
}

static void test_functions_of_phases(void **state)
{
    static const struct rps_comparison_options options = {0};
    struct rps_comparison comparison;

    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        add_sampled(RPS_SIDE_A, "/old/story", 7 + i);
        add_sampled(RPS_SIDE_B, "/new/story", 4 + i);
    }
    must_compare(&options, &comparison);
    assert_int_equal(comparison.row_count, 3);
    assert_string_equal(comparison.row[1].function[0].name.name, "work");
    near(comparison.row[1].function[0].seconds.a, 4.8, .2);
    assert_int_equal(comparison.row[1].function[0].seconds.basis, RPS_CHANGE_GROUPS);
    assert_string_equal(comparison.row[2].function[0].name.name, "rest");
    near(comparison.row[2].function[0].seconds.b, 3.6, .2);
}

/* --- remarks and refusals --------------------------------------------------------------------- */

static void test_remarks(void **state)
{
    struct rps_comparison comparison;
    struct fixture *fixture;

    (void)state;
    add_sampled(RPS_SIDE_A, "/old/story", 8);
    fixture = begin_run(RPS_SIDE_B);
    strcpy(fixture->run.label, "new");
    strcpy(fixture->run.host, "pi4");
    strcpy(fixture->run.kernel, "Linux 6.1");
    strcpy(fixture->run.pmu, "sim");
    fixture->run.period_ns = 2 * FIXTURE_PERIOD_NS;
    fixture->run.exit_status = 3;
    strcpy(fixture->plan->set[3].event[1].modifiers, "u");
    strcpy(fixture->run.end_reason, "--duration was reached");
    fixture_write(fixture);
    fixture->next.running_ns /= 2;
    add_periods(fixture, QUIET, 40, 1, NULL);
    end_run();
    must_compare(&whole_only, &comparison);
    needs_remark(&comparison, "in the same form: Mispredict ratio, Mispredicted BR.");
    needs_remark(&comparison,
                 "Different machines: pi (ARMv6-compatible processor rev 7 (v6l)) of run "
                 "1, pi4 (ARMv6");
    needs_remark(&comparison,
                 "Different kernels: Linux 3.6.11+ of run 1, Linux 6.1 of run 2 (new).");
    needs_remark(&comparison, "Different counters: hardware of run 1, sim of");
    needs_remark(&comparison, "Different measurement periods: 0.100 s of run 1, 0.200 s");
    needs_remark(&comparison, "Run 2 (new): failed with exit status 3.");
    needs_remark(&comparison, "Run 2 (new): ended before the workload did, --duration was");
    needs_remark(&comparison,
                 "Run 2 (new): an event set was on counters for only 50.0 % of its time");
    needs_remark(&comparison, "Run 2 (new): no samples, so left out of the functions.");
    assert_int_equal(rps_comparison_figure(&comparison, "branch_miss"), -1);
    assert_int_equal(comparison.row[0].function_count, 0);
}

/* What differs between the environments is said, and what is not known of them. */
static void compare_environments(int tenths)
{
    static const struct rps_module file[][2] = {
        {{0, RPS_MODULE_FILE, "/a/libx.so", "1111aaaabbbb"},
         {1, RPS_MODULE_FILE, "/lib/libc.so", "cc"}},
        {{0, RPS_MODULE_FILE, "/b/libx.so", "2222aaaabbbb"},
         {1, RPS_MODULE_FILE, "/lib/libc.so", "cc"}},
    };
    struct rps_comparison comparison;

    for (int side = RPS_SIDE_A; side <= RPS_SIDE_B; side++) {
        struct fixture *fixture = begin_run((enum rps_comparison_side)side);

        strcpy(fixture->run.governor, side == RPS_SIDE_A ? "powersave" : "performance");
        fixture_write(fixture);
        for (int i = 0; i < 2; i++)
            rps_writer_module(fixture->writer, &file[side][i]);
        add_periods(fixture, QUIET, tenths, 1, NULL);
        fixture->run.others_cpu_ns = side == RPS_SIDE_A ? 100000000 : 30000000000;
        end_run();
    }
    must_compare(&whole_only, &comparison);
    needs_remark(&comparison, "Different CPU frequency governors: powersave of run 1, performance");
    needs_remark(&comparison, "Different builds: libx.so (build-id 1111aaaa) of run 1, libx.so "
                              "(build-id 2222aaaa) of run 2.");
    if (tenths >= 10)
        needs_remark(&comparison, "Different load by other programs: 0.10 CPUs on average during "
                                  "run 1, 1.00 during run 2.");
    else
        assert_false(has_remark(&comparison, "load by other programs"));
    assert_false(has_remark(&comparison, "Unknown for some runs"));
    assert_false(has_remark(&comparison, "only a part"));
}

/* Others use at most all CPUs. The load during a run of less than one second is unknown. */
static void test_environment(void **state)
{
    (void)state;
    compare_environments(10);
}

static void test_environment_of_short_runs(void **state)
{
    (void)state;
    compare_environments(9);
}

/* A file with a build-id in one run only is unknown, not different. A part of a run is named. */
static void test_lacking_build(void **state)
{
    static const struct rps_module file[] = {{0, RPS_MODULE_FILE, "/a/tool", "1111aaaabbbb"},
                                             {0, RPS_MODULE_FILE, "/a/tool", ""}};
    static const struct rps_module libc = {1, RPS_MODULE_FILE, "/lib/libc.so", "cc"};
    struct rps_comparison comparison;

    (void)state;
    for (int side = RPS_SIDE_A; side <= RPS_SIDE_B; side++) {
        struct fixture *fixture = begin_run((enum rps_comparison_side)side);

        if (side == RPS_SIDE_B)
            rps_run_add_tag(&fixture->run, "part_of", "u");
        fixture_write(fixture);
        rps_writer_module(fixture->writer, &file[side]);
        rps_writer_module(fixture->writer, &libc);
        add_periods(fixture, QUIET, 8, 1, NULL);
        fixture->run.others_cpu_ns = 0;
        end_run();
    }
    must_compare(&whole_only, &comparison);
    assert_false(has_remark(&comparison, "Different builds"));
    needs_remark(&comparison, "Unknown for some runs, so not compared: build-ids of the program "
                              "and its libraries.");
    needs_remark(&comparison, "Run 2: only a part of the recorded run");
}

/* The machine may be unknown in a repaired store. */
static void test_unknown_machine(void **state)
{
    struct rps_comparison comparison;
    struct fixture *fixture;

    (void)state;
    for (int side = RPS_SIDE_A; side <= RPS_SIDE_B; side++) {
        fixture = begin_run((enum rps_comparison_side)side);
        if (side == RPS_SIDE_B)
            fixture->run.cpu_model[0] = '\0';
        fixture_write(fixture);
        add_periods(fixture, QUIET, 10, 1, NULL);
        end_run();
    }
    must_compare(&whole_only, &comparison);
    assert_false(has_remark(&comparison, "Different machines"));
    needs_remark(&comparison, "Unknown for some runs, so not compared: CPU model, build-ids of the "
                              "program and its libraries, load by other programs.");
}

static void refused(const struct rps_comparison_choice *choice, size_t count, int code,
                    const char *part)
{
    struct rps_comparison comparison;
    struct rps_error err;

    assert_int_equal(
        rps_comparison_find(group.arena, choice, count, &whole_only, &comparison, &err), code);
    if (!strstr(err.message, part))
        fail_msg("'%s' does not say '%s'", err.message, part);
}

static void test_refused(void **state)
{
    struct rps_comparison_choice choice[3];
    struct rps_error err;

    (void)state;
    fixture_write(begin_run(RPS_SIDE_A));
    add_periods(&group.fixture[0], QUIET, 8, 1, NULL);
    end_run();
    for (int i = 0; i < 3; i++)
        choice[i] = group.choice[0];
    refused(choice, 0, RPS_FAILED, "side A has no run");
    refused(choice, 1, RPS_FAILED, "side B has no run");
    choice[1].side = RPS_SIDE_B;
    refused(choice, 2, RPS_USAGE, "run 1 is on both sides");
    choice[2].side = RPS_SIDE_B;
    refused(choice + 1, 2, RPS_FAILED, "side A has no run");
    choice[1].side = RPS_SIDE_A;
    refused(choice, 3, RPS_USAGE, "run 1 is named twice on one side; leave out one of them");
    choice[1].run_id = 7;
    refused(choice, 3, RPS_FAILED, "7");
    group.fixture[0].run.state = RPS_RUN_RECORDING;
    if (rps_writer_open(&group.fixture[0].writer, group.fixture[0].path,
                        &(struct rps_writer_options){0}, &err) < 0 ||
        rps_writer_begin(group.fixture[0].writer, &group.fixture[0].run, group.fixture[0].plan,
                         &err) < 0)
        fail_msg("%s", err.message);
    choice[1].run_id = group.fixture[0].run.run_id;
    choice[1].side = RPS_SIDE_B;
    refused(choice, 2, RPS_FAILED, "is still being recorded");
}

/* --- stores that say anything ----------------------------------------------------------------- */

static void add_hostile(enum rps_comparison_side side, int form)
{
    struct fixture *fixture = begin_run(side);
    const uint64_t most = UINT64_C(1) << 62;
    uint64_t count[8] = {0};

    fixture->run.period_ns = form == 1 ? INT64_MAX : form == 2 ? 0 : -5;
    fixture_write(fixture);
    if (form > 0)
        write_code(fixture, "");
    for (uint64_t i = 0; i < 60 && form != 3; i++) {
        const struct rps_code_count counted = {
            .cpu = -1, .period = i, .id = (int64_t)(i % 9), .samples = most};

        count[i % 2] = i % 3 ? most : 0;
        fixture->next.length_ns = form == 2 ? 0 : 1 + (int64_t)(most / 100);
        fixture->next.enabled_ns = i % 5 ? most / 100 : 0;
        fixture->next.running_ns = i % 4 ? most / 100 : 0;
        fixture->next.idle_ns = i % 7 ? 0 : -1;
        fixture_period(fixture, i % 2 ? most : 0, count);
        if (form > 0)
            rps_writer_code_count(fixture->writer, RPS_COUNT_STACKS, &counted);
    }
    end_run();
}

static void test_hostile(void **state)
{
    static const struct rps_comparison_options options[] = {{.no_phases = 0}, {.no_phases = 1}};
    struct rps_comparison comparison;
    struct rps_error err;

    (void)state;
    for (int i = 0; i < 8; i++)
        add_hostile(i < 4 ? RPS_SIDE_A : RPS_SIDE_B, i % 4);
    for (int i = 0; i < 32; i++) {
        struct rps_comparison_choice choice[] = {group.choice[i % 4], group.choice[4 + i / 4 % 4]};

        rps_comparison_find(group.arena, choice, 2, &options[i / 16], &comparison, &err);
    }
    for (int k = 0; k < 2; k++) {
        rps_comparison_find(group.arena, group.choice, 8, &options[k], &comparison, &err);
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, end_group)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_exact),
        TEST(test_five_against_five),
        TEST(test_one_against_five),
        TEST(test_few_runs),
        TEST(test_too_few_runs),
        TEST(test_corrected),
        TEST(test_phases),
        TEST(test_phase_that_a_run_lacks),
        TEST(test_phases_of_two),
        TEST(test_functions),
        TEST(test_functions_of_few_samples),
        TEST(test_functions_of_four_samples),
        TEST(test_functions_of_programs),
        TEST(test_functions_of_phases),
        TEST(test_remarks),
        TEST(test_environment),
        TEST(test_environment_of_short_runs),
        TEST(test_lacking_build),
        TEST(test_unknown_machine),
        TEST(test_refused),
        TEST(test_hostile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
