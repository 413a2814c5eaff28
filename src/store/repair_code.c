#include "repair_code.h"

#include "code_counts.h"
#include "database.h"

_Static_assert(RPS_CODE_NUMBER_MAX == 2000000, "the statements below");

#define NUMBERS(table, column)                                                                     \
    "DELETE FROM " table " WHERE run_id = ?1 AND " column " NOT BETWEEN 0 AND 1999999;"

/* ?1 is the run, ?2 its highest period. */
static const char sql_drop[] = NUMBERS("module", "module") NUMBERS("frame", "frame")
    NUMBERS("stack", "stack") NUMBERS("task", "task") NUMBERS(
        "location",
        "depth") "DELETE FROM location WHERE run_id = ?1 AND frame NOT IN (SELECT frame FROM frame"
                 " WHERE run_id = ?1);"
                 "DELETE FROM code_count WHERE run_id = ?1 AND (level NOT BETWEEN 0 AND 4"
                 " OR period NOT BETWEEN 0 AND ?2 OR part NOT BETWEEN 0 AND 1999999"
                 " OR code_samples(stacks, 2000000) + code_samples(tasks, 2000000) IS NULL)";

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
    " (SELECT 1 FROM code_count WHERE run_id = ?1);"
    "UPDATE sampling SET samples = max(samples, c.stacks, c.tasks),"
    " lost = max(lost, max(samples, c.stacks, c.tasks) - min(c.stacks, c.tasks)) FROM"
    " (SELECT CAST(total(code_samples(stacks, 2000000)) AS INTEGER) AS stacks,"
    "  CAST(total(code_samples(tasks, 2000000)) AS INTEGER) AS tasks"
    "  FROM code_count WHERE run_id = ?1) AS c WHERE run_id = ?1";

/* Run statements of constant SQL. */
static int change_counts(sqlite3 *db, const char *sql, int64_t run_id, uint64_t last_period)
{
    int code = SQLITE_OK;

    while (*sql && code == SQLITE_OK) {
        sqlite3_stmt *stmt = NULL;

        code = sqlite3_prepare_v2(db, sql, -1, &stmt, &sql);
        if (code == SQLITE_OK) {
            sqlite3_bind_int64(stmt, 1, run_id);
            sqlite3_bind_int64(stmt, 2, (int64_t)last_period); /* of those that ask for it */
            code = rps_database_run(stmt);
        }
        sqlite3_finalize(stmt);
    }
    return code;
}

int rps_repair_code(sqlite3 *db, int64_t run_id, uint64_t last_period, uint64_t *ret_dropped)
{
    int64_t before = sqlite3_total_changes64(db);
    int code = change_counts(db, sql_drop, run_id, last_period);

    *ret_dropped += (uint64_t)(sqlite3_total_changes64(db) - before);
    return code == SQLITE_OK ? change_counts(db, sql_mend, run_id, last_period) : code;
}
