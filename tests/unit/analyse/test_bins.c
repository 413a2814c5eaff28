/* Tests of binning: rotations to points, ratios of sums, bands, gaps, the cycle axis. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "support/arena.h"
#include "rpistat/bins.h"
#include "rpistat/plan.h"

#define PERIOD_NS INT64_C(100000000)

/* Make a plan of `sets` sets with one event each (e0 ...) and two metrics: "cpi" = clock / e0,
 * "rate" = e0 / seconds. */
static struct rps_plan *make_plan(int sets)
{
    struct rps_plan *plan = rps_plan_new();

    assert_non_null(plan);
    for (int n = 0; n < sets; n++) {
        struct rps_event_set *set = rps_plan_add_set(plan);

        assert_non_null(set);
        set->event_count = 1;
        set->event[0].name[0] = 'e';
        set->event[0].name[1] = (char)('0' + n);
    }
    for (int m = 0; m < 2; m++) {
        struct rps_metric *metric = rps_plan_add_metric(plan);

        assert_non_null(metric);
        strcpy(metric->name, m ? "rate" : "cpi");
        strcpy(metric->formula_text, m ? "e0 / seconds" : "clock / e0");
    }
    assert_int_equal(rps_plan_compile(plan, NULL), 0);
    return plan;
}

/* A source of consecutive periods. */
struct source {
    struct rps_plan *plan;
    struct rps_bins *bins;
    uint64_t number, cycle;
    int64_t time_ns;
};

static void feed(struct source *source, int64_t length_ns, uint64_t cycles, uint64_t count)
{
    struct rps_period period = {
        .cpu = RPS_CPU_ALL,
        .set_no = (uint32_t)(source->number % (uint64_t)source->plan->set_count),
        .period = source->number,
        .rotation = source->number / (uint64_t)source->plan->set_count,
        .cycle = source->cycle + cycles,
        .cycles = cycles,
        .start_ns = source->time_ns,
        .length_ns = length_ns,
        .enabled_ns = cycles ? (uint64_t)length_ns : 0,
        .clock_running_ns = cycles ? (uint64_t)length_ns : 0,
        .running_ns = cycles ? (uint64_t)length_ns : 0,
        .counted = 1,
        .count = {count},
    };

    rps_bins_add(source->bins, &period);
    source->number++;
    source->cycle += cycles;
    source->time_ns += length_ns;
}

static struct source begin(int sets, enum rps_axis axis, double to, size_t count)
{
    struct source source = {0};

    source.plan = make_plan(sets);
    source.bins = rps_bins_new(source.plan, axis, 0, to, count, 0);
    return source;
}

static struct rps_series series_of(struct source *source, int metric)
{
    return rps_bins_series(source->bins, metric, arena);
}

static void end(struct source *source)
{
    rps_bins_free(source->bins);
    rps_plan_free(source->plan);
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fmax(1, fabs(expected))))
        fail_msg("%.17g is not %.17g", value, expected);
}

static void test_few_rotations(void **state)
{
    struct source source = begin(2, RPS_AXIS_TIME, 0.6, 100);
    struct rps_series series;

    (void)state;
    for (int i = 0; i < 6; i++)
        feed(&source, PERIOD_NS, 1000, (uint64_t)(100 * (1 + i / 2)));
    series = series_of(&source, 0);
    assert_int_equal(series.count, 3);
    for (int i = 0; i < 3; i++) {
        /* The event was counted in one of two periods, so its estimate is twice the count. */
        assert_near(series.position[i], 0.1 + 0.2 * i);
        assert_near(series.value[i], 2000.0 / (200 * (1 + i)));
        assert_near(series.min[i], series.value[i]);
        assert_near(series.max[i], series.value[i]);
    }
    end(&source);
}

static void test_empty(void **state)
{
    struct source source = begin(2, RPS_AXIS_TIME, 1, 10);
    struct rps_series series = series_of(&source, 0);

    (void)state;
    assert_int_equal(series.count, 0);
    end(&source);
}

/* The value of a bin is a ratio of sums. The band of a bin reaches the extremes of its rotations.
 */
static void test_ratio_of_sums(void **state)
{
    struct source source = begin(1, RPS_AXIS_TIME, 0.4, 2);
    struct rps_series series;

    (void)state;
    feed(&source, PERIOD_NS, 1000, 100);  /* cpi 10 */
    feed(&source, PERIOD_NS, 3000, 1000); /* cpi 3 */
    feed(&source, PERIOD_NS, 500, 500);   /* cpi 1 */
    feed(&source, PERIOD_NS, 500, 125);   /* cpi 4 */
    series = series_of(&source, 0);
    assert_int_equal(series.count, 2);
    assert_near(series.position[0], 0.1);
    assert_near(series.position[1], 0.3);
    assert_near(series.value[0], 4000.0 / 1100);
    assert_near(series.min[0], 3);
    assert_near(series.max[0], 10);
    assert_near(series.value[1], 1000.0 / 625);
    assert_near(series.min[1], 1);
    assert_near(series.max[1], 4);
    end(&source);
}

static void check_spike(int at)
{
    struct source source = begin(1, RPS_AXIS_TIME, 1000, 50);
    struct rps_series series;
    int tall = 0, low = 0;

    for (int i = 0; i < 10000; i++)
        feed(&source, PERIOD_NS, 1000, i == at ? 10 : i == at + 3 ? 100000 : 1000);
    series = series_of(&source, 0);
    assert_int_equal(series.count, 50);
    for (size_t i = 0; i < series.count; i++) {
        assert_near(series.position[i], 10 + 20.0 * (double)i);
        if (series.max[i] > 1) {
            assert_near(series.max[i], 100);
            tall++;
        }
        if (series.min[i] < 1) {
            assert_near(series.min[i], 0.01);
            low++;
        }
    }
    assert_int_equal(tall, 1);
    assert_int_equal(low, 1);
    end(&source);
}

/* A spike is kept, even if each rotation was still a separate bin when the spike occurred. */
static void test_spike_stays(void **state)
{
    (void)state;
    check_spike(0);
    check_spike(30);
    check_spike(7777);
    check_spike(9996);
}

/* The sums in the bins equal the input for all numbers of rotations and bins. */
static void test_nothing_is_lost(void **state)
{
    (void)state;
    for (int periods = 1; periods < 60; periods++) {
        for (size_t room = 1; room < 20; room += 3) {
            struct source source = begin(3, RPS_AXIS_TIME, periods * 0.1, room);
            struct rps_series series;
            double last = -1;

            for (int i = 0; i < periods; i++)
                feed(&source, PERIOD_NS, 1000, 500);
            series = series_of(&source, 1);
            assert_true(series.count >= 1 && series.count <= room);
            for (size_t i = 0; i < series.count; i++) {
                assert_true(series.position[i] > last);
                last = series.position[i];
                assert_near(series.value[i], 5000);
            }
            end(&source);
        }
    }
}

static void test_gap(void **state)
{
    struct source source = begin(1, RPS_AXIS_TIME, 10, 100);
    struct rps_series series;

    (void)state;
    feed(&source, PERIOD_NS, 1000, 100);
    source.time_ns += PERIOD_NS / 2; /* a delay too short for a gap */
    feed(&source, PERIOD_NS, 1000, 100);
    source.time_ns += 20 * PERIOD_NS;
    source.number += 20;
    feed(&source, PERIOD_NS, 1000, 100);
    series = series_of(&source, 0);
    assert_int_equal(series.count, 4);
    assert_false(isnan(series.value[1]));
    assert_true(isnan(series.value[2]) && isnan(series.min[2]) && isnan(series.max[2]));
    assert_near(series.position[2], 0.25 + 1.0);
    assert_false(isnan(series.value[3]));
    end(&source);
}

static void test_gap_in_grid(void **state)
{
    struct source source = begin(1, RPS_AXIS_TIME, 100, 10);
    struct rps_series series;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        if (i == 300) {
            source.time_ns += 400 * PERIOD_NS;
            i += 400;
        }
        feed(&source, PERIOD_NS, 1000, 100);
    }
    series = series_of(&source, 0);
    assert_int_equal(series.count, 7);
    for (size_t i = 0; i < series.count; i++)
        assert_true(isnan(series.value[i]) == (i == 3));
    assert_near(series.position[3], 50);
    end(&source);
}

static void test_rotation_is_not_joined_across_gap(void **state)
{
    struct source source = begin(2, RPS_AXIS_TIME, 10, 100);
    struct rps_series series;

    (void)state;
    feed(&source, PERIOD_NS, 1000, 100);
    source.time_ns += 50 * PERIOD_NS;
    feed(&source, PERIOD_NS, 1000, 100); /* the second set of the same rotation, much later */
    series = series_of(&source, 1);
    assert_int_equal(series.count, 3);
    assert_near(series.value[0], 1000);
    assert_true(isnan(series.value[1]) && isnan(series.value[2]));
    end(&source);
}

static void test_idle_is_not_known(void **state)
{
    struct source source = begin(1, RPS_AXIS_TIME, 0.3, 10);
    struct rps_series cpi, rate;

    (void)state;
    feed(&source, PERIOD_NS, 1000, 100);
    feed(&source, PERIOD_NS, 0, 0);
    feed(&source, PERIOD_NS, 1000, 100);
    cpi = series_of(&source, 0);
    rate = series_of(&source, 1);
    assert_int_equal(cpi.count, 3);
    assert_true(isnan(cpi.value[1]));
    assert_near(rate.value[1], 0);
    end(&source);
}

static void test_cycle_axis(void **state)
{
    struct source source = begin(1, RPS_AXIS_CYCLE, 3000, 10);
    struct rps_series series;

    (void)state;
    feed(&source, PERIOD_NS, 1000, 100);
    for (int i = 0; i < 50; i++)
        feed(&source, PERIOD_NS, 0, 0); /* asleep: the position does not change */
    feed(&source, PERIOD_NS, 2000, 100);
    series = series_of(&source, 0);
    assert_int_equal(series.count, 2);
    assert_near(series.position[0], 500);
    assert_near(series.value[0], 10);
    assert_near(series.position[1], 2000);
    assert_near(series.value[1], 20);
    end(&source);
}

static void test_last_sliver(void **state)
{
    struct source source = begin(1, RPS_AXIS_TIME, 0.201, 10);
    struct rps_series series;

    (void)state;
    feed(&source, PERIOD_NS, 1000, 100);
    feed(&source, PERIOD_NS, 1000, 100);
    feed(&source, PERIOD_NS / 100, 1000, 900); /* 1 million events per second for 1 ms */
    series = series_of(&source, 1);
    assert_int_equal(series.count, 2);
    assert_near(series.value[1], 1000 / 0.101);
    assert_near(series.max[1], 1000 / 0.101);
    assert_near(series.position[1], (0.1 + 0.201) / 2);
    end(&source);
}

/* A set that was counted while the workload hardly ran is not used in ratios with other sets. */
static void test_unsound_rotations(void **state)
{
    struct source source = begin(2, RPS_AXIS_TIME, 1, 100);
    struct rps_series cpi, rate;

    (void)state;
    feed(&source, PERIOD_NS, 1000000, 500000);
    feed(&source, PERIOD_NS, 1000000, 1);
    feed(&source, PERIOD_NS, 100, 20); /* the period of e0: the workload is nearly asleep */
    feed(&source, PERIOD_NS, 1000000, 1);
    feed(&source, PERIOD_NS, 1000000, 500000);
    feed(&source, PERIOD_NS, 1000000, 1);
    cpi = series_of(&source, 0);
    rate = series_of(&source, 1);
    assert_int_equal(cpi.count, 3);
    assert_near(cpi.value[0], 2);
    assert_true(isnan(cpi.value[1]) && isnan(cpi.max[1]));
    assert_near(cpi.value[2], 2);
    assert_true(isnan(rate.value[1]));
    end(&source);
}

/* A workload that ran for a moment has no ratio, but a rate over time. */
static void test_hardly_ran(void **state)
{
    struct source source = begin(1, RPS_AXIS_TIME, 1, 100);
    struct rps_period moment = {.length_ns = PERIOD_NS,
                                .cycle = 5000,
                                .cycles = 5000,
                                .enabled_ns = 900000, /* the workload ran for 0.9 of 100 ms */
                                .clock_running_ns = 900000,
                                .running_ns = 900000,
                                .counted = 1,
                                .count = {50}};
    struct rps_series cpi, rate;

    (void)state;
    rps_bins_add(source.bins, &moment);
    cpi = series_of(&source, 0);
    rate = series_of(&source, 1);
    assert_true(isnan(cpi.value[0]));
    assert_near(rate.value[0], 500);
    end(&source);
}

/* Feed a block of `merged` rotations: one row per set, with `count` events and `cycles` cycles per
 * period. */
static void feed_block(struct source *source, uint64_t merged, uint64_t cycles, uint64_t count)
{
    uint64_t sets = (uint64_t)source->plan->set_count, all = merged * sets;

    for (uint64_t set = 0; set < sets; set++) {
        uint64_t last = (merged - 1) * sets + set; /* last period of this set, counted from the
                                                      block's first period */
        struct rps_period row = {
            .cpu = RPS_CPU_ALL,
            .set_no = (uint32_t)set,
            .period = source->number + set,
            .rotation = source->number / sets,
            .cycle = source->cycle + (last + 1) * cycles,
            .cycles = merged * cycles,
            .start_ns = source->time_ns + (int64_t)set * PERIOD_NS,
            .length_ns = (int64_t)merged * PERIOD_NS,
            .enabled_ns = merged * (uint64_t)PERIOD_NS,
            .clock_running_ns = merged * (uint64_t)PERIOD_NS,
            .running_ns = merged * (uint64_t)PERIOD_NS,
            .counted = 1,
            .count = {merged * count},
            .level = 1,
            .merged = merged,
            .last_period = source->number + last,
            .end_ns = source->time_ns + (int64_t)(last + 1) * PERIOD_NS,
        };

        rps_bins_add(source->bins, &row);
    }
    source->number += all;
    source->cycle += all * cycles;
    source->time_ns += (int64_t)all * PERIOD_NS;
}

/* A block becomes one point. Overlapping rows of a block are no gap. A gap after a block is
 * detected even if the gap is shorter than the block. */
static void test_blocks(void **state)
{
    for (int axis = RPS_AXIS_TIME; axis <= RPS_AXIS_CYCLE; axis++) {
        struct source source =
            begin(2, (enum rps_axis)axis, axis == RPS_AXIS_TIME ? 10 : 100000, 100);
        double unit = axis == RPS_AXIS_TIME ? 0.1 : 1000;
        struct rps_series series;

        (void)state;
        feed_block(&source, 16, 1000, 100);
        feed_block(&source, 10, 1000, 200);
        source.time_ns += 3 * PERIOD_NS;
        feed_block(&source, 5, 1000, 400);
        feed(&source, PERIOD_NS, 1000, 500);
        feed(&source, PERIOD_NS, 1000, 500);
        series = series_of(&source, 0);
        assert_int_equal(series.count, 5);
        assert_near(series.position[0], 16 * unit);
        assert_near(series.position[1], 42 * unit);
        assert_near(series.value[0], 10);
        assert_near(series.value[1], 5);
        assert_true(isnan(series.value[2]));
        assert_near(series.value[3], 2.5);
        assert_near(series.value[4], 2); /* a rotation after a block is not left out as too short */
        if (axis == RPS_AXIS_TIME)
            assert_near(series.position[2], 5.35);
        end(&source);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_few_rotations, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_empty, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_ratio_of_sums, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_spike_stays, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_nothing_is_lost, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_gap, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_gap_in_grid, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_rotation_is_not_joined_across_gap, open_arena,
                                        close_arena),
        cmocka_unit_test_setup_teardown(test_idle_is_not_known, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_cycle_axis, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_last_sliver, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_unsound_rotations, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_hardly_ran, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_blocks, open_arena, close_arena),
    };

    return cmocka_run_group_tests_name("analyse/bins", tests, NULL, NULL);
}
