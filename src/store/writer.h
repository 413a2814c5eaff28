/*
 * Internals of the writer, shared by its files:
 *
 * - write.c: the caller's side
 * - write_thread.c: the thread that owns the database
 * - write_add.c: adds a run to a store that may be locked
 * - write_record.c: inserts records
 * - write_sound.c: checks that the store still holds what was recorded
 * - write_saved.c: continues in another file if the store or the run is lost
 * - write_end.c: the end
 */
#ifndef RPISTAT_STORE_WRITER_H
#define RPISTAT_STORE_WRITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <sqlite3.h>

#include "rpistat/store.h"
#include "rpistat/store_wing.h"

#include "database.h"
#include "downsample.h"
#include "ring.h"
#include "rollup.h"
#include "system.h"
#include "write_run.h"

/* How long a write of the thread waits for another program's lock before it reports that. Long
 * enough for every transaction of another recorder. */
#define RPS_WRITER_BUSY_MS 500

/* The same for the start; after that the recording begins in memory. */
#define RPS_WRITER_START_BUSY_MS 100

/* A range of periods that the ring had no space for. */
struct rps_lost_stretch {
    uint64_t periods; /* 0: none */
    int32_t cpu;
    int64_t start_ns, end_ns;
};

/* Kinds of records in the ring. */
enum rps_write_record_kind {
    RPS_WRITE_RECORD_PERIOD = 1, /* struct rps_period */
    RPS_WRITE_RECORD_MARK,       /* struct rps_write_row */
    RPS_WRITE_RECORD_GAP,        /* struct rps_write_row */
    RPS_WRITE_RECORD_STATE,      /* struct rps_system_state */
    RPS_WRITE_RECORD_READING,    /* struct rps_system_reading; from here on rows */
    RPS_WRITE_RECORD_WING,       /* struct rps_write_row, of the first kind of an extension */
    RPS_WRITE_RECORD_KINDS = RPS_WRITE_RECORD_WING + RPS_STORE_WING_KINDS_MAX,
};

/* The columns of a row except run_id: its numbers, then its texts, each with its terminating 0. */
struct rps_write_row {
    int number_count;
    int64_t number[];
};

/* Why a run continues in its own file, without its rows in the store. */
enum rps_writer_loss {
    RPS_WRITER_LOSS_NONE,
    RPS_WRITER_LOSS_RUN,    /* its rows were deleted */
    RPS_WRITER_LOSS_LOG,    /* the store's -wal or -shm file was deleted; nothing else is lost */
    RPS_WRITER_LOSS_DAMAGE, /* the store is damaged */
    RPS_WRITER_LOSS_MEMORY, /* the store's shared memory failed; the connection was left */
};

/* The statements that insert the run's records; they belong to write_record.c. */
struct rps_write_statements {
    struct rps_statements kept;
    sqlite3_stmt *period, *rollup;
    void *wing; /* what the extension collects */
};

struct rps_writer {
    /* constant after opening */
    char *path; /* as the user gave it */
    struct rps_writer_options options;
    mode_t mode;          /* of the store's file */
    int64_t patience_ns;  /* how long rps_writer_end tries */
    int64_t lock_wait_ns; /* the same for another program's lock; the start waits as long */
    char boot_id[64];
    pthread_t thread;
    bool thread_runs; /* the caller's side only */
    bool made;        /* this writer made the store's file */

    /* belongs to the run; used only by the thread while it runs */
    sqlite3 *db;
    int64_t waits_ns; /* clock: when the run began to wait for the store's lock; 0: not waiting */
    char *saved_path; /* owned: the file that is written instead of `path`; or NULL */
    const char *why_saved;
    bool is_saved_locked; /* because the store stayed locked, or could not be used afterwards */
    enum rps_writer_loss loss;
    struct stat file[3];         /* the store, -wal, -shm: their state at the last commit */
    unsigned int shrunk;         /* bit i: file[i] became smaller; not verified yet */
    sqlite3_file *log;           /* SQLite's */
    uint32_t log_salt[2];        /* of the log at the last commit, as they are in its head */
    int frame_bytes, frames;     /* of the log after the last commit; 0: unknown */
    int frames_moved;            /* of these, when the log was last moved into the file */
    int frames_max;              /* how many more frames cause the next move */
    int64_t checked_ns;          /* clock: when the log was last read */
    int log_code;                /* result of the check before that */
    uint64_t committed_before;   /* of `committed`: periods that the saved file does not hold */
    int64_t run_id;              /* 0: the run is not in a store */
    int code;                    /* of the last write that failed */
    struct rps_run run;          /* as it began; the caller owns its texts */
    const struct rps_plan *plan; /* owned by the caller */
    struct rps_write_statements statements;
    struct rps_rollup *rollup;
    struct rps_system_write system;
    struct rps_downsample *downsample; /* NULL: no downsampling */
    int set_count;
    bool has_start;          /* rps_write_run_start is done */
    uint8_t *measured;       /* by set: slots whose event is measured */
    struct rps_set_sum *sum; /* by set, of the committed periods */
    int64_t end_ns;          /* of the last committed period; -1: none */
    uint64_t next_period;    /* number after that of the last committed period */
    int64_t last_commit_ns;  /* clock; 0 before the first commit */
    int64_t last_beat_ns;    /* clock; 0 before the first heartbeat */
    int64_t log_pages;       /* limit before a checkpoint; 0: SQLite's number, or downsampling's */
    int64_t slow_ns;         /* the slowest write that was reported */
    int64_t backoff_ns;
    bool full;                  /* reported that no more can be downsampled */
    bool save_failed;           /* reported that the run cannot continue elsewhere */
    char reason[200];           /* why the last write failed */
    uint64_t lost_when_failing; /* status.dropped when the failures began */

    /* shared, under the lock */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct rps_ring ring;
    uint64_t periods; /* in the ring */
    struct rps_lost_stretch lost;
    int64_t next_note;
    int64_t mark_second_ns; /* clock: since when marks are counted */
    uint64_t marks, marks_left_out;
    int64_t mark_time_ns; /* time of the last one that was left out */
    uint64_t lost_notes;  /* marks and gaps that the ring had no space for */
    uint64_t rows;        /* readings and rows of an extension, in the ring */
    uint64_t lost_rows;   /* rows of an extension that the ring had no space for */
    uint64_t committed, dropped;
    bool sleeping;      /* the thread waits for work, or for the next commit */
    bool idle;          /* the thread has nothing to write, and a commit would be due */
    bool stop;          /* the thread must finish */
    bool abandoned;     /* with `stop`: discard the remaining records */
    bool failing;       /* the last write failed and is tried again */
    bool broken;        /* writing has ended for good */
    int64_t give_up_ns; /* clock: with `stop`, when to stop trying */
    char trouble[200];  /* why it is failing or broken */
};

/* The writer's thread; `context` is the writer. It writes until `stop` is set, then writes the
 * remaining records and returns NULL. */
void *rps_writer_thread(void *context);

/* Open the store at writer->path for writing. RPS_BUSY if a step waited longer than busy_ms (0: 5
 * s) for a lock. */
int rps_writer_connect(struct rps_writer *writer, int busy_ms, struct rps_error *err);

/* Add the run to the store (opening it if necessary) and prepare to write the run. RPS_BUSY if
 * another program holds the lock for longer than busy_ms. */
int rps_writer_add_run(struct rps_writer *writer, int busy_ms, struct rps_error *err);

/* Return whether the last write, which failed, may be given up. Call it with the lock held, or
 * without the thread. A run that waits for the store's lock then goes into another file. */
bool rps_writer_gives_up(const struct rps_writer *writer);

/* Report a heartbeat to the caller, without the lock; for `gave_up` see struct rps_writer_beat. */
void rps_writer_report_beat(struct rps_writer *writer, bool gave_up);

/* Return how many bytes in the ring make the next commit due at once. */
size_t rps_writer_due(const struct rps_writer *writer);

/* Return the path of the file that is written now. */
static inline const char *rps_writer_file(const struct rps_writer *writer)
{
    return writer->saved_path ? writer->saved_path : writer->path;
}

void rps_writer_notice(const struct rps_writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Result codes in addition to SQLite's own: another program or user has deleted the run's rows. */
#define RPS_WRITER_RUN_IS_GONE SQLITE_DONE

/* A file has become smaller, by a checkpoint of another program or by mistake. */
#define RPS_WRITER_SHRUNK SQLITE_ROW

/* The connection was left by rps_writer_leave_connection. */
#define RPS_WRITER_HAS_LEFT SQLITE_NOTICE

/* Run `insert` in one transaction. If the disk is full, retry once after moving the log into the
 * file. Within the transaction the run exists and is `recording`: another opening may have taken it
 * for interrupted. Returns an SQLite code; if not SQLITE_OK, writer->reason has the reason. */
int rps_writer_write(struct rps_writer *writer,
                     int (*insert)(struct rps_writer *writer, const void *context),
                     const void *context);

/* Write how the run began once its first two rotations are in the store; within a transaction.
 * Returns an SQLite code. The caller sets has_start after the commit. */
int rps_writer_start(struct rps_writer *writer);

/* Turn the lost range, if any, into a gap. With the lock held. */
void rps_writer_note_lost(struct rps_writer *writer);

/* Turn marks that were left out, if any, into a mark. With the lock held. */
void rps_writer_note_marks(struct rps_writer *writer);

/* Prepare to write the run after it was added to the database. Returns an SQLite code. */
int rps_writer_open_run(struct rps_writer *writer);

/* Free what belongs to the run. */
void rps_writer_close_run(struct rps_writer *writer);

/* Open the database between runs (hold). If that shuts out readers, even those of this process, it
 * is closed again after each use (release). */
int rps_writer_hold(struct rps_writer *writer, struct rps_error *err);
void rps_writer_release(struct rps_writer *writer);

/* Prepare the statements for the database. Returns an SQLite code. */
int rps_write_record_prepare(struct rps_writer *writer);
void rps_write_record_finalize(struct rps_writer *writer);

/* Insert a record, and the blocks that it completes. Returns an SQLite code. */
int rps_write_record_insert(struct rps_writer *writer, const struct rps_ring_record *record);

/* Add a committed record to the sums. */
void rps_write_record_sum(struct rps_writer *writer, const struct rps_ring_record *record);

/* --- checks of the recorded data: write_sound.c --- */

/* Remember the files' state and watch the log; call after opening and PRAGMA wal_autocheckpoint. */
void rps_writer_watch_files(struct rps_writer *writer);

/* Compare the files with their last known state, within a transaction. Returns an SQLite code.
 * SQLITE_READONLY_DBMOVED: one was deleted, moved or replaced. SQLITE_CORRUPT: the log was
 * overwritten. RPS_WRITER_SHRUNK. */
int rps_writer_check_files(struct rps_writer *writer);

/* Read the recorded rows again, through a new connection. RPS_WRITER_RUN_IS_GONE or its code. */
int rps_writer_verify(struct rps_writer *writer);

/* Return whether this code of a write means that the store has lost something. */
bool rps_writer_is_lost(int code);

/* Move the log into the file and empty it, unless it was overwritten. */
void rps_writer_empty_log(struct rps_writer *writer);

/* Describe what the store at writer->path still holds, as the end of a sentence. */
void rps_writer_describe_kept(const struct rps_writer *writer, int64_t run_id, bool is_whole,
                              char *ret, size_t size);

/* Return whether the files still hold what the last commit left, by their sizes and the log's
 * checksums. Call it before the run continues in another file. */
bool rps_writer_is_whole(const struct rps_writer *writer);

/*
 * Continue in a new file next to the store and notify the user. If the store's file was moved,
 * deleted or replaced, the new file is a copy of all that the store holds. If the run's rows are
 * gone, it holds this run alone. The user's files are not changed. Returns an SQLite code; if not
 * SQLITE_OK, the old database is still open and the failure was reported.
 */
int rps_writer_save_copy(struct rps_writer *writer);
int rps_writer_save_run(struct rps_writer *writer, enum rps_writer_loss loss);

/* If writing failed with this code because the store, or the run in it, is gone, continue in
 * another file. Returns true if that succeeded. Without the lock. */
bool rps_writer_go_on(struct rps_writer *writer, int code);

/* SAFETY: abandon the connection after a fault in its shared memory: it is never used or closed
 * again. The next write returns RPS_WRITER_HAS_LEFT. */
void rps_writer_leave_connection(struct rps_writer *writer);

/* Continue in a new file because the store stayed locked. If the run has begun in the store, the new
 * file gets a copy of what the store holds. */
int rps_writer_save_locked(struct rps_writer *writer);

#endif
