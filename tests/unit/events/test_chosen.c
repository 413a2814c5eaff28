/* Tests of events and formulas of the command line. */
#include "rpistat/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static struct rps_plan *choose(const char *first, const char *second)
{
    const char *const group[] = {first, second};
    struct rps_plan *plan = NULL;
    struct rps_error err = {""};

    if (rps_plan_from_events(group, second ? 2 : 1, &plan, &err) != 0)
        fail_msg("%s", err.message);
    return plan;
}

/* --- -e --------------------------------------------------------------------------------------- */

/* One event each: the typed text, its ID, the counted event, its unit. */
static const struct {
    const char *text, *name, *spec, *unit;
} events[] = {
    {"instructions", "instructions", "instructions", "events"},
    {"cycles:u", "cycles:u", "cycles:u", "cycles"},
    {"L1-dcache-load-misses", "L1_dcache_load_misses", "L1-dcache-load-misses", "events"},
    {"task-clock", "task_clock", "task-clock", "ns"},
    {"l1d_miss", "l1d_miss", "l1d_miss", "events"},
    {"r0b", "r0b", "r0b", "events"},
    {"msr/tsc/", "msr_tsc", "msr/tsc/", "events"},
    {"cpu/event=0x3c,umask=0x1/u", "cpu_event_0x3c_umask_0x1_u", "cpu/event=0x3c,umask=0x1/u",
     "events"},
    {"sched:sched_switch", "sched:sched_switch", "sched:sched_switch", "events"},
    {"skl::INST_RETIRED:ANY_P", "skl::INST_RETIRED:ANY_P", "skl::INST_RETIRED:ANY_P", "events"},
    {"armv8_*/l1d_cache/", "armv8_l1d_cache", "armv8_*/l1d_cache/", "events"},
    {"  r0b\t", "r0b", "r0b", "events"},
    {"4x", "_4x", "4x", "events"},
    {"-", "_", "-", "events"},
    {"\xc3\xa4", "_", "\xc3\xa4", "events"},
    {"clock", "clock_2", "clock", "events"}, /* the name clock is reserved in formulas */
    {"seconds", "seconds_2", "seconds", "events"},
    {"cpu/a", "cpu_a", "cpu/a", "events"}, /* no valid event, which resolution reports */
};

static void test_events(void **state)
{
    (void)state;
    for (size_t i = 0; i < RPS_COUNT(events); i++) {
        struct rps_plan *plan = choose(events[i].text, NULL);
        const struct rps_event *event = &plan->set[0].event[0];

        assert_int_equal(plan->set_count, 1);
        assert_int_equal(plan->set[0].event_count, 1);
        assert_string_equal(event->name, events[i].name);
        assert_string_equal(event->spec, events[i].spec);
        assert_string_equal(event->label, events[i].spec);
        assert_string_equal(event->unit, events[i].unit);
        assert_string_equal(event->role, "");
        assert_string_equal(event->where, "");
        rps_plan_free(plan);
    }
}

/* Sets: the typed text, and the specs of each set, separated by blanks. */
static const struct {
    const char *first, *second, *sets[2];
} groups[] = {
    {"a,b", "c,d", {"a b", "c d"}},
    {"a", "b", {"a", "b"}},
    {"cpu/event=1,umask=2/,b", NULL, {"cpu/event=1,umask=2/ b"}},
    {"b,cpu/event=1,umask=2/uk,c:u", NULL, {"b cpu/event=1,umask=2/uk c:u"}},
    {"x/1,2/,y/3,4/", "z/5,6/", {"x/1,2/ y/3,4/", "z/5,6/"}},
    {"a,b,c,d,e,f,g,h", NULL, {"a b c d e f g h"}},
    {" a , b ", NULL, {"a b"}},
};

static void test_groups(void **state)
{
    (void)state;
    for (size_t i = 0; i < RPS_COUNT(groups); i++) {
        struct rps_plan *plan = choose(groups[i].first, groups[i].second);

        assert_int_equal(plan->set_count, groups[i].second ? 2 : 1);
        for (int n = 0; n < plan->set_count; n++) {
            char specs[512] = "";

            for (int slot = 0; slot < plan->set[n].event_count; slot++) {
                strcat(specs, slot ? " " : "");
                strcat(specs, plan->set[n].event[slot].spec);
            }
            assert_string_equal(specs, groups[i].sets[n]);
        }
        rps_plan_free(plan);
    }
}

/* IDs are unique, and a formula finds the first event with a typed name. No set contains an event
 * twice. */
static void test_unique(void **state)
{
    struct rps_plan *plan = choose("a-b,a_b,a-b", "a-b,a_b_2");

    (void)state;
    assert_string_equal(plan->set[0].event[0].name, "a_b");
    assert_string_equal(plan->set[0].event[1].name, "a_b_2");
    assert_int_equal(plan->set[0].event_count, 2);
    assert_string_equal(plan->set[1].event[0].name, "a_b_3");
    assert_string_equal(plan->set[1].event[1].name, "a_b_2_2");
    assert_int_equal(rps_plan_operand(plan, "a-b"), RPS_OPERAND_EVENTS);
    assert_int_equal(rps_plan_operand(plan, "a_b_3"), RPS_OPERAND_EVENTS + RPS_SLOT_MAX);
    rps_plan_free(plan);
}

/* IDs of long specs are cut, and remain unique. */
static void test_long_events(void **state)
{
    char text[400];
    struct rps_plan *plan;

    (void)state;
    memset(text, 'x', 301);
    text[150] = ',';
    text[300] = 'y';
    text[301] = '\0';
    plan = choose(text, NULL);
    assert_int_equal(strlen(plan->set[0].event[0].name), RPS_NAME_SIZE - 1);
    assert_int_equal(strlen(plan->set[0].event[1].name), 52);
    assert_int_equal(strlen(plan->set[0].event[1].spec), 150);
    assert_int_equal(strlen(plan->set[0].event[1].label), RPS_NAME_SIZE - 1);
    rps_plan_free(plan);
}

/* Too many events for one set are divided into several sets of similar size. */
static void test_large_groups(void **state)
{
    static const char *const group[] = {"a,b,c,d,e,f,g,h", "1,2,3,4,5,cpu/event=1,umask=2/,7,8,9",
                                        "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19"};
    static const int sizes[] = {8, 5, 4, 7, 6, 6};
    struct rps_plan *plan;
    struct rps_error err;

    (void)state;
    assert_int_equal(rps_plan_from_events(group, 3, &plan, &err), 0);
    assert_int_equal(plan->set_count, RPS_COUNT(sizes));
    for (int n = 0; n < plan->set_count; n++)
        assert_int_equal(plan->set[n].event_count, sizes[n]);
    assert_string_equal(plan->set[1].event[4].label, "5");
    assert_string_equal(plan->set[2].event[0].label, "cpu/event=1,umask=2/");
    assert_string_equal(plan->set[2].event[3].label, "9");
    assert_string_equal(plan->set[2].name, "set3");
    assert_string_equal(plan->set[5].event[5].label, "19");
    rps_plan_free(plan);
}

static const struct {
    const char *text, *part;
} wrong_events[] = {
    {"", "\"\" has no event"}, {"a,", "\"a,\" has no event before or after a comma"},
    {",a", "has no event"},    {"a,,b", "has no event"},
    {"a, ,b", "has no event"}, {"a,b,c,d,e,f,g,h,i,", "has no event"},
};

static void test_wrong_events(void **state)
{
    char text[300];
    struct rps_plan *plan = NULL;
    struct rps_error err = {""};
    const char *const long_group[] = {text};

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(wrong_events); i++) {
        const char *const group[] = {"a", wrong_events[i].text};

        if (rps_plan_from_events(group, 2, &plan, &err) != RPS_USAGE)
            fail_msg("\"%s\" was taken", wrong_events[i].text);
        assert_null(plan);
        if (!strstr(err.message, wrong_events[i].part))
            fail_msg("\"%s\" does not say \"%s\"", err.message, wrong_events[i].part);
    }
    memset(text, 'y', sizeof(text));
    text[RPS_SPEC_SIZE] = '\0';
    assert_int_equal(rps_plan_from_events(long_group, 1, &plan, &err), RPS_USAGE);
    assert_non_null(strstr(err.message, "is longer than 191 characters"));
    assert_null(plan);
}

/* --- --metric --------------------------------------------------------------------------------- */

static void test_formulas(void **state)
{
    struct rps_plan *plan = choose("instructions,L1-dcache-loads", "cycles:u");
    double operand[RPS_OPERAND_EVENTS + 2 * RPS_SLOT_MAX] = {0};

    (void)state;
    operand[RPS_OPERAND_CLOCK] = 10;
    operand[RPS_OPERAND_SECONDS] = 2;
    operand[RPS_OPERAND_EVENTS] = 30;
    operand[RPS_OPERAND_EVENTS + 1] = 6;
    operand[RPS_OPERAND_EVENTS + RPS_SLOT_MAX] = 5;
    assert_int_equal(rps_plan_add_formula(plan, "ipc=instructions/clock", NULL), 0);
    assert_int_equal(rps_plan_add_formula(plan, " b = 'L1-dcache-loads' / seconds ", NULL), 0);
    assert_int_equal(rps_plan_add_formula(plan, "c=L1_dcache_loads*cycles:u", NULL), 0);
    assert_int_equal(rps_plan_add_formula(plan, " L1-dcache-loads/seconds ", NULL), 0);
    assert_int_equal(plan->metric_count, 4);
    assert_string_equal(plan->metric[3].name, "L1_dcache_loads_seconds");
    assert_string_equal(plan->metric[3].label, "L1-dcache-loads/seconds");
    assert_string_equal(plan->metric[3].panel, "L1-dcache-loads/seconds");
    assert_true(rps_formula_value(&plan->metric[3].formula, operand) == 3);
    assert_int_equal(rps_plan_compile(plan, NULL), 0); /* as after reading from a store */
    assert_true(rps_formula_value(&plan->metric[3].formula, operand) == 3);
    assert_string_equal(plan->metric[0].name, "ipc");
    assert_string_equal(plan->metric[0].label, "ipc");
    assert_string_equal(plan->metric[0].panel, "ipc");
    assert_string_equal(plan->metric[1].name, "b");
    assert_string_equal(plan->metric[1].formula_text, "'L1-dcache-loads' / seconds");
    assert_true(rps_formula_value(&plan->metric[0].formula, operand) == 3);
    assert_true(rps_formula_value(&plan->metric[1].formula, operand) == 3);
    assert_true(rps_formula_value(&plan->metric[2].formula, operand) == 30);
    rps_plan_free(plan);
}

static const struct {
    const char *text, *part;
} wrong_formulas[] = {
    {"", "metric \"\" is not complete; write NAME=FORMULA"},
    {"a", "write NAME=FORMULA"},
    {"=a", "write NAME=FORMULA"},
    {"a-b=a", "metric \"a-b=a\" is not complete; write NAME=FORMULA with a NAME of letters"},
    {"1a=a", "write NAME=FORMULA"},
    {"m=", "metric m: formula \"\", column 1"},
    {"m=a/", "metric m: formula \"a/\", column 3"},
    {"m=a/b", "metric m: formula \"a/b\", column 3: nothing named \"b\" is counted; choose from "
              "clock, seconds, cpu_seconds, a"},
    {"page-faults/seconds",
     "metric page-faults/seconds: formula \"page-faults/seconds\", column 1: "
     "nothing named \"page-faults\" is counted; choose from clock"},
    {"a/", "metric a/: formula \"a/\", column 3"},
    {"m==a", "metric m: formula \"=a\", column 1"},
    {"there=a", "there is already a metric named there"},
};

static void test_wrong_formulas(void **state)
{
    struct rps_plan *plan = choose("a", NULL);
    struct rps_error err = {""};
    char text[1000];

    (void)state;
    assert_int_equal(rps_plan_add_formula(plan, "there=1", NULL), 0);
    for (size_t i = 0; i < RPS_COUNT(wrong_formulas); i++) {
        if (rps_plan_add_formula(plan, wrong_formulas[i].text, &err) != RPS_USAGE)
            fail_msg("\"%s\" was taken", wrong_formulas[i].text);
        if (!strstr(err.message, wrong_formulas[i].part))
            fail_msg("\"%s\" does not say \"%s\"", err.message, wrong_formulas[i].part);
    }
    memset(text, '1', sizeof(text));
    memcpy(text, "m=", 2);
    text[600] = '\0';
    assert_int_equal(rps_plan_add_formula(plan, text, &err), RPS_USAGE);
    assert_non_null(strstr(err.message, "its formula is longer than 511 characters"));
    memset(text, 'm', 64);
    text[64] = '=';
    assert_int_equal(rps_plan_add_formula(plan, text, &err), RPS_USAGE);
    assert_int_equal(plan->metric_count, 1);
    rps_plan_free(plan);
}

/* --- rates ------------------------------------------------------------------------------------ */

static void test_rates(void **state)
{
    struct rps_plan *plan = choose("a,b-c,task-clock", "d,b_c_rate");
    double operand[RPS_OPERAND_EVENTS + 2 * RPS_SLOT_MAX] = {0};

    (void)state;
    operand[RPS_OPERAND_SECONDS] = 4;
    operand[RPS_OPERAND_EVENTS + 1] = 20;
    operand[RPS_OPERAND_EVENTS + 2] = 1e9;
    assert_int_equal(rps_plan_add_formula(plan, "m=a/d", NULL), 0);
    assert_int_equal(rps_plan_add_formula(plan, "b_c_rate=1", NULL), 0);
    assert_int_equal(rps_plan_add_rates(plan, NULL), 0);
    assert_int_equal(plan->metric_count, 5);
    assert_string_equal(plan->metric[2].name, "b_c_rate_2");
    assert_string_equal(plan->metric[2].label, "b-c");
    assert_string_equal(plan->metric[2].unit, "/s");
    assert_string_equal(plan->metric[2].panel, "b-c per second");
    assert_true(rps_formula_value(&plan->metric[2].formula, operand) == 5);
    assert_string_equal(plan->metric[3].label, "task-clock");
    assert_string_equal(plan->metric[3].unit, "%");
    assert_true(rps_formula_value(&plan->metric[3].formula, operand) == 25);
    assert_string_equal(plan->metric[4].name, "b_c_rate_rate");
    assert_int_equal(rps_plan_compile(plan, NULL), 0);
    assert_true(rps_formula_value(&plan->metric[2].formula, operand) == 5);
    assert_int_equal(rps_plan_add_rates(plan, NULL), 0);
    assert_int_equal(plan->metric_count, 5);
    rps_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),       cmocka_unit_test(test_groups),
        cmocka_unit_test(test_unique),       cmocka_unit_test(test_long_events),
        cmocka_unit_test(test_large_groups), cmocka_unit_test(test_wrong_events),
        cmocka_unit_test(test_formulas),     cmocka_unit_test(test_wrong_formulas),
        cmocka_unit_test(test_rates),
    };

    return cmocka_run_group_tests_name("chosen", tests, NULL, NULL);
}
