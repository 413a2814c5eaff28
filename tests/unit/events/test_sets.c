/* Tests of the built-in documents: complete, explained, resolvable. The document of the ARM1176 has
 * the sets and metrics that rpistat published in 2013. */
#include "tree.h"

#include "events/names.h"
#include "events/resolve.h"

#include "rpistat/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SET_MAX         8
#define LABEL_MAX_BYTES 18 /* the report has 20 columns for a label, a colon and a blank */

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

/* Return true if the event needs a role. Top-down events have no counterpart on other processors,
 * and dTLB-loads counts differ too much. */
static bool needs_role(const struct rps_event *event)
{
    return strcmp(event->family, "Top-down") != 0 && strcmp(event->spec, "dTLB-loads") != 0;
}

static void check_texts(const char *what, const char *label, const char *explain)
{
    size_t length = strlen(explain);

    if (label[0] == '\0' || strlen(label) > LABEL_MAX_BYTES)
        fail_msg("%s: label \"%s\"", what, label);
    if (length < 10 || explain[length - 1] != '.')
        fail_msg("%s: explanation \"%s\"", what, explain);
}

/* Check an event. `sys` is a sysfs with the PMUs of all processors. */
static void check_event(const struct rps_event *found, const char *sys)
{
    struct rps_event event = *found;
    struct rps_error err = {""};

    check_texts(event.name, event.label, event.explain);
    assert_string_not_equal(event.family, "");
    assert_true(rps_name_role(event.role) || (event.role[0] == '\0' && !needs_role(&event)));
    assert_string_not_equal(event.where, "");
    /* A role must not refer to another role, because the event would not be found. */
    assert_false(rps_name_role(event.spec) && !rps_name_generic(event.spec, &event));
    /* Tracepoints need a tracefs, so their state depends on the machine. Tracepoint names must be
     * valid on any machine. */
    event = *found;
    if (rps_event_resolve(&event, sys, &err) != 0)
        fail_msg("%s", err.message);
    if (event.type != RPS_EVENT_TRACEPOINT && event.state != RPS_EVENT_MEASURED)
        fail_msg("%s: %s", event.where, event.reason);
}

/* Events of an ARMv8 PMU as shown by Linux: the events of the architecture, by number. */
static const char *const armv8_events[][2] = {
    {"l1d_cache_refill", "event=0x0003"}, {"l1d_cache", "event=0x0004"},
    {"l1d_tlb_refill", "event=0x0005"},   {"inst_retired", "event=0x0008"},
    {"br_mis_pred", "event=0x0010"},      {"br_pred", "event=0x0012"},
    {"l2d_cache", "event=0x0016"},        {"l2d_cache_refill", "event=0x0017"},
    {"stall_frontend", "event=0x0023"},   {"stall_backend", "event=0x0024"},
    {"dtlb_walk", "event=0x0034"},
};

#define ARMV8 "bus/event_source/devices/armv8_pmuv3_0"

static int set_up(void **state)
{
    const char *root = tree_new();

    for (size_t i = 0; i < RPS_COUNT(armv8_events); i++) {
        char path[256];

        snprintf(path, sizeof(path), ARMV8 "/events/%s", armv8_events[i][0]);
        tree_file(root, path, armv8_events[i][1]);
    }
    tree_file(root, ARMV8 "/type", "10\n");
    tree_file(root, ARMV8 "/format/event", "config:0-15\n");
    *state = (void *)(uintptr_t)root;
    return 0;
}

static int tear_down(void **state)
{
    tree_remove(*state);
    return 0;
}

static void test_every_document(void **state)
{
    for (const char *const *name = rps_plan_names(); *name; name++) {
        struct rps_plan *plan = load(*name);

        assert_string_equal(plan->name, *name);
        assert_string_not_equal(plan->title, plan->name);
        check_texts(*name, "plan", plan->explain);
        assert_true(plan->metric_count > 0);
        for (int n = 0; n < plan->set_count; n++) {
            check_texts(plan->set[n].name, "set", plan->set[n].explain);
            for (int slot = 0; slot < plan->set[n].event_count; slot++)
                check_event(&plan->set[n].event[slot], *state);
        }
        for (int i = 0; i < plan->metric_count; i++) {
            check_texts(plan->metric[i].name, plan->metric[i].label, plan->metric[i].explain);
            assert_string_not_equal(plan->metric[i].family, "");
        }
        rps_plan_free(plan);
    }
}

/* Every metric has a value if all events are counted. Every event is used by a metric, except the
 * task clock: CPU use is derived from `cpu_seconds`. */
static void test_formulas_are_closed(void **state)
{
    (void)state;
    for (const char *const *name = rps_plan_names(); *name; name++) {
        struct rps_plan *plan = load(*name);
        double operand[RPS_OPERAND_EVENTS + SET_MAX * RPS_SLOT_MAX];
        bool used[RPS_OPERAND_EVENTS + SET_MAX * RPS_SLOT_MAX] = {false};

        assert_true(rps_plan_operand_count(plan) <= (int)RPS_COUNT(operand));
        for (size_t i = 0; i < RPS_COUNT(operand); i++)
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
            if (rps_plan_operand_name(plan, i)[0] && !used[i] &&
                strcmp(rps_plan_operand_name(plan, i), "task_clock") != 0)
                fail_msg("%s: no metric uses %s", *name, rps_plan_operand_name(plan, i));
        }
        rps_plan_free(plan);
    }
}

/* Metrics of one panel share its axis, so they must have the same unit. */
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

/* --- 2013 ------------------------------------------------------------------------------------- */

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
    for (int i = 0; i < (int)RPS_COUNT(events_2013); i++) {
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

/* Two published reports of one workload (PJ Drongowski, sandsoftwaresound.net, June 2013). The raw
 * counts cover 169 periods: 43 periods of the first set, and 42 of each other set. */
static const struct report {
    double cycles;
    double raw[8];    /* raw counts in the order of events_2013 */
    double scaled[8]; /* scaled counts as printed */
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
    assert_int_equal(plan->metric_count, RPS_COUNT(labels));
    for (size_t r = 0; r < RPS_COUNT(reports_2013); r++) {
        const struct report *report = &reports_2013[r];
        double operand[RPS_OPERAND_EVENTS + 4 * RPS_SLOT_MAX] = {0};

        operand[RPS_OPERAND_CLOCK] = report->cycles;
        for (int i = 0; i < 8; i++) {
            double scaled = report->raw[i] * 169 / (i < 2 ? 43 : 42);

            assert_true(floor(scaled) == report->scaled[i]);
            operand[rps_plan_operand(plan, events_2013[i].name)] = scaled;
        }
        for (int m = 0; m < (int)RPS_COUNT(labels); m++) {
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

/* --- codes ------------------------------------------------------------------------------------ */

/* Numbers of events from the processors' manuals, with the names of the events in libpfm4 4.13, if
 * any. An event with several names in libpfm4 (generations of a processor) has one row per name. */
static const struct {
    const char *plan, *event;
    uint64_t code;
    const char *pfm;
} codes[] = {
    {"cortex-a7", "instructions", 0x08, "arm_ac7::INST_RETIRED"},
    {"cortex-a7", "ic_miss", 0x01, "arm_ac7::L1I_CACHE_REFILL"},
    {"cortex-a7", "dc_access", 0x04, "arm_ac7::L1D_CACHE_ACCESS"},
    {"cortex-a7", "dc_miss", 0x03, "arm_ac7::L1D_CACHE_REFILL"},
    {"cortex-a7", "dtlb_l1_miss", 0x05, "arm_ac7::L1D_TLB_REFILL"},
    {"cortex-a7", "itlb_l1_miss", 0x02, "arm_ac7::L1I_TLB_REFILL"},
    {"cortex-a7", "branches", 0x12, "arm_ac7::BRANCH_PRED"},
    {"cortex-a7", "branch_miss", 0x10, "arm_ac7::BRANCH_MISPRED"},
    {"cortex-a7", "l2_access", 0x16, "arm_ac7::L2D_CACHE_ACCESS"},
    {"cortex-a7", "l2_miss", 0x17, "arm_ac7::L2D_CACHE_REFILL"},
    {"cortex-a53", "instructions", 0x08, "arm_ac53::INST_RETIRED"},
    {"cortex-a53", "frontend_stall", 0xe1, ""},
    {"cortex-a53", "dc_access", 0x04, "arm_ac53::L1D_CACHE_ACCESS"},
    {"cortex-a53", "dc_miss", 0x03, "arm_ac53::L1D_CACHE_REFILL"},
    {"cortex-a53", "dtlb_l1_miss", 0x05, "arm_ac53::L1D_TLB_REFILL"},
    {"cortex-a53", "itlb_l1_miss", 0x02, "arm_ac53::L1I_TLB_REFILL"},
    {"cortex-a53", "branches", 0x12, "arm_ac53::BRANCH_PRED"},
    {"cortex-a53", "branch_miss", 0x10, "arm_ac53::BRANCH_MISPRED"},
    {"cortex-a53", "l2_access", 0x16, "arm_ac53::L2D_CACHE_ACCESS"},
    {"cortex-a53", "l2_miss", 0x17, "arm_ac53::L2D_CACHE_REFILL"},
    {"cortex-a72", "instructions", 0x08, ""},
    {"cortex-a72", "ic_miss", 0x01, ""},
    {"cortex-a72", "dc_access", 0x04, ""},
    {"cortex-a72", "dc_miss", 0x03, ""},
    {"cortex-a72", "dtlb_l1_miss", 0x05, ""},
    {"cortex-a72", "itlb_l1_miss", 0x02, ""},
    {"cortex-a72", "branches", 0x12, ""},
    {"cortex-a72", "branch_miss", 0x10, ""},
    {"cortex-a72", "l2_access", 0x16, ""},
    {"cortex-a72", "l2_miss", 0x17, ""},
    {"cortex-a76", "instructions", 0x08, ""},
    {"cortex-a76", "frontend_stall", 0x23, ""},
    {"cortex-a76", "dc_access", 0x04, ""},
    {"cortex-a76", "dc_miss", 0x03, ""},
    {"cortex-a76", "dtlb_l1_miss", 0x05, ""},
    {"cortex-a76", "dtlb_miss", 0x34, ""},
    {"cortex-a76", "branches", 0x21, ""},
    {"cortex-a76", "branch_miss", 0x22, ""},
    {"cortex-a76", "l2_access", 0x16, ""},
    {"cortex-a76", "l2_miss", 0x17, ""},
    {"cortex-a76", "llc_access", 0x36, ""},
    {"cortex-a76", "llc_miss", 0x37, ""},
    {"cortex-a76", "backend_stall", 0x24, ""},
    {"neoverse-n1", "instructions", 0x08, "arm_n1::INST_RETIRED"},
    {"neoverse-n1", "frontend_stall", 0x23, "arm_n1::STALL_FRONTEND"},
    {"neoverse-n1", "dc_access", 0x04, "arm_n1::L1D_CACHE"},
    {"neoverse-n1", "dc_miss", 0x03, "arm_n1::L1D_CACHE_REFILL"},
    {"neoverse-n1", "dtlb_l1_miss", 0x05, "arm_n1::L1D_TLB_REFILL"},
    {"neoverse-n1", "dtlb_miss", 0x34, "arm_n1::DTLB_WALK"},
    {"neoverse-n1", "branches", 0x21, "arm_n1::BR_RETIRED"},
    {"neoverse-n1", "branch_miss", 0x22, "arm_n1::BR_MIS_PRED_RETIRED"},
    {"neoverse-n1", "l2_access", 0x16, "arm_n1::L2D_CACHE_ACCESS"},
    {"neoverse-n1", "l2_miss", 0x17, "arm_n1::L2D_CACHE_REFILL"},
    {"neoverse-n1", "llc_access", 0x36, "arm_n1::LL_CACHE_RD"},
    {"neoverse-n1", "llc_miss", 0x37, "arm_n1::LL_CACHE_MISS_RD"},
    {"neoverse-n1", "backend_stall", 0x24, "arm_n1::STALL_BACKEND"},
    {"armv8", "instructions", 0x08, ""},
    {"armv8", "frontend_stall", 0x23, ""},
    {"armv8", "dc_access", 0x04, ""},
    {"armv8", "dc_miss", 0x03, ""},
    {"armv8", "dtlb_l1_miss", 0x05, ""},
    {"armv8", "dtlb_miss", 0x34, ""},
    {"armv8", "branches", 0x12, ""},
    {"armv8", "branch_miss", 0x10, ""},
    {"armv8", "l2_access", 0x16, ""},
    {"armv8", "l2_miss", 0x17, ""},
    {"armv8", "backend_stall", 0x24, ""},
    {"intel-skylake", "instructions", 0xc0, "skl::INST_RETIRED:ANY_P"},
    {"intel-icelake", "instructions", 0xc0, "icl::INST_RETIRED:ANY_P"},
    {"intel-goldencove", "instructions", 0xc0, "spr::INST_RETIRED:ANY_P"},
    {"intel-skylake", "frontend_stall", 0x400019c,
     "skl::IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE"},
    {"intel-icelake", "frontend_stall", 0x500019c,
     "icl::IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE"},
    {"intel-goldencove", "frontend_stall", 0x600019c,
     "spr::IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE"},
    {"intel-skylake", "dc_access", 0x81d0, "skl::MEM_INST_RETIRED:ALL_LOADS"},
    {"intel-icelake", "dc_access", 0x81d0, "icl::MEM_INST_RETIRED:ALL_LOADS"},
    {"intel-goldencove", "dc_access", 0x81d0, "spr::MEM_INST_RETIRED:ALL_LOADS"},
    {"intel-skylake", "dc_miss", 0x8d1, "skl::MEM_LOAD_RETIRED:L1_MISS"},
    {"intel-icelake", "dc_miss", 0x8d1, "icl::MEM_LOAD_RETIRED:L1_MISS"},
    {"intel-goldencove", "dc_miss", 0x8d1, "spr::MEM_LOAD_RETIRED:L1_MISS"},
    {"intel-skylake", "dtlb_miss", 0x11d0, "skl::MEM_INST_RETIRED:STLB_MISS_LOADS"},
    {"intel-icelake", "dtlb_miss", 0x11d0, "icl::MEM_INST_RETIRED:STLB_MISS_LOADS"},
    {"intel-goldencove", "dtlb_miss", 0x11d0, "spr::MEM_INST_RETIRED:STLB_MISS_LOADS"},
    {"intel-skylake", "dtlb_store_miss", 0x12d0, "skl::MEM_INST_RETIRED:STLB_MISS_STORES"},
    {"intel-icelake", "dtlb_store_miss", 0x12d0, "icl::MEM_INST_RETIRED:STLB_MISS_STORES"},
    {"intel-goldencove", "dtlb_store_miss", 0x12d0, "spr::MEM_INST_RETIRED:STLB_MISS_STORES"},
    {"intel-skylake", "branches", 0xc4, "skl::BR_INST_RETIRED:ALL_BRANCHES"},
    {"intel-icelake", "branches", 0xc4, "icl::BR_INST_RETIRED:ALL_BRANCHES"},
    {"intel-goldencove", "branches", 0xc4, "spr::BR_INST_RETIRED:ALL_BRANCHES"},
    {"intel-skylake", "branch_miss", 0xc5, "skl::BR_MISP_RETIRED:ALL_BRANCHES"},
    {"intel-icelake", "branch_miss", 0xc5, "icl::BR_MISP_RETIRED:ALL_BRANCHES"},
    {"intel-goldencove", "branch_miss", 0xc5, "spr::BR_MISP_RETIRED:ALL_BRANCHES"},
    {"intel-skylake", "l2_access", 0xe724, "skl::L2_RQSTS:ALL_DEMAND_REFERENCES"},
    {"intel-icelake", "l2_access", 0xe724, "icl::L2_RQSTS:ALL_DEMAND_REFERENCES"},
    {"intel-goldencove", "l2_access", 0xe724, "spr::L2_RQSTS:ALL_DEMAND_REFERENCES"},
    {"intel-skylake", "l2_miss", 0x2724, "skl::L2_RQSTS:ALL_DEMAND_MISS"},
    {"intel-icelake", "l2_miss", 0x2724, "icl::L2_RQSTS:ALL_DEMAND_MISS"},
    {"intel-goldencove", "l2_miss", 0x2724, "spr::L2_RQSTS:ALL_DEMAND_MISS"},
    {"intel-skylake", "llc_access", 0x4f2e, "skl::LONGEST_LAT_CACHE:REFERENCE"},
    {"intel-icelake", "llc_access", 0x4f2e, "icl::LONGEST_LAT_CACHE:REFERENCES"},
    {"intel-goldencove", "llc_access", 0x4f2e, "spr::LONGEST_LAT_CACHE:REFERENCE"},
    {"intel-skylake", "llc_miss", 0x412e, "skl::LONGEST_LAT_CACHE:MISS"},
    {"intel-icelake", "llc_miss", 0x412e, "icl::LONGEST_LAT_CACHE:MISS"},
    {"intel-goldencove", "llc_miss", 0x412e, "spr::LONGEST_LAT_CACHE:MISS"},
    {"intel-skylake", "backend_stall", 0x40004a3, "skl::CYCLE_ACTIVITY:STALLS_TOTAL"},
    {"intel-icelake", "backend_stall", 0x40004a3, "icl::CYCLE_ACTIVITY:STALLS_TOTAL"},
    {"intel-goldencove", "backend_stall", 0x40004a3, "spr::CYCLE_ACTIVITY:STALLS_TOTAL"},
    {"intel-skylake", "td_cycles", 0, ""},
    {"intel-skylake", "td_frontend", 0x19c, "skl::IDQ_UOPS_NOT_DELIVERED:CORE"},
    {"intel-skylake", "td_issued", 0x10e, "skl::UOPS_ISSUED:ANY"},
    {"intel-skylake", "td_retired", 0x2c2, "skl::UOPS_RETIRED:RETIRE_SLOTS"},
    {"intel-skylake", "td_recovery", 0x10d, "skl::INT_MISC:RECOVERY_CYCLES"},
    {"intel-skylake", "td_one_thread", 0x23c, "skl::CPU_CLK_UNHALTED:ONE_THREAD_ACTIVE"},
    {"intel-skylake", "td_ticks", 0x13c, "skl::CPU_CLK_UNHALTED:REF_XCLK"},
    {"intel-icelake", "td_slots", 0x1a4, "icl::TOPDOWN:SLOTS_P"},
    {"intel-icelake", "td_frontend", 0x19c, "icl::IDQ_UOPS_NOT_DELIVERED:CORE"},
    {"intel-icelake", "td_dropped", 0x100d, "icl::INT_MISC:UOP_DROPPING"},
    {"intel-icelake", "td_backend", 0x2a4, ""},
    {"intel-icelake", "td_retired", 0x2c2, "icl::UOPS_RETIRED:SLOTS"},
    {"intel-icelake", "td_clears", 0x104010d, "icl::INT_MISC:CLEARS_COUNT"},
    {"intel-goldencove", "td_slots", 0x1a4, "spr::TOPDOWN:SLOTS_P"},
    {"intel-goldencove", "td_frontend", 0x19c, "spr::IDQ_UOPS_NOT_DELIVERED:CORE"},
    {"intel-goldencove", "td_dropped", 0x10ad, "spr::INT_MISC:UOP_DROPPING"},
    {"intel-goldencove", "td_backend", 0x2a4, ""},
    {"intel-goldencove", "td_retired", 0x2c2, "spr::UOPS_RETIRED:SLOTS"},
    {"intel-lioncove", "instructions", 0xc0, ""},
    {"intel-lioncove", "frontend_stall", 0x800019c, ""},
    {"intel-lioncove", "dc_access", 0x81d0, ""},
    {"intel-lioncove", "dc_miss", 0x8d1, ""},
    {"intel-lioncove", "dtlb_miss", 0x11d0, ""},
    {"intel-lioncove", "dtlb_store_miss", 0x12d0, ""},
    {"intel-lioncove", "branches", 0xc4, ""},
    {"intel-lioncove", "branch_miss", 0xc5, ""},
    {"intel-lioncove", "l2_access", 0xe124, ""},
    {"intel-lioncove", "l2_miss", 0x2124, ""},
    {"intel-lioncove", "llc_access", 0x4f2e, ""},
    {"intel-lioncove", "llc_miss", 0x412e, ""},
    {"intel-lioncove", "backend_stall", 0x40004a3, ""},
    {"intel-lioncove", "td_slots", 0x1a4, ""},
    {"intel-lioncove", "td_frontend", 0x19c, ""},
    {"intel-lioncove", "td_backend", 0x2a4, ""},
    {"intel-lioncove", "td_retired", 0x2c2, ""},
    {"amd-zen4", "td_cycles", 0, ""},
    {"amd-zen4", "td_frontend", 0x1000001a0, "amd64_fam19h_zen4::DISPATCH_STALLS_1:FE_NO_OPS"},
    {"amd-zen4", "td_backend", 0x100001ea0, "amd64_fam19h_zen4::DISPATCH_STALLS_1:BE_STALLS"},
    {"amd-zen4", "td_smt", 0x1000060a0, "amd64_fam19h_zen4::DISPATCH_STALLS_1:SMT_CONTENTION"},
    {"amd-zen4", "td_issued", 0x7aa,
     "amd64_fam19h_zen4::OPS_SOURCE_DISPATCHED_FROM_DECODER:DECODER:OPCACHE:LOOP_BUFFER"},
    {"amd-zen4", "td_retired", 0xc1, "amd64_fam19h_zen4::RETIRED_OPS"},
    {"neoverse-v1", "td_cycles", 0, ""},
    {"neoverse-v1", "td_frontend", 0x3e, ""},
    {"neoverse-v1", "td_backend", 0x3d, ""},
    {"neoverse-v1", "td_issued", 0x3b, ""},
    {"neoverse-v1", "td_retired", 0x3a, ""},
    {"neoverse-v1", "td_mispredicts", 0x10, ""},
    {"amd-zen", "instructions", 0xc0, "amd64_fam17h_zen2::RETIRED_INSTRUCTIONS"},
    {"amd-zen", "instructions", 0xc0, "amd64_fam19h_zen3::RETIRED_INSTRUCTIONS"},
    {"amd-zen4", "instructions", 0xc0, "amd64_fam19h_zen4::RETIRED_INSTRUCTIONS"},
    {"amd-zen", "frontend_stall", 0xa9, "amd64_fam17h_zen2::UOPS_QUEUE_EMPTY"},
    {"amd-zen", "frontend_stall", 0xa9, "amd64_fam19h_zen3::UOPS_QUEUE_EMPTY"},
    {"amd-zen4", "frontend_stall", 0xa9, "amd64_fam19h_zen4::OPS_QUEUE_EMPTY"},
    {"amd-zen", "dc_access", 0x729,
     "amd64_fam17h_zen2::LS_DISPATCH:LD_DISPATCH:STORE_DISPATCH:LD_ST_DISPATCH"},
    {"amd-zen", "dc_access", 0x729,
     "amd64_fam19h_zen3::LS_DISPATCH:LD_DISPATCH:STORE_DISPATCH:LD_ST_DISPATCH"},
    {"amd-zen4", "dc_access", 0x729,
     "amd64_fam19h_zen4::LS_DISPATCH:LD_DISPATCH:STORE_DISPATCH:LD_ST_DISPATCH"},
    {"amd-zen", "dc_miss", 0x5f43,
     "amd64_fam19h_zen3::DEMAND_DATA_CACHE_FILLS_FROM_SYSTEM:LCL_L2:INT_CACHE:EXT_CACHE_LCL:MEM_IO_"
     "LCL:EXT_CACHE_RMT:MEM_IO_RMT"},
    {"amd-zen4", "dc_miss", 0x5f43,
     "amd64_fam19h_zen4::DEMAND_DATA_CACHE_FILLS_FROM_SYSTEM:LCL_L2:LOCAL_CCX:NEAR_CACHE_NEAR_FAR:"
     "DRAM_IO_NEAR:FAR_CACHE_NEAR_FAR:DRAM_IO_FAR"},
    {"amd-zen", "dtlb_l1_miss", 0xff45,
     "amd64_fam17h_zen2::L1_DTLB_MISS:TLB_RELOAD_1G_L2_MISS:TLB_RELOAD_2M_L2_MISS:TLB_RELOAD_"
     "COALESCED_PAGE_MISS:TLB_RELOAD_4K_L2_MISS:TLB_RELOAD_1G_L2_HIT:TLB_RELOAD_2M_L2_HIT:TLB_"
     "RELOAD_COALESCED_PAGE_HIT:TLB_RELOAD_4K_L2_HIT"},
    {"amd-zen", "dtlb_l1_miss", 0xff45,
     "amd64_fam19h_zen3::L1_DTLB_MISS:TLB_RELOAD_1G_L2_MISS:TLB_RELOAD_2M_L2_MISS:TLB_RELOAD_"
     "COALESCED_PAGE_MISS:TLB_RELOAD_4K_L2_MISS:TLB_RELOAD_1G_L2_HIT:TLB_RELOAD_2M_L2_HIT:TLB_"
     "RELOAD_COALESCED_PAGE_HIT:TLB_RELOAD_4K_L2_HIT"},
    {"amd-zen4", "dtlb_l1_miss", 0xff45,
     "amd64_fam19h_zen4::L1_DTLB_MISS:TLB_RELOAD_1G_L2_MISS:TLB_RELOAD_2M_L2_MISS:TLB_RELOAD_"
     "COALESCED_PAGE_MISS:TLB_RELOAD_4K_L2_MISS:TLB_RELOAD_1G_L2_HIT:TLB_RELOAD_2M_L2_HIT:TLB_"
     "RELOAD_COALESCED_PAGE_HIT:TLB_RELOAD_4K_L2_HIT"},
    {"amd-zen", "dtlb_miss", 0xf045,
     "amd64_fam17h_zen2::L1_DTLB_MISS:TLB_RELOAD_1G_L2_MISS:TLB_RELOAD_2M_L2_MISS:TLB_RELOAD_"
     "COALESCED_PAGE_MISS:TLB_RELOAD_4K_L2_MISS"},
    {"amd-zen", "dtlb_miss", 0xf045,
     "amd64_fam19h_zen3::L1_DTLB_MISS:TLB_RELOAD_1G_L2_MISS:TLB_RELOAD_2M_L2_MISS:TLB_RELOAD_"
     "COALESCED_PAGE_MISS:TLB_RELOAD_4K_L2_MISS"},
    {"amd-zen4", "dtlb_miss", 0xf045,
     "amd64_fam19h_zen4::L1_DTLB_MISS:TLB_RELOAD_1G_L2_MISS:TLB_RELOAD_2M_L2_MISS:TLB_RELOAD_"
     "COALESCED_PAGE_MISS:TLB_RELOAD_4K_L2_MISS"},
    {"amd-zen", "branches", 0xc2, "amd64_fam17h_zen2::RETIRED_BRANCH_INSTRUCTIONS"},
    {"amd-zen", "branches", 0xc2, "amd64_fam19h_zen3::RETIRED_BRANCH_INSTRUCTIONS"},
    {"amd-zen4", "branches", 0xc2, "amd64_fam19h_zen4::RETIRED_BRANCH_INSTRUCTIONS"},
    {"amd-zen", "branch_miss", 0xc3, "amd64_fam17h_zen2::RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED"},
    {"amd-zen", "branch_miss", 0xc3, "amd64_fam19h_zen3::RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED"},
    {"amd-zen4", "branch_miss", 0xc3,
     "amd64_fam19h_zen4::RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED"},
    {"amd-zen", "l2_access", 0xff64,
     "amd64_fam17h_zen2::CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C_S:LS_RD_BLK_L_HIT_"
     "X:LS_RD_BLK_L_HIT_S:LS_RD_BLK_X:LS_RD_BLK_C:IC_FILL_HIT_X:IC_FILL_HIT_S:IC_FILL_MISS"},
    {"amd-zen", "l2_access", 0xff64,
     "amd64_fam19h_zen3::CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C_S:LS_RD_BLK_L_HIT_"
     "X:LS_RD_BLK_L_HIT_S:LS_RD_BLK_X:LS_RD_BLK_C:IC_FILL_HIT_X:IC_FILL_HIT_S:IC_FILL_MISS"},
    {"amd-zen4", "l2_access", 0xff64,
     "amd64_fam19h_zen4::CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C_S:LS_RD_BLK_L_HIT_"
     "X:LS_RD_BLK_L_HIT_S:LS_RD_BLK_X:LS_RD_BLK_C:IC_FILL_HIT_X:IC_FILL_HIT_S:IC_FILL_MISS"},
    {"amd-zen", "l2_miss", 0x964,
     "amd64_fam17h_zen2::CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C:IC_FILL_MISS"},
    {"amd-zen", "l2_miss", 0x964,
     "amd64_fam19h_zen3::CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C:IC_FILL_MISS"},
    {"amd-zen4", "l2_miss", 0x964,
     "amd64_fam19h_zen4::CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C:IC_FILL_MISS"},
    {"amd-zen", "llc_access", 0x5e43,
     "amd64_fam19h_zen3::DEMAND_DATA_CACHE_FILLS_FROM_SYSTEM:INT_CACHE:EXT_CACHE_LCL:MEM_IO_LCL:"
     "EXT_CACHE_RMT:MEM_IO_RMT"},
    {"amd-zen4", "llc_access", 0x5e43,
     "amd64_fam19h_zen4::DEMAND_DATA_CACHE_FILLS_FROM_SYSTEM:LOCAL_CCX:NEAR_CACHE_NEAR_FAR:DRAM_IO_"
     "NEAR:FAR_CACHE_NEAR_FAR:DRAM_IO_FAR"},
    {"amd-zen", "llc_miss", 0x4843,
     "amd64_fam19h_zen3::DEMAND_DATA_CACHE_FILLS_FROM_SYSTEM:MEM_IO_LCL:MEM_IO_RMT"},
    {"amd-zen4", "llc_miss", 0x4843,
     "amd64_fam19h_zen4::DEMAND_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_NEAR:DRAM_IO_FAR"},
};

static void test_codes(void **state)
{
    struct rps_plan *plan = NULL;

    for (size_t i = 0; i < RPS_COUNT(codes); i++) {
        struct rps_event event;

        if (!plan || strcmp(plan->name, codes[i].plan) != 0) {
            rps_plan_free(plan);
            plan = load(codes[i].plan);
        }
        event = *find_event(plan, codes[i].event);
        assert_int_equal(rps_event_resolve(&event, *state, NULL), 0);
        if (event.config != codes[i].code || event.config1 != 0 || event.config2 != 0)
            fail_msg("%s, %s: 0x%llx", codes[i].plan, codes[i].event,
                     (unsigned long long)event.config);
    }
    rps_plan_free(plan);
}

/* Return true if libpfm4 has tables of this processor. libpfm4 has only the tables of the
 * architecture that it was built for. */
static bool is_in_tables(const char *pfm)
{
#ifndef RPS_HAVE_PFM
    (void)pfm;
    return false;
#elif defined(__x86_64__) || defined(__i386__)
    return strncmp(pfm, "arm_", 4) != 0;
#elif defined(__aarch64__)
    return strncmp(pfm, "arm_", 4) == 0 && strncmp(pfm, "arm_ac7:", 8) != 0;
#elif defined(__arm__)
    return strncmp(pfm, "arm_", 4) == 0;
#else
    (void)pfm;
    return false;
#endif
}

static void test_codes_are_libpfm4s(void **state)
{
    int checked = 0;

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(codes); i++) {
        struct rps_event event = {.name = "x"};
        struct rps_error err = {"libpfm4 does not know it"};

        if (codes[i].pfm[0] == '\0' || !is_in_tables(codes[i].pfm))
            continue;
        if (rps_pfm_find(&event, codes[i].pfm, &err) != 1)
            fail_msg("%s: %s", codes[i].pfm, err.message);
        if (event.type != RPS_EVENT_RAW || event.config != codes[i].code)
            fail_msg("%s is 0x%llx", codes[i].pfm, (unsigned long long)event.config);
        checked++;
    }
    if (checked == 0) {
        print_message("libpfm4 is not installed, or has no tables of this processor family\n");
        skip();
    }
}

/* libpfm4 resolves modifiers and unit masks, and rejects names that are no events of a processor.
 */
static void test_libpfm4(void **state)
{
    static const struct {
        const char *name;
        int result;
        uint64_t config;
        const char *modifiers, *part;
    } names[] = {
        {"skl::INST_RETIRED:ANY_P:u", 1, 0xc0, "u", ""},
        {"skl::INST_RETIRED:ANY_P:k", 1, 0xc0, "k", ""},
        {"skl::INST_RETIRED:ANY_P:u:k", 1, 0xc0, "", ""},
        {"SKL::inst_retired:any_p:c=1", 1, 0x10000c0, "", ""},
        {"skl::INST_RETIRED:FOO", RPS_USAGE, 0, "",
         "event skl::INST_RETIRED:FOO: invalid event attribute; write it as "
         "skl::INST_RETIRED:MASK with one of"},
        {"skl::OFFCORE_RESPONSE_0:FOO", RPS_USAGE, 0, "", " ..."},
        {"skl::INST_RETIRED:precise=1", RPS_USAGE, 0, "", "not sampled or pinned"},
        {"skl::FOO", 0, 0, "", ""},
        {"cycles", 0, 0, "", ""},
        {"perf::CYCLES", 0, 0, "", ""},
        {"perf::CYCLES:FOO", 0, 0, "", ""},
        {"r0b", 0, 0, "", ""},
        {"skl::INST_RETIRED,x", 0, 0, "", ""},
        {"", 0, 0, "", ""},
        {":", 0, 0, "", ""},
        {"::", 0, 0, "", ""},
    };

    (void)state;
    if (!is_in_tables("skl::")) {
        print_message("libpfm4 is not installed, or has no tables of this processor family\n");
        skip();
    }
    for (size_t i = 0; i < RPS_COUNT(names); i++) {
        struct rps_event event = {.name = "x"};
        struct rps_error err = {""};

        if (rps_pfm_find(&event, names[i].name, &err) != names[i].result)
            fail_msg("\"%s\": not %d (%s)", names[i].name, names[i].result, err.message);
        assert_int_equal(event.config, names[i].config);
        assert_string_equal(event.modifiers, names[i].modifiers);
        if (!strstr(err.message, names[i].part))
            fail_msg("\"%s\" does not say \"%s\"", err.message, names[i].part);
    }
}

/* libpfm4 is the last step of resolution. rpistat's modifiers work with its names. */
static void test_resolution_ends_with_libpfm4(void **state)
{
    struct rps_event event = {.spec = "skl::LONGEST_LAT_CACHE:MISS:u"};
    struct rps_error err = {""};

    if (!is_in_tables("skl::")) {
        print_message("libpfm4 is not installed, or has no tables of this processor family\n");
        skip();
    }
    assert_int_equal(rps_event_resolve(&event, *state, NULL), 0);
    assert_int_equal(event.state, RPS_EVENT_MEASURED);
    assert_int_equal(event.type, RPS_EVENT_RAW);
    assert_int_equal(event.config, 0x412e);
    assert_string_equal(event.modifiers, "u");
    snprintf(event.spec, sizeof(event.spec), "skl::L2_RQSTS:NONE");
    assert_int_equal(rps_event_resolve(&event, *state, &err), RPS_USAGE);
    assert_non_null(strstr(err.message, "event skl::L2_RQSTS:NONE: "));
}

/* Events of one role have the same family and unit on all processors. */
static void test_roles_are_comparable(void **state)
{
    struct rps_event first[32];
    int count = 0;

    (void)state;
    for (const char *const *name = rps_plan_names(); *name; name++) {
        struct rps_plan *plan = load(*name);

        for (int n = 0; n < plan->set_count; n++) {
            for (int slot = 0; slot < plan->set[n].event_count; slot++) {
                const struct rps_event *event = &plan->set[n].event[slot];
                int i = 0;

                if (event->role[0] == '\0')
                    continue;
                while (i < count && strcmp(first[i].role, event->role) != 0)
                    i++;
                if (i == count) {
                    assert_true(count < (int)RPS_COUNT(first));
                    first[count++] = *event;
                }
                assert_string_equal(first[i].family, event->family);
                assert_string_equal(first[i].unit, event->unit);
                assert_ptr_equal(rps_plan_role(plan, event->role, NULL, NULL), event);
            }
        }
        rps_plan_free(plan);
    }
    for (const char *const *role = rps_name_roles; *role; role++)
        count--;
    assert_int_equal(count, 0); /* the list has exactly the documents' roles */
}

/* Metrics of one name are equal on all processors. Only top-down metrics use different events
 * (test_topdown). */
static void test_metrics_are_comparable(void **state)
{
    struct rps_metric first[64];
    int count = 0;

    (void)state;
    for (const char *const *name = rps_plan_names(); *name; name++) {
        struct rps_plan *plan = load(*name);

        for (int m = 0; m < plan->metric_count; m++) {
            const struct rps_metric *metric = &plan->metric[m];
            int i = 0;

            while (i < count && strcmp(first[i].name, metric->name) != 0)
                i++;
            if (i == count) {
                assert_true(count < (int)RPS_COUNT(first));
                first[count++] = *metric;
            }
            if (strcmp(metric->family, "Top-down") != 0)
                assert_string_equal(first[i].formula_text, metric->formula_text);
            else
                assert_string_equal(first[i].label, metric->label);
            assert_string_equal(first[i].family, metric->family);
            assert_string_equal(first[i].unit, metric->unit);
        }
        rps_plan_free(plan);
    }
}

/* --- top-down --------------------------------------------------------------------------------- */

/* Counts, and shares computed by hand with the published formulas: Intel's metrics
 * (github.com/intel/perfmon), AMD's (Processor Programming Reference, pipeline utilization), Arm's
 * (telemetry solution). Each row has one million cycles. */
static const struct {
    const char *plan;
    struct {
        const char *event;
        double count;
    } counts[7];
    /* shares: retiring, bad speculation, frontend bound, backend bound, other thread */
    double shares[5];
} topdown[] = {
    /* CORE_CLKS = 1e6 / 2 * (1 + 0.8) = 0.9e6. SLOTS = 4 * CORE_CLKS = 3.6e6. Bad speculation:
     * (2.1e6 - 1.8e6 + 4 * 15e3) / SLOTS. Backend: 1 - 0.2 - (2.1e6 + 4 * 15e3) / SLOTS. */
    {"intel-skylake",
     {{"td_cycles", 1e6},
      {"td_frontend", 720e3},
      {"td_issued", 2100e3},
      {"td_retired", 1800e3},
      {"td_recovery", 15e3},
      {"td_one_thread", 80e3},
      {"td_ticks", 100e3}},
     {50, 10, 20, 20}},
    /* alone on the core: SLOTS = 4e6 */
    {"intel-skylake",
     {{"td_cycles", 1e6},
      {"td_frontend", 1200e3},
      {"td_issued", 1000e3},
      {"td_retired", 800e3},
      {"td_recovery", 50e3},
      {"td_one_thread", 100e3},
      {"td_ticks", 100e3}},
     {20, 10, 30, 40}},
    /* frontend (1.1e6 - 0.1e6) / SLOTS; backend (1.2e6 + 5 * 10e3) / SLOTS; bad speculation the
     * rest */
    {"intel-icelake",
     {{"td_slots", 5e6},
      {"td_frontend", 1100e3},
      {"td_dropped", 100e3},
      {"td_backend", 1200e3},
      {"td_retired", 2400e3},
      {"td_clears", 10e3}},
     {48, 7, 20, 25}},
    /* frontend: (0.96e6 - 0.06e6) / SLOTS */
    {"intel-goldencove",
     {{"td_slots", 6e6},
      {"td_frontend", 960e3},
      {"td_dropped", 60e3},
      {"td_backend", 1800e3},
      {"td_retired", 3000e3}},
     {50, 5, 15, 30}},
    {"intel-lioncove",
     {{"td_slots", 8e6}, {"td_frontend", 800e3}, {"td_backend", 2400e3}, {"td_retired", 4480e3}},
     {56, 4, 10, 30}},
    {"amd-zen4",
     {{"td_cycles", 1e6},
      {"td_frontend", 900e3},
      {"td_backend", 1500e3},
      {"td_smt", 600e3},
      {"td_issued", 3000e3},
      {"td_retired", 2700e3}},
     {45, 5, 15, 25, 10}},
    {"amd-zen5",
     {{"td_cycles", 1e6},
      {"td_frontend", 800e3},
      {"td_backend", 2400e3},
      {"td_smt", 400e3},
      {"td_issued", 4400e3},
      {"td_retired", 4000e3}},
     {50, 5, 10, 30, 5}},
    /* STALL_SLOT = 4e6 of 8e6, OP_RETIRED / OP_SPEC = 0.9. Retiring: 0.9 * 0.5; bad speculation:
     * 0.1 * 0.5 + 4 * 0.01; frontend: 0.2 - 4 * 0.01; backend: 0.3. */
    {"neoverse-v1",
     {{"td_cycles", 1e6},
      {"td_frontend", 1600e3},
      {"td_backend", 2400e3},
      {"td_issued", 4000e3},
      {"td_retired", 3600e3},
      {"td_mispredicts", 10e3}},
     {45, 9, 16, 30}},
    /* frontend: 0.2 - 0.01; backend: 0.3 - 3 * 0.01 */
    {"neoverse-v2",
     {{"td_cycles", 1e6},
      {"td_frontend", 1600e3},
      {"td_backend", 2400e3},
      {"td_issued", 4000e3},
      {"td_retired", 3600e3},
      {"td_mispredicts", 10e3}},
     {45, 9, 19, 27}},
    {"neoverse-n2-r0p3",
     {{"td_cycles", 1e6},
      {"td_frontend", 1000e3},
      {"td_backend", 1500e3},
      {"td_issued", 2500e3},
      {"td_retired", 2250e3},
      {"td_mispredicts", 10e3}},
     {45, 9, 19, 27}},
    /* frontend: STALL_SLOT_FRONTEND minus one slot per cycle */
    {"neoverse-n2",
     {{"td_cycles", 1e6},
      {"td_frontend", 2000e3},
      {"td_backend", 1500e3},
      {"td_issued", 2500e3},
      {"td_retired", 2250e3},
      {"td_mispredicts", 10e3}},
     {45, 9, 19, 27}},
};

static void test_topdown(void **state)
{
    static const char *const labels[] = {"Retiring", "Bad speculation", "Frontend bound",
                                         "Backend bound", "Other thread"};

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(topdown); i++) {
        struct rps_plan *plan = load(topdown[i].plan);
        double operand[RPS_OPERAND_EVENTS + SET_MAX * RPS_SLOT_MAX], sum = 0;

        for (size_t n = 0; n < RPS_COUNT(operand); n++)
            operand[n] = NAN; /* no other operand may be used, not even the clock's total */
        for (int n = 0; n < (int)RPS_COUNT(topdown[i].counts) && topdown[i].counts[n].event; n++)
            operand[rps_plan_operand(plan, topdown[i].counts[n].event)] =
                topdown[i].counts[n].count;
        for (size_t n = 0; n < RPS_COUNT(labels) && (n < 4 || topdown[i].shares[n] > 0); n++) {
            const struct rps_metric *metric = find_metric(plan, labels[n]);
            double share = rps_formula_value(&metric->formula, operand);

            assert_string_equal(metric->unit, "%");
            assert_string_equal(metric->family, "Top-down");
            assert_string_equal(metric->panel, "Pipeline slots (%)");
            if (!(fabs(share - topdown[i].shares[n]) < 1e-9))
                fail_msg("%s: %s is %g", topdown[i].plan, labels[n], share);
            sum += share;
        }
        assert_true(fabs(sum - 100) < 1e-9);
        rps_plan_free(plan);
    }
}

/* All top-down events are in one set, because shares of different time ranges would not add up to
 * 100 %. */
static void test_topdown_is_one_set(void **state)
{
    (void)state;
    for (const char *const *name = rps_plan_names(); *name; name++) {
        struct rps_plan *plan = load(*name);
        int set = -1;

        if (rps_plan_role(plan, "slots_retired", &set, NULL)) {
            assert_string_equal(plan->set[set].name, "topdown");
            for (int n = 0; n < plan->set_count; n++) {
                for (int slot = 0; slot < plan->set[n].event_count; slot++)
                    assert_int_equal(strcmp(plan->set[n].event[slot].family, "Top-down") == 0,
                                     n == set);
            }
        }
        rps_plan_free(plan);
    }
}

/* --- the others ------------------------------------------------------------------------------- */

static void test_generic_has_the_roles_of_2013(void **state)
{
    /* dTLB-loads are left out: they are misses of the first level only on AMD */
    static const char *const same[] = {
        "instructions", "frontend_stall", "l1d_access",   "l1d_miss", "",
        "dtlb_miss",    "branches",       "branch_misses"};
    struct rps_plan *arm = load("arm1176"), *generic = load("generic");

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(same); i++) {
        int arm_set = -1, generic_set = -2;

        if (same[i][0] == '\0')
            continue;
        assert_non_null(rps_plan_role(arm, same[i], &arm_set, NULL));
        assert_non_null(rps_plan_role(generic, same[i], &generic_set, NULL));
        assert_int_equal(arm_set, generic_set);
        assert_int_equal(arm_set, i / 2);
    }
    assert_string_equal(find_event(generic, "dc_miss")->spec, "L1-dcache-load-misses");
    assert_string_equal(find_event(generic, "dTLB-loads")->role, "");
    assert_null(rps_plan_role(generic, "dtlb_l1_miss", NULL, NULL));
    rps_plan_free(generic);
    rps_plan_free(arm);
}

static void test_software(void **state)
{
    struct rps_plan *plan = load("software");
    double operand[RPS_OPERAND_EVENTS + 3 * RPS_SLOT_MAX] = {0};
    const int metrics = plan->metric_count;

    (void)state;
    assert_string_equal(find_event(plan, "syscalls")->spec, "raw_syscalls:sys_enter");
    operand[RPS_OPERAND_SECONDS] = 2;
    operand[rps_plan_operand(plan, "block_io")] = 8;
    assert_true(rps_formula_value(&find_metric(plan, "Block I/O")->formula, operand) == 4);
    rps_plan_keep_default(plan);
    assert_int_equal(plan->set_count, 1);
    for (int i = 0; i < plan->set[0].event_count; i++) /* closing a tracepoint takes long */
        assert_null(strchr(plan->set[0].event[i].spec, ':'));
    assert_true(rps_plan_operand(plan, "syscalls") < 0 && rps_plan_operand(plan, "block_io") < 0);
    assert_int_equal(plan->metric_count, metrics - 2);
    assert_string_equal(find_event(plan, "task_clock")->unit, "ns");
    operand[RPS_OPERAND_CPU_SECONDS] = 3;
    operand[rps_plan_operand(plan, "minor_faults")] = 500;
    assert_true(rps_formula_value(&find_metric(plan, "CPU use")->formula, operand) == 150);
    assert_true(rps_formula_value(&find_metric(plan, "Minor faults")->formula, operand) == 250);
    rps_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_document, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_codes, set_up, tear_down),
        cmocka_unit_test(test_codes_are_libpfm4s),
        cmocka_unit_test(test_libpfm4),
        cmocka_unit_test_setup_teardown(test_resolution_ends_with_libpfm4, set_up, tear_down),
        cmocka_unit_test(test_roles_are_comparable),
        cmocka_unit_test(test_metrics_are_comparable),
        cmocka_unit_test(test_topdown),
        cmocka_unit_test(test_topdown_is_one_set),
        cmocka_unit_test(test_formulas_are_closed),
        cmocka_unit_test(test_panels),
        cmocka_unit_test(test_sets_of_2013),
        cmocka_unit_test(test_figures_of_2013),
        cmocka_unit_test(test_generic_has_the_roles_of_2013),
        cmocka_unit_test(test_software),
    };

    /* enables names of other processors in libpfm4 */
    setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
    return cmocka_run_group_tests_name("sets", tests, NULL, NULL);
}
