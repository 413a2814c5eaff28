/*
 * The writer, ending a run: the last of the queue is written, then the end.
 *
 * What cannot be written stays in shared memory, with the end beside it: a disk that was full to
 * the end has room again when somebody has looked at it. A store whose name was taken from it while
 * it was written is saved under another one: SQLite goes on writing the file that has no name, and
 * all would be gone when it is closed.
 */
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "companion.h"
#include "database.h"
#include "path_check.h"
#include "rpistat/clock.h"

static void stop_thread(struct rps_writer *writer, int64_t patience_ns)
{
    if (!writer->thread_runs)
        return;
    pthread_mutex_lock(&writer->lock);
    if (!writer->broken)
        rps_writer_note_lost(writer);
    writer->stop = true;
    writer->give_up_ns = rps_clock_monotonic_ns() + patience_ns;
    pthread_cond_signal(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
    pthread_join(writer->thread, NULL);
    writer->thread_runs = false;
}

/* Write the end of the run, with what patience is left. */
static int write_end(struct rps_writer *writer, const struct rps_run *run)
{
    const struct timespec pause = {.tv_nsec = 50 * RPS_NS_PER_MS};
    int code;

    for (;;) {
        code = rps_write_run_end(writer->db, writer->run_id, run, writer->set_count, writer->sum);
        if (code == SQLITE_OK || !rps_database_is_transient(code) ||
            rps_clock_monotonic_ns() >= writer->give_up_ns)
            return code;
        nanosleep(&pause, NULL);
    }
}

/*
 * Leave in shared memory what could not be written, for the next command on the store. Returns the
 * periods that lie there, negative when that is not possible; *ret_notes: the notes.
 */
static int64_t leave(struct rps_writer *writer, const struct rps_run *run, size_t *ret_notes)
{
    struct rps_left_end end = {
        .start_realtime_ns = run->start_realtime_ns,
        .start_monotonic_ns = run->start_monotonic_ns,
        .elapsed_ns = run->elapsed_ns,
        .recorder_cpu_ns = run->recorder_cpu_ns,
        .exit_status = run->exit_status,
        .exit_signal = run->exit_signal,
    };
    int64_t left;

    *ret_notes = 0;
    if (writer->broken)
        return -1;
    snprintf(end.reason, sizeof(end.reason), "%s", writer->trouble);
    left = rps_queue_leave(&writer->queue, writer->uuid, writer->path, &end);
    for (const struct rps_pending_note *n = writer->notes.first; n && left >= 0; n = n->next)
        *ret_notes += rps_queue_leave_note(&writer->queue,
                                           (struct rps_left_note){.start_ns = n->start_ns,
                                                                  .length_ns = n->length_ns,
                                                                  .number = n->number,
                                                                  .cpu = n->cpu,
                                                                  .is_mark = n->is_mark},
                                           n->text);
    return left;
}

/* What did not get into the store. */
struct unwritten {
    uint64_t periods;
    size_t notes;
    int64_t periods_left; /* of them, in shared memory; negative: none, and not the end */
    size_t notes_left;
};

static int not_written(struct rps_writer *writer, const struct unwritten *what,
                       struct rps_error *err)
{
    const char *why = writer->trouble[0] ? writer->trouble : "no memory";
    char rest[200] = "";

    if (what->periods == 0 && what->notes == 0)
        return rps_error_set(
            err, RPS_FAILED,
            "%s holds all periods of run %" PRId64 ", but not that it ended (%s)%s", writer->path,
            writer->run_id, why,
            what->periods_left >= 0 ? ": the next rpistat command on it brings it in"
                                    : ": the next recording into it will mark "
                                      "the run as interrupted");
    if (what->periods_left >= 0)
        snprintf(rest, sizeof(rest),
                 "; %" PRId64 " periods and %zu marks and gaps stay in memory until the machine is "
                 "switched off, and the next rpistat command on the store brings them in when it "
                 "can",
                 what->periods_left, what->notes_left);
    return rps_error_set(err, RPS_FAILED,
                         "%s holds %" PRIu64 " periods of run %" PRId64 ", but %" PRIu64
                         " more periods and %zu marks and gaps could not be written (%s)%s",
                         writer->path, writer->committed, writer->run_id, what->periods,
                         what->notes, why, rest);
}

/* Write the end of the run, or leave it with what could not be written. */
static int finish(struct rps_writer *writer, struct rps_run *end, struct rps_error *err)
{
    struct unwritten what = {
        .periods = writer->queue.count + writer->lost.periods,
        .notes = writer->notes.count + writer->lost_notes,
        .periods_left = -1,
    };
    int code = SQLITE_OK;

    /* an end that is written would keep what is left behind from being brought in */
    if (writer->queue.count > 0 || writer->notes.first)
        what.periods_left = leave(writer, end, &what.notes_left);
    if (what.periods_left < 0) {
        if (what.periods > 0) {
            end->state = RPS_RUN_INTERRUPTED;
            snprintf(end->end_reason, sizeof(end->end_reason), "the store could not be written: %s",
                     writer->trouble);
        }
        code = write_end(writer, end);
        if (code != SQLITE_OK && !writer->trouble[0])
            snprintf(writer->trouble, sizeof(writer->trouble), "%s",
                     rps_database_reason(writer->db, code));
        if (code != SQLITE_OK && rps_database_is_transient(code))
            what.periods_left = leave(writer, end, &what.notes_left);
    }
    rps_writer_free_run(writer, what.periods_left >= 0);
    if (code == SQLITE_OK && what.periods == 0 && what.notes == 0)
        return 0;
    return not_written(writer, &what, err);
}

/* --- a store that is not at its place any more -------------------------------------------------
 */

/* Make the file, which is nobody's yet, with the rights of the store. */
static int make_file(struct rps_writer *writer, const char *path, struct rps_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, writer->mode & 0666);

    if (fd < 0)
        return rps_error_set(err, RPS_FAILED,
                             "the store %s was deleted, moved or replaced during the recording, "
                             "which cannot be saved as %s (%s) and is lost",
                             writer->path, path, strerror(errno));
    close(fd);
    return 0;
}

/* Copy the store into a new file. Always negative: the user is to know where it is. */
static int save_into(struct rps_writer *writer, const char *path, struct rps_error *err)
{
    char *name = rps_path_check_sqlite_path(path);
    sqlite3_stmt *stmt = NULL;
    int code =
        name ? sqlite3_prepare_v2(writer->db, "VACUUM INTO ?1", -1, &stmt, NULL) : SQLITE_NOMEM;

    if (code == SQLITE_OK)
        code = sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = rps_database_run(stmt);
    if (code == SQLITE_OK)
        rps_error_set(err, RPS_FAILED,
                      "the store %s was deleted, moved or replaced during the recording: the "
                      "recording, with all that the store held, is saved as %s",
                      writer->path, path);
    else
        rps_error_set(err, RPS_FAILED,
                      "the store %s was deleted, moved or replaced during the recording, which "
                      "cannot be saved as %s (%s) and is lost",
                      writer->path, path, rps_database_reason(writer->db, code));
    sqlite3_finalize(stmt);
    if (code != SQLITE_OK)
        unlink(path);
    free(name);
    return RPS_FAILED;
}

/*
 * A link to the open file would be simpler: Linux makes none to a file that has no name any more.
 */
static int save(struct rps_writer *writer, struct rps_error *err)
{
    char *path = NULL;
    int result = RPS_FAILED;

    rps_companion_remove_log(writer->path, writer->log_inode);
    if (asprintf(&path, "%s.saved-%.8s", writer->path, writer->uuid) < 0)
        return rps_error_memory(err);
    if (make_file(writer, path, err) == 0)
        result = save_into(writer, path, err);
    free(path);
    return result;
}

/* --- the end -----------------------------------------------------------------------------------
 */

int rps_writer_end(struct rps_writer *writer, const struct rps_run *run, struct rps_error *err)
{
    struct rps_run end = *run; /* shallow: only read */
    int result;

    if (!writer->thread_runs)
        return rps_error_set(err, RPS_FAILED, "no run is being recorded into %s", writer->path);
    stop_thread(writer, writer->patience_ns);
    if (end.elapsed_ns < 0)
        end.elapsed_ns = writer->end_ns;
    rps_writer_settle(writer);
    if (writer->queue.count == 0 && !writer->broken)
        rps_writer_finish_thinning(writer);
    result = finish(writer, &end, err);
    return result == 0 && rps_writer_has_moved(writer) ? save(writer, err) : result;
}

void rps_writer_close(struct rps_writer *writer)
{
    if (!writer)
        return;
    stop_thread(writer, 0);
    rps_writer_free_run(writer, writer->queue.count > 0);
    sqlite3_close(writer->db);
    pthread_mutex_destroy(&writer->lock);
    pthread_cond_destroy(&writer->wake);
    rps_queue_free(&writer->queue);
    free(writer->path);
    free(writer);
}
