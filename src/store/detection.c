/*
 * Detections of phases: rows of `phase` and `outlier`.
 *
 * A detection is added through a connection of its own and not through a writer: nothing is
 * recorded, and a recorder may be at work on the same store. It is read like everything in a store,
 * which comes from elsewhere: a detection whose phases do not follow one another, or whose labels
 * do not, is damage.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "fields.h"
#include "path_check.h"
#include "reader.h"

/* Beyond it nothing was measured. */
#define TIME_MAX_NS (INT64_MAX / 4)

void rps_detection_free(struct rps_detection *detection)
{
    if (!detection)
        return;
    free(detection->parameters);
    rps_phases_free(&detection->phases);
    memset(detection, 0, sizeof(*detection));
}

/* --- writing ---------------------------------------------------------------------------------- */

/* What is written, and where to. */
struct addition {
    sqlite3 *db;
    int64_t run_id;
    const struct rps_detection *detection;
    int64_t number;
};

/* Delete the run's detections of the same method and parameters. */
static int delete_equal(const struct addition *add)
{
    static const char *const sql[] = {
        "DELETE FROM outlier WHERE run_id = ?1 AND detection IN (SELECT detection FROM phase"
        " WHERE run_id = ?1 AND phase = 0 AND method = ?2 AND parameters = ?3)",
        "DELETE FROM phase WHERE run_id = ?1 AND detection IN (SELECT detection FROM phase"
        " WHERE run_id = ?1 AND phase = 0 AND method = ?2 AND parameters = ?3)",
    };
    int code = SQLITE_OK;

    for (size_t i = 0; i < sizeof(sql) / sizeof(sql[0]) && code == SQLITE_OK; i++)
        code = rps_database_do(add->db, sql[i], "itt", add->run_id, add->detection->method,
                               add->detection->parameters);
    return code;
}

static int insert_phases(const struct addition *add)
{
    const struct rps_phases *phases = &add->detection->phases;
    char label[RPS_PHASE_LABEL_SIZE];
    sqlite3_stmt *stmt = NULL;
    int code = rps_database_prepare(
        add->db,
        "INSERT INTO phase (run_id, detection, method, parameters, phase, first_period, "
        "last_period,"
        " start_ns, end_ns, earliest, latest, confidence, label_confidence, label)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &stmt);

    for (size_t i = 0; i < phases->count && code == SQLITE_OK; i++) {
        const struct rps_phase *phase = &phases->phase[i];

        code = rps_database_bind(
            stmt, "iittiiiiiiirrt", add->run_id, add->number, add->detection->method,
            add->detection->parameters, (int64_t)i, (int64_t)phase->first, (int64_t)phase->last,
            phase->start_ns, phase->end_ns, (int64_t)phase->earliest, (int64_t)phase->latest,
            phase->confidence, phase->label_confidence, rps_phase_label(phase->label, label));
        if (code == SQLITE_OK)
            code = rps_database_run(stmt);
    }
    sqlite3_finalize(stmt);
    return code;
}

static int insert_outliers(const struct addition *add)
{
    const struct rps_phases *phases = &add->detection->phases;
    int code = SQLITE_OK;

    for (size_t i = 0; i < phases->outlier_count && code == SQLITE_OK; i++)
        code = rps_database_do(add->db,
                               "INSERT INTO outlier (run_id, detection, period) VALUES (?, ?, ?)",
                               "iii", add->run_id, add->number, (int64_t)phases->outlier[i]);
    return code;
}

/* Everything of one transaction but its begin and end. SQLITE_DONE: there is no such run. */
static int add_rows(struct addition *add)
{
    int64_t found;
    int code = rps_database_ask(add->db, &found, "SELECT run_id FROM run WHERE run_id = ?", "i",
                                add->run_id);

    if (code == SQLITE_OK)
        code = rps_database_ask(add->db, &add->number,
                                "SELECT coalesce(max(detection), -1) + 1 FROM phase"
                                " WHERE run_id = ?",
                                "i", add->run_id);
    if (code == SQLITE_OK)
        code = delete_equal(add);
    if (code == SQLITE_OK)
        code = insert_phases(add);
    return code == SQLITE_OK ? insert_outliers(add) : code;
}

static int add_detection(struct addition *add)
{
    int code = rps_database_exec(add->db, "BEGIN IMMEDIATE");

    if (code != SQLITE_OK)
        return code;
    code = add_rows(add);
    if (code == SQLITE_OK)
        code = rps_database_exec(add->db, "COMMIT");
    if (code != SQLITE_OK)
        rps_database_exec(add->db, "ROLLBACK");
    return code;
}

int rps_store_add_detection(const char *path, int64_t run_id, struct rps_detection *detection,
                            struct rps_error *err)
{
    const struct rps_database_options options = {0};
    struct addition add = {.run_id = run_id, .detection = detection};
    struct rps_path_check look;
    char what[40];
    int code, result = rps_path_check_read(path, &look, err); /* opening would make a new one */

    if (result == 0)
        result = rps_database_open_write(path, &options, &add.db, err);
    if (result < 0)
        return result;
    code = add_detection(&add);
    if (code == SQLITE_DONE) {
        struct rps_reader reader = {.db = add.db, .path = (char *)path};

        snprintf(what, sizeof(what), "run %" PRId64, run_id);
        result = rps_reader_no_run(&reader, what, err);
    } else if (code != SQLITE_OK) {
        result = rps_database_error(add.db, code, path, err);
    } else {
        detection->detection = add.number;
        /* The caller reads the store as well, so that closing does not take the log away. */
        sqlite3_busy_timeout(add.db, 0);
        rps_database_exec(add.db, "PRAGMA wal_checkpoint(TRUNCATE)");
    }
    sqlite3_close(add.db);
    return result;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int damaged(const struct rps_reader *reader, int64_t run_id, struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED,
                         "the store %s is damaged: the stored phases of run %" PRId64
                         " do not follow one another; `rpistat check` says more",
                         reader->path, run_id);
}

/* Number of the newest detection: 1 and *ret, 0 when there is none. */
static int find_newest(struct rps_reader *reader, int64_t run_id, int64_t *ret,
                       struct rps_error *err)
{
    sqlite3_stmt *stmt = NULL;
    int code, result = 0;

    if (rps_reader_prepare(reader, "SELECT max(detection) FROM phase WHERE run_id = ?1", run_id,
                           &stmt, err) < 0)
        return RPS_FAILED;
    code = rps_reader_step(reader, stmt);
    if (code != SQLITE_ROW) {
        result = rps_reader_error(reader, code, err);
    } else if (sqlite3_column_type(stmt, 0) != SQLITE_NULL) {
        *ret = sqlite3_column_int64(stmt, 0);
        result = 1;
    }
    sqlite3_finalize(stmt);
    return result;
}

/* A share, whatever the store says. */
static double share(sqlite3_stmt *stmt, int column)
{
    double value = sqlite3_column_double(stmt, column);

    return value > 0 ? (value < 1 ? value : 1) : 0;
}

static int64_t sane_time(int64_t ns)
{
    return ns < 0 ? 0 : ns > TIME_MAX_NS ? TIME_MAX_NS : ns;
}

/* The period in a column that may be NULL, or beyond the limits. */
static uint64_t period_between(sqlite3_stmt *stmt, int column, uint64_t low, uint64_t high,
                               uint64_t unknown)
{
    int64_t period = sqlite3_column_int64(stmt, column);

    if (sqlite3_column_type(stmt, column) == SQLITE_NULL || period < 0)
        return unknown;
    return (uint64_t)period < low ? low : (uint64_t)period > high ? high : (uint64_t)period;
}

/* The statement's row as the next phase of phases; -1 when it cannot be. */
static int read_phase(sqlite3_stmt *stmt, const struct rps_phases *phases, struct rps_phase *ret)
{
    const struct rps_phase *before = phases->count > 0 ? &phases->phase[phases->count - 1] : NULL;
    int64_t first = sqlite3_column_int64(stmt, 0), last = sqlite3_column_int64(stmt, 1);
    const char *label = (const char *)sqlite3_column_text(stmt, 8);

    if (first < 0 || last < first || (before && (uint64_t)first <= before->last))
        return -1;
    *ret = (struct rps_phase){.first = (uint64_t)first,
                              .last = (uint64_t)last,
                              .start_ns = sane_time(sqlite3_column_int64(stmt, 2)),
                              .end_ns = sane_time(sqlite3_column_int64(stmt, 3)),
                              .confidence = share(stmt, 6),
                              .label_confidence = share(stmt, 7),
                              .label = label ? rps_phase_label_parse(label) : -1};
    /* labels are numbered by first appearance: none is far above the others */
    if (ret->label < 0 || ret->label > phases->label_count)
        return -1;
    ret->earliest = period_between(stmt, 4, before ? before->first + 1 : 0, ret->first, ret->first);
    ret->latest = period_between(stmt, 5, ret->first, ret->last, ret->first);
    return 0;
}

static int add_phase(struct rps_phases *phases, size_t *room, const struct rps_phase *phase)
{
    if (phases->count == *room) {
        size_t more = 2 * *room + 16;
        struct rps_phase *grown = realloc(phases->phase, more * sizeof(*grown));

        if (!grown)
            return -1;
        phases->phase = grown;
        *room = more;
    }
    phases->phase[phases->count++] = *phase;
    if (phase->label >= phases->label_count)
        phases->label_count = phase->label + 1;
    return 0;
}

/* Method and parameters stand in every row; the first is read. */
static int read_head(sqlite3_stmt *stmt, struct rps_detection *detection)
{
    const char *parameters = (const char *)sqlite3_column_text(stmt, 10);

    rps_fields_copy_text(stmt, 9, detection->method, sizeof(detection->method));
    detection->parameters = strdup(parameters ? parameters : "{}");
    return detection->parameters ? 0 : -1;
}

static int read_phases(struct rps_reader *reader, int64_t run_id, struct rps_detection *detection,
                       struct rps_error *err)
{
    sqlite3_stmt *stmt = NULL;
    struct rps_phase phase;
    size_t room = 0;
    int code, result = rps_reader_prepare(
                  reader,
                  "SELECT first_period, last_period, start_ns, end_ns, earliest, latest,"
                  " confidence, label_confidence, label, method, parameters FROM phase"
                  " WHERE run_id = ?1 AND detection = ?2 ORDER BY phase",
                  run_id, &stmt, err);

    if (result < 0)
        return result;
    sqlite3_bind_int64(stmt, 2, detection->detection);
    while ((code = rps_reader_step(reader, stmt)) == SQLITE_ROW && result == 0) {
        if (read_phase(stmt, &detection->phases, &phase) < 0)
            result = damaged(reader, run_id, err);
        else if (add_phase(&detection->phases, &room, &phase) < 0 ||
                 (!detection->parameters && read_head(stmt, detection) < 0))
            result = rps_error_memory(err);
    }
    if (result == 0 && code != SQLITE_DONE)
        result = rps_reader_error(reader, code, err);
    sqlite3_finalize(stmt);
    return result;
}

static int add_outlier(struct rps_phases *phases, size_t *room, uint64_t period)
{
    if (phases->outlier_count == *room) {
        size_t more = 2 * *room + 16;
        uint64_t *grown = realloc(phases->outlier, more * sizeof(*grown));

        if (!grown)
            return -1;
        phases->outlier = grown;
        *room = more;
    }
    phases->outlier[phases->outlier_count++] = period;
    return 0;
}

static int read_outliers(struct rps_reader *reader, int64_t run_id, struct rps_detection *detection,
                         struct rps_error *err)
{
    sqlite3_stmt *stmt = NULL;
    size_t room = 0;
    int code, result = rps_reader_prepare(reader,
                                          "SELECT period FROM outlier WHERE run_id = ?1"
                                          " AND detection = ?2 AND period >= 0 ORDER BY period",
                                          run_id, &stmt, err);

    if (result < 0)
        return result;
    sqlite3_bind_int64(stmt, 2, detection->detection);
    while ((code = rps_reader_step(reader, stmt)) == SQLITE_ROW && result == 0) {
        if (add_outlier(&detection->phases, &room, (uint64_t)sqlite3_column_int64(stmt, 0)) < 0)
            result = rps_error_memory(err);
    }
    if (result == 0 && code != SQLITE_DONE)
        result = rps_reader_error(reader, code, err);
    sqlite3_finalize(stmt);
    return result;
}

int rps_reader_detection(struct rps_reader *reader, int64_t run_id, struct rps_detection *ret,
                         struct rps_error *err)
{
    struct rps_detection detection = {0};
    int result = find_newest(reader, run_id, &detection.detection, err);

    if (result <= 0)
        return result;
    result = read_phases(reader, run_id, &detection, err);
    if (result == 0)
        result = read_outliers(reader, run_id, &detection, err);
    if (result < 0) {
        rps_detection_free(&detection);
        return result;
    }
    *ret = detection;
    return 1;
}
