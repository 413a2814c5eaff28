/*
 * Rows of `period` that cannot be what was recorded.
 *
 * A page that is damaged in a few bytes still gives rows, some with a wrong number in them, and
 * SQLite has no checksum that would tell. The periods before and behind tell: numbers go up, times
 * and cycles follow on. Where two neighbours contradict each other, the one goes that does not
 * follow exactly on what is known to be good; one period more is lost so now and then, but a single
 * wrong time can never take all that comes after it along.
 */
#include "misfits.h"

#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "period_row.h"
#include "rpistat/clock.h"

#define TIME_TOLERANCE_NS RPS_NS_PER_US

struct key {
    int64_t cpu, cycle, period;
};

struct misfits {
    int64_t end_ns;
    uint64_t set_count;
    struct key *key; /* owned: to be deleted */
    size_t count, room;
    struct rps_period good; /* the last one that stays */
    struct rps_period held; /* the one after it, still to be decided on */
    int has_good, has_held;
};

static int64_t end_of(const struct rps_period *period)
{
    return period->start_ns + period->length_ns;
}

/* The number of the period after a; NULL is the beginning. */
static uint64_t next_number(const struct misfits *misfits, const struct rps_period *a)
{
    return a ? rps_period_next(a, misfits->set_count) : 0;
}

/* Do the cycles of b, the very next after a, come to its timestamp? NULL is the beginning. */
static int follows(const struct misfits *misfits, const struct rps_period *a,
                   const struct rps_period *b)
{
    return b->period == next_number(misfits, a) && b->cycle == (a ? a->cycle : 0) + b->cycles;
}

/* Could b have been recorded some time after a? */
static int fits(const struct misfits *misfits, const struct rps_period *a,
                const struct rps_period *b)
{
    if ((b->period == next_number(misfits, a) && !follows(misfits, a, b)) ||
        !rps_period_is_merged_well(b, a, misfits->set_count))
        return 0;
    if (!a)
        return b->cycle >= b->cycles;
    return b->period >= next_number(misfits, a) && b->start_ns >= end_of(a) - TIME_TOLERANCE_NS &&
           b->cycle >= a->cycle && b->cycle - a->cycle >= b->cycles;
}

/* And by its time? */
static int is_linked(const struct misfits *misfits, const struct rps_period *a,
                     const struct rps_period *b)
{
    return follows(misfits, a, b) && llabs(b->start_ns - (a ? end_of(a) : 0)) <= TIME_TOLERANCE_NS;
}

static int drop(struct misfits *misfits, const struct key *key)
{
    if (misfits->count == misfits->room) {
        size_t room = 2 * misfits->room + 64;
        struct key *more = realloc(misfits->key, room * sizeof(*more));

        if (!more)
            return SQLITE_NOMEM;
        misfits->key = more;
        misfits->room = room;
    }
    misfits->key[misfits->count++] = *key;
    return SQLITE_OK;
}

static int drop_period(struct misfits *misfits, const struct rps_period *period)
{
    const struct key key = {period->cpu, (int64_t)period->cycle, (int64_t)period->period};

    return drop(misfits, &key);
}

/* The held period stays. */
static void settle(struct misfits *misfits)
{
    if (misfits->has_held) {
        misfits->good = misfits->held;
        misfits->has_good = 1;
    }
    misfits->has_held = 0;
}

/* The next period of the track, against the one that is held. */
static int take(struct misfits *misfits, const struct rps_period *next)
{
    const struct rps_period *good = misfits->has_good ? &misfits->good : NULL;
    const struct rps_period *held = &misfits->held;
    int code = SQLITE_OK;

    if (misfits->has_held && fits(misfits, held, next)) {
        settle(misfits);
    } else if (misfits->has_held) {
        if (!fits(misfits, good, next) ||
            (is_linked(misfits, good, held) && !follows(misfits, held, next)))
            return drop_period(misfits, next);
        code = drop_period(misfits, held);
    } else if (!fits(misfits, good, next)) {
        return drop_period(misfits, next);
    }
    misfits->held = *next;
    misfits->has_held = 1;
    return code;
}

static int take_row(struct misfits *misfits, sqlite3_stmt *stmt, int set_count)
{
    struct key key = {sqlite3_column_int64(stmt, RPS_ROW_CPU),
                      sqlite3_column_int64(stmt, RPS_ROW_CYCLE),
                      sqlite3_column_int64(stmt, RPS_ROW_PERIOD)};
    struct rps_row_fault fault;
    struct rps_period period;

    if (rps_row_read(stmt, set_count, &period, &fault) < 0 ||
        (period.enabled_ns > 0 && period.running_ns == 0 && period.counted && period.merged == 0) ||
        (misfits->end_ns >= 0 && end_of(&period) > misfits->end_ns + TIME_TOLERANCE_NS))
        return drop(misfits, &key);
    if (misfits->has_held && misfits->held.cpu != period.cpu)
        misfits->has_held = misfits->has_good = 0;
    return take(misfits, &period);
}

static int find(sqlite3 *db, int64_t run_id, int set_count, struct misfits *misfits)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db,
                                  "SELECT " RPS_ROW_COLUMNS ", " RPS_ROW_COUNTS
                                  " FROM period WHERE run_id = ?1 ORDER BY cpu, cycle, period",
                                  -1, &stmt, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(stmt, 1, run_id);
    while (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW)
        code = take_row(misfits, stmt, set_count);
    sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

int rps_misfits_delete(sqlite3 *db, int64_t run_id, int set_count, int64_t end_ns, uint64_t *ret)
{
    struct misfits misfits = {.end_ns = end_ns, .set_count = (uint64_t)set_count};
    sqlite3_stmt *stmt = NULL;
    int code = find(db, run_id, set_count, &misfits);

    if (code == SQLITE_OK)
        code = rps_database_prepare(db,
                                    "DELETE FROM period WHERE run_id = ?1 AND cpu = ?2"
                                    " AND cycle = ?3 AND period = ?4",
                                    &stmt);
    for (size_t i = 0; i < misfits.count && code == SQLITE_OK; i++) {
        sqlite3_bind_int64(stmt, 1, run_id);
        sqlite3_bind_int64(stmt, 2, misfits.key[i].cpu);
        sqlite3_bind_int64(stmt, 3, misfits.key[i].cycle);
        sqlite3_bind_int64(stmt, 4, misfits.key[i].period);
        code = rps_database_run(stmt);
    }
    sqlite3_finalize(stmt);
    free(misfits.key);
    if (code == SQLITE_OK)
        *ret = misfits.count;
    return code;
}
