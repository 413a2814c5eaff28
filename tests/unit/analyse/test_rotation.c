/* Tests of rotations: the periods of a rotation, their sums, and blocks of a coarser level. */
#include "rpistat/rotation.h"
#include "rpistat/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/arena.h"

#define PERIOD_NS INT64_C(100000000)
#define SETS      2

static struct rps_rotation begin(struct rps_plan **ret_plan)
{
    struct rps_plan *plan = rps_plan_new();

    assert_non_null(plan);
    for (int n = 0; n < SETS; n++) {
        struct rps_event_set *set = rps_plan_add_set(plan);

        assert_non_null(set);
        set->event_count = 1;
    }
    *ret_plan = plan;
    return rps_rotation_new(arena, plan);
}

/* Return the row of set `set` for `merged` rotations from `first` on. The row has level 0 if
 * `merged` is 1. */
static struct rps_period row(uint64_t first, uint32_t set, uint64_t merged)
{
    uint64_t number = first * SETS + set, last = number + (merged - 1) * SETS;

    return (struct rps_period){
        .cpu = RPS_CPU_ALL,
        .set_no = set,
        .period = number,
        .rotation = first,
        .cycle = (last + 1) * 1000,
        .cycles = merged * 1000,
        .start_ns = (int64_t)number * PERIOD_NS,
        .length_ns = (int64_t)merged * PERIOD_NS,
        .counted = 1,
        .count = {7 * merged},
        .level = merged > 1,
        .merged = merged > 1 ? merged : 0,
        .last_period = merged > 1 ? last : 0,
        .end_ns = merged > 1 ? (int64_t)(last + 1) * PERIOD_NS : 0,
    };
}

static void test_periods_of_one_rotation(void **state)
{
    struct rps_plan *plan;
    struct rps_rotation rotation = begin(&plan);
    struct rps_period one = row(3, 0, 1), two = row(3, 1, 1), next = row(4, 0, 1);

    (void)state;
    assert_int_equal(rps_rotation_ends(&rotation, &one), 0); /* no rotation has begun */
    rps_rotation_add(&rotation, &one);
    assert_int_equal(rps_rotation_ends(&rotation, &two), 0);
    rps_rotation_add(&rotation, &two);
    assert_int_equal(rps_rotation_ends(&rotation, &next), 1);
    assert_int_equal(rotation.number, 3);
    assert_int_equal(rotation.merged, 1);
    assert_int_equal(rotation.first, 6);
    assert_int_equal(rotation.last, 7);
    assert_int_equal(rotation.from_cycle, 6000);
    assert_int_equal(rotation.to_cycle, 8000);
    assert_int_equal(rotation.tally.start_ns, 6 * PERIOD_NS);
    assert_int_equal(rotation.tally.end_ns, 8 * PERIOD_NS);
    assert_int_equal(rotation.tally.length_ns, 2 * PERIOD_NS);

    rps_rotation_reset(&rotation);
    assert_int_equal(rps_rotation_ends(&rotation, &next), 0);
    rps_rotation_add(&rotation, &next);
    assert_int_equal(rotation.number, 4);
    assert_int_equal(rotation.first, 8);
    assert_int_equal(rotation.from_cycle, 8000);
    assert_int_equal(rotation.tally.periods, 1);
    rps_plan_free(plan);
}

static void test_what_ends_one(void **state)
{
    struct rps_plan *plan;
    struct rps_rotation rotation = begin(&plan);
    struct rps_period one = row(3, 0, 1), other_cpu = row(3, 1, 1), coarser = row(3, 1, 4);

    (void)state;
    other_cpu.cpu = 2;
    rps_rotation_add(&rotation, &one);
    assert_int_equal(rps_rotation_ends(&rotation, &other_cpu), 1);
    assert_int_equal(rps_rotation_ends(&rotation, &coarser), 1);
    rps_plan_free(plan);
}

/* The rotation's number decides where a rotation ends, not the period's number, because a rotation
 * may be cut short. */
static void test_the_number_of_a_rotation(void **state)
{
    struct rps_plan *plan;
    struct rps_rotation rotation = begin(&plan);
    struct rps_period one = row(3, 0, 1), next = row(3, 1, 1), same = row(4, 0, 1);

    (void)state;
    next.rotation = 4;
    same.rotation = 3;
    rps_rotation_add(&rotation, &one);
    assert_int_equal(rps_rotation_ends(&rotation, &next), 1);
    assert_int_equal(rps_rotation_ends(&rotation, &same), 0);
    rps_plan_free(plan);
}

static void test_a_block(void **state)
{
    struct rps_plan *plan;
    struct rps_rotation rotation = begin(&plan);
    struct rps_period one = row(16, 0, 10), two = row(16, 1, 10), next = row(32, 0, 16);

    (void)state;
    rps_rotation_add(&rotation, &one);
    assert_int_equal(rps_rotation_ends(&rotation, &two), 0);
    rps_rotation_add(&rotation, &two);
    assert_int_equal(rps_rotation_ends(&rotation, &next), 1);
    assert_int_equal(rotation.level, 1);
    assert_int_equal(rotation.merged, 10);
    assert_int_equal(rotation.first, 32);
    assert_int_equal(rotation.last, 51);
    assert_int_equal(rotation.from_cycle, 32000);
    assert_int_equal(rotation.to_cycle, 52000);
    assert_int_equal(rotation.tally.periods, 20);
    assert_int_equal(rotation.tally.start_ns, 32 * PERIOD_NS);
    assert_int_equal(rotation.tally.end_ns, 52 * PERIOD_NS);
    assert_int_equal(rotation.tally.length_ns, 20 * PERIOD_NS);
    assert_int_equal(rotation.tally.set[1].count[0], 70);
    rps_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_periods_of_one_rotation, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_what_ends_one, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_the_number_of_a_rotation, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(test_a_block, open_arena, close_arena),
    };

    return cmocka_run_group_tests_name("analyse/rotation", tests, NULL, NULL);
}
