/* Tests of arenas, the memory of one command: separate, zeroed and aligned pieces, growing arrays,
 * and missing memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rpistat/arena.h"

static jmp_buf ended;

static void end(const struct rps_error *why)
{
    assert_true(rps_error_is_memory(why));
    longjmp(ended, 1);
}

static void pieces_are_zeroed_aligned_and_apart(void **state)
{
    struct rps_arena *arena = rps_arena_new();
    unsigned char *piece[3000];
    size_t size[3000];

    (void)state;
    for (size_t i = 0; i < 3000; i++) {
        size[i] = i % 500 == 499 ? 100000 : i % 97; /* some pieces are larger than a block of
                                                       malloc */
        piece[i] = rps_arena_get(arena, size[i], 1);
        assert_int_equal((uintptr_t)piece[i] % 16, 0);
        for (size_t at = 0; at < size[i]; at++)
            assert_int_equal(piece[i][at], 0);
        memset(piece[i], (int)(i % 251) + 1, size[i]);
    }
    for (size_t i = 0; i < 3000; i++)
        for (size_t at = 0; at < size[i]; at++)
            assert_int_equal(piece[i][at], i % 251 + 1);
    rps_arena_free(arena);
    rps_arena_free(NULL);
}

static void texts_are_copied_and_printed(void **state)
{
    struct rps_arena *arena = rps_arena_new();
    char text[] = "cycles";

    (void)state;
    char *copy = rps_arena_text(arena, text);

    text[0] = 'C';
    assert_string_equal(copy, "cycles");
    assert_null(rps_arena_text(arena, NULL));
    assert_string_equal(rps_arena_print(arena, "%d %s", 7, "sets"), "7 sets");
    rps_arena_free(arena);
}

static void an_array_grows_and_keeps_what_it_holds(void **state)
{
    struct rps_arena *arena = rps_arena_new();
    uint64_t *array = NULL;

    (void)state;
    for (uint64_t i = 0; i < 100000; i++) {
        array = rps_arena_grow(arena, array, i, sizeof(*array));
        assert_true(array[i] == 0);
        array[i] = i * i + 1;
    }
    for (uint64_t i = 0; i < 100000; i++)
        assert_true(array[i] == i * i + 1);
    /* An array that lost elements has the room for them. Doubling it 60 times would fail. */
    for (int i = 0; i < 60; i++)
        array = rps_arena_grow(arena, array, 65536, sizeof(*array));
    for (uint64_t i = 0; i < 65536; i++)
        assert_true(array[i] == i * i + 1);
    rps_arena_free(arena);
}

static void exhaustion_ends_the_program(void **state)
{
    struct rps_arena *arena = rps_arena_new();
    volatile int times = 0;

    (void)state;
    rps_arena_on_exhaustion(end);
    if (!setjmp(ended))
        rps_arena_get(arena, SIZE_MAX / 2, 3); /* the product overflows */
    else
        times++;
    if (!setjmp(ended))
        rps_arena_get(arena, 1, SIZE_MAX / 2); /* more than any machine has */
    else
        times++;
    if (!setjmp(ended))
        rps_arena_grow(arena, arena, (SIZE_MAX >> 1) + 1, 1);
    else
        times++;
    assert_int_equal(times, 3);
    assert_non_null(rps_arena_get(arena, 10, 10)); /* earlier memory stays usable */
    rps_arena_on_exhaustion(NULL);
    rps_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_zeroed_aligned_and_apart),
        cmocka_unit_test(texts_are_copied_and_printed),
        cmocka_unit_test(an_array_grows_and_keeps_what_it_holds),
        cmocka_unit_test(exhaustion_ends_the_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
