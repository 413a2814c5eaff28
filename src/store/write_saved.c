/* The part of the writer that continues in a new file if the store or its run disappears during
 * recording.
 *
 * If the file was deleted or moved, data written to it may be lost. So the recording continues in a
 * new file in the store's old directory. First, SQLite's log is moved into the old file, so that
 * the old file is complete even if it has another path. A store that was emptied or damaged is not
 * changed: a repair may need its log. */
#include "writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "identity.h"
#include "rpistat/clock.h"
#include "rpistat/process.h"
#include "rpistat/random.h"
#include "rpistat/rights.h"
#include "rpistat/text.h"

/* Reasons for which a run continues in a new file without its earlier rows, and the text of the gap
 * row that replaces them. */
static const struct {
    const char *why, *gap;
} losses[] = {
    [RPS_WRITER_LOSS_RUN] = {"was changed: the run was deleted", "the run was deleted until here"},
    [RPS_WRITER_LOSS_DAMAGE] = {"was emptied or damaged", "the store was damaged here"},
    [RPS_WRITER_LOSS_MEMORY] = {"lost the content of its -shm file",
                                "until here the run was recorded into another file"},
};

/* Number of names to try for a new file. Another program may have made files of these names. */
#define NAMES_MAX 3

struct copying {
    sqlite3 *from;
    char *path; /* path of the copy */
    const char *name;
    int code;
};

static void copy_all(void *context)
{
    struct copying *copying = context;

    copying->code = rps_database_do(copying->from, "VACUUM INTO ?1", "t", copying->name);
}

static int fill_copy(void *context, const char *name, struct rps_error *err)
{
    struct copying *copying = context;

    copying->name = name;
    if (rps_fault_guard(copy_all, copying) < 0)
        return rps_database_error(NULL, SQLITE_IOERR_SHMMAP, copying->path, err);
    return copying->code == SQLITE_OK
               ? 0
               : rps_database_error(copying->from, copying->code, copying->path, err);
}

/* Open the new file, and write the run into it from now on. If the file is `blank`, first insert
 * the rows that describe the run. */
static int go_on_in(struct rps_writer *writer, char *path, bool blank)
{
    const struct rps_database_options options = {
        .durability_full = writer->options.durability_full,
    };
    int64_t run_id = writer->run_id, before_id = run_id;
    sqlite3 *db = NULL, *before = writer->db;
    int code;

    if (rps_database_open_write(path, &options, &db, NULL) < 0)
        return SQLITE_CANTOPEN;
    code = blank ? rps_write_run_begin(db, &writer->run, writer->plan, &run_id) : SQLITE_OK;
    if (code != SQLITE_OK) {
        rps_database_close(db);
        return code;
    }
    rps_write_record_finalize(writer);
    rps_downsample_close(writer->downsample);
    writer->downsample = NULL;
    if (blank) /* the sums of a blank file start at zero */
        rps_writer_close_run(writer);
    writer->db = db;
    writer->log_pages = 0;
    writer->run_id = run_id;
    writer->committed_before = blank ? writer->committed : 0;
    pthread_mutex_lock(&writer->lock);
    writer->lost_rows += blank && before_id > 0; /* earlier rows, such as samples, are lost */
    writer->saved_path = path;
    pthread_mutex_unlock(&writer->lock);
    code = rps_writer_open_run(writer);
    if (code == SQLITE_OK && blank)
        code = rps_system_write_states(&writer->system, db, run_id);
    rps_database_close(before);
    return code;
}

static void report_failure(struct rps_writer *writer, const char *why, const char *reason)
{
    if (writer->save_failed)
        return;
    writer->save_failed = true;
    rps_writer_notice(writer,
                      "%s %s while a run is recorded into it, and the recording cannot continue in "
                      "a file next to it (%s), so it will be lost",
                      writer->path, why, reason);
}

/* Make the new file, which is complete before it gets its name. Returns its path, which the caller
 * owns. Returns NULL and reports an error if the file cannot be made. */
static char *make_file(struct rps_writer *writer, bool copy, const char *why)
{
    struct copying copying = {.from = writer->db};
    struct rps_error err;
    uint64_t unforeseen = 0;
    int result = 1;

    /* A user who can read the store sees the run's ID, and may have made the first file already. */
    for (int i = 0; i < NAMES_MAX && result > 0; i++) {
        free(copying.path);
        if (asprintf(&copying.path, i == 0 ? "%s.saved-%.8s" : "%s.saved-%.8s-%" PRIx64,
                     writer->path, writer->run.uuid, unforeseen) < 0) {
            report_failure(writer, why, strerror(ENOMEM));
            return NULL;
        }
        result = rps_database_make(copying.path, writer->mode,
                                   copy ? fill_copy : rps_database_fill_store,
                                   copy ? (void *)&copying : copying.path, &err);
        if (result > 0 && rps_random_bytes(&unforeseen, sizeof(unforeseen), &err) < 0)
            break;
    }
    if (result == 0)
        return copying.path;
    report_failure(writer, why, result > 0 ? strerror(EEXIST) : err.message);
    free(copying.path);
    return NULL;
}

static int save_beside(struct rps_writer *writer, bool copy, const char *why)
{
    char *path = make_file(writer, copy, why), kept[512] = "";
    int64_t run_id = writer->run_id;
    bool is_whole;
    int code;

    if (!path)
        return SQLITE_CANTOPEN;
    is_whole = rps_writer_is_whole(writer);
    code = go_on_in(writer, path, !copy);
    if (code != SQLITE_OK) {
        report_failure(writer, why, rps_database_reason(NULL, code));
        if (path != writer->saved_path) {
            unlink(path); /* delete the file that this function made */
            free(path);
        }
        return code;
    }
    writer->why_saved = why;
    if (!copy && writer->loss > RPS_WRITER_LOSS_RUN)
        rps_writer_describe_kept(writer, run_id, is_whole, kept, sizeof(kept));
    rps_writer_notice(writer, "%s %s while a run was recorded into it; %s %s%s", writer->path, why,
                      copy || !writer->stop || writer->ring.count > 0
                          ? "the recording continues in"
                          : "the run without its periods is in",
                      path, copy ? ", with all that the store had" : kept);
    return code;
}

static int save(struct rps_writer *writer, bool copy, const char *why)
{
    struct rps_rights_before before;
    struct rps_error err;
    int code = SQLITE_PERM;

    if (rps_rights_take_for(writer->path, RPS_RIGHTS_BESIDE, &before, &err) < 0)
        report_failure(writer, why, err.message);
    else
        code = save_beside(writer, copy, why);
    rps_rights_return(&before);
    return code;
}

int rps_writer_save_copy(struct rps_writer *writer)
{
    if (writer->saved_path)
        return SQLITE_CANTOPEN; /* if the new file is lost too, writing stops */
    /* Move the log into the store's file at any path, unless another connection reads the log. */
    rps_writer_empty_log(writer);
    return save(writer, true,
                writer->loss == RPS_WRITER_LOSS_LOG ? "lost its -wal or -shm file"
                                                    : "was deleted, moved or replaced");
}

int rps_writer_save_locked(struct rps_writer *writer)
{
    bool is_busy = rps_database_is_busy(writer->code);
    int code;

    if (writer->saved_path)
        return SQLITE_CANTOPEN;
    if (!is_busy && !writer->save_failed)
        rps_writer_notice(writer, "%s", writer->reason);
    code =
        save(writer, writer->run_id > 0,
             is_busy ? "stayed locked by another program" : "could not be used when it was free");
    if (code != SQLITE_OK)
        return code;
    writer->is_saved_locked = true;
    pthread_mutex_lock(&writer->lock);
    writer->waits_ns = 0;
    pthread_mutex_unlock(&writer->lock);
    return code;
}

int rps_writer_save_run(struct rps_writer *writer, enum rps_writer_loss loss)
{
    int code;

    if (writer->saved_path)
        return SQLITE_CANTOPEN;
    writer->loss = loss;
    if (loss == RPS_WRITER_LOSS_DAMAGE) /* a repair may need the log */
        sqlite3_db_config(writer->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    code = save(writer, false, losses[loss].why);
    if (code == SQLITE_OK && writer->end_ns > 0)
        rps_writer_gap(writer, RPS_CPU_ALL, 0, writer->end_ns, losses[loss].gap);
    return code;
}

void rps_writer_leave_connection(struct rps_writer *writer)
{
    /* These copies let a leak checker find the memory that is never freed. */
    static struct rps_writer left[4] __attribute__((used));
    static unsigned int count;

    left[count++ % 4] = *writer;
    writer->statements = (struct rps_write_statements){0};
    memset(writer->system.insert, 0, sizeof(writer->system.insert));
    writer->downsample = NULL;
    writer->db = NULL;
    writer->code = RPS_WRITER_HAS_LEFT;
    snprintf(writer->reason, sizeof(writer->reason), "another program emptied its -shm file");
}

/* The part of the writer that adds a run to a store that another program may have locked.
 *
 * A lock must not delay the user's command. So the recording begins in memory, and the thread adds
 * the run when the lock is free. Another recorder needs the lock for milliseconds, but a merge or a
 * stopped process may hold it for minutes. If the wait takes too long, the run goes into a separate
 * file, which `rpistat merge` can add to the store. */

/* Maximum memory for the records of a run that waits for the lock. The same limit applies to half
 * of the ring. Rows of samples use at most half of the ring (push in write.c). */
#define WAIT_BYTES (UINT64_C(64) << 20)

/* Check that the store leaves enough of max_bytes for a run; if not, return RPS_FAILED. */
static int check_room(struct rps_writer *writer, struct rps_error *err)
{
    uint64_t max_bytes = writer->options.max_bytes, used = 0, unused = 0;
    char is[RPS_TEXT_NUMBER_SIZE], max[RPS_TEXT_NUMBER_SIZE];
    int code;

    if (max_bytes == 0)
        return 0;
    code = rps_database_space(writer->db, &used, &unused);
    if (code != SQLITE_OK)
        return rps_database_error(writer->db, code, writer->path, err);
    used -= unused;
    if (used + RPS_DOWNSAMPLE_ROOM_BYTES <= max_bytes)
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "%s has %s of other runs, too much to stay below %s; record into another "
                         "store, or raise the limit",
                         writer->path, rps_text_size(is, sizeof(is), used),
                         rps_text_size(max, sizeof(max), max_bytes));
}

int rps_writer_add_run(struct rps_writer *writer, int busy_ms, struct rps_error *err)
{
    int code = SQLITE_OK, result = writer->db ? 0 : rps_writer_connect(writer, busy_ms, err);

    if (result == 0)
        result = check_room(writer, err);
    if (result < 0)
        return result;
    sqlite3_busy_timeout(writer->db, busy_ms);
    if (writer->run_id == 0)
        code = rps_write_run_begin(writer->db, &writer->run, writer->plan, &writer->run_id);
    writer->run.run_id = writer->run_id;
    if (code == SQLITE_OK)
        code = rps_writer_open_run(writer);
    if (code == SQLITE_OK)
        return 0;
    result = rps_database_error(writer->db, code, writer->path, err);
    rps_writer_close_run(writer);
    return result;
}

bool rps_writer_gives_up(const struct rps_writer *writer)
{
    bool is_busy = rps_database_is_busy(writer->code);
    size_t room = writer->ring.size / 2;
    int64_t now_ns = rps_clock_monotonic_ns(), more_ns = 0;

    if (is_busy && writer->stop && writer->options.ends_now &&
        writer->options.ends_now(writer->options.ends_now_context))
        return true;
    if (writer->waits_ns > 0)
        return writer->abandoned || !is_busy || now_ns - writer->waits_ns >= writer->lock_wait_ns ||
               writer->ring.used >= (room < WAIT_BYTES ? room : WAIT_BYTES);
    if (is_busy && !writer->abandoned && writer->lock_wait_ns > writer->patience_ns)
        more_ns = writer->lock_wait_ns - writer->patience_ns;
    return now_ns - more_ns >= writer->give_up_ns;
}
