/* Describes a group of samples by the function whose share of samples, with its callees, is most
 * distinctive. Such a function is needed if no inner function of the program has most samples: they
 * are spread over many functions, or in a library, or in code without symbols. */
#include "sample_source.h"

#include <fnmatch.h>
#include <math.h>

#include "rpistat/apart.h"

/* Functions with this part of the largest difference are as distinctive. */
#define NEARLY .95

/* Weight of a difference in a library: a function of the program says more. */
#define LIBRARY_WEIGHT .8

/* The weight of each function with its callees. */
struct totals {
    const struct rps_share_index *index;
    const uint64_t *own, *all; /* in a group (0: does not describe it), in all groups */
    double own_weight, weight; /* weight of all samples: in the group, in all groups */
    double least;              /* minimum share in the group */
};

/* Return 1 if no function of the program has most of the group's samples. */
static int is_unnamed(const struct rps_share_group *group)
{
    const struct rps_share_top *top = group->by_program ? group->function : group->top;

    return (group->by_program ? group->function_count : group->count) > 0 &&
           (top->share < RPS_SHARES_NAME_MIN || top->name.is_unnamed ||
            rps_share_is_library(top->name.module));
}

static double share_in_group(const struct totals *of, size_t item)
{
    return (double)of->own[item] / of->own_weight;
}

static double share_elsewhere(const struct totals *of, size_t item)
{
    return ((double)of->all[item] - (double)of->own[item]) / fmax(of->weight - of->own_weight, 1);
}

/* Return how much larger the share of a function with its callees is in the group than in all other
 * groups; 0: not by enough to be reported. */
static double total_difference(const struct totals *of, size_t item)
{
    const struct rps_share_index *index = of->index;
    const double own = share_in_group(of, item), rest = share_elsewhere(of, item);

    if (own < fmax(of->least, RPS_APART_FACTOR_MIN * rest))
        return 0;
    return (own - rest) *
           (rps_share_is_library(rps_share_index_path(index->code, index->items.key[item].module))
                ? LIBRARY_WEIGHT
                : 1);
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
            weight[s] > heaviest ? find_innermost(of, s, NEARLY * most) : RPS_SHARE_NONE;

        heaviest = item == RPS_SHARE_NONE ? heaviest : weight[s];
        best = item == RPS_SHARE_NONE ? best : item;
    }
    return best;
}

/* Return 1 for functions that begin threads or programs, or call functions of an interpreted
 * language, such as generators that Python collects in a list. They do not show what a group does.
 */
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
        "*JavaMain",
        "JavaThread::*",
        "JavaCalls::*",
        "jni_*nvoke*",
        "jni_Call*",
        "Thread::call_run*",
        "thread_*entry*",
        "Py_*Main*",
        "pymain_*",
        "run_mod",
        "run_mod.*",
        "run_eval_code_obj*",
        "_PyRun_*",
        "pyrun_*",
        "*PyEval_Eval*",
        "*PyObject_*[Cc]all*",
        "*[Vv]ectorcall*",
        "object_vacall*",
        "do_call_core*",
        "gen_send_ex2*",
        "gen_iternext*",
        "list_extend*",
        "list___init__*",
        "PySequence_*",
        "slot_tp_*",
        "thread_run",
        "t_bootstrap",
        "pythread_wrapper",
        "Perl_runops_*",
        "perl_run",
        "S_run_body*",
        "Builtins_*Await*",
        "Builtins_Generator*",
        "Builtins_Interpreter*",
        "Builtins_RunMicrotasks*",
        "Builtins_JSEntry*",
        "Builtins_*Trampoline*",
        "v8::internal::*Execution::*",
        "v8::internal::*Invoke*",
        "v8::Function::Call*",
        "node::*Callback*",
        "node::*RunTimers*",
        "node::builtins::*",
        "node::SpinEventLoop*",
        "node::Start*",
        "node::NodeMainInstance::*",
        "uv_run*",
    };

    for (size_t i = 0; i < RPS_COUNT(pattern); i++) {
        if (fnmatch(pattern[i], function, 0) == 0)
            return 1;
    }
    return rps_share_is_beginning(function);
}

/* Maximum number of groups times stacks: 8 bytes are needed for each. */
#define CELLS_MAX 8000000

/* The functions that may describe groups, and their samples in blocks of groups. */
struct candidates {
    size_t count, *item, *group; /* Function and group of each candidate */
    double *share, *rest;        /* Its share in the group, and in all other groups */
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

/* Find a candidate for each group that no function of the program names. `weight`: as returned by
 * weigh_stacks(). */
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
    ret->share = rps_arena_get(arena, groups, sizeof(*ret->share));
    ret->rest = rps_arena_get(arena, groups, sizeof(*ret->rest));
    for (size_t at = 0; at < groups * stacks; at++)
        all[at % stacks] += weight[at];
    for (size_t g = 0; g < groups; g++)
        totals.weight += (double)group[g].weight;
    totals.all = rps_share_index_totals(arena, index, all);
    for (size_t g = 0; g < groups && ret->count < 64; g++) {
        uint64_t *own;
        size_t best;

        if (!is_unnamed(&group[g]))
            continue;
        own = rps_share_index_totals(arena, index, weight + g * stacks);
        for (size_t i = 0; i < index->items.count; i++) {
            if (name[i].is_unnamed || is_outer(name[i].name) ||
                rps_share_index_is_kernel(index->code, index->items.key[i].module))
                own[i] = 0; /* does not describe the group */
        }
        totals.own = own;
        totals.own_weight = (double)group[g].weight;
        totals.least = RPS_SHARES_NAME_MIN; /* A function that can name the group comes first. */
        best = find_total(&totals, weight + g * stacks);
        totals.least = 0;
        if (best == RPS_SHARE_NONE)
            best = find_total(&totals, weight + g * stacks);
        if (best == RPS_SHARE_NONE)
            continue;
        ret->group[ret->count] = g;
        ret->item[ret->count] = best;
        ret->share[ret->count] = share_in_group(&totals, best);
        ret->rest[ret->count++] = share_elsewhere(&totals, best);
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

/* Put the candidates into the groups, apart from those that may differ by chance. */
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
        struct rps_share_apart total;
        const struct rps_apart_counts counts = {
            part->group_count, 1, candidates->seen + n * candidates->blocks, candidates->of};

        rps_apart_find(&counts, apart);
        total =
            (struct rps_share_apart){1, 1, rps_share_name_keep(arena, &name[candidates->item[n]]),
                                     found->share, found->rest};
        if (found->is_found && found->share > found->rest) {
            own->apart[RPS_APART_TOTAL] = total;
            own->apart[RPS_APART_FUNCTION].is_tested = 1;
            own->unsure.is_found = 0;
        } else if (!rps_share_is_positive(own) && own->samples >= RPS_SHARES_SAMPLES_MIN) {
            own->chance = total;
            own->chance.is_tested = !apart[candidates->group[n]].unsure.is_found;
            own->chance.share = candidates->share[n];
            own->chance.rest = candidates->rest[n];
        }
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
