/* The samples of parts of a run: counted, and the shares of functions and programs in them. */
#include "rpistat/array.h"
#include "rpistat/run_code.h"
#include "rpistat/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- counts ----------------------------------------------------------------------------------- */

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

int rps_run_code_none(int64_t run_id, struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED,
                         "run %" PRId64 " has no samples of its code; `rpistat record` takes them, "
                         "while it is on a CPU, unless it is told --no-samples",
                         run_id);
}

int rps_code_is_sampled(const struct rps_run *run, const struct rps_code *code)
{
    return code->stack_count > 0 || (code->sampling.event[0] && strcmp(run->pmu, "sim") != 0);
}

/* --- the functions of groups ------------------------------------------------------------------ */

/* Put the function into its place among the group's, if it has one; most[] has what these have. */
static void place_top(struct rps_share_group *group, uint64_t most[RPS_SHARES_TOP],
                      const struct rps_share_name *name, uint64_t samples)
{
    int at = group->count;
    size_t behind;

    while (at > 0 && most[at - 1] < samples)
        at--;
    if (at == RPS_SHARES_TOP || samples == 0)
        return;
    if (group->count < RPS_SHARES_TOP)
        group->count++;
    behind = (size_t)(group->count - 1 - at);
    memmove(&group->top[at + 1], &group->top[at], behind * sizeof(group->top[0]));
    memmove(&most[at + 1], &most[at], behind * sizeof(most[0]));
    group->top[at] = (struct rps_share_top){*name, rps_shares_part(samples, group->samples)};
    most[at] = samples;
}

static void fill_group(struct rps_share_group *group, const struct rps_share_name *name,
                       const uint64_t *seen, size_t count)
{
    uint64_t most[RPS_SHARES_TOP];

    group->count = 0;
    for (size_t k = 0; k < count; k++)
        place_top(group, most, &name[k], seen[k]);
}

/* The same of functions that have names, beside the programs that the group has. */
static void fill_named(struct rps_share_group *group, const struct rps_share_name *name,
                       const uint64_t *seen, size_t count)
{
    struct rps_share_group named = {.samples = group->samples};
    uint64_t most[RPS_SHARES_TOP];

    for (size_t k = 0; k < count; k++) {
        if (!name[k].is_unnamed)
            place_top(&named, most, &name[k], seen[k]);
    }
    group->function_count = named.count;
    memcpy(group->function, named.top, sizeof(named.top));
}

static int compare_shares(const void *a, const void *b)
{
    const struct rps_share *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order ? order : strcmp(x->module, y->module);
}

/* Give functions the line where most of all samples were. */
static void place_lines(struct rps_share_name *name, size_t count, const struct rps_code *code,
                        const uint64_t *samples)
{
    struct rps_arena *scratch = rps_arena_new();
    struct rps_shares shares = rps_shares_find(scratch, code, samples, RPS_SHARES_FUNCTION);

    qsort(shares.share, shares.count, sizeof(*shares.share), compare_shares);
    for (size_t i = 0; i < count; i++) {
        const struct rps_share key = {.name = name[i].name, .module = name[i].module};
        const struct rps_share *found =
            bsearch(&key, shares.share, shares.count, sizeof(key), compare_shares);

        if (found) {
            name[i].file = found->file;
            name[i].line = found->line;
        }
    }
    rps_arena_free(scratch);
}

/* A copy, texts and all. */
static struct rps_share_name *keep_names(struct rps_arena *arena, const struct rps_share_name *name,
                                         size_t count)
{
    struct rps_share_name *kept = rps_arena_get(arena, count, sizeof(*kept));

    for (size_t i = 0; i < count; i++) {
        kept[i] = name[i];
        kept[i].name = rps_arena_text(arena, name[i].name);
        kept[i].module = rps_arena_text(arena, name[i].module);
        kept[i].file = rps_arena_text(arena, name[i].file);
    }
    return kept;
}

/* Are all groups to have programs? One kind of name for the whole part, as in the panel of a
 * picture (panel.c). */
static int is_by_program(struct rps_arena *scratch, const struct rps_code *code,
                         const struct rps_code_counts *counts, const struct rps_part_shares *shares)
{
    uint64_t *all = rps_arena_get(scratch, counts->key_count, sizeof(*all));

    for (size_t i = 0; i < shares->group_count * counts->key_count; i++)
        all[i % counts->key_count] += counts->seen[i];
    return rps_shares_are_of_programs(code, shares->name, all, counts->key_count);
}

/* Samples of programs in each group, and how many processes of each were seen there. */
struct programs {
    struct rps_share_name *name;
    int64_t *of; /* of each task */
    size_t count, task_count;
    size_t *process;   /* of each task */
    uint64_t *seen;    /* [group * count + program] */
    size_t *processes; /* the same */
    uint8_t *is_known; /* [group * task_count + process] */
};

static int add_program(void *context, size_t group, int64_t id, uint64_t samples,
                       struct rps_error *err)
{
    struct programs *programs = context;
    size_t at, process;

    (void)err;
    if ((uint64_t)id >= programs->task_count)
        return 0;
    at = group * programs->count + (size_t)programs->of[id];
    process = group * programs->task_count + programs->process[id];
    programs->seen[at] += samples;
    programs->processes[at] += !programs->is_known[process];
    programs->is_known[process] = 1;
    return 0;
}

static int fill_programs(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                         const struct rps_run_part *part, const struct rps_cpus *cpus,
                         const struct rps_code *code, struct rps_part_shares *shares,
                         struct rps_error *err)
{
    struct rps_arena *scratch = rps_arena_new();
    struct programs programs = {.task_count = code->task_count};
    int result;

    programs.of =
        rps_shares_programs(scratch, code, &programs.name, &programs.count, &programs.process);
    programs.seen =
        rps_arena_get(scratch, part->group_count, programs.count * sizeof(*programs.seen));
    programs.processes =
        rps_arena_get(scratch, part->group_count, programs.count * sizeof(*programs.processes));
    programs.is_known = rps_arena_get(scratch, part->group_count, programs.task_count);
    programs.name = keep_names(arena, programs.name, programs.count);
    result =
        rps_run_code_walk(reader, run_id, part, cpus, RPS_COUNT_TASKS, add_program, &programs, err);
    for (size_t g = 0; g < shares->group_count && result == 0; g++) {
        for (size_t p = 0; p < programs.count; p++)
            programs.name[p].processes = programs.processes[g * programs.count + p];
        fill_group(&shares->group[g], programs.name, &programs.seen[g * programs.count],
                   programs.count);
        shares->group[g].by_program = 1;
    }
    rps_arena_free(scratch);
    return result;
}

/* Is half of any group's samples in it? */
static int is_most(const struct rps_code_counts *counts, size_t groups, size_t key)
{
    for (size_t g = 0; g < groups; g++) {
        uint64_t seen = counts->seen[g * counts->key_count + key];

        if (seen > 0 && 2 * seen >= counts->of[g])
            return 1;
    }
    return 0;
}

/* Functions without names are one with the others of their module, "[libm.so.6]", but for those that
 * a group was in most: these set it apart. */
static void fold_unnamed(struct rps_arena *arena, struct rps_code_counts *counts, size_t groups,
                         struct rps_share_name *name)
{
    size_t *first = rps_arena_get(arena, counts->key_count + 1, sizeof(*first)), modules = 0;

    for (size_t k = 0; k < counts->key_count; k++) {
        const char *file = rps_text_file_name(name[k].module);
        size_t m = 0;

        if (!name[k].is_unnamed || is_most(counts, groups, k))
            continue;
        while (m < modules && strcmp(name[first[m]].module, name[k].module) != 0)
            m++;
        if (m == modules) {
            first[modules++] = k;
            name[k].name = file[0] == '[' ? file : rps_arena_print(arena, "[%s]", file);
            continue;
        }
        for (size_t g = 0; g < groups; g++) {
            uint64_t *seen = &counts->seen[g * counts->key_count];

            seen[first[m]] += seen[k];
            seen[k] = 0;
        }
    }
}

int rps_code_part_shares(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                         const struct rps_run_part *part, const struct rps_cpus *cpus,
                         const struct rps_code *code, struct rps_part_shares *ret,
                         struct rps_error *err)
{
    struct rps_arena *scratch = rps_arena_new();
    struct rps_code_counts counts = {0};
    struct rps_share_name *name;
    int result, by_program;

    counts.key =
        rps_shares_functions(scratch, code, 1, RPS_UNNAMED_FUNCTION, &name, &counts.key_count);
    result = rps_code_counts_read(scratch, &counts, reader, run_id, part, cpus, code,
                                  RPS_COUNT_STACKS, err);
    if (result < 0)
        goto out;
    place_lines(name, counts.key_count, code, counts.id);
    fold_unnamed(scratch, &counts, part->group_count, name);
    *ret = (struct rps_part_shares){
        .sampling = code->sampling,
        .unsampled = rps_code_unsampled(arena, code),
        .group_count = part->group_count,
        .name_count = counts.key_count,
        .group = rps_arena_get(arena, part->group_count, sizeof(*ret->group)),
        .name = keep_names(arena, name, counts.key_count),
        .samples =
            rps_arena_get(arena, part->group_count, counts.key_count * sizeof(*ret->samples)),
    };
    memcpy(ret->samples, counts.seen, part->group_count * counts.key_count * sizeof(*ret->samples));
    for (size_t g = 0; g < part->group_count; g++) {
        ret->group[g].samples = counts.of[g];
        ret->sample_count += counts.of[g];
    }
    by_program = is_by_program(scratch, code, &counts, ret);
    for (size_t g = 0; g < part->group_count; g++)
        (by_program ? fill_named : fill_group)(
            &ret->group[g], ret->name, &counts.seen[g * counts.key_count], counts.key_count);
    if (by_program)
        result = fill_programs(arena, reader, run_id, part, cpus, code, ret, err);
out:
    rps_arena_free(scratch);
    return result;
}
