/*
 * Labels of a level: its segments are merged as neighbours are, but regardless of their place. The
 * difference of each pair of clusters is computed once; a merge recomputes the pairs of the merged
 * cluster. If there are many segments, some make the clusters and the others join them.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "detect_math.h"
#include "rpistat/random.h"
#include "levels_tree.h"

#define NONE SIZE_MAX

/* With several runs, segments of one label differ by less than this share of the difference of
 * neighbours. A segment that one run gained by a change must not be taken for another class. A
 * class with two labels is also matched by its order. */
#define ALIKE_OF_RUNS .25

/* With tables of counts, merging segments into one class costs at most so many ln n in all: a
 * table's costs include chance. For other symbols the limit is lower: a dozen samples of functions
 * that only they ran are enough. Segments also merge if they differ by less than ALIKE_BESIDE of
 * the difference of neighbours: in hours of data, even those are not by chance. */
#define ALIKE_OF_COUNTS 4
#define ALIKE_OF_OTHERS 1
#define ALIKE_BESIDE    .1

/* Usual difference of neighbours per observation, if there are no neighbours. */
#define USUAL .25

/* Segments that make clusters; all pairs of them are compared. */
#define MAKERS_MAX     400
#define MAKERS_LONGEST 200

struct labelling {
    struct rps_arena *arena;
    const struct rps_level_tree *tree;
    const size_t *first; /* leaves that the segments begin at */
    double alike;        /* segments of one label differ by less, in parts of what neighbours do */
    size_t stretches;
    size_t count;              /* of those that make clusters */
    size_t *place;             /* of each maker among the segments, ascending */
    size_t *cluster;           /* of each maker: the first maker of its cluster, which names it */
    struct rps_moments3 *sums; /* of each cluster, width each */
    struct rps_moments3 *both; /* scratch, three times width */
    double *cost;              /* of each cluster */
    double limit;              /* clusters that differ by less are alike */
    double beside; /* with tables of counts: so are those that differ by less per observation */
    const uint8_t *is_split; /* of each segment: its samples may split a label; NULL: none may */
    uint8_t *splits;         /* of each cluster: the samples of all its segments may */
    size_t *partner;         /* of each cluster; NONE: it may not merge */
    double *apart;           /* how much it differs from its partner */
    double *between;         /* between[a * count + b]: how much two clusters differ; INFINITY: they
                                contain neighbours */
};

static double length_of(const struct labelling *l, size_t k)
{
    const struct rps_phase *leaf = l->tree->leaf;

    return (double)(leaf[l->first[k + 1] - 1].last - leaf[l->first[k]].first);
}

/* Choose the segments that make clusters: the longest, and some random others. In a long loop, all
 * of the longest are one part of it. */
static void choose_makers(struct labelling *l)
{
    size_t longest = l->stretches < MAKERS_LONGEST ? l->stretches : MAKERS_LONGEST;
    size_t wanted = l->stretches < MAKERS_MAX ? l->stretches : MAKERS_MAX;
    double *length = rps_arena_get(l->arena, l->stretches, sizeof(*length)), least;
    size_t others = l->stretches - longest;
    uint64_t dice = 1;

    l->place = rps_arena_get(l->arena, l->stretches, sizeof(*l->place));
    for (size_t k = 0; k < l->stretches; k++)
        length[k] = length_of(l, k);
    least = rps_select_rank(length, l->stretches, l->stretches - longest);
    wanted -= longest;
    for (size_t k = 0; k < l->stretches; k++) {
        if (length_of(l, k) >= least && longest > 0) {
            longest--;
            l->place[l->count++] = k;
        } else if (rps_random_unit(&dice) * (double)others-- < (double)wanted) {
            wanted--;
            l->place[l->count++] = k;
        }
    }
}

static void add_makers(struct labelling *l)
{
    size_t width = l->tree->width;

    choose_makers(l);
    l->cluster = rps_arena_get(l->arena, l->count, sizeof(*l->cluster));
    l->sums = rps_arena_get(l->arena, l->count * width, sizeof(*l->sums));
    l->cost = rps_arena_get(l->arena, l->count, sizeof(*l->cost));
    l->splits = rps_arena_get(l->arena, l->count, sizeof(*l->splits));
    l->partner = rps_arena_get(l->arena, l->count, sizeof(*l->partner));
    l->between = rps_arena_get(l->arena, l->count * l->count, sizeof(*l->between));
    for (size_t k = 0; k < l->count; k++) {
        const size_t *first = l->first + l->place[k];

        l->cluster[k] = k;
        l->splits[k] = l->is_split && l->is_split[l->place[k]];
        rps_level_tree_moments(l->tree, first[0], first[1], l->sums + k * width);
        l->cost[k] = rps_level_tree_cost(l->tree, l->sums + k * width);
    }
}

/* Return the factor from the difference of whole clusters to that of one observation. 0: a cluster
 * has only outliers. */
static double by_observation(const struct labelling *l, const struct rps_moments3 *x,
                             const struct rps_moments3 *y)
{
    double a = x[l->tree->width - 1].weight, b = y[l->tree->width - 1].weight;

    return a > 0 && b > 0 ? (a + b) / (a * b) : 0;
}

/* Return how much segments or clusters with these moments and costs differ. The last signal counts
 * observations. */
static double difference(struct labelling *l, const struct rps_moments3 *x, double x_cost,
                         const struct rps_moments3 *y, double y_cost)
{
    size_t width = l->tree->width;

    for (size_t s = 0; s < width; s++)
        l->both[s] = (struct rps_moments3){x[s].weight + y[s].weight, x[s].sum + y[s].sum,
                                           x[s].squares + y[s].squares};
    return (rps_level_tree_cost(l->tree, l->both) - x_cost - y_cost) *
           (l->tree->mix_count > 0 ? 1 : by_observation(l, x, y));
}

/* Return the limit for clusters that count other symbols, relative to that for the same symbols. */
static double limit_of(const struct labelling *l, const struct rps_moments3 *x,
                       const struct rps_moments3 *y)
{
    const struct rps_level_tree *tree = l->tree;
    double others = 0;

    for (size_t t = 0, at = tree->signals; t < tree->mix_count;
         at += rps_level_table_width(&tree->mix[t++])) {
        if (!tree->mix[t].is_read)
            others = fmax(others, rps_level_tree_share_apart(&tree->mix[t], x + at, y + at));
    }
    return 1 - others * (1 - (double)ALIKE_OF_OTHERS / ALIKE_OF_COUNTS);
}

/* Return how much two segments differ, to be compared with the limit. */
static double difference_to_limit(struct labelling *l, const struct rps_moments3 *x, double x_cost,
                                  const struct rps_moments3 *y, double y_cost)
{
    const double each = by_observation(l, x, y);
    const double apart = difference(l, x, x_cost, y, y_cost) / limit_of(l, x, y);

    return l->beside > 0 && each > 0 ? apart * fmin(1, l->limit / l->beside * each) : apart;
}

/* Return the trend of a cluster's segments; 0 if they are more than one phase. */
static int trend_of(const struct labelling *l, size_t cluster)
{
    const size_t *first = l->first + l->place[cluster];

    return first[1] - first[0] == 1 ? l->tree->leaf[first[0]].trend : 0;
}

static double between(struct labelling *l, size_t a, size_t b)
{
    size_t width = l->tree->width;
    const struct rps_moments3 *x = l->sums + a * width, *y = l->sums + b * width;

    if (trend_of(l, a) != trend_of(l, b))
        return DBL_MAX;
    if (l->splits[a] && l->splits[b] && rps_level_samples_differ(l->tree, x, y))
        return DBL_MAX; /* they may be alike again after either has merged */
    return difference_to_limit(l, x, l->cost[a], y, l->cost[b]);
}

/* Return 1 if segments k and k + 1 are side by side, without a gap. */
static int are_neighbours(const struct labelling *l, size_t k)
{
    return !l->tree->broken[l->first[k + 1]];
}

/* Fill in how much clusters without neighbouring segments differ. */
static void fill_between(struct labelling *l)
{
    for (size_t a = 0; a < l->count; a++) {
        for (size_t b = 0; b < a; b++)
            l->between[a * l->count + b] = l->between[b * l->count + a] = between(l, a, b);
        l->between[a * l->count + a] = INFINITY;
    }
    for (size_t k = 0; k + 1 < l->count; k++) {
        if (l->place[k] + 1 == l->place[k + 1] && are_neighbours(l, l->place[k]))
            l->between[k * l->count + k + 1] = l->between[(k + 1) * l->count + k] = INFINITY;
    }
}

/* Find the best cluster to merge with cluster a. */
static void find_partner(struct labelling *l, size_t a)
{
    l->partner[a] = NONE;
    l->apart[a] = INFINITY;
    for (size_t b = 0; b < l->count; b++) {
        double apart = l->between[a * l->count + b];

        if (l->cluster[b] == b && apart < l->apart[a]) {
            l->apart[a] = apart;
            l->partner[a] = b;
        }
    }
}

/* Merge cluster b into cluster a. */
static void merge(struct labelling *l, size_t a, size_t b)
{
    size_t width = l->tree->width;

    for (size_t s = 0; s < width; s++) {
        l->sums[a * width + s].weight += l->sums[b * width + s].weight;
        l->sums[a * width + s].sum += l->sums[b * width + s].sum;
        l->sums[a * width + s].squares += l->sums[b * width + s].squares;
    }
    l->cost[a] = rps_level_tree_cost(l->tree, l->sums + a * width);
    l->splits[a] &= l->splits[b];
    for (size_t k = 0; k < l->count; k++) {
        double *to = &l->between[a * l->count + k];

        l->cluster[k] = l->cluster[k] == b ? a : l->cluster[k];
        if (l->cluster[k] == k && isfinite(*to))
            *to = isfinite(l->between[b * l->count + k]) ? between(l, a, k) : INFINITY;
        l->between[k * l->count + a] = *to;
    }
    for (size_t k = 0; k < l->count; k++) {
        double apart = l->between[k * l->count + a];

        if (l->cluster[k] == k && (k == a || l->partner[k] == a || l->partner[k] == b))
            find_partner(l, k);
        else if (l->cluster[k] == k && apart < l->apart[k]) {
            l->apart[k] = apart;
            l->partner[k] = a;
        }
    }
}

/* Put the moments of a segment into ret, and return its cost. */
static double describe(const struct labelling *l, size_t k, struct rps_moments3 *ret)
{
    rps_level_tree_moments(l->tree, l->first[k], l->first[k + 1], ret);
    return rps_level_tree_cost(l->tree, ret);
}

/* Return the difference of neighbouring segments per observation: the median. If gaps separate all
 * of them, use the difference that they would have as neighbours. */
static double usual_difference(struct labelling *l)
{
    size_t width = l->tree->width, pairs = 0;
    struct rps_moments3 *a = l->both + width, *b = l->both + 2 * width;

    for (size_t k = 0; k + 1 < l->stretches; k++) {
        double a_cost = describe(l, k, a), b_cost = describe(l, k + 1, b);

        if (are_neighbours(l, k))
            l->apart[pairs++] = difference(l, a, a_cost, b, b_cost) *
                                (l->tree->mix_count > 0 ? by_observation(l, a, b) : 1);
    }
    return pairs > 0 ? rps_select_rank(l->apart, pairs, pairs / 2) : USUAL;
}

static uint64_t observations(const struct rps_level_tree *tree)
{
    return tree->leaf[tree->count - 1].last + 1;
}

static void find_limit(struct labelling *l)
{
    double usual = usual_difference(l);

    if (l->tree->mix_count > 0) {
        l->limit = ALIKE_OF_COUNTS * log((double)observations(l->tree));
        l->beside = ALIKE_BESIDE * usual;
    } else {
        l->limit = (l->tree->runs > 1 ? ALIKE_OF_RUNS : l->alike) * usual;
    }
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Return 1 if segments k and k + 1 differ by more than the limit. */
static int are_apart(struct labelling *l, size_t k)
{
    size_t width = l->tree->width;
    struct rps_moments3 *x = l->both + width, *y = l->both + 2 * width;
    double x_cost = describe(l, k, x), y_cost = describe(l, k + 1, y);

    return difference_to_limit(l, x, x_cost, y, y_cost) > l->limit;
}

/*
 * Leave memory out of the labels if all neighbours differ without it: repeated work is one class
 * even though memory grew in between. If some neighbours differ by memory alone, memory defines the
 * phases, and stays. `without` is the tree without memory.
 */
static void leave_out_memory(struct labelling *l, struct rps_level_tree *without)
{
    struct labelling other = *l;

    *without = *l->tree;
    without->worth = rps_arena_get(l->arena, without->width, sizeof(*without->worth));
    memcpy(without->worth, l->tree->worth, without->width * sizeof(*without->worth));
    without->worth[without->memory_signal - 1] = 0;
    other.tree = without;
    find_limit(l);
    find_limit(&other);
    for (size_t k = 0; k + 1 < l->stretches; k++) {
        if (are_neighbours(l, k) && are_apart(l, k) && !are_apart(&other, k))
            return;
    }
    l->tree = without;
}

/* --- merging ---------------------------------------------------------------------------------- */

static void merge_alike(struct labelling *l)
{
    find_limit(l);
    fill_between(l);
    for (size_t a = 0; a < l->count; a++)
        find_partner(l, a);
    for (;;) {
        size_t best = 0, other;

        for (size_t k = 1; k < l->count; k++) {
            if (l->cluster[k] == k && l->apart[k] < l->apart[best])
                best = k;
        }
        other = l->partner[best];
        if (other == NONE || l->apart[best] > l->limit)
            return;
        merge(l, best < other ? best : other, best < other ? other : best);
    }
}

/* Return 1 if a segment with these moments certainly runs other code than a cluster. */
static int is_other_code(const struct labelling *l, size_t k, const struct rps_moments3 *alone,
                         size_t cluster)
{
    return l->is_split && l->is_split[k] && l->splits[cluster] &&
           rps_level_samples_differ(l->tree, alone, l->sums + cluster * l->tree->width);
}

/* Return the confidence in a segment's label: the distance of the nearest other cluster, compared
 * with that of the rest of its own. The segment's place among the makers is `maker` (or NONE). */
static double judge(struct labelling *l, size_t k, size_t own, size_t maker)
{
    size_t width = l->tree->width;
    struct rps_moments3 *rest = l->both + width, *alone = l->both + 2 * width;
    double cost = describe(l, k, alone), inside, other = INFINITY;

    for (size_t s = 0; s < width; s++) {
        rest[s] = l->sums[own * width + s];
        if (maker == NONE)
            continue;
        rest[s].weight -= alone[s].weight;
        rest[s].sum -= alone[s].sum;
        rest[s].squares -= alone[s].squares;
    }
    inside = fmax(difference(l, alone, cost, rest, rps_level_tree_cost(l->tree, rest)), 0);
    for (size_t b = 0; b < l->count; b++) {
        if (l->cluster[b] == b && b != own && !is_other_code(l, k, alone, b))
            other = fmin(other, difference(l, alone, cost, l->sums + b * width, l->cost[b]));
    }
    return isfinite(other) ? fmax(other, 0) / fmax(inside + other, 1e-9) : 1;
}

/* Return the cluster that a segment joins: the nearest one that neither neighbour has. */
static size_t join(struct labelling *l, size_t k, size_t before, size_t behind)
{
    size_t width = l->tree->width, best = NONE;
    struct rps_moments3 *alone = l->both + 2 * width;
    double cost = describe(l, k, alone), least = INFINITY;

    for (size_t b = 0; b < l->count; b++) {
        double apart;

        if (l->cluster[b] != b || b == before || b == behind)
            continue;
        apart = is_other_code(l, k, alone, b) /* only if there is no other */
                    ? DBL_MAX
                    : difference(l, alone, cost, l->sums + b * width, l->cost[b]);
        if (best == NONE || apart < least) {
            least = apart;
            best = b;
        }
    }
    return best != NONE ? best : before != NONE ? before : behind;
}

/* Number labels by first appearance, with their confidence; return the number of labels. number
 * (one per maker) is filled with -1. */
static int give_labels(struct labelling *l, int *number, int *label, double *sure)
{
    size_t maker = 0, before = NONE;
    int count = 0;

    for (size_t k = 0; k < l->stretches; k++) {
        int is_maker = maker < l->count && l->place[maker] == k;
        int is_next = maker < l->count && l->place[maker] == k + 1 && are_neighbours(l, k);
        size_t own;

        before = k > 0 && are_neighbours(l, k - 1) ? before : NONE;
        own = is_maker ? l->cluster[maker] : join(l, k, before, is_next ? l->cluster[maker] : NONE);

        number[own] = number[own] < 0 ? count++ : number[own];
        label[k] = number[own];
        sure[k] = judge(l, k, own, is_maker ? maker : NONE);
        maker += (size_t)is_maker;
        before = own;
    }
    return count;
}

int rps_level_tree_label(const struct rps_level_tree *tree, const size_t *first, size_t count,
                         double alike, const uint8_t *is_split, int *label, double *sure)
{
    struct labelling l = {.arena = rps_arena_new(),
                          .tree = tree,
                          .first = first,
                          .alike = alike,
                          .stretches = count,
                          .is_split = is_split};
    int *number = rps_arena_get(l.arena, count, sizeof(*number)), labels;
    struct rps_level_tree without;

    l.both = rps_arena_get(l.arena, 3 * tree->width, sizeof(*l.both));
    l.apart = rps_arena_get(l.arena, count, sizeof(*l.apart));
    if (tree->memory_signal > 0 && tree->mix_count > 0)
        leave_out_memory(&l, &without);
    add_makers(&l);
    merge_alike(&l);
    memset(number, -1, count * sizeof(*number));
    labels = give_labels(&l, number, label, sure);
    rps_arena_free(l.arena);
    return labels;
}
