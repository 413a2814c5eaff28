/*
 * The finest rows of a run against each other.
 *
 * One pass in their order, with the piece before, a period or a block, at hand. Gap rows are read
 * along with it, and merged, since a hole may be covered by several that overlap.
 */
#include "examine.h"

#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "rpistat/clock.h"

/* Times that other tools have rounded may differ by so much. */
#define TIME_TOLERANCE_NS RPS_NS_PER_US

/* A switch at the end of a run lasts no longer; what came behind it is not known. */
#define LAST_SWITCH_MAX_NS RPS_NS_PER_S

/*
 * Enabled and running time are read one after the other while threads come and go on other CPUs,
 * so that running may be the larger. Beyond this it is worth a word.
 */
#define RACE_NS(enabled_ns) (RPS_NS_PER_MS + (int64_t)((enabled_ns) / 20))

/* --- the shape ------------------------------------------------------------------------------- */

/* A row, and one more for each event that is measured. */
static const char sql_shape[] =
    "SELECT coalesce(r.elapsed_ns, -1), r.state = 'complete', e.set_no, e.slot,"
    " (SELECT count(*) FROM event_set AS s WHERE s.run_id = r.run_id), r.pmu = 'import',"
    " r.state = 'recording'"
    " FROM run AS r"
    " LEFT JOIN event AS e ON e.run_id = r.run_id AND e.state = 'measured' WHERE r.run_id = ?1";

int rps_run_shape_load(sqlite3 *db, int64_t run_id, struct rps_run_shape *ret)
{
    struct rps_run_shape shape = {.run_id = run_id, .elapsed_ns = -1};
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db, sql_shape, -1, &stmt, NULL);

    shape.measured = calloc(RPS_SHAPE_SETS_MAX, sizeof(*shape.measured));
    if (code == SQLITE_OK)
        code = shape.measured ? sqlite3_bind_int64(stmt, 1, run_id) : SQLITE_NOMEM;
    while (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        int set = rps_database_index(stmt, 2, RPS_SHAPE_SETS_MAX);
        int slot = rps_database_index(stmt, 3, RPS_SLOT_MAX);
        int64_t sets = sqlite3_column_int64(stmt, 4);

        shape.elapsed_ns = sqlite3_column_int64(stmt, 0);
        shape.complete = sqlite3_column_int(stmt, 1);
        shape.imported = sqlite3_column_int(stmt, 5);
        shape.recording = sqlite3_column_int(stmt, 6);
        shape.set_count = sets > RPS_SHAPE_SETS_MAX ? RPS_SHAPE_SETS_MAX : (int)sets;
        if (sqlite3_column_type(stmt, 2) == SQLITE_INTEGER && set >= 0 && slot >= 0)
            shape.measured[set] |= (uint8_t)(1u << slot);
        code = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
    if (code != SQLITE_DONE)
        rps_run_shape_free(&shape);
    else
        *ret = shape;
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

void rps_run_shape_free(struct rps_run_shape *shape)
{
    free(shape->measured);
    shape->measured = NULL;
}

/* --- one piece after the other --------------------------------------------------------------- */

struct walk {
    const struct rps_run_shape *shape;
    const struct rps_examiner *examiner;
    struct rps_examined *result;
    sqlite3_stmt *gaps;        /* of the track, by their start */
    int64_t gap_ns, gapped_ns; /* what the last ones cover together: from, to */
    struct rps_fault_sum fault[RPS_FAULT_COUNT];
    uint64_t *seen; /* owned; by set: the rotation that last had it, and 1 */
    int in_track;   /* 1: `cpu` is one, and `before` its last piece unless it had none */
    int64_t cpu;
    uint64_t periods; /* of the track */
    int has_before;
    struct rps_piece before; /* without rows */
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

static struct rps_fault_sum *count_piece(struct walk *walk, enum rps_fault kind,
                                         const struct rps_piece *piece)
{
    return count_fault(walk, kind, piece->first, piece->start_ns);
}

/* Do gap rows cover the stretch, together? Asked for stretches in their order. An SQLite code. */
static int is_covered(struct walk *walk, int64_t start_ns, int64_t end_ns, int *ret)
{
    int code = SQLITE_ROW;

    while (walk->gapped_ns + TIME_TOLERANCE_NS < end_ns &&
           (code = sqlite3_step(walk->gaps)) == SQLITE_ROW) {
        int64_t from_ns = sqlite3_column_int64(walk->gaps, 0);
        int64_t to_ns = sqlite3_column_int64(walk->gaps, 1);

        if (from_ns > walk->gapped_ns + TIME_TOLERANCE_NS)
            walk->gap_ns = from_ns;
        if (to_ns > walk->gapped_ns)
            walk->gapped_ns = to_ns;
    }
    *ret = walk->gap_ns <= start_ns + TIME_TOLERANCE_NS &&
           walk->gapped_ns + TIME_TOLERANCE_NS >= end_ns;
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Nothing was recorded from start to end, before the period `next`. */
static int examine_hole(struct walk *walk, int64_t start_ns, int64_t end_ns, uint64_t next,
                        uint64_t periods)
{
    const struct rps_hole hole = {(int32_t)walk->cpu, start_ns, end_ns, periods};
    int covered = 0, code;

    if (end_ns <= start_ns + TIME_TOLERANCE_NS)
        return SQLITE_OK;
    code = is_covered(walk, start_ns, end_ns, &covered);
    if (code != SQLITE_OK || covered)
        return code;
    count_fault(walk, RPS_FAULT_HOLE, next, start_ns)->total_ns += end_ns - start_ns;
    return walk->examiner->hole ? walk->examiner->hole(walk->examiner->context, &hole) : SQLITE_OK;
}

/* The rotation goes on, or the next one begins; one has each set at most once. */
static void examine_rotation(struct walk *walk, const struct rps_piece *piece, int follows)
{
    const struct rps_piece *before = &walk->before;
    uint64_t *seen = &walk->seen[piece->set_no];
    int same = walk->has_before && piece->rotation == before->last_rotation;

    if ((walk->has_before && piece->rotation < before->last_rotation) ||
        (same && (piece->level > 0 || before->level > 0 || *seen == piece->rotation + 1)) ||
        (follows && piece->rotation > before->last_rotation + 1))
        count_piece(walk, RPS_FAULT_ROTATION, piece);
    *seen = piece->rotation + 1;
}

/* The switch at the end of a piece is over before the next one is, which ends at limit_ns. */
static void examine_switch(struct walk *walk, const struct rps_piece *piece, int64_t limit_ns)
{
    int64_t excess_ns = piece->switch_ns - (limit_ns - piece->start_ns);
    struct rps_fault_sum *fault;

    if (excess_ns <= 0)
        return;
    fault = count_piece(walk, RPS_FAULT_SWITCH, piece);
    fault->total_ns = excess_ns > fault->total_ns ? excess_ns : fault->total_ns;
}

/* The piece against the one before it; at the beginning of a track that is the run's start. */
static int examine_sequence(struct walk *walk, const struct rps_piece *piece)
{
    const struct rps_piece *before = &walk->before;
    uint64_t expected = walk->has_before ? before->last + 1 : 0;
    int64_t end_ns = walk->has_before ? before->end_ns : 0;
    uint64_t cycle = walk->has_before ? before->cycle : 0;
    int touches = piece->start_ns <= end_ns + TIME_TOLERANCE_NS, code = SQLITE_OK;

    if (piece->first < expected) {
        count_piece(walk, RPS_FAULT_ORDER, piece);
        return SQLITE_OK;
    }
    if (walk->has_before)
        examine_switch(walk, before, piece->end_ns > end_ns ? piece->end_ns : end_ns);
    if (piece->start_ns < end_ns - TIME_TOLERANCE_NS)
        count_piece(walk, RPS_FAULT_OVERLAP, piece);
    else
        code = examine_hole(walk, end_ns, piece->start_ns, piece->first, piece->first - expected);
    /* what was lost in between had cycles too */
    if (piece->cycle - cycle < piece->cycles ||
        (piece->first == expected && piece->cycle - cycle != piece->cycles))
        count_piece(walk, RPS_FAULT_CYCLE, piece);
    if (piece->first > expected && touches)
        count_piece(walk, RPS_FAULT_ORDER, piece);
    examine_rotation(walk, piece, walk->has_before && piece->first == expected && touches);
    return code;
}

static void examine_counts(struct walk *walk, const struct rps_period *row)
{
    uint32_t measured = walk->shape->measured[row->set_no];
    uint64_t most_ns =
        row->running_ns > row->clock_running_ns ? row->running_ns : row->clock_running_ns;
    int64_t excess_ns = (int64_t)most_ns - (int64_t)row->enabled_ns;
    struct rps_fault_sum *fault;

    if (row->counted & ~measured)
        count_fault(walk, RPS_FAULT_STRANGE, row->period, row->start_ns);
    /* in a block, zeros of periods in which the workload slept are with what was not counted */
    if (row->enabled_ns > 0 && row->running_ns == 0 && row->counted & measured && row->level == 0)
        count_fault(walk, RPS_FAULT_IDLE, row->period, row->start_ns);
    if (walk->shape->imported)
        return;
    if ((row->running_ns > 0 || row->enabled_ns == 0) && measured & ~row->counted)
        count_fault(walk, RPS_FAULT_MISSING, row->period, row->start_ns);
    if (excess_ns > RACE_NS(row->enabled_ns)) {
        fault = count_fault(walk, RPS_FAULT_RACE, row->period, row->start_ns);
        fault->total_ns = excess_ns > fault->total_ns ? excess_ns : fault->total_ns;
    }
}

/* The track is over; `whole` unless the rest of it cannot be read. */
static int end_track(struct walk *walk, int whole)
{
    const struct rps_piece *before = &walk->before;
    int64_t end_ns = walk->has_before ? before->end_ns : 0;
    int code = SQLITE_OK;

    if (!walk->in_track)
        return SQLITE_OK;
    if (walk->has_before)
        examine_switch(walk, before, end_ns + LAST_SWITCH_MAX_NS);
    if (whole && walk->shape->complete && walk->shape->elapsed_ns > end_ns)
        code = examine_hole(walk, end_ns, walk->shape->elapsed_ns,
                            walk->has_before ? before->last + 1 : 0, 0);
    if (walk->examiner->faults)
        walk->examiner->faults(walk->examiner->context, (int32_t)walk->cpu, walk->fault);
    memset(walk->fault, 0, sizeof(walk->fault));
    return code;
}

static int begin_track(struct walk *walk, int64_t cpu)
{
    int code = end_track(walk, 1);

    walk->in_track = 1;
    walk->has_before = 0;
    walk->cpu = cpu;
    walk->periods = 0;
    walk->gap_ns = walk->gapped_ns = 0;
    memset(&walk->before, 0, sizeof(walk->before));
    memset(walk->seen, 0, ((size_t)walk->shape->set_count + 1) * sizeof(*walk->seen));
    sqlite3_reset(walk->gaps);
    sqlite3_bind_int64(walk->gaps, 1, walk->shape->run_id);
    sqlite3_bind_int64(walk->gaps, 2, cpu);
    return code;
}

static void add_periods(struct walk *walk, uint64_t periods)
{
    struct rps_examined *result = walk->result;

    walk->periods += periods;
    result->periods += periods;
    result->most = walk->periods > result->most ? walk->periods : result->most;
}

static int examine_piece(void *context, const struct rps_piece *piece)
{
    struct walk *walk = context;
    const struct rps_examiner *examiner = walk->examiner;
    struct rps_examined *result = walk->result;
    struct rps_fault_sum *fault;
    int code = SQLITE_OK;

    if (!walk->in_track || piece->cpu != walk->cpu)
        code = begin_track(walk, piece->cpu);
    if (code != SQLITE_OK)
        return code;
    if (piece->fault) {
        fault = count_piece(
            walk, piece->fault == rps_piece_not_whole ? RPS_FAULT_BLOCK : RPS_FAULT_NUMBER, piece);
        if (fault->count == 1) {
            fault->name = piece->fault;
            fault->value = piece->value;
        }
        add_periods(walk, piece->count);
        return SQLITE_OK;
    }
    code = examine_sequence(walk, piece);
    for (size_t i = 0; i < piece->count; i++) {
        const struct rps_period *row = &piece->row[i];

        examine_counts(walk, row);
        rps_set_sum_add(&result->sum[row->set_no], row, walk->shape->measured[row->set_no]);
    }
    result->end_ns = piece->end_ns > result->end_ns ? piece->end_ns : result->end_ns;
    result->last_period = piece->last > result->last_period ? piece->last : result->last_period;
    add_periods(walk, piece->periods);
    walk->before = *piece;
    walk->has_before = 1;
    return code == SQLITE_OK && examiner->piece ? examiner->piece(examiner->context, piece) : code;
}

int rps_examine_run(sqlite3 *db, const struct rps_run_shape *shape,
                    const struct rps_examiner *examiner, struct rps_examined *ret)
{
    struct walk walk = {.shape = shape, .examiner = examiner, .result = ret};
    const struct rps_piece_taker taker = {&walk, examine_piece};
    int code, ended;

    *ret = (struct rps_examined){.end_ns = -1};
    ret->sum = calloc((size_t)shape->set_count + 1, sizeof(*ret->sum));
    walk.seen = calloc((size_t)shape->set_count + 1, sizeof(*walk.seen));
    code = ret->sum && walk.seen ? SQLITE_OK : SQLITE_NOMEM;
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(db,
                                  "SELECT start_ns, start_ns + length_ns FROM gap"
                                  " WHERE run_id = ?1 AND cpu IN (?2, -1) AND start_ns BETWEEN 0"
                                  " AND 1 << 61 AND length_ns BETWEEN 0 AND 1 << 61"
                                  " ORDER BY start_ns",
                                  -1, &walk.gaps, NULL);
    if (code == SQLITE_OK)
        code = rps_finest_each(db, shape->run_id, shape->set_count, &taker);
    if (code == SQLITE_OK && !walk.in_track)
        code = begin_track(&walk, RPS_CPU_ALL); /* of which there is nothing */
    ended = end_track(&walk, code == SQLITE_OK);
    sqlite3_finalize(walk.gaps);
    free(walk.seen);
    return code == SQLITE_OK ? ended : code;
}
