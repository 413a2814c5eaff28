/* Tests of clocks: each name has the right clock, and clocks never run backwards. */
#include "rpistat/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <time.h>

/* Return true if `value` is between two readings of the same clock. */
static bool lies_between(int64_t value, struct timespec before, struct timespec after)
{
    return value >= before.tv_sec * RPS_NS_PER_S + before.tv_nsec &&
           value <= after.tv_sec * RPS_NS_PER_S + after.tv_nsec;
}

static void check_clock(clockid_t clock, int64_t (*read_ns)(void))
{
    struct timespec before, after;
    int64_t value;

    assert_int_equal(clock_gettime(clock, &before), 0);
    value = read_ns();
    assert_int_equal(clock_gettime(clock, &after), 0);
    assert_true(lies_between(value, before, after));
}

static void test_monotonic(void **state)
{
    (void)state;
    check_clock(CLOCK_MONOTONIC, rps_clock_monotonic_ns);
}

static void test_process_cpu(void **state)
{
    (void)state;
    check_clock(CLOCK_PROCESS_CPUTIME_ID, rps_clock_process_cpu_ns);
}

static void test_realtime(void **state)
{
    struct timespec now;
    int64_t difference_ns;

    (void)state;
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    difference_ns = rps_clock_realtime_ns() - (now.tv_sec * RPS_NS_PER_S + now.tv_nsec);
    /* the clock may be set between the two readings, but not by a year */
    assert_true(difference_ns < 31536000 * RPS_NS_PER_S);
    assert_true(difference_ns > -31536000 * RPS_NS_PER_S);
}

/* Three clocks are read together: each is correct, and the readings are close. */
static void test_all_at_once(void **state)
{
    struct timespec before[3], after[3];
    static const clockid_t clock[3] = {CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME};
    struct rps_clocks clocks;

    (void)state;
    for (int i = 0; i < 3; i++)
        clock_gettime(clock[i], &before[i]);
    rps_clock_read_all(&clocks);
    for (int i = 0; i < 3; i++)
        clock_gettime(clock[i], &after[i]);
    assert_true(lies_between(clocks.monotonic_ns, before[0], after[0]));
    assert_true(lies_between(clocks.boot_ns, before[1], after[1]));
    assert_true(lies_between(clocks.realtime_ns, before[2], after[2]));
}

/* A clock that is set by more than 292 years is recorded as set by 292 years. */
static void test_saturated(void **state)
{
    (void)state;
    assert_true(rps_clock_subtract_ns(5, 7) == -2);
    assert_true(rps_clock_add_ns(5, -7) == -2);
    assert_true(rps_clock_subtract_ns(INT64_MAX, -1) == INT64_MAX);
    assert_true(rps_clock_subtract_ns(-INT64_MAX, INT64_MAX) == -INT64_MAX);
    assert_true(rps_clock_subtract_ns(INT64_MIN, 0) == -INT64_MAX);
    assert_true(rps_clock_add_ns(INT64_MAX, INT64_MAX) == INT64_MAX);
    assert_true(rps_clock_add_ns(-2, INT64_MIN) == -INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saturated),   cmocka_unit_test(test_monotonic),
        cmocka_unit_test(test_process_cpu), cmocka_unit_test(test_realtime),
        cmocka_unit_test(test_all_at_once),
    };

    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
