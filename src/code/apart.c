/* Reads samples block by block for rps_apart_find. A machine has tens of thousands of functions:
 * reading all functions in 800 blocks took 30 s and 300 MB. So this file skips functions that have
 * too few samples in each group to be reported. */
#include "sample_source.h"

#include <inttypes.h>
#include <string.h>

#include "intern.h"
#include "rpistat/apart.h"
#include "rpistat/text.h"

#define PLACE_MIN   .1 /* Minimum share of a place that distinguishes groups in one function. */
#define BLOCK_BYTES 64 /* A place without a line is a block of this size. */
#define CALLERS_MAX 8  /* Maximum number of calls from a distinguishing caller to its function. */

struct rps_run_part rps_code_apart_blocks(struct rps_arena *arena, const struct rps_run_part *part)
{
    struct rps_run_part blocks = {.group_count = part->group_count * RPS_APART_BLOCKS};
    uint64_t *periods = rps_arena_get(arena, part->group_count, sizeof(*periods));
    uint64_t *used = rps_arena_get(arena, part->group_count, sizeof(*used));

    for (size_t i = 0; i < part->count; i++)
        periods[part->stretch[i].group] += part->stretch[i].last - part->stretch[i].first + 1;
    for (size_t i = 0; i < part->count; i++) {
        const struct rps_run_stretch *stretch = &part->stretch[i];
        const size_t group = stretch->group;
        const uint64_t length = rps_apart_block_length(periods[group]);

        for (uint64_t first = stretch->first, last; first <= stretch->last; first = last + 1) {
            last = first + length - used[group] % length - 1;
            last = last < stretch->last ? last : stretch->last;
            blocks.stretch =
                rps_arena_grow(arena, blocks.stretch, blocks.count, sizeof(*blocks.stretch));
            blocks.stretch[blocks.count++] = (struct rps_run_stretch){
                first, last, group * RPS_APART_BLOCKS + (size_t)(used[group] / length)};
            used[group] += last - first + 1;
        }
    }
    return blocks;
}

/* List the names with enough samples in at least one group. *ret_count: number of names.
 * *ret_place: for each stack or task, the index of its name in this list, or -1. */
static size_t *choose_names(struct rps_arena *arena, const struct rps_apart_names *names,
                            const struct rps_share_group *group, size_t group_count,
                            size_t *ret_count, int64_t **ret_place)
{
    size_t *chosen = rps_arena_get(arena, names->name_count, sizeof(*chosen)), count = 0;
    int64_t *place = rps_arena_get(arena, names->name_count, sizeof(*place));

    *ret_place = rps_arena_get(arena, names->id_count, sizeof(**ret_place));
    for (size_t k = 0; k < names->name_count; k++) {
        const struct rps_share_name *name = &names->name[k];
        const int has_name = !name->is_unnamed || (names->has_modules && name->name[0] == '[');
        int is_enough = 0;

        for (size_t g = 0; g < group_count && has_name; g++) {
            const double seen = (double)names->seen[g * names->name_count + k];

            is_enough |= seen > 0 && seen >= RPS_APART_SHARE_MIN * (double)group[g].weight;
        }
        place[k] = is_enough ? (int64_t)count : -1;
        chosen[count] = k;
        count += (size_t)is_enough;
    }
    for (size_t i = 0; i < names->id_count; i++)
        (*ret_place)[i] = names->name_of[i] >= 0 ? place[names->name_of[i]] : -1;
    *ret_count = count;
    return chosen;
}

/* Find the share of each group's top name in all other groups. Merged code without symbols may have
 * further names, without samples. */
static void find_rest(const struct rps_apart_names *names, struct rps_share_group *group,
                      size_t group_count)
{
    for (size_t at = 0; at < group_count * names->name_count; at++) {
        struct rps_share_group *of = &group[at / names->name_count];
        const size_t name = at % names->name_count;
        uint64_t seen = 0, all = 0;

        if (of->count == 0 || names->seen[at] == 0 ||
            strcmp(names->name[name].name, of->top[0].name.name) != 0 ||
            strcmp(names->name[name].module, of->top[0].name.module) != 0)
            continue;
        for (size_t g = 0; g < group_count; g++) {
            seen += &group[g] == of ? 0 : names->seen[g * names->name_count + name];
            all += &group[g] == of ? 0 : group[g].weight;
        }
        of->top_rest = rps_shares_part(seen, all);
    }
}

static struct rps_share_apart share_of(struct rps_arena *arena, const struct rps_apart_name *from,
                                       const struct rps_share_name *name, const size_t *chosen,
                                       int is_tested)
{
    struct rps_share_apart to = {is_tested, from->is_found, .share = from->share,
                                 .rest = from->rest};

    if (to.is_found)
        to.name = rps_share_name_keep(arena, &name[chosen[from->name]]);
    return to;
}

int rps_code_apart(struct rps_arena *arena, struct rps_sample_source *source,
                   const struct rps_run_part *part, const struct rps_apart_names *names,
                   enum rps_apart_kind kind, struct rps_share_group *group, struct rps_error *err)
{
    struct rps_arena *scratch = rps_arena_new();
    struct rps_code_counts counts = {0};
    struct rps_apart *apart = rps_arena_get(scratch, part->group_count, sizeof(*apart));
    struct rps_run_part blocks;
    size_t *chosen;
    int64_t *place;
    int result = 0;

    if (part->group_count < 2)
        goto out;
    if (kind == (group->by_program ? RPS_APART_PROGRAM : RPS_APART_FUNCTION))
        find_rest(names, group, part->group_count);
    chosen = choose_names(scratch, names, group, part->group_count, &counts.key_count, &place);
    counts.key = place;
    blocks = rps_code_apart_blocks(scratch, part);
    result = rps_sample_source_count(scratch, &counts, source, &blocks, names->what, err);
    if (result < 0)
        goto out;
    rps_apart_find(
        &(struct rps_apart_counts){part->group_count, counts.key_count, counts.seen, counts.of},
        apart);
    for (size_t g = 0; g < part->group_count; g++) {
        struct rps_share_apart *function = &group[g].apart[RPS_APART_FUNCTION], unsure;
        int is_found = 0;

        function->is_tested |= apart[g].is_tested;
        for (int i = 0; i < 1 + (kind == RPS_APART_PROGRAM) && apart[g].is_tested; i++)
            group[g].apart[i == 0 ? kind : RPS_APART_PROGRAM_2] =
                share_of(arena, &apart[g].name[i], names->name, chosen, apart[g].is_tested);
        unsure = share_of(arena, &apart[g].unsure, names->name, chosen, 0);
        if (unsure.is_found &&
            (!group[g].unsure.is_found ||
             unsure.share - unsure.rest > group[g].unsure.share - group[g].unsure.rest))
            group[g].unsure = unsure;
        for (int k = 0; k < RPS_APART_KINDS; k++)
            is_found |=
                group[g].apart[k].is_found && group[g].apart[k].share > group[g].apart[k].rest;
        group[g].unsure.is_found &= !is_found;
    }
out:
    rps_arena_free(scratch);
    return result;
}

/* --- callers ---------------------------------------------------------------------------------- */

/* Return the function that is `up` calls above the innermost function of a stack. Return -1 if the
 * stack has fewer functions, or if its innermost function is not named `name`. */
static int64_t caller_of(const struct rps_share_index *index, size_t stack, const char *name,
                         int up)
{
    size_t last = RPS_SHARE_NONE; /* Consecutive calls of a recursive function are treated as one
                                     call. */

    for (size_t at = stack; at != RPS_SHARE_NONE; at = rps_share_parent_of(index->code, at)) {
        const size_t frame = rps_share_frame_of(index->code, at);

        for (size_t e = index->first[frame]; e < index->first[frame + 1]; e++) {
            const struct rps_share_key *key = &index->items.key[index->item[e]];

            if (last != RPS_SHARE_NONE && index->item[e] != last && --up == 0)
                return rps_share_is_beginning(key->name) && strcmp(key->name, "main") != 0
                           ? -1 /* no function of the program */
                           : (int64_t)index->item[e];
            if (last != RPS_SHARE_NONE || strcmp(key->name, name) == 0)
                last = index->item[e];
            else if (!rps_share_index_is_kernel(index->code, key->module))
                return -1; /* The innermost function of the stack has another name. */
        }
    }
    return -1;
}

/* The places in one function: its lines, or blocks of its code if lines are unknown. */
struct places {
    struct rps_intern keys;      /* a line or the beginning of a block, and 1 for a block */
    struct rps_share_name *name; /* owned by the arena */
    int are_blocks;              /* 1: blocks, also if lines are known */
};

/* Return the number of a frame's place in its function `name`, or -1 if the place is unknown. */
static int64_t add_place(struct rps_arena *arena, const struct rps_share_index *index, size_t frame,
                         const char *name, struct places *places)
{
    const size_t line = index->line[index->first[frame]];
    const struct rps_share_key *key = &index->lines.key[line];
    const struct rps_frame *at =
        frame < index->code->frame_count ? &index->code->frame[frame] : NULL;
    const uint64_t offset = at ? (at->address - at->function) & ~(uint64_t)(BLOCK_BYTES - 1) : 0;
    const int is_block = places->are_blocks || key->line == 0;
    int64_t number;
    int is_new;

    if (is_block && (!at || at->function == 0))
        return -1;
    number = rps_intern_add(&places->keys, is_block ? offset : line, (uint64_t)is_block, &is_new);
    if (number < 0)
        rps_arena_exhausted();
    if (is_new) {
        places->name = rps_arena_grow(arena, places->name, (size_t)number, sizeof(*places->name));
        places->name[number] = (struct rps_share_name){
            .name = key->line > 0 ? name
                    : key->how == RPS_LOCATION_NONE
                        ? rps_arena_print(
                              arena, "%s+0x%" PRIx64,
                              rps_text_file_name(rps_share_index_path(index->code, key->module)),
                              at->function + offset)
                        : rps_arena_print(arena, "%s+0x%" PRIx64, name, offset),
            .module = rps_share_index_path(index->code, key->module),
            .file = key->file,
            .line = key->line};
    }
    return number;
}

/* Return the number of a stack's place in the function `name`, or -1 if the place is unknown, or if
 * the stack's innermost function is another one. */
static int64_t place_of(struct rps_arena *arena, const struct rps_share_index *index, size_t stack,
                        const char *name, struct places *places)
{
    for (size_t at = stack; at != RPS_SHARE_NONE; at = rps_share_parent_of(index->code, at)) {
        const size_t frame = rps_share_frame_of(index->code, at);
        const struct rps_share_key *key = &index->items.key[index->item[index->first[frame]]];

        if (strcmp(key->name, name) == 0)
            return add_place(arena, index, frame, name, places);
        if (!rps_share_index_is_kernel(index->code, key->module))
            return -1;
    }
    return -1;
}

static int has_top(const struct rps_share_group *group, const char *name)
{
    return group->count > 0 && group->top[0].share >= RPS_SHARES_NAME_MIN &&
           strcmp(group->top[0].name.name, name) == 0;
}

/* For each group, find the name that distinguishes the group from the other groups. `key`: number of
 * each stack's name, or -1. Groups without ranges in `alike` are not changed. */
static int compare_names(struct rps_arena *arena, struct rps_sample_source *source,
                         const struct rps_run_part *alike, const int64_t *key,
                         const struct rps_share_name *name, size_t name_count,
                         enum rps_apart_kind kind, struct rps_share_group *group,
                         struct rps_error *err)
{
    struct rps_arena *scratch = rps_arena_new();
    struct rps_code_counts counts = {.key = key, .key_count = name_count};
    struct rps_apart_names names = {
        RPS_COUNT_STACKS, source->code->stack_count, key, name_count, name, 0, NULL};
    int result = rps_sample_source_count(scratch, &counts, source, alike, RPS_COUNT_STACKS, err);

    names.seen = counts.seen;
    if (result == 0)
        result = rps_code_apart(arena, source, alike, &names, kind, group, err);
    rps_arena_free(scratch);
    return result;
}

/* Compare the callers that are `up` calls above the function `top`. */
static int compare_callers(struct rps_arena *arena, struct rps_sample_source *source,
                           const struct rps_run_part *alike, const char *top, int up,
                           const struct rps_share_name *name, struct rps_share_group *group,
                           struct rps_error *err)
{
    const size_t stacks = source->code->stack_count;
    int64_t *caller = rps_arena_get(arena, stacks, sizeof(*caller));

    for (size_t s = 0; s < stacks; s++)
        caller[s] = caller_of(&source->index, s, top, up);
    return compare_names(arena, source, alike, caller, name, source->index.items.count,
                         RPS_APART_CALLER, group, err);
}

/* Compare the lines in the function `top`, or its blocks if are_blocks is 1. */
static int compare_places(struct rps_arena *arena, struct rps_sample_source *source,
                          const struct rps_run_part *alike, const char *top, int are_blocks,
                          struct rps_share_group *group, struct rps_error *err)
{
    const size_t stacks = source->code->stack_count;
    struct places places = {.keys = RPS_INTERN_OF(struct rps_intern_key), .are_blocks = are_blocks};
    int64_t *place = rps_arena_get(arena, stacks, sizeof(*place));
    int result;

    for (size_t s = 0; s < stacks; s++)
        place[s] = place_of(arena, &source->index, s, top, &places);
    result = compare_names(arena, source, alike, place, places.name, places.keys.count,
                           RPS_APART_PLACE, group, err);
    rps_intern_free(&places.keys);
    for (size_t g = 0; g < alike->group_count; g++) {
        struct rps_share_apart *own = &group[g].apart[RPS_APART_PLACE];

        own->is_found &= own->share > own->rest && own->share >= PLACE_MIN;
    }
    return result;
}

/* For each group in `alike`, find the place in the function `top` that distinguishes the group: a
 * line, or if there is none, a block of code. For example, no line of a group with several loops has
 * a large share. The block is shown by the line with most samples of the group. */
static int find_places(struct rps_arena *arena, struct rps_sample_source *source,
                       const struct rps_run_part *alike, const char *top,
                       struct rps_share_group *group, struct rps_error *err)
{
    struct rps_share_apart *line = rps_arena_get(arena, alike->group_count, sizeof(*line));
    int result = compare_places(arena, source, alike, top, 0, group, err);

    for (size_t g = 0; g < alike->group_count; g++)
        line[g] = group[g].apart[RPS_APART_PLACE];
    if (result == 0)
        result = compare_places(arena, source, alike, top, 1, group, err);
    for (size_t g = 0; g < alike->group_count; g++) {
        struct rps_share_apart *own = &group[g].apart[RPS_APART_PLACE];

        if (line[g].is_found)
            *own = line[g];
        else if (own->is_found && group[g].top[0].name.line > 0)
            own->name = group[g].top[0].name;
        group[g].is_alike &= !own->is_found;
    }
    return result;
}

int rps_code_callers(struct rps_arena *arena, struct rps_sample_source *source,
                     const struct rps_run_part *part, const struct rps_share_name *name,
                     struct rps_share_group *group, struct rps_error *err)
{
    for (size_t first = 0; first < part->group_count; first++) {
        const char *top = group[first].count > 0 ? group[first].top[0].name.name : "";
        struct rps_run_part alike = {.group_count = part->group_count};
        int is_found = 1; /* Remains 1 if no other group has this top function. */

        for (size_t i = 0; i < part->count && has_top(&group[first], top); i++) {
            if (!has_top(&group[part->stretch[i].group], top))
                continue;
            alike.stretch =
                rps_arena_grow(arena, alike.stretch, alike.count, sizeof(*alike.stretch));
            alike.stretch[alike.count++] = part->stretch[i];
            is_found &= part->stretch[i].group == first;
        }
        for (size_t g = 0; g < first; g++) /* Groups before `first` are finished. */
            is_found |= has_top(&group[g], top);
        for (int up = 1; up <= CALLERS_MAX && !is_found; up++) {
            if (compare_callers(arena, source, &alike, top, up, name, group, err) < 0)
                return RPS_FAILED;
            for (size_t g = 0; g < part->group_count; g++) {
                struct rps_share_apart *own = &group[g].apart[RPS_APART_CALLER];

                own->is_found &= own->share > own->rest && /* Most calls of the function come
                                                              from this caller. */
                                 own->share >= .5 * group[g].top[0].share;
                is_found |= own->is_found && has_top(&group[g], top);
                group[g].is_alike &= !own->is_found;
            }
        }
        if (!is_found && find_places(arena, source, &alike, top, group, err) < 0)
            return RPS_FAILED;
    }
    return 0;
}
