/*
 * Collecting signals from periods.
 *
 * The matrix grows by doubling, a signal's values side by side, and is compacted in place at the
 * end: rows that nothing was seen in and signals that never vary go. A second copy, or a row a
 * period with a transposition at the end, would take twice the memory of a day's run.
 *
 * With one track a period is the next row. With several, of which the store gives one after the
 * other, the row is the period's number, so that tracks meet. A block of a coarser level is one
 * row.
 */
#include "rpistat/collect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/array.h"
#include "rpistat/clock.h"
#include "rpistat/rotation.h"
#include "detect_math.h"
#include "sources.h"

#define PERIOD_NS_DEFAULT (100 * RPS_NS_PER_MS)

/* Signals whose weights are all above it need none. */
#define WEIGHT_FULL 0.95f

/* Steps of the histogram that finds a signal's usual weight. */
#define WEIGHT_STEPS 100

/* Of a signal that is added: its noise is so much of its resolution at least. */
#define NOISE_OF_RESOLUTION .25

/* A rotation is unlike the others of its block that is so many times as far from their mean as is
 * usual, and as what is usual at least comes to; in at most this share of the blocks. */
#define WILD_TIMES 3
#define WILD_LEAST 1.5
#define WILD_RARE  .05

/* Cells of the matrix that nobody can hold. */
#define CELLS_MAX (SIZE_MAX / 64)

struct row {
    uint64_t first, last; /* numbers of its periods */
    int64_t start_ns, end_ns;
    uint64_t cycle;
    double cpu_s;
    uint64_t merged; /* periods or rotations one after the other in it; 0: nothing was added */
};

struct rps_collect {
    struct rps_collect_options options;
    struct rps_sources sources;
    size_t track_count, signal_count;
    size_t reach_count;                /* columns behind the signals, of blocks: how far from its
                                          mean each event, and the CPU use, was at most */
    size_t count, room;                /* rows */
    struct row *row;                   /* owned */
    double *value;                     /* owned; value[signal * room + row] */
    float *weight;                     /* owned; same places */
    double *operand;                   /* owned; scratch */
    struct rps_tally one;              /* of the period that is being added */
    struct rps_rotation rotation;      /* that is being added up */
    size_t rotation_row, rotation_end; /* its first and last row */
    int track;                         /* of the rotation */
    double period_s;
};

/* --- the matrix ------------------------------------------------------------------------------- */

/* Make room for so many rows; what is new is not seen. */
static int grow(struct rps_collect *collect, size_t room, struct rps_error *err)
{
    size_t signals = collect->signal_count + collect->reach_count, old = collect->room;
    struct row *row;
    double *value;
    float *weight;

    if (room > CELLS_MAX / (signals + 1))
        return rps_error_set(err, RPS_FAILED,
                             "the run's periods are numbered too far apart to be looked at side by "
                             "side: add the CPUs up, or look at one");
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

/* The row of the next observation, number `number`. */
static int row_of(struct rps_collect *collect, uint64_t number, size_t *ret, struct rps_error *err)
{
    uint64_t base = collect->options.first;

    if (collect->track_count > 1) {
        *ret = (size_t)(number - base);
        if (number < base || *ret >= collect->room)
            return rps_error_set(err, RPS_FAILED,
                                 "the run grew while it was being read; try again");
        if (*ret >= collect->count)
            collect->count = *ret + 1;
        return 0;
    }
    if (collect->count == collect->room && grow(collect, 2 * collect->room + 64, err) < 0)
        return RPS_FAILED;
    *ret = collect->count++;
    return 0;
}

static void row_add(struct row *row, const struct row *more)
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

/* How well a source was seen in the stretch. */
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

/* Keep how far a value of the block was from its mean; of CPUs side by side the most. */
static void put_reach(struct rps_collect *collect, size_t column, size_t row, double reach)
{
    double *to = &collect->value[(collect->signal_count + column) * collect->room + row];

    *to = fmax(*to, reach); /* which prefers a number to NaN */
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

/* Is a rotation one observation, and not each of its periods? */
static int is_whole(const struct rps_collect *collect, int level)
{
    return collect->options.by_rotation || level > 0;
}

/* What the observation's row is found by where CPUs are side by side. */
static uint64_t number_of(const struct rps_collect *collect, const struct rps_rotation *rotation)
{
    return collect->options.by_rotation
               ? rotation->number >> (RPS_LEVEL_BITS * collect->options.level)
               : rotation->first;
}

/* The rotation is over: what can be seen in a rotation only. */
static int end_rotation(struct rps_collect *collect, struct rps_error *err)
{
    const struct rps_rotation *rotation = &collect->rotation;
    const struct rps_tally *tally = &rotation->tally;
    double periods = (double)rotation->merged * (tally->set_count > 0 ? tally->set_count : 1);
    size_t row = (collect->rotation_row + collect->rotation_end) / 2;
    int whole = is_whole(collect, rotation->level);

    if (tally->periods == 0)
        return 0;
    rps_tally_operands(tally, collect->options.plan, collect->operand);
    if (whole) {
        if (row_of(collect, number_of(collect, rotation), &row, err) < 0)
            return RPS_FAILED;
        row_add(&collect->row[row],
                &(struct row){rotation->first, rotation->last, tally->start_ns, tally->end_ns,
                              rotation->to_cycle, collect->operand[RPS_OPERAND_CPU_SECONDS],
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
    row_add(&collect->row[row], &(struct row){period->period, period->period, period->start_ns,
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

int rps_collect_add(struct rps_collect *collect, int track, const struct rps_period *period,
                    struct rps_error *err)
{
    if (track != collect->track || rps_rotation_ends(&collect->rotation, period)) {
        if (end_rotation(collect, err) < 0)
            return RPS_FAILED;
        collect->track = track;
    }
    if (!is_whole(collect, period->level) && add_observation(collect, period, err) < 0)
        return RPS_FAILED;
    rps_rotation_add(&collect->rotation, period);
    return 0;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Take out the rows that nothing was added to. */
static void drop_rows(struct rps_collect *collect)
{
    size_t kept = 0;

    for (size_t i = 0; i < collect->count; i++) {
        if (!collect->row[i].merged)
            continue;
        collect->row[kept] = collect->row[i];
        for (size_t s = 0; s < collect->signal_count + collect->reach_count && kept != i; s++) {
            size_t base = s * collect->room;

            collect->value[base + kept] = collect->value[base + i];
            collect->weight[base + kept] = collect->weight[base + i];
        }
        kept++;
    }
    collect->count = kept;
}

/* The collects that are ended together, and which of their signals are in all of them. */
struct ending {
    struct rps_collect *const *collect;
    size_t count;
    size_t *place;  /* owned; place[signal of the first * count + collect]: its number there */
    uint8_t **keep; /* owned; of each collect, a signal each: it is one of those that are given */
};

/* What a source is made of: of a gauge the unit of its event, which is no formula. */
static const char *formula_of(const struct rps_collect *collect, const struct rps_source *source)
{
    const struct rps_plan *plan = collect->options.plan;

    if (source->metric < 0)
        return "";
    return rps_plan_is_gauge(plan, &plan->metric[source->metric].formula)
               ? RPS_UNIT_GAUGE
               : plan->metric[source->metric].formula_text;
}

/* Is a source the same in two collects? CPU use is known with a metric and without one. */
static int is_same(const struct rps_collect *x, const struct rps_source *a,
                   const struct rps_collect *y, const struct rps_source *b)
{
    if (strcmp(a->name, b->name) != 0 || a->kind != b->kind)
        return 0;
    if ((a->metric < 0) != (b->metric < 0))
        return strcmp(a->name, RPS_COLLECT_CPU_USE) == 0;
    return strcmp(formula_of(x, a), formula_of(y, b)) == 0;
}

/* The source of a signal: tracks side by side have the same. */
static struct rps_source *source_of(const struct rps_collect *collect, size_t s)
{
    return &collect->sources.source[s % collect->sources.count];
}

/* The signal of a collect that signal s of another is; SIZE_MAX: none. */
static size_t find_same(const struct rps_collect *from, size_t s, const struct rps_collect *in)
{
    const struct rps_source *source = source_of(from, s);

    for (size_t i = 0; i < in->sources.count && from != in; i++) {
        if (is_same(from, source, in, &in->sources.source[i]))
            return i;
    }
    return from == in ? s : SIZE_MAX;
}

/* Find signal s of the first collect in all of them: 1 when all have it. What was seen of it
 * anywhere is what it is transformed by everywhere. */
static int unite(const struct ending *ending, size_t s)
{
    size_t *place = ending->place + s * ending->count;
    struct rps_source_seen all = {0};

    for (size_t r = 0; r < ending->count; r++) {
        place[r] = find_same(ending->collect[0], s, ending->collect[r]);
        if (place[r] == SIZE_MAX)
            return 0;
    }
    for (size_t r = 0; r < ending->count; r++) {
        struct rps_collect *collect = ending->collect[r];
        struct rps_source *source = source_of(collect, place[r]);

        rps_source_wander(source, collect->value + place[r] * collect->room, collect->count);
        rps_source_seen_add(&all, &source->seen);
    }
    for (size_t r = 0; r < ending->count; r++)
        source_of(ending->collect[r], place[r])->seen = all;
    return 1;
}

/* Does signal s of the first collect vary anywhere, or differ between them? */
static int varies(const struct ending *ending, size_t s)
{
    double low = INFINITY, high = -INFINITY;

    for (size_t r = 0; r < ending->count; r++) {
        const struct rps_collect *collect = ending->collect[r];
        const double *value = collect->value + ending->place[s * ending->count + r] * collect->room;

        for (size_t i = 0; i < collect->count; i++) {
            low = fmin(low, value[i]);
            high = fmax(high, value[i]);
        }
    }
    return high > low;
}

/* Choose the signals: those that all have, that vary, and that are not rare; or the last of all. */
static int choose_signals(const struct ending *ending, struct rps_error *err)
{
    const struct rps_collect *first = ending->collect[0];
    size_t last = SIZE_MAX, kept = 0;

    for (size_t s = 0; s < first->signal_count; s++) {
        const struct rps_source *source = source_of(first, s);

        if (!unite(ending, s))
            continue;
        last = s;
        if (!varies(ending, s) || (!source->named && rps_source_is_rare(source)))
            continue;
        for (size_t r = 0; r < ending->count; r++)
            ending->keep[r][ending->place[s * ending->count + r]] = 1;
        kept++;
    }
    if (last == SIZE_MAX)
        return rps_error_set(err, RPS_FAILED, "the runs have nothing in common to be looked at");
    for (size_t r = 0; r < ending->count && kept == 0; r++)
        ending->keep[r][ending->place[last * ending->count + r]] = 1;
    return 0;
}

/*
 * Weights relative to the signal's usual one, the upper decile: a workload that uses a tenth of a
 * CPU all the time is seen as well as can be. 1 when a weight is still below WEIGHT_FULL somewhere.
 */
static int level_weights(const double *value, float *weight, size_t count)
{
    size_t histogram[WEIGHT_STEPS + 1] = {0}, seen = 0, above = 0;
    int step = WEIGHT_STEPS, uneven = 0;
    float usual;

    for (size_t i = 0; i < count; i++) {
        if (isfinite(value[i])) {
            histogram[(int)(weight[i] * WEIGHT_STEPS + 0.5F)]++;
            seen++;
        }
    }
    for (above = histogram[step]; step > 1 && above < seen / 10 + 1; above += histogram[step])
        step--;
    usual = (float)step / WEIGHT_STEPS;
    for (size_t i = 0; i < count; i++) {
        weight[i] = weight[i] < usual ? weight[i] / usual : 1;
        uneven = uneven || (isfinite(value[i]) && weight[i] < WEIGHT_FULL);
    }
    return uneven;
}

static void name_signal(const struct rps_collect *collect, size_t signal,
                        struct rps_collected_signal *ret)
{
    const struct rps_source *source = source_of(collect, signal);
    size_t track = signal / collect->sources.count;

    ret->metric = source->metric;
    ret->cpu = collect->track_count > 1 ? collect->options.cpu[track] : RPS_CPU_ALL;
    if (collect->track_count > 1)
        snprintf(ret->name, sizeof(ret->name), "%s of CPU %d", source->name, (int)ret->cpu);
    else
        snprintf(ret->name, sizeof(ret->name), "%s", source->name);
}

/* Bring the signals that are kept together, without room for more rows. 1: their weights matter. */
static int compact(struct rps_collect *collect, const uint8_t *keep, struct rps_collected *out)
{
    size_t count = collect->count, kept = 0;
    int uneven = 0;

    for (size_t s = 0; s < collect->signal_count; s++) {
        double *value = collect->value + s * collect->room;
        float *weight = collect->weight + s * collect->room;
        const struct rps_source *source = source_of(collect, s);

        if (!keep[s])
            continue;
        uneven |= level_weights(value, weight, count);
        memmove(collect->value + kept * count, value, count * sizeof(*value));
        memmove(collect->weight + kept * count, weight, count * sizeof(*weight));
        name_signal(collect, s, &out->signal[kept]);
        out->signals.resolution[kept] =
            rps_source_transform(source, collect->value + kept * count, count);
        kept++;
    }
    out->signals.count = count;
    out->signals.signal_count = kept;
    return uneven;
}

/* Length of one of the periods or rotations that the row stands for. */
static int64_t lone_ns(const struct row *row)
{
    return (row->end_ns - row->start_ns) / (int64_t)row->merged;
}

/* A boundary where something was not recorded. */
static void mark_gaps(const struct rps_collect *collect, uint8_t *broken)
{
    int64_t end_ns = INT64_MIN;

    for (size_t i = 1; i < collect->count; i++) {
        const struct row *row = &collect->row[i], *before = row - 1;
        int64_t length_ns = lone_ns(row), before_ns = lone_ns(before);

        end_ns = before->end_ns > end_ns ? before->end_ns : end_ns;
        broken[i] = row->start_ns - end_ns > (length_ns > before_ns ? length_ns : before_ns);
    }
}

static int give_rows(const struct rps_collect *collect, struct rps_collected *out)
{
    size_t count = collect->count > 0 ? collect->count : 1;

    out->first = calloc(count, sizeof(*out->first));
    out->last = calloc(count, sizeof(*out->last));
    out->start_ns = calloc(count, sizeof(*out->start_ns));
    out->end_ns = calloc(count, sizeof(*out->end_ns));
    out->cycle = calloc(count, sizeof(*out->cycle));
    out->cpu_s = calloc(count, sizeof(*out->cpu_s));
    out->signals.broken = calloc(count, sizeof(*out->signals.broken));
    if (!out->first || !out->last || !out->start_ns || !out->end_ns || !out->cycle || !out->cpu_s ||
        !out->signals.broken)
        return -1;
    for (size_t i = 0; i < collect->count; i++) {
        out->first[i] = collect->row[i].first;
        out->last[i] = collect->row[i].last;
        out->start_ns[i] = collect->row[i].start_ns;
        out->end_ns[i] = collect->row[i].end_ns;
        out->cycle[i] = collect->row[i].cycle;
        out->cpu_s[i] = collect->row[i].cpu_s;
    }
    mark_gaps(collect, out->signals.broken);
    return 0;
}

/* Mark the blocks in which a value was WILD_TIMES as far from its mean as is usual, where they are
 * rare: else that is how the workload is. */
static void mark_wild(const double *reach, size_t count, double *scratch, uint8_t *wild)
{
    size_t seen = 0, far = 0;
    double least;

    for (size_t i = 0; i < count; i++) {
        if (isfinite(reach[i]))
            scratch[seen++] = reach[i];
    }
    if (seen == 0)
        return;
    least = WILD_TIMES * fmax(rps_select_rank(scratch, seen, seen / 2), WILD_LEAST);
    for (size_t i = 0; i < count; i++)
        far += reach[i] > least;
    for (size_t i = 0; i < count && (double)far <= WILD_RARE * (double)count; i++)
        wild[i] |= reach[i] > least;
}

static int give_wild(const struct rps_collect *collect, struct rps_collected *out)
{
    double *scratch = calloc(collect->count + 1, sizeof(*scratch));

    out->wild = calloc(collect->count + 1, sizeof(*out->wild));
    for (size_t s = 0; s < collect->reach_count && scratch && out->wild; s++)
        mark_wild(collect->value + (collect->signal_count + s) * collect->room, collect->count,
                  scratch, out->wild);
    free(scratch);
    return scratch && out->wild ? 0 : -1;
}

static int give(struct rps_collect *collect, const uint8_t *keep, struct rps_collected *out,
                struct rps_error *err)
{
    out->set_count = collect->options.plan->set_count;
    out->level = collect->options.level;
    out->by_rotation = collect->options.by_rotation;
    out->signal = calloc(collect->signal_count, sizeof(*out->signal));
    out->signals.resolution = calloc(collect->signal_count, sizeof(*out->signals.resolution));
    if (!out->signal || !out->signals.resolution || give_rows(collect, out) < 0 ||
        (collect->reach_count > 0 && give_wild(collect, out) < 0))
        return rps_error_memory(err);
    if (compact(collect, keep, out) && out->level == 0) { /* a block is seen well enough */
        out->signals.weight = collect->weight;
        collect->weight = NULL;
    }
    out->signals.value = collect->value;
    collect->value = NULL;
    return 0;
}

static int ending_make(struct ending *ending, struct rps_error *err)
{
    size_t signals = ending->collect[0]->signal_count;

    ending->place = calloc(signals * ending->count + 1, sizeof(*ending->place));
    ending->keep = calloc(ending->count + 1, sizeof(*ending->keep));
    for (size_t r = 0; r < ending->count && ending->keep; r++) {
        ending->keep[r] = calloc(ending->collect[r]->signal_count + 1, 1);
        if (!ending->keep[r])
            return rps_error_memory(err);
    }
    return ending->place && ending->keep ? 0 : rps_error_memory(err);
}

static void ending_free(struct ending *ending)
{
    for (size_t r = 0; ending->keep && r < ending->count; r++)
        free(ending->keep[r]);
    free(ending->keep);
    free(ending->place);
}

int rps_collect_end_together(struct rps_collect *const *collect, size_t count,
                             struct rps_collected *ret, struct rps_error *err)
{
    struct ending ending = {.collect = collect, .count = count};
    int result = ending_make(&ending, err);

    memset(ret, 0, count * sizeof(*ret));
    for (size_t r = 0; r < count && result == 0; r++) {
        result = end_rotation(collect[r], err);
        drop_rows(collect[r]);
    }
    if (result == 0)
        result = choose_signals(&ending, err);
    for (size_t r = 0; r < count && result == 0; r++)
        result = give(collect[r], ending.keep[r], &ret[r], err);
    for (size_t r = 0; r < count && result < 0; r++)
        rps_collected_free(&ret[r]);
    ending_free(&ending);
    return result;
}

int rps_collect_lacks(const struct rps_collect *collect, const struct rps_collect *other, size_t at,
                      const char **ret)
{
    if (at >= other->sources.count)
        return -1;
    *ret = other->sources.source[at].name;
    return find_same(other, at, collect) == SIZE_MAX;
}

/* --- life ------------------------------------------------------------------------------------- */

static size_t event_count(const struct rps_plan *plan)
{
    size_t count = 0;

    for (int n = 0; n < plan->set_count; n++)
        count += (size_t)plan->set[n].event_count;
    return count;
}

int rps_collect_new(struct rps_collect **ret, const struct rps_collect_options *options,
                    struct rps_error *err)
{
    struct rps_collect *collect = calloc(1, sizeof(*collect));
    int result;

    if (!collect)
        return rps_error_memory(err);
    collect->options = *options;
    collect->track_count = options->cpu_count > 1 ? (size_t)options->cpu_count : 1;
    collect->period_s =
        (double)(options->period_ns > 0 ? options->period_ns : PERIOD_NS_DEFAULT) / RPS_NS_PER_S;
    result = rps_sources_choose(options, &collect->sources, err);
    collect->signal_count = collect->sources.count * collect->track_count;
    if (options->level > 0 && options->name_count == 0 && !options->as_shown)
        collect->reach_count = event_count(options->plan) + 1;
    collect->operand =
        calloc((size_t)rps_plan_operand_count(options->plan), sizeof(*collect->operand));
    if (result == 0 && !collect->operand)
        result = rps_error_memory(err);
    if (result == 0)
        result = rps_tally_init(&collect->one, options->plan, err);
    if (result == 0)
        result = rps_rotation_init(&collect->rotation, options->plan, err);
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
    rps_rotation_free(&collect->rotation);
    rps_tally_free(&collect->one);
    free(collect->operand);
    free(collect->weight);
    free(collect->value);
    free(collect->row);
    rps_sources_free(&collect->sources);
    free(collect);
}

/* Room for one more signal; weights, which are all 1 where there are none. */
static int make_room(struct rps_collected *collected, struct rps_error *err)
{
    struct rps_signals *signals = &collected->signals;
    size_t room = signals->signal_count + 1, cells = room * signals->count + 1;
    int is_weighted = signals->weight != NULL;
    void *signal = realloc(collected->signal, room * sizeof(*collected->signal));
    void *value = realloc(signals->value, cells * sizeof(*signals->value));
    void *weight = realloc(signals->weight, cells * sizeof(*signals->weight));
    void *resolution = realloc(signals->resolution, room * sizeof(*signals->resolution));
    double *noise_floor = calloc(room, sizeof(*noise_floor));

    collected->signal = signal ? signal : collected->signal;
    signals->value = value ? value : signals->value;
    signals->weight = weight ? weight : signals->weight;
    signals->resolution = resolution ? resolution : signals->resolution;
    if (!signal || !value || !weight || !resolution || !noise_floor) {
        free(noise_floor);
        return rps_error_memory(err);
    }
    for (size_t i = 0; i < signals->signal_count * signals->count && !is_weighted; i++)
        signals->weight[i] = 1;
    if (signals->noise_floor)
        memcpy(noise_floor, signals->noise_floor, (room - 1) * sizeof(*noise_floor));
    free(signals->noise_floor);
    signals->noise_floor = noise_floor;
    return 0;
}

int rps_collected_add_signal(struct rps_collected *collected, const char *name, const double *value,
                             const float *weight, double resolution, struct rps_error *err)
{
    struct rps_signals *signals = &collected->signals;
    size_t s = signals->signal_count, at = s * signals->count;

    if (make_room(collected, err) < 0)
        return RPS_FAILED;
    memcpy(signals->value + at, value, signals->count * sizeof(*value));
    memcpy(signals->weight + at, weight, signals->count * sizeof(*weight));
    signals->resolution[s] = resolution;
    signals->noise_floor[s] = NOISE_OF_RESOLUTION * resolution;
    collected->signal[s] = (struct rps_collected_signal){.metric = -1, .cpu = RPS_CPU_ALL};
    snprintf(collected->signal[s].name, sizeof(collected->signal[s].name), "%s", name);
    signals->signal_count++;
    return 0;
}

int rps_collected_add_table(struct rps_collected *collected, struct rps_count_table *table,
                            struct rps_error *err)
{
    struct rps_signals *signals = &collected->signals;
    struct rps_count_table *grown =
        rps_array_grow(signals->table, signals->table_count, sizeof(*grown));

    if (!grown) {
        rps_count_table_free(table);
        return rps_error_memory(err);
    }
    signals->table = grown;
    signals->table[signals->table_count++] = *table;
    return 0;
}

void rps_collected_free(struct rps_collected *collected)
{
    rps_signals_free(&collected->signals);
    free(collected->signal);
    free(collected->first);
    free(collected->last);
    free(collected->start_ns);
    free(collected->end_ns);
    free(collected->cycle);
    free(collected->cpu_s);
    free(collected->wild);
    *collected = (struct rps_collected){0};
}
