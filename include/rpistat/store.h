/*
 * The store: one SQLite file with any number of runs. Its tables are the contract of `schema/`.
 *
 * Writing: the measurement loop hands periods to a writer, which never makes it wait; a thread of
 * the writer owns the database. Reading: cursors over a read-only connection, also while a
 * recording goes on.
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

/* Marks that are kept of those that come within a second. */
#define RPS_MARKS_PER_S 1000

#define RPS_MAX_BYTES_LEAST (UINT64_C(4) << 20)

/* What a heartbeat tells. */
struct rps_writer_beat {
    const char *file;          /* that is written now, */
    int64_t run_id;            /* and the run's number in it; 0: it is not in the file yet */
    const struct rps_run *run; /* as it began */
    uint64_t periods;          /* committed so far, however many CPUs have their own */
    int64_t end_ns;            /* of the last of them, since the start of the run; -1: none */
    uint64_t size_bytes;       /* of the store's files */
    int64_t late_ns;           /* clock: without another heartbeat the recorder is late then */
    int gave_up;               /* 1: the last one; the file still says that the run is recorded */
};

struct rps_writer_options {
    int64_t commit_ns;   /* at least this long between commits; 0: one transaction a period */
    int durability_full; /* 1: sync at every commit (synchronous=FULL) */
    int starts_locked;   /* 1: rps_writer_open and rps_writer_begin succeed although another program
                            holds the store's lock; see rps_writer_begin */
    size_t ring_periods; /* room of the ring in memory; 0: enough for who calls rps_writer_wait */
    int64_t keep_ns;    /* thin: delete periods that are older than this, blocks of level 1 that are
                            16 times as old, and so on, where a coarser row stands; 0: none */
    int keep_blocks;    /* but not before the run has so many of these coarser rows, for each set,
                            unless max_bytes leaves no room for that */
    uint64_t max_bytes; /* thin: delete old rows, as above, so that the store and its log stay below
                            this; at least RPS_MAX_BYTES_LEAST; 0: any size */
    void (*notice)(void *context, const char *sentence); /* something the user should know; called
                               from the writer thread; may be NULL */
    void *notice_context;
    void (*beat)(void *context, const struct rps_writer_beat *beat); /* called from the writer
                               thread with each heartbeat: every second at most, and, also while
                               nothing is counted, every 5 s or commit_ns at least; may be NULL */
    void *beat_context;
    int (*ends_now)(void *context); /* 1: rps_writer_end stops waiting for another program's lock;
                               called from any thread while rps_writer_end runs; may be NULL */
    void *ends_now_context;
};

struct rps_writer_status {
    uint64_t committed;  /* periods in the store */
    uint64_t queued;     /* periods waiting */
    uint64_t dropped;    /* periods lost for want of room; in `gap` rows */
    uint64_t file_bytes; /* of the store's file, which grows when its log is copied into it */
    uint64_t size_bytes; /* of the store's files */
    int failing;         /* 1 while writes are being retried */
    int is_empty;        /* 1: the file that is written now has no period of the run */
    int is_damaged;   /* 1: the store was damaged meanwhile, and the run goes on in another file */
    int64_t run_id;   /* its number in the file that is written now; 0: it is in no file */
    const char *file; /* that is written now: the store, or the file that the run goes on in; valid
                         until rps_writer_close */
};

/* Room for periods of that length, of so many CPUs: for ten minutes of them, but 64 MiB at least
 * and 512 MiB at most. Memory is taken as far as it is used. */
size_t rps_writer_ring_periods(int64_t period_ns, int cpu_count);

/*
 * Open the store at path for writing, create it when it is absent or empty, bring its schema up to
 * date, and prove by a real write that it can be written. Runs whose recorder is dead are marked
 * interrupted. No run is added yet. Errors (RPS_FAILED, one sentence): a folder, not SQLite,
 * another program's SQLite file (application_id), a newer version, read-only, no space, a missing
 * folder, a file beside it that is not its own; or RPS_BUSY: another program holds its lock. An
 * existing file that is refused is not changed, and a new one is deleted again.
 */
int rps_writer_open(struct rps_writer **ret, const char *path,
                    const struct rps_writer_options *options, struct rps_error *err);

/*
 * Add the run and its plan in one transaction, and start the writer thread. Fills run->run_id and
 * run->uuid. The plan and the texts of run are borrowed until rps_writer_close.
 *
 * With starts_locked, run->run_id is 0 if another program holds the store's lock. The recording then
 * begins in memory, and the thread adds the run when the lock is free. After 60 s, or when records
 * fill 64 MiB or half of the ring, the thread writes the run to a new file STORE.saved-ID.
 *
 * RPS_FAILED also when what the store holds already leaves too little of max_bytes: only the new
 * run is thinned.
 *
 * The thread adds the rows of `rollup` in the transaction of the period that completes them.
 * Thinning deletes fine rows for which a coarser one stands, in transactions of some milliseconds
 * between its writes: sums over the run, and over stretches that blocks make up, stay exactly what
 * they were. While a reader holds a cursor open the log cannot be taken up, and grows for so long.
 * When no more can be thinned (the store is full of other runs) a notice says so and the recording
 * goes on.
 *
 * A store that is deleted, moved or replaced meanwhile is copied to a new file beside its old
 * place, where the recording goes on. A run whose rows were deleted, or whose store was emptied or
 * damaged, goes on alone in such a file, with a gap for the time before. A run that was taken for
 * interrupted is `recording` again with the next commit.
 */
int rps_writer_begin(struct rps_writer *writer, struct rps_run *run, const struct rps_plan *plan,
                     struct rps_error *err);

/*
 * Hand over a period. Never waits for the disk, never fails: without room in the ring the period is
 * dropped, and a gap row will say so. Only from one thread.
 */
void rps_writer_period(struct rps_writer *writer, const struct rps_period *period);

/* Wait until the ring has much room, for a caller that makes periods faster than a disk takes them.
 * Does not wait while writes fail. */
void rps_writer_wait(struct rps_writer *writer);

/* Hand over an annotation at a time of the run. Text is copied and cut to 1 KiB. Beyond
 * RPS_MARKS_PER_S within a second marks are counted, and a mark says how many. */
void rps_writer_mark(struct rps_writer *writer, int64_t time_ns, const char *text);

/* Hand over a stretch that was not recorded. */
void rps_writer_gap(struct rps_writer *writer, int32_t cpu, int64_t start_ns, int64_t length_ns,
                    const char *reason);

/* Hand over which signals of a source can be read (rpistat/system_signals.h): behind
 * rps_writer_begin, before the first reading of that source. Never waits; copied. */
void rps_writer_system_state(struct rps_writer *writer, const struct rps_system_state *state);

/* Hand over a reading of system signals, behind the period at whose end it was made; those of a
 * source come in the order of their periods, and a second one of a period is left out. Never waits;
 * one without room is lost, with what its counters say. The thread makes blocks of readings, and
 * thins them with periods. */
void rps_writer_system(struct rps_writer *writer, const struct rps_system_reading *reading);

/* What the writer has done so far. Any thread. */
void rps_writer_status(struct rps_writer *writer, struct rps_writer_status *ret);

/*
 * Write what is left and end the run: state, end_reason, start (known exactly only after
 * rps_writer_begin), elapsed_ns, exit status or signal, recorder_cpu_ns and fitting are taken from
 * run; then stop the thread. Returns RPS_FAILED when something could not be written, for ten
 * seconds; what was committed stays. RPS_FAILED also when the recording went on in another file,
 * which the sentence names. RPS_BUSY instead if another program's lock, which is waited for for 60 s,
 * was the reason: the recording itself did not fail.
 */
int rps_writer_end(struct rps_writer *writer, const struct rps_run *run, struct rps_error *err);

/* Close the writer, and take back its run, which never began: delete the run's rows, and the store if
 * this writer made it and nobody else uses it. NULL is harmless. */
void rps_writer_abandon(struct rps_writer *writer);

/*
 * Keep what the run came to that rps_writer_end has ended: `whole` of the plan's clock event,
 * events and metrics. RPS_FAILED when it could not be written; the run is good without it.
 */
int rps_writer_set_estimates(struct rps_writer *writer, const struct rps_plan *plan,
                             struct rps_error *err);

/* Keep the CPU time that the recorder took behind rps_writer_end; as there. */
int rps_writer_set_after(struct rps_writer *writer, int64_t after_ns, struct rps_error *err);

/* Behind rps_writer_end, have the store read, without opening it once more. What `read` returns. */
struct rps_reader;
int rps_writer_read(struct rps_writer *writer,
                    int (*read)(void *context, struct rps_reader *reader, struct rps_error *err),
                    void *context, struct rps_error *err);

/* Close the store, and bring its log into the file, which is whole by itself then: who reads it is
 * waited for, for half a second. A run that was begun and not ended stays in state `recording`, to
 * be marked interrupted by the next opening. NULL is harmless. */
void rps_writer_close(struct rps_writer *writer);

/* --- reading ---------------------------------------------------------------------------------- */

struct rps_reader;
struct rps_cursor;
struct rps_wing;

/* What rps_store_use (rpistat/store_wing.h) was given for whoever reads a store; NULL: nothing. */
const struct rps_wing *rps_store_used_wing(void);

/*
 * Open the store at path read-only: no row is changed, nothing is migrated. What SQLite itself
 * needs in order to read a log it may do, but nothing beside a store that another user could
 * exchange. Errors (RPS_FAILED, one sentence): not there, a folder, not SQLite, another program's, a
 * newer major version, damaged, a file beside it that is not its own.
 */
int rps_reader_open(struct rps_reader **ret, const char *path, struct rps_error *err);

void rps_reader_close(struct rps_reader *reader);

/* Leave an object with the reader, which frees it when it is closed. Returns the object that was
 * left before, now the caller's; NULL: none. */
void *rps_reader_leave(struct rps_reader *reader, void *left, void (*free_left)(void *));

/* What `runs` shows of a run beside its metadata. */
struct rps_run_summary {
    uint64_t periods; /* measurement periods; where each CPU has its own, those of the CPU that has
                         most of them */
    uint64_t rows;    /* periods of all CPUs together: what reading the run takes */
    int gap_count;
    char plan[RPS_NAME_SIZE];
};

/*
 * The run meant by what the user typed: a number, a label or a tag KEY=VALUE (the newest run with
 * it), `last`, `last-N`, in this order; NULL means `last`. RPS_FAILED names what is near, or what
 * there is, when none is meant.
 */
int rps_reader_find(struct rps_reader *reader, const char *text, int64_t *ret_run_id,
                    struct rps_error *err);

/* The same for what follows a recording: NULL means the newest that is being recorded, else the
 * newest. */
int rps_reader_find_live(struct rps_reader *reader, const char *text, int64_t *ret_run_id,
                         struct rps_error *err);

/* All runs that a text means, ascending, each once, in a new array (free()): every run of a label
 * or tag, label:TEXT, a range 1-5, what rps_reader_find takes, or several of these with commas
 * between. RPS_USAGE for what is no such text. */
int rps_reader_find_group(struct rps_reader *reader, const char *text, int64_t **ret_run_id,
                          size_t *ret_count, struct rps_error *err);

/* All run_ids in ascending order, in a new array (free()); *ret_count may be 0. */
int rps_reader_runs(struct rps_reader *reader, int64_t **ret_run_id, size_t *ret_count,
                    struct rps_error *err);

/* From now on the recorder of a run in state `recording` is dead also where is_dead says so: up to 45 s
 * before its heartbeats would. Once, before the first store is opened. */
void rps_store_ask_recorders(int (*is_dead)(const char *uuid));

/* Metadata of a run; free with rps_run_free. A run in state `recording` whose recorder is dead
 * (schema/README.md, heartbeat) is returned as interrupted. elapsed_ns is that of the last period
 * when the run has not ended. */
int rps_reader_run(struct rps_reader *reader, int64_t run_id, struct rps_run *ret,
                   struct rps_error *err);

int rps_reader_summary(struct rps_reader *reader, int64_t run_id, struct rps_run_summary *ret,
                       struct rps_error *err);

/* *ret_ns: before this time of the run rows were thinned; -1: none were. */
int rps_reader_thinned(struct rps_reader *reader, int64_t run_id, int64_t *ret_ns,
                       struct rps_error *err);

/* *ret_level: the finest that rows of the CPU are left of at a period (rpistat/period.h), and so the
 * coarsest behind it; 0: the periods themselves. */
int rps_reader_thinned_to(struct rps_reader *reader, int64_t run_id, int32_t cpu, uint64_t period,
                          int *ret_level, struct rps_error *err);

/* What the run counted; free with rps_plan_free. */
int rps_reader_plan(struct rps_reader *reader, int64_t run_id, struct rps_plan **ret,
                    struct rps_error *err);

/*
 * The rows of a run that lie in [from_ns, to_ns), ordered by CPU and time, at a resolution: 0 for
 * periods as measured, k for rows not coarser than level k and as few as possible. Where finer rows
 * were thinned away the finest that is left comes instead, and where no block of a level lies whole
 * in the part, finer rows. No stretch comes twice, and none is left out. A period lies in the part
 * by its middle. One cursor sees one state of the store, even while a recording goes on.
 */
int rps_cursor_open(struct rps_cursor **ret, struct rps_reader *reader, int64_t run_id,
                    int64_t from_ns, int64_t to_ns, int resolution, struct rps_error *err);

/* Of what was read so far: 1, and from when to when, when the part begins or ends inside a block
 * whose finer rows were thinned away, so that it was widened to that block; else 0. */
int rps_cursor_widened(const struct rps_cursor *cursor, int64_t *ret_from_ns, int64_t *ret_to_ns);

/* Read one CPU alone; before the first rps_cursor_next. */
void rps_cursor_choose_cpu(struct rps_cursor *cursor, int32_t cpu);

/* Next period: 1 and *ret, 0 at the end, negative on error. */
int rps_cursor_next(struct rps_cursor *cursor, struct rps_period *ret, struct rps_error *err);
void rps_cursor_close(struct rps_cursor *cursor);

/* Marks and gaps of a run in order of time. */
struct rps_note {
    int32_t cpu; /* of a gap; RPS_CPU_ALL: of all */
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

/* Bytes of the store's database, and how many of them are free for rows to come. */
int rps_reader_space(struct rps_reader *reader, uint64_t *ret_bytes, uint64_t *ret_free_bytes,
                     struct rps_error *err);

/* The numbers of the first and the last period that lie in [from_ns, to_ns) of a run by their
 * middles, of any CPU: 1, 0 when there are none, negative on error. */
int rps_reader_periods(struct rps_reader *reader, int64_t run_id, int64_t from_ns, int64_t to_ns,
                       uint64_t *ret_first, uint64_t *ret_last, struct rps_error *err);

/* --- changing runs ---------------------------------------------------------------------------- */

/* What is to be another of a run. */
struct rps_run_edit {
    const char *label; /* NULL: as it is */
    int tag_count;
    const struct rps_tag *tag; /* to add, or to put in place of those with their keys */
    int unset_count;
    const char *const *unset; /* keys of tags to take away; one that is not there is no error */
};

/* Change a run of the store at path, in one transaction, also while it is recorded. Errors: those
 * of rps_writer_open; a run that is not there. */
int rps_store_edit_run(const char *path, int64_t run_id, const struct rps_run_edit *edit,
                       struct rps_error *err);

/* Wait until nobody records into the store at path; it need not be there. Errors: those of
 * rps_reader_open. */
int rps_store_wait(const char *path, struct rps_error *err);

/*
 * Delete a run with all its rows, in one transaction: killed at any moment, it leaves the run as it
 * was, or none. Whoever records into the same store keeps its periods in memory meanwhile. The file
 * keeps its size: its free pages are used again.
 * Errors: those of rps_writer_open; a run that is not there, or is being recorded, or has more than
 * a million periods while another one is.
 */
int rps_store_delete_run(const char *path, int64_t run_id, struct rps_error *err);

/*
 * Give the free pages of the store back to the disk, by writing the whole anew, which takes up to
 * twice its size meanwhile. RPS_FAILED when a run is being recorded.
 */
int rps_store_shrink(const char *path, struct rps_error *err);

/* --- merging ---------------------------------------------------------------------------------- */

enum rps_merge_result {
    RPS_MERGE_ADDED,     /* the run is in the store now */
    RPS_MERGE_REPLACED,  /* its beginning was, and the run has taken the place of that */
    RPS_MERGE_COPIED,    /* a run of its uuid was, and holds something else: the run came in as a
                            copy, under a uuid of its own, with its own as the tag copy_of */
    RPS_MERGE_PRESENT,   /* it was, or more of it: left */
    RPS_MERGE_RECORDING, /* it is still being recorded, there or here: left */
    RPS_MERGE_UNSOUND,   /* it is not as a recorder writes it: left */
};

/* What became of a run of the other store. */
struct rps_merge_run {
    enum rps_merge_result result;
    int64_t run_id;            /* its number here; -1: it is not here */
    int64_t replaced_run_id;   /* the number that it had here; -1: none */
    int64_t differing_run_id;  /* of a copy: the run here that it differs from; -1: it is none */
    const char *why;           /* UNSOUND: what a check finds first */
    const struct rps_run *run; /* as it is there, until the call returns */
    const struct rps_run_summary *summary;
};

/*
 * Put the runs of the store at `other` into the one at `path`, which is created when it is not
 * there and the other holds a run: each with all that belongs to it (periods, rollups, phases,
 * marks, gaps, samples), copied as it is. `only` is a run of the other store as rps_reader_find
 * takes it, and NULL means all.
 *
 * Runs are known by their uuid, and what they hold is compared row by row, the other store in one
 * state: the run that is here is replaced only by one that it is the beginning of, and leaves its
 * tags, and its label when it has one, to that. A complete run is the beginning of nothing but
 * itself. Where the two hold different things both are kept. A run is checked as rps_store_check
 * does before it is copied.
 *
 * A run comes in one transaction: a merge that is killed leaves each either absent or complete, and
 * recorders keep their periods in memory meanwhile. `each`, which may be NULL, is called with each
 * run; a result that is not 0 ends the merge, and is returned.
 *
 * Errors: those of rps_writer_open and rps_reader_open; both are the same file; the other store has
 * a format newer than this program's, and may hold what would be left behind; it has a row that no
 * recorder writes; a run that is to come has more than a million periods while one is being
 * recorded here. Runs that were merged before stay.
 */
int rps_store_merge(const char *path, const char *other, const char *only,
                    int (*each)(void *context, const struct rps_merge_run *run), void *context,
                    struct rps_error *err);

/* --- what was pushed -------------------------------------------------------------------------- */

/*
 * How far each run has got in each database (`rpistat push`), in a file of its own: for each CPU of
 * a run the number of the last period that the database took, and below -1 what push itself knows.
 */
struct rps_pushed;

struct rps_pushed_position {
    int32_t cpu;
    int64_t period;
};

/* Open the file at path, which is created when it is not there. Several may have it open. */
int rps_pushed_open(struct rps_pushed **ret, const char *path, struct rps_error *err);

/* 1 and *ret_period; 0: nothing was noted; negative on error. `url` holds no credentials. */
int rps_pushed_get(struct rps_pushed *pushed, const char *url, const char *uuid, int64_t cpu,
                   int64_t *ret_period, struct rps_error *err);

/* Note positions, in one transaction. */
int rps_pushed_set(struct rps_pushed *pushed, const char *url, const char *uuid,
                   const struct rps_pushed_position *position, size_t count, struct rps_error *err);

/* Forget all that was noted of a run. */
int rps_pushed_forget(struct rps_pushed *pushed, const char *url, const char *uuid,
                      struct rps_error *err);

/* NULL is harmless. */
void rps_pushed_close(struct rps_pushed *pushed);

/* --- phases ----------------------------------------------------------------------------------- */

/* A detection of phases as the store keeps it. */
struct rps_detection {
    int64_t detection; /* its number in the run, from 0; given by the store */
    char method[64];   /* "screened", "exact", ... */
    char *parameters;  /* owned (malloc); JSON object: the settings and what was found out */
    char *remark;      /* owned (malloc); a sentence on the whole run, or NULL */
    struct rps_phase_levels levels; /* owned; first, last and outliers are period numbers */
};

/*
 * Add a detection to a run of the store at path, in one transaction, and give it the next number.
 * Works while a recorder writes the same store. An earlier detection with the same method and
 * parameters is replaced. There is at least one level, each begins and ends where the others do,
 * and outliers are those of the level that is shown. Errors: those of rps_writer_open; a run that
 * is not there.
 */
int rps_store_add_detection(const char *path, int64_t run_id, struct rps_detection *detection,
                            struct rps_error *err);

/*
 * The newest detection of a run, with all its levels: 1 and *ret (free with rps_detection_free), 0
 * when it has none, negative on error: of a detection that cannot be, too.
 */
int rps_reader_detection(struct rps_reader *reader, int64_t run_id, struct rps_detection *ret,
                         struct rps_error *err);
void rps_detection_free(struct rps_detection *detection);

#endif
