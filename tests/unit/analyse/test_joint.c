/* Tests of phases found in several series together: levels, labels and distances across a join. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "detect_series.h"
#include "support/arena.h"
#include "rpistat/joint.h"

#define SIGNALS 3

/* Make a series with one segment per letter, `length` observations long. The means of the segments
 * differ by `apart` times the noise. */
static struct rps_signals series_of(const char *letters, size_t length, double apart, uint64_t seed)
{
    static const double mean[5][SIGNALS] = {
        {0, 0, 0}, {1, .5, -1}, {-1, 1, .7}, {2, -1.5, 0}, {.5, 2, 1.5}};
    size_t count = strlen(letters) * length;
    struct rps_signals signals = series_make(count, SIGNALS);

    for (size_t s = 0; s < SIGNALS; s++)
        for (size_t i = 0; i < count; i++)
            signals.value[s * count + i] =
                apart * mean[letters[i / length] - 'A'][s] + series_normal(&seed);
    return signals;
}

static struct rps_joint find(const struct rps_signals *a, const struct rps_signals *b,
                             const struct rps_phases_options *options)
{
    struct rps_joint joint;
    struct rps_error err;

    if (rps_joint_find(arena, (const struct rps_signals *const[]){a, b}, 2, options, &joint, &err) <
        0)
        fail_msg("%s", err.message);
    assert_int_equal(joint.run_count, 2);
    return joint;
}

/* Check that the phases cover the series at every level. */
static void check_whole(const struct rps_phases *phases, size_t count)
{
    assert_true(phases->count > 0);
    assert_int_equal(phases->phase[0].first, 0);
    assert_int_equal(phases->phase[phases->count - 1].last, count - 1);
    for (size_t k = 1; k < phases->count; k++) {
        assert_int_equal(phases->phase[k].first, phases->phase[k - 1].last + 1);
        assert_true(phases->phase[k].label != phases->phase[k - 1].label);
    }
}

static void labels_are(const struct rps_phases *phases, const char *letters)
{
    char text[100] = "";

    assert_true(phases->count < sizeof(text));
    for (size_t k = 0; k < phases->count; k++)
        text[k] = (char)('A' + phases->phase[k].label);
    assert_string_equal(text, letters);
}

static void labels_mean_the_same(void **state)
{
    const struct rps_phases_options options = {0};
    struct rps_signals a = series_of("ABACAD", 60, 9, 1), b = series_of("DACAB", 70, 9, 2);
    struct rps_joint joint = find(&a, &b, &options);

    (void)state;
    labels_are(&joint.run[0], "ABACAD");
    labels_are(&joint.run[1], "DACAB");
    assert_int_equal(joint.label_count, 4);
    rps_signals_free(&a);
    rps_signals_free(&b);
}

/* A segment that continues across the join is two phases with one label, at all levels. */
static void a_join_is_at_all_levels(void **state)
{
    struct rps_signals a = series_of("ABAC", 60, 9, 1), b = series_of("CDABA", 70, 9, 2);
    struct rps_joint joint;

    (void)state;
    for (size_t most = 1; most <= 6; most++) {
        const struct rps_phases_options options = {.level.at_most = most};

        joint = find(&a, &b, &options);
        for (int r = 0; r < 2; r++) {
            check_whole(&joint.run[r], r ? b.count : a.count);
            assert_true(joint.run[r].count <= most);
        }
        if (most >= 5) {
            labels_are(&joint.run[0], "ABAC");
            labels_are(&joint.run[1], "CDABA");
        }
    }
    rps_signals_free(&a);
    rps_signals_free(&b);
}

/* Joined runs of one program have as many phases per run as each run alone, for any number of runs.
 */
static void as_many_as_alone(void **state)
{
    static const char *const programs[] = {"ABCABD", "ABAD", "AB", "A", "ABCDEDCBADEB"};
    const struct rps_phases_options options = {0};

    (void)state;
    for (size_t p = 0; p < sizeof(programs) / sizeof(programs[0]); p++) {
        struct rps_signals signals[6];
        const struct rps_signals *run[6];
        struct rps_joint joint;
        struct rps_error err;

        for (uint64_t r = 0; r < 6; r++) {
            signals[r] = series_of(programs[p], 50, 9, r);
            run[r] = &signals[r];
        }
        for (size_t count = 1; count <= 6; count++) {
            assert_int_equal(rps_joint_find(arena, run, count, &options, &joint, &err), 0);
            for (size_t r = 0; r < count; r++)
                assert_int_equal(joint.run[r].count, strlen(programs[p]));
        }
        for (int r = 0; r < 6; r++)
            rps_signals_free(&signals[r]);
    }
}

/* All iterations of a loop are found in any number of runs, and each run has its own iterations. */
static void loops(void **state)
{
    static const int turns[3][2] = {{5, 6}, {50, 60}, {7, 12}};
    const struct rps_phases_options options = {0};

    (void)state;
    for (int n = 0; n < 3; n++) {
        struct rps_signals series[2];
        struct rps_joint joint;

        for (int r = 0; r < 2; r++) {
            char letters[200] = "";

            for (int t = 0; t < turns[n][r]; t++)
                strcat(letters, "ABC");
            series[r] = series_of(letters, 30, 9, (uint64_t)r);
        }
        joint = find(&series[0], &series[1], &options);
        for (int r = 0; r < 2; r++) {
            assert_int_equal(joint.run[r].count, 3 * turns[n][r]);
            assert_int_equal(joint.run[r].phase[0].turn, 1);
            assert_int_equal(joint.run[r].phase[3 * turns[n][r] - 1].turn, turns[n][r]);
            rps_signals_free(&series[r]);
        }
    }
}

/* A series without weights is joined with a weighted series. The larger resolution and noise floor
 * apply: phases that differ by less have one label. */
static void the_larger_counts(void **state)
{
    const struct rps_phases_options options = {0};
    struct rps_signals a = series_of("AB", 60, 9, 1), b = series_of("AB", 60, 9, 2);
    struct rps_joint joint;

    (void)state;
    b.weight = calloc(SIGNALS * b.count, sizeof(*b.weight));
    b.resolution = calloc(SIGNALS, sizeof(*b.resolution));
    b.noise_floor = calloc(SIGNALS, sizeof(*b.noise_floor));
    assert_true(b.weight && b.resolution && b.noise_floor);
    for (size_t i = 0; i < SIGNALS * b.count; i++)
        b.weight[i] = .9F;
    joint = find(&a, &b, &options);
    labels_are(&joint.run[0], "AB");
    labels_are(&joint.run[1], "AB");
    for (size_t s = 0; s < SIGNALS; s++)
        b.noise_floor[s] = 1000;
    joint = find(&a, &b, &options);
    assert_int_equal(joint.run[0].count, 1);
    rps_signals_free(&a);
    rps_signals_free(&b);
}

/* A distance is the root mean square of the differences in deviations, divided by the largest
 * distance. A signal without values in one label counts as one deviation. */
static void distances(void **state)
{
    const struct rps_phases_options options = {.level.fine = 1};
    struct rps_signals a = series_make(120, 2), b = series_make(60, 2);
    struct rps_joint joint;
    double x, y, far, near;

    (void)state;
    for (size_t i = 0; i < 120; i++) {
        a.value[i] = i < 60 ? 0 : 30;
        a.value[120 + i] = i < 60 ? 0 : 30;
    }
    for (size_t i = 0; i < 60; i++) {
        b.value[i] = 60;
        b.value[60 + i] = NAN;
    }
    joint = find(&a, &b, &options);
    assert_int_equal(joint.label_count, 3);
    /* deviation of 0, 30, 60 in the first signal; deviation of 0 and 30 in the second */
    x = sqrt((0 + 900 + 3600) / 3. - 900);
    y = 15;
    near = sqrt((pow(30 / x, 2) + pow(30 / y, 2)) / 2);
    far = sqrt((pow(60 / x, 2) + 1) / 2);
    assert_true(fabs(joint.distance[0 * 3 + 2] - 1) < 1e-9);
    assert_true(fabs(joint.distance[0 * 3 + 1] - near / far) < 1e-9);
    assert_true(fabs(joint.distance[1 * 3 + 0] - near / far) < 1e-9);
    assert_true(joint.distance[2 * 3 + 2] == 0);
    rps_signals_free(&a);
    rps_signals_free(&b);
}

/* Runs that are shorter than any phase are covered too, even without values. */
static void short_runs(void **state)
{
    const struct rps_phases_options options = {.level.fine = 1};

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct rps_signals signals[6];
        const struct rps_signals *run[6];
        size_t count = 1 + seed % 6;
        struct rps_joint joint;
        struct rps_error err;

        for (size_t r = 0; r < count; r++) {
            signals[r] = series_of("CB", 1 + (seed + 5 * r) % 7 / 2, 9, seed + r);
            for (size_t i = 0; i < SIGNALS * signals[r].count && (seed + r) % 5 == 0; i++)
                signals[r].value[i] = NAN;
            run[r] = &signals[r];
        }
        assert_int_equal(rps_joint_find(arena, run, count, &options, &joint, &err), 0);
        for (size_t r = 0; r < count; r++) {
            check_whole(&joint.run[r], signals[r].count);
            rps_signals_free(&signals[r]);
        }
        for (int i = 0; i < joint.label_count * joint.label_count; i++)
            assert_true(joint.distance[i] >= 0 && joint.distance[i] <= 1);
    }
}

/* Two levels with the same number of phases in the longest run count as one size. The error does
 * not mention --at-most, which compare lacks. */
static void a_size_that_no_level_has(void **state)
{
    const struct rps_phases_options options = {.level.size = 9};
    struct rps_signals a = series_of("AB", 60, 90, 1), b = series_of("AB", 60, 9, 2);
    const struct rps_signals *run[] = {&a, &b};
    struct rps_joint joint;
    struct rps_error err;

    (void)state;
    assert_int_equal(rps_joint_find(arena, run, 2, &options, &joint, &err), RPS_USAGE);
    assert_string_equal(err.message, "no level has 9 phases; choose at most 2");
    rps_signals_free(&a);
    rps_signals_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_mean_the_same), cmocka_unit_test(a_join_is_at_all_levels),
        cmocka_unit_test(as_many_as_alone),     cmocka_unit_test(loops),
        cmocka_unit_test(the_larger_counts),    cmocka_unit_test(distances),
        cmocka_unit_test(short_runs),           cmocka_unit_test(a_size_that_no_level_has),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("joint", tests, open_arena, close_arena);
}
