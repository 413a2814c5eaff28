/* Tests of the table of keys against an array that is searched linearly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "code/intern.h"

#define KEYS 64 /* few keys, so that each is added and removed often */

struct item {
    struct rps_intern_key key;
    uint64_t value;
};

/* Check that the number of every present key is found, and no other number. */
static void expect_found(const struct rps_intern *table, const int64_t *number)
{
    size_t used = 0;

    for (uint64_t key = 0; key < KEYS; key++) {
        assert_int_equal(rps_intern_find(table, key % 8, key / 8), number[key]);
        if (number[key] >= 0) {
            const struct item *item = rps_intern_at(table, number[key]);

            assert_int_equal(item->value, key);
            used++;
        }
    }
    assert_int_equal(table->used, used);
}

static void test_come_and_go(void **state)
{
    struct rps_intern table = RPS_INTERN_OF(struct item);
    int64_t number[KEYS];
    uint64_t random = 1;

    (void)state;
    memset(number, -1, sizeof(number));
    for (int turn = 0; turn < 20000; turn++) {
        uint64_t key = (random = random * UINT64_C(6364136223846793005) + 1) >> 58;
        struct item *item;
        int is_new;

        if (number[key] >= 0 && random >> 40 & 1) {
            rps_intern_remove(&table, number[key]);
            number[key] = -1;
        } else {
            int64_t got = rps_intern_add(&table, key % 8, key / 8, &is_new);

            item = rps_intern_at(&table, got);
            assert_int_equal(is_new, number[key] < 0);
            assert_true(is_new ? item->value == 0 : got == number[key]);
            item->value = key;
            number[key] = got;
        }
        expect_found(&table, number);
    }
    assert_in_range(table.count, 1, KEYS); /* numbers are reused */
    rps_intern_free(&table);
    assert_int_equal(rps_intern_find(&table, 0, 0), -1);
}

static void test_numbers_in_order(void **state)
{
    struct rps_intern table = RPS_INTERN_OF(struct rps_intern_key);
    int is_new;

    (void)state;
    for (int64_t i = 0; i < 5000; i++)
        assert_int_equal(rps_intern_add(&table, (uint64_t)i * 4096, 7, &is_new), i);
    for (int64_t i = 0; i < 5000; i++)
        assert_int_equal(rps_intern_add(&table, (uint64_t)i * 4096, 7, &is_new), i);
    rps_intern_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_come_and_go),
        cmocka_unit_test(test_numbers_in_order),
    };

    return cmocka_run_group_tests_name("intern", tests, NULL, NULL);
}
