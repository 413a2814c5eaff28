/* Tests of scenarios: the events that are kept of event sets, and the events that are added. */
#include "events/set_file_section.h"

#include "rpistat/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LABEL_MAX_BYTES 18

static struct rps_plan *load(const char *name)
{
    struct rps_plan *plan = NULL;
    struct rps_error err = {""};

    if (rps_plan_load(name, &plan, &err) != 0)
        fail_msg("%s", err.message);
    return plan;
}

static const struct rps_metric *find_metric(const struct rps_plan *plan, const char *label)
{
    for (int i = 0; i < plan->metric_count; i++) {
        if (strcmp(plan->metric[i].label, label) == 0)
            return &plan->metric[i];
    }
    return NULL;
}

#define SYSCALLS_SET                                                                               \
    "syscalls: task_clock minor_faults major_faults context_switches cpu_migrations syscalls "     \
    "block_io;"
#define SYSCALLS_METRICS                                                                           \
    "CPU use, Minor faults, Major faults, Context switches, CPU migrations, System calls, "        \
    "Block I/O, Call density, "

/* Expected result: the event IDs of each set, and the labels of the metrics. */
static const struct {
    const char *plan, *scenario, *sets, *metrics;
} kept[] = {
    {"arm1176", "l1", "instr: instructions; l1: dc_access dc_miss;",
     "CPI, DC miss ratio, Memory density, DC hit ratio, DC miss rate, "},
    {"arm1176", "tlb", "instr: instructions; tlb: micro_tlb_miss main_tlb_miss; dc: dc_access;",
     "CPI, Micro miss rate, Main miss rate, DTLB hit ratio, "},
    {"arm1176", "ipc", "instr: instructions ibuf_stall;", "CPI, IBUF stall percent, IPC, "},
    {"arm1176", "branches", "instr: instructions; br: branches branch_miss;",
     "CPI, Branch rate, Mispredict ratio, BR hit ratio, INS per branch, Mispredict rate, "},
    {"cortex-a7", "l2", "instr: instructions; l2: l2_access l2_miss;",
     "CPI, L2 miss ratio, L2 miss rate, L2 density, L2 hit ratio, "},
    {"cortex-a7", "ipc", "instr: instructions;", "CPI, IPC, "},
    {"cortex-a7", "tlb", "instr: instructions; tlb: dtlb_l1_miss; dc: dc_access;",
     "CPI, DTLB miss rate, "},
    {"cortex-a76", "ipc", "instr: instructions frontend_stall; stall: backend_stall;",
     "CPI, FE stall percent, BE stall percent, IPC, "},
    {"amd-zen", "l2", "instr: instructions; l2: l2_access l2_miss; llc: llc_access llc_miss;",
     "CPI, L2 miss ratio, L2 miss rate, LLC miss ratio, LLC miss rate, L2 density, L2 hit ratio, "
     "LLC hit ratio, "},
    {"amd-zen4", "topdown",
     "topdown: td_cycles td_frontend td_backend td_smt td_issued td_retired; instr: instructions;",
     "CPI, Retiring, Bad speculation, Frontend bound, Backend bound, Other thread, "
     "Slots per INS, "},
    {"intel-skylake", "topdown",
     "topdown: td_cycles td_frontend td_issued td_retired td_recovery td_one_thread td_ticks; "
     "instr: instructions;",
     "CPI, Retiring, Bad speculation, Frontend bound, Backend bound, Slots per INS, "},
    {"neoverse-n2", "ipc", "instr: instructions frontend_stall; stall: backend_stall;",
     "CPI, FE stall percent, BE stall percent, IPC, "},
    {"generic", "l1", "instr: instructions; l1: dc_access dc_miss;",
     "CPI, DC miss ratio, DC miss rate, Memory density, DC hit ratio, "},
    {"software", "syscalls", SYSCALLS_SET, SYSCALLS_METRICS},
    {"cortex-a72", "syscalls", SYSCALLS_SET, SYSCALLS_METRICS}, /* the kernel's events exist */
};

static void test_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < RPS_COUNT(kept); i++) {
        struct rps_plan *plan = load(kept[i].plan);
        struct rps_error err = {""};
        char sets[512] = "", metrics[512] = "";

        if (rps_plan_select(plan, kept[i].scenario, &err) != 0)
            fail_msg("%s", err.message);
        for (int n = 0; n < plan->set_count; n++) {
            snprintf(sets + strlen(sets), sizeof(sets) - strlen(sets), "%s%s:", n ? " " : "",
                     plan->set[n].name);
            for (int slot = 0; slot < plan->set[n].event_count; slot++)
                snprintf(sets + strlen(sets), sizeof(sets) - strlen(sets), " %s",
                         plan->set[n].event[slot].name);
            strcat(sets, ";");
        }
        for (int m = 0; m < plan->metric_count; m++)
            snprintf(metrics + strlen(metrics), sizeof(metrics) - strlen(metrics), "%s, ",
                     plan->metric[m].label);
        assert_string_equal(sets, kept[i].sets);
        assert_string_equal(metrics, kept[i].metrics);
        assert_string_equal(plan->name, kept[i].plan);
        rps_plan_free(plan);
    }
}

/* Events keep their identity, and metrics have their expected values, even after a second
 * compilation. */
static void test_values(void **state)
{
    struct rps_plan *plan = load("arm1176");
    double operand[RPS_OPERAND_EVENTS + 2 * RPS_SLOT_MAX] = {0};

    (void)state;
    snprintf(plan->clock.label, sizeof(plan->clock.label), "Ticks");
    assert_int_equal(rps_plan_select(plan, "l1", NULL), 0);
    assert_string_equal(plan->clock.label, "Ticks");
    assert_string_equal(plan->title, "ARM1176JZF-S (Raspberry Pi 1, Zero): first-level data cache");
    assert_string_equal(plan->match, "0x41/0xb76");
    assert_string_equal(plan->set[1].event[0].spec, "r09");
    assert_string_equal(plan->set[1].event[0].label, "DC cached accesses");
    assert_string_equal(plan->set[1].event[0].family, "DC");
    operand[rps_plan_operand(plan, "instructions")] = 1000;
    operand[rps_plan_operand(plan, "dc_access")] = 400;
    operand[rps_plan_operand(plan, "dc_miss")] = 20;
    for (int pass = 0; pass < 2; pass++) {
        assert_true(rps_formula_value(&find_metric(plan, "DC miss ratio")->formula, operand) == 5);
        assert_true(rps_formula_value(&find_metric(plan, "DC hit ratio")->formula, operand) == 95);
        assert_true(rps_formula_value(&find_metric(plan, "Memory density")->formula, operand) ==
                    0.4);
        assert_int_equal(rps_plan_compile(plan, NULL), 0);
    }
    assert_string_equal(find_metric(plan, "Memory density")->family, "DC");
    rps_plan_free(plan);
}

/* A user's document takes part in scenarios by its roles. */
static void test_own_document(void **state)
{
    static const char text[] = "[event x]\nevent = r1\nrole = l2_access\n"
                               "[event y]\nevent = r2\nrole = l2_miss\n"
                               "[event z]\nevent = r3\n"
                               "[set s]\nevents = z, y, x\n"
                               "[metric p]\nformula = x / y\n[metric q]\nformula = z / y\n";
    struct rps_plan *plan = NULL;

    (void)state;
    assert_int_equal(rps_plan_parse("own.ini", text, strlen(text), &plan, NULL), 0);
    assert_int_equal(rps_plan_select(plan, "l2", NULL), 0);
    assert_int_equal(plan->set_count, 1);
    assert_int_equal(plan->set[0].event_count, 2);
    assert_string_equal(plan->set[0].event[0].name, "x");
    assert_string_equal(plan->set[0].event[0].where, "own.ini:2");
    assert_int_equal(plan->metric_count, 2);
    assert_string_equal(plan->metric[0].name, "p");
    assert_string_equal(plan->metric[1].name, "l2_hit_ratio");
    rps_plan_free(plan);
}

static void test_nothing_to_show(void **state)
{
    struct rps_plan *plan = load("software");
    struct rps_error err = {""};

    (void)state;
    for (const char *const *name = rps_plan_scenarios(); *name; name++) {
        if (strcmp(*name, "syscalls") == 0)
            continue;
        assert_int_equal(rps_plan_select(plan, *name, &err), RPS_USAGE);
        assert_non_null(strstr(err.message, "the event sets software have no events for scenario"));
        assert_int_equal(plan->set[0].event_count, 5);
    }
    rps_plan_free(plan);

    plan = load("neoverse-n1");
    assert_int_equal(rps_plan_select(plan, "topdown", &err), RPS_USAGE);
    assert_string_equal(
        err.message, "the event sets neoverse-n1 have no events for scenario topdown, which needs "
                     "the roles slots_retired, instructions; name other sets with "
                     "--sets, or leave out --scenario");
    rps_plan_free(plan);

    plan = load("generic");
    assert_int_equal(rps_plan_select(plan, "l2", &err), RPS_USAGE);
    assert_non_null(strstr(err.message, "generic have no events for scenario l2, which needs "
                                        "the roles instructions, l2_access, l2_miss"));
    assert_int_equal(plan->set_count, 4);
    assert_int_equal(rps_plan_select(plan, "l3\033", &err), RPS_USAGE);
    assert_string_equal(err.message, "no scenario is named \"l3\\x1b\"; choose from l1, l2, tlb, "
                                     "ipc, branches, topdown, syscalls");
    assert_int_equal(plan->set_count, 4);
    rps_plan_free(plan);
}

/* --- the documents ---------------------------------------------------------------------------- */

static void check_document(const struct rps_embedded *embedded)
{
    struct rps_plan *plan = NULL;
    struct rps_error err = {""};

    if (rps_plan_parse(embedded->name, embedded->text, embedded->size, &plan, &err) != 0)
        fail_msg("%s", err.message);
    assert_int_equal(strncmp(embedded->name, plan->name, strlen(plan->name)), 0);
    assert_string_not_equal(plan->title, plan->name);
    assert_string_not_equal(plan->explain, "");
    assert_true(plan->metric_count > 0);
    for (int i = 0; i < plan->metric_count; i++) {
        const struct rps_metric *metric = &plan->metric[i];

        assert_true(strlen(metric->label) <= LABEL_MAX_BYTES);
        assert_string_not_equal(metric->family, "");
        assert_true(strlen(metric->explain) > 10);
        for (int j = 0; j < i; j++) {
            if (strcmp(metric->panel, plan->metric[j].panel) == 0)
                assert_string_equal(metric->unit, plan->metric[j].unit);
        }
    }
    rps_plan_free(plan);
}

static void test_documents(void **state)
{
    int count = 0;

    (void)state;
    for (; rps_embedded_scenarios[count].name; count++)
        check_document(&rps_embedded_scenarios[count]);
    assert_int_equal(count, 7);
}

/* Each scenario has metrics on each processor that has a document. */
static void test_every_processor(void **state)
{
    (void)state;
    for (const char *const *name = rps_plan_names(); *name; name++) {
        for (const char *const *scenario = rps_plan_scenarios(); *scenario; scenario++) {
            struct rps_plan *plan = load(*name);
            struct rps_error err = {""};
            bool has_l2 = rps_plan_role(plan, "l2_miss", NULL, NULL);
            bool has_slots = rps_plan_role(plan, "slots_retired", NULL, NULL);

            if (strcmp(*name, "software") != 0 && (has_l2 || strcmp(*scenario, "l2") != 0) &&
                (has_slots || strcmp(*scenario, "topdown") != 0) &&
                rps_plan_select(plan, *scenario, &err) != 0)
                fail_msg("%s", err.message);
            rps_plan_free(plan);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept),         cmocka_unit_test(test_values),
        cmocka_unit_test(test_own_document), cmocka_unit_test(test_nothing_to_show),
        cmocka_unit_test(test_documents),    cmocka_unit_test(test_every_processor),
    };

    return cmocka_run_group_tests_name("scenario", tests, NULL, NULL);
}
