/*
 * The queue between the measurement loop and the writer thread: a ring of periods that takes memory
 * only for the room that is used. Not locked: its owner does that.
 *
 * A shared queue lies in POSIX shared memory, under a name made of the run's uuid. What is in it
 * outlives a recorder that is killed, and is salvaged by whoever opens the store next.
 */
#ifndef RPISTAT_STORE_QUEUE_H
#define RPISTAT_STORE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "rpistat/error.h"
#include "rpistat/period.h"

struct rps_queue_head;

struct rps_queue {
    struct rps_queue_head *head; /* in front of the room; mapped */
    struct rps_period *room;     /* mapped */
    size_t capacity;
    size_t first, count;
    size_t touched;  /* places used since memory was last given back */
    int fd;          /* of the shared memory; -1: the queue is this process's alone */
    size_t shared;   /* bytes from head on that are allocated in shared memory */
    bool shared_all; /* no more can be: what comes behind them is this process's alone */
};

/* Room for `capacity` periods (at least 1; less on a machine whose addresses do not suffice). */
int rps_queue_init(struct rps_queue *queue, size_t capacity, struct rps_error *err);
void rps_queue_free(struct rps_queue *queue);

/*
 * Put an empty queue into shared memory under the run's name. Returns 1, or 0 when that is not
 * possible here (no /dev/shm, or no room in it): the queue then goes on as it was.
 */
int rps_queue_share(struct rps_queue *queue, const char *uuid);

/* Empty a shared queue, and make it the process's alone again. With `keep` the shared memory stays
 * as it is, for what is in it to be salvaged. */
void rps_queue_unshare(struct rps_queue *queue, const char *uuid, bool keep);

/* Append a period; false when there is no room. */
bool rps_queue_push(struct rps_queue *queue, const struct rps_period *period);

/*
 * The oldest periods that lie together in memory, at most `limit`: how many, and where in *ret.
 * They stay in the queue, and in place while others are pushed.
 */
size_t rps_queue_peek(const struct rps_queue *queue, size_t limit, const struct rps_period **ret);

/* Remove the `count` oldest periods. */
void rps_queue_drop(struct rps_queue *queue, size_t count);

/* --- after a recorder was killed ---------------------------------------------------------------
 */

/*
 * The periods that a killed recorder's queue held, oldest first, in a new array (free()):
 * *ret_count of them, 0 when there is no such queue, or one that is not this user's or the user
 * `owner`'s. RPS_FAILED without memory.
 */
int rps_queue_salvage(const char *uuid, uid_t owner, struct rps_period **ret, size_t *ret_count,
                      struct rps_error *err);

/* 1 when there is something of that name to salvage. */
int rps_queue_is_left(const char *uuid);

/* Remove it. */
void rps_queue_forget(const char *uuid);

#endif
