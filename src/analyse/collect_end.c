/* End a collection: remove rows without any value and signals that never vary, in place. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect_rows.h"
#include "detect_math.h"
#include "rpistat/arena.h"
#include "rpistat/collect.h"
#include "rpistat/plan.h"

/* If all weights of a signal are above this value, the weights are dropped. */
#define WEIGHT_FULL 0.95f

/* Number of steps in the histogram from which a signal's usual weight is found. */
#define WEIGHT_STEPS 100

/* A rotation is wild if its distance from the mean of its block is more than WILD_TIMES the usual
 * distance. The usual distance is assumed to be at least WILD_MIN. If more than a share of
 * WILD_RARE of the blocks is wild, none is treated as wild. */
#define WILD_TIMES 3
#define WILD_MIN   1.5
#define WILD_RARE  .05

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

/* The collects that are ended together, and the signals that all these collects have. */
struct ending {
    struct rps_collect *const *collect;
    size_t count;
    size_t *place;  /* place[s * count + r]: index in collect r of the first collect's signal s */
    uint8_t **keep; /* keep[collect][signal]: 1 if the signal is kept */
};

/* Return the formula of a source. A gauge has no formula: return the unit of the gauge's event. */
static const char *formula_of(const struct rps_collect *collect, const struct rps_source *source)
{
    const struct rps_plan *plan = collect->options.plan;

    if (source->metric < 0)
        return "";
    return rps_plan_is_gauge(plan, &plan->metric[source->metric].formula)
               ? RPS_UNIT_GAUGE
               : plan->metric[source->metric].formula_text;
}

/* Return 1 if the sources are the same. CPU use is one source, with or without a metric. */
static int is_same(const struct rps_collect *x, const struct rps_source *a,
                   const struct rps_collect *y, const struct rps_source *b)
{
    if (strcmp(a->name, b->name) != 0 || a->kind != b->kind)
        return 0;
    if ((a->metric < 0) != (b->metric < 0))
        return strcmp(a->name, RPS_COLLECT_CPU_USE) == 0;
    return strcmp(formula_of(x, a), formula_of(y, b)) == 0;
}

/* Return the source of a signal. Tracks that are side by side have the same sources. */
static struct rps_source *source_of(const struct rps_collect *collect, size_t s)
{
    return &collect->sources.source[s % collect->sources.count];
}

/* Find in collect `in` the signal that equals signal s of collect `from`. Return the index of this
 * signal in `in`, or SIZE_MAX if `in` lacks the signal. */
static size_t find_same(const struct rps_collect *from, size_t s, const struct rps_collect *in)
{
    const struct rps_source *source = source_of(from, s);

    for (size_t i = 0; i < in->sources.count && from != in; i++) {
        if (is_same(from, source, in, &in->sources.source[i]))
            return i;
    }
    return from == in ? s : SIZE_MAX;
}

/* Find signal s of the first collect in all collects. Return 1 if all collects have the signal.
 * Give all collects the same data for the transform of the signal. */
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

        if (collect->options.level == 0) /* no drift for blocks, because their values also differ
                                            when the work differs */
            rps_source_drift(source, collect->value + place[r] * collect->room, collect->count);
        rps_source_seen_add(&all, &source->seen);
    }
    for (size_t r = 0; r < ending->count; r++)
        source_of(ending->collect[r], place[r])->seen = all;
    return 1;
}

/* Return 1 if signal s of the first collect varies in any collect, or differs between collects. */
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

/* Choose the signals that exist in all collects, vary, and are not rare. If there are none, choose
 * the last signal that exists in all collects. */
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
        return rps_error_set(err, RPS_FAILED, "the runs have no common metric; choose other runs");
    for (size_t r = 0; r < ending->count && kept == 0; r++)
        ending->keep[r][ending->place[last * ending->count + r]] = 1;
    return 0;
}

/* Divide the weights by the usual weight of the signal, which is the upper decile. So a signal that
 * is counted in a tenth of the time everywhere has full weight. Return 1 if a weight is still below
 * WEIGHT_FULL. */
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

/* Replace the value of each wild block by the value of the previous block. A wild value must not
 * affect how neighbouring blocks are grouped into phases. */
static void draw_in(double *value, const uint8_t *wild, size_t count)
{
    for (size_t i = 1; wild && i < count; i++)
        value[i] = wild[i] ? value[i - 1] : value[i];
}

/* Return 1 if the kept signals are columns of a table: each is a gauge or a count per time. */
static int is_table(const struct rps_collect *collect, const uint8_t *keep)
{
    for (size_t s = 0; s < collect->signal_count; s++) {
        const struct rps_source *source = source_of(collect, s);

        if (keep[s] && source->kind != RPS_SOURCE_RATE &&
            strcmp(formula_of(collect, source), RPS_UNIT_GAUGE) != 0)
            return 0;
    }
    return collect->options.as_table;
}

/* Move the values of kept signals together, so that no space for further rows remains. Return 1 if
 * a signal needs weights. */
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
        draw_in(collect->value + kept * count, out->wild, count);
        name_signal(collect, s, &out->signal[kept]);
        if (!out->is_table)
            out->signals.resolution[kept] =
                rps_source_transform(source, collect->value + kept * count, count);
        kept++;
        if (source->faults && !source->named)
            out->signals.fault_signal = kept;
        if (source->kind == RPS_SOURCE_USE) {
            out->signals.idle = out->signals.use_signal > 0 ? 0 : rps_source_idle();
            out->signals.use_signal = kept;
        }
    }
    out->signals.count = count;
    out->signals.signal_count = kept;
    return uneven;
}

/* Return the mean length of the periods or rotations in the row. */
static int64_t lone_ns(const struct rps_collect_row *row)
{
    return (row->end_ns - row->start_ns) / (int64_t)row->merged;
}

static void mark_gaps(const struct rps_collect *collect, uint8_t *broken)
{
    int64_t end_ns = INT64_MIN;

    for (size_t i = 1; i < collect->count; i++) {
        const struct rps_collect_row *row = &collect->row[i], *before = row - 1;
        int64_t length_ns = lone_ns(row), before_ns = lone_ns(before);

        end_ns = before->end_ns > end_ns ? before->end_ns : end_ns;
        broken[i] = row->start_ns - end_ns > (length_ns > before_ns ? length_ns : before_ns);
    }
}

/* Mark the blocks in which the distance of a value from the block's mean exceeded WILD_TIMES the
 * usual distance. Mark no blocks if there are many, because they are then normal. */
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
    least = WILD_TIMES * fmax(rps_select_rank(scratch, seen, seen / 2), WILD_MIN);
    for (size_t i = 0; i < count; i++)
        far += reach[i] > least;
    for (size_t i = 0; i < count && (double)far <= WILD_RARE * (double)count; i++)
        wild[i] |= reach[i] > least;
}

static void give(struct rps_collect *collect, const uint8_t *keep, struct rps_collected *out)
{
    out->set_count = collect->options.plan->set_count;
    out->level = collect->options.level;
    out->by_rotation = collect->options.by_rotation;
    out->is_table = is_table(collect, keep);
    out->signals.in_blocks = out->level > 0;
    out->signals.in_rotation = out->level > 0 || out->by_rotation ? 1 : (size_t)out->set_count;
    out->signal = rps_arena_loose(collect->signal_count, sizeof(*out->signal));
    if (!out->is_table)
        out->signals.resolution =
            rps_arena_loose(collect->signal_count, sizeof(*out->signals.resolution));
    out->signals.broken = rps_arena_loose(collect->count, sizeof(*out->signals.broken));
    mark_gaps(collect, out->signals.broken);
    if (collect->reach_count > 0) {
        double *scratch = rps_arena_loose(collect->count, sizeof(*scratch));

        out->wild = rps_arena_loose(collect->count, sizeof(*out->wild));
        for (size_t s = 0; s < collect->reach_count; s++)
            mark_wild(collect->value + (collect->signal_count + s) * collect->room, collect->count,
                      scratch, out->wild);
        free(scratch);
    }
    if (compact(collect, keep, out) && !out->is_table && out->level == 0) { /* blocks: well seen */
        out->signals.weight = collect->weight;
        collect->weight = NULL;
    }
    out->signals.value = collect->value;
    collect->value = NULL;
    out->row = collect->row;
    collect->row = NULL;
    if (collect->missed > 0)
        out->late = (double)collect->missed / (double)(collect->periods + collect->missed);
}

int rps_collect_end_together(struct rps_collect *const *collect, size_t count,
                             struct rps_collected *ret, struct rps_error *err)
{
    struct rps_arena *arena = rps_arena_new();
    struct ending ending = {
        collect, count,
        rps_arena_get(arena, collect[0]->signal_count * count, sizeof(*ending.place)),
        rps_arena_get(arena, count, sizeof(*ending.keep))};
    int result = 0;

    memset(ret, 0, count * sizeof(*ret));
    for (size_t r = 0; r < count && result == 0; r++) {
        ending.keep[r] = rps_arena_get(arena, collect[r]->signal_count, 1);
        result = rps_collect_end_rotation(collect[r], err);
        drop_rows(collect[r]);
    }
    if (result == 0)
        result = choose_signals(&ending, err);
    for (size_t r = 0; r < count && result == 0; r++)
        give(collect[r], ending.keep[r], &ret[r]);
    rps_arena_free(arena);
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

/* Add external signals and tables to collected signals. */

/* Minimum noise of an added signal, as a share of its resolution. */
#define NOISE_OF_RESOLUTION .25

static void *enlarged(void *array, size_t count, size_t size)
{
    void *ret = realloc(array, (count + 1) * size);

    if (!ret)
        rps_arena_exhausted();
    return ret;
}

/* Make room for one more signal and for weights. If there were no weights, set all weights to 1. */
static void make_room(struct rps_collected *collected)
{
    struct rps_signals *signals = &collected->signals;
    size_t had = signals->signal_count, room = had + 1, cells = room * signals->count;
    int is_weighted = signals->weight != NULL, has_floor = signals->noise_floor != NULL;

    collected->signal = enlarged(collected->signal, room, sizeof(*collected->signal));
    signals->value = enlarged(signals->value, cells, sizeof(*signals->value));
    signals->weight = enlarged(signals->weight, cells, sizeof(*signals->weight));
    signals->resolution = enlarged(signals->resolution, room, sizeof(*signals->resolution));
    signals->noise_floor = enlarged(signals->noise_floor, room, sizeof(*signals->noise_floor));
    for (size_t i = 0; i < had * signals->count && !is_weighted; i++)
        signals->weight[i] = 1;
    for (size_t s = 0; s < had && !has_floor; s++)
        signals->noise_floor[s] = 0;
}

void rps_collected_add_signal(struct rps_collected *collected, const char *name,
                              const double *value, const float *weight, double resolution)
{
    struct rps_signals *signals = &collected->signals;
    size_t s = signals->signal_count, at = s * signals->count;

    make_room(collected);
    memcpy(signals->value + at, value, signals->count * sizeof(*value));
    memcpy(signals->weight + at, weight, signals->count * sizeof(*weight));
    signals->resolution[s] = resolution;
    signals->noise_floor[s] = NOISE_OF_RESOLUTION * resolution;
    collected->signal[s] = (struct rps_collected_signal){.metric = -1, .cpu = RPS_CPU_ALL};
    snprintf(collected->signal[s].name, sizeof(collected->signal[s].name), "%s", name);
    signals->signal_count++;
}

void rps_collected_add_table(struct rps_collected *collected, const struct rps_count_table *table)
{
    struct rps_signals *signals = &collected->signals;

    signals->table = enlarged(signals->table, signals->table_count, sizeof(*table));
    signals->table[signals->table_count++] = *table;
}

void rps_collected_free(struct rps_collected *collected)
{
    rps_signals_free(&collected->signals);
    free(collected->signal);
    free(collected->row);
    free(collected->wild);
    *collected = (struct rps_collected){0};
}
