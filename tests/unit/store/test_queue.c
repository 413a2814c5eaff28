/* The ring between the measurement loop and the writer thread. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/queue.h"

static struct rps_period numbered(uint64_t n)
{
    return (struct rps_period){.period = n, .cpu = RPS_CPU_ALL};
}

static void push(struct rps_queue *queue, uint64_t n, bool expected)
{
    struct rps_period period = numbered(n);

    assert_int_equal(rps_queue_push(queue, &period), expected);
}

static void keeps_order_and_bounds(void **state)
{
    struct rps_queue queue;
    struct rps_error err;
    const struct rps_period *at;

    (void)state;
    assert_int_equal(rps_queue_init(&queue, 4, &err), 0);
    assert_int_equal(rps_queue_peek(&queue, 10, &at), 0);
    for (uint64_t n = 0; n < 4; n++)
        push(&queue, n, true);
    push(&queue, 4, false);
    assert_int_equal(rps_queue_peek(&queue, 3, &at), 3);
    assert_int_equal(at[0].period, 0);
    assert_int_equal(at[2].period, 2);
    rps_queue_drop(&queue, 3);
    for (uint64_t n = 4; n < 7; n++)
        push(&queue, n, true);
    push(&queue, 7, false);
    /* what lies behind the end of the ring is a piece of its own */
    assert_int_equal(rps_queue_peek(&queue, 10, &at), 1);
    assert_int_equal(at[0].period, 3);
    rps_queue_drop(&queue, 1);
    assert_int_equal(rps_queue_peek(&queue, 10, &at), 3);
    assert_int_equal(at[0].period, 4);
    assert_int_equal(at[2].period, 6);
    rps_queue_free(&queue);
    rps_queue_free(&queue);
}

static void pushing_leaves_what_was_peeked(void **state)
{
    struct rps_queue queue;
    struct rps_error err;
    const struct rps_period *at;

    (void)state;
    assert_int_equal(rps_queue_init(&queue, 3, &err), 0);
    push(&queue, 0, true);
    push(&queue, 1, true);
    assert_int_equal(rps_queue_peek(&queue, 10, &at), 2);
    push(&queue, 2, true);
    push(&queue, 3, false);
    assert_int_equal(at[0].period, 0);
    assert_int_equal(at[1].period, 1);
    rps_queue_free(&queue);
}

static void an_empty_queue_starts_again(void **state)
{
    struct rps_queue queue;
    struct rps_error err;
    const struct rps_period *at, *first;

    (void)state;
    assert_int_equal(rps_queue_init(&queue, 1000, &err), 0);
    push(&queue, 0, true);
    rps_queue_peek(&queue, 1, &first);
    rps_queue_drop(&queue, 1);
    for (uint64_t n = 1; n < 3000; n++) {
        push(&queue, n, true);
        assert_int_equal(rps_queue_peek(&queue, 10, &at), 1);
        assert_ptr_equal(at, first);
        assert_int_equal(at->period, n);
        rps_queue_drop(&queue, 1);
    }
    rps_queue_free(&queue);
}

/* Pages of the queue's room that are in memory. */
static size_t resident(const struct rps_queue *queue)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = (queue->capacity * sizeof(struct rps_period) + page - 1) / page, count = 0;
    unsigned char *in_memory = calloc(pages, 1);

    assert_non_null(in_memory);
    assert_int_equal(mincore(queue->room, queue->capacity * sizeof(struct rps_period), in_memory),
                     0);
    for (size_t i = 0; i < pages; i++)
        count += in_memory[i] & 1;
    free(in_memory);
    return count;
}

static void room_that_is_not_used_takes_no_memory(void **state)
{
    struct rps_queue queue;
    struct rps_error err;

    (void)state;
    assert_int_equal(rps_queue_init(&queue, 36000, &err), 0);
    for (uint64_t n = 0; n < 10; n++)
        push(&queue, n, true);
    assert_in_range(resident(&queue), 1, 2);
    for (uint64_t n = 10; n < 36000; n++)
        push(&queue, n, true);
    assert_in_range(resident(&queue), 1000, 2000);
    rps_queue_drop(&queue, 36000);
    assert_int_equal(resident(&queue), 0);
    push(&queue, 0, true);
    assert_int_equal(resident(&queue), 1);
    rps_queue_free(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_order_and_bounds),
        cmocka_unit_test(pushing_leaves_what_was_peeked),
        cmocka_unit_test(an_empty_queue_starts_again),
        cmocka_unit_test(room_that_is_not_used_takes_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
