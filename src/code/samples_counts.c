/* Counts the samples of parts of a run, by stack or by task. */
#include "rpistat/array.h"
#include "rpistat/run_code.h"

struct walk {
    const struct rps_run_part *part;
    size_t at; /* the stretch that the last count lay in */
    rps_run_code_each *each;
    void *context;
};

static int ends_before(const void *stretch, const void *period)
{
    return ((const struct rps_run_stretch *)stretch)->last < *(const uint64_t *)period;
}

/* The stretch that the period lies in, or NULL. */
static const struct rps_run_stretch *find_stretch(struct walk *walk, uint64_t period)
{
    const struct rps_run_stretch *stretch = walk->part->stretch;
    size_t count = walk->part->count, at;

    if (period >= stretch[walk->at].first && period <= stretch[walk->at].last)
        return &stretch[walk->at];
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

    return stretch ? walk->each(walk->context, stretch->group, count->id, count->samples, err) : 0;
}

int rps_run_code_walk(struct rps_reader *reader, int64_t run_id, const struct rps_run_part *part,
                      const struct rps_cpus *cpus, enum rps_code_counted what,
                      rps_run_code_each *each, void *context, struct rps_error *err)
{
    struct walk walk = {.part = part, .each = each, .context = context};
    struct rps_code_count_query query = {
        .what = what, .cpu = RPS_CPU_ALL, .count = walk_count, .context = &walk};
    int result = 0;

    if (part->count == 0)
        return 0;
    query.first = part->stretch[0].first;
    query.last = part->stretch[part->count - 1].last;
    if (cpus->count == 0)
        result = rps_reader_code_counts(reader, run_id, &query, err);
    for (int i = 0; i < cpus->count && result == 0; i++) {
        query.cpu = cpus->cpu[i];
        result = rps_reader_code_counts(reader, run_id, &query, err);
    }
    return result < 0 ? result : 0;
}

static int add_count(void *context, size_t group, int64_t id, uint64_t samples,
                     struct rps_error *err)
{
    struct rps_code_counts *counts = context;

    (void)err;
    if ((uint64_t)id >= counts->ids)
        return 0;
    counts->of[group] += samples;
    counts->id[id] += samples;
    if (counts->key_count > 0 && counts->key[id] >= 0)
        counts->seen[group * counts->key_count + (size_t)counts->key[id]] += samples;
    return 0;
}

int rps_code_counts_read(struct rps_arena *arena, struct rps_code_counts *counts,
                         struct rps_reader *reader, int64_t run_id, const struct rps_run_part *part,
                         const struct rps_cpus *cpus, const struct rps_code *code,
                         enum rps_code_counted what, struct rps_error *err)
{
    counts->ids = what == RPS_COUNT_TASKS ? code->task_count : code->stack_count;
    counts->seen =
        rps_arena_get(arena, part->group_count, counts->key_count * sizeof(*counts->seen));
    counts->of = rps_arena_get(arena, part->group_count, sizeof(*counts->of));
    counts->id = rps_arena_get(arena, counts->ids, sizeof(*counts->id));
    return rps_run_code_walk(reader, run_id, part, cpus, what, add_count, counts, err);
}
