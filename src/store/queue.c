/*
 * The queue between the measurement loop and the writer thread.
 *
 * An hour of periods is 5 MiB, nearly always unused. The room is mapped without being reserved, and
 * an empty queue starts again at its first place, so that a recording whose writer keeps up touches
 * a single page. A lock-free ring was thought of; with one it takes two atomic indexes that never
 * go back, hence all pages in turn, to save 20 ns in 100 ms.
 */
#include "queue.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* An emptied queue that had used more memory than this gives it back. */
#define KEEP_BYTES (256 * 1024)

/* The share of the addresses a queue may take. */
#define MAP_MAX_BYTES (SIZE_MAX / 16)

int rps_queue_init(struct rps_queue *queue, size_t capacity, struct rps_error *err)
{
    void *room;

    if (capacity < 1)
        capacity = 1;
    if (capacity > MAP_MAX_BYTES / sizeof(struct rps_period))
        capacity = MAP_MAX_BYTES / sizeof(struct rps_period);
    room = mmap(NULL, capacity * sizeof(struct rps_period), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return rps_error_memory(err);
    *queue = (struct rps_queue){.room = room, .capacity = capacity};
    return 0;
}

void rps_queue_free(struct rps_queue *queue)
{
    if (queue->room)
        munmap(queue->room, queue->capacity * sizeof(struct rps_period));
    memset(queue, 0, sizeof(*queue));
}

bool rps_queue_push(struct rps_queue *queue, const struct rps_period *period)
{
    size_t place;

    if (queue->count == queue->capacity)
        return false;
    place = queue->first + queue->count;
    if (place >= queue->capacity)
        place -= queue->capacity;
    queue->room[place] = *period;
    queue->count++;
    if (place >= queue->touched)
        queue->touched = place + 1;
    return true;
}

size_t rps_queue_peek(const struct rps_queue *queue, size_t limit, const struct rps_period **ret)
{
    size_t together = queue->capacity - queue->first;

    *ret = queue->room + queue->first;
    if (together > queue->count)
        together = queue->count;
    return together < limit ? together : limit;
}

void rps_queue_drop(struct rps_queue *queue, size_t count)
{
    queue->count -= count;
    queue->first += count;
    if (queue->first >= queue->capacity)
        queue->first -= queue->capacity;
    if (queue->count > 0)
        return;
    queue->first = 0;
    if (queue->touched * sizeof(struct rps_period) > KEEP_BYTES) {
        madvise(queue->room, queue->capacity * sizeof(struct rps_period), MADV_DONTNEED);
        queue->touched = 0;
    }
}
