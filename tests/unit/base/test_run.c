/* Tests of runs and series: initial values, deep copies, and freeing twice. */
#include "rpistat/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "rpistat/arena.h"

static void test_init(void **state)
{
    struct rps_run run;

    (void)state;
    memset(&run, 0x55, sizeof(run));
    rps_run_init(&run);
    assert_string_equal(run.uuid, "");
    assert_string_equal(run.cpu_model, "");
    assert_string_equal(run.end_reason, "");
    assert_null(run.argv);
    assert_null(run.tag);
    assert_null(run.folder);
    assert_int_equal(run.argc, 0);
    assert_int_equal(run.counter_count, -1);
    assert_int_equal(run.paranoid, -100);
    assert_int_equal(run.nmi_watchdog, -1);
    assert_int_equal(run.order_seed, -1);
    assert_int_equal(run.elapsed_ns, -1);
    assert_int_equal(run.exit_status, -1);
    assert_int_equal(run.exit_signal, 0);
    assert_int_equal(run.state, RPS_RUN_RECORDING);
}

static void test_command_is_copied(void **state)
{
    char first[] = "first", second[] = "second";
    char *argv[] = {first, second, NULL};
    struct rps_run run;

    (void)state;
    rps_run_init(&run);
    rps_run_set_command(&run, 2, argv);
    first[0] = 'X';
    assert_int_equal(run.argc, 2);
    assert_string_equal(run.argv[0], "first");
    assert_string_equal(run.argv[1], "second");
    assert_null(run.argv[2]);

    /* The new command comes from the run's own arguments, so it must be copied before the old one
     * is freed. */
    rps_run_set_command(&run, 1, run.argv + 1);
    assert_int_equal(run.argc, 1);
    assert_string_equal(run.argv[0], "second");
    assert_null(run.argv[1]);
    rps_run_free(&run);
}

static void test_tags(void **state)
{
    struct rps_run run;

    (void)state;
    rps_run_init(&run);
    rps_run_add_tag(&run, "machine", "pi");
    rps_run_add_tag(&run, "size", "500");
    rps_run_add_tag(&run, "machine", "pi zero");
    assert_int_equal(run.tag_count, 2);
    assert_string_equal(run.tag[0].key, "machine");
    assert_string_equal(run.tag[0].value, "pi zero");
    assert_string_equal(run.tag[1].key, "size");
    assert_string_equal(run.tag[1].value, "500");
    rps_run_free(&run);
}

static void test_texts_are_in_the_arena(void **state)
{
    char *argv[] = {(char[]){"a"}, NULL};
    struct rps_arena *arena = rps_arena_new();
    struct rps_run run;

    (void)state;
    rps_run_init(&run);
    run.arena = arena;
    rps_run_set_command(&run, 1, argv);
    rps_run_add_tag(&run, "k", "v");
    assert_ptr_equal(rps_run_arena(&run), arena);
    rps_arena_free(arena); /* a text outside the arena would be a leak */
}

static void test_own_arena_is_freed(void **state)
{
    struct rps_run run;

    (void)state;
    rps_run_init(&run);
    rps_run_add_tag(&run, "k", "v");
    rps_run_free(&run);
    assert_null(run.arena);
    assert_int_equal(run.tag_count, 0);
    rps_run_free(&run);
}

/* Every window of the returned number of periods contains each set the given number of times. A
 * shorter window may miss a set. */
static void test_periods_with(void **state)
{
    struct rps_run run;

    (void)state;
    rps_run_init(&run);
    assert_int_equal(rps_run_periods_with(&run, 4, 1), 4);
    assert_int_equal(rps_run_periods_with(&run, 4, 2), 8);
    assert_int_equal(rps_run_periods_with(&run, 1, 3), 3);
    run.order_seed = 0; /* random order: up to 6 periods between two of a set */
    assert_int_equal(rps_run_periods_with(&run, 4, 1), 7);
    assert_int_equal(rps_run_periods_with(&run, 4, 2), 11);
    run.period_ns = 100;
    assert_int_equal(rps_run_rotations_ns(&run, 4, 2, 1200), 1100);
    assert_int_equal(rps_run_rotations_ns(&run, 4, 2, 1000), 1000);
    run.period_ns = INT64_MAX / 4;
    assert_int_equal(rps_run_rotations_ns(&run, 4, 2, 1200), 1200);
    run.period_ns = -1;
    assert_int_equal(rps_run_rotations_ns(&run, 4, 2, 1200), 1200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_init),
        cmocka_unit_test(test_command_is_copied),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_texts_are_in_the_arena),
        cmocka_unit_test(test_own_arena_is_freed),
        cmocka_unit_test(test_periods_with),
    };

    return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
