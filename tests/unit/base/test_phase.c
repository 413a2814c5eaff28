/* Tests of the names of phase labels, in both directions. */
#include "rpistat/phase.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

/* Make phases from a text such as "AABB": one second per letter, from start_s on. */
static void make_phases(struct rps_phases *ret, const char *text, int start_s)
{
    *ret = (struct rps_phases){.phase = calloc(strlen(text), sizeof(struct rps_phase))};
    for (; text[ret->count]; ret->count++) {
        struct rps_phase *phase = &ret->phase[ret->count];

        phase->label = text[ret->count] - 'A';
        phase->start_ns = start_s + (int64_t)ret->count;
        phase->end_ns = phase->start_ns + 1;
        if (phase->label >= ret->label_count)
            ret->label_count = phase->label + 1;
    }
}

/* Check the labels of `now` after the labels of `before` are kept. `before` begins at second 0,
 * `now` at second 2. */
static void assert_kept(const char *before_text, const char *now_text, const char *expected)
{
    struct rps_phases before, now;
    int highest = -1;

    make_phases(&before, before_text, 0);
    make_phases(&now, now_text, 2);
    rps_phases_keep_labels(&now, &before);
    for (size_t i = 0; i < now.count; i++) {
        assert_int_equal(now.phase[i].label + 'A', expected[i]);
        highest = now.phase[i].label > highest ? now.phase[i].label : highest;
    }
    assert_int_equal(now.label_count, highest + 1);
    free(before.phase);
    free(now.phase);
}

static void labels_are_kept(void **state)
{
    (void)state;
    assert_kept("AABBAC", "AABC", "BBAC");         /* the beginning is no longer visible */
    assert_kept("AABBBB", "AAAABB", "BBBBCC");     /* a new phase appears */
    assert_kept("AABBBB", "AAAABBCC", "BBBBCCDD"); /* A is not reused: it was visible before */
    assert_kept("AABBBBB", "AABBB", "CCBBB");      /* the phase with the largest overlap keeps
                                                      the letter */
    assert_kept("CCDDDD", "AAAABB", "DDDDAA");     /* unused letters are assigned again */
    assert_kept("AAB", "BBAA", "BBCC");
    assert_kept("", "BBA", "BBA");
}

static void periods_lie_in_phases(void **state)
{
    struct rps_phase phase[] = {
        {.first = 2, .last = 4}, {.first = 5, .last = 9}, {.first = 12, .last = 12}};
    const struct rps_phases phases = {.count = 3, .phase = phase}, none = {0};
    static const size_t in[] = {9, 9, 0, 0, 0, 1, 1, 1, 1, 1, 9, 9, 2, 9};
    size_t at = 0;

    (void)state;
    for (uint64_t i = 0; i < 14; i++)
        assert_int_equal(rps_phases_at(&phases, i, &at), in[i] == 9 ? SIZE_MAX : in[i]);
    assert_int_equal(rps_phases_at(&phases, 3, &at), 0);
    assert_int_equal(rps_phases_at(&none, 3, &(size_t){0}), SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_have_names),
        cmocka_unit_test(names_mean_labels),
        cmocka_unit_test(labels_are_kept),
        cmocka_unit_test(periods_lie_in_phases),
    };

    return cmocka_run_group_tests_name("phase", tests, NULL, NULL);
}
