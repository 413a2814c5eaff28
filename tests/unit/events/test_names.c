/* Tests of generic names: names similar to a typed name, and units. */
#include "events/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static void test_generic_names(void **state)
{
    struct rps_suggestion suggestion = {.typed = "llc-load-misses"};

    (void)state;
    rps_name_suggest(&suggestion);
    assert_int_equal(suggestion.count, 1);
    assert_string_equal(suggestion.name[0], "LLC-load-misses");
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
        cmocka_unit_test(test_generic_names),
        cmocka_unit_test(test_units),
    };

    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
