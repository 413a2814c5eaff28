/*
 * Recovery: a recorder that is killed leaves the periods of its last moments in shared memory.
 * Whoever opens the store next, also to read it, brings them in before anything else is done with
 * it.
 *
 * Plain inserts, not period_table.c: a period may be there already, when the recorder was killed
 * between its commit and the moment it would have let go of what was committed.
 */
#include "recover.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database.h"
#include "examine.h"
#include "left.h"

/* A run of which something is left. */
struct unfinished {
    int64_t run_id;
    char uuid[40];
};

/* The first run behind after_run_id of which something is left: SQLITE_ROW, or SQLITE_DONE. */
static int find_unfinished(sqlite3 *db, int64_t after_run_id, struct unfinished *ret)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db,
                                  "SELECT run_id, uuid FROM run WHERE state ="
                                  " 'recording' AND run_id > ?1 ORDER BY run_id",
                                  -1, &stmt, NULL);

    if (code == SQLITE_OK) {
        sqlite3_bind_int64(stmt, 1, after_run_id);
        while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
            const char *uuid = (const char *)sqlite3_column_text(stmt, 1);

            if (!uuid || !rps_left_is_there(uuid))
                continue;
            ret->run_id = sqlite3_column_int64(stmt, 0);
            snprintf(ret->uuid, sizeof(ret->uuid), "%s", uuid);
            break;
        }
    }
    sqlite3_finalize(stmt);
    return code;
}

int rps_recover_is_due(sqlite3 *db)
{
    struct unfinished run;

    return find_unfinished(db, -1, &run) == SQLITE_ROW;
}

/* --- inserting ----------------------------------------------------------------------------------
 */

static int is_sane(const struct rps_run_shape *shape, const struct rps_period *period)
{
    return period->set_no < (uint32_t)shape->set_count && period->cpu >= RPS_CPU_ALL &&
           period->start_ns >= 0 && period->length_ns >= 0 && period->cycle <= INT64_MAX &&
           period->period <= INT64_MAX;
}

static int insert_period(sqlite3_stmt *stmt, const struct rps_run_shape *shape,
                         const struct rps_period *p)
{
    const int64_t column[] = {shape->run_id,
                              p->cpu,
                              (int64_t)p->cycle,
                              (int64_t)p->period,
                              p->set_no,
                              p->start_ns,
                              p->length_ns,
                              (int64_t)p->cycles,
                              (int64_t)p->enabled_ns,
                              (int64_t)p->running_ns,
                              p->switch_ns,
                              p->missed};
    const int columns = (int)(sizeof(column) / sizeof(column[0]));
    uint32_t counted = p->counted & shape->measured[p->set_no];

    sqlite3_clear_bindings(stmt);
    for (int i = 0; i < columns; i++)
        sqlite3_bind_int64(stmt, i + 1, column[i]);
    for (int slot = 0; slot < RPS_SLOT_MAX; slot++)
        if (counted & (UINT32_C(1) << slot))
            sqlite3_bind_int64(stmt, columns + 1 + slot, (int64_t)p->count[slot]);
    return rps_database_run(stmt);
}

static int insert_periods(sqlite3 *db, const struct unfinished *run, const struct rps_left *left)
{
    struct rps_run_shape shape;
    sqlite3_stmt *stmt = NULL;
    int code = rps_run_shape_load(db, run->run_id, &shape);

    if (code != SQLITE_OK)
        return code;
    code = sqlite3_prepare_v2(
        db,
        "INSERT OR IGNORE INTO period (run_id, cpu, cycle, period, set_no, start_ns, length_ns,"
        " cycles, enabled_ns, running_ns, switch_ns, missed, c0, c1, c2, c3, c4, c5, c6, c7)"
        " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        -1, &stmt, NULL);

    for (size_t i = 0; i < left->count && code == SQLITE_OK; i++)
        if (is_sane(&shape, &left->period[i]))
            code = insert_period(stmt, &shape, &left->period[i]);
    sqlite3_finalize(stmt);
    rps_run_shape_free(&shape);
    return code;
}

static int insert_note(sqlite3 *db, const struct unfinished *run, const struct rps_left_note *note)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(
        db,
        note->is_mark
            ? "INSERT OR IGNORE INTO mark (run_id, time_ns, mark_no, text) VALUES (?1, ?2, ?3, ?4)"
            : "INSERT OR IGNORE INTO gap (run_id, start_ns, gap_no, reason, cpu, length_ns)"
              " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        -1, &stmt, NULL);

    if (code == SQLITE_OK) {
        sqlite3_bind_int64(stmt, 1, run->run_id);
        sqlite3_bind_int64(stmt, 2, note->start_ns);
        sqlite3_bind_int64(stmt, 3, note->number);
        sqlite3_bind_text(stmt, 4, note->text, -1, SQLITE_STATIC);
        if (!note->is_mark) {
            sqlite3_bind_int(stmt, 5, note->cpu);
            sqlite3_bind_int64(stmt, 6, note->length_ns);
        }
        code = rps_database_run(stmt);
    }
    sqlite3_finalize(stmt);
    return code;
}

/* The end that the recorder could not write. */
static int insert_end(sqlite3 *db, const struct unfinished *run, const struct rps_left *left)
{
    const struct rps_left_end *end = &left->end;
    const int64_t column[] = {run->run_id, end->start_realtime_ns, end->start_monotonic_ns,
                              end->elapsed_ns, end->recorder_cpu_ns};
    sqlite3_stmt *stmt = NULL;
    char reason[sizeof(end->reason) + 160];
    int code = sqlite3_prepare_v2(
        db,
        "UPDATE run SET state = 'interrupted', start_realtime_ns = ?2, start_monotonic_ns = ?3,"
        " elapsed_ns = ?4, recorder_cpu_ns = ?5, exit_status = ?6, exit_signal = ?7,"
        " end_reason = ?8 WHERE run_id = ?1 AND state = 'recording'",
        -1, &stmt, NULL);

    if (code == SQLITE_OK) {
        snprintf(reason, sizeof(reason),
                 "the store could not be written to the end of the recording: %s; the last %zu "
                 "periods were kept in memory and brought in later",
                 end->reason, left->count);
        for (int i = 0; i < 5; i++)
            if (column[i] >= 0)
                sqlite3_bind_int64(stmt, i + 1, column[i]);
        if (end->exit_status >= 0)
            sqlite3_bind_int(stmt, 6, end->exit_status);
        sqlite3_bind_int(stmt, 7, end->exit_signal);
        sqlite3_bind_text(stmt, 8, reason, -1, SQLITE_STATIC);
        code = rps_database_run(stmt);
    }
    sqlite3_finalize(stmt);
    return code;
}

/* In one transaction. */
static int insert_all(sqlite3 *db, const struct unfinished *run, const struct rps_left *left)
{
    const struct rps_left_note *note;
    size_t at = 0;
    int code = rps_database_exec(db, "BEGIN IMMEDIATE");

    if (code == SQLITE_OK)
        code = insert_periods(db, run, left);
    while (code == SQLITE_OK && (note = rps_left_next_note(left, &at)))
        code = insert_note(db, run, note);
    if (code == SQLITE_OK && left->ended)
        code = insert_end(db, run, left);
    if (code == SQLITE_OK)
        code = rps_database_exec(db, "COMMIT");
    if (code != SQLITE_OK && !sqlite3_get_autocommit(db))
        rps_database_exec(db, "ROLLBACK");
    return code;
}

static uid_t owner_of(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 ? status.st_uid : geteuid();
}

int rps_recover_end_text(const char *path, const char *uuid, char *ret, size_t size)
{
    return rps_left_end_text(uuid, owner_of(path), ret, size);
}

int rps_recover(sqlite3 *db, const char *path)
{
    struct unfinished run = {.run_id = -1};
    uid_t owner = owner_of(path);
    int code;

    while ((code = find_unfinished(db, run.run_id, &run)) == SQLITE_ROW) {
        struct rps_left left;

        if (rps_left_salvage(run.uuid, owner, &left, NULL) < 0)
            return SQLITE_NOMEM;
        code = left.count > 0 || left.ended ? insert_all(db, &run, &left) : SQLITE_OK;
        rps_left_free(&left);
        if (code != SQLITE_OK)
            return code;
        rps_left_forget(run.uuid);
    }
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Is the run one whose queue is not to be removed? Also when that cannot be found out. */
static int is_wanted(void *context, const char *uuid)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(
        context, "SELECT 1 FROM run WHERE uuid = ?1 AND state = 'recording'", -1, &stmt, NULL);

    if (code == SQLITE_OK) {
        sqlite3_bind_text(stmt, 1, uuid, -1, SQLITE_STATIC);
        code = sqlite3_step(stmt);
    }
    sqlite3_finalize(stmt);
    return code != SQLITE_DONE;
}

void rps_recover_sweep(sqlite3 *db, const char *path,
                       void (*notice)(void *context, const char *sentence), void *notice_context)
{
    rps_left_sweep(path, is_wanted, db, notice, notice_context);
}

int rps_recover_open_read(const char *path, sqlite3 **ret, struct rps_error *err)
{
    const struct rps_database_options options = {0};
    sqlite3 *db = NULL, *writing = NULL;
    int rc = rps_database_open_read(path, &db, err);

    if (rc == 0 && rps_recover_is_due(db)) {
        sqlite3_close(db);
        db = NULL;
        if (rps_database_open_write(path, &options, &writing, NULL) == 0)
            sqlite3_close(writing);
        rc = rps_database_open_read(path, &db, err);
    }
    if (rc == 0)
        *ret = db;
    return rc;
}
