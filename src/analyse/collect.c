/* Collect signals from periods.
 *
 * The matrix stores all values of a signal side by side. Its size doubles when it is full. At the
 * end the matrix is compacted in place: rows without any value and constant signals are removed. A
 * second copy or a final transposition would need twice the memory of a day's run.
 *
 * If the run has one track (one CPU or the whole run), each period becomes the next row. If it has
 * several tracks, the store returns them one after the other. Then the row number is the period
 * number, so that periods of all tracks with one number share a row. At coarser levels, each block
 * is one row. */
#include "rpistat/collect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/plan.h"
#include "collect_rows.h"

#define PERIOD_NS_DEFAULT (100 * RPS_NS_PER_MS)

/* Maximum number of cells. A larger matrix does not fit into memory. */
#define CELLS_MAX (SIZE_MAX / 64)

/* --- the matrix ------------------------------------------------------------------------------- */

/* Make room for `room` rows. The values in new rows are marked as not seen. */
static int grow(struct rps_collect *collect, size_t room, struct rps_error *err)
{
    size_t signals = collect->signal_count + collect->reach_count, old = collect->room;
    struct rps_collect_row *row;
    double *value;
    float *weight;

    if (room > CELLS_MAX / (signals + 1))
        return rps_error_set(err, RPS_FAILED,
                             "cannot analyse the CPUs together: their measurement periods are "
                             "numbered too far apart; choose one CPU, or --cpu sum");
    row = realloc(collect->row, room * sizeof(*row));
    collect->row = row ? row : collect->row;
    value = realloc(collect->value, room * signals * sizeof(*value));
    collect->value = value ? value : collect->value;
    weight = realloc(collect->weight, room * signals * sizeof(*weight));
    collect->weight = weight ? weight : collect->weight;
    if (!row || !value || !weight)
        return rps_error_memory(err);
    memset(row + old, 0, (room - old) * sizeof(*row));
    for (size_t s = signals; s-- > 0;) {
        memmove(value + s * room, value + s * old, old * sizeof(*value));
        memmove(weight + s * room, weight + s * old, old * sizeof(*weight));
        for (size_t i = old; i < room; i++) {
            value[s * room + i] = NAN;
            weight[s * room + i] = 0;
        }
    }
    collect->room = room;
    return 0;
}

/* Find the row for the next observation, whose number is `number`. */
static int row_of(struct rps_collect *collect, uint64_t number, size_t *ret, struct rps_error *err)
{
    uint64_t base = collect->options.first;

    if (collect->track_count > 1) {
        *ret = (size_t)(number - base);
        if (number < base || *ret >= collect->room)
            return rps_error_set(err, RPS_FAILED,
                                 "the run grew while it was read; start the command again");
        if (*ret >= collect->count)
            collect->count = *ret + 1;
        return 0;
    }
    if (collect->count == collect->room && grow(collect, 2 * collect->room + 64, err) < 0)
        return RPS_FAILED;
    *ret = collect->count++;
    return 0;
}

static void row_add(struct rps_collect_row *row, const struct rps_collect_row *more)
{
    if (!row->merged) {
        *row = *more;
        return;
    }
    row->start_ns = more->start_ns < row->start_ns ? more->start_ns : row->start_ns;
    row->end_ns = more->end_ns > row->end_ns ? more->end_ns : row->end_ns;
    row->first = more->first < row->first ? more->first : row->first;
    row->last = more->last > row->last ? more->last : row->last;
    row->cycle = more->cycle > row->cycle ? more->cycle : row->cycle;
    row->cpu_s += more->cpu_s;
}

/* Return for which share of the tally's range a source was counted completely. */
static float weight_of(const struct rps_collect *collect, const struct rps_source *source,
                       const struct rps_sight *sight, const struct rps_tally *tally, double sets)
{
    double coverage = rps_tally_coverage(tally, source->home);
    double weight = sight->sure * sight->seen_s / (collect->period_s * sets);

    if (isfinite(coverage))
        weight *= coverage;
    return (float)(weight < 1 ? weight : 1);
}

static void put(struct rps_collect *collect, size_t s, size_t row, const struct rps_tally *tally,
                double sets)
{
    struct rps_source *source = &collect->sources.source[s];
    size_t signal = (size_t)collect->track * collect->sources.count + s;
    struct rps_sight sight =
        rps_source_look(source, collect->options.plan, tally, collect->operand);

    if (!isfinite(sight.value))
        return;
    collect->value[signal * collect->room + row] = sight.value;
    collect->weight[signal * collect->room + row] = weight_of(collect, source, &sight, tally, sets);
}

/* Store the largest distance of a value within the block from the block's mean. If CPUs are side by
 * side, store the maximum over the CPUs. */
static void put_reach(struct rps_collect *collect, size_t column, size_t row, double reach)
{
    double *to = &collect->value[(collect->signal_count + column) * collect->room + row];

    *to = fmax(*to, reach); /* fmax ignores NaN */
}

static void put_reaches(struct rps_collect *collect, size_t row)
{
    const struct rps_rotation *block = &collect->rotation;
    const struct rps_tally *tally = &block->tally;
    double seconds = (double)tally->length_ns / RPS_NS_PER_S;
    size_t column = 0;

    for (int n = 0; n < tally->set_count; n++) {
        for (int slot = 0; slot < collect->options.plan->set[n].event_count; slot++)
            put_reach(collect, column++, row,
                      rps_source_reach(rps_tally_estimate(tally, n, slot) / seconds,
                                       &block->range[n * RPS_SLOT_MAX + slot], collect->period_s));
    }
    put_reach(
        collect, column, row,
        rps_source_use_reach(collect->operand[RPS_OPERAND_CPU_SECONDS] / seconds, &block->use));
}

/* --- adding ----------------------------------------------------------------------------------- */

/* Return 1 if an observation is a whole rotation instead of a period. */
static int is_whole(const struct rps_collect *collect, int level)
{
    return collect->options.by_rotation || level > 0 || collect->is_fine;
}

/* Return the observation's number for row_of. The number is used only if CPUs are side by side. */
static uint64_t number_of(const struct rps_collect *collect, const struct rps_rotation *rotation)
{
    return collect->options.by_rotation
               ? rotation->number >> (RPS_LEVEL_BITS * collect->options.level)
               : rotation->first;
}

int rps_collect_end_rotation(struct rps_collect *collect, struct rps_error *err)
{
    const struct rps_rotation *rotation = &collect->rotation;
    const struct rps_tally *tally = &rotation->tally;
    double periods = collect->is_fine && !collect->options.by_rotation
                         ? 1
                         : (double)rotation->merged * (tally->set_count > 0 ? tally->set_count : 1);
    size_t row = (collect->rotation_row + collect->rotation_end) / 2;
    int whole = is_whole(collect, rotation->level);

    if (tally->periods == 0)
        return 0;
    rps_tally_operands(tally, collect->options.plan, collect->operand);
    if (whole) {
        if (row_of(collect, number_of(collect, rotation), &row, err) < 0)
            return RPS_FAILED;
        row_add(&collect->row[row],
                &(struct rps_collect_row){rotation->first, rotation->last, tally->start_ns,
                                          tally->end_ns, rotation->to_cycle,
                                          collect->operand[RPS_OPERAND_CPU_SECONDS],
                                          rotation->merged});
    }
    for (size_t s = 0; s < collect->sources.count; s++) {
        if (whole || collect->sources.source[s].home == RPS_SOURCE_ACROSS)
            put(collect, s, row, tally, periods);
    }
    if (collect->reach_count > 0 && rotation->has_ranges)
        put_reaches(collect, row);
    rps_rotation_reset(&collect->rotation);
    return 0;
}

static int add_observation(struct rps_collect *collect, const struct rps_period *period,
                           struct rps_error *err)
{
    size_t row = 0;

    if (row_of(collect, period->period, &row, err) < 0)
        return RPS_FAILED;
    rps_tally_reset(&collect->one);
    rps_tally_add(&collect->one, period);
    rps_tally_operands(&collect->one, collect->options.plan, collect->operand);
    row_add(&collect->row[row],
            &(struct rps_collect_row){period->period, period->period, period->start_ns,
                                      rps_period_end_ns(period), period->cycle,
                                      collect->operand[RPS_OPERAND_CPU_SECONDS], 1});
    for (size_t s = 0; s < collect->sources.count; s++) {
        int home = collect->sources.source[s].home;

        if (home == RPS_SOURCE_ANY || home == (int)period->set_no)
            put(collect, s, row, &collect->one, 1);
    }
    if (collect->rotation.tally.periods == 0)
        collect->rotation_row = row;
    collect->rotation_end = row;
    return 0;
}

/* A track is fine as long as each of its rotations begins with a period shorter than least_ns. */
static void begin_rotation(struct rps_collect *collect, int track, const struct rps_period *period)
{
    int64_t least_ns = collect->options.least_ns;

    if (track != collect->track || collect->count == 0)
        collect->is_fine = least_ns > 0;
    collect->is_fine = collect->is_fine && period->length_ns < least_ns;
    if (collect->options.by_rotation)
        least_ns *= collect->options.plan->set_count;
    collect->rotation.least_ns = collect->is_fine ? least_ns : 0;
    collect->track = track;
}

int rps_collect_add(struct rps_collect *collect, int track, const struct rps_period *period,
                    struct rps_error *err)
{
    if (track != collect->track || rps_rotation_ends(&collect->rotation, period)) {
        if (rps_collect_end_rotation(collect, err) < 0)
            return RPS_FAILED;
    }
    if (collect->rotation.tally.periods == 0)
        begin_rotation(collect, track, period);
    if (!is_whole(collect, period->level) && add_observation(collect, period, err) < 0)
        return RPS_FAILED;
    rps_rotation_add(&collect->rotation, period);
    collect->periods++;
    collect->missed += period->missed;
    return 0;
}

/* --- construction ----------------------------------------------------------------------------- */

int rps_collect_new(struct rps_collect **ret, const struct rps_collect_options *options,
                    struct rps_error *err)
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_collect *collect = rps_arena_get(arena, 1, sizeof(*collect));
    int result;

    collect->arena = arena;
    collect->options = *options;
    collect->track_count = options->cpu_count > 1 ? (size_t)options->cpu_count : 1;
    collect->period_s =
        (double)(options->period_ns > 0 ? options->period_ns : PERIOD_NS_DEFAULT) / RPS_NS_PER_S;
    result = rps_sources_choose(collect->arena, options, &collect->sources, err);
    collect->signal_count = collect->sources.count * collect->track_count;
    if (options->level > 0 && options->name_count == 0 && !options->as_shown)
        collect->reach_count = rps_sources_events(options->plan) + 1;
    collect->operand = rps_arena_get(collect->arena, (size_t)rps_plan_operand_count(options->plan),
                                     sizeof(*collect->operand));
    collect->one = rps_tally_new(collect->arena, options->plan);
    collect->rotation = rps_rotation_new(collect->arena, options->plan);
    collect->one.is_plain = collect->rotation.tally.is_plain = 1;
    if (result == 0)
        result =
            grow(collect,
                 collect->track_count > 1 ? (size_t)(options->last - options->first) + 1 : 64, err);
    if (result < 0) {
        rps_collect_free(collect);
        return result;
    }
    *ret = collect;
    return 0;
}

void rps_collect_free(struct rps_collect *collect)
{
    if (!collect)
        return;
    free(collect->weight);
    free(collect->value);
    free(collect->row);
    rps_arena_free(collect->arena); /* also holds *collect */
}
