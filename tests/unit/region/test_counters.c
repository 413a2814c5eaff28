/* Tests of the counters of one thread, and of the two ways of reading them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "region/state.h"
#include "region/counters.h"
#include "rpistat/plan.h"
#include "rpistat/micro.h"

/* Most instructions that a reading itself may count. */
#define READING_MAX 1000000

#define LOOP_TURNS        1000000
#define LOOP_INSTRUCTIONS 4

static struct rps_region_choice choice;
static struct rps_counters counters;

static void open_counters(const char *sets)
{
    struct rps_error err;

    if (rps_choice_make(&choice, sets) < 0) {
        print_message("nothing can be counted here: %s\n", choice.problem);
        skip();
    }
    assert_int_equal(rps_counters_open(&counters, choice.plan, choice.set, &err), 0);
}

static int close_counters(void **state)
{
    (void)state;
    rps_counters_close(&counters, 0);
    rps_choice_free(&choice);
    return 0;
}

static void spin(void)
{
    rps_micro_find("loop")->run(NULL, 0, LOOP_TURNS);
}

/* Every measured event is valid, its count never decreases, and the count of the work is included.
 */
static void test_system(void **state)
{
    struct rps_counters_sample before, after;
    uint32_t expected = 1;

    (void)state;
    open_counters(NULL);
    for (int s = 0; s < choice.plan->set[choice.set].event_count; s++)
        if (choice.plan->set[choice.set].event[s].state == RPS_EVENT_MEASURED &&
            !choice.plan->set[choice.set].event[s].by_clock)
            expected |= UINT32_C(2) << s;
    rps_counters_read_system(&counters, &before);
    spin();
    rps_counters_read_system(&counters, &after);
    assert_int_equal(before.valid, expected);
    assert_int_equal(after.valid, expected);
    assert_true(after.enabled_ns > before.enabled_ns);
    assert_true(after.running_ns <= after.enabled_ns);
    if (after.running_ns > before.running_ns)
        assert_true(after.value[0] > before.value[0]);
    for (int i = 0; i < counters.count; i++)
        assert_true(!(expected >> i & 1) || after.value[i] >= before.value[i]);
}

/* A reading without a system call lies between two readings with one, in counts and in times. */
static void test_both_ways(void **state)
{
    struct rps_counters_sample first, middle, last;
    int compared = 0;

    (void)state;
    open_counters(NULL);
    for (int round = 0; round < 20; round++) {
        spin();
        rps_counters_read_system(&counters, &first);
        if (rps_counters_read_user(&counters, &middle) < 0)
            continue;
        rps_counters_read_system(&counters, &last);
        compared++;
        assert_int_equal(middle.valid, first.valid);
        for (int i = 0; i < counters.count; i++) {
            if (!(middle.valid >> i & 1))
                continue;
            assert_true(first.value[i] <= middle.value[i]);
            assert_true(middle.value[i] <= last.value[i]);
        }
        assert_true(first.enabled_ns <= middle.enabled_ns + 1000);
        assert_true(middle.enabled_ns <= last.enabled_ns + 1000);
        assert_true(first.running_ns <= middle.running_ns + 1000);
        assert_true(middle.running_ns <= last.running_ns + 1000);
    }
    if (compared == 0) {
        print_message("counters cannot be read without a system call here\n");
        skip();
    }
}

/* The loop has its known number of instructions, in both ways of reading and in mixed readings. */
static void test_known_count(void **state)
{
    struct rps_counters_sample begin, end;
    int slot = -1;

    (void)state;
    open_counters(NULL);
    for (int s = 0; s < choice.plan->set[choice.set].event_count; s++)
        if (strcmp(choice.plan->set[choice.set].event[s].role, "instructions") == 0 &&
            choice.plan->set[choice.set].event[s].state == RPS_EVENT_MEASURED)
            slot = s + 1;
    if (slot < 0) {
        print_message("instructions cannot be counted here\n");
        skip();
    }
    for (int way = 0; way < 4; way++) {
        uint64_t counted;

        if ((way & 1) || rps_counters_read_user(&counters, &begin) < 0)
            rps_counters_read_system(&counters, &begin);
        spin();
        if ((way & 2) || rps_counters_read_user(&counters, &end) < 0)
            rps_counters_read_system(&counters, &end);
        if (end.running_ns - begin.running_ns + 1000 < end.enabled_ns - begin.enabled_ns)
            continue; /* Another program uses the counters. */
        counted = end.value[slot] - begin.value[slot];
        assert_true(counted >= (uint64_t)LOOP_TURNS * LOOP_INSTRUCTIONS);
        assert_true(counted < (uint64_t)LOOP_TURNS * LOOP_INSTRUCTIONS + READING_MAX);
    }
}

/* Time spent waiting for another program is not time in which the events of this thread could be
 * counted. */
static void test_waiting(void **state)
{
    struct rps_counters_sample begin, end;
    struct rps_micro_child child;
    struct rps_micro_result result;
    struct rps_error err;

    (void)state;
    open_counters(NULL);
    assert_int_equal(rps_micro_launch(&child, rps_micro_find("loop"), 50 * LOOP_TURNS, &err), 0);
    rps_counters_read(&counters, &begin);
    rps_counters_read(&counters, &begin);
    assert_int_equal(rps_micro_release(&child, &err), 0);
    assert_int_equal(rps_micro_finish(&child, &result, &err), 0);
    rps_counters_read(&counters, &end);
    assert_true(end.enabled_ns >= begin.enabled_ns);
    assert_true(end.enabled_ns - begin.enabled_ns < (uint64_t)result.cpu_ns / 2);
}

/* Software events never use a hardware counter. */
static void test_software(void **state)
{
    struct rps_counters_sample sample;

    (void)state;
    open_counters("software");
    assert_int_equal(rps_counters_read_user(&counters, &sample), -1);
    rps_counters_read(&counters, &sample);
    assert_true(sample.valid & 1);
}

/* Counters that could not be opened are read as no values. */
static void test_closed(void **state)
{
    struct rps_counters_sample sample = {.valid = 1};
    struct rps_error err;

    (void)state;
    open_counters("software");
    rps_counters_close(&counters, 0);
    rps_counters_read(&counters, &sample);
    assert_int_equal(sample.valid, 0);
    rps_counters_close(&counters, 0);
    choice.plan->clock.type = 12345; /* No PMU has this type. */
    assert_int_equal(rps_counters_open(&counters, choice.plan, choice.set, &err), RPS_FAILED);
    assert_non_null(strstr(err.message, choice.plan->clock.spec));
    rps_counters_read(&counters, &sample);
    assert_int_equal(sample.valid, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_system, close_counters),
        cmocka_unit_test_teardown(test_both_ways, close_counters),
        cmocka_unit_test_teardown(test_known_count, close_counters),
        cmocka_unit_test_teardown(test_waiting, close_counters),
        cmocka_unit_test_teardown(test_software, close_counters),
        cmocka_unit_test_teardown(test_closed, close_counters),
    };

    return cmocka_run_group_tests_name("region/counters", tests, NULL, NULL);
}
