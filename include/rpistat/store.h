/*
 * The store: one SQLite file with any number of runs. Its tables are the contract of `schema/`.
 *
 * Writing: the measurement loop passes periods to a writer, which never makes the loop wait; a
 * thread of the writer owns the database. Reading: cursors over a read-only connection, even during
 * a recording.
 */
#ifndef RPISTAT_STORE_H
#define RPISTAT_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/period.h"
#include "rpistat/phase.h"
#include "rpistat/run.h"

struct rps_plan;

#define RPS_STORE_DEFAULT_PATH "rpistat.data"

/* --- writing ---------------------------------------------------------------------------------- */

struct rps_system_reading;
struct rps_system_state;
struct rps_writer;

/* Maximum number of marks that are kept per second. */
#define RPS_MARKS_PER_S 1000

#define RPS_MAX_BYTES_LEAST (UINT64_C(4) << 20)

/* The content of a heartbeat. */
struct rps_writer_beat {
    const char *file;          /* the file that is written now, */
    int64_t run_id;            /* and the run's number in it; 0: it is not in the file yet */
    const struct rps_run *run; /* as it began */
    uint64_t periods;          /* committed so far, even if each CPU has its own */
    int64_t end_ns;            /* end of the last of them, since the start of the run; -1: none */
    uint64_t size_bytes;       /* of the store's files */
    int64_t late_ns;           /* clock: the recorder is late if no heartbeat comes by then */
    int gave_up;               /* 1: the last one; the run is still `recording` in the file */
};

struct rps_writer_options {
    int64_t commit_ns;   /* minimum time between commits; 0: one transaction per period */
    int durability_full; /* 1: sync at every commit (synchronous=FULL) */
    int starts_locked;   /* 1: rps_writer_open and rps_writer_begin succeed although another program
                            holds the store's lock; see rps_writer_begin */
    size_t ring_periods; /* capacity of the ring; 0: enough for callers of rps_writer_wait */
    int64_t keep_ns;    /* downsample: delete periods older than this, blocks of level 1 that are 16
                            times as old, and so on, if a coarser row replaces them; 0: none */
    int keep_blocks;    /* but only when the run has this many of the coarser rows per set, unless
                            max_bytes leaves no space for that */
    uint64_t max_bytes; /* downsample: delete old rows, as above, so that the store and its log stay
                            below this; at least RPS_MAX_BYTES_LEAST; 0: any size */
    void (*notice)(void *context, const char *sentence); /* a message for the user; called from the
                               writer thread; may be NULL */
    void *notice_context;
    void (*beat)(void *context, const struct rps_writer_beat *beat); /* called from the writer
                               thread with each heartbeat: at most once per second; at least every 5
                               s or commit_ns, even if nothing is counted; may be NULL */
    void *beat_context;
    int (*ends_now)(void *context); /* 1: rps_writer_end stops waiting for another program's lock;
                               called from any thread while rps_writer_end runs; may be NULL */
    void *ends_now_context;
};

struct rps_writer_status {
    uint64_t committed;  /* periods in the store */
    uint64_t queued;     /* periods waiting */
    uint64_t dropped;    /* periods lost because the ring was full; in `gap` rows */
    uint64_t file_bytes; /* of the store's file, which grows when its log is copied into it */
    uint64_t size_bytes; /* of the store's files */
    int failing;         /* 1 while writes are being retried */
    int is_empty;        /* 1: the file that is written now has no period of the run */
    int is_damaged;      /* 1: the store was damaged, and the run continues in another file */
    int64_t run_id;      /* the run's number in the file that is written now; 0: it is in no file */
    const char *file;    /* the file that is written now: the store, or the one in which the run
                         continues; valid until rps_writer_close */
};

/* Return the ring's capacity for periods of that length of cpu_count CPUs. It holds ten minutes of
 * them, but at least 64 MiB and at most 512 MiB. Memory is used only as needed. */
size_t rps_writer_ring_periods(int64_t period_ns, int cpu_count);

/*
 * Open the store at path for writing. Creates it if it is absent or empty, updates its schema, and
 * marks the runs of dead recorders interrupted. Proves by a write that it can be written. Adds no
 * run yet. Errors (RPS_FAILED, one sentence): a directory, not SQLite, another program's SQLite
 * file (application_id), a newer version, read-only, no space, a missing directory, a foreign
 * companion file. RPS_BUSY: another program holds its lock. A refused file is not changed, and a
 * new one is deleted.
 */
int rps_writer_open(struct rps_writer **ret, const char *path,
                    const struct rps_writer_options *options, struct rps_error *err);

/*
 * Add the run and its plan in one transaction, and start the writer thread. Fills run->run_id and
 * run->uuid. The plan and the texts of run are borrowed until rps_writer_close.
 *
 * With starts_locked, run->run_id is 0 if another program holds the store's lock. The recording
 * then begins in memory, and the thread adds the run when the lock is free. After 60 s, or when
 * records fill 64 MiB or half of the ring, the thread writes the run to a new file STORE.saved-ID.
 *
 * RPS_FAILED also if the store already holds too much for max_bytes: only the new run is
 * downsampled.
 *
 * The thread adds the rows of `rollup` in the transaction of the period that completes them.
 * Downsampling deletes fine rows that a coarser row replaces, in transactions of some milliseconds
 * between writes. Sums over the run, and over ranges of whole blocks, stay exactly the same. While
 * a reader has an open cursor, the log cannot be moved into the file, and grows. When no more can
 * be downsampled (the store is full of other runs), a notice reports that and the recording
 * continues.
 *
 * A store that is deleted, moved or replaced is copied to a new file next to its old place, where
 * the recording continues. A run whose rows were deleted, or whose store was emptied or damaged,
 * continues alone in such a file, with a gap for the time before. A run that was taken for
 * interrupted is `recording` again with the next commit.
 */
int rps_writer_begin(struct rps_writer *writer, struct rps_run *run, const struct rps_plan *plan,
                     struct rps_error *err);

/*
 * Pass a period to the writer. Never waits for the disk, never fails: if the ring is full, the
 * period is dropped, and a gap row will record that. SAFETY: call it from one thread only.
 */
void rps_writer_period(struct rps_writer *writer, const struct rps_period *period);

/* Wait until the ring has much space, for a caller that makes periods faster than a disk takes
 * them. Does not wait while writes fail. */
void rps_writer_wait(struct rps_writer *writer);

/* Pass an annotation at a time of the run. Text is copied and cut to 1 KiB. Marks in excess of
 * RPS_MARKS_PER_S within a second are only counted, and one mark records their number. */
void rps_writer_mark(struct rps_writer *writer, int64_t time_ns, const char *text);

/* Pass a time range that was not recorded. */
void rps_writer_gap(struct rps_writer *writer, int32_t cpu, int64_t start_ns, int64_t length_ns,
                    const char *reason);

/* Pass which metrics of a source can be read (rpistat/system_signals.h). Call it after
 * rps_writer_begin, before the first reading of that source. Never waits; copied. */
void rps_writer_system_state(struct rps_writer *writer, const struct rps_system_state *state);

/* Pass a reading of system metrics after the period at whose end it was made. Readings of a source
 * come in the order of their periods; a second one for a period is left out. Never waits; if the
 * ring is full, the reading and its counts are lost. The thread makes blocks of readings, and
 * downsamples them with the periods. */
void rps_writer_system(struct rps_writer *writer, const struct rps_system_reading *reading);

/* Return the writer's progress. Callable from any thread. */
void rps_writer_status(struct rps_writer *writer, struct rps_writer_status *ret);

/*
 * Write the remaining records, end the run and stop the thread. run provides state, end_reason,
 * start (exactly known only after rps_writer_begin), elapsed_ns, exit status or signal,
 * recorder_cpu_ns and fitting. RPS_FAILED if writing failed for ten seconds; committed data stay.
 * RPS_FAILED also if the recording continued in another file, which the message names. RPS_BUSY if
 * the reason was another program's lock, for which it waits 60 s: the recording itself did not
 * fail.
 */
int rps_writer_end(struct rps_writer *writer, const struct rps_run *run, struct rps_error *err);

/* Close the writer and remove its run, which never began. Deletes the run's rows, and the store if
 * this writer made it and no other process uses it. NULL is harmless. */
void rps_writer_abandon(struct rps_writer *writer);

/*
 * Store the estimates of the run that rps_writer_end has ended: `whole` of the plan's clock event,
 * events and metrics. RPS_FAILED if it could not be written; the run is valid without them.
 */
int rps_writer_set_estimates(struct rps_writer *writer, const struct rps_plan *plan,
                             struct rps_error *err);

/* Store the CPU time that the recorder used after rps_writer_end; errors as there. */
int rps_writer_set_after(struct rps_writer *writer, int64_t after_ns, struct rps_error *err);

/* Let `read` read the store after rps_writer_end, without opening it again. Returns its result. */
struct rps_reader;
int rps_writer_read(struct rps_writer *writer,
                    int (*read)(void *context, struct rps_reader *reader, struct rps_error *err),
                    void *context, struct rps_error *err);

/* Close the store and move its log into the file, which is then complete by itself; waits up to
 * half a second for readers. A run that was begun and not ended stays in state `recording`, and the
 * next opening marks it interrupted. NULL is harmless. */
void rps_writer_close(struct rps_writer *writer);

/* --- reading ---------------------------------------------------------------------------------- */

struct rps_reader;
struct rps_cursor;
struct rps_wing;

/* Return what rps_store_use (rpistat/store_wing.h) received for readers; NULL: nothing. */
const struct rps_wing *rps_store_used_wing(void);

/*
 * Open the store at path read-only: no row is changed, nothing is migrated. SQLite may do what
 * reading a log requires. SAFETY: it changes no file next to a store that another user could
 * exchange. Errors (RPS_FAILED, one sentence): missing, a directory, not SQLite, another program's
 * file, a newer major version, damaged, a foreign companion file.
 */
int rps_reader_open(struct rps_reader **ret, const char *path, struct rps_error *err);

void rps_reader_close(struct rps_reader *reader);

/* Store an object in the reader, which frees it on closing. Returns the previous object, now owned
 * by the caller; NULL: none. */
void *rps_reader_leave(struct rps_reader *reader, void *left, void (*free_left)(void *));

/* The data of a run that `runs` shows in addition to its metadata. */
struct rps_run_summary {
    uint64_t periods; /* measurement periods; if each CPU has its own, those of the CPU with the
                         most */
    uint64_t rows;    /* periods of all CPUs together: the cost of reading the run */
    int gap_count;
    char plan[RPS_NAME_SIZE];
};

/*
 * Find the run that the user typed; NULL means `last`. In this order: a number, a label or a tag
 * KEY=VALUE (the newest run with it), `last`, `last-N`. RPS_FAILED names similar or existing runs
 * if none matches.
 */
int rps_reader_find(struct rps_reader *reader, const char *text, int64_t *ret_run_id,
                    struct rps_error *err);

/* The same for commands that follow a recording: NULL means the newest run that is being recorded,
 * otherwise the newest run. */
int rps_reader_find_live(struct rps_reader *reader, const char *text, int64_t *ret_run_id,
                         struct rps_error *err);

/* Find all runs that a text means, ascending, each once, in a new array (free()). The text is a
 * label, a tag, label:TEXT, a range 1-5, a text for rps_reader_find, or several of these with
 * commas between. RPS_USAGE for any other text. */
int rps_reader_find_group(struct rps_reader *reader, const char *text, int64_t **ret_run_id,
                          size_t *ret_count, struct rps_error *err);

/* List all run_ids in ascending order, in a new array (free()); *ret_count may be 0. */
int rps_reader_runs(struct rps_reader *reader, int64_t **ret_run_id, size_t *ret_count,
                    struct rps_error *err);

/* Also regard the recorder of a run in state `recording` as dead if is_dead reports it: up to 45 s
 * before its heartbeats would. Call once, before the first store is opened. */
void rps_store_ask_recorders(int (*is_dead)(const char *uuid));

/* Read the metadata of a run; free with rps_run_free. A run in state `recording` whose recorder is
 * dead (schema/README.md, heartbeat) is returned as interrupted. Before the run has ended,
 * elapsed_ns is that of its last period. */
int rps_reader_run(struct rps_reader *reader, int64_t run_id, struct rps_run *ret,
                   struct rps_error *err);

int rps_reader_summary(struct rps_reader *reader, int64_t run_id, struct rps_run_summary *ret,
                       struct rps_error *err);

/* *ret_ns: rows before this time of the run were downsampled; -1: none were. */
int rps_reader_thinned(struct rps_reader *reader, int64_t run_id, int64_t *ret_ns,
                       struct rps_error *err);

/* *ret_level: the finest level with remaining rows of the CPU at a period (rpistat/period.h), and
 * thus the coarsest after it; 0: the periods themselves. */
int rps_reader_thinned_to(struct rps_reader *reader, int64_t run_id, int32_t cpu, uint64_t period,
                          int *ret_level, struct rps_error *err);

/* Read the plan that the run counted; free with rps_plan_free. */
int rps_reader_plan(struct rps_reader *reader, int64_t run_id, struct rps_plan **ret,
                    struct rps_error *err);

/*
 * Open a cursor over the rows of a run in [from_ns, to_ns), ordered by CPU and time. Resolution 0:
 * periods as measured; k: rows not coarser than level k, as few as possible. If finer rows were
 * downsampled, the finest remaining ones come instead; if no block of a level lies entirely in the
 * range, finer rows. No time is repeated or left out. A period belongs to the range that has its
 * middle. One cursor sees one state of the store, even during a recording.
 */
int rps_cursor_open(struct rps_cursor **ret, struct rps_reader *reader, int64_t run_id,
                    int64_t from_ns, int64_t to_ns, int resolution, struct rps_error *err);

/* Return 1 if the range read so far begins or ends inside a downsampled block, which widened it;
 * *ret_from_ns and *ret_to_ns: the widened range. Otherwise 0. */
int rps_cursor_widened(const struct rps_cursor *cursor, int64_t *ret_from_ns, int64_t *ret_to_ns);

/* Read only one CPU; call before the first rps_cursor_next. */
void rps_cursor_choose_cpu(struct rps_cursor *cursor, int32_t cpu);

/* Read the next period: 1 and *ret; 0 at the end; negative on error. */
int rps_cursor_next(struct rps_cursor *cursor, struct rps_period *ret, struct rps_error *err);
void rps_cursor_close(struct rps_cursor *cursor);

/* Marks and gaps of a run in order of time. */
struct rps_note {
    int32_t cpu; /* of a gap; RPS_CPU_ALL: all CPUs */
    int64_t start_ns;
    int64_t length_ns; /* 0 for a mark */
    char *text;        /* owned: a mark's text, a gap's reason */
};

struct rps_notes {
    size_t count;
    struct rps_note *note; /* owned */
};

int rps_reader_marks(struct rps_reader *reader, int64_t run_id, struct rps_notes *ret,
                     struct rps_error *err);
int rps_reader_gaps(struct rps_reader *reader, int64_t run_id, struct rps_notes *ret,
                    struct rps_error *err);
void rps_notes_free(struct rps_notes *notes);

/* Return the size of the store's database and of its free space, in bytes. */
int rps_reader_space(struct rps_reader *reader, uint64_t *ret_bytes, uint64_t *ret_free_bytes,
                     struct rps_error *err);

/* Find the first and last number of periods of any CPU with their middle in [from_ns, to_ns) of a
 * run: 1; 0: there are none; negative on error. */
int rps_reader_periods(struct rps_reader *reader, int64_t run_id, int64_t from_ns, int64_t to_ns,
                       uint64_t *ret_first, uint64_t *ret_last, struct rps_error *err);

/* --- changing runs ---------------------------------------------------------------------------- */

/* Changes of a run. */
struct rps_run_edit {
    const char *label; /* NULL: unchanged */
    int tag_count;
    const struct rps_tag *tag; /* to add; replaces tags with the same keys */
    int unset_count;
    const char *const *unset; /* keys of tags to delete; missing ones are ignored */
};

/* Change a run of the store at path, in one transaction, also while it is recorded. Errors: those
 * of rps_writer_open; no such run. */
int rps_store_edit_run(const char *path, int64_t run_id, const struct rps_run_edit *edit,
                       struct rps_error *err);

/* Wait until no recorder writes to the store at path, which may be missing. Errors: those of
 * rps_reader_open. */
int rps_store_wait(const char *path, struct rps_error *err);

/*
 * Delete a run with all its rows in one transaction: if killed, it leaves either the whole run or
 * nothing. Recorders of the same store keep their periods in memory until then. The file keeps its
 * size and reuses its free pages. Errors: those of rps_writer_open; no such run; it is being
 * recorded; it has more than a million periods while another run is being recorded.
 */
int rps_store_delete_run(const char *path, int64_t run_id, struct rps_error *err);

/*
 * Return the store's free pages to the disk by rewriting it, which temporarily takes up to twice
 * its size. RPS_FAILED if a run is being recorded.
 */
int rps_store_shrink(const char *path, struct rps_error *err);

/* --- merging ---------------------------------------------------------------------------------- */

enum rps_merge_result {
    RPS_MERGE_ADDED,     /* the run is in the store now */
    RPS_MERGE_REPLACED,  /* the store had its beginning, which the run has replaced */
    RPS_MERGE_COPIED,    /* the store had a different run with its uuid. The run was added as a copy
                            under a new uuid, with its old one as the tag copy_of */
    RPS_MERGE_PRESENT,   /* the store had it, or more of it: left out */
    RPS_MERGE_RECORDING, /* it is still being recorded, there or here: left out */
    RPS_MERGE_UNSOUND,   /* no recorder writes such a run: left out */
};

/* The result for a run of the other store. */
struct rps_merge_run {
    enum rps_merge_result result;
    int64_t run_id;            /* its number here; -1: not here */
    int64_t replaced_run_id;   /* the number of the replaced run; -1: none */
    int64_t differing_run_id;  /* of a copy: the run here that it differs from; -1: not a copy */
    const char *why;           /* UNSOUND: the first finding of the check */
    const struct rps_run *run; /* as in the other store, until the call returns */
    const struct rps_run_summary *summary;
};

/*
 * Merge the runs of the store at `other` into the one at `path`, which is created if it is missing
 * and the other holds a run. Each run is copied unchanged with all its rows (periods, rollups,
 * phases, marks, gaps, samples). `only` is a run of the other store, as for rps_reader_find; NULL
 * means all.
 *
 * Runs are identified by uuid, and their content is compared row by row, with the other store in
 * one state. A run here is replaced only by a run that continues it, which takes over its tags and,
 * if it has one, its label. A complete run has no continuation. If the two differ, both are kept. A
 * run is checked as by rps_store_check before it is copied.
 *
 * Each run is copied in one transaction. A killed merge leaves each run either absent or complete,
 * and recorders keep their periods in memory until then. `each` (may be NULL) is called with each
 * run; a result other than 0 ends the merge, and is returned.
 *
 * Errors: those of rps_writer_open and rps_reader_open; both are the same file; the other store has
 * a newer format than this program's, and may hold data that would be lost; it has a row that no
 * recorder writes; a run to copy has more than a million periods while one is being recorded here.
 * Runs that were already merged stay.
 */
int rps_store_merge(const char *path, const char *other, const char *only,
                    int (*each)(void *context, const struct rps_merge_run *run), void *context,
                    struct rps_error *err);

/* --- positions of pushes ---------------------------------------------------------------------- */

/*
 * The progress of each run in each database (`rpistat push`), in its own file: per CPU of a run,
 * the last period that the database accepted. Numbers below -1 are for push itself.
 */
struct rps_pushed;

struct rps_pushed_position {
    int32_t cpu;
    int64_t period;
};

/* Open the file at path, which is created if it is missing. Several processes may have it open. */
int rps_pushed_open(struct rps_pushed **ret, const char *path, struct rps_error *err);

/* Look up a position: 1 and *ret_period; 0: none; negative on error. SAFETY: `url` holds no
 * credentials. */
int rps_pushed_get(struct rps_pushed *pushed, const char *url, const char *uuid, int64_t cpu,
                   int64_t *ret_period, struct rps_error *err);

/* Store positions, in one transaction. */
int rps_pushed_set(struct rps_pushed *pushed, const char *url, const char *uuid,
                   const struct rps_pushed_position *position, size_t count, struct rps_error *err);

/* Delete all positions of a run. */
int rps_pushed_forget(struct rps_pushed *pushed, const char *url, const char *uuid,
                      struct rps_error *err);

/* NULL is harmless. */
void rps_pushed_close(struct rps_pushed *pushed);

/* --- phases ----------------------------------------------------------------------------------- */

/* A detection of phases as stored. */
struct rps_detection {
    int64_t detection;              /* its number in the run, from 0; assigned by the store */
    char method[64];                /* "screened", "exact", ... */
    char *parameters;               /* owned (malloc); JSON object: the settings and results */
    char *remark;                   /* owned (malloc); a sentence on the whole run, or NULL */
    struct rps_phase_levels levels; /* owned; first, last and outliers are period numbers */
};

/*
 * Add a detection to a run of the store at path, in one transaction, and give it the next number.
 * Works while a recorder writes the same store. Replaces an earlier detection with the same method
 * and parameters. It has at least one level, all levels have the same beginning and end, and
 * outliers are those of the level shown. Errors: those of rps_writer_open; no such run.
 */
int rps_store_add_detection(const char *path, int64_t run_id, struct rps_detection *detection,
                            struct rps_error *err);

/*
 * Read the newest detection of a run, with all its levels: 1 and *ret (free with
 * rps_detection_free); 0: there is none. Negative on error, also if the detection is invalid.
 */
int rps_reader_detection(struct rps_reader *reader, int64_t run_id, struct rps_detection *ret,
                         struct rps_error *err);
void rps_detection_free(struct rps_detection *detection);

#endif
