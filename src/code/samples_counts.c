/* Counts the samples of parts of a run, by stack or by task. */
#include "sample_source.h"

#include <math.h>

#include "rpistat/arena.h"
#include "rpistat/cpus.h"
#include "rpistat/latency.h"
#include "rpistat/period.h"

#define KEPT_MAX (16 << 20) /* Maximum size of the counts in memory: 4 to 5 million counts. */

struct walk {
    const struct rps_run_part *part;
    size_t at;      /* Range of the previous count. */
    double rest_us; /* Latency that is left over because weights are whole numbers. */
    rps_run_code_each *each;
    void *context;
};

RPS_ARRAY_BEFORE(ends_before, struct rps_run_stretch, .last, <, uint64_t)

/* Return the range that contains the period, or NULL. */
static const struct rps_run_stretch *find_stretch(struct walk *walk, uint64_t period)
{
    const struct rps_run_stretch *stretch = walk->part->stretch;
    size_t count = walk->part->count, at;

    /* Most counts are in the previous count's range or in the next range. */
    for (at = walk->at; at < count && at <= walk->at + 1; at++) {
        if (period >= stretch[at].first && period <= stretch[at].last) {
            walk->at = at;
            return &stretch[at];
        }
    }
    at = rps_array_find(stretch, count, sizeof(*stretch), ends_before, &period);
    if (at == count || period < stretch[at].first)
        return NULL;
    walk->at = at;
    return &stretch[at];
}

static int walk_count(void *context, const struct rps_code_count *count, struct rps_error *err)
{
    struct walk *walk = context;
    const struct rps_run_stretch *stretch = find_stretch(walk, count->period);
    struct rps_code_weight of = {count->samples, count->samples};

    if (!stretch)
        return 0;
    if (walk->part->latency) {
        walk->rest_us += rps_latency_us(walk->part->latency, count->period, count->samples);
        of.weight = (uint64_t)floor(walk->rest_us + .5);
        walk->rest_us -= (double)of.weight;
    }
    return walk->each(walk->context, stretch->group, count->id, of, err);
}

/* Read the counts of the chosen or all CPUs. Return the last result of the query's `count`. */
static int read_counts(struct rps_reader *reader, int64_t run_id, const struct rps_cpus *cpus,
                       struct rps_code_count_query *query, struct rps_error *err)
{
    int result = 0, i = 0;

    do {
        query->cpu = cpus->count > 0 ? cpus->cpu[i] : RPS_CPU_ALL;
        result = rps_reader_code_counts(reader, run_id, query, err);
    } while (result == 0 && ++i < cpus->count);
    return result;
}

int rps_run_code_walk(struct rps_reader *reader, int64_t run_id, const struct rps_run_part *part,
                      const struct rps_cpus *cpus, enum rps_code_counted what,
                      rps_run_code_each *each, void *context, struct rps_error *err)
{
    struct walk walk = {.part = part, .each = each, .context = context};
    struct rps_code_count_query query = {.what = what, .count = walk_count, .context = &walk};
    int result;

    if (part->count == 0)
        return 0;
    query.first = part->stretch[0].first;
    query.last = part->stretch[part->count - 1].last;
    result = read_counts(reader, run_id, cpus, &query, err);
    return result < 0 ? result : 0;
}

static int add_count(void *context, size_t group, int64_t id, struct rps_code_weight of,
                     struct rps_error *err)
{
    struct rps_code_counts *counts = context;

    (void)err;
    if ((uint64_t)id >= counts->ids)
        return 0;
    counts->samples_of[group] += of.samples;
    counts->samples_id[id] += of.samples;
    counts->of[group] += of.weight;
    counts->id[id] += of.weight;
    if (counts->key_count > 0 && counts->key[id] >= 0)
        counts->seen[group * counts->key_count + (size_t)counts->key[id]] += of.weight;
    return 0;
}

static void make_counts(struct rps_arena *arena, struct rps_code_counts *counts,
                        const struct rps_run_part *part, const struct rps_code *code,
                        enum rps_code_counted what)
{
    counts->ids = what == RPS_COUNT_TASKS ? code->task_count : code->stack_count;
    counts->seen =
        rps_arena_get(arena, part->group_count, counts->key_count * sizeof(*counts->seen));
    counts->of = rps_arena_get(arena, part->group_count, sizeof(*counts->of));
    counts->id = rps_arena_get(arena, counts->ids, sizeof(*counts->id));
    counts->samples_of = rps_arena_get(arena, part->group_count, sizeof(*counts->samples_of));
    counts->samples_id = rps_arena_get(arena, counts->ids, sizeof(*counts->samples_id));
}

int rps_code_counts_read(struct rps_arena *arena, struct rps_code_counts *counts,
                         struct rps_reader *reader, int64_t run_id, const struct rps_run_part *part,
                         const struct rps_cpus *cpus, const struct rps_code *code,
                         enum rps_code_counted what, struct rps_error *err)
{
    make_counts(arena, counts, part, code, what);
    return rps_run_code_walk(reader, run_id, part, cpus, what, add_count, counts, err);
}

/* --- for several parts ------------------------------------------------------------------------ */

struct rps_sample_source rps_sample_source_open(struct rps_reader *reader, int64_t run_id,
                                                const struct rps_cpus *cpus,
                                                const struct rps_code *code,
                                                const struct rps_run_part *part, size_t count)
{
    struct rps_sample_source source = {.arena = rps_arena_new(),
                                       .first = UINT64_MAX,
                                       .reader = reader,
                                       .run_id = run_id,
                                       .cpus = cpus,
                                       .code = code};
    const struct rps_sample_source *before = code->source;

    for (size_t p = 0; p < count; p++) {
        const struct rps_run_stretch *stretch = part[p].stretch;

        if (part[p].count == 0)
            continue;
        source.first = stretch[0].first < source.first ? stretch[0].first : source.first;
        source.last = stretch[part[p].count - 1].last > source.last
                          ? stretch[part[p].count - 1].last
                          : source.last;
    }
    for (int k = 0; before && k < 2; k++) {
        if (before->kept[k].is_kept && cpus->count == 0 && before->first <= source.first &&
            before->last >= source.last)
            source.kept[k] = before->kept[k];
    }
    source.index = rps_share_index_make(source.arena, source.arena, code, RPS_SHARES_FUNCTION,
                                        RPS_UNNAMED_FUNCTION, 1);
    return source;
}

struct keeping {
    struct rps_arena *arena;
    struct rps_kept_counts *kept;
    uint64_t period; /* Period of the previous count. */
};

static void put_number(const struct keeping *keeping, uint64_t number)
{
    struct rps_kept_counts *kept = keeping->kept;

    do {
        kept->byte = rps_arena_grow(keeping->arena, kept->byte, kept->size, 1);
        kept->byte[kept->size++] = (uint8_t)(number > 0x7f ? number | 0x80 : number);
    } while (number >>= 7);
}

static uint64_t next_number(const struct rps_kept_counts *kept, size_t *at)
{
    uint64_t number = kept->byte[*at] & 0x7f;

    for (int shift = 7; kept->byte[(*at)++] & 0x80; shift += 7)
        number |= (uint64_t)(kept->byte[*at] & 0x7f) << shift;
    return number;
}

/* Keep a count in memory. Return 1 if there are too many counts. */
static int keep_count(void *context, const struct rps_code_count *count, struct rps_error *err)
{
    struct keeping *keeping = context;

    (void)err;
    put_number(keeping, count->period - keeping->period);
    put_number(keeping, (uint64_t)count->id);
    put_number(keeping, count->samples);
    keeping->period = count->period;
    return keeping->kept->size > KEPT_MAX;
}

static int keep_counts(struct rps_sample_source *source, enum rps_code_counted what,
                       struct rps_kept_counts *kept, struct rps_error *err)
{
    struct keeping keeping = {source->arena, kept, 0};
    struct rps_code_count_query query = {.what = what,
                                         .first = source->first,
                                         .last = source->last,
                                         .count = keep_count,
                                         .context = &keeping};
    int result = read_counts(source->reader, source->run_id, source->cpus, &query, err);

    kept->is_read = 1;
    kept->is_kept = result == 0;
    return result < 0 ? result : 0;
}

int rps_sample_source_walk(struct rps_sample_source *source, const struct rps_run_part *part,
                           enum rps_code_counted what, rps_run_code_each *each, void *context,
                           struct rps_error *err)
{
    struct rps_kept_counts *kept = &source->kept[what == RPS_COUNT_TASKS];
    struct walk walk = {.part = part, .each = each, .context = context};
    struct rps_code_count of = {.period = 0};
    int result = 0;

    if (part->count == 0)
        return 0;
    if (!kept->is_read && keep_counts(source, what, kept, err) < 0)
        return RPS_FAILED;
    if (!kept->is_kept)
        return rps_run_code_walk(source->reader, source->run_id, part, source->cpus, what, each,
                                 context, err);
    for (size_t at = 0; at < kept->size && result == 0;) {
        of.period += next_number(kept, &at);
        of.id = (int64_t)next_number(kept, &at);
        of.samples = next_number(kept, &at);
        result = walk_count(&walk, &of, err);
    }
    return result < 0 ? result : 0;
}

int rps_sample_source_count(struct rps_arena *arena, struct rps_code_counts *counts,
                            struct rps_sample_source *source, const struct rps_run_part *part,
                            enum rps_code_counted what, struct rps_error *err)
{
    make_counts(arena, counts, part, source->code, what);
    return rps_sample_source_walk(source, part, what, add_count, counts, err);
}
