/*
 * The documents that are part of the program: complete, explained, resolvable, and, for the
 * ARM1176, the sets and figures that rpistat published in 2013.
 */
#include "rpistat/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array)    (sizeof(array) / sizeof((array)[0]))
#define LABEL_MAX_BYTES 18 /* the report gives a label, its colon and a blank 20 columns */

static struct rps_plan *load(const char *name)
{
    struct rps_plan *plan = NULL;
    struct rps_error err = {""};

    if (rps_plan_load(name, &plan, &err) != 0)
        fail_msg("%s", err.message);
    return plan;
}

static const struct rps_event *find_event(const struct rps_plan *plan, const char *name)
{
    int operand = rps_plan_operand((void *)(uintptr_t)plan, name) - RPS_OPERAND_EVENTS;

    if (operand < 0)
        fail_msg("%s has no event %s", plan->name, name);
    return &plan->set[operand / RPS_SLOT_MAX].event[operand % RPS_SLOT_MAX];
}

static const struct rps_metric *find_metric(const struct rps_plan *plan, const char *label)
{
    for (int i = 0; i < plan->metric_count; i++) {
        if (strcmp(plan->metric[i].label, label) == 0)
            return &plan->metric[i];
    }
    fail_msg("%s has no metric called %s", plan->name, label);
    return NULL;
}

static void check_texts(const char *what, const char *label, const char *explain)
{
    size_t length = strlen(explain);

    if (label[0] == '\0' || strlen(label) > LABEL_MAX_BYTES)
        fail_msg("%s: label \"%s\"", what, label);
    if (length < 10 || explain[length - 1] != '.')
        fail_msg("%s: explanation \"%s\"", what, explain);
}

static void check_event(const struct rps_event *found)
{
    struct rps_event event = *found;
    struct rps_error err = {""};

    check_texts(event.name, event.label, event.explain);
    assert_string_not_equal(event.family, "");
    assert_string_not_equal(event.role, "");
    /* tracepoints need a tracefs, so their state is the machine's; the name must be good anywhere
     */
    if (rps_event_resolve(&event, "/sys", &err) != 0)
        fail_msg("%s", err.message);
    if (event.type != RPS_EVENT_TRACEPOINT)
        assert_int_equal(event.state, RPS_EVENT_MEASURED);
}

static void test_every_document(void **state)
{
    (void)state;
    for (const char *const *name = rps_plan_names(); *name; name++) {
        struct rps_plan *plan = load(*name);

        assert_string_equal(plan->name, *name);
        assert_string_not_equal(plan->title, plan->name);
        check_texts(*name, "plan", plan->explain);
        assert_true(plan->metric_count > 0);
        for (int n = 0; n < plan->set_count; n++) {
            check_texts(plan->set[n].name, "set", plan->set[n].explain);
            for (int slot = 0; slot < plan->set[n].event_count; slot++)
                check_event(&plan->set[n].event[slot]);
        }
        for (int i = 0; i < plan->metric_count; i++) {
            check_texts(plan->metric[i].name, plan->metric[i].label, plan->metric[i].explain);
            assert_string_not_equal(plan->metric[i].family, "");
        }
        rps_plan_free(plan);
    }
}

/* Every metric has a value as soon as everything is counted; and every event is used by one. */
static void test_formulas_are_closed(void **state)
{
    (void)state;
    for (const char *const *name = rps_plan_names(); *name; name++) {
        struct rps_plan *plan = load(*name);
        double operand[RPS_OPERAND_EVENTS + 4 * RPS_SLOT_MAX];
        bool used[RPS_OPERAND_EVENTS + 4 * RPS_SLOT_MAX] = {false};

        assert_true(rps_plan_operand_count(plan) <= (int)COUNT(operand));
        for (size_t i = 0; i < COUNT(operand); i++)
            operand[i] = NAN;
        for (int i = 0; i < rps_plan_operand_count(plan); i++) {
            if (rps_plan_operand_name(plan, i)[0])
                operand[i] = (double)(i + 1);
        }
        for (int i = 0; i < plan->metric_count; i++) {
            const struct rps_formula *formula = &plan->metric[i].formula;

            assert_true(isfinite(rps_formula_value(formula, operand)));
            for (int step = 0; step < formula->step_count; step++) {
                if (formula->step[step].op == RPS_FORMULA_OPERAND)
                    used[formula->step[step].operand] = true;
            }
        }
        for (int i = RPS_OPERAND_EVENTS; i < rps_plan_operand_count(plan); i++) {
            if (rps_plan_operand_name(plan, i)[0] && !used[i])
                fail_msg("%s: no metric uses %s", *name, rps_plan_operand_name(plan, i));
        }
        rps_plan_free(plan);
    }
}

/* Metrics of one panel share its axis, so they must have one unit. */
static void test_panels(void **state)
{
    (void)state;
    for (const char *const *name = rps_plan_names(); *name; name++) {
        struct rps_plan *plan = load(*name);

        for (int i = 0; i < plan->metric_count; i++) {
            for (int j = 0; j < i; j++) {
                if (strcmp(plan->metric[i].panel, plan->metric[j].panel) == 0)
                    assert_string_equal(plan->metric[i].unit, plan->metric[j].unit);
            }
        }
        rps_plan_free(plan);
    }
}

/* --- 2013 ------------------------------------------------------------------------------------ */

static const struct {
    const char *set, *name, *label, *family;
    unsigned code;
} events_2013[] = {
    {"instr", "instructions", "Instructions", "Instr", 0x07},
    {"instr", "ibuf_stall", "IBUF stall cycles", "Instr", 0x01},
    {"dc", "dc_access", "DC cached accesses", "DC", 0x09},
    {"dc", "dc_miss", "DC misses", "DC", 0x0b},
    {"tlb", "micro_tlb_miss", "MicroTLB misses", "TLB", 0x04},
    {"tlb", "main_tlb_miss", "Main TLB misses", "TLB", 0x0f},
    {"br", "branches", "Branches", "BR", 0x05},
    {"br", "branch_miss", "Mispredicted BR", "BR", 0x06},
};

static void test_sets_of_2013(void **state)
{
    struct rps_plan *plan = load("arm1176");

    (void)state;
    assert_int_equal(plan->set_count, 4);
    for (int i = 0; i < (int)COUNT(events_2013); i++) {
        const struct rps_event_set *set = &plan->set[i / 2];
        struct rps_event event = set->event[i % 2];

        assert_int_equal(set->event_count, 2);
        assert_string_equal(set->name, events_2013[i].set);
        assert_string_equal(event.name, events_2013[i].name);
        assert_string_equal(event.label, events_2013[i].label);
        assert_string_equal(event.family, events_2013[i].family);
        assert_int_equal(rps_event_resolve(&event, "/nowhere", NULL), 0);
        assert_int_equal(event.type, RPS_EVENT_RAW);
        assert_int_equal(event.config, events_2013[i].code);
    }
    rps_plan_free(plan);
}

/*
 * Two published reports of the same workload (P. J. Drongowski, sandsoftwaresound.net, June 2013):
 * raw counts of 169 periods, 43 of which counted the first set and 42 each of the others.
 */
static const struct report {
    double cycles;
    double raw[8];    /* in the order of events_2013 */
    double scaled[8]; /* as printed */
    const char *figure[7];
} reports_2013[] = {
    {11794467561,
     {316920650, 69764851, 4619258, 928231, 224704, 164438, 33633705, 369167},
     {1245571856, 274192088, 18587014, 3735024, 904166, 661667, 135335622, 1485457},
     {"9.469", "2.325", "20.095", "0.726", "0.531", "108.653", "1.098"}},
    {11759598287,
     {315810640, 65981902, 4558795, 933837, 224886, 172973, 33438664, 366383},
     {1241209259, 259324219, 18343722, 3757582, 904898, 696010, 134550814, 1474255},
     {"9.474", "2.205", "20.484", "0.729", "0.561", "108.403", "1.096"}},
};

static void test_figures_of_2013(void **state)
{
    static const char *const labels[] = {
        "CPI",         "IBUF stall percent", "DC miss ratio", "Micro miss rate", "Main miss rate",
        "Branch rate", "Mispredict ratio"};
    static const char *const units[] = {"", "%", "%", "PTI", "PTI", "PTI", "%"};
    struct rps_plan *plan = load("arm1176");

    (void)state;
    assert_int_equal(plan->metric_count, COUNT(labels));
    for (size_t r = 0; r < COUNT(reports_2013); r++) {
        const struct report *report = &reports_2013[r];
        double operand[RPS_OPERAND_EVENTS + 4 * RPS_SLOT_MAX] = {0};

        operand[RPS_OPERAND_CLOCK] = report->cycles;
        for (int i = 0; i < 8; i++) {
            double scaled = report->raw[i] * 169 / (i < 2 ? 43 : 42);

            assert_true(floor(scaled) == report->scaled[i]);
            operand[rps_plan_operand(plan, events_2013[i].name)] = scaled;
        }
        for (int m = 0; m < (int)COUNT(labels); m++) {
            const struct rps_metric *metric = &plan->metric[m];
            char figure[32];

            assert_string_equal(metric->label, labels[m]);
            assert_string_equal(metric->unit, units[m]);
            snprintf(figure, sizeof(figure), "%.3f", rps_formula_value(&metric->formula, operand));
            assert_string_equal(figure, report->figure[m]);
        }
    }
    rps_plan_free(plan);
}

/* --- the others ------------------------------------------------------------------------------ */

static void test_generic_has_the_roles_of_2013(void **state)
{
    static const char *const same[] = {"instructions", "frontend_stall", "l1d_access",
                                       "l1d_miss",     "dtlb_l1_miss",   "dtlb_miss",
                                       "branches",     "branch_misses"};
    struct rps_plan *arm = load("arm1176"), *generic = load("generic");

    (void)state;
    for (size_t i = 0; i < COUNT(same); i++) {
        int arm_set = -1, generic_set = -2;

        assert_non_null(rps_plan_role(arm, same[i], &arm_set, NULL));
        assert_non_null(rps_plan_role(generic, same[i], &generic_set, NULL));
        assert_int_equal(arm_set, generic_set);
        assert_int_equal(arm_set, i / 2);
    }
    assert_string_equal(find_event(generic, "dc_miss")->spec, "L1-dcache-load-misses");
    rps_plan_free(generic);
    rps_plan_free(arm);
}

static void test_software(void **state)
{
    struct rps_plan *plan = load("software");
    double operand[RPS_OPERAND_EVENTS + RPS_SLOT_MAX] = {0};

    (void)state;
    assert_int_equal(plan->set_count, 1);
    assert_int_equal(plan->set[0].event_count, 7);
    assert_string_equal(find_event(plan, "task_clock")->unit, "ns");
    assert_string_equal(find_event(plan, "syscalls")->spec, "raw_syscalls:sys_enter");
    operand[RPS_OPERAND_SECONDS] = 2;
    operand[rps_plan_operand(plan, "task_clock")] = 3e9;
    operand[rps_plan_operand(plan, "minor_faults")] = 500;
    operand[rps_plan_operand(plan, "block_io")] = 8;
    assert_true(rps_formula_value(&find_metric(plan, "CPU use")->formula, operand) == 150);
    assert_true(rps_formula_value(&find_metric(plan, "Minor faults")->formula, operand) == 250);
    assert_true(rps_formula_value(&find_metric(plan, "Block I/O")->formula, operand) == 4);
    rps_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_document),
        cmocka_unit_test(test_formulas_are_closed),
        cmocka_unit_test(test_panels),
        cmocka_unit_test(test_sets_of_2013),
        cmocka_unit_test(test_figures_of_2013),
        cmocka_unit_test(test_generic_has_the_roles_of_2013),
        cmocka_unit_test(test_software),
    };

    return cmocka_run_group_tests_name("sets", tests, NULL, NULL);
}
