/* Tests of principal components: known directions, shares, signs, missing values, signals without
 * components. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rpistat/arena.h"
#include "rpistat/joint.h"

#define COUNT 600

/* Return a uniform number in -1 ... 1; every test run gets the same sequence. */
static double noise(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

static struct rps_signals make(size_t count, size_t signal_count)
{
    struct rps_signals signals = {.count = count, .signal_count = signal_count};

    signals.value = calloc(count * signal_count + 1, sizeof(double));
    assert_non_null(signals.value);
    return signals;
}

/* Make signals with two hidden causes. Signals 0, 1, 2 follow the first cause (2 with opposite
 * sign), and 3 and 4 the second. Signal 5 is constant. */
static struct rps_signals two_causes(void)
{
    struct rps_signals signals = make(COUNT, 6);
    uint64_t state = 7;

    for (size_t i = 0; i < COUNT; i++) {
        double first = noise(&state), second = noise(&state);

        signals.value[0 * COUNT + i] = 1000 + 500 * first + 5 * noise(&state);
        signals.value[1 * COUNT + i] = 1e-6 * first + 1e-8 * noise(&state);
        signals.value[2 * COUNT + i] = -first + 0.01 * noise(&state);
        signals.value[3 * COUNT + i] = second + 0.01 * noise(&state);
        signals.value[4 * COUNT + i] = 30 * second + 0.3 * noise(&state);
        signals.value[5 * COUNT + i] = 42;
    }
    return signals;
}

static void test_two_causes(void **state)
{
    struct rps_signals signals = two_causes();
    struct rps_components found;
    struct rps_arena *arena = rps_arena_new();
    struct rps_error err;
    double square = 0, product = 0;

    (void)state;
    if (rps_components_find(arena, &signals, 3, &found, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(found.component_count, 3);
    assert_true(fabs(found.share[0] - 0.6) < 0.03);
    assert_true(fabs(found.share[1] - 0.4) < 0.03);
    assert_true(found.share[2] < 0.001);
    assert_true(fabs(found.loading[0]) > 0.98 && fabs(found.loading[1]) > 0.98);
    assert_true(found.loading[0] * found.loading[2] < -0.97);
    assert_true(found.loading[6 + 3] > 0.98 && found.loading[6 + 4] > 0.98);
    assert_true(fabs(found.loading[3]) < 0.2);
    assert_true(found.loading[5] == 0 && found.loading[6 + 5] == 0);
    for (size_t i = 0; i < COUNT; i++) {
        square += found.score[i] * found.score[i] / COUNT;
        product += found.score[i] * found.score[COUNT + i] / COUNT;
    }
    assert_true(fabs(square - 1) < 1e-9);
    assert_true(fabs(product) < 1e-9);
    rps_arena_free(arena);
    free(signals.value);
}

/* The largest loading of each component is positive, independent of the sign that the library
 * returns. */
static void test_signs(void **state)
{
    struct rps_signals signals = two_causes();
    struct rps_components found;
    struct rps_arena *arena = rps_arena_new();

    (void)state;
    assert_int_equal(rps_components_find(arena, &signals, 5, &found, NULL), 0);
    for (size_t c = 0; c < found.component_count; c++) {
        double low = 0, high = 0;

        for (size_t s = 0; s < 6; s++) {
            low = fmin(low, found.loading[c * 6 + s]);
            high = fmax(high, found.loading[c * 6 + s]);
        }
        assert_true(high >= -low * (1 - 1e-6));
    }
    rps_arena_free(arena);
    free(signals.value);
}

static void test_missing_values(void **state)
{
    struct rps_signals signals = two_causes();
    struct rps_components found;
    struct rps_arena *arena = rps_arena_new();

    (void)state;
    for (size_t i = 0; i < COUNT; i++) { /* a fifth of each signal and all of observation 10 are
                                            missing */
        for (size_t s = 0; s < 5; s++) {
            if (i % 5 == s || i == 10)
                signals.value[s * COUNT + i] = s % 2 ? NAN : INFINITY;
        }
    }
    assert_int_equal(rps_components_find(arena, &signals, 2, &found, NULL), 0);
    assert_true(found.loading[0] * found.loading[2] < -0.7);
    assert_true(isnan(found.score[10]) && isnan(found.score[COUNT + 10]));
    assert_true(isfinite(found.score[11]));
    rps_arena_free(arena);
    free(signals.value);
}

/* Copies of a signal give fewer components than signals, without a division by eigenvalues of 0. */
static void test_copies(void **state)
{
    struct rps_signals signals = make(5, 4);
    struct rps_components found;
    struct rps_arena *arena = rps_arena_new();

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        for (size_t s = 0; s < 4; s++)
            signals.value[s * 5 + i] = (s < 2 ? 1 : -3) * (double)(i * i);
    }
    assert_int_equal(rps_components_find(arena, &signals, 4, &found, NULL), 0);
    assert_int_equal(found.component_count, 1);
    assert_true(fabs(found.share[0] - 1) < 1e-9);
    rps_arena_free(arena);
    free(signals.value);
}

static void refused(size_t count, size_t signal_count, size_t varying, const char *says)
{
    struct rps_signals signals = make(count, signal_count);
    struct rps_components found = {0};
    struct rps_arena *arena = rps_arena_new();
    struct rps_error err;

    for (size_t s = 0; s < varying; s++) {
        for (size_t i = 0; i < count; i++)
            signals.value[s * count + i] = (double)((i * (s + 3)) % 7);
    }
    assert_int_equal(rps_components_find(arena, &signals, 2, &found, &err), RPS_FAILED);
    assert_non_null(strstr(err.message, says));
    assert_null(found.score);
    rps_arena_free(arena);
    free(signals.value);
}

static void test_what_has_none(void **state)
{
    (void)state;
    refused(50, 1, 1, "that vary, not 1");
    refused(50, 3, 0, "that vary, not 0");
    refused(50, 0, 0, "that vary, not 0");
    refused(2, 5, 5, "need 3 observations");
    refused(3, 1001, 1001, "1001 metrics are too many");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_causes),     cmocka_unit_test(test_signs),
        cmocka_unit_test(test_missing_values), cmocka_unit_test(test_copies),
        cmocka_unit_test(test_what_has_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
