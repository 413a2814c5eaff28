/*
 * What recorders leave in shared memory: the queue of one that was killed, or that could not write
 * its store to the end. It outlives the recorder, not the machine's being switched off.
 *
 * A recorder holds a lock on its queue for as long as it has it: what is not locked is left.
 */
#ifndef RPISTAT_STORE_LEFT_H
#define RPISTAT_STORE_LEFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rpistat/error.h"
#include "rpistat/period.h"

/* The end of a run that could not be written. */
struct rps_left_end {
    int64_t start_realtime_ns, start_monotonic_ns, elapsed_ns, recorder_cpu_ns;
    int32_t exit_status, exit_signal; /* as in struct rps_run */
    char reason[200];                 /* why it could not be written */
};

/* A mark, or a gap. */
struct rps_left_note {
    int64_t start_ns, length_ns, number;
    int32_t cpu;
    uint16_t is_mark;
    uint16_t text_bytes; /* with the zero at its end */
    char text[];
};

struct rps_left {
    struct rps_period *period; /* owned; oldest first */
    size_t count;
    bool ended;
    struct rps_left_end end; /* when `ended` */
    unsigned char *notes;    /* owned */
    size_t note_bytes;
};

/* 1 when there is something of that run's to salvage, and its recorder is done with it. */
int rps_left_is_there(const char *uuid);

/*
 * What a recorder left; nothing when there is nothing, or when it is not this user's or the user
 * `owner`'s. Free with rps_left_free. RPS_FAILED without memory.
 */
int rps_left_salvage(const char *uuid, uid_t owner, struct rps_left *ret, struct rps_error *err);
void rps_left_free(struct rps_left *left);

/* The next of the notes, *at is 0 before the first; NULL behind the last. */
const struct rps_left_note *rps_left_next_note(const struct rps_left *left, size_t *at);

/* Bytes that a note with so long a text takes: the next one is aligned. */
static inline size_t rps_left_note_bytes(size_t text_bytes)
{
    return (sizeof(struct rps_left_note) + text_bytes + 7) / 8 * 8;
}

/* Only why the end could not be written, as text for people; 0 when the recorder left none. */
int rps_left_end_text(const char *uuid, uid_t owner, char *ret, size_t size);

/* Remove it. */
void rps_left_forget(const char *uuid);

/*
 * Look through all that recorders of this user left. Asks `wanted` (1 or 0) of what belongs to the
 * store at path, and removes it when nobody wants it. What belongs to a store that is not there any
 * more is removed a day after that was first seen (the store may have been moved), which `notice`
 * is told.
 */
void rps_left_sweep(const char *path, int (*wanted)(void *context, const char *uuid),
                    void *wanted_context, void (*notice)(void *context, const char *sentence),
                    void *notice_context);

#endif
