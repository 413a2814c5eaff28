/* Checks and repairs the code tables of a store, for the command `check`. */
#include "hooks.h"

#include <sqlite3.h>

#include "record_counts.h"

_Static_assert(RPS_CODE_NUMBER_MAX == 2000000, "the statements below");

/* --- questions -------------------------------------------------------------------------------- */

/* SQL: count the rows of a code table whose number is outside the range that recorders write. */
#define NUMBERS(table)                                                                             \
    "(SELECT count(*) FROM " table " WHERE run_id = ?1 AND " table " NOT BETWEEN 0 AND 1999999)"

/* SQL: true if no rows were lost. A recorder loses rows if its memory is full; other rows may refer
 * to the lost rows. */
#define NONE_LOST "NOT EXISTS (SELECT 1 FROM sampling WHERE run_id = ?1 AND lost > 0)"

/* SQL: number of samples in a column of code_count. The result is NULL if the text is unreadable or
 * has a number above the highest in the table. */
#define SAMPLES(number, table, column)                                                             \
    "code_samples(" column ", iif(" NONE_LOST ", (SELECT coalesce(max(" number                     \
    ") + 1, 0) FROM " table " WHERE run_id = ?1), 2000000))"

/* SQL: number of counts whose stack or task has no row in the table. The table's rows are numbered
 * consecutively. Parsing counts is slow, so counts are parsed only if a row number is missing. */
#define BETWEEN(number, table)                                                                     \
    "iif((SELECT count(*) <= max(" number ") FROM " table " WHERE run_id = ?1) AND " NONE_LOST     \
    ", (SELECT count(*) FROM " number "_count WHERE run_id = ?1 AND " number " NOT IN"             \
    " (SELECT " number " FROM " table " WHERE run_id = ?1)), 0)"

#define STACKS "(SELECT stack FROM stack_frame WHERE run_id = ?1)"

/* A row of the table stack that is unreadable, or overlaps another row. */
#define IS_NO_ROW                                                                                  \
    "run_id = ?1 AND (code_calls(stack, frame, calls) IS NULL OR"                                  \
    " stack + code_calls(stack, frame, calls) >= (SELECT coalesce(min(n.stack), 2000000)"          \
    "  FROM stack AS n WHERE n.run_id = ?1 AND n.stack > stack.stack) AND calls IS NOT NULL)"

/* A row of the table location that refers to names which do not exist. */
#define IS_LIKE_NONE                                                                               \
    "alike NOT IN (SELECT frame FROM location WHERE run_id = ?1 AND depth = 0 AND alike IS NULL)"

const struct rps_store_question rps_code_questions[RPS_CODE_QUESTIONS] = {
    {RPS_FINDING_WRONG,
     "SELECT " NUMBERS("module") " + " NUMBERS("frame") " + " NUMBERS("stack") " + " NUMBERS(
         "task") " + " NUMBERS("program") " + " NUMBERS("cgroup"),
     "modules, frames, stacks, tasks, programs and control groups with numbers that no recorder "
     "writes",
     1, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM frame WHERE run_id = ?1 AND module <> -1 AND module NOT IN"
     " (SELECT module FROM module WHERE run_id = ?1) AND " NONE_LOST,
     "frames of modules that do not exist", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM stack_frame WHERE run_id = ?1 AND frame <> -1 AND frame NOT IN"
     " (SELECT frame FROM frame WHERE run_id = ?1) AND " NONE_LOST,
     "stacks of frames that do not exist", 1, 0},
    {RPS_FINDING_WRONG, "SELECT count(*) FROM stack WHERE " IS_NO_ROW,
     "rows of stack that cannot be read, or overlap", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM stack_frame WHERE run_id = ?1 AND (parent >= stack OR (parent NOT IN"
     " " STACKS " AND " NONE_LOST "))",
     "stacks whose caller is not a previous stack", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM location WHERE run_id = ?1 AND (depth < 0 OR (frame NOT IN"
     " (SELECT frame FROM frame WHERE run_id = ?1) AND " NONE_LOST ") OR " IS_LIKE_NONE ")",
     "names of frames that do not exist", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM task WHERE run_id = ?1 AND cgroup IS NOT NULL AND cgroup NOT IN"
     " (SELECT cgroup FROM cgroup WHERE run_id = ?1) AND " NONE_LOST,
     "tasks in control groups that do not exist", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM code_count WHERE run_id = ?1 AND (level NOT BETWEEN 0 AND 4"
     " OR period < 0 OR (period > ?2 AND NOT EXISTS (SELECT 1 FROM gap WHERE run_id = ?1)))",
     "counts of samples that are not inside the run", 1, 1},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM code_count AS c WHERE run_id = ?1 AND level > 0 AND NOT EXISTS"
     " (SELECT 1 FROM rollup AS r WHERE r.run_id = ?1 AND r.level = c.level AND r.cpu = c.cpu"
     " AND r.period = c.period)",
     "counts of samples in blocks that do not exist", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT count(*) FROM code_count WHERE run_id = ?1 AND " SAMPLES(
         "stack", "stack_frame",
         "stacks") " + " SAMPLES("task", "task",
                                 "tasks") " + " SAMPLES("stack", "stack_frame",
                                                        "coalesce(blocked, '')") " IS NULL",
     "rows of code_count that cannot be read, or count stacks or tasks that do not exist", 1, 0},
    {RPS_FINDING_WRONG, "SELECT " BETWEEN("stack", "stack_frame") " + " BETWEEN("task", "task"),
     "counts of stacks and tasks that do not exist", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT coalesce(max(iif(lost > 0, max(c.s - samples, c.t - samples, 0),"
     "  max(abs(c.s - samples), abs(c.t - samples)))), 0) FROM sampling JOIN run USING (run_id),"
     " (SELECT total(code_samples(stacks, 2000000)) AS s, total(code_samples(tasks, 2000000)) AS t"
     "  FROM code_count WHERE run_id = ?1) AS c WHERE run_id = ?1 AND state = 'complete'",
     "samples by which its counts of stacks or tasks differ from their total number", 1, 0},
    {RPS_FINDING_WRONG,
     "SELECT coalesce(max(iif(lost > 0, max(c.us - coalesce(blocked_us, 0), 0),"
     "  abs(c.us - coalesce(blocked_us, 0)))), 0) FROM sampling JOIN run USING (run_id),"
     " (SELECT total(code_samples(blocked, 2000000)) AS us FROM code_count WHERE run_id = ?1) AS c"
     " WHERE run_id = ?1 AND state = 'complete'",
     "microseconds off the CPU by which its counts differ from their total", 1, 0},
    {RPS_FINDING_WARNING,
     "SELECT EXISTS (SELECT 1 FROM code_count WHERE run_id = ?1) AND NOT EXISTS"
     " (SELECT 1 FROM sampling WHERE run_id = ?1)",
     "it has samples, but no row of sampling, so they are not shown", 0, 0},
};

/* --- repair ----------------------------------------------------------------------------------- */

#define DROP_NUMBERS(table, column)                                                                \
    "DELETE FROM " table " WHERE run_id = ?1 AND " column " NOT BETWEEN 0 AND 1999999;"

/* Parameter ?1 is the run, and ?2 is its highest period. */
static const char sql_drop[] = DROP_NUMBERS("module", "module") DROP_NUMBERS(
    "frame", "frame") DROP_NUMBERS("stack", "stack") DROP_NUMBERS("task", "task")
    DROP_NUMBERS("program", "program") DROP_NUMBERS("cgroup", "cgroup") DROP_NUMBERS(
        "location",
        "depth") "UPDATE stack SET calls = NULL WHERE " IS_NO_ROW ";"
                 "DELETE FROM location WHERE run_id = ?1 AND frame NOT IN (SELECT frame FROM frame"
                 " WHERE run_id = ?1);"
                 "DELETE FROM location WHERE run_id = ?1 AND " IS_LIKE_NONE ";"
                 "DELETE FROM code_count WHERE run_id = ?1 AND (level NOT BETWEEN 0 AND 4"
                 " OR period NOT BETWEEN 0 AND ?2 OR part NOT BETWEEN 0 AND 1999999"
                 " OR code_samples(stacks, 2000000) + code_samples(tasks, 2000000)"
                 " + code_samples(coalesce(blocked, ''), 2000000) IS NULL)";

/* If a block's row is missing, move the block's counts to level 0, at the block's first period. */
static const char sql_mend[] =
    "UPDATE stack SET parent = NULL WHERE run_id = ?1 AND parent NOT BETWEEN 0 AND stack - 1;"
    "INSERT OR IGNORE INTO stack SELECT DISTINCT ?1, stack, NULL, -1, NULL FROM (SELECT run_id,"
    " stack FROM stack_count UNION ALL SELECT run_id, stack FROM blocked_time"
    " UNION ALL SELECT run_id, parent FROM stack_frame WHERE parent IS NOT NULL)"
    " WHERE run_id = ?1 AND stack NOT IN " STACKS ";"
    "INSERT OR IGNORE INTO task (run_id, task, pid, tid, name, start_ns)"
    " SELECT DISTINCT ?1, task, -1, -1, '', 0 FROM task_count WHERE run_id = ?1;"
    "UPDATE task SET cgroup = NULL WHERE run_id = ?1 AND cgroup NOT IN (SELECT cgroup FROM cgroup"
    " WHERE run_id = ?1);"
    "UPDATE frame SET module = -1 WHERE run_id = ?1 AND module NOT IN (SELECT module FROM module"
    " WHERE run_id = ?1);"
    "UPDATE stack SET frame = -1 WHERE run_id = ?1 AND frame NOT BETWEEN 0 AND 1999999;"
    "INSERT OR IGNORE INTO frame (run_id, frame, module, address)"
    " SELECT DISTINCT ?1, frame, -1, 0 FROM stack_frame WHERE run_id = ?1 AND frame <> -1;"
    "UPDATE OR REPLACE code_count SET level = 0, part = part + 1 + (SELECT coalesce(max(part), 0)"
    "  FROM code_count AS o WHERE o.run_id = ?1 AND o.level = 0 AND o.cpu = code_count.cpu"
    "  AND o.period = code_count.period) WHERE run_id = ?1 AND level > 0 AND NOT EXISTS"
    "  (SELECT 1 FROM rollup AS r WHERE r.run_id = ?1 AND r.level = code_count.level"
    "  AND r.cpu = code_count.cpu AND r.period = code_count.period);"
    "INSERT OR IGNORE INTO sampling (run_id, event, frequency, threshold, stacks, samples, "
    "complete,"
    " lost, throttled, unmapped) SELECT ?1, '', 0, 0, '', 0, 0, 0, 0, 0 WHERE EXISTS"
    " (SELECT 1 FROM code_count WHERE run_id = ?1);"
    "UPDATE sampling SET blocked_us = (SELECT CAST(sum(code_samples(blocked, 2000000)) AS INTEGER)"
    " FROM code_count WHERE run_id = ?1) WHERE run_id = ?1 AND (blocked_us IS NOT NULL OR EXISTS"
    " (SELECT 1 FROM code_count WHERE run_id = ?1 AND blocked IS NOT NULL));"
    "UPDATE sampling SET samples = max(samples, c.stacks, c.tasks),"
    " lost = max(lost, max(samples, c.stacks, c.tasks) - min(c.stacks, c.tasks)) FROM"
    " (SELECT CAST(total(code_samples(stacks, 2000000)) AS INTEGER) AS stacks,"
    "  CAST(total(code_samples(tasks, 2000000)) AS INTEGER) AS tasks"
    "  FROM code_count WHERE run_id = ?1) AS c WHERE run_id = ?1";

int rps_code_repair(sqlite3 *db, int64_t run_id, uint64_t last_period, uint64_t *ret_dropped)
{
    int64_t before = sqlite3_total_changes64(db);
    int code = rps_database_do(db, sql_drop, "ii", run_id, (int64_t)last_period);

    *ret_dropped += (uint64_t)(sqlite3_total_changes64(db) - before);
    return code == SQLITE_OK ? rps_database_do(db, sql_mend, "ii", run_id, (int64_t)last_period)
                             : code;
}
