/* Names a group of samples by the function that has most of its samples in itself and its callees.
 * Such a function is needed if the group's samples are spread over many inner functions, such as
 * those of a library. */
#include "sample_source.h"

#include <fnmatch.h>
#include <math.h>

#include "rpistat/apart.h"

/* Functions whose differences differ by less than this are equally distinctive. */
#define NEARLY .05

/* The weight of each function with its callees. */
struct totals {
    const struct rps_share_index *index;
    const uint64_t *own, *all; /* in a group (0: does not name it), in all groups */
    double own_weight, weight; /* weight of all samples: in the group, in all groups */
};

/* Return 1 if no function has most of the group's samples. */
static int is_unnamed(const struct rps_share_group *group)
{
    const struct rps_share_top *top = group->by_program ? group->function : group->top;

    return (group->by_program ? group->function_count : group->count) > 0 &&
           top->share < RPS_SHARES_NAME_MIN;
}

/* Return how much larger the share of a function with its callees is in the group than in all other
 * groups. */
static double total_difference(const struct totals *of, size_t item)
{
    const double own = (double)of->own[item], rest = of->weight - of->own_weight;

    return own / of->own_weight - ((double)of->all[item] - own) / fmax(rest, 1);
}

/* Return the innermost function of a stack whose difference is at least `least`, or
 * RPS_SHARE_NONE. */
static size_t find_innermost(const struct totals *of, size_t stack, double least)
{
    const struct rps_share_index *index = of->index;

    for (size_t at = stack; at != RPS_SHARE_NONE; at = rps_share_parent_of(index->code, at)) {
        const size_t frame = rps_share_frame_of(index->code, at);

        for (size_t e = index->first[frame]; e < index->first[frame + 1]; e++) {
            if (total_difference(of, index->item[e]) >= least)
                return index->item[e];
        }
    }
    return RPS_SHARE_NONE;
}

/* Return the most distinctive function with its callees, or RPS_SHARE_NONE. Of equally distinctive
 * functions, return the innermost one. `weight`: weight of each stack in the group. */
static size_t find_total(const struct totals *of, const uint64_t *weight)
{
    double most = 0;
    size_t best = RPS_SHARE_NONE;
    uint64_t heaviest = 0;

    for (size_t i = 0; i < of->index->items.count; i++)
        most = fmax(most, total_difference(of, i));
    for (size_t s = 0; s < of->index->code->stack_count && most >= RPS_APART_SHARE_MIN; s++) {
        const size_t item =
            weight[s] > heaviest ? find_innermost(of, s, most - NEARLY) : RPS_SHARE_NONE;

        heaviest = item == RPS_SHARE_NONE ? heaviest : weight[s];
        best = item == RPS_SHARE_NONE ? best : item;
    }
    return best;
}

/* Return 1 for functions that begin threads or programs, also in the runtimes of Rust, C++, Java and
 * Python. They do not tell what a group does. */
static int is_outer(const char *function)
{
    static const char *const pattern[] = {
        "*FnOnce*::call_once*",
        "*std::sys::*thread_start*",
        "*__rust_begin_short_backtrace*",
        "std::rt::lang_start*",
        "std::panicking*",
        "std::thread::*",
        "*execute_native_thread_routine*",
        "JavaMain",
        "JavaThread::*",
        "Thread::call_run*",
        "thread_native_entry*",
        "Py_*Main*",
        "pymain_*",
        "PyEval_EvalCode*",
        "_PyEval_Vector*",
        "run_mod",
        "run_mod.*",
        "run_eval_code_obj*",
        "_PyRun_*",
        "pyrun_*",
    };

    for (size_t i = 0; i < RPS_COUNT(pattern); i++) {
        if (fnmatch(pattern[i], function, 0) == 0)
            return 1;
    }
    return rps_share_is_beginning(function);
}

/* Maximum number of groups times stacks: 8 bytes are needed for each. */
#define CELLS_MAX 8000000

/* The functions that may name groups, and their samples in blocks of groups. */
struct candidates {
    size_t count, *item, *group; /* Function and group of each candidate */
    size_t stacks;
    uint64_t *within; /* For each stack, bit n is 1 if it contains candidate n */
    size_t blocks;
    uint64_t *seen, *of; /* Samples of each candidate and of all code per block:
                            seen[candidate * blocks + block], of[block] */
};

/* Return the weight of each stack in each group: [group * stack_count + stack]. */
static uint64_t *weigh_stacks(struct rps_arena *arena, struct rps_sample_source *source,
                              const struct rps_run_part *part, struct rps_error *err)
{
    const size_t stacks = source->code->stack_count;
    int64_t *key = rps_arena_get(arena, stacks, sizeof(*key));
    struct rps_code_counts counts = {.key = key, .key_count = stacks};

    for (size_t s = 0; s < stacks; s++)
        key[s] = (int64_t)s;
    return rps_sample_source_count(arena, &counts, source, part, RPS_COUNT_STACKS, err) < 0
               ? NULL
               : counts.seen;
}

/* Find a candidate for each group without a name. `weight`: as returned by weigh_stacks(). */
static void find_candidates(struct rps_arena *arena, const struct rps_share_index *index,
                            size_t groups, const struct rps_share_name *name,
                            const uint64_t *weight, const struct rps_share_group *group,
                            struct candidates *ret)
{
    const size_t stacks = index->code->stack_count;
    uint64_t *all = rps_arena_get(arena, stacks, sizeof(*all));
    struct totals totals = {.index = index};

    ret->item = rps_arena_get(arena, groups, sizeof(*ret->item));
    ret->group = rps_arena_get(arena, groups, sizeof(*ret->group));
    for (size_t at = 0; at < groups * stacks; at++)
        all[at % stacks] += weight[at];
    for (size_t g = 0; g < groups; g++)
        totals.weight += (double)group[g].weight;
    totals.all = rps_share_index_totals(arena, index, all);
    for (size_t g = 0; g < groups && ret->count < 64; g++) {
        uint64_t *own;

        if (!is_unnamed(&group[g]))
            continue;
        own = rps_share_index_totals(arena, index, weight + g * stacks);
        for (size_t i = 0; i < index->items.count; i++) {
            if ((double)own[i] < RPS_SHARES_NAME_MIN * (double)group[g].weight ||
                name[i].is_unnamed || is_outer(name[i].name) ||
                rps_share_index_is_kernel(index->code, index->items.key[i].module))
                own[i] = 0; /* does not name the group */
        }
        totals.own = own;
        totals.own_weight = (double)group[g].weight;
        ret->group[ret->count] = g;
        ret->item[ret->count] = find_total(&totals, weight + g * stacks);
        ret->count += ret->item[ret->count] != RPS_SHARE_NONE;
    }
}

/* Set `within`. Callers have lower numbers than their callees. */
static void mark_stacks(struct rps_arena *arena, const struct rps_share_index *index,
                        struct candidates *candidates)
{
    const struct rps_code *code = index->code;

    candidates->stacks = code->stack_count;
    candidates->within = rps_arena_get(arena, code->stack_count, sizeof(*candidates->within));
    for (size_t s = 0; s < code->stack_count; s++) {
        const size_t parent = rps_share_parent_of(code, s), frame = rps_share_frame_of(code, s);
        uint64_t *within = &candidates->within[s];

        *within = parent == RPS_SHARE_NONE ? 0 : candidates->within[parent];
        for (size_t e = index->first[frame]; e < index->first[frame + 1]; e++) {
            for (size_t n = 0; n < candidates->count; n++)
                *within |= (uint64_t)(candidates->item[n] == index->item[e]) << n;
        }
    }
}

static int add_samples(void *context, size_t block, int64_t stack, struct rps_code_weight of,
                       struct rps_error *err)
{
    struct candidates *candidates = context;

    (void)err;
    if ((uint64_t)stack >= candidates->stacks) /* a malformed store */
        return 0;
    candidates->of[block] += of.weight;
    for (size_t n = 0; n < candidates->count; n++) {
        if (candidates->within[stack] >> n & 1)
            candidates->seen[n * candidates->blocks + block] += of.weight;
    }
    return 0;
}

/* Put the candidates that differ by more than chance into the groups. */
static int test_candidates(struct rps_arena *arena, struct rps_sample_source *source,
                           const struct rps_run_part *part, const struct rps_share_name *name,
                           struct candidates *candidates, struct rps_share_group *group,
                           struct rps_error *err)
{
    struct rps_arena *scratch = rps_arena_new();
    const struct rps_run_part blocks = rps_code_apart_blocks(scratch, part);
    struct rps_apart *apart = rps_arena_get(scratch, part->group_count, sizeof(*apart));
    int result;

    mark_stacks(scratch, &source->index, candidates);
    candidates->blocks = blocks.group_count;
    candidates->seen =
        rps_arena_get(scratch, blocks.group_count * candidates->count, sizeof(*candidates->seen));
    candidates->of = rps_arena_get(scratch, blocks.group_count, sizeof(*candidates->of));
    result =
        rps_sample_source_walk(source, &blocks, RPS_COUNT_STACKS, add_samples, candidates, err);
    for (size_t n = 0; n < candidates->count && result == 0; n++) {
        struct rps_share_group *own = &group[candidates->group[n]];
        const struct rps_apart_name *found = &apart[candidates->group[n]].name[0];
        const struct rps_apart_counts counts = {
            part->group_count, 1, candidates->seen + n * candidates->blocks, candidates->of};

        rps_apart_find(&counts, apart);
        if (!found->is_found || found->share < found->rest)
            continue;
        own->apart[RPS_APART_TOTAL] =
            (struct rps_share_apart){1, 1, rps_share_name_keep(arena, &name[candidates->item[n]]),
                                     found->share, found->rest};
        own->apart[RPS_APART_FUNCTION].is_tested = 1;
        own->unsure.is_found = 0;
    }
    rps_arena_free(scratch);
    return result;
}

int rps_code_totals(struct rps_arena *arena, struct rps_sample_source *source,
                    const struct rps_run_part *part, const struct rps_share_name *name,
                    struct rps_share_group *group, struct rps_error *err)
{
    struct rps_arena *scratch = rps_arena_new();
    struct candidates candidates = {0};
    uint64_t *weight = NULL;
    int result = 0, is_needed = 0;

    for (size_t g = 0; g < part->group_count; g++)
        is_needed |= is_unnamed(&group[g]);
    if (is_needed && part->group_count > 1 &&
        part->group_count * source->code->stack_count <= CELLS_MAX) {
        weight = weigh_stacks(scratch, source, part, err);
        result = weight ? 0 : RPS_FAILED;
    }
    if (weight)
        find_candidates(scratch, &source->index, part->group_count, name, weight, group,
                        &candidates);
    if (candidates.count > 0)
        result = test_candidates(arena, source, part, name, &candidates, group, err);
    rps_arena_free(scratch);
    return result;
}
