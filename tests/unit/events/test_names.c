/* Names much like one that was typed, and modifiers. */
#include "events/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *typed, *name;
    int near;
} pairs[] = {
    {"cycles", "cycles", 1},
    {"Cycles", "cycles", 1},
    {"cycle", "cycles", 1},
    {"cycless", "cycles", 1},
    {"cyclse", "cycles", 1}, /* two letters swapped are one mistake */
    {"cyxles", "cycles", 1},
    {"cyxlse", "cycles", 0},
    {"cs", "cy", 1},
    {"cs", "xy", 0},
    {"", "c", 0},
    {"x", "xyz", 0},
    {"instructions", "inxtructiuns", 1},
    {"instructions", "inxtructiunx", 0},
    {"instructions", "instructionsxx", 1},
    {"instructions", "instructionsxxx", 0},
};

static void test_pairs(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        struct rps_near near = {.typed = pairs[i].typed};

        rps_near_consider(&near, pairs[i].name);
        if (near.count != pairs[i].near)
            fail_msg("%s and %s: %d", pairs[i].typed, pairs[i].name, near.count);
    }
}

static void test_best_first(void **state)
{
    struct rps_near near = {.typed = "l1d_mist"};
    char text[256];

    (void)state;
    assert_string_equal(rps_near_question(&near, text, sizeof(text)), "");
    rps_near_consider(&near, "l1d_miss");
    assert_string_equal(rps_near_question(&near, text, sizeof(text)), "did you mean l1d_miss? ");
    rps_near_consider(&near, "l1d_miss");
    rps_near_consider(&near, "l1d_fist");
    rps_near_consider(&near, "l1d_list");
    assert_string_equal(rps_near_question(&near, text, sizeof(text)),
                        "did you mean l1d_miss, l1d_fist or l1d_list? ");
    rps_near_consider(&near, "l1d_gist"); /* as near, and one too many */
    assert_int_equal(near.count, RPS_NEAR_MAX);
    rps_near_consider(&near, "l1d_mist");
    assert_string_equal(rps_near_question(&near, text, sizeof(text)), "did you mean l1d_mist? ");
    rps_near_consider(&near, "l1d_miss");
    assert_int_equal(near.count, 1);
    assert_string_equal(rps_near_question(&near, text, 10), "did you m");
}

/* Texts of any length are compared without harm. */
static void test_long_names(void **state)
{
    char longest[RPS_NAME_SIZE], longer[300];
    struct rps_near near = {.typed = longest};

    (void)state;
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    memset(longer, 'x', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    rps_near_consider(&near, longer);
    assert_int_equal(near.count, 0);
    rps_near_consider(&near, longest);
    assert_int_equal(near.count, 1);
    near = (struct rps_near){.typed = longer};
    rps_near_consider(&near, longest);
    assert_int_equal(near.count, 0);
}

static void test_generic_names(void **state)
{
    struct rps_near near = {.typed = "llc-load-misses"};

    (void)state;
    rps_near_consider_generic(&near);
    assert_int_equal(near.count, 1);
    assert_string_equal(near.name[0], "LLC-load-misses");
}

static void test_units(void **state)
{
    (void)state;
    assert_string_equal(rps_name_unit("cycles"), "cycles");
    assert_string_equal(rps_name_unit("task-clock"), "ns");
    assert_string_equal(rps_name_unit("branches"), "events");
    assert_string_equal(rps_name_unit("r0b"), "events");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),      cmocka_unit_test(test_best_first),
        cmocka_unit_test(test_long_names), cmocka_unit_test(test_generic_names),
        cmocka_unit_test(test_units),
    };

    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
