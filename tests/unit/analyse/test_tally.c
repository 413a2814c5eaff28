/* Tallies: sums, scaled estimates, duty and coverage. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rpistat/tally.h"

/* Two sets of two events each, and a metric over both. */
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
        .cycle = 1000 * (number + 1),
        .cycles = 1000,
        .start_ns = (int64_t)number * 100,
        .length_ns = 100,
        .enabled_ns = enabled,
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
    assert_int_equal(rps_tally_init(&tally, plan, NULL), 0);
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
    rps_tally_free(&tally);
    rps_plan_free(plan);
}

static void test_unknown_set(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_period period = make_period(0, 100, 100, 5, 6);
    struct rps_tally tally;

    (void)state;
    period.set_no = 2;
    assert_int_equal(rps_tally_init(&tally, plan, NULL), 0);
    rps_tally_add(&tally, &period);
    assert_int_equal(tally.periods, 1);
    assert_int_equal(tally.set[0].periods + tally.set[1].periods, 0);
    assert_true(isnan(rps_tally_estimate(&tally, 2, 0)));
    assert_true(isnan(rps_tally_estimate(&tally, -1, 0)));
    rps_tally_free(&tally);
    rps_plan_free(plan);
}

static void test_merge_is_adding(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_tally all, part[2];

    (void)state;
    assert_int_equal(rps_tally_init(&all, plan, NULL), 0);
    assert_int_equal(rps_tally_init(&part[0], plan, NULL), 0);
    assert_int_equal(rps_tally_init(&part[1], plan, NULL), 0);
    for (uint64_t i = 0; i < 9; i++) {
        struct rps_period period = make_period(i, 100 + i, 80 + i, i * i, 7 * i);

        rps_tally_add(&all, &period);
        rps_tally_add(&part[i / 5], &period);
    }
    rps_tally_merge(&part[1], &part[0]); /* the later one first: the span must still be right */
    assert_memory_equal(all.set, part[1].set, 2 * sizeof(*all.set));
    free(all.set);
    all.set = part[1].set;
    assert_memory_equal(&all, &part[1], sizeof(all));
    rps_tally_reset(&part[0]);
    rps_tally_merge(&part[1], &part[0]); /* an empty one changes nothing */
    assert_memory_equal(&all, &part[1], sizeof(all));
    rps_tally_free(&part[0]);
    rps_tally_free(&part[1]);
    rps_plan_free(plan);
}

static void test_estimate_rules(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_period on = make_period(0, 100, 90, 1000, 7), idle = make_period(1, 0, 0, 0, 0);
    struct rps_tally tally;
    uint64_t whole = 99;

    (void)state;
    assert_int_equal(rps_tally_init(&tally, plan, NULL), 0);
    assert_true(isnan(rps_tally_estimate(&tally, 0, 0))); /* nothing was counted yet */
    assert_int_equal(rps_tally_estimate_u64(&tally, 0, 0, &whole), 0);
    assert_int_equal(whole, 99);

    rps_tally_add(&tally, &idle); /* the workload slept: a true zero */
    assert_true(rps_tally_estimate(&tally, 1, 0) == 0);
    assert_int_equal(rps_tally_estimate_u64(&tally, 1, 0, &whole), 1);
    assert_int_equal(whole, 0);

    on.counted = 1; /* slot 1 was not counted: unknown, not zero */
    rps_tally_add(&tally, &on);
    assert_true(fabs(rps_tally_estimate(&tally, 0, 0) - 1000.0 * 100 / 90) < 1e-9);
    assert_int_equal(rps_tally_estimate_u64(&tally, 0, 0, &whole), 1);
    assert_int_equal(whole, 1111);
    assert_true(isnan(rps_tally_estimate(&tally, 0, 1)));
    assert_int_equal(rps_tally_estimate_u64(&tally, 0, 1, &whole), 0);

    /* Set 1 was on only while the workload slept, and the workload ran since: unknown. */
    assert_true(isnan(rps_tally_estimate(&tally, 1, 0)));
    rps_tally_free(&tally);
    rps_plan_free(plan);
}

/* raw * enabled / running, against products of arbitrary length. */
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
        {25008886, UINT64_C(2198327683834524), 147, UINT64_MAX}, /* does not fit */
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

        assert_int_equal(rps_tally_init(&tally, plan, NULL), 0);
        rps_tally_add(&tally, &period);
        assert_int_equal(rps_tally_estimate_u64(&tally, 0, 0, &estimate), 1);
        assert_true(estimate == cases[i].estimate);
        rps_tally_free(&tally);
    }
    rps_plan_free(plan);
}

static void test_duty_and_coverage(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_period a = make_period(0, 100, 100, 1, 1), b = make_period(1, 300, 150, 1, 1);
    struct rps_tally tally;

    (void)state;
    assert_int_equal(rps_tally_init(&tally, plan, NULL), 0);
    assert_true(isnan(rps_tally_duty(&tally, 0)));
    assert_true(isnan(rps_tally_coverage(&tally, 0)));
    rps_tally_add(&tally, &a);
    rps_tally_add(&tally, &b);
    assert_true(rps_tally_duty(&tally, 0) == 0.25);
    assert_true(rps_tally_duty(&tally, 1) == 0.375);
    assert_true(rps_tally_coverage(&tally, 0) == 1);
    assert_true(rps_tally_coverage(&tally, 1) == 0.5);
    assert_true(isnan(rps_tally_duty(&tally, 7)));
    rps_tally_free(&tally);
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
    assert_int_equal(rps_tally_init(&tally, plan, NULL), 0);
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
    rps_tally_free(&tally);
    free(operand);
    rps_plan_free(plan);
}

/* The time that a CPU was idle is not CPU time; where a part of it is not known, nothing is. */
static void test_idle(void **state)
{
    struct rps_plan *plan = make_plan();
    struct rps_period a = make_period(0, 1000, 1000, 8, 0), b = make_period(1, 500, 500, 0, 4);
    double *operand = calloc((size_t)rps_plan_operand_count(plan), sizeof(*operand));
    struct rps_tally tally, sum;

    (void)state;
    assert_non_null(operand);
    assert_int_equal(rps_tally_init(&tally, plan, NULL), 0);
    assert_int_equal(rps_tally_init(&sum, plan, NULL), 0);
    a.idle_ns = 700;
    b.idle_ns = 100;
    rps_tally_add(&tally, &a);
    rps_tally_add(&tally, &b);
    rps_tally_merge(&sum, &tally);
    rps_tally_merge(&sum, &tally);
    rps_tally_operands(&sum, plan, operand);
    assert_true(fabs(operand[RPS_OPERAND_CPU_SECONDS] - 1400e-9) < 1e-18);
    assert_int_equal(sum.enabled_ns, 3000); /* estimates are scaled by it */
    b.idle_ns = -1;
    rps_tally_add(&tally, &b);
    rps_tally_merge(&sum, &tally);
    rps_tally_operands(&sum, plan, operand);
    assert_true(isnan(operand[RPS_OPERAND_CPU_SECONDS]));
    rps_tally_free(&sum);
    rps_tally_free(&tally);
    free(operand);
    rps_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_unknown_set),
        cmocka_unit_test(test_merge_is_adding),
        cmocka_unit_test(test_estimate_rules),
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_duty_and_coverage),
        cmocka_unit_test(test_operands),
        cmocka_unit_test(test_idle),
    };

    return cmocka_run_group_tests_name("analyse/tally", tests, NULL, NULL);
}
