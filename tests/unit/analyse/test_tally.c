/* Tests of tallies: sums, scaled estimates, counted time and coverage. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/arena.h"
#include "rpistat/formula.h"
#include "rpistat/moments.h"
#include "rpistat/plan.h"
#include "rpistat/random.h"
#include "rpistat/tally.h"

/* Make a plan with two sets of two events each, and a metric over both. */
static struct rps_plan *make_plan(void)
{
    static const char *const names[2][2] = {{"a", "b"}, {"c", "d"}};
    struct rps_plan *plan = rps_plan_new();
    struct rps_metric *metric;

    assert_non_null(plan);
    for (int n = 0; n < 2; n++) {
        struct rps_event_set *set = rps_plan_add_set(plan);

        assert_non_null(set);
        set->event_count = 2;
        for (int s = 0; s < 2; s++)
            strcpy(set->event[s].name, names[n][s]);
    }
    metric = rps_plan_add_metric(plan);
    assert_non_null(metric);
    strcpy(metric->name, "ratio");
    strcpy(metric->formula_text, "d / a");
    assert_int_equal(rps_plan_compile(plan, NULL), 0);
    return plan;
}

static struct rps_period make_period(uint64_t number, uint64_t enabled, uint64_t running,
                                     uint64_t count0, uint64_t count1)
{
    struct rps_period period = {
        .cpu = RPS_CPU_ALL,
        .set_no = (uint32_t)(number % 2),
        .period = number,
        .rotation = number / 2,
        .cycle = 1000 * (number + 1),
        .cycles = 1000,
        .start_ns = (int64_t)number * 100,
        .length_ns = 100,
        .enabled_ns = enabled,
        .clock_running_ns = enabled,
        .running_ns = running,
        .switch_ns = 3,
        .missed = 1,
        .counted = 3,
        .count = {count0, count1},
    };

    return period;
}

static void test_sums(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_period period;
    struct rps_tally tally;

    (void)state;
    tally = rps_tally_new(arena, plan);
    for (uint64_t i = 1; i < 4; i++) {
        period = make_period(i, 100, 90, i, 10 * i);
        rps_tally_add(&tally, &period);
    }
    assert_int_equal(tally.periods, 3);
    assert_int_equal(tally.clock, 3000);
    assert_int_equal(tally.enabled_ns, 300);
    assert_int_equal(tally.length_ns, 300);
    assert_int_equal(tally.start_ns, 100);
    assert_int_equal(tally.end_ns, 400);
    assert_int_equal(tally.missed, 3);
    assert_int_equal(tally.switch_ns, 9);
    assert_int_equal(tally.set[0].periods, 1);
    assert_int_equal(tally.set[1].periods, 2);
    assert_int_equal(tally.set[1].count[0], 1 + 3);
    assert_int_equal(tally.set[1].count[1], 10 + 30);
    assert_int_equal(tally.set[1].counted[1], 2);
    assert_int_equal(tally.set[1].running_ns, 180);
    assert_int_equal(tally.set[1].clock, 2000);
    rps_tally_reset(&tally);
    assert_int_equal(tally.periods, 0);
    assert_int_equal(tally.set[1].count[1], 0);
    rps_plan_free(plan);
}

/* A software event in each set is counted all the time, so that no estimate is necessary. */
static void test_software(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_interval interval;
    struct rps_tally tally, other;

    (void)state;
    for (int n = 0; n < 2; n++) {
        strcpy(plan->set[n].event[1].name, "faults");
        plan->set[n].event[1].type = RPS_EVENT_SOFTWARE;
    }
    assert_int_equal(rps_plan_compile(plan, NULL), 0);
    tally = rps_tally_new(arena, plan);
    other = rps_tally_new(arena, plan);
    for (uint64_t i = 0; i < 9; i++) {
        struct rps_period period = make_period(i, 100, 100, 5, i == 8 ? 700 : i);

        rps_tally_add(i < 5 ? &tally : &other, &period);
    }
    rps_tally_merge(&tally, &other);
    interval = rps_tally_interval(&tally, 0, 1);
    assert_int_equal(interval.certainty, RPS_CERTAINTY_COUNTED);
    assert_true(interval.value == 28 + 700 && interval.share == 1);
    assert_int_equal(tally.set[0].counted[1], 9);
    assert_int_equal(rps_tally_interval(&tally, 1, 1).certainty, RPS_CERTAINTY_NONE);
    assert_true(rps_tally_interval(&tally, 0, 0).share < .6); /* hardware events are multiplexed */
    rps_plan_free(plan);
}

/* Sets 0 and 1 are counted once each, then Linux stops counting for two periods. */
static void test_incomplete(void **state)
{
    struct rps_plan *plan = make_plan();
    double operand[RPS_OPERAND_EVENTS + 2 * RPS_SLOT_MAX];
    struct rps_tally tally;

    (void)state;
    plan->is_incomplete = 1;
    tally = rps_tally_new(arena, plan);
    for (uint64_t i = 0; i < 4; i++) {
        struct rps_period period = make_period(i, 100, 100, 5, 6);

        if (i >= 2) {
            period.cycles = period.clock_running_ns = period.running_ns = 0;
            period.counted = 0;
        }
        rps_tally_add(&tally, &period);
        assert_int_equal(rps_tally_is_incomplete(&tally), i >= 2);
    }
    assert_int_equal(rps_tally_carries(&tally, &plan->metric[0].formula), 0);
    assert_true(rps_tally_estimate(&tally, 0, 0) == 10); /* scaled to the time of both sets, not
                                                            to all periods */
    assert_true(rps_tally_clock(&tally) == 2000);
    assert_int_equal(rps_tally_interval(&tally, 1, 1).certainty, RPS_CERTAINTY_INCOMPLETE);
    assert_int_equal(rps_tally_clock_interval(&tally).certainty, RPS_CERTAINTY_INCOMPLETE);
    rps_tally_operands(&tally, plan, operand);
    assert_int_equal(
        rps_tally_formula_interval(&tally, &plan->metric[0].formula, operand).certainty,
        RPS_CERTAINTY_INCOMPLETE);
    plan->is_incomplete = 0;
    assert_true(rps_tally_estimate(&tally, 0, 0) == 20);
    rps_plan_free(plan);
}

static void test_unknown_set(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_period period = make_period(0, 100, 100, 5, 6);
    struct rps_tally tally;

    (void)state;
    period.set_no = 2;
    tally = rps_tally_new(arena, plan);
    rps_tally_add(&tally, &period);
    assert_int_equal(tally.periods, 1);
    assert_int_equal(tally.set[0].periods + tally.set[1].periods, 0);
    assert_true(isnan(rps_tally_estimate(&tally, 2, 0)));
    assert_true(isnan(rps_tally_estimate(&tally, -1, 0)));
    rps_plan_free(plan);
}

static void test_merge_is_adding(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_tally all, part[2];

    (void)state;
    all = rps_tally_new(arena, plan);
    part[0] = rps_tally_new(arena, plan);
    part[1] = rps_tally_new(arena, plan);
    for (uint64_t i = 0; i < 9; i++) {
        struct rps_period period = make_period(i, 100 + i, 80 + i, i * i, 7 * i);

        rps_tally_add(&all, &period);
        rps_tally_add(&part[i >= 4], &period);
    }
    rps_tally_merge(&part[1], &part[0]); /* the order of merging does not change the time range */
    assert_memory_equal(all.set, part[1].set, 2 * sizeof(*all.set));
    all.set = part[1].set;
    assert_memory_equal(&all, &part[1], sizeof(all));
    rps_tally_reset(&part[0]);
    rps_tally_merge(&part[1], &part[0]); /* merging an empty tally changes nothing */
    assert_memory_equal(&all, &part[1], sizeof(all));
    rps_plan_free(plan);
}

static void test_estimate_rules(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_period on = make_period(0, 100, 90, 1000, 7), idle = make_period(1, 0, 0, 0, 0);
    struct rps_tally tally;
    uint64_t whole = 99;

    (void)state;
    tally = rps_tally_new(arena, plan);
    assert_true(isnan(rps_tally_estimate(&tally, 0, 0))); /* the estimate is unknown before the
                                                             first count */
    assert_int_equal(rps_tally_estimate_u64(&tally, 0, 0, &whole), 0);
    assert_int_equal(whole, 99);

    rps_tally_add(&tally, &idle); /* the workload slept: the count is 0 */
    assert_true(rps_tally_estimate(&tally, 1, 0) == 0);
    assert_int_equal(rps_tally_estimate_u64(&tally, 1, 0, &whole), 1);
    assert_int_equal(whole, 0);

    on.counted = 1; /* slot 1 was not counted: unknown, not 0 */
    rps_tally_add(&tally, &on);
    assert_true(fabs(rps_tally_estimate(&tally, 0, 0) - 1000.0 * 100 / 90) < 1e-9);
    assert_int_equal(rps_tally_estimate_u64(&tally, 0, 0, &whole), 1);
    assert_int_equal(whole, 1111);
    assert_true(isnan(rps_tally_estimate(&tally, 0, 1)));
    assert_int_equal(rps_tally_estimate_u64(&tally, 0, 1, &whole), 0);

    /* The count of set 1 is unknown: the set was active only while the workload slept. */
    assert_true(isnan(rps_tally_estimate(&tally, 1, 0)));
    rps_plan_free(plan);
}

/* raw * enabled / running agrees with products of arbitrary precision. */
static void test_exact(void **state)
{
    static const struct {
        uint64_t raw, enabled, running, estimate;
    } cases[] = {
        {1, 1, 1, 1},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
        {UINT64_MAX, 1, 1, UINT64_MAX},
        {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX, UINT64_MAX - 1},
        {UINT64_MAX - 1, UINT64_MAX, UINT64_MAX, UINT64_MAX - 1},
        {UINT64_C(9223372036854775808), 2, 4, UINT64_C(4611686018427387904)},
        {UINT64_C(9223372036854775813), 3, 7, UINT64_C(3952873730080618205)},
        {UINT64_C(4294967296), UINT64_C(4294967296), UINT64_C(8589934592), 2147483648},
        {316920650, UINT64_C(16900000000), UINT64_C(4300000000), 1245571856},
        {840, UINT64_C(108729892840528), UINT64_C(665496014308), 137240},
        {2257, UINT64_C(4335396123184015), 1776, UINT64_C(5509565906546352)},
        {338564711, 62092, UINT64_C(29790486124420534), 0},
        {25008886, UINT64_C(2198327683834524), 147, UINT64_MAX}, /* the result exceeds 64 bits */
        {UINT64_MAX, UINT64_MAX, UINT64_C(9223372036854775809), UINT64_MAX},
        {37415, UINT64_C(9740127453439652), 75919, UINT64_C(4800206386681128)},
        {UINT64_C(7897282833696), UINT64_C(272838641441), 351564607, UINT64_C(6128841972482592)},
    };
    struct rps_plan *plan = make_plan();

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rps_period period =
            make_period(0, cases[i].enabled, cases[i].running, cases[i].raw, 0);
        struct rps_tally tally;
        uint64_t estimate = 0;

        tally = rps_tally_new(arena, plan);
        rps_tally_add(&tally, &period);
        assert_int_equal(rps_tally_estimate_u64(&tally, 0, 0, &estimate), 1);
        assert_true(estimate == cases[i].estimate);
    }
    rps_plan_free(plan);
}

static void test_counted_and_coverage(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_period a = make_period(0, 100, 100, 1, 1), b = make_period(1, 300, 150, 1, 1);
    struct rps_tally tally;

    (void)state;
    tally = rps_tally_new(arena, plan);
    assert_true(isnan(rps_tally_counted(&tally, 0)));
    assert_true(isnan(rps_tally_coverage(&tally, 0)));
    rps_tally_add(&tally, &a);
    rps_tally_add(&tally, &b);
    assert_true(rps_tally_counted(&tally, 0) == 0.25);
    assert_true(rps_tally_counted(&tally, 1) == 0.375);
    assert_true(rps_tally_coverage(&tally, 0) == 1);
    assert_true(rps_tally_coverage(&tally, 1) == 0.5);
    assert_true(isnan(rps_tally_counted(&tally, 7)));
    rps_plan_free(plan);
}

static void test_operands(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_period a = make_period(0, 100, 100, 8, 0), b = make_period(1, 100, 100, 0, 4);
    double *operand = calloc((size_t)rps_plan_operand_count(plan), sizeof(*operand));
    struct rps_tally tally;

    (void)state;
    assert_non_null(operand);
    tally = rps_tally_new(arena, plan);
    rps_tally_add(&tally, &a);
    rps_tally_operands(&tally, plan, operand);
    assert_true(isnan(rps_formula_value(&plan->metric[0].formula, operand)));
    rps_tally_add(&tally, &b);
    rps_tally_operands(&tally, plan, operand);
    assert_true(operand[RPS_OPERAND_CLOCK] == 2000);
    assert_true(fabs(operand[RPS_OPERAND_SECONDS] - 200e-9) < 1e-18);
    assert_true(fabs(operand[RPS_OPERAND_CPU_SECONDS] - 200e-9) < 1e-18);
    assert_true(operand[rps_plan_operand(plan, "a")] == 16);
    assert_true(rps_formula_value(&plan->metric[0].formula, operand) == 0.5);
    free(operand);
    rps_plan_free(plan);
}

/* Idle time of a CPU is not CPU time. CPU time is unknown if a part of the idle time is unknown. */
static void test_idle(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_period a = make_period(0, 1000, 1000, 8, 0), b = make_period(1, 500, 500, 0, 4);
    double *operand = calloc((size_t)rps_plan_operand_count(plan), sizeof(*operand));
    struct rps_tally tally, sum;

    (void)state;
    assert_non_null(operand);
    tally = rps_tally_new(arena, plan);
    sum = rps_tally_new(arena, plan);
    a.idle_ns = 700;
    b.idle_ns = 100;
    rps_tally_add(&tally, &a);
    rps_tally_add(&tally, &b);
    rps_tally_merge(&sum, &tally);
    rps_tally_merge(&sum, &tally);
    rps_tally_operands(&sum, plan, operand);
    assert_true(fabs(operand[RPS_OPERAND_CPU_SECONDS] - 1400e-9) < 1e-18);
    assert_int_equal(sum.enabled_ns, 3000); /* estimates are scaled to the CPU time */
    b.idle_ns = -1;
    rps_tally_add(&tally, &b);
    rps_tally_merge(&sum, &tally);
    rps_tally_operands(&sum, plan, operand);
    assert_true(isnan(operand[RPS_OPERAND_CPU_SECONDS]));
    free(operand);
    rps_plan_free(plan);
}

/* --- what lacks its counter ------------------------------------------------------------------- */

/* A failed reading adds nothing to the sums: neither its missing count nor its time. */
static void test_failed_reading(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_tally tally;

    (void)state;
    tally = rps_tally_new(arena, plan);
    for (uint64_t i = 0; i < 4; i++) {
        struct rps_period period = make_period(2 * i, 100, 100, 10, 20);

        period.counted = i == 1 ? 2 : 3;
        period.count[0] = i == 1 ? 0 : 10;
        rps_tally_add(&tally, &period);
    }
    assert_true(rps_tally_estimate(&tally, 0, 0) == 40); /* estimate: 30 x 400 / 300 */
    assert_true(rps_tally_estimate(&tally, 0, 1) == 80);
    rps_plan_free(plan);
}

static void test_clock_without_counter(void **state)
{
    struct rps_plan *plan = make_plan();
    double *operand = calloc((size_t)rps_plan_operand_count(plan), sizeof(*operand));
    struct rps_tally tally;
    uint64_t clock = 7;

    (void)state;
    assert_non_null(operand);
    tally = rps_tally_new(arena, plan);
    for (uint64_t i = 0; i < 4; i++) {
        struct rps_period period = make_period(i, 1000000, 1000000, 10, 20);

        period.clock_running_ns = i < 2 ? 1000000 : 0;
        period.cycles = i < 2 ? 1000 : 0;
        rps_tally_add(&tally, &period);
    }
    assert_true(rps_tally_clock_is_scaled(&tally));
    assert_true(rps_tally_clock(&tally) == 4000);
    assert_int_equal(rps_tally_clock_u64(&tally, &clock), 1);
    assert_int_equal(clock, 4000);
    rps_tally_operands(&tally, plan, operand);
    assert_true(operand[RPS_OPERAND_CLOCK] == 4000);

    tally.clock_running_ns = 3999999; /* practically all time: the counter was never taken away */
    assert_true(rps_tally_clock(&tally) == 2000);
    assert_int_equal(rps_tally_clock_interval(&tally).certainty, RPS_CERTAINTY_COUNTED);
    tally.clock_running_ns = 3996000; /* a thousandth of the time is missing */
    assert_true(rps_tally_clock(&tally) > 2002 && rps_tally_clock(&tally) < 2002.1);
    assert_int_equal(rps_tally_clock_interval(&tally).certainty, RPS_CERTAINTY_SCALED);
    assert_true(rps_tally_clock_interval(&tally).share == .999);
    tally.clock_running_ns = tally.clock = 0;
    assert_true(isnan(rps_tally_clock(&tally)));
    assert_int_equal(rps_tally_clock_u64(&tally, &clock), 0);
    assert_int_equal(clock, 4000);
    free(operand);
    rps_plan_free(plan);
}

/* One of two sets was active for 1 % of the time. */
static void test_hardly(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_period a = make_period(0, 9900, 9900, 1000, 1000);
    struct rps_period b = make_period(1, 100, 100, 1000, 1000);
    struct rps_tally tally;

    (void)state;
    a.cycles = 99000;
    tally = rps_tally_new(arena, plan);
    rps_tally_add(&tally, &a);
    rps_tally_add(&tally, &b);
    assert_false(rps_tally_hardly(&tally, 0));
    assert_true(rps_tally_hardly(&tally, 1));
    assert_int_equal(rps_tally_interval(&tally, 1, 0).certainty, RPS_CERTAINTY_HARDLY);
    tally.set[1].running_ns = 501; /* just above a tenth of half the time */
    tally.set[1].clock = 5001;
    assert_false(rps_tally_hardly(&tally, 1));
    tally.set[1].clock = 4999; /* the processor was stopped for a while */
    assert_true(rps_tally_hardly(&tally, 1));
    rps_plan_free(plan);
}

/* --- intervals -------------------------------------------------------------------------------- */

static uint64_t random_next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

#define READINGS 60

/* Simulated readings of set 0. Set 1 has the same number of readings, without counts. */
struct readings {
    double a[READINGS], b[READINGS], r[READINGS];
    struct rps_tally tally;
};

static void make_readings(struct readings *readings, const struct rps_plan *plan)
{
    uint64_t random = 11;

    readings->tally = rps_tally_new(arena, plan);
    for (uint64_t i = 0; i < READINGS; i++) {
        uint64_t r = 900000 + random_next(&random) % 100000;
        uint64_t a = 5000 + random_next(&random) % 2000, b = a / 3 + random_next(&random) % 300;
        struct rps_period on = make_period(2 * i, r, r, a, b);
        struct rps_period other = make_period(2 * i + 1, 1000000, 1000000, 4, 5);

        readings->a[i] = (double)a;
        readings->b[i] = (double)b;
        readings->r[i] = (double)r;
        rps_tally_add(&readings->tally, &on);
        rps_tally_add(&readings->tally, &other);
    }
}

static double sum(const double *value)
{
    double ret = 0;

    for (int i = 0; i < READINGS; i++)
        ret += value[i];
    return ret;
}

/* Compute the half width in logarithms of the interval of (wa a + wb b) / value. The formula of the
 * document "measurement" is computed term by term. */
static double expected_spread(const struct readings *all, double wa, double wb, double value,
                              double t)
{
    double sr = sum(all->r), enabled = sr + 1e6 * READINGS, squares = 0, before = 0;

    for (int i = 0; i < READINGS; i++) {
        double d = wa * (all->a[i] - sum(all->a) / sr * all->r[i]) +
                   wb * (all->b[i] - sum(all->b) / sr * all->r[i]);

        squares += i > 0 ? (d - before) * (d - before) : 0;
        before = d;
    }
    return t *
           sqrt(enabled * enabled / sr / sr * (1 - sr / enabled) * READINGS /
                (2.0 * (READINGS - 1)) * squares) /
           value;
}

/* Return the half width in logarithms. The interval's other end may be longer, because time at the
 * start and end of the run was not counted. */
static double spread_of(const struct rps_interval *interval)
{
    return fmin(log(interval->high / interval->value), log(interval->value / interval->low));
}

/* Check the half width. For this number of readings with uniform noise, t has 5 to 19 degrees of
 * freedom. */
static void assert_spread(const struct readings *all, double wa, double wb,
                          const struct rps_interval *interval)
{
    double spread = spread_of(interval);

    assert_int_equal(interval->certainty, RPS_CERTAINTY_INTERVAL);
    assert_true(spread > expected_spread(all, wa, wb, interval->value, 2.1));
    assert_true(spread < expected_spread(all, wa, wb, interval->value, 2.6));
}

static void test_interval(void **state)
{
    struct rps_plan *plan = make_plan();
    double *operand = calloc((size_t)rps_plan_operand_count(plan), sizeof(*operand));
    struct rps_formula ratio, both;
    struct rps_interval interval;
    struct readings all;
    double scale, a, b;

    (void)state;
    assert_non_null(operand);
    assert_int_equal(rps_formula_compile("100 * b / a", rps_plan_operand, plan, &ratio, NULL), 0);
    assert_int_equal(rps_formula_compile("b / c", rps_plan_operand, plan, &both, NULL), 0);
    make_readings(&all, plan);
    scale = (sum(all.r) + 1e6 * READINGS) / sum(all.r);
    a = scale * sum(all.a);
    b = scale * sum(all.b);
    interval = rps_tally_interval(&all.tally, 0, 0);
    assert_true(fabs(interval.value - a) < 1e-6 && fabs(interval.share - 1 / scale) < 1e-9);
    assert_spread(&all, 1, 0, &interval);

    rps_tally_operands(&all.tally, plan, operand);
    interval = rps_tally_formula_interval(&all.tally, &ratio, operand);
    assert_true(fabs(interval.value - 100 * b / a) < 1e-9);
    assert_spread(&all, -100 * b / a / a, 100 / a,
                  &interval); /* events of one set share a residual */

    interval = rps_tally_formula_interval(&all.tally, &both, operand);
    assert_spread(&all, 0, interval.value / b, &interval); /* only b varies, c does not */
    free(operand);
    rps_plan_free(plan);
}

/* Return the total of 300 periods with 20 % noise. Every other period was counted. */
static double noisy_run(struct rps_tally *tally, uint64_t *random)
{
    double total = 0;

    rps_tally_reset(tally);
    for (uint64_t i = 0; i < 300; i++) {
        struct rps_period period = make_period(i, 1000000, 1000000, 0, 0);
        double noise = -2;

        for (int n = 0; n < 4; n++)
            noise += rps_random_unit(random);
        period.count[0] = (uint64_t)(1e6 * (1 + .346 * noise));
        total += (double)period.count[0];
        rps_tally_add(tally, &period);
    }
    return total;
}

/* The intervals contain the true value as often as promised, for the simplest series.
 * tests/bench/intervals tests more series. */
static void test_interval_holds(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_tally tally;
    uint64_t random = 7;
    int held = 0;

    (void)state;
    tally = rps_tally_new(arena, plan);
    for (int run = 0; run < 400; run++) {
        double total = noisy_run(&tally, &random);
        struct rps_interval interval = rps_tally_interval(&tally, 0, 0);

        assert_int_equal(interval.certainty, RPS_CERTAINTY_INTERVAL);
        held += interval.low <= total && total <= interval.high;
    }
    assert_in_range(held, 360, 396);
    rps_plan_free(plan);
}

/* Return Student's t of the interval of equally long readings, with one reading per two periods. */
static double t_of(const uint64_t *count, size_t readings)
{
    struct rps_plan *plan = make_plan();
    struct rps_interval interval;
    struct rps_tally tally;
    double squares = 0, m = (double)readings;

    tally = rps_tally_new(arena, plan);
    for (size_t i = 0; i < readings; i++) {
        struct rps_period on = make_period(2 * i, 1000, 1000, count[i], 0);
        struct rps_period other = make_period(2 * i + 1, 1000, 1000, 1, 1);
        double step = i > 0 ? (double)count[i] - (double)count[i - 1] : 0;

        squares += step * step;
        rps_tally_add(&tally, &on);
        rps_tally_add(&tally, &other);
    }
    interval = rps_tally_interval(&tally, 0, 0);
    assert_int_equal(interval.certainty, RPS_CERTAINTY_INTERVAL);
    rps_plan_free(plan);
    return spread_of(&interval) * interval.value / sqrt(4 * .5 * m / (2 * (m - 1)) * squares);
}

/* N equal differences have N / 2 degrees of freedom. A single large difference has one degree of
 * freedom. */
static void test_freedom(void **state)
{
    uint64_t alike[202], one[] = {500, 500, 500, 500, 900, 900, 900, 900, 900};

    (void)state;
    for (size_t i = 0; i < 202; i++)
        alike[i] = 500 + 10 * (i % 2);
    assert_float_equal(t_of(one, 9), 12.7062047, 1e-6);
    assert_float_equal(t_of(alike, 6), 3.5746548, 1e-6); /* t for 2.5 degrees of freedom */
    assert_float_equal(t_of(alike, 7), 3.1824463, 1e-6);
    assert_float_equal(t_of(alike, 9), 2.7764451, 1e-6);
    assert_float_equal(t_of(alike, 201), 1.9839715, 1e-6);
    assert_in_range((uint64_t)(1e6 * t_of(alike, 202)), 1983000, 1984000);
}

/* Return the certainty of a tally over these counts of set 0, with one count per two periods. */
static enum rps_certainty certainty_of(const uint64_t *count, size_t readings)
{
    struct rps_plan *plan = make_plan();
    struct rps_tally tally;
    enum rps_certainty ret;

    tally = rps_tally_new(arena, plan);
    for (size_t i = 0; i < readings; i++) {
        struct rps_period on = make_period(2 * i, 1000, 1000, count[i], 0);
        struct rps_period other = make_period(2 * i + 1, 1000, 1000, 1, 1);

        rps_tally_add(&tally, &on);
        rps_tally_add(&tally, &other);
    }
    ret = rps_tally_interval(&tally, 0, 0).certainty;
    rps_plan_free(plan);
    return ret;
}

/* Return the certainty of 100 varying readings. Ten of them have a running time of `lost` ns, and
 * the others of 500 ns of 1000. */
static enum rps_certainty certainty_without(uint64_t lost)
{
    struct rps_plan *plan = make_plan();
    struct rps_tally tally = rps_tally_new(arena, plan), half[2];
    enum rps_certainty ret;

    half[0] = rps_tally_new(arena, plan);
    half[1] = rps_tally_new(arena, plan);
    for (uint64_t i = 0; i < 200; i++) {
        const uint64_t running = i / 20 == 3 && i % 2 == 0 ? lost : 500;
        struct rps_period period = make_period(i, 1000, running, running * (2 + i % 3), 0);

        rps_tally_add(&tally, &period);
        rps_tally_add(&half[i / 100], &period);
    }
    rps_tally_merge(&half[1], &half[0]);
    ret = rps_tally_interval(&tally, 0, 0).certainty;
    assert_int_equal(rps_tally_interval(&half[1], 0, 0).certainty, ret);
    assert_int_equal(rps_tally_interval(&tally, 1, 0).certainty, RPS_CERTAINTY_INTERVAL);
    rps_plan_free(plan);
    return ret;
}

/* If another program has the counters during whole periods, no interval is printed. */
static void test_lost_periods(void **state)
{
    (void)state;
    assert_int_equal(certainty_without(100), RPS_CERTAINTY_INTERVAL);
    assert_int_equal(certainty_without(99), RPS_CERTAINTY_ONCE);
    assert_int_equal(certainty_without(0), RPS_CERTAINTY_ONCE);
}

static void test_certainties(void **state)
{
    static const uint64_t bursts[] = {0, 0, 100, 0, 0, 100, 0, 100, 0}, none[] = {0, 0, 0, 0};
    static const uint64_t four[] = {100, 0, 100, 0, 100, 0, 100, 0};
    struct rps_plan *plan = make_plan();
    struct rps_period alone = make_period(0, 1000, 985, 5, 6);
    struct rps_tally tally;

    (void)state;
    assert_int_equal(certainty_of(bursts, 9), RPS_CERTAINTY_BURSTS);
    assert_int_equal(certainty_of(four, 8), RPS_CERTAINTY_INTERVAL);
    assert_int_equal(certainty_of(none, 4), RPS_CERTAINTY_UNSEEN);
    assert_int_equal(certainty_of(four, 2), RPS_CERTAINTY_ONCE);
    tally = rps_tally_new(arena, plan);
    assert_int_equal(rps_tally_interval(&tally, 0, 0).certainty, RPS_CERTAINTY_NONE);
    rps_tally_add(&tally, &alone);
    assert_int_equal(rps_tally_interval(&tally, 0, 0).certainty, RPS_CERTAINTY_COUNTED);
    rps_plan_free(plan);
}

/* --- what is left out ------------------------------------------------------------------------- */

/* Add periods 0 ... count - 1 of slot 0, with `count` periods per set in random or fixed order. All
 * periods are equally long. Returns the true total. */
static double add_series(struct rps_tally *tally, const double *c, uint64_t count, int is_drawn)
{
    double total = 0;

    rps_tally_reset(tally);
    for (uint64_t i = 0; i < count; i++) {
        struct rps_period period = make_period(i, 1000, 1000, (uint64_t)llround(c[i]), 0);

        period.set_no ^= is_drawn && i / 2 % 3 == 1;
        period.counted = 1;
        total += (double)period.count[0];
        rps_tally_add(tally, &period);
    }
    return total;
}

static void assert_holds(const struct rps_interval *interval, double total)
{
    if (!(interval->low <= total && total <= interval->high))
        fail_msg("%g ... %g does not hold %g", interval->low, interval->high, total);
}

/* A straight rise in a fixed order: the first set is always too early, the second too late. The
 * whole error is then D (see the document "measurement"). */
static void test_trend(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_interval interval;
    struct rps_tally tally;
    double c[300], total;

    (void)state;
    tally = rps_tally_new(arena, plan);
    for (int i = 0; i < 300; i++)
        c[i] = 1000 + 10 * i;
    for (uint64_t count = 299; count <= 300; count++) {
        for (int is_drawn = 0; is_drawn < 2; is_drawn++) {
            total = add_series(&tally, c, count, is_drawn);
            for (int set = 0; set < 2; set++) {
                interval = rps_tally_interval(&tally, set, 0);
                assert_int_equal(interval.certainty, RPS_CERTAINTY_INTERVAL);
                assert_holds(&interval, total);
                assert_true(interval.high - interval.low < .01 * total);
            }
        }
    }
    total = add_series(&tally, c, 300, 0);
    interval = rps_tally_interval(&tally, 0, 0); /* the estimate is 300 x 5 too low */
    assert_true(interval.value == total - 1500);
    assert_float_equal(interval.high - interval.value * interval.value / interval.low, 1500, 30);
    interval = rps_tally_interval(&tally, 1, 0);
    assert_float_equal(interval.value - interval.low - 1500,
                       interval.value - interval.value * interval.value / interval.high, 30);
    rps_plan_free(plan);
}

/* The interval of a ratio is not widened if both events drift alike, even if both counts drift
 * much. In a start that was not counted, one event may have occurred and the other not. */
static void test_formulas(void **state)
{
    struct rps_plan *plan = make_plan();
    double *operand = calloc((size_t)rps_plan_operand_count(plan), sizeof(*operand));
    struct rps_formula within, across;
    struct rps_interval interval;
    struct rps_tally tally;

    (void)state;
    assert_non_null(operand);
    assert_int_equal(rps_formula_compile("b / a", rps_plan_operand, plan, &within, NULL), 0);
    assert_int_equal(rps_formula_compile("c / a", rps_plan_operand, plan, &across, NULL), 0);
    tally = rps_tally_new(arena, plan);
    for (uint64_t i = 0; i < 300; i++) {
        struct rps_period period = make_period(i, 1000, 1000, 1000 + 10 * i, 3000 + 30 * i);

        rps_tally_add(&tally, &period);
    }
    rps_tally_operands(&tally, plan, operand);
    interval = rps_tally_formula_interval(&tally, &within, operand);
    assert_true(interval.high < 3 * (1 + 1e-9) && interval.low > 3 * (1 - 1e-9));
    interval = rps_tally_formula_interval(&tally, &across, operand); /* the true value is 1 */
    assert_true(interval.value > 1.003 && interval.low < 1 && interval.high < 1.01);

    rps_tally_reset(&tally);
    for (uint64_t i = 0; i < 300; i++) { /* c and d may both have begun like a, or not */
        struct rps_period period = make_period(i, 1000, 1000, i == 0 ? 100000 : 1000, 3000);

        rps_tally_add(&tally, &period);
    }
    rps_tally_operands(&tally, plan, operand);
    assert_int_equal(rps_formula_compile("d / c", rps_plan_operand, plan, &within, NULL), 0);
    interval = rps_tally_formula_interval(&tally, &within, operand);
    assert_int_equal(interval.certainty, RPS_CERTAINTY_START);
    /* d occurred much more often, and c never */
    assert_float_equal(interval.high, 3 + 9 * .99 + .01, 1e-6);
    assert_float_equal(interval.low, 0, 1e-6); /* d may not have occurred */
    free(operand);
    rps_plan_free(plan);
}

/* Add a series of 1,000 counts per period; the first period has `first` counts. */
static double add_start(struct rps_tally *tally, double first)
{
    double c[300];

    for (int i = 0; i < 300; i++)
        c[i] = i == 0 ? first : 1000;
    return add_series(tally, c, 300, 0);
}

/* The first period has a hundred times as many counts, and set 1 did not count it. Set 0 shows the
 * excess, and the interval of set 1 is extended by nine times the excess. */
static void test_start(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_interval interval;
    struct rps_tally tally;
    double total;

    (void)state;
    tally = rps_tally_new(arena, plan);
    total = add_start(&tally, 100000);
    interval = rps_tally_interval(&tally, 1, 0);
    assert_int_equal(interval.certainty, RPS_CERTAINTY_START);
    assert_true(interval.value == 300000 && interval.low <= 300000);
    assert_float_equal(interval.high, 300000 + 9 * (total - 300000), 1e-6 * total);
    interval = rps_tally_interval(&tally, 0, 0); /* set 0 counted the first period, and doubles
                                                    it */
    assert_int_equal(interval.certainty, RPS_CERTAINTY_INTERVAL);
    assert_holds(&interval, total);

    add_start(&tally, 1400); /* a small rise at the start */
    interval = rps_tally_interval(&tally, 1, 0);
    assert_true(interval.certainty == RPS_CERTAINTY_INTERVAL && interval.high < 300001);
    total = add_start(&tally, 4000); /* a rise below a tenth of the total is within the interval */
    interval = rps_tally_interval(&tally, 1, 0);
    assert_int_equal(interval.certainty, RPS_CERTAINTY_INTERVAL);
    assert_float_equal(interval.high, 300000 + 9 * (total - 300000), 1e-6 * total);
    rps_plan_free(plan);
}

/* The last period has a hundred times as many counts, and set 0 did not count it. */
static void test_end(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_interval interval;
    struct rps_tally tally;
    double c[300], total;

    (void)state;
    tally = rps_tally_new(arena, plan);
    for (int i = 0; i < 300; i++)
        c[i] = i == 299 ? 100000 : 1000;
    total = add_series(&tally, c, 300, 0);
    interval = rps_tally_interval(&tally, 0, 0);
    assert_int_equal(interval.certainty, RPS_CERTAINTY_END);
    assert_float_equal(interval.high, 300000 + 9 * (total - 300000), 1e-6 * total);
    interval = rps_tally_interval(&tally, 1, 0); /* set 1 counted the last period, and doubles it */
    assert_int_equal(interval.certainty, RPS_CERTAINTY_INTERVAL);
    assert_holds(&interval, total);

    c[297] = 100000; /* the last two readings of set 1 are high: the third has the usual value */
    add_series(&tally, c, 300, 0);
    interval = rps_tally_interval(&tally, 0, 0);
    assert_int_equal(interval.certainty, RPS_CERTAINTY_END);
    assert_float_equal(interval.high, 300000 + 9 * 99000, 1);
    rps_plan_free(plan);
}

/* Three equal readings are too few. Three readings are a burst if one has nearly all counts. */
static void test_few(void **state)
{
    struct rps_plan *plan = make_plan();
    double alike[6] = {9, 9, 9, 9, 9, 9}, burst[6] = {0, 0, 900, 0, 0, 0};
    struct rps_tally tally;

    (void)state;
    tally = rps_tally_new(arena, plan);
    add_series(&tally, alike, 6, 0);
    assert_int_equal(rps_tally_interval(&tally, 0, 0).certainty, RPS_CERTAINTY_ONCE);
    add_series(&tally, burst, 6, 0);
    assert_int_equal(rps_tally_interval(&tally, 0, 0).certainty, RPS_CERTAINTY_BURSTS);
    rps_plan_free(plan);
}

/* The start is unknown if no reading has counts. */
static void test_start_of_none(void **state)
{
    struct rps_plan *plan = make_plan();
    double *operand = calloc((size_t)rps_plan_operand_count(plan), sizeof(*operand));
    struct rps_formula sum, quotient;
    struct rps_interval interval;
    struct rps_tally tally;
    double c[300] = {50000};

    (void)state;
    assert_non_null(operand);
    assert_int_equal(rps_formula_compile("c + a", rps_plan_operand, plan, &sum, NULL), 0);
    assert_int_equal(rps_formula_compile("a / c", rps_plan_operand, plan, &quotient, NULL), 0);
    tally = rps_tally_new(arena, plan);
    for (int i = 2; i < 300; i += 2)
        c[i] = 1000;
    add_series(&tally, c, 300, 0);
    interval = rps_tally_interval(&tally, 1, 0);
    assert_int_equal(interval.certainty, RPS_CERTAINTY_START);
    assert_true(interval.value == 0 && interval.low == 0 && isnan(interval.high));
    rps_tally_operands(&tally, plan, operand);
    interval = rps_tally_formula_interval(&tally, &sum, operand);
    assert_int_equal(interval.certainty, RPS_CERTAINTY_START);
    assert_true(interval.low > 0 && isnan(interval.high));

    for (int i = 3; i < 300; i += 2)
        c[i] = 1000;
    add_series(&tally, c, 300, 0);
    interval = rps_tally_interval(&tally, 1, 0);
    assert_int_equal(interval.certainty, RPS_CERTAINTY_START);
    assert_true(interval.low > 0 && interval.high > 1.1 * interval.value);
    rps_tally_operands(&tally, plan, operand);
    interval = rps_tally_formula_interval(&tally, &quotient, operand);
    assert_int_equal(interval.certainty, RPS_CERTAINTY_INTERVAL);
    assert_true(interval.low == 0 && interval.high > interval.value);
    free(operand);
    rps_plan_free(plan);
}

/* A time range from the middle of the run has a start of its own. Sums over blocks have no such
 * start. */
static void test_start_elsewhere(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_interval interval;
    struct rps_tally tally;

    (void)state;
    tally = rps_tally_new(arena, plan);
    for (int level = -1; level <= 1; level++) {
        rps_tally_reset(&tally);
        for (uint64_t i = 0; i < 300; i++) {
            struct rps_period period =
                make_period(i + (level < 0 ? 20 : 0), 1000, 1000, i == 0 ? 100000 : 1000, 0);

            period.count[0] += i;
            period.level = level > 0;
            period.merged = 1;
            rps_tally_add(&tally, &period);
        }
        assert_int_equal(rps_tally_interval(&tally, 1, 0).certainty,
                         level <= 0 ? RPS_CERTAINTY_START : RPS_CERTAINTY_INTERVAL);
        interval = rps_tally_interval(&tally, 1, 0); /* the position of the periods in a block is
                                                        unknown */
        if (level > 0)
            assert_true(interval.high * interval.low >= .9999 * interval.value * interval.value);
    }
    rps_plan_free(plan);
}

/* A very short last period says little about the period before, however many counts it has. */
static void test_sliver(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_interval interval;
    struct rps_tally tally;
    struct rps_period period;

    (void)state;
    tally = rps_tally_new(arena, plan);
    for (uint64_t i = 0; i < 300; i++) {
        period = make_period(i, 100000, 100000, 1000, 0);
        rps_tally_add(&tally, &period);
    }
    period = make_period(300, 10, 10, 50, 0);
    rps_tally_add(&tally, &period);
    interval = rps_tally_interval(&tally, 0, 0);
    assert_int_equal(interval.certainty, RPS_CERTAINTY_INTERVAL);
    assert_true(interval.high < 1.01 * interval.value && interval.low > .99 * interval.value);
    rps_plan_free(plan);
}

/* --- blocks ----------------------------------------------------------------------------------- */

#define SERIES   960 /* periods: 30 blocks of 16 rotations of two sets */
#define ROTATION 2
#define IN_BLOCK (16 * ROTATION)

/* Return the row of one set for a block of level 1. *scatter gets the variation of the block's
 * periods. */
static struct rps_period block_row(const struct rps_period *period, uint32_t set,
                                   struct rps_scatter *scatter)
{
    struct rps_period row = {.level = 1};
    struct rps_moments moments = {.slots = 0};

    for (size_t i = 0; i < IN_BLOCK; i++) {
        const struct rps_period *one = &period[i];

        if (one->set_no != set)
            continue;
        if (row.merged == 0) {
            row = *one;
            row.enabled_ns = row.running_ns = row.clock_running_ns = row.cycles = 0;
            row.count[0] = row.count[1] = 0;
            row.level = 1;
        }
        row.merged++;
        row.last_period = one->period;
        row.end_ns = one->start_ns + one->length_ns;
        row.cycles += one->cycles;
        row.enabled_ns += one->enabled_ns;
        row.clock_running_ns += one->clock_running_ns;
        row.running_ns += one->running_ns;
        for (int s = 0; s < 2; s++)
            row.count[s] += one->count[s];
        rps_moments_add(&moments, one, 0, 0);
    }
    *scatter = rps_scatter_none();
    rps_scatter_of(&moments, &row, scatter);
    return row;
}

/* Tally the series in blocks. The plan gets the first readings. */
static void read_blocks(struct rps_tally *tally, struct rps_plan *plan,
                        const struct rps_period *period, int is_known)
{
    for (uint32_t n = 0; n < 2; n++) {
        for (int s = 0; s < 2; s++) {
            struct rps_event *event = &plan->set[n].event[s];

            event->first_count = (int64_t)period[n].count[s];
            event->second_count = (int64_t)period[ROTATION + n].count[s];
            event->first_ns = (int64_t)period[n].running_ns;
            event->second_ns = (int64_t)period[ROTATION + n].running_ns;
            event->before_ns = n > 0 ? (int64_t)period[0].enabled_ns : 0;
        }
    }
    rps_tally_reset(tally);
    for (size_t i = 0; i < SERIES; i += IN_BLOCK) {
        for (uint32_t set = 0; set < 2; set++) {
            struct rps_scatter scatter;
            struct rps_period row = block_row(&period[i], set, &scatter);

            row.scatter = is_known ? &scatter : NULL;
            rps_tally_add(tally, &row);
        }
    }
}

/* Series to be downsampled: noise, steps to three times the value, a line, noise while the workload
 * sleeps half of the time, a first period with a hundred times the value. */
enum series { NOISE, STEPS, LINE, SLEEP, START, SERIES_KINDS };

static void make_series(enum series kind, uint64_t *random, struct rps_period *period)
{
    for (uint64_t i = 0; i < SERIES; i++) {
        double noise = 1 + .3 * (rps_random_unit(random) + rps_random_unit(random) - 1);
        double awake = kind == SLEEP ? rps_random_unit(random) : 1;
        double c = 1e6 * awake * (kind == LINE ? 1 + (double)i / SERIES : noise);

        if (kind == STEPS && i / 100 % 2)
            c *= 3;
        if (kind == START && i == 0)
            c *= 100;
        period[i] = make_period(i, (uint64_t)(1e6 * awake), (uint64_t)(1e6 * awake), (uint64_t)c,
                                (uint64_t)(c * (.2 + .02 * rps_random_unit(random))));
    }
}

/* Number of intervals that contain the true value, and sum of their widths: for the total, and for
 * the ratio of the set's two events. */
struct judged {
    int held[2];
    double width[2];
};

static void judge(struct rps_tally *tally, const struct rps_plan *plan, const double truth[2],
                  struct judged *ret)
{
    double operand[RPS_OPERAND_EVENTS + 2 * RPS_SLOT_MAX];
    struct rps_interval interval[2];
    struct rps_formula ratio;

    assert_int_equal(rps_formula_compile("d / c", rps_plan_operand, (void *)plan, &ratio, NULL), 0);
    rps_tally_operands(tally, plan, operand);
    interval[0] = rps_tally_interval(tally, 1, 0);
    interval[1] = rps_tally_formula_interval(tally, &ratio, operand);
    for (int i = 0; i < 2; i++) {
        assert_true(rps_interval_has_ends(&interval[i]));
        ret->held[i] += interval[i].low <= truth[i] && truth[i] <= interval[i].high;
        ret->width[i] += (interval[i].high - interval[i].low) / interval[i].value;
    }
}

/* Downsampling costs no accuracy: intervals from blocks hold the true value and are as wide as the
 * intervals from all periods. Intervals are wider if the variation of the periods is unknown. */
static void test_downsampled(void **state)
{
    static struct rps_period period[SERIES];
    struct rps_plan *plan = make_plan();
    struct rps_tally tally;
    uint64_t random = 11;

    (void)state;
    tally = rps_tally_new(arena, plan);
    for (enum series kind = NOISE; kind < SERIES_KINDS; kind++) {
        struct judged full = {.held = {0}}, blocks = full, older = full;

        for (int run = 0; run < 200; run++) {
            double truth[2] = {0};

            make_series(kind, &random, period);
            rps_tally_reset(&tally);
            for (size_t i = 0; i < SERIES; i++) {
                truth[0] += (double)period[i].count[0];
                truth[1] += (double)period[i].count[1];
                rps_tally_add(&tally, &period[i]);
            }
            truth[1] /= truth[0];
            judge(&tally, plan, truth, &full);
            read_blocks(&tally, plan, period, 1);
            judge(&tally, plan, truth, &blocks);
            read_blocks(&tally, plan, period, 0);
            judge(&tally, plan, truth, &older);
        }
        for (int i = 0; i < 2; i++) {
            /* the start is estimated from one reading */
            int least = kind == START ? full.held[i] - 4 : 184;

            if (blocks.held[i] < least || fabs(blocks.width[i] / full.width[i] - 1) > .1)
                fail_msg("series %d, value %d: %d of 200 held (%d), %g wide for %g", kind, i,
                         blocks.held[i], full.held[i], blocks.width[i] / 200, full.width[i] / 200);
        }
        if (kind == START) /* the start is not visible in blocks */
            assert_true(older.held[0] < full.held[0] / 4);
        else
            assert_true(older.width[0] > 1.2 * full.width[0]);
    }
    rps_plan_free(plan);
}

/* Downsampled and full-detail parts form one run. */
static void test_half_downsampled(void **state)
{
    static struct rps_period period[SERIES];
    struct rps_plan *plan = make_plan();
    struct rps_tally tally, blocks;
    struct rps_interval full, half;
    uint64_t random = 3;

    (void)state;
    make_series(STEPS, &random, period);
    tally = rps_tally_new(arena, plan);
    blocks = rps_tally_new(arena, plan);
    for (size_t i = 0; i < SERIES; i++)
        rps_tally_add(&tally, &period[i]);
    full = rps_tally_interval(&tally, 0, 1);
    read_blocks(&blocks, plan, period, 1);
    rps_tally_reset(&tally);
    for (size_t i = 0; i < SERIES; i++) { /* add the whole series again, after the blocks */
        struct rps_period more = period[i];

        more.start_ns += SERIES * 100;
        rps_tally_add(&tally, &more);
    }
    rps_tally_merge(&tally, &blocks);
    half = rps_tally_interval(&tally, 0, 1);
    assert_int_equal(half.certainty, RPS_CERTAINTY_INTERVAL);
    assert_float_equal(half.value, 2 * full.value, 1e-6 * full.value);
    assert_float_equal((half.high - half.low) / (full.high - full.low), sqrt(2), .1);
    rps_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sums, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_unknown_set, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_software, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_merge_is_adding, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_estimate_rules, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_exact, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_counted_and_coverage, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_incomplete, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_operands, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_idle, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_failed_reading, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_clock_without_counter, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_hardly, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_interval, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_interval_holds, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_freedom, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_certainties, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_lost_periods, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_trend, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_formulas, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_start, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_start_of_none, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_end, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_few, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_start_elsewhere, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_sliver, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_downsampled, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_half_downsampled, open_arena, close_arena),
    };

    return cmocka_run_group_tests_name("analyse/tally", tests, NULL, NULL);
}
