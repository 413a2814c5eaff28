/*
 * Labels of a level: its stretches merged as neighbours are, but wherever they lie. How much each
 * pair of clusters differs is worked out once, and anew after a merge for what has merged. Of many
 * stretches some make the clusters, and the others join them.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "detect_math.h"
#include "rpistat/random.h"
#include "levels_tree.h"

#define NONE SIZE_MAX

/* Where there are several runs, stretches of one label differ by less than this, in parts of what
 * neighbours differ by: what one has got by a change must not be taken for another kind, and what
 * has two labels is matched by its order too. */
#define ALIKE_OF_RUNS .25

/* Where there are tables of counts, what is taken for one kind costs so many ln n more, in all: a
 * table's costs say themselves how much is chance. As far as they count other symbols, fewer: of
 * functions that nothing else ran a dozen samples tell as much as there is to tell. Or it differs by
 * less than this, in parts of what neighbours differ by: in hours what hardly differs is no chance
 * either. */
#define ALIKE_OF_COUNTS 4
#define ALIKE_OF_OTHERS 1
#define ALIKE_BESIDE    .1

/* What neighbours usually differ by an observation, where there are none. */
#define USUAL .25

/* Stretches that make clusters: all pairs of them are compared. */
#define MAKERS_MAX     400
#define MAKERS_LONGEST 200

struct labelling {
    struct rps_arena *arena;
    const struct rps_level_tree *tree;
    const size_t *first; /* leaves that the stretches begin at */
    double alike;        /* stretches of one label differ by less, in parts of what neighbours do */
    size_t stretches;
    size_t count;              /* of those that make clusters */
    size_t *place;             /* of each of them among the stretches, ascending */
    size_t *cluster;           /* of each: the first maker of its cluster, which names it */
    struct rps_moments3 *sums; /* of each cluster, width each */
    struct rps_moments3 *both; /* scratch, three times width */
    double *cost;              /* of each cluster */
    double limit;              /* clusters that differ by less are alike */
    double beside; /* with tables of counts: so are those that differ by less, an observation */
    const uint8_t *is_split; /* of each stretch: its samples may split a label; NULL: none may */
    uint8_t *splits;         /* of each cluster: those of all its stretches may */
    size_t *partner;         /* of each cluster; NONE: it may merge with none */
    double *apart;           /* how much it differs from that */
    double *between;         /* between[a * count + b]: how much two clusters differ; INFINITY: they
                        have neighbours in each other */
};

static double length_of(const struct labelling *l, size_t k)
{
    const struct rps_phase *leaf = l->tree->leaf;

    return (double)(leaf[l->first[k + 1] - 1].last - leaf[l->first[k]].first);
}

/* The stretches that make clusters: the longest, and any of the others, for in a long loop all of the
 * longest are one part of it. */
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

/* What a difference of whole clusters is to be multiplied with for one of their observations; 0 where
 * one has nothing but outliers. */
static double by_observation(const struct labelling *l, const struct rps_moments3 *x,
                             const struct rps_moments3 *y)
{
    double a = x[l->tree->width - 1].weight, b = y[l->tree->width - 1].weight;

    return a > 0 && b > 0 ? (a + b) / (a * b) : 0;
}

/* By how much stretches or clusters with these moments and costs differ. The last signal counts
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

/* What the limit is for clusters that count other symbols, in parts of what it is for the same. */
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

/* Return by how much two stretches differ, to be compared with the limit. */
static double difference_to_limit(struct labelling *l, const struct rps_moments3 *x, double x_cost,
                                  const struct rps_moments3 *y, double y_cost)
{
    const double each = by_observation(l, x, y);
    const double apart = difference(l, x, x_cost, y, y_cost) / limit_of(l, x, y);

    return l->beside > 0 && each > 0 ? apart * fmin(1, l->limit / l->beside * each) : apart;
}

/* Return the trend of a cluster's stretches; 0 if they are more than one phase. */
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
        return DBL_MAX; /* they may be alike again when either has merged */
    return difference_to_limit(l, x, l->cost[a], y, l->cost[b]);
}

/* Do stretches k and k + 1 lie side by side, without a gap? */
static int are_neighbours(const struct labelling *l, size_t k)
{
    return !l->tree->broken[l->first[k + 1]];
}

/* How much clusters differ that lie nowhere side by side. */
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

/* The cluster that is best merged with cluster a. */
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

/* Cluster b becomes part of cluster a. */
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

/* Moments of a stretch, into ret, and its cost. */
static double describe(const struct labelling *l, size_t k, struct rps_moments3 *ret)
{
    rps_level_tree_moments(l->tree, l->first[k], l->first[k + 1], ret);
    return rps_level_tree_cost(l->tree, ret);
}

/* What neighbouring stretches differ by, an observation: the median; where a gap is all that there is
 * between any, what they would differ by as neighbours. */
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

/* Return 1 if stretches k and k + 1 differ by more than the limit. */
static int are_apart(struct labelling *l, size_t k)
{
    size_t width = l->tree->width;
    struct rps_moments3 *x = l->both + width, *y = l->both + 2 * width;
    double x_cost = describe(l, k, x), y_cost = describe(l, k + 1, y);

    return difference_to_limit(l, x, x_cost, y, y_cost) > l->limit;
}

/*
 * Leave memory out of the labels if all neighbours differ without it: work that comes twice is one
 * class though memory grew in between. Some neighbours differ by memory alone if memory is what the
 * phases are made of; then it stays. `without` is the tree without memory.
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

/* Does a stretch with these moments run surely other code than a cluster? */
static int is_other_code(const struct labelling *l, size_t k, const struct rps_moments3 *alone,
                         size_t cluster)
{
    return l->is_split && l->is_split[k] && l->splits[cluster] &&
           rps_level_samples_differ(l->tree, alone, l->sums + cluster * l->tree->width);
}

/* How sure a stretch's label is: how far the nearest other cluster is, beside how far the rest of
 * its own. maker: its place among the makers, or NONE. */
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

/* The cluster that a stretch joins: the nearest that neither neighbour has. */
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

/* Labels by first appearance, and how sure they are; returns their number. number (a maker each) is
 * filled with -1. */
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
