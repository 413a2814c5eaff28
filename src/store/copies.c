/*
 * Two copies of a run against each other.
 *
 * Periods are read by two cursors, the one behind first, and summed up by event set: where both
 * sums end with the same period they are to be equal, and begin anew. So periods are compared with
 * periods, and with the block that stands for them where one copy was thinned.
 */
#include "copies.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "period.h"
#include "rollup.h"

/* Beyond it nothing was measured, and a sum might overflow. */
#define TIME_MAX_NS (INT64_MAX / 4)

struct side {
    const struct rps_copy *copy;
    struct rps_cursor *cursor;
    int has_next; /* 1: `next` is its next row */
    struct rps_period next;
    struct rps_period *sum; /* owned; by set; merged is 0 where there is nothing */
    int64_t last;           /* number of the last period of the CPU; -1: none */
    bool goes_on;           /* behind the end of the other, on some CPU */
};

struct comparison {
    struct side side[2];
    bool differ;
};

/* --- periods ---------------------------------------------------------------------------------- */

static int step(struct side *side, struct rps_error *err)
{
    side->has_next = rps_cursor_next(side->cursor, &side->next, err);
    return side->has_next < 0 ? RPS_FAILED : 0;
}

/* Would the sum be larger than anything that was measured? */
static bool is_too_large(const struct rps_period *sum, const struct rps_period *row)
{
    return sum->merged > 0 && (sum->length_ns > TIME_MAX_NS || sum->switch_ns > TIME_MAX_NS ||
                               sum->idle_ns > INT64_MAX - (row->idle_ns > 0 ? row->idle_ns : 0));
}

/* Take the side's next row. `other_has_more`: of this CPU. */
static void take(struct comparison *c, int i, bool other_has_more)
{
    struct side *side = &c->side[i], *other = &c->side[!i];
    const struct rps_period *row = &side->next;
    struct rps_period *sum = &side->sum[row->set_no], *others = &other->sum[row->set_no];
    int64_t last = (int64_t)rps_period_last(row);

    side->last = last > side->last ? last : side->last;
    if (!other_has_more && ((int64_t)row->period > other->last ||
                            (sum->merged > 0 && (int64_t)sum->last_period > other->last))) {
        side->goes_on = true;
        return;
    }
    if (is_too_large(sum, row)) {
        c->differ = true;
        return;
    }
    rps_rollup_sum(sum, row, 0);
    if (others->merged > 0 && sum->last_period == others->last_period) {
        c->differ = c->differ || rps_period_differs(sum, others);
        sum->merged = others->merged = 0;
    }
}

/* May `part` be the beginning of the block? */
static bool fits(const struct rps_period *part, const struct rps_period *block)
{
    bool fit = part->period == block->period && part->rotation == block->rotation &&
               part->start_ns == block->start_ns && part->cycle <= block->cycle &&
               part->cycles <= block->cycles && part->length_ns <= block->length_ns &&
               part->enabled_ns <= block->enabled_ns && part->running_ns <= block->running_ns &&
               part->clock_running_ns <= block->clock_running_ns;

    for (int slot = 0; slot < RPS_SLOT_MAX; slot++)
        fit = fit && part->count[slot] <= block->count[slot];
    return fit;
}

/* Sums that are left at the end of a CPU are those of one side's last block, where the other one
 * has ended in the middle of it. */
static void end_track(struct comparison *c)
{
    for (int n = 0; n < RPS_READER_SETS_MAX; n++) {
        struct rps_period *a = &c->side[0].sum[n], *b = &c->side[1].sum[n];
        int longer = b->merged > 0 && (a->merged == 0 || b->last_period > a->last_period);
        const struct rps_period *part = longer ? a : b, *block = longer ? b : a;

        if (block->merged == 0)
            continue;
        c->side[longer].goes_on = true;
        if ((int64_t)block->last_period <= c->side[!longer].last ||
            (part->merged > 0 && !fits(part, block)) ||
            (part->merged == 0 && (int64_t)block->period <= c->side[!longer].last))
            c->differ = true;
        a->merged = b->merged = 0;
    }
    c->side[0].last = c->side[1].last = -1;
}

static bool is_of(const struct side *side, int32_t cpu)
{
    return side->has_next == 1 && side->next.cpu == cpu;
}

static int compare_track(struct comparison *c, int32_t cpu, struct rps_error *err)
{
    struct side *a = &c->side[0], *b = &c->side[1];
    int result = 0;

    while (result == 0 && !c->differ && (is_of(a, cpu) || is_of(b, cpu))) {
        int i = !is_of(a, cpu) || (is_of(b, cpu) && b->next.period < a->next.period);

        take(c, i, is_of(&c->side[!i], cpu));
        result = step(&c->side[i], err);
    }
    if (result == 0 && !c->differ)
        end_track(c);
    return result;
}

static int compare_periods(struct comparison *c, struct rps_error *err)
{
    struct side *a = &c->side[0], *b = &c->side[1];
    int result = 0;

    for (int i = 0; i < 2 && result == 0; i++) {
        const struct rps_copy *copy = c->side[i].copy;

        c->side[i].last = -1;
        c->side[i].sum = calloc(RPS_READER_SETS_MAX, sizeof(*c->side[i].sum));
        result = c->side[i].sum ? rps_cursor_open(&c->side[i].cursor, copy->reader,
                                                  copy->run->run_id, 0, INT64_MAX, 0, err)
                                : rps_error_memory(err);
        if (result == 0)
            result = step(&c->side[i], err);
    }
    while (result == 0 && !c->differ && (a->has_next == 1 || b->has_next == 1)) {
        bool is_first = a->has_next == 1 && (b->has_next != 1 || a->next.cpu <= b->next.cpu);

        result = compare_track(c, is_first ? a->next.cpu : b->next.cpu, err);
    }
    for (int i = 0; i < 2; i++) {
        rps_cursor_close(c->side[i].cursor);
        free(c->side[i].sum);
    }
    return result;
}

/* --- other rows ------------------------------------------------------------------------------- */

struct content {
    const char *table, *columns;
    /* SQL: may the other copy lack the row? ?1 is its run, ?2 ... are the columns; NULL: no */
    const char *excuse;
};

static const struct content description[] = {
    {"run",
     "command, folder, host, boot_id, cpu_model, cpu_count, kernel, architecture, version,"
     " recorder_pid, target, pmu, counter_count, plan, plan_title, plan_explain, set_count,"
     " order_seed, clock_label, clock_unit, paranoid, nmi_watchdog, governor, period_ns",
     NULL},
    {"event_set", "set_no, name, explain", NULL},
    {"event",
     "set_no, slot, name, spec, label, role, unit, family, modifiers, explain, type, config,"
     " config1, config2, cost_ns, state, reason",
     NULL},
    {"metric", "name, metric_no, label, unit, family, panel, formula, explain", NULL},
};

/* What is known at the end. */
static const struct content ending[] = {
    {"run",
     "start_realtime_ns, start_monotonic_ns, elapsed_ns, end_reason, exit_status, exit_signal,"
     " fitting",
     NULL},
};

/* Was the other copy thinned up to here, in rows of the level ?2 - `finer`? */
#define IS_THINNED(finer)                                                                          \
    "EXISTS (SELECT 1 FROM thinned WHERE run_id = ?1 AND level = ?2 - " finer                      \
    " AND cpu = ?3 AND before_period > ?4)"

/* What comes while the run is recorded. */
static const struct content growing[] = {
    {"gap", "start_ns, gap_no, cpu, length_ns, reason", NULL},
    {"mark", "time_ns, mark_no, text", NULL},
    {"sampling", "event, frequency, threshold, stacks", NULL},
    {"module", "module, kind, path, build_id", NULL},
    {"frame", "frame, module, address", NULL},
    {"stack", "stack, parent, frame", NULL},
    {"task", "task, pid, tid, name, start_ns", NULL},
    {"code_count", "level, cpu, period, part, stacks, tasks",
     "SELECT " IS_THINNED("0") " OR (?2 > 0 AND NOT " IS_THINNED("1") ")"},
};

#define COUNT(contents) (sizeof(contents) / sizeof((contents)[0]))

/* The query that finds a row by all its columns. NULL: no memory. */
static char *probe_sql(const struct content *content, int columns)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);

    sqlite3_str_appendf(sql, "SELECT 1 FROM %s WHERE run_id = ?1 AND (%s) IS (?2", content->table,
                        content->columns);
    for (int i = 1; i < columns; i++)
        sqlite3_str_appendf(sql, ", ?%d", i + 2);
    sqlite3_str_appendall(sql, ")");
    return sqlite3_str_finish(sql);
}

/* Ask whether the query, of columns of the row that was read, gives a number that is not 0. */
static int ask(struct rps_reader *reader, sqlite3_stmt *query, sqlite3_stmt *row, bool *ret,
               struct rps_error *err)
{
    int code = SQLITE_OK, parameters = sqlite3_bind_parameter_count(query);

    for (int i = 2; i <= parameters && code == SQLITE_OK; i++)
        code = sqlite3_bind_value(query, i, sqlite3_column_value(row, i - 2));
    if (code == SQLITE_OK)
        code = rps_reader_step(reader, query);
    *ret = code == SQLITE_ROW && sqlite3_column_int(query, 0) != 0;
    sqlite3_reset(query);
    return code == SQLITE_ROW || code == SQLITE_DONE ? 0 : rps_reader_error(reader, code, err);
}

/* Does `in` lack a row of a table that `of` has? */
static int find_missing(const struct rps_copy *of, const struct rps_copy *in,
                        const struct content *content, bool *ret, struct rps_error *err)
{
    sqlite3_stmt *row = NULL, *probe = NULL, *excuse = NULL;
    char *sql =
        sqlite3_mprintf("SELECT %s FROM %s WHERE run_id = ?1", content->columns, content->table);
    int code, result = sql ? rps_reader_prepare(of->reader, sql, of->run->run_id, &row, err)
                           : rps_error_memory(err);

    sqlite3_free(sql);
    sql = result == 0 ? probe_sql(content, sqlite3_column_count(row)) : NULL;
    if (result == 0)
        result = sql ? rps_reader_prepare(in->reader, sql, in->run->run_id, &probe, err)
                     : rps_error_memory(err);
    sqlite3_free(sql);
    if (result == 0 && content->excuse)
        result = rps_reader_prepare(in->reader, content->excuse, in->run->run_id, &excuse, err);
    while (result == 0 && !*ret && (code = rps_reader_step(of->reader, row)) != SQLITE_DONE) {
        bool found = false;

        result = code == SQLITE_ROW ? ask(in->reader, probe, row, &found, err)
                                    : rps_reader_error(of->reader, code, err);
        if (result == 0 && !found && excuse)
            result = ask(in->reader, excuse, row, &found, err);
        *ret = result == 0 && !found;
    }
    sqlite3_finalize(row);
    sqlite3_finalize(probe);
    sqlite3_finalize(excuse);
    return result;
}

/* Does one of the copies lack a row of the tables that the other has? `both`: either of them; else
 * only the second is asked. */
static int find_differences(const struct rps_copy *first, const struct rps_copy *second,
                            const struct content *content, size_t count, bool both, bool *ret,
                            struct rps_error *err)
{
    int result = 0;

    for (size_t i = 0; i < count && result == 0 && !*ret; i++) {
        result = find_missing(first, second, &content[i], ret, err);
        if (result == 0 && both && !*ret)
            result = find_missing(second, first, &content[i], ret, err);
    }
    return result;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Is `first`, whose periods the other one has all, its beginning? */
static int is_beginning(const struct rps_copy *first, const struct rps_copy *of, bool *ret,
                        struct rps_error *err)
{
    bool differ = first->run->state == RPS_RUN_COMPLETE;
    int result = find_differences(first, of, growing, COUNT(growing), false, &differ, err);

    *ret = result == 0 && !differ;
    return result;
}

/* The periods are the same as far as both go. */
static int compare_rest(const struct comparison *c, enum rps_copies *ret, struct rps_error *err)
{
    const struct rps_copy *first = c->side[0].copy, *second = c->side[1].copy;
    bool is_same = first->run->state == RPS_RUN_COMPLETE &&
                   second->run->state == RPS_RUN_COMPLETE && !c->side[0].goes_on &&
                   !c->side[1].goes_on;
    bool differ = false, begins = false;
    int result = 0;

    if (is_same) {
        result = find_differences(first, second, ending, COUNT(ending), false, &differ, err);
        if (result == 0)
            result = find_differences(first, second, growing, COUNT(growing), true, &differ, err);
        *ret = differ ? RPS_COPIES_DIFFER : RPS_COPIES_HAS_NONE;
        return result;
    }
    if (!c->side[1].goes_on)
        result = is_beginning(second, first, &begins, err);
    if (result == 0 && begins) {
        *ret = RPS_COPIES_HAS_NONE;
        return 0;
    }
    if (result == 0 && !c->side[0].goes_on)
        result = is_beginning(first, second, &begins, err);
    *ret = begins ? RPS_COPIES_HAS_MORE : RPS_COPIES_DIFFER;
    return result;
}

int rps_copies_compare(const struct rps_copy *first, const struct rps_copy *second,
                       enum rps_copies *ret, struct rps_error *err)
{
    struct comparison c = {.side = {{.copy = first}, {.copy = second}}};
    int result =
        find_differences(first, second, description, COUNT(description), true, &c.differ, err);

    *ret = RPS_COPIES_DIFFER;
    if (result == 0 && !c.differ)
        result = compare_periods(&c, err);
    return result == 0 && !c.differ ? compare_rest(&c, ret, err) : result;
}
