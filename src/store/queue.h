/*
 * The queue between the measurement loop and the writer thread: a ring of periods that takes memory
 * only for the room that is used. Not locked: its owner does that.
 */
#ifndef RPISTAT_STORE_QUEUE_H
#define RPISTAT_STORE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "rpistat/error.h"
#include "rpistat/period.h"

struct rps_queue {
    struct rps_period *room; /* mapped */
    size_t capacity;
    size_t first, count;
    size_t touched; /* places used since memory was last given back */
};

/* Room for `capacity` periods (at least 1; less on a machine whose addresses do not suffice). */
int rps_queue_init(struct rps_queue *queue, size_t capacity, struct rps_error *err);
void rps_queue_free(struct rps_queue *queue);

/* Append a period; false when there is no room. */
bool rps_queue_push(struct rps_queue *queue, const struct rps_period *period);

/*
 * The oldest periods that lie together in memory, at most `limit`: how many, and where in *ret.
 * They stay in the queue, and in place while others are pushed.
 */
size_t rps_queue_peek(const struct rps_queue *queue, size_t limit, const struct rps_period **ret);

/* Remove the `count` oldest periods. */
void rps_queue_drop(struct rps_queue *queue, size_t count);

#endif
