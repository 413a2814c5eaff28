/* Rollups: sums of periods at several levels. For each CPU there are the current rotation and one
 * block per level. The rotation and each block have one row per event set. A second copy holds the
 * state of these rows at the last commit. The copy is made at the first change after a commit. */
#include "writer.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "period.h"
#include "rpistat/arena.h"
#include "rpistat/clock.h"
#include "rpistat/moments.h"

/* Two periods are consecutive if at most this time lies between them. */
#define TIME_TOLERANCE_NS RPS_NS_PER_US

/* State of a CPU between two periods, without its rows. */
struct state {
    bool begun;
    uint64_t next;     /* number of the period directly after the most recent one */
    uint64_t rotation; /* rotation of the last period */
    int64_t end_ns;    /* end of the last period */
    int filled;        /* number of rows of the rotation so far; -1: not complete */
    double use;        /* CPU use in the last rotation of the level 1 block; NaN: unknown */
};

struct track {
    int32_t cpu;
    bool touched; /* true if changed since the last commit */
    struct state now, before;
    /* owned; (1 + RPS_LEVELS) * set_count rows: the rotation, then one block per level. An empty
     * row has merged = 0. A second half holds the rows at the last commit. The next two arrays have
     * the same halves: the scatters of the rows, and the moments of the level 1 block. */
    struct rps_period *row;
    struct rps_scatter *scatter;
    struct rps_moments *moments;
};

struct rps_rollup {
    struct rps_rollup_sink sink;
    size_t set_count, rows; /* rows: number of used rows per track */
    struct track *track;    /* owned */
    size_t track_count, at; /* at: index of the track of the most recent period */
};

struct rps_rollup *rps_rollup_new(int set_count, const struct rps_rollup_sink *sink)
{
    struct rps_rollup *rollup = calloc(1, sizeof(*rollup));

    if (!rollup)
        return NULL;
    rollup->sink = *sink;
    rollup->set_count = set_count > 0 ? (size_t)set_count : 1;
    rollup->rows = (1 + RPS_LEVELS) * rollup->set_count;
    return rollup;
}

void rps_rollup_free(struct rps_rollup *rollup)
{
    if (!rollup)
        return;
    for (size_t t = 0; t < rollup->track_count; t++) {
        free(rollup->track[t].row);
        free(rollup->track[t].scatter);
        free(rollup->track[t].moments);
    }
    free(rollup->track);
    free(rollup);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static struct rps_period *block_of(const struct rps_rollup *rollup, const struct track *track,
                                   int level)
{
    return track->row + (size_t)level * rollup->set_count;
}

#define ADD_FIRST(member)
#define ADD_LAST(member)  sum->member = row->member;
#define ADD_SUM(member)   sum->member += row->member;
#define ADD_KNOWN(member) sum->member = rps_period_add_known(sum->member, row->member);

#define ADD_COLUMN(member, least, most, nullable, how) ADD_##how(member)

/* Add a finer row to its set's sum in a block. The sum has merged = 0 before the first row. */
static void add_to_sum(struct rps_period *sum, const struct rps_period *row, int level)
{
    if (sum->merged == 0) {
        *sum = *row;
        sum->merged = rps_period_weight(row);
        sum->last_period = rps_period_last(row);
        sum->end_ns = rps_period_end_ns(row);
        sum->level = level;
        return;
    }
    if (sum->running_ns == 0 && row->running_ns > 0)
        sum->counted = row->counted;
    else if (row->running_ns == 0 && sum->running_ns == 0)
        sum->counted |= row->counted;
    sum->merged += rps_period_weight(row);
    sum->last_period = rps_period_last(row);
    sum->end_ns = rps_period_end_ns(row);
    RPS_PERIOD_FIELDS(ADD_COLUMN)
    for (int slot = 0; slot < RPS_SLOT_MAX; slot++)
        sum->count[slot] += row->count[slot];
}

/* Totals of a rotation. */
struct rotation {
    uint64_t cycles, enabled_ns, clock_running_ns;
    int64_t length_ns, idle_ns;
};

static struct rotation rotation_of(const struct rps_rollup *rollup, const struct rps_period *row)
{
    struct rotation ret = {0};

    for (size_t n = 0; n < rollup->set_count; n++) {
        ret.cycles += row[n].cycles;
        ret.enabled_ns += row[n].enabled_ns;
        ret.clock_running_ns += row[n].clock_running_ns;
        ret.length_ns += row[n].length_ns;
        ret.idle_ns = rps_period_add_known(ret.idle_ns, row[n].idle_ns);
    }
    return ret;
}

/* Estimate a slot's events per second of elapsed time in the rotation. NaN: no estimate. */
static double rate_of(const struct rotation *rotation, size_t sets, const struct rps_period *row,
                      int slot)
{
    uint64_t counted_ns = rps_period_counted_ns(row, slot);

    if (!(row->counted & (UINT32_C(1) << slot)) || rotation->length_ns == 0)
        return NAN;
    if (rotation->enabled_ns == 0)
        return 0;
    if (counted_ns == 0 ||
        rps_period_is_hardly(row->running_ns, row->cycles, (int)sets, rotation->enabled_ns,
                             rotation->cycles, rotation->clock_running_ns))
        return NAN;
    return (double)row->count[slot] * ((double)rotation->enabled_ns / (double)counted_ns) /
           ((double)rotation->length_ns / RPS_NS_PER_S);
}

/* Add a row of a rotation to the moments and extremes of its block. */
static void add_reading(struct rps_scatter *scatter, struct rps_moments *moments,
                        const struct rotation *rotation, size_t sets, const struct rps_period *row)
{
    rps_moments_add(moments, row, 0, 0);
    for (int slot = 0; row->counted >> slot; slot++)
        rps_scatter_widen(&scatter->least[slot], &scatter->most[slot],
                          rate_of(rotation, sets, row, slot));
}

/* Add a rotation's CPU use to a block. *before: use of the block's last rotation; NaN: none. */
static void add_use(struct rps_scatter *scatter, const struct rotation *rotation, double *before)
{
    double step, use = rotation->idle_ns < 0 || rotation->length_ns == 0
                           ? NAN
                           : ((double)rotation->enabled_ns - (double)rotation->idle_ns) /
                                 (double)rotation->length_ns;

    step = isnan(*before) ? 0 : use - *before;
    rps_scatter_widen(&scatter->least_use, &scatter->most_use, use);
    scatter->use_steps = (isnan(*before) ? 0 : scatter->use_steps) + step * step;
    *before = use;
}

/* Add a row, with its scatter, to the row of the same set in a block of the level. */
static void add_row(struct rps_rollup *rollup, struct track *track, int level, size_t set,
                    const struct rotation *rotation, const struct rps_period *row)
{
    size_t at = (size_t)level * rollup->set_count + set;
    struct rps_period *sum = &track->row[at];
    bool begins = sum->merged == 0, known = begins || sum->scatter;

    add_to_sum(sum, row, level);
    sum->scatter = NULL;
    if (begins) {
        track->scatter[at] = rps_scatter_none();
        if (level == 1) {
            track->moments[set] = (struct rps_moments){.slots = 0};
            track->now.use = NAN;
        }
    }
    if (!known || (row->level > 0 && !row->scatter)) /* the row includes an older store's row */
        return;
    if (row->level > 0)
        rps_scatter_add(&track->scatter[at], row->scatter);
    else
        add_reading(&track->scatter[at], &track->moments[set], rotation, rollup->set_count, row);
    if (row->level == 0 && set == 0)
        add_use(&track->scatter[at], rotation, &track->now.use);
    sum->scatter = &track->scatter[at];
}

static int close_block(struct rps_rollup *rollup, struct track *track, int level);

/* Add the rows of a rotation, or of a block of the next finer level. `last` is the number of the
 * rotation, or of the block's last rotation. */
static int add_rows(struct rps_rollup *rollup, struct track *track, int level,
                    const struct rps_period *row, uint64_t last)
{
    struct rps_period *block = block_of(rollup, track, level);
    uint64_t cell = (UINT64_C(1) << (RPS_LEVEL_BITS * level)) - 1;
    struct rotation rotation = rotation_of(rollup, row);
    bool match = true;
    int code = SQLITE_OK;

    for (size_t n = 0; n < rollup->set_count; n++)
        match =
            match && (block[n].merged == 0 || (block[n].running_ns == 0 || row[n].running_ns == 0 ||
                                               block[n].counted == row[n].counted));
    if (!match)
        code = close_block(rollup, track, level);
    for (size_t n = 0; n < rollup->set_count && code == SQLITE_OK; n++)
        add_row(rollup, track, level, n, &rotation, &row[n]);
    if (code == SQLITE_OK && (last & cell) == cell)
        code = close_block(rollup, track, level);
    return code;
}

/* Output the rows of a level's block, and add them to the next level's block. */
static int close_block(struct rps_rollup *rollup, struct track *track, int level)
{
    struct rps_period *block = block_of(rollup, track, level);
    int code = SQLITE_OK;

    if (block->merged == 0)
        return SQLITE_OK;
    for (size_t n = 0; n < rollup->set_count; n++) {
        struct rps_scatter *scatter = &track->scatter[(size_t)level * rollup->set_count + n];

        if (level == 1 && block[n].scatter)
            rps_scatter_of(&track->moments[n], &block[n], scatter);
        if (block[n].scatter)
            rps_period_round_scatter(scatter, &block[n]);
    }
    for (size_t n = 0; n < rollup->set_count && code == SQLITE_OK; n++)
        code = rollup->sink.row(rollup->sink.context, &block[n]);
    if (code == SQLITE_OK && level < RPS_LEVELS)
        code = add_rows(rollup, track, level + 1, block, block->rotation + block->merged - 1);
    memset(block, 0, rollup->set_count * sizeof(*block));
    return code;
}

static int close_all(struct rps_rollup *rollup, struct track *track)
{
    int code = SQLITE_OK;

    for (int level = 1; level <= RPS_LEVELS && code == SQLITE_OK; level++)
        code = close_block(rollup, track, level);
    return code;
}

/* --- periods ---------------------------------------------------------------------------------- */

static struct track *add_track(struct rps_rollup *rollup, int32_t cpu)
{
    struct track *more = rps_array_add(&rollup->track, rollup->track_count, sizeof(*more));

    if (!more)
        return NULL;
    more->cpu = cpu;
    more->row = calloc(2 * rollup->rows, sizeof(*more->row));
    more->scatter = calloc(2 * rollup->rows, sizeof(*more->scatter));
    more->moments = calloc(2 * rollup->set_count, sizeof(*more->moments));
    rollup->track_count++;
    return more->row && more->scatter && more->moments ? more : NULL;
}

/* Copy all row data of a track between its halves; the second half begins at rollup->rows. */
static void copy_rows(const struct rps_rollup *rollup, const struct track *track, size_t to,
                      size_t from)
{
    size_t sets = rollup->set_count;

    memcpy(track->row + to, track->row + from, rollup->rows * sizeof(*track->row));
    memcpy(track->scatter + to, track->scatter + from, rollup->rows * sizeof(*track->scatter));
    memcpy(track->moments + (to ? sets : 0), track->moments + (from ? sets : 0),
           sets * sizeof(*track->moments));
}

/* Find a CPU's track in order to change it. The search starts at the track that the previous call
 * found, because periods arrive in the order of CPUs. */
static struct track *touch(struct rps_rollup *rollup, int32_t cpu)
{
    struct track *track = NULL;

    for (size_t i = 0; i < rollup->track_count && !track; i++) {
        size_t t = (rollup->at + i) % rollup->track_count;

        if (rollup->track[t].cpu == cpu)
            track = &rollup->track[t];
    }
    if (!track)
        track = add_track(rollup, cpu);
    if (!track)
        return NULL;
    rollup->at = (size_t)(track - rollup->track);
    if (!track->touched) {
        track->before = track->now;
        copy_rows(rollup, track, rollup->rows, 0);
        track->touched = true;
    }
    return track;
}

/* Return true if the period directly follows the track's last period, so that one block can include
 * both periods. */
static bool follows(const struct track *track, const struct rps_period *period)
{
    const struct state *state = &track->now;
    bool new_rotation = period->rotation != state->rotation;

    return state->begun && period->period == state->next &&
           period->start_ns - state->end_ns <= TIME_TOLERANCE_NS &&
           (!new_rotation || period->rotation == state->rotation + 1);
}

/* Begin a rotation. After a gap, close the blocks. A rotation with a gap belongs to no block. */
static int begin_rotation(struct rps_rollup *rollup, struct track *track, bool is_next)
{
    int filled = track->now.filled;

    memset(track->row, 0, rollup->set_count * sizeof(*track->row));
    track->now.filled = 0;
    return is_next && filled == (int)rollup->set_count ? SQLITE_OK : close_all(rollup, track);
}

int rps_rollup_add(struct rps_rollup *rollup, const struct rps_period *period)
{
    struct track *track = touch(rollup, period->cpu);
    struct state *state;
    bool is_next;
    int code = SQLITE_OK;

    if (!track)
        return SQLITE_NOMEM;
    state = &track->now;
    is_next = follows(track, period);
    if (!state->begun || period->rotation != state->rotation)
        code = begin_rotation(rollup, track, is_next);
    else if (!is_next)
        state->filled = -1;
    state->begun = true;
    state->next = period->period + 1;
    state->rotation = period->rotation;
    state->end_ns = period->start_ns + period->length_ns;
    if (code != SQLITE_OK || state->filled < 0)
        return code;
    if (period->set_no >= rollup->set_count || track->row[period->set_no].merged > 0) {
        state->filled = -1;
        return SQLITE_OK;
    }
    add_to_sum(&track->row[period->set_no], period, 0);
    if (++state->filled == (int)rollup->set_count)
        code = add_rows(rollup, track, 1, track->row, period->rotation);
    return code;
}

int rps_rollup_add_block(struct rps_rollup *rollup, const struct rps_period *row)
{
    struct track *track = touch(rollup, row->cpu);
    struct rps_period first = *row, last = *row;
    uint64_t last_rotation = row->rotation + row->merged - 1;
    int code = SQLITE_OK;

    if (!track)
        return SQLITE_NOMEM;
    for (size_t n = 1; n < rollup->set_count; n++) {
        if (row[n].period < first.period)
            first = row[n];
        if (row[n].last_period > last.last_period)
            last = row[n];
    }
    if (track->now.filled != (int)rollup->set_count || !follows(track, &first))
        code = close_all(rollup, track);
    track->now = (struct state){true,        last.last_period + 1,   last_rotation,
                                last.end_ns, (int)rollup->set_count, NAN};
    for (int level = 1; level <= row->level && code == SQLITE_OK; level++)
        code = close_block(rollup, track, level);
    if (code == SQLITE_OK && row->level < RPS_LEVELS)
        code = add_rows(rollup, track, row->level + 1, row, last_rotation);
    return code;
}

int rps_rollup_end(struct rps_rollup *rollup)
{
    int code = SQLITE_OK;

    for (size_t t = 0; t < rollup->track_count && code == SQLITE_OK; t++) {
        touch(rollup, rollup->track[t].cpu);
        code = close_all(rollup, &rollup->track[t]);
    }
    return code;
}

/* --- transactions ----------------------------------------------------------------------------- */

void rps_rollup_commit(struct rps_rollup *rollup)
{
    for (size_t t = 0; t < rollup->track_count; t++)
        rollup->track[t].touched = false;
}

void rps_rollup_roll_back(struct rps_rollup *rollup)
{
    for (size_t t = 0; t < rollup->track_count; t++) {
        struct track *track = &rollup->track[t];

        if (!track->touched)
            continue;
        track->now = track->before;
        copy_rows(rollup, track, 0, rollup->rows);
        track->touched = false;
    }
}
