/* The ring is compared with a list. Pushed records come out in order, and stay in place until they
 * are dropped. */
#include "fixture.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/writer.h"

#define LIST_MAX 4096

struct record {
    uint32_t kind;
    size_t payload;
    uint8_t byte; /* value of all bytes of the payload */
    uint8_t *at;
};

struct list {
    struct record record[LIST_MAX];
    size_t first, end; /* first and last position, modulo LIST_MAX */
    size_t bytes;      /* bytes of all records, without space lost at the end of the ring */
};

static uint64_t random_number(uint64_t *state, uint64_t range)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % range;
}

static int push(struct rps_ring *ring, struct list *list, uint32_t kind, size_t payload)
{
    uint8_t *at = rps_ring_push(ring, kind, payload), byte = (uint8_t)(list->end * 7 + kind);

    if (!at)
        return 0;
    assert_true(at >= ring->data && at + payload <= ring->data + ring->size);
    assert_int_equal((uintptr_t)at % 8, 0);
    memset(at, byte, payload);
    list->record[list->end++ % LIST_MAX] = (struct record){kind, payload, byte, at};
    list->bytes += rps_ring_bytes(payload);
    return 1;
}

/* Walk over `count` records. *place is the final position of the walk. */
static void walk(const struct rps_ring *ring, const struct list *list, size_t count, int lie_still,
                 struct rps_ring_place *place)
{
    *place = (struct rps_ring_place){0};
    for (size_t i = 0; i < count; i++) {
        const struct record *expected = &list->record[(list->first + i) % LIST_MAX];
        const struct rps_ring_record *record = rps_ring_next(ring, place);
        const uint8_t *payload = (const uint8_t *)(record + 1);

        assert_non_null(record);
        assert_int_equal(record->kind, expected->kind);
        assert_int_equal(record->bytes, rps_ring_bytes(expected->payload));
        if (lie_still)
            assert_ptr_equal(payload, expected->at);
        for (size_t b = 0; b < expected->payload; b++)
            assert_int_equal(payload[b], expected->byte);
    }
    assert_int_equal(place->count, count);
}

static void drop(struct rps_ring *ring, struct list *list, size_t count)
{
    struct rps_ring_place place;

    walk(ring, list, count, 0, &place);
    for (size_t i = 0; i < count; i++)
        list->bytes -= rps_ring_bytes(list->record[list->first++ % LIST_MAX].payload);
    rps_ring_drop(ring, &place);
    /* Remaining records may have moved. */
    place = (struct rps_ring_place){0};
    for (size_t i = list->first; i < list->end; i++)
        list->record[i % LIST_MAX].at = (uint8_t *)(rps_ring_next(ring, &place) + 1);
    assert_int_equal(ring->count, list->end - list->first);
    assert_null(rps_ring_next(ring, &place));
}

static void like_a_list(void **state)
{
    static struct list list;
    struct rps_ring ring;
    struct rps_error err;
    uint64_t random = 1;
    size_t refused = 0, wrapped = 0;

    (void)state;
    for (size_t size = 4096; size <= 5 * 65536; size *= 3) {
        size_t largest = size / 8;

        memset(&list, 0, sizeof(list));
        assert_int_equal(rps_ring_init(&ring, size, &err), 0);
        assert_true(ring.size >= size);
        for (int turn = 0; turn < 1500; turn++) {
            size_t pushes = random_number(&random, 12);
            struct rps_ring_place place;

            for (size_t i = 0; i < pushes && list.end - list.first < LIST_MAX; i++) {
                size_t payload = random_number(&random, largest);

                if (push(&ring, &list, 1 + (uint32_t)random_number(&random, 3), payload))
                    continue;
                /* When the ring is full, the unused space is at most a record at the end of the
                 * memory. */
                assert_true(list.bytes + 2 * (largest + 16) > ring.size);
                refused++;
            }
            wrapped += ring.head + ring.used > ring.size;
            walk(&ring, &list, list.end - list.first, 1, &place);
            assert_null(rps_ring_next(&ring, &place));
            drop(&ring, &list, random_number(&random, list.end - list.first + 1));
        }
        rps_ring_free(&ring);
        rps_ring_free(&ring); /* A second free is harmless. */
    }
    assert_true(refused > 100 && wrapped > 100);
}

/* A copy of the ring is the view of a walk. Records pushed later do not appear in the view and do
 * not disturb it. */
static void a_walk_needs_no_lock(void **state)
{
    static struct list list;
    struct rps_ring ring, copy;
    struct rps_ring_place place;
    struct rps_error err;

    (void)state;
    assert_int_equal(rps_ring_init(&ring, 4096, &err), 0);
    while (push(&ring, &list, 1, 100))
        ;
    drop(&ring, &list, 5);
    copy = ring;
    while (push(&ring, &list, 2, 60)) /* Records also wrap around the end of the memory. */
        ;
    assert_true(ring.head + ring.used > ring.size);
    walk(&copy, &list, copy.count, 1, &place);
    assert_null(rps_ring_next(&copy, &place));
    drop(&ring, &list, place.count);
    walk(&ring, &list, ring.count, 1, &place);
    rps_ring_free(&ring);
}

static void all_of_it_can_be_used(void **state)
{
    struct rps_ring ring;
    struct rps_ring_place place = {0};
    struct rps_error err;

    (void)state;
    assert_int_equal(rps_ring_init(&ring, 4096, &err), 0);
    assert_null(rps_ring_push(&ring, 1, 4096));
    assert_non_null(rps_ring_push(&ring, 1, 4096 - rps_ring_bytes(0)));
    assert_null(rps_ring_push(&ring, 1, 0));
    assert_non_null(rps_ring_next(&ring, &place));
    rps_ring_drop(&ring, &place);
    assert_non_null(rps_ring_push(&ring, 1, 4096 - rps_ring_bytes(0)));
    rps_ring_free(&ring);
}

static size_t resident_pages(const struct rps_ring *ring)
{
    static unsigned char there[65536];
    size_t pages = ring->size / (size_t)sysconf(_SC_PAGESIZE), ret = 0;

    assert_true(pages <= sizeof(there));
    assert_int_equal(mincore(ring->data, ring->size, there), 0);
    for (size_t i = 0; i < pages; i++)
        ret += there[i] & 1;
    return ret;
}

/* A ring that always holds a few records uses only the beginning of its memory. */
static void it_does_not_walk_through_its_memory(void **state)
{
    static struct list list;
    struct rps_ring ring;
    struct rps_error err;

    (void)state;
    memset(&list, 0, sizeof(list));
    assert_int_equal(rps_ring_init(&ring, 16 << 20, &err), 0);
    assert_int_equal(resident_pages(&ring), 0);
    for (int i = 0; i < 100; i++)
        assert_true(push(&ring, &list, 1, 200));
    for (int i = 0; i < 100000; i++) {
        if (i % 10 == 0)
            drop(&ring, &list, 10);
        assert_true(push(&ring, &list, 1, 200));
        assert_true(ring.head + ring.used < 4 * 100 * rps_ring_bytes(200));
    }
    assert_true(resident_pages(&ring) < 32);
    rps_ring_free(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(like_a_list),
        cmocka_unit_test(a_walk_needs_no_lock),
        cmocka_unit_test(all_of_it_can_be_used),
        cmocka_unit_test(it_does_not_walk_through_its_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
