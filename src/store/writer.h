/* Internals of the writer, shared by its files:
 *
 * - write.c: the caller's side
 * - write_thread.c: the thread that owns the database
 * - write_record.c: inserts records
 * - write_sound.c: checks that the store still holds the recorded rows
 * - write_saved.c: begins in a store that may be locked, and continues in another file if the store
 *   or the run is lost
 * - write_end.c: ends a run */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <sqlite3.h>
#include <stddef.h>

#include "rpistat/error.h"
#include "rpistat/period.h"
#include "rpistat/store.h"
#include "rpistat/store_hooks.h"

#include "database.h"
#include "system.h"
#include "write_run.h"

/* A bounded ring of records of any kind and size. The ring's memory is private; a page is touched
 * only when a record needs it. The ring has no locking, because its owner has a lock. */

/* The header of a record. The record's payload follows, aligned to 8 bytes. */
struct rps_ring_record {
    uint32_t bytes; /* size with the header, a multiple of 8 */
    uint32_t kind;  /* chosen by the caller, at least 1 */
};

struct rps_ring {
    uint8_t *data;
    size_t size, head, used; /* in bytes; head: position of the oldest record */
    size_t count;            /* number of records */
};

/* Position of a walk over the records. Zero the struct to begin with the oldest record. */
struct rps_ring_place {
    size_t bytes, count; /* bytes and records that the walk has passed */
};

/* Allocate a ring. Returns RPS_FAILED if memory is short. */
int rps_ring_init(struct rps_ring *ring, size_t bytes, struct rps_error *err);
void rps_ring_free(struct rps_ring *ring);

/* Return how many bytes a record with this payload occupies. */
size_t rps_ring_bytes(size_t payload);

/* Append a record, whose payload the caller fills. Returns NULL if there is no space. */
void *rps_ring_push(struct rps_ring *ring, uint32_t kind, size_t payload);

/* Return the next record of a walk, or NULL at the end. SAFETY: records stay in place until they
 * are dropped, even during a push. A walk therefore needs no lock for the `count` records that the
 * ring had at the beginning of the walk. */
const struct rps_ring_record *rps_ring_next(const struct rps_ring *ring,
                                            struct rps_ring_place *place);

/* Remove the oldest records, up to the walk's position. */
void rps_ring_drop(struct rps_ring *ring, const struct rps_ring_place *place);

/* Rollups: the coarser levels of a run, made while its periods are written.
 *
 * Periods form whole rotations. Sixteen rotations form a block of level 1, sixteen such blocks form
 * a block of level 2, and so on. A fixed grid defines which rotations form a block
 * (rpistat/period.h). A block is closed early at a gap, at the run's end, and where the set of
 * countable events changes. Hence a count of a block is the sum over all its periods, or NULL. An
 * incomplete rotation is in no block. */

struct rps_rollup;

/* Receives the rows of a closed block, one per event set. If the sink returns an SQLite error code,
 * the function that called it returns the same code. */
struct rps_rollup_sink {
    void *context;
    int (*row)(void *context, const struct rps_period *row);
};

/* Allocate rollups for a run of set_count event sets. Returns NULL if memory is short. */
struct rps_rollup *rps_rollup_new(int set_count, const struct rps_rollup_sink *sink);
void rps_rollup_free(struct rps_rollup *rollup);

/* Add the next period of a CPU. Returns an SQLite code, such as SQLITE_NOMEM. */
int rps_rollup_add(struct rps_rollup *rollup, const struct rps_period *period);

/* Add a block's rows to the block of the next level, because the block's finer rows are deleted.
 * The rows are in the order of the sets. Returns an SQLite code, such as SQLITE_NOMEM. */
int rps_rollup_add_block(struct rps_rollup *rollup, const struct rps_period *row);

/* Close all blocks at the end of the run. Returns an SQLite code. */
int rps_rollup_end(struct rps_rollup *rollup);

/* After each COMMIT call rps_rollup_commit, which keeps the rows that were added since the previous
 * commit. After each ROLLBACK call rps_rollup_roll_back, which discards these rows. The accumulated
 * sums are part of the transaction that writes the rows. */
void rps_rollup_commit(struct rps_rollup *rollup);
void rps_rollup_roll_back(struct rps_rollup *rollup);

/* Downsample a run that is being recorded: delete fine rows that a coarser row replaces, and update
 * `thinned` in the same transaction. SAFETY: only the thread that owns the database calls these
 * functions. */

struct rps_downsample;

struct rps_downsample_options {
    int64_t run_id;
    int64_t keep_ns;    /* periods older than this are deleted; 0: no age limit */
    int keep_blocks;    /* rows are deleted only if the next level has this many blocks */
    uint64_t max_bytes; /* limit of the store's file and its log; 0: no limit */
    void *extension;    /* the extension's data for this run; NULL: it has no rows in the run */
};

/* Prepare downsampling. With max_bytes the log is kept short from now on. The caller keeps db and
 * the extension's data open as long as *ret exists. Returns an SQLite code. */
int rps_downsample_open(sqlite3 *db, const struct rps_downsample_options *options,
                        struct rps_downsample **ret);
void rps_downsample_close(struct rps_downsample *downsample);

/* Return 1 if enough periods were written since the last search for rows to delete. The store has
 * `periods` periods, the last of which ends at end_ns. */
int rps_downsample_is_due(const struct rps_downsample *downsample, uint64_t periods,
                          int64_t end_ns);

/* Delete the rows that are due, in at most `transactions` transactions of some thousand rows.
 * Returns an SQLite code. After an error the transaction was rolled back, and the next call
 * retries. *ret_left is 1 if more rows are due; ret_left may be NULL. */
int rps_downsample_work(struct rps_downsample *downsample, uint64_t periods, int64_t end_ns,
                        int transactions, int *ret_left);

/* Return 1 if the store exceeds max_bytes and no more rows can be deleted. */
int rps_downsample_is_in_vain(const struct rps_downsample *downsample);

/* Bytes that max_bytes must leave for a run, in addition to the store's present content. */
#define RPS_DOWNSAMPLE_ROOM_BYTES (UINT64_C(2) << 20)

/* How long a write of the thread waits for another program's lock before the delay is reported.
 * This time is enough for every transaction of another recorder. */
#define RPS_WRITER_BUSY_MS 500

/* How long the start waits for another program's lock before the recording begins in memory. */
#define RPS_WRITER_START_BUSY_MS 100

/* A range of periods that the ring had no space for. */
struct rps_lost_stretch {
    uint64_t periods; /* number of lost periods; 0: no range */
    int32_t cpu;
    int64_t start_ns, end_ns;
};

enum rps_write_record_kind {
    RPS_WRITE_RECORD_PERIOD = 1, /* payload: struct rps_period */
    RPS_WRITE_RECORD_MARK,       /* payload: struct rps_write_row */
    RPS_WRITE_RECORD_GAP,        /* payload: struct rps_write_row */
    RPS_WRITE_RECORD_STATE,      /* payload: struct rps_system_state */
    RPS_WRITE_RECORD_READING,    /* struct rps_system_reading; this and later kinds are rows */
    RPS_WRITE_RECORD_EXTENSION,  /* struct rps_write_row; the first kind of an extension */
    RPS_WRITE_RECORD_KINDS = RPS_WRITE_RECORD_EXTENSION + RPS_STORE_HOOKS_KINDS_MAX,
};

/* The columns of a row except run_id: the numbers, then the texts. Each text ends with 0. */
struct rps_write_row {
    int number_count;
    int64_t number[];
};

/* Reason for which a run continues in a separate file, without its earlier rows. */
enum rps_writer_loss {
    RPS_WRITER_LOSS_NONE,
    RPS_WRITER_LOSS_RUN,    /* the run's rows were deleted */
    RPS_WRITER_LOSS_LOG,    /* the store's -wal or -shm file was deleted; nothing else is lost */
    RPS_WRITER_LOSS_DAMAGE, /* the store is damaged */
    RPS_WRITER_LOSS_MEMORY, /* the store's shared memory failed, and the connection was abandoned */
};

/* The statements that insert the run's records, used only by write_record.c. */
struct rps_write_statements {
    struct rps_statements kept;
    sqlite3_stmt *period, *rollup;
    void *extension; /* data that the extension collects */
};

struct rps_writer {
    /* members that are constant after opening */
    char *path; /* path as the user gave it */
    struct rps_writer_options options;
    mode_t mode;          /* mode of the store's file */
    int64_t patience_ns;  /* time limit of rps_writer_end */
    int64_t lock_wait_ns; /* time limit for another program's lock, also at the start */
    char boot_id[64];
    pthread_t thread;
    bool thread_runs; /* used only by the caller's side */
    bool made;        /* true if this writer made the store's file */

    /* Members that belong to the run. While the thread runs, only the thread uses them. */
    sqlite3 *db;
    int64_t waits_ns; /* monotonic time: begin of waiting for the lock; 0: not waiting */
    char *saved_path; /* owned: the file that is written instead of `path`, or NULL */
    const char *why_saved;
    bool is_saved_locked; /* true if the store was locked or unusable */
    enum rps_writer_loss loss;
    struct stat file[3];         /* state of the store, -wal and -shm at the last commit */
    unsigned int shrunk;         /* bit i: file[i] became smaller, and is not yet verified */
    sqlite3_file *log;           /* SQLite's file object for the log */
    uint32_t log_salt[2];        /* salt in the log's header at the last commit */
    int frame_bytes, frames;     /* size and number of the log's frames at the last commit; 0:
                                    unknown */
    int frames_moved;            /* `frames` when the log was most recently moved into the file */
    int frames_max;              /* number of further frames that cause the next move */
    int64_t checked_ns;          /* monotonic time of the last check of the log */
    int log_code;                /* result of the last check of the log */
    uint64_t committed_before;   /* number of committed periods that the saved file does not hold */
    int64_t run_id;              /* 0 if the run is not in a store */
    int code;                    /* code of the last failed write */
    struct rps_run run;          /* the run at its beginning; the caller owns its texts */
    const struct rps_plan *plan; /* owned by the caller */
    struct rps_write_statements statements;
    struct rps_rollup *rollup;
    struct rps_system_write system;
    struct rps_downsample *downsample; /* NULL without downsampling */
    int set_count;
    bool has_start;          /* true after rps_write_run_start was called */
    uint8_t *measured;       /* per set: bit mask of the slots whose event is measured */
    struct rps_set_sum *sum; /* per set: sums of the committed periods */
    int64_t end_ns;          /* end of the last committed period; -1: none */
    uint64_t next_period;    /* number of the period after the last committed one */
    int64_t last_commit_ns;  /* monotonic time; 0 before the first commit */
    int64_t last_beat_ns;    /* monotonic time; 0 before the first heartbeat */
    int64_t log_pages;       /* limit of the log in pages; 0: set by SQLite or downsampling */
    int64_t slow_ns;         /* duration of the slowest reported write */
    int64_t backoff_ns;
    bool full;                  /* true after reporting that nothing more can be downsampled */
    bool save_failed;           /* true after reporting that no other file can be used */
    char reason[200];           /* reason of the last failed write */
    uint64_t lost_when_failing; /* value of status.dropped when the failures began */

    /* Members that both threads use under the lock. */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct rps_ring ring;
    uint64_t periods; /* number of periods in the ring */
    struct rps_lost_stretch lost;
    int64_t next_note;
    int64_t mark_second_ns; /* monotonic time: begin of the second in which marks are counted */
    uint64_t marks, marks_left_out;
    int64_t mark_time_ns; /* time of the last mark that was left out */
    uint64_t lost_notes;  /* number of marks and gaps lost for lack of space in the ring */
    uint64_t rows;        /* number of readings and rows of an extension in the ring */
    uint64_t lost_rows;   /* number of an extension's rows lost for lack of space in the ring */
    uint64_t committed, dropped;
    bool sleeping;      /* the thread waits for work or for the next commit */
    bool idle;          /* the thread has no records although a commit would be due */
    bool stop;          /* the thread must finish */
    bool abandoned;     /* with `stop`: discard the remaining records */
    bool failing;       /* the last write failed and is retried */
    bool broken;        /* writing has ended after a permanent failure */
    int64_t give_up_ns; /* monotonic time at which to stop retrying after `stop` */
    char trouble[200];  /* reason of `failing` or `broken` */
};

/* Run the writer's thread; `context` is the writer. The thread writes until `stop` is set, then
 * writes the remaining records and returns NULL. */
void *rps_writer_thread(void *context);

/* Open writer->path for writing. Returns RPS_BUSY if a step waited busy_ms (0: 5 s) for a lock. */
int rps_writer_connect(struct rps_writer *writer, int busy_ms, struct rps_error *err);

/* Add the run to the store and prepare to write the run. Opens the store if necessary. Returns
 * RPS_BUSY if another program holds the lock for longer than busy_ms. */
int rps_writer_add_run(struct rps_writer *writer, int busy_ms, struct rps_error *err);

/* Return true if the writer may stop retrying the last write, which failed. The caller holds the
 * lock, or no thread runs. A run that waits for the store's lock then continues in another file. */
bool rps_writer_gives_up(const struct rps_writer *writer);

/* Report a heartbeat. Call this without the lock. For `gave_up` see struct rps_writer_beat. */
void rps_writer_report_beat(struct rps_writer *writer, bool gave_up);

/* Return how many bytes in the ring make the next commit due at once. */
size_t rps_writer_due(const struct rps_writer *writer);

/* Return the path of the file that the writer writes at present. */
static inline const char *rps_writer_file(const struct rps_writer *writer)
{
    return writer->saved_path ? writer->saved_path : writer->path;
}

void rps_writer_notice(const struct rps_writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Result code: another program or user has deleted the run's rows. This code and the next two are
 * used in addition to SQLite's codes. */
#define RPS_WRITER_RUN_IS_GONE SQLITE_DONE

/* Result code: a file has become smaller, by a checkpoint of another program or by mistake. */
#define RPS_WRITER_SHRUNK SQLITE_ROW

/* Result code: the connection was abandoned by rps_writer_leave_connection. */
#define RPS_WRITER_HAS_LEFT SQLITE_NOTICE

/* Run `insert` in one transaction. If the disk is full, move the log into the file and retry once.
 * Within the transaction, ensures that the run exists in state `recording`, because another program
 * that opened the store may have marked it interrupted. Returns an SQLite code. After an error,
 * writer->reason has the reason. */
int rps_writer_write(struct rps_writer *writer,
                     int (*insert)(struct rps_writer *writer, const void *context),
                     const void *context);

/* Write the run's beginning (rps_write_run_start) when its first two rotations are in the store on
 * all CPUs: when a later period is there, or at the end of the run. The caller has begun a
 * transaction, and sets has_start after the commit. Returns an SQLite code. */
int rps_writer_start(struct rps_writer *writer, bool is_end);

/* Append a gap record for the lost range, if any. The caller holds the lock. */
void rps_writer_note_lost(struct rps_writer *writer);

/* Append one mark record for marks that were left out, if any. The caller holds the lock. */
void rps_writer_note_marks(struct rps_writer *writer);

/* Prepare to write the run after it was added to the database. Returns an SQLite code. */
int rps_writer_open_run(struct rps_writer *writer);

/* Free the data of the run. */
void rps_writer_close_run(struct rps_writer *writer);

/* Open the database between runs (rps_writer_hold). If the open connection excludes readers, even
 * readers in this process, rps_writer_release closes the connection after each use. */
int rps_writer_hold(struct rps_writer *writer, struct rps_error *err);
void rps_writer_release(struct rps_writer *writer);

/* Prepare the statements for the database. Returns an SQLite code. */
int rps_write_record_prepare(struct rps_writer *writer);
void rps_write_record_finalize(struct rps_writer *writer);

/* Insert a record, and the blocks that it completes. Returns an SQLite code. */
int rps_write_record_insert(struct rps_writer *writer, const struct rps_ring_record *record);

/* Add a committed record to the sums. */
void rps_write_record_sum(struct rps_writer *writer, const struct rps_ring_record *record);

/* --- checks of the recorded data: write_sound.c ----------------------------------------------- */

/* Remember the state of the store's files and watch the log. Call this function after opening and
 * PRAGMA wal_autocheckpoint. */
void rps_writer_watch_files(struct rps_writer *writer);

/* Compare the files with their last known state, within a transaction. Returns
 * SQLITE_READONLY_DBMOVED if a file was deleted, moved or replaced. Returns SQLITE_CORRUPT if the
 * log was overwritten, RPS_WRITER_SHRUNK if a file is smaller, or another SQLite code. */
int rps_writer_check_files(struct rps_writer *writer);

/* Reread the rows by a new connection. Returns RPS_WRITER_RUN_IS_GONE or an SQLite code. */
int rps_writer_verify(struct rps_writer *writer);

/* Return true if this code, which a write has returned, means that the store has lost data. */
bool rps_writer_is_lost(int code);

/* Move the log into the file and empty it, unless it was overwritten. */
void rps_writer_empty_log(struct rps_writer *writer);

/* Describe the remaining content of the store at writer->path, as the end of a sentence. */
void rps_writer_describe_kept(const struct rps_writer *writer, int64_t run_id, bool is_whole,
                              char *ret, size_t size);

/* Return true if the files still hold the data of the last commit, by their sizes and the log's
 * checksums. Call this function before the run continues in another file. */
bool rps_writer_is_whole(const struct rps_writer *writer);

/* Continue in a new file next to the store and notify the user. If the store's file was moved,
 * deleted or replaced, the new file is a copy of the whole store. If the run's rows are gone, the
 * new file holds this run alone. The user's files are not changed. Returns an SQLite code. After an
 * error the old database is still open and the failure was reported. */
int rps_writer_save_copy(struct rps_writer *writer);
int rps_writer_save_run(struct rps_writer *writer, enum rps_writer_loss loss);

/* Continue in another file if the code of a failed write means that the store, or the run in it, is
 * gone. Returns true on success. Call this function without the lock. */
bool rps_writer_go_on(struct rps_writer *writer, int code);

/* SAFETY: abandon the connection after a fault in its shared memory. The connection is never used
 * or closed again. The next write returns RPS_WRITER_HAS_LEFT. */
void rps_writer_leave_connection(struct rps_writer *writer);

/* Continue in a new file because the store stayed locked. If the run has begun in the store, the
 * new file gets a copy of the store. */
int rps_writer_save_locked(struct rps_writer *writer);
