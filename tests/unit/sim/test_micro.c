/* Tests of the microbenchmarks: each runs and ends, and its predictions are consistent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "rpistat/micro.h"

static int run_once(const struct rps_micro *micro, uint64_t turns, struct rps_micro_result *result)
{
    struct rps_micro_child child;
    struct rps_error err = {""};
    int rc = rps_micro_launch(&child, micro, turns, &err);

    if (rc != 0)
        return rc;
    assert_true(child.pid > 0 && child.pidfd >= 0);
    assert_int_equal(waitpid(child.pid, NULL, WNOHANG), 0); /* The child waits. */
    assert_int_equal(rps_micro_release(&child, &err), 0);
    assert_int_equal(rps_micro_finish(&child, result, &err), 0);
    assert_int_equal(waitpid(child.pid, NULL, 0), -1); /* The child was reaped. */
    return 0;
}

/* Each microbenchmark runs a few iterations in a child and returns. */
static void test_run(void **state)
{
    (void)state;
    for (int i = 0; rps_micros[i].name; i++) {
        struct rps_micro_result result = {.cpu_ns = -1};
        int rc = run_once(&rps_micros[i], 10, &result);

        if (rc == 1) /* The benchmark needs a second processor. */
            continue;
        assert_int_equal(rc, 0);
        assert_true(result.cpu_ns >= 0);
    }
}

/* More iterations take more time, so the compiler has not removed the loop. */
static void test_turns(void **state)
{
    struct rps_micro_result few, many;

    (void)state;
    assert_int_equal(run_once(rps_micro_find("loop"), 1000, &few), 0);
    assert_int_equal(run_once(rps_micro_find("loop"), 10000000, &many), 0);
    assert_true(many.cpu_ns > 10 * few.cpu_ns);
}

/* Predictions grow with the iterations. Tolerances, and the bases of relative errors, are
 * plausible. */
static void test_predictions(void **state)
{
    (void)state;
    for (int i = 0; rps_micros[i].name; i++) {
        struct rps_micro_prediction one[RPS_MICRO_PREDICTION_MAX], two[RPS_MICRO_PREDICTION_MAX];
        const struct rps_micro_result result = {.cpu_ns = 1000}, twice = {.cpu_ns = 2000};
        int count = rps_micro_predict(&rps_micros[i], 1000, &result, one);

        assert_true(count > 0 && count <= RPS_MICRO_PREDICTION_MAX);
        assert_int_equal(rps_micro_predict(&rps_micros[i], 2000, &twice, two), count);
        for (int p = 0; p < count; p++) {
            assert_float_equal(two[p].count, 2 * one[p].count, 0);
            assert_true(one[p].of > 0);
            assert_true(one[p].tolerance > 0 && one[p].tolerance <= 0.3);
            assert_true(one[p].above >= one[p].tolerance);
        }
    }
}

/* The chase goes through every line once before it comes back to the first. */
static void test_chase(void **state)
{
    const size_t bytes = 64 * 1000;
    char *memory = aligned_alloc(64, bytes);
    const char *line = memory;
    size_t steps = 0;

    (void)state;
    assert_non_null(memory);
    assert_int_equal(rps_micro_find("chase")->prepare(memory, bytes), 0);
    do {
        assert_true(line >= memory && line < memory + bytes && (line - memory) % 64 == 0);
        memcpy(&line, line, sizeof(line));
        steps++;
    } while (line != memory && steps <= bytes / 64);
    assert_int_equal(steps, bytes / 64);
    free(memory);
}

static int refuse(void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
    return -1;
}

static void die(void *memory, size_t bytes, uint64_t turns)
{
    (void)memory;
    (void)bytes;
    (void)turns;
    _exit(3);
}

/* The tests cover a machine that cannot run a microbenchmark, and a child that dies. */
static void test_failures(void **state)
{
    const struct rps_micro impossible = {.name = "x", .turns = 1, .prepare = refuse, .run = die};
    const struct rps_micro deadly = {.name = "y", .turns = 1, .run = die};
    struct rps_micro_result result = {.cpu_ns = 7};
    struct rps_micro_child child;
    struct rps_error err = {""};

    (void)state;
    assert_int_equal(rps_micro_launch(&child, &impossible, 1, &err), 1);
    assert_int_equal(rps_micro_launch(&child, &deadly, 1, &err), 0);
    assert_int_equal(rps_micro_release(&child, &err), 0);
    assert_int_equal(rps_micro_finish(&child, &result, &err), RPS_FAILED);
    assert_non_null(strstr(err.message, "too early"));
    assert_int_equal(result.cpu_ns, 7);
    assert_null(rps_micro_find("no such"));
    assert_string_equal(rps_micro_find("load")->name, "load");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run),         cmocka_unit_test(test_turns),
        cmocka_unit_test(test_predictions), cmocka_unit_test(test_chase),
        cmocka_unit_test(test_failures),
    };

    return cmocka_run_group_tests_name("measure/micro", tests, NULL, NULL);
}
