/* Tests of the windows in which stacks of switches are taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "measure/sampler_perf.h"

#define WINDOW RPS_PERF_WINDOW_NS

/* Results for a workload that switches at a given rate for a number of windows. */
struct taken {
    uint64_t taken, heard, changes; /* number of windows */
};

static int64_t now;              /* a step reads the switches before the previous step */
static uint64_t heard, switches; /* total number of switches, and number read */

static struct taken go_on(struct rps_perf_wall *wall, uint64_t rate, int windows)
{
    struct taken ret = {0};

    for (int i = 0; i < windows; i++) {
        const int looks = wall->takes_stacks ? 4 : 1; /* a window may have several steps */

        ret.taken += (uint64_t)wall->takes_stacks;
        ret.heard += (uint64_t)wall->hears_switches;
        for (int look = 0; look < looks; look++) {
            int64_t before = now;

            switches = heard;
            heard += wall->hears_switches ? rate / 10 / (uint64_t)looks : 0;
            now += WINDOW / looks;
            ret.changes += (uint64_t)rps_perf_wall_step(wall, switches, before, now);
        }
    }
    return ret;
}

static struct rps_perf_wall begin(uint64_t seed)
{
    struct rps_perf_wall wall;

    now = 5 * WINDOW;
    heard = switches = 0;
    rps_perf_wall_init(&wall, seed, now);
    return wall;
}

static void test_few(void **state)
{
    struct rps_perf_wall wall = begin(1);
    struct taken taken = go_on(&wall, 300, 100);

    (void)state;
    assert_int_equal(taken.taken, 100);
    assert_int_equal(taken.changes, 0);
    assert_int_equal(rps_perf_wall_step(&wall, switches + 1000, now, now + WINDOW / 10 * 9),
                     0); /* the step is not yet due */
}

/* Random windows represent all windows, one of a given number, at changing positions. */
static void test_many(void **state)
{
    static const uint64_t rate[] = {400, 3000, 4900};
    static const uint64_t of[] = {2, 11, 16};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct rps_perf_wall wall = begin(7);
        uint64_t places = 0;
        struct taken taken;

        while (wall.of == 1)
            go_on(&wall, rate[i], 1);
        for (int round = 0; round < 50; round++) {
            places |= UINT64_C(1) << wall.place;
            taken = go_on(&wall, rate[i], (int)of[i]);
            assert_int_equal(wall.of, of[i]);
            assert_int_equal(taken.taken, 1);
            assert_int_equal(taken.heard, of[i]);
        }
        assert_true((places & (places - 1)) != 0);
    }
}

static void test_too_many(void **state)
{
    struct rps_perf_wall wall = begin(3);
    struct taken taken;

    (void)state;
    while (wall.of == 1)
        go_on(&wall, 5100, 1);
    assert_int_equal(wall.of, 0);
    assert_false(wall.takes_stacks || wall.hears_switches);
    taken = go_on(&wall, 5100, 160);
    assert_int_equal(taken.taken, 0);
    assert_int_equal(taken.heard, 30); /* some windows check whether switches are fewer */
    go_on(&wall, 4500, 16);
    assert_int_equal(wall.of, 0); /* a small change of the rate has no effect */
    go_on(&wall, 3900, 16);
    assert_int_equal(wall.of, 14);
    go_on(&wall, 100, 14);
    assert_int_equal(wall.of, 1);
    assert_true(wall.takes_stacks && wall.hears_switches);
}

/* Time without recorded switches does not count in the rate. */
static void test_pause(void **state)
{
    struct rps_perf_wall wall = begin(1);

    (void)state;
    go_on(&wall, 3000, 3);
    now += 100 * WINDOW;
    rps_perf_wall_resume(&wall, now);
    for (int i = 0; i < 40; i++) {
        go_on(&wall, 3000, 1);
        assert_int_equal(wall.of, 11);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_pause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
