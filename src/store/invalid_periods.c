/*
 * Finest rows that cannot be what was recorded.
 *
 * A page that is damaged in a few bytes still gives rows, some with a wrong number in them, and
 * SQLite has no checksum that would tell. The periods before and behind tell: numbers go up, times
 * and cycles follow on. Where two neighbours contradict each other, the one goes that does not
 * follow exactly on what is known to be good; one period more is lost so now and then, but a single
 * wrong time can never take all that comes after it along. Blocks that stand for thinned periods
 * are judged in the same way, each as a whole.
 */
#include "invalid_periods.h"

#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "finest.h"
#include "rpistat/clock.h"

#define TIME_TOLERANCE_NS RPS_NS_PER_US

/* A switch takes less, beside the time of the piece itself. */
#define SWITCH_MAX_NS RPS_NS_PER_S

struct invalid {
    int64_t end_ns;
    int64_t run_id;
    sqlite3_stmt *delete_period, *delete_block;
    uint64_t dropped;
    size_t set_count;
    uint64_t *seen;        /* owned; by set: the rotation that last had it, and 1 */
    struct rps_piece good; /* the last one that stays */
    struct rps_piece held; /* the one after it, still to be decided on */
    int has_good, has_held;
};

/* The number of the period after a; NULL is the beginning. */
static uint64_t next_number(const struct rps_piece *a)
{
    return a ? a->last + 1 : 0;
}

/* Do the cycles of b, the very next after a, come to its timestamp, and its rotation is the same or
 * the next? NULL is the beginning. */
static int follows(const struct rps_piece *a, const struct rps_piece *b)
{
    return b->first == next_number(a) && b->cycle == (a ? a->cycle : 0) + b->cycles &&
           (!a || b->rotation - a->last_rotation <= 1);
}

/* Could b have been recorded some time after a? */
static int fits(const struct rps_piece *a, const struct rps_piece *b)
{
    if (b->first == next_number(a) ? !follows(a, b)
                                   : b->start_ns <= (a ? a->end_ns : 0) + TIME_TOLERANCE_NS)
        return 0;
    if (!a)
        return b->cycle >= b->cycles;
    return b->first >= next_number(a) && b->start_ns >= a->end_ns - TIME_TOLERANCE_NS &&
           b->cycle >= a->cycle && b->cycle - a->cycle >= b->cycles &&
           b->rotation >= a->last_rotation + (a->level > 0 || b->level > 0) &&
           a->switch_ns <= b->end_ns - a->start_ns;
}

/* And by its time? */
static int is_linked(const struct rps_piece *a, const struct rps_piece *b)
{
    return follows(a, b) && llabs(b->start_ns - (a ? a->end_ns : 0)) <= TIME_TOLERANCE_NS;
}

/* Delete a piece, a block by its rotation. The walk has passed it. */
static int drop(struct invalid *invalid, const struct rps_piece *piece)
{
    sqlite3_stmt *stmt = piece->level > 0 ? invalid->delete_block : invalid->delete_period;
    int code;

    sqlite3_bind_int64(stmt, 1, invalid->run_id);
    sqlite3_bind_int64(stmt, 2, piece->cpu);
    sqlite3_bind_int64(stmt, 3, piece->level > 0 ? piece->level : (int64_t)piece->cycle);
    sqlite3_bind_int64(stmt, 4, (int64_t)(piece->level > 0 ? piece->rotation : piece->first));
    code = rps_database_run(stmt);
    invalid->dropped += (uint64_t)sqlite3_changes(sqlite3_db_handle(stmt));
    return code;
}

/* The held piece stays, but for a period whose set its rotation has had. */
static int settle(struct invalid *invalid)
{
    const struct rps_piece *held = &invalid->held;
    uint64_t *seen = &invalid->seen[held->set_no];

    invalid->has_held = 0;
    if (held->level == 0 && *seen == held->rotation + 1)
        return drop(invalid, held);
    *seen = held->rotation + 1;
    invalid->good = *held;
    invalid->has_good = 1;
    return SQLITE_OK;
}

/* The next piece of the CPU, against the one that is held. */
static int take(struct invalid *invalid, const struct rps_piece *next)
{
    const struct rps_piece *good = invalid->has_good ? &invalid->good : NULL;
    const struct rps_piece *held = &invalid->held;
    int code = SQLITE_OK;

    if (invalid->has_held && fits(held, next)) {
        code = settle(invalid);
    } else if (invalid->has_held) {
        if (!fits(good, next) || (is_linked(good, held) && !follows(held, next)))
            return drop(invalid, next);
        code = drop(invalid, held);
    } else if (!fits(good, next)) {
        return drop(invalid, next);
    }
    invalid->held = *next;
    invalid->has_held = 1;
    return code;
}

/* The last piece of a CPU. */
static int end_cpu(struct invalid *invalid)
{
    int code = invalid->has_held ? settle(invalid) : SQLITE_OK;

    invalid->has_held = invalid->has_good = 0;
    return code;
}

static int take_piece(void *context, const struct rps_piece *piece)
{
    struct invalid *invalid = context;
    const struct rps_period *row = piece->row;
    int code = SQLITE_OK;

    if (piece->fault || piece->switch_ns - SWITCH_MAX_NS > piece->end_ns - piece->start_ns ||
        (piece->level == 0 && row->enabled_ns > 0 && row->running_ns == 0 && row->counted) ||
        (invalid->end_ns >= 0 && piece->end_ns > invalid->end_ns + TIME_TOLERANCE_NS))
        return drop(invalid, piece);
    if (invalid->has_held && invalid->held.cpu != piece->cpu) {
        code = end_cpu(invalid);
        memset(invalid->seen, 0, invalid->set_count * sizeof(*invalid->seen));
    }
    return code == SQLITE_OK ? take(invalid, piece) : code;
}

int rps_invalid_periods_delete(sqlite3 *db, int64_t run_id, int set_count, int64_t end_ns,
                               uint64_t *ret)
{
    struct invalid invalid = {
        .end_ns = end_ns, .run_id = run_id, .set_count = (size_t)set_count + 1};
    const struct rps_piece_taker taker = {&invalid, take_piece};
    int code;

    invalid.seen = calloc(invalid.set_count, sizeof(*invalid.seen));
    code = invalid.seen ? SQLITE_OK : SQLITE_NOMEM;
    if (code == SQLITE_OK)
        code = rps_database_prepare(db,
                                    "DELETE FROM period WHERE run_id = ?1 AND cpu = ?2"
                                    " AND cycle = ?3 AND period = ?4",
                                    &invalid.delete_period);
    if (code == SQLITE_OK)
        code = rps_database_prepare(db,
                                    "DELETE FROM rollup WHERE run_id = ?1 AND cpu = ?2"
                                    " AND level = ?3 AND rotation = ?4",
                                    &invalid.delete_block);
    if (code == SQLITE_OK)
        code = rps_finest_each(db, run_id, set_count, &taker);
    if (code == SQLITE_OK)
        code = end_cpu(&invalid);
    *ret += invalid.dropped;
    sqlite3_finalize(invalid.delete_block);
    sqlite3_finalize(invalid.delete_period);
    free(invalid.seen);
    return code;
}
