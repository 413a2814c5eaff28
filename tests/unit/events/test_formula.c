/* Tests of formulas: the grammar, its limits, and missing values. */
#include "rpistat/formula.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {"a", "b", "c", "sched:sched_switch", "L1-dcache-loads", "none"};
static const double operands[] = {12, 4, 3, 100, 7, NAN};

static int look_up(void *context, const char *name)
{
    ++*(int *)context;
    for (int i = 0; i < (int)RPS_COUNT(names); i++) {
        if (strcmp(names[i], name) == 0)
            return i;
    }
    return -1;
}

static double value_of(const char *text)
{
    struct rps_formula formula;
    struct rps_error err = {""};
    int asked = 0;

    if (rps_formula_compile(text, look_up, &asked, &formula, &err) != 0)
        fail_msg("%s", err.message);
    return rps_formula_value(&formula, operands);
}

static void test_values(void **state)
{
    static const struct {
        const char *text;
        double value;
    } formulas[] = {
        {"1", 1},
        {".5", 0.5},
        {"1e3", 1000},
        {"2.5E-1", 0.25},
        {"a", 12},
        {" a\t+ b ", 16},
        {"a-b-c", 5},
        {"a/b/c", 1},
        {"a+b*c", 24},
        {"(a+b)*c", 48},
        {"a-(b-c)", 11},
        {"a/(b/c)", 9},
        {"-a", -12},
        {"--a", 12},
        {"-a*b", -48},
        {"a*-b", -48},
        {"a - -b", 16},
        {"-(a+b)/b", -4},
        {"sched:sched_switch/b", 25},
        {"'L1-dcache-loads'*2", 14},
        {"L1-dcache-loads*2", 14},
        {"a-L1-dcache-loads-b", 1},
        {"100 * a / b", 300},
        {"((((((((((((((((((((a))))))))))))))))))))", 12},
    };

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(formulas); i++) {
        if (value_of(formulas[i].text) != formulas[i].value)
            fail_msg("%s gives %g", formulas[i].text, value_of(formulas[i].text));
    }
}

static void test_missing_values(void **state)
{
    static const char *const missing[] = {
        "none",        "none + 1", "0 * none",        "a / 0",       "0 / 0",
        "a / (b - 4)", "a / -0",   "1 + a / (b - b)", "none / none", "a / (a / 0)"};

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(missing); i++) {
        if (!isnan(value_of(missing[i])))
            fail_msg("%s gives %g", missing[i], value_of(missing[i]));
    }
    assert_false(isnan(value_of("0 / a")));
}

static void test_postfix_order(void **state)
{
    static const enum rps_formula_op ops[] = {RPS_FORMULA_NUMBER, RPS_FORMULA_OPERAND,
                                              RPS_FORMULA_MULTIPLY, RPS_FORMULA_OPERAND,
                                              RPS_FORMULA_DIVIDE};
    struct rps_formula formula;
    int asked = 0;

    (void)state;
    assert_int_equal(rps_formula_compile("1000 * b / a", look_up, &asked, &formula, NULL), 0);
    assert_int_equal(asked, 2);
    assert_int_equal(formula.step_count, RPS_COUNT(ops));
    for (size_t i = 0; i < RPS_COUNT(ops); i++)
        assert_int_equal(formula.step[i].op, ops[i]);
    assert_true(formula.step[0].number == 1000);
    assert_int_equal(formula.step[1].operand, 1);
    assert_int_equal(formula.step[3].operand, 0);
}

static void test_errors(void **state)
{
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"", "formula \"\", column 1: it ends where"},
        {"a +", "column 4: it ends where"},
        {"a b", "column 3: an operator"},
        {"2a", "column 2: an operator"},
        {"a)", "column 2: an operator"},
        {"(a", "column 1: the parenthesis is not closed"},
        {"a * (b + (c)", "column 5: the parenthesis is not closed"},
        {"()", "column 2: a number, a name or ("},
        {"* a", "column 1: a number, a name or ("},
        {"a ** b", "column 4: a number"},
        {"+a", "column 1: a number"},
        {"a + x1", "column 5: nothing named \"x1\" is counted"},
        {"'a", "column 1: the quote is not closed"},
        {"''", "nothing named \""},
        {"1.2.3", "column 1: not a number"},
        {"1e", "column 1: not a number"},
        {".", "column 1: not a number"},
        {"1e999", "column 1: not a number"},
        {"1,5", "column 2: an operator"},
        {"a % b", "column 3: an operator"},
        {"page-faults/a", "column 1: nothing named \"page-faults\" is counted"},
        {"x-2", "column 1: nothing named \"x\" is counted"},
    };
    struct rps_formula formula = {.step_count = 99};
    struct rps_error err;
    int asked = 0;

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(bad); i++) {
        err.message[0] = '\0';
        if (rps_formula_compile(bad[i].text, look_up, &asked, &formula, &err) != RPS_USAGE)
            fail_msg("\"%s\" was taken for a formula", bad[i].text);
        if (!strstr(err.message, bad[i].part))
            fail_msg("\"%s\" does not say \"%s\"", err.message, bad[i].part);
        assert_int_equal(formula.step_count, 99);
    }
}

/* Append text to formula count times. */
static void repeat(char *formula, size_t size, const char *text, int count)
{
    for (int i = 0; i < count; i++) {
        size_t length = strlen(formula);

        assert_true(length + strlen(text) < size);
        snprintf(formula + length, size - length, "%s", text);
    }
}

static int compile_repeated(const char *before, int count_before, const char *middle,
                            const char *after, int count_after, struct rps_error *err)
{
    static char text[50000];
    struct rps_formula formula;
    int asked = 0;

    text[0] = '\0';
    repeat(text, sizeof(text), before, count_before);
    repeat(text, sizeof(text), middle, 1);
    repeat(text, sizeof(text), after, count_after);
    return rps_formula_compile(text, look_up, &asked, &formula, err);
}

static void test_limits(void **state)
{
    struct rps_error err;

    (void)state;
    /* seven open sums and one operand need eight stack places */
    assert_int_equal(compile_repeated("a+(", 7, "b", ")", 7, &err), 0);
    assert_int_equal(compile_repeated("a+(", 8, "b", ")", 8, &err), RPS_USAGE);
    assert_non_null(strstr(err.message, "more than 8 operands"));
    /* one operand and n sums of two steps each */
    assert_int_equal(compile_repeated("", 0, "a", "+b", 31, &err), 0);
    assert_int_equal(compile_repeated("", 0, "a", "+b", 32, &err), RPS_USAGE);
    assert_non_null(strstr(err.message, "at most 64"));
    assert_int_equal(compile_repeated("(", 32, "a", ")", 32, &err), 0);
    assert_int_equal(compile_repeated("(", 33, "a", ")", 33, &err), RPS_USAGE);
    assert_int_equal(compile_repeated("(", 20000, "a", ")", 20000, &err), RPS_USAGE);
    assert_int_equal(compile_repeated("-", 20000, "a", "", 0, &err), RPS_USAGE);
    assert_int_equal(compile_repeated("a", 300, "", "", 0, &err), RPS_USAGE);
    assert_int_equal(compile_repeated("1", 300, "", "", 0, &err), RPS_USAGE);
}

/* The derivative is correct where the operand is 0. The operands are not changed. */
static void test_derivative(void **state)
{
    struct rps_formula formula;
    double value[] = {6, 3};
    struct rps_error err;
    int asked = 0;

    (void)state;
    assert_int_equal(rps_formula_compile("a / b", look_up, &asked, &formula, &err), 0);
    assert_true(fabs(rps_formula_derivative(&formula, value, 0) - 1. / 3) < 1e-7);
    assert_true(fabs(rps_formula_derivative(&formula, value, 1) + 2. / 3) < 1e-7);
    assert_true(value[0] == 6 && value[1] == 3);
    value[0] = 0;
    assert_true(fabs(rps_formula_derivative(&formula, value, 0) - 1. / 3) < 1e-7);
    value[1] = NAN;
    assert_true(isnan(rps_formula_derivative(&formula, value, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),        cmocka_unit_test(test_missing_values),
        cmocka_unit_test(test_postfix_order), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_limits),        cmocka_unit_test(test_derivative),
    };

    return cmocka_run_group_tests_name("formula", tests, NULL, NULL);
}
