/*
 * The periods of a run against each other.
 *
 * One pass in the order of the key, that is of cpu and cycle timestamp, with the period before at
 * hand. Gap rows are merged into a list for each track beforehand, since a hole may be covered by
 * several that overlap.
 */
#include "examine.h"

#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "period_row.h"
#include "rpistat/clock.h"

/* Times that other tools have rounded may differ by so much. */
#define TIME_TOLERANCE_NS RPS_NS_PER_US

/*
 * Enabled and running time are read one after the other while threads come and go on other CPUs,
 * so that running may be the larger. Beyond this it is worth a word.
 */
#define RACE_NS(enabled_ns) (RPS_NS_PER_MS + (int64_t)((enabled_ns) / 20))

/* --- the shape ------------------------------------------------------------------------------- */

static int load_run(sqlite3 *db, struct rps_run_shape *shape)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db,
                                  "SELECT coalesce(elapsed_ns, -1), state = 'complete',"
                                  " (SELECT count(*) FROM event_set WHERE run_id = ?1)"
                                  " FROM run WHERE run_id = ?1",
                                  -1, &stmt, NULL);
    int64_t sets;

    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(stmt, 1, shape->run_id);
    code = sqlite3_step(stmt);
    if (code == SQLITE_ROW) {
        shape->elapsed_ns = sqlite3_column_int64(stmt, 0);
        shape->complete = sqlite3_column_int(stmt, 1);
        sets = sqlite3_column_int64(stmt, 2);
        shape->set_count = sets > RPS_SHAPE_SETS_MAX ? RPS_SHAPE_SETS_MAX : (int)sets;
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

static int load_measured(sqlite3 *db, struct rps_run_shape *shape)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db,
                                  "SELECT set_no, slot FROM event WHERE run_id = ?1"
                                  " AND state = 'measured'",
                                  -1, &stmt, NULL);

    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(stmt, 1, shape->run_id);
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
        int set = rps_database_index(stmt, 0, shape->set_count);
        int slot = rps_database_index(stmt, 1, RPS_SLOT_MAX);

        if (set >= 0 && slot >= 0)
            shape->measured[set] |= (uint8_t)(1u << slot);
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

int rps_run_shape_load(sqlite3 *db, int64_t run_id, struct rps_run_shape *ret)
{
    struct rps_run_shape shape = {.run_id = run_id, .elapsed_ns = -1};
    int code = load_run(db, &shape);

    if (code == SQLITE_OK) {
        shape.measured = calloc((size_t)shape.set_count + 1, sizeof(*shape.measured));
        code = shape.measured ? load_measured(db, &shape) : SQLITE_NOMEM;
    }
    if (code != SQLITE_OK)
        rps_run_shape_free(&shape);
    else
        *ret = shape;
    return code;
}

void rps_run_shape_free(struct rps_run_shape *shape)
{
    free(shape->measured);
    shape->measured = NULL;
}

/* --- gaps ------------------------------------------------------------------------------------ */

struct interval {
    int64_t start_ns, end_ns;
};

struct intervals {
    struct interval *item; /* in order, apart from each other */
    size_t count, room;
    size_t next; /* the first that may cover what comes */
};

/* Append one that starts no earlier than the last; SQLITE_OK or SQLITE_NOMEM. */
static int append_interval(struct intervals *list, int64_t start_ns, int64_t end_ns)
{
    struct interval *last = list->count > 0 ? &list->item[list->count - 1] : NULL;

    if (last && start_ns <= last->end_ns + TIME_TOLERANCE_NS) {
        if (end_ns > last->end_ns)
            last->end_ns = end_ns;
        return SQLITE_OK;
    }
    if (list->count == list->room) {
        size_t room = 2 * list->room + 16;
        struct interval *more = realloc(list->item, room * sizeof(*more));

        if (!more)
            return SQLITE_NOMEM;
        list->item = more;
        list->room = room;
    }
    list->item[list->count++] = (struct interval){start_ns, end_ns};
    return SQLITE_OK;
}

/* The gaps of the run that hold for a CPU, merged. */
static int load_gaps(sqlite3_stmt *stmt, int64_t run_id, int64_t cpu, struct intervals *list)
{
    int code;

    list->count = list->next = 0;
    sqlite3_bind_int64(stmt, 1, run_id);
    sqlite3_bind_int64(stmt, 2, cpu);
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
        int64_t start_ns = sqlite3_column_int64(stmt, 0), length_ns = sqlite3_column_int64(stmt, 1);

        if (start_ns < 0 || length_ns < 0 || start_ns > INT64_MAX / 4 || length_ns > INT64_MAX / 4)
            continue;
        code = append_interval(list, start_ns, start_ns + length_ns);
        if (code != SQLITE_OK)
            break;
    }
    sqlite3_reset(stmt);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Does one gap cover the stretch? Asked for stretches in their order. */
static int is_covered(struct intervals *list, int64_t start_ns, int64_t end_ns)
{
    while (list->next < list->count && list->item[list->next].end_ns + TIME_TOLERANCE_NS < end_ns)
        list->next++;
    return list->next < list->count &&
           list->item[list->next].start_ns <= start_ns + TIME_TOLERANCE_NS;
}

/* --- one period after the other -------------------------------------------------------------- */

struct walk {
    const struct rps_run_shape *shape;
    const struct rps_examiner *examiner;
    struct rps_examined *result;
    sqlite3_stmt *gap_stmt;
    struct intervals gaps;
    struct rps_fault_sum fault[RPS_FAULT_COUNT];
    int in_track; /* 1: `cpu` is one, and `before` its last period unless it had none */
    int64_t cpu;
    int has_before;
    struct rps_period before;
};

static struct rps_fault_sum *count_fault(struct walk *walk, enum rps_fault kind, uint64_t period,
                                         int64_t start_ns)
{
    struct rps_fault_sum *fault = &walk->fault[kind];

    if (fault->count++ == 0) {
        fault->period = period;
        fault->start_ns = start_ns;
    }
    return fault;
}

/* Nothing was recorded from start to end, before the period `next`. */
static void examine_hole(struct walk *walk, int64_t start_ns, int64_t end_ns, uint64_t next,
                         uint64_t periods)
{
    const struct rps_hole hole = {(int32_t)walk->cpu, start_ns, end_ns, periods};

    if (end_ns <= start_ns + TIME_TOLERANCE_NS || is_covered(&walk->gaps, start_ns, end_ns))
        return;
    count_fault(walk, RPS_FAULT_HOLE, next, start_ns)->total_ns += end_ns - start_ns;
    if (walk->examiner->hole)
        walk->examiner->hole(walk->examiner->context, &hole);
}

/* The period against the one before it; at the beginning of a track that is the run's start. */
static void examine_sequence(struct walk *walk, const struct rps_period *period)
{
    const struct rps_period *before = &walk->before;
    uint64_t sets = (uint64_t)walk->shape->set_count;
    uint64_t expected = walk->has_before ? rps_period_next(before, sets) : 0;
    int64_t end_ns = walk->has_before ? before->start_ns + before->length_ns : 0;
    uint64_t cycle = walk->has_before ? before->cycle : 0;

    if (period->period < expected) {
        count_fault(walk, RPS_FAULT_ORDER, period->period, period->start_ns);
        return;
    }
    if (period->start_ns < end_ns - TIME_TOLERANCE_NS)
        count_fault(walk, RPS_FAULT_OVERLAP, period->period, period->start_ns);
    else
        examine_hole(walk, end_ns, period->start_ns, period->period, period->period - expected);
    /* what was lost in between had cycles too */
    if (period->cycle - cycle < period->cycles ||
        (period->period == expected && period->cycle - cycle != period->cycles))
        count_fault(walk, RPS_FAULT_CYCLE, period->period, period->start_ns);
    if ((period->period > expected && period->start_ns <= end_ns + TIME_TOLERANCE_NS) ||
        !rps_period_is_merged_well(period, walk->has_before ? before : NULL, sets))
        count_fault(walk, RPS_FAULT_ORDER, period->period, period->start_ns);
}

static void examine_counts(struct walk *walk, const struct rps_period *period)
{
    uint32_t measured = walk->shape->measured[period->set_no];
    int64_t excess_ns = (int64_t)period->running_ns - (int64_t)period->enabled_ns;
    struct rps_fault_sum *fault;

    if (period->counted & ~measured)
        count_fault(walk, RPS_FAULT_STRANGE, period->period, period->start_ns);
    /* true zeros, of periods in which the workload slept, may be merged with what was not counted
     */
    if (period->enabled_ns > 0 && period->running_ns == 0 && period->counted & measured &&
        period->merged == 0)
        count_fault(walk, RPS_FAULT_IDLE, period->period, period->start_ns);
    if ((period->running_ns > 0 || period->enabled_ns == 0) && measured & ~period->counted)
        count_fault(walk, RPS_FAULT_MISSING, period->period, period->start_ns);
    if (excess_ns > RACE_NS(period->enabled_ns)) {
        fault = count_fault(walk, RPS_FAULT_RACE, period->period, period->start_ns);
        fault->total_ns = excess_ns > fault->total_ns ? excess_ns : fault->total_ns;
    }
}

/* The track is over; `whole` unless the rest of it cannot be read. */
static void end_track(struct walk *walk, int whole)
{
    int64_t end_ns = walk->has_before ? walk->before.start_ns + walk->before.length_ns : 0;

    if (!walk->in_track)
        return;
    if (whole && walk->shape->complete && walk->shape->elapsed_ns > end_ns)
        examine_hole(
            walk, end_ns, walk->shape->elapsed_ns,
            walk->has_before ? rps_period_next(&walk->before, (uint64_t)walk->shape->set_count) : 0,
            0);
    walk->examiner->faults(walk->examiner->context, (int32_t)walk->cpu, walk->fault);
    memset(walk->fault, 0, sizeof(walk->fault));
}

static int begin_track(struct walk *walk, int64_t cpu)
{
    end_track(walk, 1);
    walk->in_track = 1;
    walk->has_before = 0;
    walk->cpu = cpu;
    memset(&walk->before, 0, sizeof(walk->before));
    return load_gaps(walk->gap_stmt, walk->shape->run_id, cpu, &walk->gaps);
}

static void examine_period(struct walk *walk, const struct rps_period *period)
{
    struct rps_examined *result = walk->result;
    int64_t end_ns = period->start_ns + period->length_ns;

    examine_sequence(walk, period);
    examine_counts(walk, period);
    rps_set_sum_add(&result->sum[period->set_no], period, walk->shape->measured[period->set_no]);
    if (end_ns > result->end_ns)
        result->end_ns = end_ns;
    if (period->period > result->last_period)
        result->last_period = period->period;
    result->periods += rps_period_weight(period) - 1;
    walk->before = *period;
    walk->has_before = 1;
}

static int examine_row(struct walk *walk, sqlite3_stmt *stmt)
{
    int64_t cpu = sqlite3_column_int64(stmt, RPS_ROW_CPU);
    struct rps_row_fault number;
    struct rps_fault_sum *fault;
    struct rps_period period;
    int code = SQLITE_OK;

    walk->result->periods++;
    if (!walk->in_track || cpu != walk->cpu)
        code = begin_track(walk, cpu);
    if (code != SQLITE_OK)
        return code;
    if (rps_row_read(stmt, walk->shape->set_count, &period, &number) == 0) {
        examine_period(walk, &period);
        return SQLITE_OK;
    }
    fault =
        count_fault(walk, RPS_FAULT_NUMBER, (uint64_t)sqlite3_column_int64(stmt, RPS_ROW_PERIOD),
                    sqlite3_column_int64(stmt, RPS_ROW_START_NS));
    if (fault->count == 1) {
        fault->name = number.name;
        fault->value = number.value;
    }
    return SQLITE_OK;
}

#define PERIODS_SQL(columns)                                                                       \
    "SELECT " columns ", " RPS_ROW_COUNTS                                                          \
    " FROM period WHERE run_id = ?1 ORDER BY cpu, cycle, period"

int rps_examine_run(sqlite3 *db, const struct rps_run_shape *shape,
                    const struct rps_examiner *examiner, struct rps_examined *ret)
{
    struct walk walk = {.shape = shape, .examiner = examiner, .result = ret};
    sqlite3_stmt *stmt = NULL;
    int code;

    *ret = (struct rps_examined){.end_ns = -1};
    ret->sum = calloc((size_t)shape->set_count + 1, sizeof(*ret->sum));
    if (!ret->sum)
        return SQLITE_NOMEM;
    code = sqlite3_prepare_v2(db,
                              "SELECT start_ns, length_ns FROM gap WHERE run_id = ?1"
                              " AND cpu IN (?2, -1) ORDER BY start_ns",
                              -1, &walk.gap_stmt, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(db,
                                  rps_row_has_merged(db) ? PERIODS_SQL(RPS_ROW_COLUMNS)
                                                         : PERIODS_SQL(RPS_ROW_NOT_MERGED),
                                  -1, &stmt, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(stmt, 1, shape->run_id);
    while (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW)
        code = examine_row(&walk, stmt);
    if (code == SQLITE_DONE)
        code = SQLITE_OK;
    if (code == SQLITE_OK && !walk.in_track)
        code = begin_track(&walk, RPS_CPU_ALL); /* of which there is nothing */
    end_track(&walk, code == SQLITE_OK);
    sqlite3_finalize(stmt);
    sqlite3_finalize(walk.gap_stmt);
    free(walk.gaps.item);
    return code;
}
