/* End a collection: remove rows without any value and signals that never vary, in place. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect_rows.h"
#include "detect_math.h"
#include "rpistat/plan.h"

/* A signal needs no weights if all are above this. */
#define WEIGHT_FULL 0.95f

/* Steps of the histogram that finds a signal's usual weight. */
#define WEIGHT_STEPS 100

/* A rotation is wild if its distance from the mean of its block is WILD_TIMES the usual one, which
 * is at least WILD_LEAST. At most this share of the blocks is wild. */
#define WILD_TIMES 3
#define WILD_LEAST 1.5
#define WILD_RARE  .05

/* Remove the rows that nothing was added to. */
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

/* Collects that are ended together, and the signals that all of them have. */
struct ending {
    struct rps_collect *const *collect;
    size_t count;
    size_t *place;  /* place[signal of the first * count + collect]: its number in that collect */
    uint8_t **keep; /* one per collect and signal; 1: the signal is kept */
};

/* Return the formula of a source. A gauge has no formula: return the unit of its event. */
static const char *formula_of(const struct rps_collect *collect, const struct rps_source *source)
{
    const struct rps_plan *plan = collect->options.plan;

    if (source->metric < 0)
        return "";
    return rps_plan_is_gauge(plan, &plan->metric[source->metric].formula)
               ? RPS_UNIT_GAUGE
               : plan->metric[source->metric].formula_text;
}

/* Return 1 if a source is the same in two collects. CPU use may have a metric or none. */
static int is_same(const struct rps_collect *x, const struct rps_source *a,
                   const struct rps_collect *y, const struct rps_source *b)
{
    if (strcmp(a->name, b->name) != 0 || a->kind != b->kind)
        return 0;
    if ((a->metric < 0) != (b->metric < 0))
        return strcmp(a->name, RPS_COLLECT_CPU_USE) == 0;
    return strcmp(formula_of(x, a), formula_of(y, b)) == 0;
}

/* Return the source of a signal; tracks side by side have the same sources. */
static struct rps_source *source_of(const struct rps_collect *collect, size_t s)
{
    return &collect->sources.source[s % collect->sources.count];
}

/* Return the number in one collect of signal s of another; SIZE_MAX: none. */
static size_t find_same(const struct rps_collect *from, size_t s, const struct rps_collect *in)
{
    const struct rps_source *source = source_of(from, s);

    for (size_t i = 0; i < in->sources.count && from != in; i++) {
        if (is_same(from, source, in, &in->sources.source[i]))
            return i;
    }
    return from == in ? s : SIZE_MAX;
}

/* Find signal s of the first collect in all of them; return 1 if all have it. Give it the same data
 * for its transform in all collects. */
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

        if (collect->options.level == 0) /* blocks differ by drift, and by the work itself */
            rps_source_wander(source, collect->value + place[r] * collect->room, collect->count);
        rps_source_seen_add(&all, &source->seen);
    }
    for (size_t r = 0; r < ending->count; r++)
        source_of(ending->collect[r], place[r])->seen = all;
    return 1;
}

/* Return 1 if signal s of the first collect varies anywhere, or differs between collects. */
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

/* Choose the signals that all have, that vary, and that are not rare; or the last that all have. */
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
 * Make weights relative to the signal's usual weight, the upper decile: a steady tenth of a CPU is
 * seen as well as possible. Return 1 if a weight is still below WEIGHT_FULL.
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

/* A wild block says nothing about the blocks around it: replace its value by the one before. */
static void draw_in(double *value, const uint8_t *wild, size_t count)
{
    for (size_t i = 1; wild && i < count; i++)
        value[i] = wild[i] ? value[i - 1] : value[i];
}

/* Move the kept signals together, without room for more rows. Return 1 if their weights matter. */
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
        out->signals.resolution[kept] =
            rps_source_transform(source, collect->value + kept * count, count);
        kept++;
    }
    out->signals.count = count;
    out->signals.signal_count = kept;
    return uneven;
}

/* Return the length of one of the periods or rotations in the row. */
static int64_t lone_ns(const struct rps_collect_row *row)
{
    return (row->end_ns - row->start_ns) / (int64_t)row->merged;
}

/* Mark a boundary where something was not recorded. */
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

/* Mark the blocks in which a value was WILD_TIMES the usual distance from its mean, if such blocks
 * are rare. If they are frequent, the workload is like that. */
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

static void give_wild(const struct rps_collect *collect, struct rps_collected *out)
{
    double *scratch = rps_arena_loose(collect->count, sizeof(*scratch));

    out->wild = rps_arena_loose(collect->count, sizeof(*out->wild));
    for (size_t s = 0; s < collect->reach_count; s++)
        mark_wild(collect->value + (collect->signal_count + s) * collect->room, collect->count,
                  scratch, out->wild);
    free(scratch);
}

static void give(struct rps_collect *collect, const uint8_t *keep, struct rps_collected *out)
{
    out->set_count = collect->options.plan->set_count;
    out->level = collect->options.level;
    out->by_rotation = collect->options.by_rotation;
    out->signals.in_blocks = out->level > 0;
    out->signals.in_turns = out->level > 0 || out->by_rotation ? 1 : (size_t)out->set_count;
    out->signal = rps_arena_loose(collect->signal_count, sizeof(*out->signal));
    out->signals.resolution =
        rps_arena_loose(collect->signal_count, sizeof(*out->signals.resolution));
    out->signals.broken = rps_arena_loose(collect->count, sizeof(*out->signals.broken));
    mark_gaps(collect, out->signals.broken);
    if (collect->reach_count > 0)
        give_wild(collect, out);
    if (compact(collect, keep, out) && out->level == 0) { /* a block is seen well enough */
        out->signals.weight = collect->weight;
        collect->weight = NULL;
    }
    out->signals.value = collect->value;
    collect->value = NULL;
    out->row = collect->row;
    collect->row = NULL;
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
