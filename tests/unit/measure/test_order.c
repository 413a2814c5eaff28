/* Tests of the order of the event sets: each set once per rotation, all orders equally often, and
 * the same order for the same seed. */
#include "rpistat/order.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SETS_MAX 12

/* Check that the rotation has each set once. */
static void expect_permutation(const struct rps_order *order, int sets, uint64_t rotation)
{
    int seen[SETS_MAX] = {0};

    for (uint64_t n = 0; n < (uint64_t)sets; n++) {
        int set = rps_order_set(order, sets, rotation * (uint64_t)sets + n);

        assert_in_range(set, 0, sets - 1);
        assert_int_equal(seen[set]++, 0);
    }
}

static void test_fixed(void **state)
{
    const struct rps_order fixed = {0};

    (void)state;
    for (uint64_t period = 0; period < 100; period++) {
        assert_int_equal(rps_order_set(&fixed, 4, period), period % 4);
        assert_int_equal(rps_order_set(&fixed, 1, period), 0);
    }
}

static void test_permutations(void **state)
{
    static const uint64_t seeds[] = {0, 1, 1372259553, UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        const struct rps_order order = {1, seeds[i]};

        for (int sets = 1; sets <= SETS_MAX; sets++)
            for (uint64_t rotation = 0; rotation < 200; rotation++) {
                expect_permutation(&order, sets, rotation);
                expect_permutation(&order, sets, (UINT64_C(1) << 50) + rotation);
            }
    }
}

/* Recordings and later simulations with one seed must have the same order, so these orders must
 * never change. */
static void test_same(void **state)
{
    static const int expected[] = {3, 0, 2, 1, 2, 1, 0, 3, 2, 1, 3, 0, 1, 0, 3, 2,
                                   1, 2, 3, 0, 2, 1, 0, 3, 0, 2, 3, 1, 3, 2, 0, 1};
    const struct rps_order order = {1, 5}, other = {1, 6};
    size_t same = 0;

    (void)state;
    for (uint64_t period = 0; period < 32; period++)
        assert_int_equal(rps_order_set(&order, 4, period), expected[period]);
    for (uint64_t period = 0; period < 4000; period++)
        same += rps_order_set(&order, 4, period) == rps_order_set(&other, 4, period);
    assert_in_range(same, 900, 1100); /* a quarter is expected by chance */
}

/* Return an order of four sets as a number: one base-4 digit per position. */
static unsigned int number_of(const struct rps_order *order, uint64_t rotation)
{
    unsigned int number = 0;

    for (uint64_t n = 0; n < 4; n++)
        number = 4 * number + (unsigned int)rps_order_set(order, 4, 4 * rotation + n);
    return number;
}

/* With three or more sets, no set is counted twice in a row. With two sets, both orders occur. */
static void test_apart(void **state)
{
    const struct rps_order order = {1, 11};

    (void)state;
    for (int sets = 2; sets <= SETS_MAX; sets++) {
        size_t twice = 0;

        for (uint64_t period = 1; period < 400 * (uint64_t)sets; period++)
            twice += rps_order_set(&order, sets, period) == rps_order_set(&order, sets, period - 1);
        if (sets == 2)
            assert_in_range(twice, 150, 250);
        else
            assert_int_equal(twice, 0);
    }
}

/* Return how often order b is expected after order a. b never begins with the last set of a. If
 * that set is second in b, the order is twice as frequent, because the first two sets were swapped.
 */
static double expected_after(unsigned int a, unsigned int b)
{
    unsigned int last = a % 4;

    return b / 64 == last ? 0 : b / 16 % 4 == last ? 2 * 1000 / 24. : 1000 / 24.;
}

/* The 24 orders of four sets occur 1,000 times each, within chance (deviation 31). Pairs of orders
 * are checked too. */
static void test_even(void **state)
{
    const struct rps_order order = {1, 7};
    static unsigned int count[256], behind[256][256];
    unsigned int orders = 0, before = number_of(&order, 0);

    (void)state;
    for (uint64_t rotation = 1; rotation <= 24000; rotation++) {
        unsigned int number = number_of(&order, rotation);

        count[number]++;
        behind[before][number]++;
        before = number;
    }
    for (unsigned int a = 0; a < 256; a++) {
        if (count[a] == 0)
            continue;
        orders++;
        assert_in_range(count[a], 870, 1130);
        for (unsigned int b = 0; b < 256; b++)
            if (count[b] > 0) /* the count is within 5 deviations */
                assert_true(fabs(behind[a][b] - expected_after(a, b)) <=
                            5 * sqrt(expected_after(a, b)));
    }
    assert_int_equal(orders, 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed), cmocka_unit_test(test_permutations),
        cmocka_unit_test(test_same),  cmocka_unit_test(test_apart),
        cmocka_unit_test(test_even),
    };

    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
