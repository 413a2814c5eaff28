/* Names of phase labels, there and back. */
#include "rpistat/phase.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void labels_have_names(void **state)
{
    char text[RPS_PHASE_LABEL_SIZE];

    (void)state;
    assert_string_equal(rps_phase_label(0, text), "A");
    assert_string_equal(rps_phase_label(25, text), "Z");
    assert_string_equal(rps_phase_label(26, text), "AA");
    assert_string_equal(rps_phase_label(27, text), "AB");
    assert_string_equal(rps_phase_label(701, text), "ZZ");
    assert_string_equal(rps_phase_label(702, text), "AAA");
    assert_string_equal(rps_phase_label(INT32_MAX, text), "FXSHRXX");
}

static void names_mean_labels(void **state)
{
    char text[RPS_PHASE_LABEL_SIZE];

    (void)state;
    for (int label = 0; label < 20000; label++)
        assert_int_equal(rps_phase_label_parse(rps_phase_label(label, text)), label);
    assert_int_equal(rps_phase_label_parse("b"), 1);
    assert_int_equal(rps_phase_label_parse(""), -1);
    assert_int_equal(rps_phase_label_parse("A1"), -1);
    assert_int_equal(rps_phase_label_parse(" A"), -1);
    assert_int_equal(rps_phase_label_parse("AAAAAAA"), -1);
}

static void freeing_twice_is_harmless(void **state)
{
    struct rps_phases phases = {.count = 1, .phase = calloc(1, sizeof(struct rps_phase))};

    (void)state;
    rps_phases_free(&phases);
    assert_null(phases.phase);
    rps_phases_free(&phases);
    rps_phases_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_have_names),
        cmocka_unit_test(names_mean_labels),
        cmocka_unit_test(freeing_twice_is_harmless),
    };

    return cmocka_run_group_tests_name("phase", tests, NULL, NULL);
}
