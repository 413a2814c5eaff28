/* Tests of the columns of a CSV table as input of the phase detector: the columns whose logarithm
 * is used. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/arena.h"
#include "rpistat/csv_signals.h"

static double normal(uint64_t *state)
{
    double sum = -6;

    for (int k = 0; k < 12; k++) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        sum += (double)(*state >> 11) * 0x1p-53;
    }
    return sum;
}

enum shape { NORMAL, LOGNORMAL, POISSON_LIKE, SPIKES, NEAR_ZERO, SHAPES };

static double draw(enum shape shape, double level, uint64_t *state)
{
    double noise = normal(state);

    switch (shape) {
    case LOGNORMAL:
        return level * exp(0.8 * noise);
    case POISSON_LIKE:
        return floor(level * 10 + sqrt(level * 10) * noise + 0.5);
    case SPIKES:
        return 20 + 5 * level + noise + (normal(state) > 2 ? 50 : 0);
    case NEAR_ZERO:
        return level * exp(0.8 * noise) - 1;
    default:
        return 20 + 5 * level + noise;
    }
}

/* Make columns of each shape that alternate between two levels every 100 rows. */
static struct rps_csv_signals make_shapes(size_t rows, uint64_t seed)
{
    struct rps_csv_signals table = {.signals = {.count = rows, .signal_count = SHAPES}};

    table.signals.value = rps_arena_get(arena, rows * SHAPES, sizeof(*table.signals.value));
    for (size_t s = 0; s < SHAPES; s++) {
        for (size_t i = 0; i < rows; i++)
            table.signals.value[s * rows + i] = draw((enum shape)s, i / 100 % 2 ? 4 : 2, &seed);
    }
    return table;
}

/* A logarithm is used only for columns whose noise grows with the level. */
static void test_logarithms(void **state)
{
    int logs[SHAPES] = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct rps_csv_signals table = make_shapes(400, seed);
        struct rps_signals even = rps_csv_signals_even(arena, &table.signals);

        for (size_t s = 0; s < SHAPES; s++) {
            int is_log = even.value[s * 400] != table.signals.value[s * 400];

            for (size_t i = 0; i < 400; i++) {
                double plain = table.signals.value[s * 400 + i];

                assert_true(even.value[s * 400 + i] == (is_log ? log(plain) : plain));
            }
            logs[s] += is_log;
        }
    }
    assert_int_equal(logs[LOGNORMAL], 40);
    assert_int_equal(logs[NEAR_ZERO], 0); /* Some values of the column are negative. */
    assert_in_range(logs[NORMAL], 0, 1);
    assert_in_range(logs[POISSON_LIKE], 0, 2);
    assert_in_range(logs[SPIKES], 0, 1);
}

/* With too few rows no logarithm is used. Unobserved cells and breaks stay as they are. */
static void test_logarithms_of_little(void **state)
{
    struct rps_csv_signals table = make_shapes(50, 3);
    struct rps_signals even = rps_csv_signals_even(arena, &table.signals);

    (void)state;
    assert_memory_equal(even.value, table.signals.value, 50 * SHAPES * sizeof(*even.value));
    assert_null(even.broken);

    table = make_shapes(400, 4);
    table.signals.value[LOGNORMAL * 400 + 17] = NAN;
    table.signals.broken = rps_arena_get(arena, 400, 1);
    table.signals.broken[200] = 1;
    even = rps_csv_signals_even(arena, &table.signals);
    assert_true(isnan(even.value[LOGNORMAL * 400 + 17]));
    assert_true(even.value[LOGNORMAL * 400 + 18] == log(table.signals.value[LOGNORMAL * 400 + 18]));
    assert_memory_equal(even.broken, table.signals.broken, 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logarithms),
        cmocka_unit_test(test_logarithms_of_little),
    };

    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
