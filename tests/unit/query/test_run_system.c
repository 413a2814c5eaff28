/* The derived system metrics are compared with sums made by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rpistat/run_system.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)

/* Make ten readings of one second each, with a constant value in each slot. A negative value means
 * unknown. */
static struct rps_run_system made(const int64_t value[RPS_TREE_SLOTS])
{
    struct rps_run_system system = {0};

    for (int i = 0; i < 10; i++) {
        struct rps_system_row row = {.source = RPS_SYSTEM_TREE, .length_us = 1000000};

        for (int s = 0; s < RPS_TREE_SLOTS; s++) {
            row.readings[s] = value[s] >= 0;
            row.sum[s] = value[s];
            row.lowest[s] = row.highest[s] = (double)value[s];
        }
        rps_run_system_add(&system, &row);
    }
    return system;
}

static void test_one_thread(void **state)
{
    const struct rps_run_system system = made((int64_t[RPS_TREE_SLOTS]){
        [RPS_TREE_RUNNING] = 200000,
        [RPS_TREE_WAIT] = 300000,
        [RPS_TREE_THREADS] = 1,
        [RPS_TREE_RSS] = 4096,
        [RPS_TREE_READ] = 512,
    });
    struct rps_system_time time = rps_run_system_time(&system, 2);

    (void)state;
    NEAR(time.elapsed_s, 10);
    NEAR(time.threads_s, 10);
    NEAR(time.on_s, 2);
    NEAR(time.wait_s, 3);
    NEAR(time.asleep_s, 5);
    NEAR(time.asleep_in_s[RPS_SLEEP_UNKNOWN], 5);
    NEAR(time.unknown_s, 0);
    NEAR(rps_system_time_waited(&time), .6);
    assert_int_equal(rps_system_time_sleep(&time), -1);
    NEAR(rps_run_system_mean(&system, RPS_SYSTEM_TREE, RPS_TREE_RSS), 4096);
    NEAR(rps_run_system_mean(&system, RPS_SYSTEM_TREE, RPS_TREE_READ), 512);
    /* If threads ended between readings, the times are not those of the whole run. */
    assert_true(rps_system_time_is_of_one(&time));
    time.threads_s = 9.1;
    assert_true(rps_system_time_is_of_one(&time));
    time.threads_s = 8.9;
    assert_false(rps_system_time_is_of_one(&time));
    time.threads_s = 10.6;
    assert_false(rps_system_time_is_of_one(&time));
}

static double ready_s(double on_s, double wait_s, double threads_s, double throttled_s)
{
    struct rps_system_time time = {
        .elapsed_s = 10, .on_s = on_s, .wait_s = wait_s, .threads_s = threads_s};

    return rps_system_time_ready_s(&time, throttled_s);
}

/* Other programs are not blamed for threads that wait for one another, however many CPUs they may
 * use. */
static void test_ready(void **state)
{
    struct rps_system_time unknown = {.on_s = 1};

    (void)state;
    NEAR(ready_s(2, 3, 10, NAN), 5);
    NEAR(ready_s(4, 56, 60, NAN), 10); /* 6 busy threads on one CPU, of which others use 60 % */
    NEAR(ready_s(10.01, 50, 60, NAN), 10.01); /* the same without others */
    NEAR(ready_s(16, 24, 40, NAN), 20);  /* 4 busy threads on two CPUs, of which others use 20 % */
    NEAR(ready_s(.3, .75, 60, NAN), .3); /* 6 threads that are ready together for short times */
    NEAR(ready_s(0, 0, 0, NAN), 0);
    NEAR(ready_s(2, 3, 10, 2.5), 2.5); /* a CPU limit stopped it for most of the wait */
    NEAR(ready_s(2, 3, 10, 4), 2);
    assert_true(isnan(rps_system_time_ready_s(&unknown, 0)));
}

/* A reading at the wrong time does not show states. */
static void test_unseen_states(void **state)
{
    struct rps_run_system system = made((int64_t[RPS_TREE_SLOTS]){
        [RPS_TREE_RUNNING] = 100000, [RPS_TREE_THREADS] = 1, [RPS_TREE_IN_TIMER] = 1});
    struct rps_system_row early = {
        .source = RPS_SYSTEM_TREE, .length_us = 10000, .end_ns = 10000000};
    struct rps_run_system first = {0};
    struct rps_system_time time = rps_run_system_time(&system, 3.9);

    (void)state;
    NEAR(time.elapsed_s, 10);
    NEAR(time.wait_s, 0);
    time = rps_run_system_time(&system, 4.1); /* the readings saw 1 s */
    NEAR(time.elapsed_s, 0);
    assert_true(isnan(time.asleep_in_s[RPS_SLEEP_TIMER]) && isnan(time.idle_s));
    early.readings[RPS_TREE_THREADS] = early.readings[RPS_TREE_IDLE] =
        early.readings[RPS_TREE_READ] = 1;
    rps_run_system_add(&first, &early);
    assert_true(isnan(rps_run_system_mean(&first, RPS_SYSTEM_TREE, RPS_TREE_THREADS)));
    assert_true(isnan(rps_run_system_mean(&first, RPS_SYSTEM_TREE, RPS_TREE_IDLE)));
    NEAR(rps_run_system_mean(&first, RPS_SYSTEM_TREE, RPS_TREE_READ), 0);
    early.end_ns++; /* not in the first 10 ms of the run */
    rps_run_system_add(&first, &early);
    NEAR(rps_run_system_mean(&first, RPS_SYSTEM_TREE, RPS_TREE_THREADS), 0);
    system.length_s[RPS_SYSTEM_TREE] = .01;
    NEAR(rps_run_system_time(&system, 1).elapsed_s, 0);
    system.length_s[RPS_SYSTEM_TREE] = .011;
    NEAR(rps_run_system_time(&system, .001).elapsed_s, .011);
    system.length_s[RPS_SYSTEM_TREE] = 10;
    system.slot[RPS_SYSTEM_TREE][RPS_TREE_RUNNING].sum = 0;
    time = rps_run_system_time(&system, .0999); /* only the exec ran, before the first reading */
    NEAR(time.elapsed_s, 10);
    NEAR(time.asleep_s, 9.9001);
    NEAR(rps_run_system_time(&system, .101).elapsed_s, 0);
}

/* A long wait is limited to the time that its threads were off the CPU, if readings saw all
 * threads. Otherwise threads between readings may have waited for all of it. */
static void test_long_wait(void **state)
{
    int64_t value[RPS_TREE_SLOTS] = {
        [RPS_TREE_RUNNING] = 500000, [RPS_TREE_WAIT] = 9000000, [RPS_TREE_THREADS] = 1};
    struct rps_run_system system = made(value);
    struct rps_system_time time = rps_run_system_time(&system, 5);

    (void)state;
    NEAR(time.wait_s, 5);
    NEAR(time.asleep_s, 0);
    NEAR(time.unseen_s, 0);
    assert_false(rps_system_time_waits_at_most(&time));
    value[RPS_TREE_IN_IO] = 1; /* In state D at each reading, so it was not ready. */
    system = made(value);
    time = rps_run_system_time(&system, 5);
    NEAR(time.wait_s, 0);
    NEAR(time.asleep_in_s[RPS_SLEEP_IO], 5);
    assert_true(rps_system_time_waits_at_most(&time));
    value[RPS_TREE_IN_IO] = 0;
    value[RPS_TREE_UNSEEN] = 200000;
    system = made(value);
    time = rps_run_system_time(&system, 5);
    NEAR(time.wait_s, 90);
    NEAR(time.threads_s, 95);
    NEAR(time.unseen_s, 95 - 10);
    NEAR(time.unknown_s, 0);
    NEAR(time.asleep_s, 0);
    NEAR(rps_system_time_waited(&time), 90. / 95);
    /* A thread that waits for a child at each reading, or is idle, may have waited for a CPU too. */
    for (int slot = RPS_TREE_IN_CHILD; slot; slot = slot == RPS_TREE_IDLE ? 0 : RPS_TREE_IDLE) {
        int64_t other[RPS_TREE_SLOTS] = {
            [RPS_TREE_RUNNING] = 900000, [RPS_TREE_WAIT] = 300000, [RPS_TREE_THREADS] = 2};

        other[slot] = 1;
        system = made(other);
        time = rps_run_system_time(&system, 9);
        NEAR(time.wait_s, 3);
        NEAR(time.threads_s, 12);
        NEAR(time.unseen_s, 0);
    }
}

static void test_children_and_unseen(void **state)
{
    const struct rps_run_system system = made((int64_t[RPS_TREE_SLOTS]){
        [RPS_TREE_RUNNING] = 100000,
        [RPS_TREE_UNSEEN] = 800000,
        [RPS_TREE_THREADS] = 4,
        [RPS_TREE_IN_CHILD] = 1,
        [RPS_TREE_IN_LOCK] = 3,
    });
    struct rps_system_time time = rps_run_system_time(&system, 3);

    (void)state;
    NEAR(time.threads_s, 30 + 8);
    NEAR(time.unseen_s, 8);
    NEAR(time.unseen_on_s, 2);
    NEAR(time.unknown_s, 6);
    NEAR(time.asleep_s, 38 - 3 - 6);
    NEAR(time.asleep_in_s[RPS_SLEEP_LOCK], 29); /* The result is below the 30 s of the readings. */
    NEAR(time.asleep_in_s[RPS_SLEEP_UNKNOWN], 0);
    assert_int_equal(rps_system_time_sleep(&time), RPS_SLEEP_LOCK);
}

/* A workload with one busy thread and idle threads is not reported as sleeping. A workload whose
 * threads wait for a lock is reported as sleeping. */
static void test_sleep_beside_work(void **state)
{
    int64_t value[RPS_TREE_SLOTS] = {
        [RPS_TREE_RUNNING] = 900000, [RPS_TREE_THREADS] = 4, [RPS_TREE_IN_MESSAGE] = 3};
    struct rps_run_system system = made(value);
    struct rps_system_time time = rps_run_system_time(&system, 9);

    (void)state;
    assert_int_equal(rps_system_time_sleep(&time), -1);
    time = rps_run_system_time(&system, 1);
    assert_int_equal(rps_system_time_sleep(&time), RPS_SLEEP_MESSAGE);
    value[RPS_TREE_IN_MESSAGE] = 0;
    value[RPS_TREE_IN_LOCK] = 3;
    system = made(value);
    time = rps_run_system_time(&system, 9);
    assert_int_equal(rps_system_time_sleep(&time), RPS_SLEEP_LOCK);
    assert_true(rps_system_time_is_busy(&time));
    /* A pool waits for work from an event loop: three threads in futex, one in epoll_wait. */
    value[RPS_TREE_RUNNING] = 40000;
    value[RPS_TREE_IN_MESSAGE] = 1;
    system = made(value);
    time = rps_run_system_time(&system, .4);
    assert_int_equal(rps_system_time_sleep(&time), RPS_SLEEP_MESSAGE);
    value[RPS_TREE_IN_MESSAGE] = 0; /* the fourth thread runs, or waits for a CPU */
    value[RPS_TREE_WAIT] = 600000;
    system = made(value);
    time = rps_run_system_time(&system, .4);
    assert_int_equal(rps_system_time_sleep(&time), RPS_SLEEP_LOCK);
}

/* Idle threads are excluded from the time of the threads and from all reasons for waiting. */
static void test_idle(void **state)
{
    const struct rps_run_system system = made((int64_t[RPS_TREE_SLOTS]){[RPS_TREE_THREADS] = 6,
                                                                        [RPS_TREE_IN_LOCK] = 1,
                                                                        [RPS_TREE_IN_TIMER] = 1,
                                                                        [RPS_TREE_IDLE] = 4});
    struct rps_system_time time = rps_run_system_time(&system, 0);

    (void)state;
    NEAR(time.threads_s, 20);
    NEAR(time.asleep_s, 20);
    NEAR(time.asleep_in_s[RPS_SLEEP_LOCK], 10);
    NEAR(time.idle_s, 40);
}

/* If some readings do not know idle threads, the idle threads of all readings count as waiting for
 * locks. */
static void test_idle_of_older_stores(void **state)
{
    struct rps_run_system old = made((int64_t[RPS_TREE_SLOTS]){[RPS_TREE_THREADS] = 5,
                                                               [RPS_TREE_IN_LOCK] = 4,
                                                               [RPS_TREE_IN_TIMER] = 1,
                                                               [RPS_TREE_IDLE] = -1});
    const struct rps_run_system new = made((int64_t[RPS_TREE_SLOTS]){
        [RPS_TREE_THREADS] = 5, [RPS_TREE_IN_TIMER] = 1, [RPS_TREE_IDLE] = 4});
    struct rps_system_time time = rps_run_system_time(&old, 0);

    (void)state;
    assert_true(isnan(time.idle_s));
    NEAR(time.threads_s, 50);
    NEAR(time.asleep_in_s[RPS_SLEEP_LOCK], 40);
    rps_run_system_join(&old, &new);
    time = rps_run_system_time(&old, 0);
    assert_true(isnan(time.idle_s));
    NEAR(time.threads_s, 100);
    NEAR(time.asleep_in_s[RPS_SLEEP_LOCK], 80);
}

/* A workload is stuck if all its threads sleep in futex and hardly any ran. One of many threads may
 * be in timers. The result is 0 if the threads in futex are unknown, as in older stores. */
static void test_stuck(void **state)
{
    static const struct {
        int64_t threads, lock, idle, child, futex;
        double on_s;
        int is_stuck;
    } of[] = {{3, 3, 0, 0, 3, 0, 1},    {3, 0, 3, 0, 3, 0, 1},   {3, 1, 2, 0, 3, .2, 1},
              {3, 1, 2, 0, 3, .3, 0},   {3, 1, 1, 0, 2, 0, 0},   {3, 1, 1, 1, 2, 0, 1},
              {3, 3, 0, 0, 2, 0, 0},    {3, 0, 0, 3, 0, 0, 0},   {3, 1, 2, 0, -1, 0, 0},
              {30, 1, 28, 0, 29, 0, 0}, {30, 1, 29, 0, 30, 0, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        const struct rps_run_system system =
            made((int64_t[RPS_TREE_SLOTS]){[RPS_TREE_RUNNING] = (int64_t)(of[i].on_s * 1e5),
                                           [RPS_TREE_THREADS] = of[i].threads,
                                           [RPS_TREE_IN_LOCK] = of[i].lock,
                                           [RPS_TREE_IDLE] = of[i].idle,
                                           [RPS_TREE_FUTEX] = of[i].futex,
                                           [RPS_TREE_IN_CHILD] = of[i].child});
        struct rps_system_time time = rps_run_system_time(&system, of[i].on_s);

        assert_int_equal(rps_system_time_is_stuck(&time), of[i].is_stuck);
    }
}

/* Blocks have sums of gauges over their readings. */
static void test_blocks(void **state)
{
    struct rps_run_system system = {0};
    struct rps_system_row row = {.source = RPS_SYSTEM_TREE,
                                 .level = 1,
                                 .length_us = 1600000,
                                 .readings = {[RPS_TREE_RSS] = 16},
                                 .sum = {[RPS_TREE_RSS] = 16 * 100},
                                 .lowest = {[RPS_TREE_RSS] = 20},
                                 .highest = {[RPS_TREE_RSS] = 400}};

    (void)state;
    rps_run_system_add(&system, &row);
    NEAR(rps_run_system_mean(&system, RPS_SYSTEM_TREE, RPS_TREE_RSS), 100);
    NEAR(system.slot[RPS_SYSTEM_TREE][RPS_TREE_RSS].low, 20);
    NEAR(system.slot[RPS_SYSTEM_TREE][RPS_TREE_RSS].high, 400);
}

/* A metric that was not read is unknown and not 0. */
static void test_not_read(void **state)
{
    int64_t value[RPS_TREE_SLOTS];
    struct rps_run_system system;
    struct rps_system_time time;

    (void)state;
    for (int s = 0; s < RPS_TREE_SLOTS; s++)
        value[s] = s == RPS_TREE_THREADS ? 1 : -1;
    system = made(value);
    time = rps_run_system_time(&system, 1);
    NEAR(time.elapsed_s, 0);
    assert_true(isnan(rps_system_time_waited(&time)));
    assert_true(isnan(time.asleep_in_s[RPS_SLEEP_IO]));
    assert_true(isnan(rps_run_system_stolen(&system, 2)));
    assert_int_equal(rps_system_time_sleep(&time), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_thread),
        cmocka_unit_test(test_ready),
        cmocka_unit_test(test_unseen_states),
        cmocka_unit_test(test_long_wait),
        cmocka_unit_test(test_children_and_unseen),
        cmocka_unit_test(test_sleep_beside_work),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_idle_of_older_stores),
        cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
