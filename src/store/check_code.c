#include "check_code.h"

#include <inttypes.h>
#include <stdlib.h>

#include "code_counts.h"
#include "database.h"
#include "rpistat/period.h"

/* Stacks, then tasks. */
#define KINDS 2

static const char *const kind_name[KINDS] = {"stack", "task"};

struct counts {
    uint8_t *known[KINDS]; /* owned; by number: 1, there is a row of it; NULL: not asked for */
    uint64_t samples[KINDS], unknown[KINDS];
    uint64_t malformed; /* rows */
};

/* --- walking ---------------------------------------------------------------------------------- */

/* Sum the counts of the statement's row; false when one of its texts is malformed. */
static bool sum_row(struct counts *counts, sqlite3_stmt *stmt, int column)
{
    bool is_sound = true;

    for (int kind = 0; kind < KINDS; kind++) {
        struct rps_code_counts_text text = {
            .at = (const char *)sqlite3_column_text(stmt, column + kind)};
        int64_t number;

        while (rps_code_counts_next(&text, &number)) {
            counts->samples[kind] += text.samples;
            counts->unknown[kind] += counts->known[kind] && !counts->known[kind][number];
        }
        is_sound = is_sound && !text.is_malformed;
    }
    return is_sound;
}

static int load_known(sqlite3 *db, int64_t run_id, const char *sql, uint8_t **ret)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

    *ret = calloc(RPS_CODE_NUMBER_MAX, 1);
    if (!*ret)
        code = SQLITE_NOMEM;
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(stmt, 1, run_id);
    while (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        int64_t number = rps_database_index(stmt, 0, RPS_CODE_NUMBER_MAX);

        if (number >= 0)
            (*ret)[number] = 1;
        code = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int walk(sqlite3 *db, int64_t run_id, struct counts *counts)
{
    sqlite3_stmt *stmt = NULL;
    int code =
        load_known(db, run_id, "SELECT stack FROM stack WHERE run_id = ?1", &counts->known[0]);

    if (code == SQLITE_OK)
        code = load_known(db, run_id, "SELECT task FROM task WHERE run_id = ?1", &counts->known[1]);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(db, "SELECT stacks, tasks FROM code_count WHERE run_id = ?1", -1,
                                  &stmt, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(stmt, 1, run_id);
    while (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        counts->malformed += !sum_row(counts, stmt, 0);
        code = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* --- checking --------------------------------------------------------------------------------- */

/* What sampling came to, by the run's own totals. */
struct totals {
    int64_t samples, lost;
    int complete; /* they are the last ones */
};

static int load_totals(sqlite3 *db, int64_t run_id, struct totals *ret)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db,
                                  "SELECT samples, lost, state = 'complete' FROM sampling JOIN run"
                                  " USING (run_id) WHERE run_id = ?1",
                                  -1, &stmt, NULL);

    *ret = (struct totals){0};
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(stmt, 1, run_id);
    if (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW)
        *ret = (struct totals){sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
                               sqlite3_column_int(stmt, 2)};
    sqlite3_finalize(stmt);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

static void tell(struct rps_findings *findings, int64_t run_id, const struct counts *counts,
                 const struct totals *totals)
{
    if (counts->malformed > 0)
        rps_findings_add(findings, RPS_FINDING_WRONG,
                         "run %" PRId64 ": rows of code_count that cannot be read: %" PRIu64,
                         run_id, counts->malformed);
    for (int kind = 0; kind < KINDS; kind++) {
        uint64_t samples = counts->samples[kind];

        if (counts->unknown[kind] > 0 && totals->lost <= 0) /* else with what was lost */
            rps_findings_add(findings, RPS_FINDING_WRONG,
                             "run %" PRId64 ": counts of %ss that are not there: %" PRIu64, run_id,
                             kind_name[kind], counts->unknown[kind]);
        if (totals->complete && ((int64_t)samples > totals->samples ||
                                 ((int64_t)samples < totals->samples && totals->lost <= 0)))
            rps_findings_add(findings, RPS_FINDING_WRONG,
                             "run %" PRId64 ": the total number of samples is %" PRId64
                             ", but the counts of %ss come to %" PRIu64,
                             run_id, totals->samples, kind_name[kind], samples);
    }
}

void rps_check_code(sqlite3 *db, int64_t run_id, struct rps_findings *findings)
{
    struct counts counts = {0};
    struct totals totals;
    int code = load_totals(db, run_id, &totals);
    char track[64];

    if (code == SQLITE_OK)
        code = walk(db, run_id, &counts);
    if (code == SQLITE_OK)
        tell(findings, run_id, &counts, &totals);
    else if (code != SQLITE_ERROR) /* a missing table or column: the check of the schema says so */
        rps_findings_unreadable(
            findings, db, rps_findings_track(track, sizeof(track), run_id, RPS_CPU_ALL), code);
    free(counts.known[0]);
    free(counts.known[1]);
}

/* --- repairing -------------------------------------------------------------------------------- */

#define NUMBERS(table, column)                                                                     \
    "DELETE FROM " table " WHERE run_id = ?1 AND " column " NOT BETWEEN 0 AND 1999999;"
_Static_assert(RPS_CODE_NUMBER_MAX == 2000000, "the statements below");

/* ?1 is the run, ?2 its highest period. */
static const char sql_drop[] = NUMBERS("module", "module") NUMBERS("frame", "frame")
    NUMBERS("stack", "stack") NUMBERS("task", "task") NUMBERS(
        "location",
        "depth") "DELETE FROM location WHERE run_id = ?1 AND frame NOT IN (SELECT frame FROM frame"
                 " WHERE run_id = ?1);"
                 "DELETE FROM code_count WHERE run_id = ?1 AND (level NOT BETWEEN 0 AND 4"
                 " OR period NOT BETWEEN 0 AND ?2 OR part NOT BETWEEN 0 AND 1999999)";

/* Counts of a block that is not there any more stay where it began. */
static const char sql_mend[] =
    "INSERT OR IGNORE INTO stack SELECT DISTINCT ?1, stack, NULL, -1 FROM stack_count"
    " WHERE run_id = ?1;"
    "INSERT OR IGNORE INTO task SELECT DISTINCT ?1, task, -1, -1, '', 0, NULL FROM task_count"
    " WHERE run_id = ?1;"
    "UPDATE frame SET module = -1 WHERE run_id = ?1 AND module NOT IN (SELECT module FROM module"
    " WHERE run_id = ?1);"
    "UPDATE stack SET frame = -1 WHERE run_id = ?1 AND frame NOT IN (SELECT frame FROM frame"
    " WHERE run_id = ?1);"
    "UPDATE stack SET parent = NULL WHERE run_id = ?1 AND (parent >= stack OR parent NOT IN"
    " (SELECT stack FROM stack WHERE run_id = ?1));"
    "UPDATE OR REPLACE code_count SET level = 0, part = part + 1 + (SELECT coalesce(max(part), 0)"
    "  FROM code_count AS o WHERE o.run_id = ?1 AND o.level = 0 AND o.cpu = code_count.cpu"
    "  AND o.period = code_count.period) WHERE run_id = ?1 AND level > 0 AND NOT EXISTS"
    "  (SELECT 1 FROM rollup AS r WHERE r.run_id = ?1 AND r.level = code_count.level"
    "  AND r.cpu = code_count.cpu AND r.period = code_count.period);"
    "INSERT OR IGNORE INTO sampling SELECT ?1, '', 0, 0, '', 0, 0, 0, 0, 0 WHERE EXISTS"
    " (SELECT 1 FROM code_count WHERE run_id = ?1);";

/* ?2 and ?3: what the counts of stacks and tasks come to. */
static const char sql_totals[] =
    "UPDATE sampling SET samples = max(samples, ?2, ?3) WHERE run_id = ?1;"
    "UPDATE sampling SET lost = max(lost, samples - min(?2, ?3)) WHERE run_id = ?1";

/* Run statements of constant SQL. */
static int run_sql(sqlite3 *db, const char *sql, const int64_t number[3])
{
    int code = SQLITE_OK;

    while (*sql && code == SQLITE_OK) {
        sqlite3_stmt *stmt = NULL;

        code = sqlite3_prepare_v2(db, sql, -1, &stmt, &sql);
        for (int i = 1; code == SQLITE_OK && i <= sqlite3_bind_parameter_count(stmt); i++)
            code = sqlite3_bind_int64(stmt, i, number[i - 1]);
        if (code == SQLITE_OK && stmt)
            code = rps_database_run(stmt);
        sqlite3_finalize(stmt);
    }
    return code;
}

/* Delete rows of counts whose text makes no sense, and sum the others. */
static int drop_malformed(sqlite3 *db, int64_t run_id, struct counts *ret)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db,
                                  "SELECT level, cpu, period, part, stacks, tasks FROM code_count"
                                  " WHERE run_id = ?1",
                                  -1, &stmt, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(stmt, 1, run_id);
    while (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct counts row = {0};

        code = SQLITE_OK;
        if (sum_row(&row, stmt, 4)) {
            for (int kind = 0; kind < KINDS; kind++)
                ret->samples[kind] += row.samples[kind];
            continue;
        }
        code = rps_database_do(db,
                               "DELETE FROM code_count WHERE run_id = ? AND level = ? AND cpu = ?"
                               " AND period = ? AND part = ?",
                               "iiiii", run_id, sqlite3_column_int64(stmt, 0),
                               sqlite3_column_int64(stmt, 1), sqlite3_column_int64(stmt, 2),
                               sqlite3_column_int64(stmt, 3));
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

int rps_check_code_repair(sqlite3 *db, int64_t run_id, uint64_t last_period, uint64_t *ret_dropped)
{
    struct counts counts = {0};
    int64_t before = sqlite3_total_changes64(db);
    int64_t number[3] = {run_id, (int64_t)last_period, 0};
    int code = run_sql(db, sql_drop, number);

    if (code == SQLITE_OK)
        code = drop_malformed(db, run_id, &counts);
    *ret_dropped += (uint64_t)(sqlite3_total_changes64(db) - before);
    if (code == SQLITE_OK)
        code = run_sql(db, sql_mend, number);
    number[1] = (int64_t)counts.samples[0];
    number[2] = (int64_t)counts.samples[1];
    return code == SQLITE_OK ? run_sql(db, sql_totals, number) : code;
}
