/* Tests of suggestions for mistyped names. */
#include "rpistat/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static const struct {
    const char *typed, *name;
    int suggestion;
} pairs[] = {
    {"cycles", "cycles", 1},
    {"Cycles", "cycles", 1},
    {"cycle", "cycles", 1},
    {"cycless", "cycles", 1},
    {"cyclse", "cycles", 1}, /* two swapped letters count as one mistake */
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
    for (size_t i = 0; i < RPS_COUNT(pairs); i++) {
        struct rps_suggestion suggestion = {.typed = pairs[i].typed};

        rps_suggestion_consider(&suggestion, pairs[i].name);
        if (suggestion.count != pairs[i].suggestion)
            fail_msg("%s and %s: %d", pairs[i].typed, pairs[i].name, suggestion.count);
    }
}

static void test_best_first(void **state)
{
    struct rps_suggestion suggestion = {.typed = "l1d_mist"};
    char text[256];

    (void)state;
    assert_string_equal(rps_suggestion_question(&suggestion, text, sizeof(text)), "");
    rps_suggestion_consider(&suggestion, "l1d_miss");
    assert_string_equal(rps_suggestion_question(&suggestion, text, sizeof(text)),
                        "did you mean l1d_miss? ");
    rps_suggestion_consider(&suggestion, "l1d_miss");
    rps_suggestion_consider(&suggestion, "l1d_fist");
    rps_suggestion_consider(&suggestion, "l1d_list");
    assert_string_equal(rps_suggestion_question(&suggestion, text, sizeof(text)),
                        "did you mean l1d_miss, l1d_fist or l1d_list? ");
    rps_suggestion_consider(&suggestion, "l1d_gist"); /* an equally good name that exceeds the
                                                         limit */
    assert_int_equal(suggestion.count, RPS_SUGGESTIONS_MAX);
    rps_suggestion_consider(&suggestion, "l1d_mist");
    assert_string_equal(rps_suggestion_question(&suggestion, text, sizeof(text)),
                        "did you mean l1d_mist? ");
    rps_suggestion_consider(&suggestion, "l1d_miss");
    assert_int_equal(suggestion.count, 1);
    assert_string_equal(rps_suggestion_question(&suggestion, text, 10), "did you m");
}

/* Names of any length are compared safely. */
static void test_long_names(void **state)
{
    char longest[RPS_SUGGESTION_SIZE], longer[300];
    struct rps_suggestion suggestion = {.typed = longest};

    (void)state;
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    memset(longer, 'x', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    rps_suggestion_consider(&suggestion, longer);
    assert_int_equal(suggestion.count, 0);
    rps_suggestion_consider(&suggestion, longest);
    assert_int_equal(suggestion.count, 1);
    suggestion = (struct rps_suggestion){.typed = longer};
    rps_suggestion_consider(&suggestion, longest);
    assert_int_equal(suggestion.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_best_first),
        cmocka_unit_test(test_long_names),
    };

    return cmocka_run_group_tests_name("suggestion", tests, NULL, NULL);
}
