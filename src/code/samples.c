/* The shares of functions and programs in the samples of parts of a run. */
#include "sample_source.h"
#include "rpistat/latency.h"
#include "rpistat/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

int rps_run_code_none(int64_t run_id, struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED,
                         "run %" PRId64 " has no samples: it used no CPU time, or was recorded "
                         "with --no-samples; record it again without that option",
                         run_id);
}

int rps_run_code_no_period(int64_t run_id, struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED,
                         "run %" PRId64 " has no measurement period in this selection; choose "
                         "another time range or phase",
                         run_id);
}

int rps_run_code_check_cgroups(int64_t run_id, const struct rps_code *code, struct rps_error *err)
{
    if (code->cgroup_count > 0)
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "run %" PRId64 " has no control groups; record with -a, -C or -G", run_id);
}

int rps_code_is_sampled(const struct rps_run *run, const struct rps_code *code)
{
    return code->stack_count > 0 || (code->sampling.event[0] && strcmp(run->pmu, "sim") != 0);
}

/* --- the functions of groups ------------------------------------------------------------------ */

/* Return the whole of which shares of a group are. 0, for no shares: there are too few samples. */
static uint64_t whole_of(const struct rps_share_group *group)
{
    return group->samples < RPS_SHARES_SAMPLES_MIN ? 0 : group->weight;
}

static int is_by_address(const struct rps_share_name *name, uint64_t seen)
{
    return name->is_unnamed && name->name[0] != '[' && seen > 0;
}

/* Return the name that stands for the code without symbols of a function's module: "[libm.so.6]".
 * Return `count` if there is none. */
static size_t find_module(const struct rps_share_name *name, size_t count, size_t function)
{
    size_t m = 0;

    while (m < count && !(name[m].is_unnamed && name[m].name[0] == '[' &&
                          strcmp(name[m].module, name[function].module) == 0))
        m++;
    return m;
}

/* Fill `top` with the functions that have the largest shares of the group's samples. `seen`: after
 * join_unnamed(). A function without a name is shown by address if it has most samples; the rest of
 * its module is then "other [gzip]". named: 1 to leave out the merged code without symbols of
 * programs. Return the number of functions. */
static int fill_top(struct rps_arena *arena, struct rps_share_top top[RPS_SHARES_TOP],
                    const struct rps_share_group *group, const struct rps_share_name *name,
                    const uint64_t *seen, size_t count, int named)
{
    struct rps_arena *scratch = rps_arena_new();
    uint64_t *of = rps_arena_get(scratch, count, sizeof(*of));
    size_t place[RPS_SHARES_TOP], kept, m;

    for (size_t k = 0; k < count; k++) {
        of[k] += seen[k];
        if (is_by_address(&name[k], seen[k]) && (m = find_module(name, count, k)) < count)
            of[2 * seen[k] >= group->weight ? m : k] -= seen[k];
    }
    for (size_t k = 0; k < count && named; k++) {
        if (name[k].is_unnamed && name[k].name[0] == '[' && !rps_share_is_library(name[k].module))
            of[k] = 0;
    }
    kept = rps_shares_largest(of, count, RPS_SHARES_TOP, place);
    for (size_t i = 0; i < kept; i++) {
        const size_t k = place[i];

        top[i] = (struct rps_share_top){name[k], rps_shares_part(of[k], whole_of(group)), of[k]};
        if (of[k] < seen[k])
            top[i].name.name = rps_arena_print(arena, "other %s", name[k].name);
    }
    rps_arena_free(scratch);
    return (int)kept;
}

static struct rps_share_name *keep_names(struct rps_arena *arena, const struct rps_share_name *name,
                                         size_t count)
{
    struct rps_share_name *kept = rps_arena_get(arena, count, sizeof(*kept));

    for (size_t i = 0; i < count; i++)
        kept[i] = rps_share_name_keep(arena, &name[i]);
    return kept;
}

/* The numbers of samples of programs or control groups: first for each group of the part, then the
 * totals of all groups. `processes` has the number of processes of each program or control group;
 * in a group, without processes that have samples only at its boundaries. */
struct owners {
    struct rps_share_name *name;
    int64_t *of;     /* Owner of each task. */
    size_t *process; /* Process of each task. */
    size_t group_count, count, task_count;
    uint64_t *seen;     /* Number of samples, indexed by group * count + owner. */
    size_t *processes;  /* Process number for each index of `seen`. */
    uint8_t *are_known; /* A bit per process: 1 if the group has samples of the process. The
                           bit's index is group * task_count + process. */
};

static void see_process(struct owners *owners, size_t group, int64_t task)
{
    size_t at = group * owners->count + (size_t)owners->of[task];
    size_t bit = group * owners->task_count + owners->process[task];
    uint8_t *known = &owners->are_known[bit / 8], mask = (uint8_t)(1 << bit % 8);

    owners->processes[at] += !(*known & mask);
    *known |= mask;
}

/* Add a count to its program and to its control group. If control groups are unknown, the
 * task_count of their `owners` is 0. */
/* `group`: in the part of mark_edges(). */
static int add_owner(void *context, size_t group, int64_t id, struct rps_code_weight of,
                     struct rps_error *err)
{
    struct owners *owners = context;

    (void)err;
    for (int i = 0; i < 2 && (uint64_t)id < owners[i].task_count; i++) {
        const size_t all = owners[i].group_count, own = group % all;

        owners[i].seen[own * owners[i].count + (size_t)owners[i].of[id]] += of.weight;
        owners[i].seen[all * owners[i].count + (size_t)owners[i].of[id]] += of.weight;
        see_process(&owners[i], all, id);
        if (group == own)
            see_process(&owners[i], own, id);
    }
    return 0;
}

/* Return 1 if segment i of the part and the next one are neighbours in different groups. */
static int is_boundary(const struct rps_run_part *part, size_t i)
{
    const struct rps_run_stretch *of = &part->stretch[i];

    return i + 1 < part->count && of->last + 1 == of[1].first && of->group != of[1].group;
}

/* Return the part with the periods at boundaries as separate segments, whose groups are higher by
 * group_count. A boundary is inside a period, so a process that has samples only there may belong
 * to the other group. */
static struct rps_run_part mark_edges(struct rps_arena *arena, const struct rps_run_part *part)
{
    struct rps_run_part ret = *part;

    ret.stretch = rps_arena_get(arena, 3 * part->count, sizeof(*ret.stretch));
    ret.count = 0;
    for (size_t i = 0; i < part->count; i++) {
        const struct rps_run_stretch of = part->stretch[i];
        const int is_long = of.last - of.first >= 2;
        const int is_after = is_long && i > 0 && is_boundary(part, i - 1);
        const int is_before = is_long && is_boundary(part, i);
        const size_t edge = of.group + part->group_count;

        if (is_after)
            ret.stretch[ret.count++] = (struct rps_run_stretch){of.first, of.first, edge};
        ret.stretch[ret.count++] = (struct rps_run_stretch){
            of.first + (uint64_t)is_after, of.last - (uint64_t)is_before, of.group};
        if (is_before)
            ret.stretch[ret.count++] = (struct rps_run_stretch){of.last, of.last, edge};
    }
    return ret;
}

static struct owners make_owners(struct rps_arena *arena, size_t group_count,
                                 const struct rps_code *code, enum rps_shares_by by)
{
    size_t groups = group_count + 1;
    struct owners ret = {.group_count = group_count, .task_count = code->task_count};

    ret.of = rps_shares_owners(arena, code, by, &ret.name, &ret.count, &ret.process);
    ret.seen = rps_arena_get(arena, groups, ret.count * sizeof(*ret.seen));
    ret.processes = rps_arena_get(arena, groups, ret.count * sizeof(*ret.processes));
    ret.are_known = rps_arena_get(arena, groups, code->task_count / 8 + 1);
    return ret;
}

/* Return the programs or control groups that have most samples in a group. Texts are copied into
 * the arena. */
static struct rps_share_owners first_owners(struct rps_arena *arena, const struct owners *owners,
                                            size_t group)
{
    const uint64_t *seen = &owners->seen[group * owners->count];
    size_t place[RPS_SHARES_OWNERS];
    struct rps_share_owners ret = {
        .count = rps_shares_largest(seen, owners->count, RPS_SHARES_OWNERS, place)};

    for (size_t i = 0; i < owners->count; i++)
        ret.all += seen[i] > 0;
    for (size_t i = 0; i < ret.count; i++) {
        struct rps_share_name name = rps_share_name_keep(arena, &owners->name[place[i]]);

        name.processes = owners->processes[group * owners->count + place[i]];
        ret.owner[i] = (struct rps_share_owner){name, seen[place[i]]};
    }
    return ret;
}

/* Find the programs that waited most for a CPU, if such waits are known. */
static void fill_waits(struct rps_arena *arena, const struct rps_code *code,
                       struct rps_part_shares *shares)
{
    const size_t count = code->sampling.no_wait[0] ? 0 : code->program_count;
    uint64_t *us = rps_arena_get(arena, count, sizeof(*us));
    size_t place[RPS_SHARES_OWNERS];

    for (size_t i = 0; i < count; i++) {
        us[i] = code->program[i].wait_ns > 0 ? (uint64_t)code->program[i].wait_ns / 1000 : 0;
        shares->wait_us += us[i];
        shares->waits.all += us[i] > 0;
    }
    shares->waits.count = rps_shares_largest(us, count, RPS_SHARES_OWNERS, place);
    for (size_t i = 0; i < shares->waits.count; i++)
        shares->waits.owner[i] = (struct rps_share_owner){
            {.name = rps_arena_text(arena, code->program[place[i]].name)}, us[place[i]]};
}

/* Set is_alike: 1 if all groups with enough samples have most samples under the same name. */
static void find_alike(struct rps_part_shares *shares)
{
    const char *first = NULL;
    int is_alike = 1;

    for (size_t g = 0; g < shares->group_count; g++) {
        const struct rps_share_top *top = &shares->group[g].top[0];

        if (shares->group[g].count == 0 || isnan(top->share))
            continue;
        first = first ? first : top->name.name;
        is_alike &= strcmp(top->name.name, first) == 0;
    }
    for (size_t g = 0; g < shares->group_count; g++)
        shares->group[g].is_alike = is_alike;
}

/* Decide whether all groups show programs instead of functions. All groups of the part show the
 * same choice, as the panel of a picture does (panel.c). If programs are shown, count their
 * samples, and the samples of control groups if control groups are known. */
static int is_by_program(struct rps_arena *scratch, struct rps_sample_source *source,
                         const struct rps_run_part *part, const struct rps_code_counts *counts,
                         const struct rps_part_shares *shares, struct owners owners[2],
                         struct rps_error *err)
{
    const struct rps_code *code = source->code;
    uint64_t *all = rps_arena_get(scratch, counts->key_count, sizeof(*all));
    const struct rps_run_part marked = mark_edges(scratch, part);
    struct rps_share_owners first;
    int result;

    for (size_t i = 0; i < shares->group_count * counts->key_count; i++)
        all[i % counts->key_count] += counts->seen[i];
    if (!rps_shares_are_of_programs(code, shares->name, all, counts->key_count))
        return 0;
    owners[0] = make_owners(scratch, part->group_count, code, RPS_SHARES_PROGRAM);
    if (code->cgroup_count > 0)
        owners[1] = make_owners(scratch, part->group_count, code, RPS_SHARES_CGROUP);
    result = rps_sample_source_walk(source, &marked, RPS_COUNT_TASKS, add_owner, owners, err);
    first = first_owners(scratch, &owners[0], part->group_count);
    if (result == 0)
        result = code->is_of_machine ||
                 (double)first.owner[0].samples < RPS_SHARES_ONE_PROGRAM * (double)shares->weight;
    return result;
}

/* Find the programs of each group, which are its top names if by_program is 1. If the run recorded
 * a machine, also find the programs of all groups together, and the control groups. */
static int fill_programs(struct rps_arena *arena, struct rps_sample_source *source,
                         const struct rps_run_part *part, const struct owners owners[2],
                         int by_program, struct rps_part_shares *shares, struct rps_error *err)
{
    const struct rps_code *code = source->code;
    int result = 0;

    for (size_t g = 0; g < shares->group_count; g++) {
        struct rps_share_group *group = &shares->group[g];
        struct rps_share_owners first = first_owners(arena, &owners[0], g);

        struct rps_share_top *top = by_program ? group->top : &group->program;
        const size_t most = by_program ? RPS_SHARES_TOP : 1;

        group->by_program = by_program;
        for (size_t t = 0; t < most && t < first.count; t++)
            top[t] = (struct rps_share_top){
                first.owner[t].name, rps_shares_part(first.owner[t].samples, whole_of(group)),
                first.owner[t].samples};
        if (by_program)
            group->count = (int)(first.count < most ? first.count : most);
    }
    for (int i = 0; i < 2 && result == 0 && owners[i].count > 0; i++)
        result = rps_code_apart(arena, source, part,
                                &(struct rps_apart_names){.what = RPS_COUNT_TASKS,
                                                          .id_count = code->task_count,
                                                          .name_of = owners[i].of,
                                                          .name_count = owners[i].count,
                                                          .name = owners[i].name,
                                                          .seen = owners[i].seen},
                                i == 0 ? RPS_APART_PROGRAM : RPS_APART_CGROUP, shares->group, err);
    if (result == 0 && code->is_of_machine)
        shares->programs = first_owners(arena, &owners[0], part->group_count);
    if (result == 0 && code->cgroup_count > 0 && by_program)
        shares->cgroups = first_owners(arena, &owners[1], part->group_count);
    return result;
}

/* Return 1 if the key has at least half of the samples of at least one group. */
static int is_most(const struct rps_code_counts *counts, size_t groups, size_t key)
{
    for (size_t g = 0; g < groups; g++) {
        uint64_t seen = counts->seen[g * counts->key_count + key];

        if (seen > 0 && 2 * seen >= counts->of[g])
            return 1;
    }
    return 0;
}

/* Merge functions without names by module, as in "[libm.so.6]" or "[JIT code]". A function of the
 * program stays separate if it has most samples of a group, because it distinguishes the group.
 * function: number of the function of each stack. */
static void fold_unnamed(struct rps_arena *arena, struct rps_code_counts *counts, size_t groups,
                         struct rps_share_name *name, int64_t *function)
{
    int64_t *folded = rps_arena_get(arena, counts->key_count + 1, sizeof(*folded));
    size_t *first = rps_arena_get(arena, counts->key_count + 1, sizeof(*first)), modules = 0;

    for (size_t k = 0; k < counts->key_count; k++) {
        const char *file = rps_text_file_name(name[k].module);
        size_t m = 0;

        folded[k] = (int64_t)k;
        if (!name[k].is_unnamed ||
            (is_most(counts, groups, k) && !rps_share_is_library(name[k].module)))
            continue;
        while (m < modules && strcmp(name[first[m]].module, name[k].module) != 0)
            m++;
        if (m == modules) {
            first[modules++] = k;
            if (name[k].name[0] != '[')
                name[k].name = file[0] == '[' ? file : rps_arena_print(arena, "[%s]", file);
            continue;
        }
        folded[k] = (int64_t)first[m];
        for (size_t g = 0; g < groups; g++) {
            uint64_t *seen = &counts->seen[g * counts->key_count];

            seen[first[m]] += seen[k];
            seen[k] = 0;
        }
    }
    for (size_t s = 0; s < counts->ids; s++)
        function[s] = function[s] < 0 ? function[s] : folded[function[s]];
}

/* Add the functions that stayed separate to the code without symbols of their module, too: a share
 * of "[gzip]" is that of all such code in gzip. Their own samples are not changed. */
static void join_unnamed(struct rps_code_counts *counts, size_t groups,
                         const struct rps_share_name *name, int64_t *function)
{
    const size_t width = counts->key_count;

    for (size_t k = 0; k < width; k++) {
        uint64_t all = 0;
        size_t m;

        for (size_t g = 0; g < groups; g++)
            all += counts->seen[g * width + k];
        if (!is_by_address(&name[k], all) || (m = find_module(name, width, k)) == width)
            continue;
        for (size_t g = 0; g < groups; g++)
            counts->seen[g * width + m] += counts->seen[g * width + k];
        for (size_t s = 0; s < counts->ids; s++)
            function[s] = function[s] == (int64_t)k ? (int64_t)m : function[s];
    }
}

static void put_samples(const struct rps_code_counts *counts, struct rps_part_shares *ret)
{
    memcpy(ret->samples, counts->seen,
           ret->group_count * counts->key_count * sizeof(*ret->samples));
    for (size_t g = 0; g < ret->group_count; g++) {
        ret->group[g].samples = counts->samples_of[g];
        ret->group[g].weight = counts->of[g];
        ret->sample_count += counts->samples_of[g];
        ret->weight += counts->of[g];
    }
}

static double unnamed_share(const struct rps_part_shares *shares, size_t group)
{
    uint64_t unnamed = 0;

    for (size_t k = 0; k < shares->name_count; k++)
        unnamed += shares->name[k].is_unnamed ? shares->samples[group * shares->name_count + k] : 0;
    return rps_shares_part(unnamed, whole_of(&shares->group[group]));
}

/* Set the line of a function in a group to its line with most samples of the group. `seen`: samples
 * of each line. `function_of`: index in `of_run` of each line's function. */
static void place_top(struct rps_arena *arena, const struct rps_share_items *lines,
                      const uint64_t *seen, const size_t *function_of,
                      const struct rps_share_name *of_run, struct rps_share_name *name)
{
    const struct rps_share_key *found = NULL;
    uint64_t most = 0;

    for (size_t l = 0; l < lines->count; l++) {
        if (seen[l] <= most || lines->key[l].line == 0 || of_run[function_of[l]].name != name->name)
            continue;
        most = seen[l];
        found = &lines->key[l];
    }
    if (found) {
        name->file = rps_arena_text(arena, found->file);
        name->line = found->line;
    }
}

/* Set the lines of the functions of each group, which are those of the whole run before. */
static int place_groups(struct rps_arena *arena, struct rps_sample_source *source,
                        const struct rps_run_part *part, const int64_t *function,
                        struct rps_part_shares *shares, struct rps_error *err)
{
    const struct rps_share_items *lines = &source->index.lines;
    struct rps_arena *scratch = rps_arena_new();
    int64_t *line = rps_share_index_innermost_lines(scratch, &source->index, 1);
    size_t *function_of = rps_arena_get(scratch, lines->count, sizeof(*function_of));
    struct rps_code_counts counts = {.key = line, .key_count = lines->count};
    int result = rps_sample_source_count(scratch, &counts, source, part, RPS_COUNT_STACKS, err);

    for (size_t s = 0; s < source->code->stack_count; s++) {
        if (line[s] >= 0)
            function_of[line[s]] = (size_t)function[s];
    }
    for (size_t g = 0; g < part->group_count && result == 0; g++) {
        struct rps_share_group *group = &shares->group[g];
        struct rps_share_top *top = group->count > 0 ? group->top : group->function;

        for (int t = 0; t < group->count + group->function_count; t++)
            place_top(arena, lines, &counts.seen[g * lines->count], function_of, shares->name,
                      &top[t].name);
    }
    rps_arena_free(scratch);
    return result;
}

static int find_shares(struct rps_arena *arena, struct rps_sample_source *source,
                       const struct rps_run_part *part, struct rps_part_shares *ret,
                       struct rps_error *err)
{
    struct rps_arena *scratch = rps_arena_new();
    struct rps_code_counts counts = {0};
    struct rps_share_name *name;
    const struct rps_code *code = source->code;
    struct owners owners[2] = {{0}};
    int64_t *function =
        rps_share_index_functions(scratch, &source->index, 1, &name, &counts.key_count);
    int result, by_program;

    counts.key = function;
    result = rps_sample_source_count(scratch, &counts, source, part, RPS_COUNT_STACKS, err);
    if (result < 0)
        goto out;
    rps_share_index_place(&source->index, counts.id, name);
    fold_unnamed(scratch, &counts, part->group_count, name, function);
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
    put_samples(&counts, ret);
    fill_waits(arena, code, ret);
    result = by_program = is_by_program(scratch, source, part, &counts, ret, owners, err);
    if (result < 0)
        goto out;
    join_unnamed(&counts, part->group_count, name, function);
    for (size_t g = 0; g < part->group_count; g++) {
        struct rps_share_group *group = &ret->group[g];

        group->unnamed = unnamed_share(ret, g);
        group->top_rest = NAN; /* unknown if there are no other groups */
        *(by_program ? &group->function_count : &group->count) =
            fill_top(arena, by_program ? group->function : group->top, group, ret->name,
                     &counts.seen[g * counts.key_count], counts.key_count, by_program);
    }
    if (part->group_count > 1)
        result = place_groups(arena, source, part, function, ret, err);
    if (result < 0)
        goto out;
    result = rps_code_apart(arena, source, part,
                            &(struct rps_apart_names){.what = RPS_COUNT_STACKS,
                                                      .id_count = code->stack_count,
                                                      .name_of = function,
                                                      .name_count = counts.key_count,
                                                      .name = name,
                                                      .has_modules = 1,
                                                      .seen = counts.seen},
                            RPS_APART_FUNCTION, ret->group, err);
    if (owners[0].count > 0 && result == 0)
        result = fill_programs(arena, source, part, owners, by_program, ret, err);
    if (result == 0)
        find_alike(ret);
    if (!by_program && result == 0)
        result = rps_code_callers(arena, source, part, name, ret->group, err);
    if (result == 0)
        result = rps_code_totals(arena, source, part, name, ret->group, err);
out:
    rps_arena_free(scratch);
    return result;
}

int rps_code_part_shares(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                         const struct rps_run_part *part, size_t count, const struct rps_cpus *cpus,
                         const struct rps_code *code, struct rps_part_shares *ret,
                         struct rps_error *err)
{
    struct rps_sample_source source =
        rps_sample_source_open(reader, run_id, cpus, code, part, count);
    int result = 0;

    for (size_t p = 0; p < count && result == 0; p++) {
        struct rps_run_part own = part[p];

        result = rps_latency_read(arena, reader, run_id, code, &own, err);
        if (result == 0)
            result = find_shares(arena, &source, &own, &ret[p], err);
    }
    rps_arena_free(source.arena);
    return result;
}
