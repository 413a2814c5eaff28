/*
 * The writer, when the store or its run is taken away from it while it records.
 *
 * A file that has no name, or another one, is lost or written by somebody else's leave. So the
 * recording goes on in a new file beside the store's old place. What SQLite has in the log is first
 * taken up into the file that was moved: it is whole then, wherever it is now.
 */
#include "writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "database.h"
#include "make.h"
#include "rpistat/rights.h"

struct copying {
    sqlite3 *from;
    char *path; /* of the copy */
};

static int fill_copy(void *context, const char *name, struct rps_error *err)
{
    const struct copying *copying = context;
    int code = rps_database_do(copying->from, "VACUUM INTO ?1", "t", name);

    return code == SQLITE_OK ? 0 : rps_database_error(copying->from, code, copying->path, err);
}

/* Open the new file and write the run into it from now on; with its rows when it is `blank`. */
static int go_on_in(struct rps_writer *writer, char *path, bool blank)
{
    const struct rps_database_options options = {
        .durability_full = writer->options.durability_full,
    };
    int64_t run_id = writer->run_id, before_id = run_id;
    struct rps_error unheard;
    sqlite3 *db = NULL, *before = writer->db;
    int code;

    if (rps_database_open_write(path, &options, &db, &unheard) < 0)
        return SQLITE_CANTOPEN;
    code = blank ? rps_write_run_begin(db, &writer->run, writer->plan, &run_id) : SQLITE_OK;
    if (code != SQLITE_OK) {
        rps_database_close(db);
        return code;
    }
    rps_write_record_finalize(writer);
    rps_downsample_close(writer->downsample);
    writer->downsample = NULL;
    if (blank) /* sums begin anew as well */
        rps_writer_close_run(writer);
    writer->db = db;
    writer->log_pages = 0;
    writer->run_id = run_id;
    pthread_mutex_lock(&writer->lock);
    writer->lost_rows += blank && before_id > 0; /* what was known of the code, or more, is gone */
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

/* The new file: whole before it has its name, and nobody's yet. NULL when it cannot be made, and
 * that is told. Owned by the caller. */
static char *make_file(struct rps_writer *writer, bool copy, const char *why)
{
    struct copying copying = {.from = writer->db};
    struct rps_error err;
    int result;

    if (asprintf(&copying.path, "%s.saved-%.8s", writer->path, writer->run.uuid) < 0) {
        tell_failure(writer, why, strerror(ENOMEM));
        return NULL;
    }
    if (copy)
        result = rps_database_make(copying.path, writer->mode, fill_copy, &copying, &err);
    else
        result = rps_database_make(copying.path, writer->mode, rps_database_fill_store,
                                   copying.path, &err);
    if (result == 0)
        return copying.path;
    tell_failure(writer, why, result > 0 ? strerror(EEXIST) : err.message);
    free(copying.path);
    return NULL;
}

static int save_beside(struct rps_writer *writer, bool copy, const char *why)
{
    char *path = make_file(writer, copy, why);
    int code;

    if (!path)
        return SQLITE_CANTOPEN;
    code = go_on_in(writer, path, !copy);
    if (code != SQLITE_OK) {
        tell_failure(writer, why, rps_database_reason(NULL, code));
        if (path != writer->saved_path) {
            unlink(path); /* made above */
            free(path);
        }
        return code;
    }
    writer->why_saved = why;
    rps_writer_notice(writer, "%s %s while it is recorded into: the recording goes on in %s%s",
                      writer->path, why, path, copy ? ", with all that the store held" : "");
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
        return SQLITE_CANTOPEN; /* twice: there is an end to it */
    /* takes the log up into the file, wherever that is, as far as nobody else reads it */
    rps_database_exec(writer->db, "PRAGMA wal_checkpoint(TRUNCATE)");
    return save(writer, true, "was deleted, moved or replaced");
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

int rps_writer_save_run(struct rps_writer *writer)
{
    int code;

    if (writer->saved_path)
        return SQLITE_CANTOPEN;
    code = save(writer, false, "was changed: the run was deleted");
    if (code == SQLITE_OK && writer->end_ns > 0)
        rps_writer_gap(writer, RPS_CPU_ALL, 0, writer->end_ns, "the run was deleted until here");
    return code;
}
