/* Tests of plans: operands, roles, recompiled formulas, and documents by name. */
#include "rpistat/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_event(struct rps_event_set *set, const char *name, const char *spec,
                      const char *role)
{
    struct rps_event *event = &set->event[set->event_count++];

    snprintf(event->name, sizeof(event->name), "%s", name);
    snprintf(event->spec, sizeof(event->spec), "%s", spec);
    snprintf(event->role, sizeof(event->role), "%s", role);
}

/* Make a plan with two sets: {a, b} and {c}. */
static struct rps_plan *small_plan(void)
{
    struct rps_plan *plan = rps_plan_new();
    struct rps_event_set *set;

    assert_non_null(plan);
    set = rps_plan_add_set(plan);
    assert_non_null(set);
    add_event(set, "a", "r0a", "branches");
    add_event(set, "b", "L1-dcache-loads", "");
    set = rps_plan_add_set(plan);
    assert_non_null(set);
    add_event(set, "c", "a", "l1d_miss"); /* the spec of c is the name of event a */
    return plan;
}

static void add_metric(struct rps_plan *plan, const char *formula)
{
    struct rps_metric *metric = rps_plan_add_metric(plan);

    assert_non_null(metric);
    snprintf(metric->name, sizeof(metric->name), "m");
    snprintf(metric->formula_text, sizeof(metric->formula_text), "%s", formula);
}

static void test_operands(void **state)
{
    struct rps_plan *plan = small_plan();

    (void)state;
    assert_int_equal(rps_plan_operand_count(plan), RPS_OPERAND_EVENTS + 2 * RPS_SLOT_MAX);
    assert_int_equal(rps_plan_operand(plan, "clock"), RPS_OPERAND_CLOCK);
    assert_int_equal(rps_plan_operand(plan, "seconds"), RPS_OPERAND_SECONDS);
    assert_int_equal(rps_plan_operand(plan, "cpu_seconds"), RPS_OPERAND_CPU_SECONDS);
    assert_int_equal(rps_plan_operand(plan, "a"), RPS_OPERAND_EVENTS);
    assert_int_equal(rps_plan_operand(plan, "b"), RPS_OPERAND_EVENTS + 1);
    assert_int_equal(rps_plan_operand(plan, "c"), RPS_OPERAND_EVENTS + RPS_SLOT_MAX);
    assert_int_equal(rps_plan_operand(plan, "L1-dcache-loads"), RPS_OPERAND_EVENTS + 1);
    assert_int_equal(rps_plan_operand(plan, "l1d_miss"), RPS_OPERAND_EVENTS + RPS_SLOT_MAX);
    assert_int_equal(rps_plan_operand(plan, "d"), -1);
    assert_int_equal(rps_plan_operand(plan, ""), -1);
    rps_plan_free(plan);
}

static void test_operand_names(void **state)
{
    struct rps_plan *plan = small_plan();

    (void)state;
    assert_string_equal(rps_plan_operand_name(plan, RPS_OPERAND_CPU_SECONDS), "cpu_seconds");
    assert_string_equal(rps_plan_operand_name(plan, RPS_OPERAND_EVENTS + RPS_SLOT_MAX), "c");
    assert_string_equal(rps_plan_operand_name(plan, RPS_OPERAND_EVENTS + 2), "");
    assert_string_equal(rps_plan_operand_name(plan, rps_plan_operand_count(plan)), "");
    assert_string_equal(rps_plan_operand_name(plan, -1), "");
    rps_plan_free(plan);
}

static void test_roles(void **state)
{
    struct rps_plan *plan = small_plan();
    int set = 99, slot = 99;

    (void)state;
    assert_ptr_equal(rps_plan_role(plan, "l1d_miss", &set, &slot), &plan->set[1].event[0]);
    assert_int_equal(set, 1);
    assert_int_equal(slot, 0);
    assert_non_null(rps_plan_role(plan, "branches", NULL, NULL));
    assert_null(rps_plan_role(plan, "cycles", &set, &slot));
    assert_null(rps_plan_role(plan, "", &set, &slot));
    assert_int_equal(set, 1);
    rps_plan_free(plan);
}

static void test_compile_again(void **state)
{
    struct rps_plan *plan = small_plan();
    double operand[RPS_OPERAND_EVENTS + 2 * RPS_SLOT_MAX] = {0};

    (void)state;
    add_metric(plan, "a / c");
    add_metric(plan, "1 + 0 * b");
    assert_int_equal(rps_plan_compile(plan, NULL), 0);
    operand[RPS_OPERAND_EVENTS] = 12;
    operand[RPS_OPERAND_EVENTS + RPS_SLOT_MAX] = 3;
    assert_true(rps_formula_value(&plan->metric[0].formula, operand) == 4);

    /* Move c into the first set in place of b, as merging of sets does. */
    plan->set[0].event[1] = plan->set[1].event[0];
    plan->set_count = 1;
    assert_int_equal(rps_plan_compile(plan, NULL), 0);
    operand[RPS_OPERAND_EVENTS + 1] = 2;
    assert_true(rps_formula_value(&plan->metric[0].formula, operand) == 6);
    assert_int_equal(plan->metric_count, 2);
    assert_true(isnan(rps_formula_value(&plan->metric[1].formula, operand)));
    rps_plan_free(plan);
}

static void test_compile_error(void **state)
{
    struct rps_plan *plan = small_plan();
    struct rps_error err = {""};

    (void)state;
    add_metric(plan, "a / / c");
    assert_int_equal(rps_plan_compile(plan, &err), RPS_USAGE);
    assert_int_equal(strncmp(err.message, "metric m: formula \"a / / c\"", 27), 0);
    rps_plan_free(plan);
    rps_plan_free(NULL);
}

static void test_unknown_names(void **state)
{
    static const char *const unknown[] = {"arm", "arm1176.in", "", "arm1176x"};
    struct rps_plan *plan = NULL;
    struct rps_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        assert_int_equal(rps_plan_load(unknown[i], &plan, &err), RPS_USAGE);
        assert_non_null(strstr(err.message, "choose from arm1176, cortex-a7, "));
    }
    assert_int_equal(rps_plan_load("arm1176.ini", &plan, &err), RPS_USAGE);
    assert_non_null(strstr(err.message, "cannot open the event sets arm1176.ini: No such file"));
    assert_int_equal(rps_plan_load("/", &plan, &err), RPS_USAGE);
    assert_non_null(strstr(err.message, "cannot read the event sets /: Is a directory"));
    assert_int_equal(rps_plan_load("/dev/zero", &plan, &err), RPS_USAGE);
    assert_non_null(strstr(err.message, "larger than 1 MiB"));
    assert_null(plan);
}

static void test_file(void **state)
{
    const char *folder = getenv("TMPDIR");
    char path[512];
    struct rps_plan *plan = NULL;
    struct rps_error err = {""};
    FILE *file;
    int fd;

    (void)state;
    snprintf(path, sizeof(path), "%s/rpistat-plan-XXXXXX", folder ? folder : "/tmp");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    file = fdopen(fd, "w");
    assert_non_null(file);
    fputs("[event a]\nevent = r1\n[set s]\nevents = a\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rps_plan_load(path, &plan, &err), 0);
    assert_string_equal(plan->set[0].event[0].spec, "r1");
    rps_plan_free(plan);
    plan = NULL;

    assert_int_equal(truncate(path, 5), 0);
    assert_int_equal(rps_plan_load(path, &plan, &err), RPS_USAGE);
    assert_int_equal(strncmp(err.message, path, strlen(path)), 0);
    assert_int_equal(strncmp(err.message + strlen(path), ":1: ", 4), 0);
    assert_null(plan);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operands),      cmocka_unit_test(test_operand_names),
        cmocka_unit_test(test_roles),         cmocka_unit_test(test_compile_again),
        cmocka_unit_test(test_compile_error), cmocka_unit_test(test_unknown_names),
        cmocka_unit_test(test_file),
    };

    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
