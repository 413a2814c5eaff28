/*
 * The writer, if the store or its run disappears during recording.
 *
 * If the file was deleted or moved, data written to it may be lost. So the recording continues in a
 * new file in the store's old directory. First, SQLite's log is moved into the old file, which is
 * then complete wherever it is. A store that was emptied or damaged is not changed: a repair may
 * need its log.
 */
#include "writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "database.h"
#include "make.h"
#include "rpistat/fault.h"
#include "rpistat/random.h"
#include "rpistat/rights.h"

/* Why a run continues in a new file without its rows, and what fills the time before. */
static const struct {
    const char *why, *gap;
} losses[] = {
    [RPS_WRITER_LOSS_RUN] = {"was changed: the run was deleted", "the run was deleted until here"},
    [RPS_WRITER_LOSS_DAMAGE] = {"was emptied or damaged", "the store was damaged here"},
    [RPS_WRITER_LOSS_MEMORY] = {"lost the content of its -shm file",
                                "until here the run was recorded into another file"},
};

/* Number of names to try for a new file; another program may have made files of these names. */
#define NAMES_MAX 3

struct copying {
    sqlite3 *from;
    char *path; /* of the copy */
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

/* Open the new file and write the run into it from now on, with its rows if the file is `blank`. */
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
    if (blank) /* sums also start again */
        rps_writer_close_run(writer);
    writer->db = db;
    writer->log_pages = 0;
    writer->run_id = run_id;
    writer->committed_before = blank ? writer->committed : 0;
    pthread_mutex_lock(&writer->lock);
    writer->lost_rows += blank && before_id > 0; /* rows such as samples are lost */
    writer->saved_path = path;
    pthread_mutex_unlock(&writer->lock);
    code = rps_writer_open_run(writer);
    if (code == SQLITE_OK && blank)
        code = rps_system_write_states(&writer->system, db, run_id);
    rps_database_close(before);
    return code;
}

static void tell_failure(struct rps_writer *writer, const char *why, const char *reason)
{
    if (writer->save_failed)
        return;
    writer->save_failed = true;
    rps_writer_notice(writer,
                      "%s %s while it is recorded into, and the recording cannot go on in another "
                      "file beside it (%s): it will be lost",
                      writer->path, why, reason);
}

/* Make the new file, which is complete before it has its name. Returns its path, owned by the
 * caller; NULL if it cannot be made, which is reported. */
static char *make_file(struct rps_writer *writer, bool copy, const char *why)
{
    struct copying copying = {.from = writer->db};
    struct rps_error err;
    uint64_t unforeseen = 0;
    int result = 1;

    /* the store has the run's ID: its reader may have made a file of the first name */
    for (int i = 0; i < NAMES_MAX && result > 0; i++) {
        free(copying.path);
        if (asprintf(&copying.path, i == 0 ? "%s.saved-%.8s" : "%s.saved-%.8s-%" PRIx64,
                     writer->path, writer->run.uuid, unforeseen) < 0) {
            tell_failure(writer, why, strerror(ENOMEM));
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
    tell_failure(writer, why, result > 0 ? strerror(EEXIST) : err.message);
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
        tell_failure(writer, why, rps_database_reason(NULL, code));
        if (path != writer->saved_path) {
            unlink(path); /* this function made it */
            free(path);
        }
        return code;
    }
    writer->why_saved = why;
    if (!copy && writer->loss > RPS_WRITER_LOSS_RUN)
        rps_writer_describe_kept(writer, run_id, is_whole, kept, sizeof(kept));
    rps_writer_notice(writer, "%s %s while it is recorded into: %s %s%s", writer->path, why,
                      copy || !writer->stop || writer->ring.count > 0
                          ? "the recording goes on in"
                          : "the run without its periods is in",
                      path, copy ? ", with all that the store held" : kept);
    return code;
}

static int save(struct rps_writer *writer, bool copy, const char *why)
{
    struct rps_rights_before before;
    struct rps_error err;
    int code = SQLITE_PERM;

    if (rps_rights_take_for(writer->path, RPS_RIGHTS_BESIDE, &before, &err) < 0)
        tell_failure(writer, why, err.message);
    else
        code = save_beside(writer, copy, why);
    rps_rights_return(&before);
    return code;
}

int rps_writer_save_copy(struct rps_writer *writer)
{
    if (writer->saved_path)
        return SQLITE_CANTOPEN; /* a second loss: stop */
    /* moves the log into the file, wherever that is, as far as no other connection reads it */
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
    if (loss == RPS_WRITER_LOSS_DAMAGE) /* a repair needs the log */
        sqlite3_db_config(writer->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    code = save(writer, false, losses[loss].why);
    if (code == SQLITE_OK && writer->end_ns > 0)
        rps_writer_gap(writer, RPS_CPU_ALL, 0, writer->end_ns, losses[loss].gap);
    return code;
}

void rps_writer_leave_connection(struct rps_writer *writer)
{
    /* lets a leak checker find the memory that is never freed */
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
