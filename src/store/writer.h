/*
 * The writer, as its two halves see it: write.c is the caller's side, write_thread.c the thread
 * that owns the database.
 */
#ifndef RPISTAT_STORE_WRITER_H
#define RPISTAT_STORE_WRITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <sqlite3.h>

#include "rpistat/store.h"

#include "queue.h"
#include "thin.h"
#include "write_run.h"

/* A row of mark or gap that waits to be written. */
struct rps_pending_note {
    struct rps_pending_note *next;
    bool is_mark;
    int32_t cpu;
    int64_t start_ns, length_ns;
    int64_t number; /* tells notes of one time apart */
    char text[];
};

struct rps_note_list {
    struct rps_pending_note *first, **end;
    size_t count;
};

/* A stretch of periods for which there was no room. */
struct rps_lost_stretch {
    uint64_t periods; /* 0: none */
    int32_t cpu;
    int64_t start_ns, end_ns;
};

/* Where the pages of the run have been packed up to. */
struct rps_unsettled {
    uint64_t periods; /* written since */
    int32_t cpu;      /* of the first of them */
    bool mixed;       /* they are of more than one CPU: left as they are */
    uint64_t cycle, period;
    int64_t start_ns;
};

struct rps_writer {
    /* constant after opening */
    char *path;
    sqlite3 *db; /* used by the thread while it runs */
    struct rps_writer_options options;
    int64_t commit_ns;   /* least time between commits; 0: one a period */
    char uuid[40];       /* of the run; names its shared queue */
    mode_t mode;         /* of the store's file */
    ino_t log_inode;     /* of its log while the run goes on; 0: none */
    int64_t patience_ns; /* how long rps_writer_end tries */
    pthread_t thread;
    bool thread_runs; /* the caller's side only */

    /* of the run; the thread's while it runs */
    int64_t run_id;
    struct rps_period_table *table;
    sqlite3_stmt *begin, *commit, *rollback, *insert_mark, *insert_gap;
    int set_count;
    uint8_t *measured;       /* by set: slots whose event is measured */
    struct rps_set_sum *sum; /* by set, over what was committed */
    struct rps_unsettled unsettled;
    struct rps_thin *thin;  /* NULL: periods stay as they are */
    bool full;              /* that no more can be merged was said */
    int64_t end_ns;         /* of the last committed period, -1 none */
    int64_t last_commit_ns; /* clock; 0 before the first commit */
    int64_t slow_ns;        /* the slowest write that was reported */
    int64_t backoff_ns;
    int64_t looked_ns;          /* clock: when the store was last seen at its place */
    bool moved;                 /* that it is not there any more was said */
    uint64_t lost_when_failing; /* status.dropped when the trouble began */

    /* shared, under the lock */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct rps_queue queue;
    struct rps_note_list notes;
    struct rps_lost_stretch lost;
    int64_t next_note;
    uint64_t lost_notes; /* marks and gaps for which there was no memory */
    uint64_t committed, dropped;
    bool sleeping;      /* the thread waits to be told of work */
    bool stop;          /* the thread is to finish */
    bool failing;       /* the last write failed and is tried again */
    bool broken;        /* writing has ended for good */
    int64_t give_up_ns; /* clock: with `stop`, when to give up */
    char trouble[200];  /* why it is failing or broken */
};

/* The thread of the writer that it is given: writes until told to stop, then what is left, then returns NULL. */
void *rps_writer_thread(void *context);

/* Periods in the queue that make the next commit due at once. */
size_t rps_writer_due(const struct rps_writer *writer);

/* Free what belongs to the run. With `keep` what could not be written stays in shared memory. */
void rps_writer_free_run(struct rps_writer *writer, bool keep);

/* Is the file that is written not the one at writer->path any more? */
bool rps_writer_has_moved(const struct rps_writer *writer);

/* Turn the lost stretch, if any, into a gap. With the lock held. */
void rps_writer_note_lost(struct rps_writer *writer);

/* Append a note, with the lock held; without memory it is counted as lost. */
void rps_writer_add_note(struct rps_writer *writer, bool is_mark, int32_t cpu, int64_t start_ns,
                         int64_t length_ns, const char *text);

void rps_note_list_init(struct rps_note_list *list);
void rps_note_list_clear(struct rps_note_list *list);

/* Fewer periods are not worth packing. */
#define RPS_SETTLE_PERIODS_MIN 256

/* Does what the store holds leave room for a run below max_bytes? RPS_FAILED and a sentence. */
int rps_writer_check_room(struct rps_writer *writer, struct rps_error *err);

/* Set writer->thin where the options ask for it; an SQLite code. */
int rps_writer_begin_thinning(struct rps_writer *writer, const struct rps_run *run);

/* Thin when it is time to, in at most so many transactions; not possible now is not an error. */
void rps_writer_thin(struct rps_writer *writer, int transactions);

/* At the end of the run: what has become old since. */
void rps_writer_finish_thinning(struct rps_writer *writer);

/* Pack the pages of what was written since the last time; not possible is not an error. */
void rps_writer_settle(struct rps_writer *writer);

#endif
