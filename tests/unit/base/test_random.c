/* Tests of random numbers from splitmix64 and from the kernel. */
#include "rpistat/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The sequence equals Vigna's reference implementation for seed 1234567. */
static void test_sequence(void **state)
{
    static const uint64_t expected[] = {
        UINT64_C(6457827717110365317), UINT64_C(3203168211198807973), UINT64_C(9817491932198370423),
        UINT64_C(4593380528125082431), UINT64_C(16408922859458223821)};
    uint64_t random = 1234567;

    (void)state;
    for (uint64_t n = 0; n < 5; n++) {
        assert_int_equal(rps_random_next(&random), expected[n]);
        assert_int_equal(rps_random_at(1234567, n), expected[n]);
    }
}

static void test_unit(void **state)
{
    uint64_t random = 7;
    double sum = 0;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        double value = rps_random_unit(&random);

        assert_true(value >= 0 && value < 1);
        sum += value;
    }
    assert_true(sum > 4900 && sum < 5100);
}

static void test_bytes(void **state)
{
    unsigned char a[16] = {0}, b[16] = {0};
    struct rps_error err;

    (void)state;
    assert_int_equal(rps_random_bytes(a, sizeof(a), &err), 0);
    assert_int_equal(rps_random_bytes(b, sizeof(b), &err), 0);
    assert_memory_not_equal(a, b, sizeof(a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequence),
        cmocka_unit_test(test_unit),
        cmocka_unit_test(test_bytes),
    };

    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
