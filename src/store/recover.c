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
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alive.h"
#include "database.h"
#include "queue.h"

#define SQL_UNFINISHED                                                                             \
    "SELECT run_id, uuid, host, boot_id, recorder_pid, recorder_start_ticks, set_count"            \
    " FROM run WHERE state = 'recording'"

struct left {
    int64_t run_id;
    int set_count;
    char uuid[40];
};

static void copy_text(char *ret, size_t size, sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);

    ret[0] = '\0';
    if (text && strlen(text) < size)
        strcpy(ret, text);
}

/* The row's run, when its recorder is dead and left something. */
static int is_left(sqlite3_stmt *stmt, struct left *ret)
{
    char host[256], boot_id[64];

    ret->run_id = sqlite3_column_int64(stmt, 0);
    ret->set_count = sqlite3_column_int(stmt, 6);
    copy_text(ret->uuid, sizeof(ret->uuid), stmt, 1);
    copy_text(host, sizeof(host), stmt, 2);
    copy_text(boot_id, sizeof(boot_id), stmt, 3);
    return rps_queue_is_left(ret->uuid) &&
           rps_recorder_is_dead(host, boot_id, sqlite3_column_int64(stmt, 4),
                                sqlite3_column_int64(stmt, 5));
}

/* The first run of which something is left: SQLITE_ROW, or SQLITE_DONE. */
static int find_left(sqlite3 *db, int64_t after_run_id, struct left *ret)
{
    sqlite3_stmt *stmt = NULL;
    int code =
        sqlite3_prepare_v2(db, SQL_UNFINISHED " AND run_id > ?1 ORDER BY run_id", -1, &stmt, NULL);

    if (code == SQLITE_OK) {
        sqlite3_bind_int64(stmt, 1, after_run_id);
        do
            code = sqlite3_step(stmt);
        while (code == SQLITE_ROW && !is_left(stmt, ret));
    }
    sqlite3_finalize(stmt);
    return code;
}

int rps_recover_is_due(sqlite3 *db)
{
    struct left left;

    return find_left(db, -1, &left) == SQLITE_ROW;
}

/* --- inserting ----------------------------------------------------------------------------------
 */

/* By set: the slots whose event is measured. A new array, NULL without memory or on an error. */
static uint32_t *measured_slots(sqlite3 *db, const struct left *left)
{
    uint32_t *measured =
        left->set_count > 0 ? calloc((size_t)left->set_count, sizeof(*measured)) : NULL;
    sqlite3_stmt *stmt = NULL;

    if (!measured || sqlite3_prepare_v2(db,
                                        "SELECT set_no, slot FROM event WHERE run_id = ?1"
                                        " AND state = 'measured'",
                                        -1, &stmt, NULL) != SQLITE_OK) {
        free(measured);
        return NULL;
    }
    sqlite3_bind_int64(stmt, 1, left->run_id);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        int set = rps_database_index(stmt, 0, left->set_count);
        int slot = rps_database_index(stmt, 1, RPS_SLOT_MAX);

        if (set >= 0 && slot >= 0)
            measured[set] |= UINT32_C(1) << slot;
    }
    sqlite3_finalize(stmt);
    return measured;
}

static int is_sane(const struct left *left, const struct rps_period *period)
{
    return period->set_no < (uint32_t)left->set_count && period->cpu >= RPS_CPU_ALL &&
           period->start_ns >= 0 && period->length_ns >= 0 && period->cycle <= INT64_MAX &&
           period->period <= INT64_MAX;
}

static int insert_period(sqlite3_stmt *stmt, const struct left *left, const uint32_t *measured,
                         const struct rps_period *p)
{
    const int64_t column[] = {left->run_id,
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
    uint32_t counted = p->counted & measured[p->set_no];

    sqlite3_clear_bindings(stmt);
    for (int i = 0; i < columns; i++)
        sqlite3_bind_int64(stmt, i + 1, column[i]);
    for (int slot = 0; slot < RPS_SLOT_MAX; slot++)
        if (counted & (UINT32_C(1) << slot))
            sqlite3_bind_int64(stmt, columns + 1 + slot, (int64_t)p->count[slot]);
    return rps_database_run(stmt);
}

static int insert_all(sqlite3 *db, const struct left *left, const struct rps_period *period,
                      size_t count)
{
    uint32_t *measured = measured_slots(db, left);
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(
        db,
        "INSERT OR IGNORE INTO period (run_id, cpu, cycle, period, set_no, start_ns, length_ns,"
        " cycles, enabled_ns, running_ns, switch_ns, missed, c0, c1, c2, c3, c4, c5, c6, c7)"
        " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        -1, &stmt, NULL);

    if (!measured && code == SQLITE_OK)
        code = SQLITE_NOMEM;
    if (code == SQLITE_OK)
        code = rps_database_exec(db, "BEGIN IMMEDIATE");
    for (size_t i = 0; i < count && code == SQLITE_OK; i++)
        if (is_sane(left, &period[i]))
            code = insert_period(stmt, left, measured, &period[i]);
    if (code == SQLITE_OK)
        code = rps_database_exec(db, "COMMIT");
    if (code != SQLITE_OK && !sqlite3_get_autocommit(db))
        rps_database_exec(db, "ROLLBACK");
    sqlite3_finalize(stmt);
    free(measured);
    return code;
}

int rps_recover(sqlite3 *db, const char *path)
{
    struct left left = {.run_id = -1};
    struct stat status;
    uid_t owner = stat(path, &status) == 0 ? status.st_uid : geteuid();
    int code;

    while ((code = find_left(db, left.run_id, &left)) == SQLITE_ROW) {
        struct rps_period *period = NULL;
        size_t count = 0;

        if (rps_queue_salvage(left.uuid, owner, &period, &count, NULL) < 0)
            return SQLITE_NOMEM;
        code = count > 0 ? insert_all(db, &left, period, count) : SQLITE_OK;
        free(period);
        if (code != SQLITE_OK)
            return code;
        rps_queue_forget(left.uuid);
    }
    return code == SQLITE_DONE ? SQLITE_OK : code;
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
