/* Compare two copies of a run.
 *
 * The rows of a table are read from both copies in parallel, in key order. A row that only one copy
 * has is treated as missing in the other copy. There are two exceptions: the other copy was
 * downsampled where the row is missing, or it ends before the row. Blocks are compared row by row,
 * like periods. If only one copy was downsampled, both copies still have the blocks. */
#include "edit.h"

#include <stdbool.h>
#include <string.h>

#include "period.h"
#include "system.h"

/* The columns of a table whose rows must be equal in both copies. */
struct content {
    const char *table, *columns; /* `columns`: key columns first, in key order */
    /* SQL: 1 if the copy is permitted to lack a row. ?1 is the copy's run; ?2 and so on are the
     * row's columns. NULL: the copy must have all rows. */
    const char *excuse;
    int track; /* number of leading columns that identify a track: a sequence of rows, such as
                  those of a CPU */
};

static const struct content description[] = {
    {"run",
     .columns =
         "command, folder, host, boot_id, cpu_model, cpu_count, kernel, architecture, version,"
         " recorder_pid, target, pmu, counter_count, plan, plan_title, plan_explain, set_count,"
         " order_seed, clock_label, clock_unit, paranoid, nmi_watchdog, governor, period_ns"},
    {"event_set", .columns = "set_no, name, explain"},
    {"event",
     .columns =
         "set_no, slot, name, spec, label, role, unit, family, modifiers, explain, type, config,"
         " config1, config2, cost_ns, state, reason"},
    {"metric", .columns = "name, metric_no, label, unit, family, panel, formula, explain"},
};

/* Tables and columns that are known only when the run has ended. */
static const struct content ending[] = {
    {"run",
     .columns =
         "start_realtime_ns, start_monotonic_ns, elapsed_ns, end_reason, exit_status, exit_signal,"
         " user_ns, system_ns, memory_bytes, fitting"},
};

/* SQL: 1 if the copy's rows of level ?2 - `finer` are deleted beyond period ?4 by downsampling. */
#define IS_DOWNSAMPLED(finer)                                                                      \
    "EXISTS (SELECT 1 FROM thinned WHERE run_id = ?1 AND level = ?2 - " finer                      \
    " AND cpu = ?3 AND before_period > ?4)"

/* SQL: find a block of source ?2 above level `below` that includes period `number`. */
#define HAS_BLOCK(below, number)                                                                   \
    "SELECT 1 FROM (VALUES (1), (2), (3), (4)) AS v JOIN reading_rollup AS b ON run_id = ?1"       \
    " AND source = ?2 AND level = column1 AND period BETWEEN " number " >> 4 * column1"            \
    " << 4 * column1 AND " number " AND last_period >= " number " WHERE column1 > " below

static const struct content periods[] = {
    {"period", .columns = RPS_PERIOD_COLUMNS ", " RPS_PERIOD_COUNTS,
     .excuse = "SELECT EXISTS (SELECT 1 FROM thinned WHERE run_id = ?1 AND level = 0 AND cpu = ?2"
               " AND before_period > ?4)",
     .track = 1},
    {"rollup", .columns = "level, cpu, period, " RPS_PERIOD_ROLLUP_COLUMNS ", " RPS_PERIOD_COUNTS,
     .excuse = "SELECT " IS_DOWNSAMPLED("0"), .track = 2},
    {"reading", .columns = "source, period, end_ns, length_us," RPS_SYSTEM_VALUES,
     .excuse = "SELECT EXISTS (" HAS_BLOCK("0", "?3") ")", .track = 1},
    {"reading_rollup",
     .columns = "source, level, period, last_period, end_ns, length_us," RPS_SYSTEM_SUMS,
     .excuse = "SELECT EXISTS (" HAS_BLOCK("?3", "?4") ")", .track = 2},
};

/* Tables that grow while the run is recorded. */
static const struct content growing[] = {
    {"signal", .columns = "source, slot, name, label, unit, kind, origin, explain, state, reason"},
    {"gap", .columns = "start_ns, gap_no, cpu, length_ns, reason"},
    {"mark", .columns = "time_ns, mark_no, text"},
    {"sampling", .columns = "event, frequency, threshold, stacks"},
    {"module", .columns = "module, kind, path, build_id"},
    {"frame", .columns = "frame, module, address"},
    {"stack", .columns = "stack, parent, frame, calls"},
    {"task", .columns = "task, pid, tid, name, start_ns"},
    {"cgroup", .columns = "cgroup, path"},
    {"program", .columns = "program, name"},
    {"code_count", .columns = "level, cpu, period, part, stacks, tasks, blocked",
     .excuse = "SELECT " IS_DOWNSAMPLED("0") " OR (?2 > 0 AND NOT " IS_DOWNSAMPLED("1") ")"},
};

#define COUNT(contents) (sizeof(contents) / sizeof((contents)[0]))

/* A copy, and its rows of a table. */
struct side {
    const struct rps_copy *copy;
    sqlite3_stmt *row, *excuse;
    bool has_row;
    bool lacks;   /* this copy lacks a row of the other copy */
    bool goes_on; /* this copy has rows after the last row of the other copy */
};

/* --- a table ---------------------------------------------------------------------------------- */

/* Compare the values of two rows in a column. Returns a negative number, 0 or a positive number if
 * the value of `a` sorts before, with or after the value of `b`. */
static int order_values(sqlite3_stmt *a, sqlite3_stmt *b, int column)
{
    int type = sqlite3_column_type(a, column), order = type - sqlite3_column_type(b, column);
    int bytes, least;

    if (order != 0 || type == SQLITE_NULL)
        return order;
    if (type == SQLITE_INTEGER) {
        sqlite3_int64 one = sqlite3_column_int64(a, column);
        sqlite3_int64 another = sqlite3_column_int64(b, column);

        return (one > another) - (one < another);
    }
    least = sqlite3_column_bytes(a, column);
    bytes = least - sqlite3_column_bytes(b, column);
    least -= bytes > 0 ? bytes : 0;
    if (least > 0)
        order =
            memcmp(sqlite3_column_blob(a, column), sqlite3_column_blob(b, column), (size_t)least);
    return order != 0 ? order : bytes;
}

/* Compare the first `columns` columns of two rows. Returns the same as order_values(). */
static int order_rows(sqlite3_stmt *a, sqlite3_stmt *b, int columns)
{
    int order = 0;

    for (int i = 0; i < columns && order == 0; i++)
        order = order_values(a, b, i);
    return order;
}

static int ask_about_row(const struct rps_copy *copy, sqlite3_stmt *query, sqlite3_stmt *row,
                         bool *ret, struct rps_error *err)
{
    int code = SQLITE_OK, parameters = sqlite3_bind_parameter_count(query);

    for (int i = 2; i <= parameters && code == SQLITE_OK; i++)
        code = sqlite3_bind_value(query, i, sqlite3_column_value(row, i - 2));
    if (code == SQLITE_OK)
        code = rps_reader_step(copy->reader, query);
    *ret = code == SQLITE_ROW && sqlite3_column_int(query, 0) != 0;
    sqlite3_reset(query);
    return code == SQLITE_ROW ? 0 : rps_reader_error(copy->reader, code, err);
}

static int read_row(struct side *side, struct rps_error *err)
{
    int code = rps_reader_step(side->copy->reader, side->row);

    side->has_row = code == SQLITE_ROW;
    return side->has_row || code == SQLITE_DONE ? 0
                                                : rps_reader_error(side->copy->reader, code, err);
}

/* Record that `other` lacks the row of `side`, or that `other` ended before this row. Record
 * nothing if `excuse` in struct content permits this. */
static int find_excuse(const struct content *content, struct side *side, struct side *other,
                       struct rps_error *err)
{
    bool excused = false;

    if (other->excuse && ask_about_row(other->copy, other->excuse, side->row, &excused, err) < 0)
        return RPS_FAILED;
    if (excused)
        return 0;
    if (content->track > 0 &&
        (!other->has_row || order_rows(side->row, other->row, content->track) != 0))
        side->goes_on = true;
    else
        other->lacks = true;
    return 0;
}

static int prepare_side(const struct content *content, struct side *side, struct rps_error *err)
{
    struct rps_reader *reader = side->copy->reader;
    int64_t run_id = side->copy->run->run_id;
    char *sql = sqlite3_mprintf("SELECT %s FROM %s WHERE run_id = ?1 ORDER BY %s", content->columns,
                                content->table, content->columns);
    int result = rps_reader_prepare(reader, sql, run_id, &side->row, err);

    sqlite3_free(sql);
    if (result == 0 && content->excuse)
        result = rps_reader_prepare(reader, content->excuse, run_id, &side->excuse, err);
    return result == 0 ? read_row(side, err) : result;
}

/* Compare a table in both copies. Stop early if each copy is known to lack a row of the other. */
static int compare_table(const struct content *content, struct side side[2], struct rps_error *err)
{
    int result = 0;

    for (int i = 0; i < 2 && result == 0; i++)
        result = prepare_side(content, &side[i], err);
    while (result == 0 && (side[0].has_row || side[1].has_row) &&
           !(side[0].lacks && side[1].lacks)) {
        int order = !side[1].has_row ? -1
                    : !side[0].has_row
                        ? 1
                        : order_rows(side[0].row, side[1].row, sqlite3_column_count(side[0].row));

        if (order != 0)
            result = find_excuse(content, &side[order > 0], &side[order < 0], err);
        for (int i = 0; i < 2 && result == 0; i++)
            if (order == 0 || i == (order > 0))
                result = read_row(&side[i], err);
    }
    for (int i = 0; i < 2; i++) {
        sqlite3_finalize(side[i].row);
        sqlite3_finalize(side[i].excuse);
        side[i].row = side[i].excuse = NULL;
    }
    return result;
}

static int compare_tables(const struct content *content, size_t count, struct side side[2],
                          struct rps_error *err)
{
    int result = 0;

    for (size_t i = 0; i < count && result == 0; i++)
        result = compare_table(&content[i], side, err);
    return result;
}

/* --- the whole -------------------------------------------------------------------------------- */

int rps_copies_compare(const struct rps_copy *first, const struct rps_copy *second,
                       enum rps_copies *ret, struct rps_error *err)
{
    struct side side[2] = {{.copy = first}, {.copy = second}};
    bool is_ended[2], is_same;
    int result = compare_tables(description, COUNT(description), side, err);

    *ret = RPS_COPIES_DIFFER;
    if (result == 0 && !side[0].lacks && !side[1].lacks)
        result = compare_tables(periods, COUNT(periods), side, err);
    if (result < 0 || side[0].lacks || side[1].lacks)
        return result;
    for (int i = 0; i < 2; i++)
        is_ended[i] = side[i].copy->run->state == RPS_RUN_COMPLETE;
    is_same = is_ended[0] && is_ended[1] && !side[0].goes_on && !side[1].goes_on;
    if (is_same)
        result = compare_tables(ending, COUNT(ending), side, err);
    if (result == 0)
        result = compare_tables(growing, COUNT(growing), side, err);
    if (result < 0)
        return result;
    if (is_same ? !side[0].lacks && !side[1].lacks
                : !is_ended[1] && !side[1].goes_on && !side[0].lacks)
        *ret = RPS_COPIES_HAS_NONE;
    else if (!is_ended[0] && !side[0].goes_on && !side[1].lacks)
        *ret = RPS_COPIES_HAS_MORE;
    return 0;
}
