/* Tests of growing arrays and of the search in sorted arrays. */
#include "rpistat/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

/* Valgrind and the sanitizers report a write beyond the array. */
static void test_one_by_one(void **state)
{
    int *array = NULL;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        int *added = rps_array_add(&array, (size_t)i, sizeof(*array));

        assert_ptr_equal(added, &array[i]);
        assert_int_equal(*added, 0);
        *added = i;
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(array[i], i);
    free(array);
}

static void test_insert(void **state)
{
    static const size_t at[] = {0, 0, 2, 1}; /* at the start, at the end and between elements */
    static const int expected[] = {2, 4, 1, 3};
    int *array = NULL;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        int *added = rps_array_insert(&array, i, at[i], sizeof(*array));

        assert_ptr_equal(added, &array[at[i]]);
        assert_int_equal(*added, 0);
        *added = (int)i + 1;
    }
    assert_memory_equal(array, expected, sizeof(expected));
    free(array);
}

static void test_between_powers_of_two_nothing_moves(void **state)
{
    char *array = rps_array_grow_by(NULL, 0, 5, 100), *same;

    (void)state;
    memset(array, 'x', 800);
    same = rps_array_grow_by(array, 5, 3, 100);
    assert_ptr_equal(same, array);
    assert_non_null(rps_array_add(&array, 8, 100));
    memset(array + 800, 'y', 800);
    assert_int_equal(array[799], 'x');
    free(array);
}

static void test_nothing_more(void **state)
{
    int one = 1;

    (void)state;
    assert_null(rps_array_grow_by(NULL, 0, 0, sizeof(one)));
    assert_ptr_equal(rps_array_grow_by(&one, 1, 0, sizeof(one)), &one);
}

static void test_what_no_memory_holds(void **state)
{
    char *none = NULL;

    (void)state;
    assert_null(rps_array_grow_by(NULL, 0, SIZE_MAX, 1));
    assert_null(rps_array_grow_by(NULL, 2, SIZE_MAX, 1));
    assert_null(rps_array_grow_by(NULL, 0, SIZE_MAX / 4, 16));
    assert_null(rps_array_add(&none, 0, SIZE_MAX));
    assert_null(none);
}

static int is_less(const void *thing, const void *key)
{
    return *(const int *)thing < *(const int *)key;
}

static void test_search_equals_counting(void **state)
{
    int array[40];

    (void)state;
    for (size_t count = 0; count <= 40; count++) {
        for (size_t i = 0; i < count; i++)
            array[i] = (int)(i / 3) * 2; /* three of each even number, no odd number */
        for (int key = -1; key < 30; key++) {
            size_t expected = 0;

            for (size_t i = 0; i < count; i++)
                expected += array[i] < key;
            assert_int_equal(rps_array_find(array, count, sizeof(*array), is_less, &key),
                             expected);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_by_one),
        cmocka_unit_test(test_insert),
        cmocka_unit_test(test_between_powers_of_two_nothing_moves),
        cmocka_unit_test(test_nothing_more),
        cmocka_unit_test(test_what_no_memory_holds),
        cmocka_unit_test(test_search_equals_counting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
