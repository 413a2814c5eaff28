/* Levels: merge fine phases in a tree, list the levels, and choose the level to show. A level is a
 * cut through the tree with a certain number of segments. */
#include "rpistat/levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "levels_tree.h"
#include "rpistat/loops.h"

/* If a level is too long to read, it is examined only if it has at least LOOK_FACTOR times the
 * segments of the previously examined level. */
#define LOOK_FACTOR 1.5

/* Segments of one label differ by less than this share of the usual difference between neighbours.
 * For the finest level the share is ALIKE_FINEST, because its segments are the detected fine
 * phases. Unless observations are blocks, each fine phase is only one phase. */
#define ALIKE        .4
#define ALIKE_FINEST .1

/* Price of a level: PRICE times the square root of its rows, as a share of all differences if each
 * counts once. */
#define PRICE .1

/* Price of a level of a run with samples: CLASS_PRICE per class, as the same share. */
#define CLASS_PRICE .015

/* Limits for a finer level that folding of loops makes short: at most FINER_ROWS times the rows of
 * the usual level, and at most FOLDED_SHARE rows per segment. */
#define FINER_ROWS   3
#define FOLDED_SHARE .34

/* Limits for a level that is too long to read and is shown by its classes. The level has at most
 * KINDS_MAX classes and on average at least KIND_TIMES rows per class. The price of the level is
 * the price of KINDS_ROWS rows. In a drifting series these limits are not met: there are more
 * classes, or classes rarely recur. */
#define KINDS_ROWS 90
#define KINDS_MAX  12
#define KIND_TIMES 14

/* --- levels of a tree ------------------------------------------------------------------------- */

/* List the levels from the coarsest to the finest. Every number of segments is a level. A level's
 * `stretches` is the number of segments in the run that has most segments. */
static void list_levels(struct rps_levels *levels)
{
    const struct rps_level_tree *tree = levels->tree;
    /* run_of[size]: the run whose number of segments grows when the level gets `size` segments */
    size_t *run_of = rps_arena_get(levels->arena, tree->count + 1, sizeof(*run_of));
    size_t *count = rps_arena_get(levels->arena, tree->runs + 1, sizeof(*count)), run = 0, most = 1;
    double all = 0, left;

    for (size_t k = 0; k < tree->count; k++) {
        run += rps_level_tree_begins_run(tree, k);
        count[run] += rps_level_tree_begins_run(tree, k);
        run_of[tree->rank[k]] = run;
    }
    for (size_t size = tree->runs; size < tree->count; size++)
        all += tree->increase[size];
    left = all;
    for (size_t size = tree->runs; size <= tree->count; size++) {
        if (size > tree->runs && ++count[run_of[size]] > most)
            most = count[run_of[size]];
        levels->level[levels->count++] = (struct rps_level){
            .stretches = most, .all = size, .lost = all > 0 && size < tree->count ? left / all : 0};
        left -= tree->increase[size];
    }
}

/* List the first leaves of the segments of a level. Return the number of segments. */
static size_t list_stretches(const struct rps_level_tree *tree, size_t size, size_t *first)
{
    size_t count = 0;

    for (size_t k = 0; k < tree->count; k++) {
        if (tree->rank[k] <= size)
            first[count++] = k;
    }
    first[count] = tree->count;
    return count;
}

/* --- choosing --------------------------------------------------------------------------------- */

/* Return the finest level with at most `stretches` segments. */
static size_t finest_of(const struct rps_levels *levels, size_t stretches)
{
    size_t at = levels->count - 1;

    while (at > 0 && levels->level[at].stretches > stretches)
        at--;
    return at;
}

/* Return the number of rows from which a level's price is computed. Return 0 if the level was not
 * examined, or if it is too long to read. */
static size_t rows_of(const struct rps_levels *levels, size_t at)
{
    size_t rows = levels->level[at].rows, kinds = (size_t)levels->phases[at].label_count;

    if (rows <= RPS_LEVELS_READABLE)
        return rows;
    return kinds <= KINDS_MAX && kinds * KIND_TIMES <= rows ? KINDS_ROWS : 0;
}

/* Find the finest level that loops shorten to at most `times` the rows of level `best`, and to at
 * most `share` rows per segment. */
static size_t find_folded(const struct rps_levels *levels, size_t best, double times, double share)
{
    const double most = times * (double)rows_of(levels, best);

    for (size_t at = levels->count - 1; at > best; at--) {
        const double rows = (double)rows_of(levels, at);

        if (rows > 0 && rows <= most && rows <= share * (double)levels->level[at].stretches)
            return at;
    }
    return best;
}

/* Return the cheapest readable level: the lowest lost + CLASS_PRICE * classes, or lost + PRICE *
 * sqrt(rows). The square root is used because each additional row costs the reader less than the
 * previous row. */
static size_t find_cheapest(const struct rps_levels *levels, int by_class)
{
    double least = INFINITY;
    size_t best = 0;

    for (size_t at = 0; at < levels->count; at++) {
        const size_t rows = rows_of(levels, at);
        const double price =
            by_class ? CLASS_PRICE * levels->phases[at].label_count : PRICE * sqrt((double)rows);
        const double sum = levels->level[at].lost + levels->tree->once * price;

        if (rows > 0 && sum < least) {
            least = sum;
            best = at;
        }
    }
    return best;
}

/* Find the default level: the cheapest level by rows, or a finer level that folding of loops makes
 * short. If the cheapest level has several phases, and the run has samples, the default is the
 * cheapest level by classes, or a finer level that folding makes as short. Blocks and tables have no
 * samples: there, a price per class would make phases of gaps and ramps. */
static size_t find_usual(const struct rps_levels *levels)
{
    const size_t best = find_cheapest(levels, 0);
    const int has_samples = levels->tree->mix_count > 0 && !levels->tree->in_blocks;

    return best > 0 && has_samples ? find_folded(levels, find_cheapest(levels, 1), 1, 1)
                                   : find_folded(levels, best, FINER_ROWS, FOLDED_SHARE);
}

static size_t step(const struct rps_levels *levels, size_t from, int steps)
{
    double part = fmin(abs(steps), RPS_LEVELS_STEPS) / RPS_LEVELS_STEPS;
    size_t range = steps > 0 ? levels->count - 1 - from : from;
    size_t by = (size_t)ceil(part * (double)range);

    return steps > 0 ? from + by : from - by;
}

int rps_levels_choose(const struct rps_levels *levels, const struct rps_level_choice *choice,
                      size_t *ret, struct rps_error *err)
{
    size_t at = levels->usual;

    if (choice->fine)
        at = levels->count - 1;
    else if (choice->size > 0 || choice->at_most > 0)
        at = finest_of(levels, choice->size > 0 ? choice->size : choice->at_most);
    if (choice->size > 0 && levels->level[at].stretches != choice->size)
        return rps_error_set(err, RPS_USAGE, "no level has %zu phases; choose at most %zu",
                             choice->size, levels->level[at].stretches);
    *ret = step(levels, at, choice->steps);
    return 0;
}

/* --- phases of a level ------------------------------------------------------------------------ */

static void fill_phases(const struct rps_level_tree *tree, const size_t *first, size_t count,
                        const int *label, const double *sure, struct rps_phases *out)
{
    for (size_t k = 0; k < count; k++) {
        struct rps_phase *phase = &out->phase[k];

        *phase = tree->leaf[first[k]];
        phase->last = tree->leaf[first[k + 1] - 1].last;
        phase->trend = first[k + 1] - first[k] == 1 ? phase->trend : 0;
        phase->label = label[k];
        phase->label_confidence = floor(sure[k] * 1e4 + .5) / 1e4;
    }
    out->count = count;
}

/* Fold a level's phases separately per run. Return the number of rows of the longest run. */
static size_t fold_runs(const struct rps_level_tree *tree, const size_t *first,
                        struct rps_phases *phases)
{
    size_t end, most = 0;

    for (size_t k = 0; k < phases->count; k = end) {
        size_t rows;

        for (end = k + 1; end < phases->count && !rps_level_tree_begins_run(tree, first[end]);)
            end++;
        rows = rps_loops_fold(phases, k, end);
        most = rows > most ? rows : most;
    }
    return most;
}

/* Mark the segments outside loops. The samples of marked segments may split a label. Return 1 if
 * the samples of two marked segments with the same label differ. */
static int find_splits(struct rps_arena *scratch, const struct rps_level_tree *tree,
                       const size_t *first, const struct rps_phases *phases, uint8_t *is_split)
{
    const size_t width = tree->width, count = phases->count;
    struct rps_moments3 *sums = rps_arena_get(scratch, count, width * sizeof(*sums));

    for (size_t k = 0; k < count; k++) {
        is_split[k] = phases->phase[k].loop == 0;
        if (is_split[k])
            rps_level_tree_moments(tree, first[k], first[k + 1], &sums[k * width]);
    }
    for (size_t k = 0; k < count; k++) {
        for (size_t other = 0; other < k && is_split[k]; other++) {
            if (is_split[other] && phases->phase[other].label == phases->phase[k].label &&
                rps_level_samples_differ(tree, &sums[other * width], &sums[k * width]))
                return 1;
        }
    }
    return 0;
}

struct rps_phases rps_levels_phases(const struct rps_levels *levels, size_t at, size_t *ret_rows)
{
    const struct rps_level_tree *tree = levels->tree;
    struct rps_arena *scratch = rps_arena_new();
    size_t count = levels->level[at].all;
    size_t *first = rps_arena_get(scratch, tree->count + 1, sizeof(*first));
    int *label = rps_arena_get(scratch, count, sizeof(*label));
    double *sure = rps_arena_get(scratch, count, sizeof(*sure));
    uint8_t *is_split = rps_arena_get(scratch, count, sizeof(*is_split));
    struct rps_phases ret = {.phase = rps_arena_get(levels->arena, count, sizeof(*ret.phase))};
    double alike = count < tree->count ? ALIKE : levels->alike_finest;

    list_stretches(tree, count, first);
    for (int pass = 0; pass < 2; pass++) { /* the second pass also splits labels by samples */
        ret.label_count = rps_level_tree_label(tree, first, count, alike,
                                               pass == 0 ? NULL : is_split, label, sure);
        fill_phases(tree, first, count, label, sure, &ret);
        *ret_rows = fold_runs(tree, first, &ret);
        if (tree->in_blocks || tree->mix_count == 0 ||
            !find_splits(scratch, tree, first, &ret, is_split))
            break;
    }
    rps_arena_free(scratch);
    return ret;
}

/* Examine all readable levels, finer levels with sufficiently more segments, and the finest level.
 */
static void look_at_levels(struct rps_levels *levels)
{
    double before = 0;

    for (size_t at = 0; at < levels->count; at++) {
        double stretches = (double)levels->level[at].stretches;

        if (stretches > RPS_LEVELS_READABLE && stretches < LOOK_FACTOR * before &&
            at + 1 < levels->count)
            continue;
        levels->phases[at] = rps_levels_phases(levels, at, &levels->level[at].rows);
        before = stretches;
    }
}

struct rps_levels rps_levels_find(struct rps_arena *arena, const struct rps_signals *signals,
                                  const struct rps_phases *fine)
{
    struct rps_levels levels = {.arena = arena,
                                .alike_finest = signals->in_blocks ? ALIKE : ALIKE_FINEST};

    levels.tree = rps_arena_get(levels.arena, 1, sizeof(*levels.tree));
    *levels.tree = rps_level_tree_make(levels.arena, signals, fine);
    levels.level = rps_arena_get(levels.arena, levels.tree->count, sizeof(*levels.level));
    levels.phases = rps_arena_get(levels.arena, levels.tree->count, sizeof(*levels.phases));
    rps_level_tree_merge(levels.tree);
    list_levels(&levels);
    look_at_levels(&levels);
    levels.usual = find_usual(&levels);
    return levels;
}

struct rps_phase_levels rps_levels_keep(struct rps_levels *levels, size_t shown)
{
    struct rps_phase_levels out = {
        .level = rps_arena_get(levels->arena, levels->count, sizeof(*out.level))};

    if (levels->level[shown].rows == 0)
        levels->phases[shown] = rps_levels_phases(levels, shown, &levels->level[shown].rows);
    for (size_t at = 0; at < levels->count; at++) {
        if (levels->level[at].rows == 0)
            continue;
        if (at == shown)
            out.shown = out.count;
        out.level[out.count++] = levels->phases[at];
    }
    return out;
}
