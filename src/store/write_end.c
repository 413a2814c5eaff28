/* The part of the writer that ends a run: write the rest of the ring, then the end of the run. */
#include "writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "edit.h"
#include "reader.h"
#include "rpistat/clock.h"
#include "rpistat/process.h"
#include "rpistat/text.h"

static void stop_thread(struct rps_writer *writer, int64_t patience_ns, bool abandoned)
{
    if (!writer->thread_runs)
        return;
    pthread_mutex_lock(&writer->lock);
    if (!writer->broken)
        rps_writer_note_marks(writer);
    writer->stop = true;
    writer->abandoned = abandoned;
    writer->give_up_ns = rps_clock_monotonic_ns() + patience_ns;
    pthread_cond_signal(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
    pthread_join(writer->thread, NULL);
    writer->thread_runs = false;
}

/* Insert the blocks that are still open, the sums and the end of the run. */
static int insert_end(struct rps_writer *writer, const void *run)
{
    int code = rps_rollup_end(writer->rollup);

    if (code == SQLITE_OK)
        code = rps_system_write_end(&writer->system, writer->db, writer->run_id);
    if (code == SQLITE_OK)
        code = rps_writer_start(writer, true);
    if (code == SQLITE_OK)
        code = rps_write_run_end(writer->db, writer->run_id, run, writer->set_count, writer->sum);
    return code;
}

/* Write the end of the run, and retry until the time limit. If the store stays locked, the end is
 * written into another file, together with the rest of the run. */
static int write_end(struct rps_writer *writer, const struct rps_run *run)
{
    const struct timespec pause = {.tv_nsec = 50 * RPS_NS_PER_MS};
    int code;

    for (;;) {
        code = rps_writer_write(writer, insert_end, run);
        if (code == SQLITE_OK || !rps_database_is_transient(code) ||
            (rps_writer_gives_up(writer) &&
             (!rps_database_is_busy(code) || rps_writer_save_locked(writer) != SQLITE_OK)))
            return code;
        nanosleep(&pause, NULL);
    }
}

static int not_written(struct rps_writer *writer, uint64_t periods, uint64_t notes,
                       struct rps_error *err)
{
    const char *why = writer->trouble[0] ? writer->trouble : "no memory";
    int result = rps_database_is_busy(writer->code) ? RPS_BUSY : RPS_FAILED;

    if (writer->run_id == 0)
        return rps_error_set(
            err, result,
            "cannot write the run to %s (%s), nor to a new file next to it; its %" PRIu64
            " periods are lost",
            writer->path, why, periods);
    if (periods == 0 && notes == 0)
        return rps_error_set(
            err, result,
            "%s has all periods of run %" PRId64
            ", but not its end (%s); the next recording into it will mark the run as interrupted",
            rps_writer_file(writer), writer->run_id, why);
    return rps_error_set(err, result,
                         "%s has %" PRIu64 " periods of run %" PRId64 ", but %" PRIu64
                         " more periods and %" PRIu64 " marks and gaps could not be written (%s)",
                         rps_writer_file(writer), writer->committed, writer->run_id, periods, notes,
                         why);
}

/* Report to the user which file holds the recording. */
static int report_place(const struct rps_writer *writer, struct rps_error *err)
{
    const char *merge[] = {"rpistat", "merge", "-i", writer->path, writer->saved_path, NULL};
    char command[512];

    if (writer->is_saved_locked)
        return rps_error_set(
            err, RPS_BUSY, "%s %s, so the run is in %s; add it with `%s` when the store is free",
            writer->path, writer->why_saved, writer->saved_path,
            rps_text_command(command, sizeof(command), 5, (char *const *)(uintptr_t)merge));
    if (!writer->saved_path && !writer->save_failed)
        return 0;
    if (!writer->saved_path)
        return rps_error_set(err, RPS_FAILED,
                             "%s was deleted, moved or replaced during the recording, and no other "
                             "file could be made; find the moved file, which has the recording",
                             writer->path);
    return rps_error_set(
        err, RPS_FAILED, "%s %s during the recording: %s %s", writer->path, writer->why_saved,
        writer->loss <= RPS_WRITER_LOSS_RUN             ? "the run is saved as"
        : writer->committed == writer->committed_before ? "its periods are lost, and the rest is in"
                                                        : "the run continues in",
        writer->saved_path);
}

static int not_whole(const struct rps_writer *writer, const char *file, struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED, "%s does not have all of run %" PRId64 ": %s", file,
                         writer->run_id, writer->reason);
}

/* Write the end of the run, and report which records are missing. *ret_code is SQLite's code for
 * the end and for the recorded rows. */
static int finish(struct rps_writer *writer, struct rps_run *end, int *ret_code,
                  struct rps_error *err)
{
    uint64_t periods = writer->periods + writer->lost.periods;
    uint64_t notes = writer->ring.count - writer->periods - writer->rows + writer->lost_notes;
    int code;

    if (writer->periods > 0) {
        end->state = RPS_RUN_INTERRUPTED;
        snprintf(end->end_reason, sizeof(end->end_reason), "the store could not be written: %s",
                 writer->trouble);
    }
    code = writer->waits_ns > 0 ? writer->code : write_end(writer, end);
    if (code == SQLITE_OK) {
        code = rps_writer_verify(writer);
        if (code != RPS_WRITER_RUN_IS_GONE && !rps_writer_is_lost(code))
            code = SQLITE_OK; /* another program prevented the check */
    }
    *ret_code = code;
    if (code != SQLITE_OK && !writer->trouble[0])
        memcpy(writer->trouble, writer->reason, sizeof(writer->trouble));
    if (code == SQLITE_OK && periods == 0 && notes == 0)
        return report_place(writer, err);
    if (rps_writer_is_lost(code))
        return not_whole(writer, rps_writer_file(writer), err);
    if (code == RPS_WRITER_RUN_IS_GONE)
        return rps_error_set(err, RPS_FAILED,
                             "run %" PRId64 " was deleted from %s during the recording",
                             writer->run_id, rps_writer_file(writer));
    return not_written(writer, periods, notes, err);
}

struct ending {
    struct rps_writer *writer;
    struct rps_run end; /* shallow copy, which is only read */
    struct rps_error *err;
    int result, code;
};

static void end_run(void *context)
{
    struct ending *ending = context;
    struct rps_writer *writer = ending->writer;

    if (!writer->broken && writer->waits_ns == 0) {
        int left = 1;

        while (writer->downsample && left && rps_clock_monotonic_ns() < writer->give_up_ns &&
               rps_downsample_work(writer->downsample, writer->committed, writer->end_ns, 1,
                                   &left) == SQLITE_OK)
            ;
    }
    ending->result = finish(writer, &ending->end, &ending->code, ending->err);
    if (!writer->broken && ending->code != RPS_WRITER_RUN_IS_GONE &&
        rps_writer_go_on(writer, ending->code)) {
        rps_writer_thread(writer); /* run the thread's function here, to write the gap */
        ending->result = finish(writer, &ending->end, &ending->code, ending->err);
    }
}

int rps_writer_end(struct rps_writer *writer, const struct rps_run *run, struct rps_error *err)
{
    struct ending ending = {.writer = writer, .end = *run, .err = err};
    struct rps_ring_place all;

    if (!writer->thread_runs)
        return rps_error_set(err, RPS_FAILED, "no run is being recorded into %s", writer->path);
    stop_thread(writer, writer->patience_ns, false);
    if (ending.end.elapsed_ns < 0)
        ending.end.elapsed_ns = writer->end_ns;
    while (rps_fault_guard(end_run, &ending) < 0)
        rps_writer_leave_connection(writer);
    if (writer->run_id > 0 && (ending.code != SQLITE_OK || writer->loss > RPS_WRITER_LOSS_RUN))
        rps_writer_report_beat(writer, true);
    rps_writer_close_run(writer);
    rps_writer_release(writer);
    if (ending.result == 0 && !writer->db && rps_writer_is_lost(rps_writer_verify(writer)))
        ending.result = not_whole(writer, writer->path, err);
    all = (struct rps_ring_place){writer->ring.used, writer->ring.count};
    rps_ring_drop(&writer->ring, &all);
    writer->periods = 0;
    return ending.result;
}

/* --- after the end ---------------------------------------------------------------------------- */

int rps_writer_change(struct rps_writer *writer, int (*change)(void *context, sqlite3 *db),
                      void *context, struct rps_error *err)
{
    int code, result = 0;

    if (rps_writer_hold(writer, err) < 0)
        return RPS_FAILED;
    sqlite3_busy_timeout(writer->db, RPS_DATABASE_BUSY_MS);
    code = rps_database_exec(writer->db, "BEGIN IMMEDIATE");
    if (code == SQLITE_OK)
        code = change(context, writer->db);
    if (code == SQLITE_OK)
        code = rps_database_exec(writer->db, "COMMIT");
    if (code != SQLITE_OK)
        result = rps_database_error(writer->db, code, rps_writer_file(writer), err);
    if (!sqlite3_get_autocommit(writer->db))
        rps_database_exec(writer->db, "ROLLBACK");
    rps_writer_release(writer);
    return result;
}

struct after {
    int64_t run_id;
    const struct rps_plan *plan;
    int64_t after_ns;
};

static int set_estimates(void *context, sqlite3 *db)
{
    const struct after *after = context;

    return rps_write_run_estimates(db, after->run_id, after->plan);
}

int rps_writer_set_estimates(struct rps_writer *writer, const struct rps_plan *plan,
                             struct rps_error *err)
{
    struct after after = {.run_id = writer->run_id, .plan = plan};

    return rps_writer_change(writer, set_estimates, &after, err);
}

static int set_after(void *context, sqlite3 *db)
{
    const struct after *after = context;

    return rps_database_do(db, "UPDATE run SET recorder_after_ns = ?2 WHERE run_id = ?1", "ii",
                           after->run_id, after->after_ns);
}

int rps_writer_set_after(struct rps_writer *writer, int64_t after_ns, struct rps_error *err)
{
    struct after after = {.run_id = writer->run_id, .after_ns = after_ns};

    return rps_writer_change(writer, set_after, &after, err);
}

int rps_writer_read(struct rps_writer *writer,
                    int (*read)(void *context, struct rps_reader *reader, struct rps_error *err),
                    void *context, struct rps_error *err)
{
    struct rps_reader reader = {.path = (char *)(uintptr_t)rps_writer_file(writer)};
    int result;

    if (rps_writer_hold(writer, err) < 0)
        return RPS_FAILED;
    reader.db = writer->db;
    rps_database_limit_steps(reader.db, &reader.limit);
    rps_database_exec(reader.db, "BEGIN"); /* take one lock for all queries */
    result = read(context, &reader, err);
    rps_database_exec(reader.db, "COMMIT");
    sqlite3_progress_handler(reader.db, 0, NULL, NULL); /* remove the limit of steps */
    rps_writer_release(writer);
    return result;
}

static int take_back(void *context, sqlite3 *db)
{
    int64_t run_id = *(int64_t *)context;
    int code = rps_edit_delete_rows(db, run_id);

    if (code == SQLITE_OK) /* give back the run's number, which nobody has used yet */
        code = rps_database_do(db,
                               "UPDATE sqlite_sequence SET seq = seq - 1"
                               " WHERE name = 'run' AND seq = ?1",
                               "i", run_id);
    return code;
}

int rps_writer_abandon(struct rps_writer *writer)
{
    char *path = writer && writer->made ? strdup(writer->path) : NULL;
    int64_t run_id = writer ? writer->run_id : 0;
    int result = 0;

    if (writer)
        stop_thread(writer, 0, true);
    if (writer && writer->run_id > 0) {
        rps_writer_close_run(writer);
        result = rps_writer_change(writer, take_back, &writer->run_id, NULL);
    }
    rps_writer_close(writer);
    if (path && rps_database_unmake(path, run_id) == 0)
        result = 0;
    free(path);
    return result;
}

/* Empty the log, because closing does not do so with an active reader or a moved file. */
static void empty_log(void *writer)
{
    rps_writer_empty_log(writer);
}

void rps_writer_close(struct rps_writer *writer)
{
    if (!writer)
        return;
    stop_thread(writer, 0, false);
    rps_writer_close_run(writer);
    if (writer->db && !writer->broken && rps_fault_guard(empty_log, writer) < 0)
        writer->db = NULL;
    rps_database_close(writer->db);
    pthread_mutex_destroy(&writer->lock);
    pthread_cond_destroy(&writer->wake);
    rps_ring_free(&writer->ring);
    free(writer->saved_path);
    free(writer->path);
    free(writer);
}
