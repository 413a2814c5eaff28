/*
 * Thinning: which periods are merged, block by block.
 *
 * A block is the stretch whose numbers make one row of each set: 10 rotations of what the level
 * below leaves. Blocks lie on a grid of period numbers, the same for all tracks, so that tracks
 * stay comparable number by number; a block that has different holes in different tracks is left as
 * it is. Holes themselves stay: what lies on both sides of one is merged by itself.
 */
#include "thin_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "database.h"
#include "period_row.h"
#include "rpistat/text.h"
#include "thin_rows.h"

/* Rows that one transaction looks at, in all tracks; the next block is always done. */
#define TRANSACTION_ROWS 2048

/* A block with more rows of one track, in so many rotations, has holes everywhere: left as it is.
 */
#define BLOCK_ROTATIONS_MAX 64

/* Begin to step through a track's rows behind a key. */
static void select_behind(struct rps_thin *thin, const struct rps_thin_track *track,
                          const struct rps_thin_key *key)
{
    sqlite3_bind_int64(thin->select, 1, thin->options.run_id);
    sqlite3_bind_int64(thin->select, 2, track->cpu);
    sqlite3_bind_int64(thin->select, 3, key->cycle);
    sqlite3_bind_int64(thin->select, 4, key->period);
}

/* --- what can be merged ----------------------------------------------------------------------- */

/* Numbers of a level's block. */
static uint64_t block_size(const struct rps_thin *thin, int level)
{
    uint64_t size = (uint64_t)thin->options.set_count;

    for (int l = 0; l < level; l++)
        size *= RPS_THIN_TEN;
    return size;
}

int64_t rps_thin_age(const struct rps_thin *thin, int level)
{
    int64_t age_ns = thin->whole_ns;

    for (int l = 1; l < level; l++)
        age_ns = age_ns > INT64_MAX / RPS_THIN_TEN ? INT64_MAX : age_ns * RPS_THIN_TEN;
    return age_ns;
}

int rps_thin_find_span(struct rps_thin *thin, const struct rps_thin_track *track, int level,
                       int64_t limit_ns, struct rps_thin_span *ret)
{
    uint64_t size = block_size(thin, level);
    uint64_t below = level > 1 ? thin->level[level - 1].next : UINT64_MAX;
    uint64_t number = 0, most = 0, first = 0;
    int code, seen = 0;

    select_behind(thin, track, &track->passed[level]);
    while ((code = sqlite3_step(thin->select)) == SQLITE_ROW) {
        number = (uint64_t)sqlite3_column_int64(thin->select, RPS_ROW_PERIOD);
        if (!seen) {
            uint64_t rows = TRANSACTION_ROWS /
                            (RPS_THIN_TEN * thin->track_count * (uint64_t)thin->options.set_count);

            first = number / size * size;
            most = first + (rows > 0 ? rows : 1) * size;
            seen = 1;
        }
        if (number >= below || number >= most ||
            sqlite3_column_int64(thin->select, RPS_ROW_START_NS) +
                    sqlite3_column_int64(thin->select, RPS_ROW_LENGTH_NS) >
                limit_ns)
            break;
    }
    sqlite3_reset(thin->select);
    *ret = (struct rps_thin_span){first, number / size * size};
    if (ret->end > most)
        ret->end = most;
    if (ret->end > below)
        ret->end = below / size * size;
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Keep a row of the block. */
static int keep_row(struct rps_thin *thin, struct rps_thin_track *track)
{
    size_t most = BLOCK_ROTATIONS_MAX * (size_t)thin->options.set_count;
    struct rps_row_fault fault;

    if (track->count == most || track->too_many) {
        track->too_many = 1;
        return SQLITE_OK;
    }
    if (track->count == track->room) {
        size_t room =
            track->room > 0 ? 2 * track->room : RPS_THIN_TEN * (size_t)thin->options.set_count;
        struct rps_period *more = realloc(track->row, room * sizeof(*more));

        if (!more)
            return SQLITE_NOMEM;
        track->row = more;
        track->room = room;
    }
    if (rps_row_read(thin->select, thin->options.set_count, &track->row[track->count], &fault) < 0)
        track->too_many = 1; /* not what this recorder wrote */
    else
        track->count++;
    return SQLITE_OK;
}

/* The rows of a track up to the number `end`, and how far it has come. */
static int load_block(struct rps_thin *thin, struct rps_thin_track *track, uint64_t end)
{
    int code;

    track->count = 0;
    track->too_many = 0;
    select_behind(thin, track, &track->at);
    while ((code = sqlite3_step(thin->select)) == SQLITE_ROW) {
        struct rps_thin_key key = {sqlite3_column_int64(thin->select, RPS_ROW_CYCLE),
                                   sqlite3_column_int64(thin->select, RPS_ROW_PERIOD)};

        if ((uint64_t)key.period >= end)
            break;
        if ((code = keep_row(thin, track)) != SQLITE_OK)
            break;
        track->at = key;
    }
    sqlite3_reset(thin->select);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Do two tracks have the same rows from here on to be merged? */
static int is_alike(const struct rps_thin *thin, const struct rps_thin_track *a,
                    const struct rps_thin_track *b)
{
    const size_t sets = (size_t)thin->options.set_count;
    struct rps_thin_run run_a = {0}, run_b = {0};
    int more;

    do {
        more = rps_thin_run_find(a->row, a->count, sets, run_a.first + run_a.count, &run_a);
        if (rps_thin_run_find(b->row, b->count, sets, run_b.first + run_b.count, &run_b) != more)
            return 0;
        if (more && (run_a.count != run_b.count ||
                     a->row[run_a.first].period != b->row[run_b.first].period))
            return 0;
    } while (more);
    return 1;
}

/* Can the block be merged in the same way in all tracks that have something of it? */
static int is_mergeable(const struct rps_thin *thin)
{
    const struct rps_thin_track *one = NULL;

    for (size_t t = 0; t < thin->track_count; t++) {
        const struct rps_thin_track *track = &thin->track[t];

        if (track->too_many || (one && track->count > 0 && !is_alike(thin, one, track)))
            return 0;
        if (!one && track->count > 0)
            one = track;
    }
    return one != NULL;
}

/* --- merging --------------------------------------------------------------------------------- */

static int insert_row(struct rps_thin *thin, const struct rps_period *row)
{
    const int64_t value[] = {
        thin->options.run_id,
        row->cpu,
        (int64_t)row->cycle,
        (int64_t)row->period,
        row->set_no,
        row->start_ns,
        row->length_ns,
        (int64_t)row->cycles,
        (int64_t)row->enabled_ns,
        (int64_t)row->running_ns,
        row->switch_ns,
        row->missed,
        row->merged,
    };
    const int fixed = sizeof(value) / sizeof(value[0]);

    sqlite3_clear_bindings(thin->insert);
    for (int i = 0; i < fixed; i++)
        sqlite3_bind_int64(thin->insert, i + 1, value[i]);
    for (int slot = 0; slot < RPS_SLOT_MAX; slot++) {
        if (row->counted & (UINT32_C(1) << slot))
            sqlite3_bind_int64(thin->insert, fixed + 1 + slot, (int64_t)row->count[slot]);
    }
    return rps_database_run(thin->insert);
}

static int merge_run(struct rps_thin *thin, const struct rps_thin_track *track,
                     const struct rps_thin_run *run)
{
    const struct rps_period *first = &track->row[run->first], *last = first + run->count - 1;
    int64_t end_ns = last->start_ns + last->length_ns;
    int code;

    sqlite3_bind_int64(thin->cut, 1, thin->options.run_id);
    sqlite3_bind_int64(thin->cut, 2, track->cpu);
    sqlite3_bind_int64(thin->cut, 3, (int64_t)first->cycle);
    sqlite3_bind_int64(thin->cut, 4, (int64_t)first->period);
    sqlite3_bind_int64(thin->cut, 5, (int64_t)last->cycle);
    sqlite3_bind_int64(thin->cut, 6, (int64_t)last->period);
    code = rps_database_run(thin->cut);
    rps_thin_run_merge(track->row, run, (size_t)thin->options.set_count, thin->merged);
    for (int n = 0; n < thin->options.set_count && code == SQLITE_OK; n++)
        code = insert_row(thin, &thin->merged[n]);
    if (end_ns > thin->merged_end_ns)
        thin->merged_end_ns = end_ns;
    return code;
}

static int merge_block(struct rps_thin *thin, uint64_t end)
{
    int code = SQLITE_OK;

    for (size_t t = 0; t < thin->track_count && code == SQLITE_OK; t++)
        code = load_block(thin, &thin->track[t], end);
    if (code != SQLITE_OK || !is_mergeable(thin))
        return code;
    for (size_t t = 0; t < thin->track_count && code == SQLITE_OK; t++) {
        const struct rps_thin_track *track = &thin->track[t];
        struct rps_thin_run run = {0};

        while (code == SQLITE_OK &&
               rps_thin_run_find(track->row, track->count, (size_t)thin->options.set_count,
                                 run.first + run.count, &run))
            code = merge_run(thin, track, &run);
    }
    return code;
}

/* The level's mark stands where its periods end, and moves on with them. */
static int move_mark(struct rps_thin *thin, int level)
{
    const struct rps_thin_level *one = &thin->level[level];
    sqlite3_stmt *stmt = one->mark_ns < 0 ? thin->mark_new : thin->mark_move;
    char text[200], why[RPS_TEXT_NUMBER_SIZE];
    long factor = 1;

    for (int l = 0; l < level; l++)
        factor *= RPS_THIN_TEN;
    /* the beginning is what a picture has room for */
    if (thin->whole_ns == thin->options.keep_ns)
        snprintf(text, sizeof(text), "before this %ld to a row: periods older than %s are merged",
                 factor, rps_text_duration(why, sizeof(why), rps_thin_age(thin, level)));
    else
        snprintf(text, sizeof(text),
                 "before this %ld to a row: periods are merged to keep the store below %s", factor,
                 rps_text_size(why, sizeof(why), thin->options.max_bytes));
    sqlite3_bind_int64(stmt, 1, thin->options.run_id);
    sqlite3_bind_int64(stmt, 2, thin->merged_end_ns);
    sqlite3_bind_int64(stmt, 3, -level); /* no other mark has such a number */
    sqlite3_bind_text(stmt, 4, text, -1, SQLITE_TRANSIENT);
    if (one->mark_ns >= 0)
        sqlite3_bind_int64(stmt, 5, one->mark_ns);
    return rps_database_run(stmt);
}

int rps_thin_merge_span(struct rps_thin *thin, int level, const struct rps_thin_span *span)
{
    uint64_t size = block_size(thin, level);
    int code = rps_database_run(thin->begin);

    if (code != SQLITE_OK)
        return code;
    thin->merged_end_ns = -1;
    for (size_t t = 0; t < thin->track_count; t++)
        thin->track[t].at = thin->track[t].passed[level];
    for (uint64_t at = span->first; at < span->end && code == SQLITE_OK; at += size)
        code = merge_block(thin, at + size);
    if (code == SQLITE_OK && thin->merged_end_ns >= 0)
        code = move_mark(thin, level);
    if (code == SQLITE_OK)
        code = rps_database_run(thin->commit);
    if (code != SQLITE_OK) {
        if (!sqlite3_get_autocommit(thin->db))
            rps_database_run(thin->rollback);
        return code;
    }
    for (size_t t = 0; t < thin->track_count; t++)
        thin->track[t].passed[level] = thin->track[t].at;
    thin->level[level].next = span->end;
    if (thin->merged_end_ns >= 0)
        thin->level[level].mark_ns = thin->merged_end_ns;
    return SQLITE_OK;
}
