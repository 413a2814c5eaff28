/*
 * The queue between the measurement loop and the writer thread: a ring of periods that takes memory
 * only for the room that is used. Not locked: its owner does that.
 *
 * A shared queue lies in POSIX shared memory, under a name made of the run's uuid. What is in it
 * outlives a recorder that is killed, and is salvaged by whoever opens the store next (left.h).
 */
#ifndef RPISTAT_STORE_QUEUE_H
#define RPISTAT_STORE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "rpistat/error.h"
#include "rpistat/period.h"

#include "left.h"

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
 * Put an empty queue into shared memory under the run's name; `store` is the path of its store.
 * Returns 1, or 0 when that is not possible here (no /dev/shm, or no room in it): the queue then
 * goes on as it was.
 */
int rps_queue_share(struct rps_queue *queue, const char *uuid, const char *store);

/* Empty a shared queue, and make it the process's alone again. With `keep` the shared memory stays
 * as it is, for what is in it to be salvaged. */
void rps_queue_unshare(struct rps_queue *queue, const char *uuid, bool keep);

/*
 * The run has ended and its queue cannot be written: put it into shared memory if it is not there,
 * with the end beside it, for the next command on the store. Returns how many of its periods (the
 * oldest) will outlive the process; negative when that is not possible.
 */
int64_t rps_queue_leave(struct rps_queue *queue, const char *uuid, const char *store,
                        const struct rps_left_end *end);

/* Add a note to what is left (note->text_bytes is set here); false when there is no room for it. */
bool rps_queue_leave_note(struct rps_queue *queue, struct rps_left_note note, const char *text);

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
