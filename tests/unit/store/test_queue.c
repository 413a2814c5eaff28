/* The ring between the measurement loop and the writer thread. */
#include "fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
    rps_queue_drop(&queue, 1);
    push(&queue, 4, true);
    push(&queue, 5, false);
    /* what lies behind the end of the ring is a piece of its own */
    assert_int_equal(rps_queue_peek(&queue, 10, &at), 3);
    assert_int_equal(at[0].period, 1);
    rps_queue_drop(&queue, 3);
    assert_int_equal(rps_queue_peek(&queue, 10, &at), 1);
    assert_int_equal(at[0].period, 4);
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

/* As with periods of 1 ms: some come while others are being committed. */
static void use_without_emptying(struct rps_queue *queue)
{
    const struct rps_period *at;
    uint64_t pushed = 0, dropped = 0;

    for (int turn = 0; turn < 1000; turn++) {
        while (pushed < dropped + 1000)
            push(queue, pushed++, true);
        assert_int_equal(rps_queue_peek(queue, 997, &at), 997);
        for (uint64_t i = 0; i < 997; i++)
            assert_int_equal(at[i].period, dropped + i);
        rps_queue_drop(queue, 997);
        dropped += 997;
    }
    assert_int_equal(queue->count, 3);
    assert_in_range(resident(queue), 1, 1200 * sizeof(struct rps_period) / 4096);
    /* a disk that hangs for a while: what it took is given back, and nothing is lost */
    for (int i = 0; i < 20000; i++)
        push(queue, pushed++, true);
    assert_in_range(resident(queue), 500, 2000);
    while (queue->count > 5) {
        size_t count = rps_queue_peek(queue, queue->count - 5, &at);

        for (size_t i = 0; i < count; i++)
            assert_int_equal(at[i].period, dropped + i);
        rps_queue_drop(queue, count);
        dropped += count;
    }
    assert_in_range(resident(queue), 1, 16);
    assert_int_equal(rps_queue_peek(queue, 5, &at), 5);
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(at[i].period, dropped + i);
}

static void a_queue_that_is_never_empty_stays_small(void **state)
{
    struct rps_queue queue;
    struct rps_error err;

    (void)state;
    assert_int_equal(rps_queue_init(&queue, 36000, &err), 0);
    use_without_emptying(&queue);
    rps_queue_free(&queue);
}

/* --- sharing --------------------------------------------------------------------------------- */

#define UUID "01234567-89ab-4cde-8f01-23456789abcd"

/* What is left under the name: `count` periods from `first` on. */
static void is_left(uint64_t first, size_t count)
{
    struct rps_left left;
    struct rps_error err;

    assert_int_equal(rps_left_salvage(UUID, geteuid(), &left, &err), 0);
    assert_int_equal(left.count, count);
    assert_false(left.ended);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(left.period[i].period, first + i);
    rps_left_free(&left);
}

static void share(struct rps_queue *queue, size_t capacity)
{
    struct rps_error err;

    rps_left_forget(UUID);
    assert_int_equal(rps_queue_init(queue, capacity, &err), 0);
    if (!rps_queue_share(queue, UUID, "/"))
        skip();                /* no shared memory here */
    flock(queue->fd, LOCK_UN); /* as if its recorder were gone */
}

static void a_shared_queue_that_is_never_empty_stays_small(void **state)
{
    struct rps_queue queue;
    struct stat status;

    (void)state;
    share(&queue, 36000);
    use_without_emptying(&queue);
    assert_int_equal(fstat(queue.fd, &status), 0);
    assert_in_range(status.st_blocks, 1, 4 * 65536 / 512);
    is_left(queue.room[queue.first].period, 5);
    rps_queue_unshare(&queue, UUID, false);
    rps_queue_free(&queue);
}

static void what_is_shared_can_be_salvaged(void **state)
{
    struct rps_queue queue;

    (void)state;
    share(&queue, 2000);
    is_left(0, 0);
    for (uint64_t n = 0; n < 1500; n++)
        push(&queue, n, true);
    is_left(0, 1500);
    rps_queue_drop(&queue, 1000);
    for (uint64_t n = 1500; n < 2500; n++) /* around the end of the room */
        push(&queue, n, true);
    is_left(1000, 1500);
    rps_queue_drop(&queue, 1500); /* long: memory is given back */
    is_left(0, 0);
    push(&queue, 7, true);
    for (uint64_t n = 8; n < 1000; n++)
        push(&queue, n, true);
    is_left(7, 993);
    rps_queue_free(&queue);
    is_left(7, 993); /* as after a kill */
    rps_left_forget(UUID);
    is_left(0, 0);
    assert_false(rps_left_is_there(UUID));
}

static void an_end_leaves_what_it_should(void **state)
{
    struct rps_queue queue;

    (void)state;
    share(&queue, 100);
    push(&queue, 1, true);
    rps_queue_unshare(&queue, UUID, true);
    is_left(1, 1);
    push(&queue, 5, true); /* still a queue, and no longer shared */
    is_left(1, 1);
    rps_queue_free(&queue);
    share(&queue, 100);
    push(&queue, 2, true);
    rps_queue_unshare(&queue, UUID, false);
    assert_false(rps_left_is_there(UUID));
    rps_queue_free(&queue);
}

static void damage_is_not_believed(void **state)
{
    struct rps_queue queue;
    int fd;

    (void)state;
    share(&queue, 100);
    push(&queue, 1, true);
    rps_queue_free(&queue);
    fd = shm_open("/rpistat-" UUID, O_RDWR, 0);
    assert_true(fd >= 0);
    for (off_t at = 0; at < 40; at++) {
        struct rps_left left;
        struct rps_error err;
        char byte, wrong;

        assert_int_equal(pread(fd, &byte, 1, at), 1);
        wrong = (char)~byte;
        assert_int_equal(pwrite(fd, &wrong, 1, at), 1);
        assert_int_equal(rps_left_salvage(UUID, geteuid(), &left, &err), 0);
        assert_true(left.count <= 100);
        rps_left_free(&left);
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    is_left(1, 1);
    assert_int_equal(fchmod(fd, 0620), 0); /* others could have written it */
    is_left(0, 0);
    assert_int_equal(fchmod(fd, 0600), 0);
    assert_int_equal(ftruncate(fd, 100), 0);
    is_left(0, 0);
    close(fd);
    rps_left_forget(UUID);
}

static void only_uuids_are_names(void **state)
{
    static const char *const wrong[] = {"", "1", "../../etc/passwd", "0123456789/0", "%s%s%s%s%s"};
    struct rps_queue queue;
    struct rps_error err;

    (void)state;
    assert_int_equal(rps_queue_init(&queue, 3, &err), 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(rps_queue_share(&queue, wrong[i], "/"), 0);
        assert_false(rps_left_is_there(wrong[i]));
    }
    rps_queue_free(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_order_and_bounds),
        cmocka_unit_test(pushing_leaves_what_was_peeked),
        cmocka_unit_test(an_empty_queue_starts_again),
        cmocka_unit_test(room_that_is_not_used_takes_no_memory),
        cmocka_unit_test(a_queue_that_is_never_empty_stays_small),
        cmocka_unit_test(a_shared_queue_that_is_never_empty_stays_small),
        cmocka_unit_test(what_is_shared_can_be_salvaged),
        cmocka_unit_test(an_end_leaves_what_it_should),
        cmocka_unit_test(damage_is_not_believed),
        cmocka_unit_test(only_uuids_are_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
