/* Tests of collecting: the signals of a plan, their values in a period, a rotation and a sleep,
 * parallel tracks, gaps and weights. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "rpistat/collect.h"
#include "rpistat/plan.h"

#define PERIOD_NS INT64_C(100000000)

static void add_metric(struct rps_plan *plan, const char *name, const char *unit,
                       const char *formula)
{
    struct rps_metric *metric = rps_plan_add_metric(plan);

    assert_non_null(metric);
    snprintf(metric->name, sizeof(metric->name), "%s", name);
    snprintf(metric->unit, sizeof(metric->unit), "%s", unit);
    snprintf(metric->formula_text, sizeof(metric->formula_text), "%s", formula);
}

/* Make a plan of `sets` sets with two events each: a, b; c, d. With two sets, the metric "across"
 * needs both sets. */
static struct rps_plan *make_plan(int sets)
{
    struct rps_plan *plan = rps_plan_new();

    assert_non_null(plan);
    for (int n = 0; n < sets; n++) {
        struct rps_event_set *set = rps_plan_add_set(plan);

        assert_non_null(set);
        set->event_count = 2;
        set->event[0].name[0] = (char)('a' + 2 * n);
        set->event[1].name[0] = (char)('b' + 2 * n);
    }
    add_metric(plan, "cpt", "", "clock / a");
    add_metric(plan, "share", "%", "100 * b / a");
    add_metric(plan, "rate", "/s", "b / seconds");
    if (sets > 1)
        add_metric(plan, "across", "PTI", "1000 * c / a");
    assert_int_equal(rps_plan_compile(plan, NULL), 0);
    return plan;
}

/* Return period n of a workload that ran for the share `ran` of the period, with these counts. */
static struct rps_period period_of(uint64_t n, unsigned int sets, double ran, uint64_t first,
                                   uint64_t second)
{
    uint64_t ran_ns = (uint64_t)((double)PERIOD_NS * ran);

    return (struct rps_period){
        .cpu = RPS_CPU_ALL,
        .set_no = (uint32_t)(n % sets),
        .period = n,
        .rotation = n / sets,
        .cycle = (n + 1) * 1000000,
        .cycles = (uint64_t)(1000000 * ran),
        .start_ns = (int64_t)n * PERIOD_NS,
        .length_ns = PERIOD_NS,
        .enabled_ns = ran_ns,
        .clock_running_ns = ran_ns,
        .running_ns = ran_ns,
        .counted = 3,
        .count = {first, second},
    };
}

static struct rps_collect *begin(const struct rps_collect_options *options)
{
    struct rps_collect *collect = NULL;
    struct rps_error err;

    if (rps_collect_new(&collect, options, &err) < 0)
        fail_msg("%s", err.message);
    return collect;
}

static void add(struct rps_collect *collect, int track, struct rps_period period)
{
    struct rps_error err;

    if (rps_collect_add(collect, track, &period, &err) < 0)
        fail_msg("%s", err.message);
}

static struct rps_collected end(struct rps_collect *collect)
{
    struct rps_collected collected;
    struct rps_error err;

    if (rps_collect_end_together(&collect, 1, &collected, &err) < 0)
        fail_msg("%s", err.message);
    rps_collect_free(collect);
    return collected;
}

/* Return the index of the named signal. */
static size_t signal_of(const struct rps_collected *collected, const char *name)
{
    for (size_t s = 0; s < collected->signals.signal_count; s++) {
        if (strcmp(collected->signal[s].name, name) == 0)
            return s;
    }
    fail_msg("there is no signal %s", name);
    return 0;
}

static int has_signal(const struct rps_collected *collected, const char *name)
{
    for (size_t s = 0; s < collected->signals.signal_count; s++) {
        if (strcmp(collected->signal[s].name, name) == 0)
            return 1;
    }
    return 0;
}

static double value_of(const struct rps_collected *collected, const char *name, size_t i)
{
    return collected->signals.value[signal_of(collected, name) * collected->signals.count + i];
}

static double weight_of(const struct rps_collected *collected, const char *name, size_t i)
{
    return collected->signals.weight[signal_of(collected, name) * collected->signals.count + i];
}

static void near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-6 * fmax(1, fabs(expected))))
        fail_msg("%.17g is not %.17g", value, expected);
}

/* If a workload sleeps nearly all the time, its rates are known, and per elapsed time. A change by
 * a tenth matters. */
static void test_a_sleeping_workload(void **state)
{
    struct rps_plan *plan = make_plan(1);

    (void)state;
    for (int sleeps = 0; sleeps < 2; sleeps++) {
        const struct rps_collect_options options = {
            .plan = plan, .period_ns = PERIOD_NS, .sleeps = sleeps};
        struct rps_collect *collect = begin(&options);
        struct rps_collected collected;

        for (uint64_t n = 0; n < 40; n++)
            add(collect, 0, period_of(n, 1, n % 2 ? 0.002 : 0.004, 500 + n, n < 20 ? 10 : 30));
        collected = end(collect);
        assert_int_equal(has_signal(&collected, "rate"), sleeps);
        for (size_t n = 0; n < 40 && sleeps; n++)
            near(value_of(&collected, "rate", n), 40 * asinh(0.05 * sqrt(n < 20 ? 10 : 30)));
        if (sleeps) /* the mean count is 20 */
            near(collected.signals.resolution[signal_of(&collected, "rate")],
                 0.1 * sqrt(20 / 1.05));
        rps_collected_free(&collected);
    }
    rps_plan_free(plan);
}

/* Return the transformed ratio of `count` counts that varies by v. A ratio that does not drift has
 * v = 0.03. */
static double ratio(double count, double v)
{
    return 2 / v * asinh(v * sqrt(count));
}

/* Return the ratio's value in observation i divided by its value in observation j. The ratio must
 * not drift. */
static double change_of(const struct rps_collected *collected, const char *name, size_t i, size_t j)
{
    return pow(
        sinh(0.015 * value_of(collected, name, i)) / sinh(0.015 * value_of(collected, name, j)), 2);
}

/* The drift of a ratio in one run affects all runs that are ended together. */
static void test_a_ratio_that_drifts(void **state)
{
    struct rps_plan *plan = make_plan(1);
    const struct rps_collect_options options = {
        .plan = plan, .period_ns = PERIOD_NS, .together = 1};
    struct rps_collect *collect[2] = {begin(&options), begin(&options)};
    struct rps_collected collected[2];
    struct rps_error err;

    (void)state;
    for (uint64_t n = 0; n < 400; n++) {
        add(collect[0], 0, period_of(n, 1, 1, 500000, n < 200 ? 1000 : 1400));
        add(collect[1], 0,
            period_of(n, 1, 1, 500000, 1000 + 20 * (n % 40 < 20 ? n % 20 : 20 - n % 20)));
    }
    assert_int_equal(rps_collect_end_together(collect, 2, collected, &err), 0);
    near(value_of(&collected[0], "share", 0), ratio(1000, 0.15));
    near(value_of(&collected[0], "share", 300), ratio(1400, 0.15));
    near(value_of(&collected[1], "share", 0), ratio(1000, 0.15));
    for (size_t r = 0; r < 2; r++) {
        rps_collected_free(&collected[r]);
        rps_collect_free(collect[r]);
    }
    rps_plan_free(plan);
}

static void test_one_set(void **state)
{
    struct rps_plan *plan = make_plan(1);
    struct rps_collect *collect =
        begin(&(struct rps_collect_options){.plan = plan, .period_ns = PERIOD_NS});
    struct rps_collected collected;

    (void)state;
    for (uint64_t n = 0; n < 200; n++)
        add(collect, 0, period_of(n + 5, 1, 1, n < 100 ? 500000 : 510000, 1000));
    collected = end(collect);
    assert_int_equal(collected.signals.count, 200);
    assert_int_equal(collected.row[7].first, 12);
    assert_int_equal(collected.row[7].last, 12);
    assert_int_equal(collected.row[7].start_ns, 12 * PERIOD_NS);
    assert_int_equal(collected.row[7].end_ns, 13 * PERIOD_NS);
    assert_int_equal(collected.row[7].cycle, 13000000);
    near(change_of(&collected, "cpt", 9, 100), 510. / 500);
    near(change_of(&collected, "share", 9, 100), 510. / 500);
    near(value_of(&collected, "share", 9), ratio(1000 * 2 * 510. / (500 + 510), 0.03));
    /* signals that never vary are left out: the rate of b, the CPU use */
    assert_int_equal(collected.signals.signal_count, 2);
    assert_null(collected.signals.weight);
    for (size_t i = 0; i < 200; i++)
        assert_int_equal(collected.signals.broken[i], 0);
    rps_collected_free(&collected);
    rps_collected_free(&collected);
    rps_plan_free(plan);
}

/* Only the CPU use shows sleep: a workload that does not run has no rates. */
static void test_sleep(void **state)
{
    struct rps_plan *plan = make_plan(1);
    struct rps_collect *collect =
        begin(&(struct rps_collect_options){.plan = plan, .period_ns = PERIOD_NS});
    struct rps_collected collected;

    (void)state;
    for (uint64_t n = 0; n < 20; n++)
        add(collect, 0,
            n < 10 ? period_of(n, 1, 1, 500000 + n, 1000 + n) : period_of(n, 1, 0, 0, 0));
    collected = end(collect);
    near(value_of(&collected, "rate", 3), 40 * asinh(0.05 * sqrt(1003)));
    assert_true(isnan(value_of(&collected, "rate", 15)));
    near(value_of(&collected, RPS_COLLECT_CPU_USE, 3), log1p(100 / 0.1));
    near(value_of(&collected, RPS_COLLECT_CPU_USE, 15), 0);
    near(collected.signals.idle, log1p(0.5 / 0.1)); /* .5 % of a CPU */
    assert_true(isnan(value_of(&collected, "cpt", 15)));
    assert_true(isnan(value_of(&collected, "share", 15)));
    rps_collected_free(&collected);
    rps_plan_free(plan);
}

/* If another program uses half of the CPU, the counts per period are halved, but rates stay the
 * same. */
static void test_rates_are_by_cpu_time(void **state)
{
    static const char *const names[] = {"rate"};
    struct rps_plan *plan = make_plan(1);
    struct rps_collect *by_cpu =
        begin(&(struct rps_collect_options){.plan = plan, .period_ns = PERIOD_NS});
    struct rps_collect *shown =
        begin(&(struct rps_collect_options){.plan = plan, .period_ns = PERIOD_NS, .as_shown = 1});
    struct rps_collect *by_name =
        begin(&(struct rps_collect_options){.plan = plan, .name = names, .name_count = 1});
    struct rps_collected collected;

    (void)state;
    for (uint64_t n = 0; n < 40; n++) {
        double ran = n < 20 ? 1 : 0.5;
        uint64_t b = (1000 + n % 2) * 2;
        struct rps_period period = period_of(n, 1, ran, 500000, n < 20 ? b : b / 2);

        if (n == 39) /* the workload sleeps in this period */
            period = period_of(n, 1, 0, 0, 0);
        add(by_cpu, 0, period);
        add(shown, 0, period);
        add(by_name, 0, period);
    }
    collected = end(by_cpu);
    near(value_of(&collected, "rate", 30), value_of(&collected, "rate", 4));
    assert_true(value_of(&collected, "rate", 31) > value_of(&collected, "rate", 30));
    near(weight_of(&collected, "rate", 4), 1);
    near(weight_of(&collected, "rate", 30), 0.5);
    near(value_of(&collected, RPS_COLLECT_CPU_USE, 30), log1p(50 / 0.1));
    near(weight_of(&collected, RPS_COLLECT_CPU_USE, 30), 1);
    assert_true(isnan(value_of(&collected, "rate", 39)));
    rps_collected_free(&collected);
    collected = end(shown);
    assert_true(value_of(&collected, "rate", 30) < value_of(&collected, "rate", 4) - 1);
    near(value_of(&collected, "rate", 39), 0);
    rps_collected_free(&collected);
    collected = end(by_name);
    assert_true(value_of(&collected, "rate", 30) < value_of(&collected, "rate", 4) - 1);
    near(value_of(&collected, "rate", 39), 0);
    rps_collected_free(&collected);
    rps_plan_free(plan);
}

/* The weight of a rate falls with the share of the period that the workload ran for. Below 1 %
 * there is no rate. */
static void test_hardly_running(void **state)
{
    struct rps_plan *plan = make_plan(1);
    struct rps_collect *collect =
        begin(&(struct rps_collect_options){.plan = plan, .period_ns = PERIOD_NS});
    struct rps_collected collected;

    (void)state;
    for (uint64_t n = 0; n < 40; n++) {
        double ran = n == 20 ? 0.005 : n == 21 ? 0.03 : 1;

        add(collect, 0, period_of(n, 1, ran, 500000, 1000 + n));
    }
    collected = end(collect);
    assert_true(isnan(value_of(&collected, "rate", 20)));
    assert_true(isfinite(value_of(&collected, "rate", 21)));
    near(weight_of(&collected, "rate", 21), 0.03);
    near(value_of(&collected, RPS_COLLECT_CPU_USE, 20), log1p(0.5 / 0.1));
    rps_collected_free(&collected);
    rps_plan_free(plan);
}

/* CPUs are counted all the time. CPU time is the part in which the CPUs were not idle. */
static void test_idle_cpus(void **state)
{
    struct rps_plan *plan = make_plan(1);
    struct rps_collect *collect =
        begin(&(struct rps_collect_options){.plan = plan, .period_ns = PERIOD_NS});
    struct rps_collected collected;

    (void)state;
    for (uint64_t n = 0; n < 40; n++) {
        struct rps_period period = period_of(n, 1, 1, 500000, n < 20 ? 2000 + n % 2 : 500);

        period.idle_ns = n < 20 ? 0 : PERIOD_NS * 3 / 4;
        if (n == 39)
            period.idle_ns = PERIOD_NS;
        add(collect, 0, period);
    }
    collected = end(collect);
    near(value_of(&collected, "rate", 30), value_of(&collected, "rate", 4));
    near(weight_of(&collected, "rate", 30), 0.25);
    assert_true(isnan(value_of(&collected, "rate", 39)));
    rps_collected_free(&collected);
    rps_plan_free(plan);
}

/* Each event has values in its own periods. A metric of two sets is represented by its events. */
static void test_sets_that_take_turns(void **state)
{
    struct rps_plan *plan = make_plan(2);
    struct rps_collect *collect = begin(&(struct rps_collect_options){.plan = plan});
    struct rps_collected collected;

    (void)state;
    for (uint64_t n = 0; n < 40; n++)
        add(collect, 0, period_of(n, 2, 1, 500000 + 1000 * n, 1000 + n));
    collected = end(collect);
    assert_int_equal(collected.signals.count, 40);
    near(change_of(&collected, "cpt", 4, 6), 506. / 504);
    assert_true(isnan(value_of(&collected, "cpt", 5)));
    near(value_of(&collected, "c", 5), ratio(505000, 0.03));
    assert_true(isnan(value_of(&collected, "c", 4)));
    assert_false(has_signal(&collected, "across"));
    assert_false(has_signal(&collected, "d"));
    rps_collected_free(&collected);
    rps_plan_free(plan);
}

/* A metric of two sets has one value per rotation if selected by name. If collected by rotation,
 * all signals have one value per rotation. */
static void test_a_metric_across_sets(void **state)
{
    static const char *const names[] = {"across"};
    struct rps_plan *plan = make_plan(2);
    struct rps_collect *by_name =
        begin(&(struct rps_collect_options){.plan = plan, .name = names, .name_count = 1});
    struct rps_collect *by_rotation =
        begin(&(struct rps_collect_options){.plan = plan, .by_rotation = 1});
    struct rps_collected collected;
    size_t seen = 0;

    (void)state;
    for (uint64_t n = 0; n < 40; n++) {
        struct rps_period period = period_of(n, 2, 1, n % 2 ? 7000 + 10 * n : 500000, 1000 + n);

        add(by_name, 0, period);
        add(by_rotation, 0, period);
    }
    collected = end(by_name);
    assert_int_equal(collected.signals.signal_count, 1);
    for (size_t i = 0; i < 40; i++)
        seen += isfinite(collected.signals.value[i]) != 0;
    assert_int_equal(seen, 20);
    near(value_of(&collected, "across", 4), ratio(7050, 0.03)); /* one count of b is 1000 / a */
    rps_collected_free(&collected);

    collected = end(by_rotation);
    assert_int_equal(collected.signals.count, 20);
    near(value_of(&collected, "across", 2), ratio(7050, 0.03));
    assert_int_equal(collected.row[2].first, 4);
    assert_int_equal(collected.row[2].last, 5);
    assert_int_equal(collected.row[2].start_ns, 4 * PERIOD_NS);
    assert_int_equal(collected.row[2].end_ns, 6 * PERIOD_NS);
    rps_collected_free(&collected);
    rps_plan_free(plan);
}

static void test_events_by_name(void **state)
{
    static const char *const names[] = {"b", RPS_COLLECT_CPU_USE, "b"};
    static const char *const wrong[] = {"nothing"};
    struct rps_plan *plan = make_plan(1);
    struct rps_collect *collect =
        begin(&(struct rps_collect_options){.plan = plan, .name = names, .name_count = 3});
    struct rps_collected collected;
    struct rps_error err;
    double one = 0; /* mean value of one count */

    (void)state;
    for (uint64_t n = 0; n < 10; n++) {
        double ran = 0.5 + 0.01 * (double)n;

        add(collect, 0, period_of(n, 1, ran, 500000, 1000));
        one += 1 / (1000 * ran) / 10;
    }
    collected = end(collect);
    assert_int_equal(collected.signals.signal_count, 2);
    near(value_of(&collected, "b", 0), ratio(2 / one, 0.03));
    near(value_of(&collected, RPS_COLLECT_CPU_USE, 9), log1p(59 / 0.1));
    rps_collected_free(&collected);
    assert_int_equal(
        rps_collect_new(&collect,
                        &(struct rps_collect_options){.plan = plan, .name = wrong, .name_count = 1},
                        &err),
        RPS_USAGE);
    assert_non_null(strstr(err.message, "'nothing'; choose from cpt, share, rate, cpu_use"));
    rps_plan_free(plan);
}

/* If nothing varies, one constant signal is left. */
static void test_nothing_varies(void **state)
{
    struct rps_plan *plan = make_plan(1);
    struct rps_collect *collect = begin(&(struct rps_collect_options){.plan = plan});
    struct rps_collected collected;

    (void)state;
    for (uint64_t n = 0; n < 10; n++)
        add(collect, 0, period_of(n, 1, 1, 500000, 1000));
    collected = end(collect);
    assert_int_equal(collected.signals.signal_count, 1);
    assert_int_equal(collected.signals.count, 10);
    rps_collected_free(&collected);
    rps_plan_free(plan);
}

static void test_no_period(void **state)
{
    struct rps_plan *plan = make_plan(2);
    struct rps_collected collected = end(begin(&(struct rps_collect_options){.plan = plan}));

    (void)state;
    assert_int_equal(collected.signals.count, 0);
    rps_collected_free(&collected);
    rps_plan_free(plan);
}

static void test_a_gap(void **state)
{
    struct rps_plan *plan = make_plan(1);
    struct rps_collect *collect = begin(&(struct rps_collect_options){.plan = plan});
    struct rps_collected collected;

    (void)state;
    for (uint64_t n = 0; n < 20; n++)
        add(collect, 0, period_of(n < 12 ? n : n + 2, 1, 1, 500000 + n, 1000));
    collected = end(collect);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(collected.signals.broken[i], i == 12);
    rps_collected_free(&collected);
    rps_plan_free(plan);
}

/* A period weighs less if another program used the counters for a while, or if it is a short last
 * period. */
static void test_weights(void **state)
{
    struct rps_plan *plan = make_plan(1);
    struct rps_collect *collect =
        begin(&(struct rps_collect_options){.plan = plan, .period_ns = PERIOD_NS});
    struct rps_collected collected;
    struct rps_period period;

    (void)state;
    for (uint64_t n = 0; n < 30; n++) {
        period = period_of(n, 1, n == 5 ? 0.404 : 0.4, 500000 + n, 1000);
        if (n == 10)
            period.running_ns /= 4;
        if (n == 29) {
            period.length_ns /= 10;
            period.enabled_ns /= 10;
            period.clock_running_ns /= 10;
            period.running_ns /= 10;
        }
        add(collect, 0, period);
    }
    collected = end(collect);
    assert_non_null(collected.signals.weight);
    /* the weight of a usual period is 1, apart from the random error of the counts */
    assert_true(fabs(weight_of(&collected, "cpt", 0) - 1) < 1e-3);
    assert_true(fabs(weight_of(&collected, "cpt", 10) - 0.25) < 1e-3);
    assert_true(fabs(weight_of(&collected, "cpt", 29) - 0.1) < 1e-3);
    near(weight_of(&collected, RPS_COLLECT_CPU_USE, 28), 1);
    near(weight_of(&collected, RPS_COLLECT_CPU_USE, 29), 0.1);
    rps_collected_free(&collected);
    rps_plan_free(plan);
}

/* Tracks of two CPUs: the second begins at period 4. Period 9 is missing on both CPUs. */
static void test_tracks_side_by_side(void **state)
{
    static const int32_t cpus[] = {1, 5};
    struct rps_plan *plan = make_plan(1);
    struct rps_collect *collect = begin(&(struct rps_collect_options){
        .plan = plan, .cpu = cpus, .cpu_count = 2, .first = 2, .last = 20});
    struct rps_collected collected;
    struct rps_period late = period_of(21, 1, 1, 1, 1);
    struct rps_error err;

    (void)state;
    for (int track = 0; track < 2; track++) {
        for (uint64_t n = track ? 4 : 2; n <= 20; n++) {
            if (n != 9)
                add(collect, track, period_of(n, 1, 1, 500000 + 1000 * n, 1000 + (uint64_t)track));
        }
    }
    assert_int_equal(rps_collect_add(collect, 1, &late, &err), RPS_FAILED);
    assert_non_null(strstr(err.message, "start the command again"));
    collected = end(collect);
    assert_int_equal(collected.signals.count, 18);
    assert_int_equal(collected.row[7].first, 10);
    assert_int_equal(collected.signal[signal_of(&collected, "cpt of CPU 5")].cpu, 5);
    near(change_of(&collected, "cpt of CPU 1", 0, 2), 504. / 502);
    assert_true(isnan(value_of(&collected, "cpt of CPU 5", 1)));
    near(change_of(&collected, "cpt of CPU 5", 2, 17), 520. / 504);
    near(change_of(&collected, "share of CPU 5", 2, 17), 520. / 504);
    rps_collected_free(&collected);
    rps_plan_free(plan);
}

/* A damaged store may contain these values. */
/* Parallel tracks by rotation: rows and their bounds are rotations. */
static void test_rotations_side_by_side(void **state)
{
    static const int32_t cpus[] = {1, 5};
    struct rps_plan *plan = make_plan(2);
    struct rps_collect *collect = begin(&(struct rps_collect_options){
        .plan = plan, .by_rotation = 1, .cpu = cpus, .cpu_count = 2, .first = 3, .last = 12});
    struct rps_collected collected;

    (void)state;
    for (int track = 0; track < 2; track++) {
        for (uint64_t n = track ? 9 : 6; n <= 25; n++) /* track 1 begins within rotation 4 */
            add(collect, track, period_of(n, 2, 1, 500000 + 1000 * n, 1000));
    }
    collected = end(collect);
    assert_int_equal(collected.signals.count, 10);
    assert_int_equal(collected.row[1].first, 8);
    assert_int_equal(collected.row[1].last, 9);
    assert_true(isnan(value_of(&collected, "across of CPU 5", 1)));
    near(change_of(&collected, "across of CPU 5", 2, 9), 511. / 510 * 524. / 525);
    near(value_of(&collected, "across of CPU 1", 2), value_of(&collected, "across of CPU 5", 2));
    rps_collected_free(&collected);
    rps_plan_free(plan);
}

static void test_numbers_far_apart(void **state)
{
    static const int32_t cpus[] = {0, 1};
    struct rps_plan *plan = make_plan(1);
    struct rps_collect *collect = NULL;
    struct rps_error err;

    (void)state;
    assert_int_equal(
        rps_collect_new(&collect,
                        &(struct rps_collect_options){
                            .plan = plan, .cpu = cpus, .cpu_count = 2, .last = UINT64_C(1) << 60},
                        &err),
        RPS_FAILED);
    assert_non_null(strstr(err.message, "too far apart"));
    rps_plan_free(plan);
}

/* Return a set's row for a block of `merged` rotations of two sets, from rotation `first` on. */
static struct rps_period row_of_block(uint64_t first, uint32_t set, uint64_t merged, uint64_t a)
{
    struct rps_period row = period_of(2 * first + set, 2, 1, a, 1000), last = row;

    last = period_of(2 * (first + merged - 1) + set, 2, 1, a, 1000);
    row.cycle = last.cycle;
    row.cycles *= merged;
    row.length_ns *= (int64_t)merged;
    row.enabled_ns *= merged;
    row.clock_running_ns *= merged;
    row.running_ns *= merged;
    row.count[0] *= merged;
    row.count[1] *= merged;
    row.level = 1;
    row.merged = merged;
    row.last_period = last.period;
    row.end_ns = last.start_ns + last.length_ns;
    return row;
}

/* A block is one observation with all metrics, and has the weight of its periods. */
static void test_blocks(void **state)
{
    struct rps_plan *plan = make_plan(2);
    struct rps_collect *collect =
        begin(&(struct rps_collect_options){.plan = plan, .period_ns = PERIOD_NS});
    struct rps_collected collected;

    (void)state;
    for (uint64_t block = 0; block < 5; block++) {
        uint64_t first = 16 * block + (block >= 3 ? 2 : 0); /* two rotations are missing */

        for (uint32_t set = 0; set < 2; set++)
            add(collect, 0, row_of_block(first, set, 16, 500000 + 1000 * block + set));
    }
    for (uint64_t n = 2 * 82; n < 2 * 82 + 10; n++)
        add(collect, 0, period_of(n, 2, 1, 600000 + n, 1000));
    collected = end(collect);
    assert_int_equal(collected.signals.count, 15);
    assert_int_equal(collected.row[1].first, 32);
    assert_int_equal(collected.row[1].last, 63);
    assert_int_equal(collected.row[1].start_ns, 32 * PERIOD_NS);
    assert_int_equal(collected.row[1].end_ns, 64 * PERIOD_NS);
    assert_int_equal(collected.row[1].cycle, 64000000);
    for (size_t i = 0; i < 15; i++)
        assert_int_equal(collected.signals.broken[i], i == 3);
    near(change_of(&collected, "cpt", 1, 5), 600164. / 501000);
    assert_true(isnan(value_of(&collected, "cpt", 6)));
    assert_null(collected.signals.weight);
    rps_collected_free(&collected);
    rps_plan_free(plan);
}

/* --- several runs ----------------------------------------------------------------------------- */

/* Collect `count` equal periods. */
static struct rps_collect *collect_alike(const struct rps_plan *plan, size_t count, uint64_t a,
                                         uint64_t b)
{
    struct rps_collect *collect =
        begin(&(struct rps_collect_options){.plan = plan, .period_ns = PERIOD_NS, .together = 1});

    for (uint64_t n = 0; n < count; n++)
        add(collect, 0, period_of(n, 1, 1, a, b));
    return collect;
}

static void end_together(struct rps_collect **collect, struct rps_collected *ret)
{
    struct rps_error err;

    if (rps_collect_end_together(collect, 2, ret, &err) < 0)
        fail_msg("%s", err.message);
    rps_collect_free(collect[0]);
    rps_collect_free(collect[1]);
}

/* A signal that is constant in each of two runs is kept if its value differs between the runs, and
 * left out otherwise. */
static void test_constants_of_runs(void **state)
{
    struct rps_plan *plan = make_plan(1);
    struct rps_collect *collect[] = {collect_alike(plan, 10, 1000000, 300000),
                                     collect_alike(plan, 20, 1000000, 600000)};
    struct rps_collected of[2];

    (void)state;
    end_together(collect, of);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(of[r].signals.count, r ? 20 : 10);
        assert_int_equal(of[r].signals.signal_count, 2);
        assert_string_equal(of[r].signal[0].name, "rate");
        assert_string_equal(of[r].signal[1].name, "share");
        rps_collected_free(&of[r]);
    }
    rps_plan_free(plan);
}

/* Equal values stay equal in both runs after the transformation. Separately, each run would scale
 * the ratio by its own counts. */
static void test_transformed_alike(void **state)
{
    struct rps_plan *plan = make_plan(1);
    struct rps_collect *collect[2];
    struct rps_collected of[2];

    (void)state;
    for (int r = 0; r < 2; r++) {
        collect[r] = begin(
            &(struct rps_collect_options){.plan = plan, .period_ns = PERIOD_NS, .together = 1});
        for (uint64_t n = 0; n < 10; n++)
            add(collect[r], 0,
                period_of(n, 1, 1,
                          n < 5 ? 1000
                          : r   ? 50
                                : 100000,
                          n < 5 ? 100 : 40));
    }
    end_together(collect, of);
    near(value_of(&of[0], "share", 0), value_of(&of[1], "share", 0));
    near(value_of(&of[0], "rate", 0), value_of(&of[1], "rate", 0));
    rps_collected_free(&of[0]);
    rps_collected_free(&of[1]);
    rps_plan_free(plan);
}

/* Values on both sides of 0 keep their distances. */
static void test_gauge_is_linear(void **state)
{
    struct rps_plan *plan = make_plan(1);
    struct rps_collected collected;
    struct rps_collect *collect;

    (void)state;
    strcpy(plan->set[0].event[1].unit, RPS_UNIT_GAUGE);
    strcpy(plan->metric[2].formula_text, "b / seconds - 500");
    assert_int_equal(rps_plan_compile(plan, NULL), 0);
    collect = begin(&(struct rps_collect_options){.plan = plan, .period_ns = PERIOD_NS});
    for (uint64_t n = 0; n < 11; n++)
        add(collect, 0, period_of(n, 1, 1, 1000000, 10 * n));
    collected = end(collect);
    for (size_t n = 0; n < 11; n++)
        near(value_of(&collected, "rate", n), 100 * (double)n - 500);
    near(collected.signals.resolution[signal_of(&collected, "rate")], .1 * sqrt(1e5));
    rps_collected_free(&collected);
    rps_plan_free(plan);
}

/* Two signals are common if their names and formulas are equal. Common signals have one order. */
static void test_in_common(void **state)
{
    struct rps_plan *plan = make_plan(1), *other = make_plan(1);
    struct rps_collect *collect[2];
    struct rps_collected of[2];
    const char *name;

    (void)state;
    strcpy(other->metric[0].name, "zzz");
    strcpy(other->metric[1].formula_text, "99 * b / a");
    assert_int_equal(rps_plan_compile(other, NULL), 0);
    for (int r = 0; r < 2; r++) {
        collect[r] = begin(&(struct rps_collect_options){
            .plan = r ? other : plan, .period_ns = PERIOD_NS, .together = 1});
        for (uint64_t n = 0; n < 10; n++)
            add(collect[r], 0, period_of(n, 1, n % 2 ? .5 : 1, 1000000, 1000 * (n + 1)));
    }
    assert_int_equal(rps_collect_lacks(collect[1], collect[0], 0, &name), 1);
    assert_string_equal(name, "cpt");
    assert_int_equal(rps_collect_lacks(collect[1], collect[0], 1, &name), 0);
    assert_string_equal(name, "cpu_use");
    assert_int_equal(rps_collect_lacks(collect[0], collect[1], 3, &name), 1);
    assert_string_equal(name, "zzz");
    assert_int_equal(rps_collect_lacks(collect[0], collect[1], 4, &name), -1);
    end_together(collect, of);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(of[r].signals.signal_count, 2);
        assert_string_equal(of[r].signal[0].name, "cpu_use");
        assert_string_equal(of[r].signal[1].name, "rate");
        rps_collected_free(&of[r]);
    }
    rps_plan_free(other);
    rps_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_ratio_that_drifts),
        cmocka_unit_test(test_one_set),
        cmocka_unit_test(test_sleep),
        cmocka_unit_test(test_rates_are_by_cpu_time),
        cmocka_unit_test(test_hardly_running),
        cmocka_unit_test(test_a_sleeping_workload),
        cmocka_unit_test(test_idle_cpus),
        cmocka_unit_test(test_sets_that_take_turns),
        cmocka_unit_test(test_a_metric_across_sets),
        cmocka_unit_test(test_events_by_name),
        cmocka_unit_test(test_nothing_varies),
        cmocka_unit_test(test_no_period),
        cmocka_unit_test(test_a_gap),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_tracks_side_by_side),
        cmocka_unit_test(test_rotations_side_by_side),
        cmocka_unit_test(test_numbers_far_apart),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_constants_of_runs),
        cmocka_unit_test(test_transformed_alike),
        cmocka_unit_test(test_gauge_is_linear),
        cmocka_unit_test(test_in_common),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
