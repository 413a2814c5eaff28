/* Names a group of samples by the function that has most of its samples in itself and its callees.
 * Such a function is needed if the group's samples are spread over many inner functions, such as
 * those of a library. */
#include "sample_source.h"

#include <math.h>
#include <string.h>

#include "rpistat/apart.h"

/* Functions whose differences differ by less than this are equally distinctive. */
#define NEARLY .05

/* The weight of each function with its callees. */
struct totals {
    const struct rps_share_index *index;
    const uint64_t *own, *all; /* in a group, in all groups */
    double own_weight, weight; /* weight of all samples: in the group, in all groups */
};

/* Return how much larger the share of a function with its callees is in the group than in all other
 * groups. Return 0 if the function has less than half of the group's samples. */
static double total_difference(const struct totals *of, size_t item)
{
    const double own = (double)of->own[item], rest = of->weight - of->own_weight;

    return own < RPS_SHARES_NAME_MIN * of->own_weight
               ? 0
               : own / of->own_weight - ((double)of->all[item] - own) / fmax(rest, 1);
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

/* Return 1 if a stack contains a function. */
static int contains(const struct rps_share_index *index, size_t stack, size_t item)
{
    for (size_t at = stack; at != RPS_SHARE_NONE; at = rps_share_parent_of(index->code, at)) {
        const size_t frame = rps_share_frame_of(index->code, at);

        for (size_t e = index->first[frame]; e < index->first[frame + 1]; e++) {
            if (index->item[e] == item)
                return 1;
        }
    }
    return 0;
}

/* Put the function `item` into the group's apart[RPS_APART_TOTAL], if the share of the function with
 * its callees differs by more than chance. */
static int test_total(struct rps_arena *arena, struct rps_sample_source *source,
                      const struct rps_run_part *part, const struct rps_share_name *name,
                      size_t item, uint64_t samples, size_t g, struct rps_share_group *group,
                      struct rps_error *err)
{
    const size_t stacks = source->code->stack_count;
    struct rps_arena *scratch = rps_arena_new();
    struct rps_share_group *tested = rps_arena_get(scratch, part->group_count, sizeof(*tested));
    int64_t *name_of = rps_arena_get(scratch, stacks, sizeof(*name_of));
    uint64_t *seen = rps_arena_get(scratch, part->group_count, sizeof(*seen));
    const struct rps_apart_names names = {RPS_COUNT_STACKS, stacks, name_of, 1,
                                          &name[item],      0,      seen};
    int result;

    memcpy(tested, group, part->group_count * sizeof(*tested));
    seen[g] = samples;
    for (size_t s = 0; s < stacks; s++)
        name_of[s] = contains(&source->index, s, item) ? 0 : -1;
    result = rps_code_apart(arena, source, part, &names, RPS_APART_TOTAL, tested, err);
    group[g].apart[RPS_APART_TOTAL] = tested[g].apart[RPS_APART_TOTAL];
    if (group[g].apart[RPS_APART_TOTAL].is_found) {
        group[g].apart[RPS_APART_FUNCTION].is_tested = 1;
        group[g].unsure.is_found = 0;
    }
    rps_arena_free(scratch);
    return result;
}

/* Return the weight of each stack in group g, or NULL. */
static uint64_t *weigh_group(struct rps_arena *arena, struct rps_sample_source *source,
                             const struct rps_run_part *part, size_t g, struct rps_error *err)
{
    struct rps_run_part own = *part;
    struct rps_code_counts counts = {0};

    own.group_count = 1;
    own.count = 0;
    own.stretch = rps_arena_get(arena, part->count, sizeof(*own.stretch));
    for (size_t i = 0; i < part->count; i++) {
        if (part->stretch[i].group == g)
            own.stretch[own.count++] =
                (struct rps_run_stretch){part->stretch[i].first, part->stretch[i].last, 0};
    }
    return rps_sample_source_count(arena, &counts, source, &own, RPS_COUNT_STACKS, err) < 0
               ? NULL
               : counts.id;
}

int rps_code_totals(struct rps_arena *arena, struct rps_sample_source *source,
                    const struct rps_run_part *part, const struct rps_share_name *name,
                    const uint64_t *weight, struct rps_share_group *group, struct rps_error *err)
{
    struct rps_arena *scratch = rps_arena_new();
    struct totals totals = {.index = &source->index};
    const struct rps_share_key *keys = source->index.items.key;
    int result = 0;

    for (size_t g = 0; g < part->group_count; g++)
        totals.weight += (double)group[g].weight;
    for (size_t g = 0; g < part->group_count && result == 0; g++) {
        uint64_t *own, *total;
        size_t item;

        if (group[g].count == 0 || !(group[g].top[0].share < RPS_SHARES_NAME_MIN))
            continue;
        own = weigh_group(scratch, source, part, g, err);
        if (!own) {
            result = RPS_FAILED;
            break;
        }
        if (!totals.all)
            totals.all = rps_share_index_totals(scratch, &source->index, weight);
        total = rps_share_index_totals(scratch, &source->index, own);
        for (size_t i = 0; i < source->index.items.count; i++) {
            if (name[i].is_unnamed || rps_share_is_beginning(name[i].name) ||
                rps_share_index_is_kernel(source->code, keys[i].module))
                total[i] = 0; /* does not name a group */
        }
        totals.own = total;
        totals.own_weight = (double)group[g].weight;
        item = find_total(&totals, own);
        if (item != RPS_SHARE_NONE)
            result = test_total(arena, source, part, name, item, totals.own[item], g, group, err);
    }
    rps_arena_free(scratch);
    return result;
}
