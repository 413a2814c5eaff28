/* Tests of bursts: only outliers at regular intervals form bursts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "rpistat/bursts.h"
#include "rpistat/random.h"
#include "support/arena.h"

#define PERIODS 1000

static struct rps_bursts find(uint64_t *outlier, size_t count, uint64_t step)
{
    struct rps_phase phase = {.last = PERIODS * step - 1, .latest = 0};
    const struct rps_phases phases = {.count = 1,
                                      .phase = &phase,
                                      .label_count = 1,
                                      .outlier_count = count,
                                      .outlier = outlier,
                                      .wide = step - 1};

    return rps_bursts_find(arena, &phases);
}

/* Bursts of three outliers come every 33 periods; each burst contains one normal period. */
static void even_steps(void **state)
{
    uint64_t outlier[60];
    struct rps_bursts bursts;
    size_t count = 0;

    (void)state;
    for (uint64_t n = 0; n < 10; n++) {
        outlier[count++] = 30 + 33 * n;
        outlier[count++] = 31 + 33 * n;
        outlier[count++] = 33 + 33 * n;
    }
    bursts = find(outlier, count, 1);
    assert_int_equal(bursts.count, 10);
    assert_float_equal(bursts.every, 33, 1e-9);
    assert_float_equal(bursts.length, 4, 1e-9);
    assert_int_equal(bursts.first[9], 30 + 33 * 9);
    assert_int_equal(bursts.last[9], 33 + 33 * 9);
    /* One missing burst makes 1 of 8 intervals irregular, and two missing bursts make a third
     * irregular. */
    memmove(outlier + 12, outlier + 15, (count - 15) * sizeof(*outlier));
    assert_int_equal(find(outlier, count - 3, 1).count, 9);
    memmove(outlier + 18, outlier + 21, (count - 24) * sizeof(*outlier));
    assert_int_equal(find(outlier, count - 6, 1).count, 0);
}

/* A block of 16 periods has the number of its first period. */
static void blocks(void **state)
{
    uint64_t outlier[8];
    struct rps_bursts bursts;

    (void)state;
    for (uint64_t n = 0; n < 8; n++)
        outlier[n] = 16 * (20 + 50 * n);
    bursts = find(outlier, 8, 16);
    assert_int_equal(bursts.count, 8);
    assert_float_equal(bursts.every, 800, 1e-9);
    assert_float_equal(bursts.length, 16, 1e-9);
}

/* The first and last periods of a run are outliers in every program. */
static void start_and_end(void **state)
{
    uint64_t outlier[] = {0, 100, 200, 300, 400, 500, 600, PERIODS - 1};
    struct rps_bursts bursts;

    (void)state;
    bursts = find(outlier, 8, 1);
    assert_int_equal(bursts.count, 6);
    assert_int_equal(bursts.first[0], 100);
    assert_int_equal(find(outlier, 6, 1).count, 0); /* five bursts are too few */
}

/* At most one percent of random series have bursts. */
static void by_chance(void **state)
{
    int found = 0;

    (void)state;
    for (uint64_t run = 0; run < 1000; run++) {
        uint64_t outlier[PERIODS];
        size_t count = 0;

        for (uint64_t i = 0; i < PERIODS; i++)
            if (rps_random_at(run, i) % 50 == 0)
                outlier[count++] = i;
        found += find(outlier, count, 1).count > 0;
    }
    assert_in_range(found, 0, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(even_steps, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(blocks, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(start_and_end, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(by_chance, open_arena, close_arena),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
