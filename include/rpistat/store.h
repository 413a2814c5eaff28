/* The store: one SQLite file with any number of runs. `schema/` documents the tables of the store.
 *
 * The measurement loop passes periods to a writer, which never makes the loop wait. A thread of the
 * writer owns the database. Cursors read the store over a read-only connection, even during a
 * recording. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/period.h"
#include "rpistat/phase.h"
#include "rpistat/run.h"

struct rps_arena;
struct rps_plan;

#define RPS_STORE_DEFAULT_PATH "rpistat.data"

/* --- writing ---------------------------------------------------------------------------------- */

struct rps_system_reading;
struct rps_system_state;
struct rps_writer;

/* Maximum number of marks that are kept per second. */
#define RPS_MARKS_PER_S 1000

#define RPS_MAX_BYTES_MIN (UINT64_C(4) << 20)

/* Content of a heartbeat, which reports the progress of the writer. */
struct rps_writer_beat {
    const char *file;          /* name of the file to which the run is written now */
    int64_t run_id;            /* number of the run in `file`; 0: the run is not in the file yet */
    const struct rps_run *run; /* properties that the run had when it began */
    uint64_t periods;          /* number of committed periods; CPUs are counted separately */
    int64_t end_ns;            /* end of the last committed period in the run; -1: none */
    uint64_t size_bytes;       /* size of the store's files */
    int64_t late_ns;           /* value of CLOCK_MONOTONIC after which the next heartbeat is late */
    int gave_up;               /* 1 if the writer gave up; the run is still `recording` */
};

struct rps_writer_options {
    int64_t commit_ns;   /* minimum time between commits; 0: one transaction per period */
    int durability_full; /* 1 to sync at every commit (synchronous=FULL) */
    int starts_locked;   /* 1 if rps_writer_open and rps_writer_begin succeed even while another
                            program holds the store's lock; see rps_writer_begin */
    size_t ring_periods; /* capacity of the ring; 0: suits callers of rps_writer_wait */
    int64_t keep_ns;     /* Downsample by age: delete periods older than keep_ns, blocks of level
                            1 older than 16 x keep_ns, and so on. Rows are deleted only if a
                            coarser row replaces them. 0: delete no rows by age. */
    int keep_blocks;     /* Delete rows only if the run has at least this number of coarser rows
                            per set, or if max_bytes leaves no space for the finer rows. */
    uint64_t max_bytes;  /* Downsample by size: delete old rows so that the store and its log stay
                           below max_bytes (at least RPS_MAX_BYTES_MIN). 0: no limit. */
    void (*notice)(void *context, const char *sentence); /* Receives a message for the user, in
                                                            the writer thread. May be NULL. */
    void *notice_context;
    /* Receives each heartbeat, in the writer thread: at most once per second, and at least every 5
     * s (or every commit_ns), even if nothing is counted. May be NULL. */
    void (*beat)(void *context, const struct rps_writer_beat *beat);
    void *beat_context;
    int (*ends_now)(void *context); /* Return 1 if rps_writer_end should stop waiting for another
                                       program's lock. Called from any thread; may be NULL. */
    void *ends_now_context;
};

struct rps_writer_status {
    uint64_t committed;  /* number of periods in the store */
    uint64_t queued;     /* number of periods waiting in the ring */
    uint64_t dropped;    /* periods lost because the ring was full; rows of `gap` record them */
    uint64_t file_bytes; /* size of the store's main file, without its log */
    uint64_t size_bytes; /* size of all files of the store */
    int failing;         /* 1 if writes fail at present and are retried */
    int is_empty;        /* 1 if the file that is written at present has no period of the run */
    int is_damaged;      /* 1 if the store was damaged and the run continues in another file */
    int64_t run_id;      /* run's number in the file that is written at present; 0: none */
    const char *file;    /* The file that is written at present: the store, or the new file in
                            which the run continues. The name is valid until rps_writer_close. */
    char trouble[200];   /* reason why writes fail at present, such as "its disk is full"; or "" */
};

/* Return the ring's capacity in periods, for cpu_count CPUs and this period length. The ring holds
 * ten minutes of periods, at least 64 MiB and at most 512 MiB. Memory is used only as needed. */
size_t rps_writer_ring_periods(int64_t period_ns, int cpu_count);

/* Open the store at path for writing. Create it if it is absent or empty, update its schema, and
 * mark the runs of dead recorders as interrupted. Write to the store to check that writing works.
 * No run is added yet. Return RPS_FAILED with one sentence if path is a directory, is not SQLite,
 * is another program's SQLite file (application_id), has a newer version or is read-only. Also
 * return RPS_FAILED if there is no space, the directory is missing, or a companion file (-wal,
 * -journal, -shm) belongs to another user or program. Return RPS_BUSY if another program holds the
 * store's lock. After an error, an existing file is unchanged, and a new file is deleted. */
int rps_writer_open(struct rps_writer **ret, const char *path,
                    const struct rps_writer_options *options, struct rps_error *err);

/* Add the run and its plan in one transaction, and start the writer thread. Fill run->run_id and
 * run->uuid. The plan and the texts of run are borrowed until rps_writer_close.
 *
 * With starts_locked, run->run_id is 0 if another program holds the store's lock. The recording
 * then begins in memory, and the thread adds the run as soon as the lock is free. If the lock is
 * not free after 60 s, or when records fill 64 MiB or half of the ring, the thread writes the run
 * to a new file STORE.saved-ID.
 *
 * Also return RPS_FAILED if the store is already larger than max_bytes allows, because only the
 * rows of the new run can be downsampled.
 *
 * The thread adds each row of `rollup` in the transaction that adds the row's last period.
 * Downsampling deletes fine rows that a coarser row replaces. The deletions are between writes, in
 * transactions of some milliseconds. Downsampling does not change sums over the run, or over ranges
 * of whole blocks. As long as a reader has an open cursor, the log cannot be moved into the file,
 * so that the log grows. If other runs fill the store up to max_bytes, downsampling ends. The
 * recording then continues, and a notice reports the reason.
 *
 * If the store is deleted, moved or replaced during the recording, it is copied to a new file next
 * to the store's old path. The recording continues in the new file. If the run's rows were deleted,
 * or the store was emptied or damaged, only this run continues in a new file. This new file has a
 * gap for the time before it was created. If another program marked the run as interrupted, the
 * next commit sets it to `recording` again. */
int rps_writer_begin(struct rps_writer *writer, struct rps_run *run, const struct rps_plan *plan,
                     struct rps_error *err);

/* Pass a period to the writer. The call never waits for the disk and never fails. If the ring is
 * full, the period is lost, and a row of table `gap` records the loss. SAFETY: call it from one
 * thread only. */
void rps_writer_period(struct rps_writer *writer, const struct rps_period *period);

/* Wait until much of the ring is free. This function is for callers that produce periods faster
 * than a disk can write them. If writes fail, the function does not wait. */
void rps_writer_wait(struct rps_writer *writer);

/* Pass a mark, which is a text at a time of the run. The text is copied, and cut to 1 KiB. If there
 * are more than RPS_MARKS_PER_S marks in a second, further marks are only counted, and one mark
 * reports how many there were. */
void rps_writer_mark(struct rps_writer *writer, int64_t time_ns, const char *text);

/* Pass a gap, which is a time range that was not recorded, to the writer. */
void rps_writer_gap(struct rps_writer *writer, int32_t cpu, int64_t start_ns, int64_t length_ns,
                    const char *reason);

/* Pass the list of readable metrics of a source (rpistat/system_reader.h). Call this function after
 * rps_writer_begin, before the source's first reading. The list is copied; the call never waits. */
void rps_writer_system_state(struct rps_writer *writer, const struct rps_system_state *state);

/* Pass a reading of system metrics after the period at whose end the reading was made. Readings of
 * a source must be in the order of the periods; a second reading for a period is ignored. The call
 * never waits. If the ring is full, the reading is lost, and so are the increases of counters in
 * this reading. The thread makes blocks of readings, and downsamples them with the periods. */
void rps_writer_system(struct rps_writer *writer, const struct rps_system_reading *reading);

/* Return the writer's progress. Any thread may call this function. */
void rps_writer_status(struct rps_writer *writer, struct rps_writer_status *ret);

/* Write the remaining records, end the run and stop the thread. `run` has the values to store:
 * state, end_reason, start (known exactly only after rps_writer_begin), elapsed_ns, exit status or
 * signal, recorder_cpu_ns and fitting. Return RPS_FAILED if writing failed for ten seconds;
 * committed data are kept. Return RPS_FAILED also if the recording continued in another file, which
 * the message names. Return RPS_BUSY if another program held the store's lock for more than 60 s;
 * the recording itself did not fail. */
int rps_writer_end(struct rps_writer *writer, const struct rps_run *run, struct rps_error *err);

/* Close the writer and delete the rows of its run, because the workload never began. Delete the
 * store, too, if this writer created it and no other process uses it. The writer may be NULL.
 * Return a negative value if the run could not be deleted, for example because the disk is full. */
int rps_writer_abandon(struct rps_writer *writer);

/* Store estimates in the run that rps_writer_end has ended. The estimates are the members `whole`
 * of the plan's clock event, events and metrics. Return RPS_FAILED if the write failed; the run is
 * then still valid, but has no estimates. */
int rps_writer_set_estimates(struct rps_writer *writer, const struct rps_plan *plan,
                             struct rps_error *err);

/* Store the CPU time that the recorder used after rps_writer_end. Return RPS_FAILED on failure. */
int rps_writer_set_after(struct rps_writer *writer, int64_t after_ns, struct rps_error *err);

/* After rps_writer_end, call `read` with a reader of the store, and return its result. */
struct rps_reader;
int rps_writer_read(struct rps_writer *writer,
                    int (*read)(void *context, struct rps_reader *reader, struct rps_error *err),
                    void *context, struct rps_error *err);

/* Close the store and move its log into the file, so that the file is complete without the log.
 * Closing waits up to half a second for readers. A run that was begun but not ended still has the
 * state `recording`. When the store is next opened, this run is marked as interrupted. The writer
 * may be NULL. */
void rps_writer_close(struct rps_writer *writer);

/* --- reading ---------------------------------------------------------------------------------- */

struct rps_reader;
struct rps_cursor;
struct rps_code_hooks;

/* Return the hooks that rps_store_use (rpistat/store_hooks.h) received for readers, or NULL. */
const struct rps_code_hooks *rps_store_used_hooks(void);

/* Open the store at path read-only: rows and schema are not changed. SQLite may change the files of
 * the log if this is necessary for reading. SAFETY: if another user could replace the store, no
 * file next to the store is changed. Return RPS_FAILED with one sentence if the store is missing, a
 * directory, not SQLite, another program's file, of a newer major version, or damaged. It is also
 * an error if a companion file (-wal, -journal, -shm) belongs to another user or program. */
int rps_reader_open(struct rps_reader **ret, const char *path, struct rps_error *err);

void rps_reader_close(struct rps_reader *reader);

/* Attach an object to the reader, which frees the object on closing. Return the object that was
 * attached before, which the caller then owns, or NULL. */
void *rps_reader_leave(struct rps_reader *reader, void *left, void (*free_left)(void *));

/* Data of a run that `rpistat runs` shows in addition to the run's metadata. */
struct rps_run_summary {
    uint64_t periods; /* Number of measurement periods. If CPUs have separate periods, this is
                         the maximum over the CPUs. */
    uint64_t rows;    /* number of periods of all CPUs, on which the time to read depends */
    int64_t cpu_ns;   /* CPU time while counting; of whole CPUs, also idle time (-1: unknown) */
    int gap_count;
    char plan[RPS_NAME_SIZE];
};

/* Find a run by the user's text; NULL means `last`. The text may be a number, a label or a tag
 * KEY=VALUE (the newest run with this label or tag), `last` or `last-N`, and is tried in this
 * order. If no run matches, return RPS_FAILED with similar or existing runs. */
int rps_reader_find(struct rps_reader *reader, const char *text, int64_t *ret_run_id,
                    struct rps_error *err);

/* Find a run for commands that follow a recording, like rps_reader_find. NULL means the newest run
 * that is being recorded. If no run is being recorded, NULL means the newest run. */
int rps_reader_find_live(struct rps_reader *reader, const char *text, int64_t *ret_run_id,
                         struct rps_error *err);

/* Find all runs that a text means. *ret_run_id is an array in the arena, in ascending order and
 * without duplicates. The text is a label, a tag, label:TEXT, a range 1-5, a text for
 * rps_reader_find, or a comma-separated list of these. Return RPS_USAGE for any other text. */
int rps_reader_find_group(struct rps_arena *arena, struct rps_reader *reader, const char *text,
                          int64_t **ret_run_id, size_t *ret_count, struct rps_error *err);

/* List all run_ids in ascending order, in an array in the arena; *ret_count may be 0. */
int rps_reader_runs(struct rps_arena *arena, struct rps_reader *reader, int64_t **ret_run_id,
                    size_t *ret_count, struct rps_error *err);

/* Set a function that returns whether a recorder is dead. Without this function, a dead recorder is
 * recognised only by missing heartbeats, up to 45 s later. Call this function once, before the
 * first store is opened. */
void rps_store_ask_recorders(int (*is_dead)(const char *uuid));

/* Read the metadata of a run into *ret, whose texts are in the arena. A run in state `recording`
 * with a dead recorder (schema/README.md, heartbeat) is returned as interrupted. If the run has not
 * ended, elapsed_ns is the end of its last period so far. */
int rps_reader_run(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                   struct rps_run *ret, struct rps_error *err);

int rps_reader_summary(struct rps_reader *reader, int64_t run_id, struct rps_run_summary *ret,
                       struct rps_error *err);

/* Find the time before which rows of the run were downsampled; *ret_ns is -1 if none were. */
int rps_reader_downsampled(struct rps_reader *reader, int64_t run_id, int64_t *ret_ns,
                           struct rps_error *err);

/* Find the finest level (rpistat/period.h) at which the CPU still has rows that contain a period.
 * For later periods, the level is not coarser. *ret_level is 0 if the periods have not been
 * downsampled. */
int rps_reader_downsampled_to(struct rps_reader *reader, int64_t run_id, int32_t cpu,
                              uint64_t period, int *ret_level, struct rps_error *err);

/* Read the names and build-ids of the files with code, one line per file: "libc.so.6 93ac61ec...",
 * or "libc.so.6 " without a known build-id. *ret is in the arena; "": no file is known. */
int rps_reader_builds(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                      const char **ret, struct rps_error *err);

/* Read the plan of a run into the arena. */
int rps_reader_plan(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                    struct rps_plan **ret, struct rps_error *err);

/* Open a cursor over the rows of a run in [from_ns, to_ns), ordered by CPU and time. Resolution 0
 * returns periods as measured. Resolution k returns as few rows as possible that are not coarser
 * than level k. If finer rows were deleted by downsampling, the finest remaining rows are returned.
 * If a block is not entirely in the range, finer rows are returned. No time of the range is missing
 * or in the rows twice. A period belongs to the range that contains its middle. All rows come from
 * the state that the store had at one moment. */
int rps_cursor_open(struct rps_cursor **ret, struct rps_reader *reader, int64_t run_id,
                    int64_t from_ns, int64_t to_ns, int resolution, struct rps_error *err);

/* Return 1 if the first or last row that was read so far is a downsampled block that extends beyond
 * the range, otherwise 0. *ret_from_ns and *ret_to_ns are the widened range. */
int rps_cursor_widened(const struct rps_cursor *cursor, int64_t *ret_from_ns, int64_t *ret_to_ns);

/* Read only a single CPU. Call this function before the first rps_cursor_next. */
void rps_cursor_choose_cpu(struct rps_cursor *cursor, int32_t cpu);

/* Read the next period. Return 1 and *ret, 0 at the end, or a negative value on error. */
int rps_cursor_next(struct rps_cursor *cursor, struct rps_period *ret, struct rps_error *err);
void rps_cursor_close(struct rps_cursor *cursor);

/* A mark or gap of a run. Lists are in order of time. */
struct rps_note {
    int32_t cpu; /* CPU of a gap; RPS_CPU_ALL: all CPUs */
    int64_t start_ns;
    int64_t length_ns; /* length of a gap; 0 for a mark */
    char *text;        /* text of a mark, or reason of a gap */
};

struct rps_notes {
    size_t count;
    struct rps_note *note;
};

int rps_reader_marks(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                     struct rps_notes *ret, struct rps_error *err);
int rps_reader_gaps(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                    struct rps_notes *ret, struct rps_error *err);

/* Return the size of the store's database and the size of its free space, in bytes. */
int rps_reader_space(struct rps_reader *reader, uint64_t *ret_bytes, uint64_t *ret_free_bytes,
                     struct rps_error *err);

/* Find the lowest and highest number of a run's periods (on any CPU) with middle in [from_ns,
 * to_ns). Return 1 if there are periods, 0 if there are none, or a negative value on error. */
int rps_reader_periods(struct rps_reader *reader, int64_t run_id, int64_t from_ns, int64_t to_ns,
                       uint64_t *ret_first, uint64_t *ret_last, struct rps_error *err);

/* --- changing runs ---------------------------------------------------------------------------- */

/* Changes to make to a run. */
struct rps_run_edit {
    const char *label; /* new label; NULL: unchanged */
    int tag_count;
    const struct rps_tag *tag; /* tags to add, which replace existing tags with equal keys */
    int unset_count;
    const char *const *unset; /* keys of tags to delete; missing keys are ignored */
};

/* Change a run of the store at path in one transaction, even while the run is recorded. Errors come
 * from rps_writer_open or an unknown run. */
int rps_store_edit_run(const char *path, int64_t run_id, const struct rps_run_edit *edit,
                       struct rps_error *err);

/* Wait until no recorder writes to the store at path. The store may be missing. Errors come from
 * rps_reader_open. */
int rps_store_wait(const char *path, struct rps_error *err);

/* Delete a run with all its rows in one transaction, so that the store has the complete run or
 * nothing of the run, even if the process is killed. Recorders of the store keep their periods in
 * memory during the transaction. The file keeps its size and reuses its free pages. Errors come
 * from rps_writer_open, an unknown run, or a run that is being recorded. It is also an error if the
 * run has more than a million periods while another run is being recorded. */
int rps_store_delete_run(const char *path, int64_t run_id, struct rps_error *err);

/* Delete the file of a store that this process has made, if the store has no run and no other
 * process has it open. */
void rps_store_delete_empty(const char *path);

/* Rewrite the store without its free pages, so that its file becomes smaller. Rewriting temporarily
 * takes up to twice the store's size. Return RPS_FAILED if a run is being recorded. */
int rps_store_shrink(const char *path, struct rps_error *err);

/* --- merging ---------------------------------------------------------------------------------- */

enum rps_merge_result {                     /* the first three: the run was copied */
                        RPS_MERGE_ADDED,    /* the run was added to the store */
                        RPS_MERGE_REPLACED, /* the run replaced a run with less data */
                        RPS_MERGE_COPIED, /* The store had a different run with an equal uuid. The run was added
                            as a copy under a new uuid, and the tag copy_of has the old uuid. */
                        RPS_MERGE_PRESENT, /* left out: the store already had the run, or a longer one */
                        RPS_MERGE_RECORDING, /* left out: the run is still being recorded in one of the stores */
                        RPS_MERGE_UNSOUND, /* left out: the run has rows that no recorder writes */
};

/* The result of a merge for one run of the other store. */
struct rps_merge_run {
    enum rps_merge_result result;
    int64_t run_id;            /* number of the run in this store; -1: not in this store */
    int64_t replaced_run_id;   /* number of the run that was replaced; -1: none */
    int64_t differing_run_id;  /* for a copy: number of the run here with the uuid; otherwise -1 */
    const char *why;           /* first finding of the check, for RPS_MERGE_UNSOUND */
    const struct rps_run *run; /* the run in the other store, valid until the call returns */
    const struct rps_run_summary *summary;
};

/* Merge the runs of the store at `other` into the store at `path`, which is created if needed. Each
 * run is copied unchanged with all its rows (periods, rollups, phases, marks, gaps, samples).
 * `only` is a run of the other store, as for rps_reader_find; NULL means all.
 *
 * Runs are identified by uuid, and runs with equal uuid are compared row by row. The other store is
 * read in the state of one moment. A run at `path` is replaced only by a run that is a continuation
 * of this run. The new run gets the tags and the label (if any) of the old run. A complete run is
 * never replaced. If two runs with one uuid differ, both are kept. A run is checked as by
 * rps_store_check before it is copied.
 *
 * Each run is copied in one transaction. If the merge is killed, each run is either absent or
 * complete. During each transaction, recorders hold their periods in memory. `each` (may be NULL)
 * is called with each run; a result other than 0 ends the merge, and is returned.
 *
 * Errors come from rps_writer_open, rps_reader_open and equal paths. It is an error if the other
 * store has a newer format, because data could be lost, or a row that a recorder never writes.
 * While a run is being recorded at `path`, each run to copy may have at most a million periods.
 * After an error, runs that were already merged are kept. */
int rps_store_merge(const char *path, const char *other, const char *only, int64_t from_ns,
                    int64_t to_ns, int (*each)(void *context, const struct rps_merge_run *run),
                    void *context, struct rps_error *err);

/* --- positions of pushes ---------------------------------------------------------------------- */

/* The progress of `rpistat push`, in a separate file: the last period of each CPU that the database
 * accepted, for each run and database. CPU numbers below -1 are used for other data of push. */
struct rps_pushed;

struct rps_pushed_position {
    int32_t cpu;
    int64_t period;
};

/* Open the file of positions at path, or create it. Several processes may use the file at once. */
int rps_pushed_open(struct rps_pushed **ret, const char *path, struct rps_error *err);

/* Look up a position. Return 1 and *ret_period, 0 if there is no position, or a negative value on
 * error. SAFETY: `url` holds no credentials. */
int rps_pushed_get(struct rps_pushed *pushed, const char *url, const char *uuid, int64_t cpu,
                   int64_t *ret_period, struct rps_error *err);

/* Store several positions in one transaction. */
int rps_pushed_set(struct rps_pushed *pushed, const char *url, const char *uuid,
                   const struct rps_pushed_position *position, size_t count, struct rps_error *err);

/* Delete all stored positions of a run. */
int rps_pushed_forget(struct rps_pushed *pushed, const char *url, const char *uuid,
                      struct rps_error *err);

/* Close the file of positions, which may be NULL. */
void rps_pushed_close(struct rps_pushed *pushed);

/* --- phases ----------------------------------------------------------------------------------- */

/* A stored detection of phases. */
struct rps_detection {
    int64_t detection;              /* number of the detection in the run, from 0, given by the
                                       store */
    char method[64];                /* method of the detection, for example "screened" or "exact" */
    char *parameters;               /* settings and results as a JSON object */
    char *remark;                   /* remark on the whole run, or NULL */
    struct rps_phase_levels levels; /* levels of phases; outliers, first, last: period
                                       numbers */
};

/* Add a detection to a run of the store at path in one transaction, and give it the next number.
 * The new detection replaces an earlier detection with the same method and parameters. A recorder
 * may write to the store at the same time. The detection must have at least one level. The first
 * period must be equal in all levels, and so must the last period. The outliers of the detection
 * are the outliers of the shown level. Errors come from rps_writer_open or an unknown run. */
int rps_store_add_detection(const char *path, int64_t run_id, struct rps_detection *detection,
                            struct rps_error *err);

/* Read the newest detection of a run with all its levels. Return 1 and *ret (in the arena), 0 if
 * there is none, or a negative value on error or for invalid data. */
int rps_reader_detection(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                         struct rps_detection *ret, struct rps_error *err);
