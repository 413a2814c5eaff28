/* Label the segments of a level by agglomerative clustering: segments merge regardless of their
 * place. The difference of each pair of clusters is computed once. After a merge, only the
 * differences of the merged cluster are computed again. If there are many segments, only some
 * segments (the makers) are clustered. Each other segment then joins a cluster. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "detect_math.h"
#include "rpistat/random.h"
#include "levels_tree.h"

#define NONE SIZE_MAX

/* With several runs, segments of one label differ by less than this share of the usual difference
 * of neighbours. An additional segment that only one run has must not get the label of another
 * class. The opposite error does less harm: if one class has two labels, runs can still be matched
 * by the order of the labels. */
#define ALIKE_OF_RUNS .25

/* With tables of counts, merging segments into one class costs at most ALIKE_OF_COUNTS ln n in
 * total, because the costs of a table include chance. For clusters with different symbols the limit
 * is ALIKE_OF_OTHERS, because a dozen samples of functions that only one cluster ran are enough
 * evidence. Segments also merge if they differ by less than ALIKE_BESIDE of the usual difference of
 * neighbours. Without this rule, segments would be kept apart in hours of data, because there even
 * small differences are not due to chance. */
#define ALIKE_OF_COUNTS 4
#define ALIKE_OF_OTHERS 1
#define ALIKE_BESIDE    .1

/* With tables of counts, the cost of signals has this weight for labels. The same code has the same
 * functions, but its signals change from time to time: memory is touched for the first time, or
 * caches are cold. CPU use and the number of seen signals have their full weight, because a
 * workload that waits has few samples. */
#define SIGNALS_BESIDE_COUNTS .3

/* Usual difference of neighbours per observation, if the run has no neighbouring segments. */
#define USUAL .25

/* Maximum number of makers, the segments that are clustered. All pairs of makers are compared. */
#define MAKERS_MAX     400
#define MAKERS_LONGEST 200

struct labelling {
    struct rps_arena *arena;
    const struct rps_level_tree *tree;
    const size_t *first; /* index of the first leaf of each segment */
    double alike;        /* maximum difference of segments with one label, as a share of the
                            usual difference of neighbours */
    size_t stretches;
    size_t count;              /* number of makers, which are the segments that are clustered */
    size_t *place;             /* place[maker]: number of the maker's segment (ascending) */
    size_t *cluster;           /* cluster of each maker; its number is that of its first maker */
    struct rps_moments3 *sums; /* sums[cluster * width + signal]: moments of each cluster */
    struct rps_moments3 *both; /* scratch for three times `width` moments */
    double *cost;              /* cost of each cluster as one segment */
    double limit;              /* maximum difference of two clusters that may merge */
    double chance;             /* maximum chance difference of whole segments at a gap; 0: no gap */
    double beside; /* with tables: maximum difference per observation of clusters that merge */
    const uint8_t *is_split; /* 1 for each segment whose samples may split a label; NULL: none */
    uint8_t *splits;         /* splits[cluster]: 1 if all segments of the cluster have is_split 1 */
    size_t *partner;         /* best merge partner of each cluster; NONE: it cannot merge */
    double *apart;           /* difference of each cluster from its partner */
    double *between;         /* between[a * count + b]: difference of two clusters; INFINITY:
                                they contain neighbouring segments */
};

static double length_of(const struct labelling *l, size_t k)
{
    const struct rps_phase *leaf = l->tree->leaf;

    return (double)(leaf[l->first[k + 1] - 1].last - leaf[l->first[k]].first);
}

/* Choose the makers: the longest segments, and some random others. Random segments are needed
 * because in a long loop, the longest segments may all be repetitions of one part. */
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

/* Return the factor that converts a difference of whole clusters to a difference per observation.
 * Return 0 if a cluster has only outliers. */
static double by_observation(const struct labelling *l, const struct rps_moments3 *x,
                             const struct rps_moments3 *y)
{
    double a = x[l->tree->width - 1].weight, b = y[l->tree->width - 1].weight;

    return a > 0 && b > 0 ? (a + b) / (a * b) : 0;
}

/* Return the difference of two segments or clusters with these moments and costs. The weight of the
 * last signal is the number of observations. */
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

/* Return the limit for a pair of clusters with different symbols, as a share of the limit for
 * clusters with the same symbols. */
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

/* Return the difference of two segments, scaled so that it can be compared with l->limit. Above the
 * limit, the difference is not exact, because limit_of() takes long and could only raise it. */
static double difference_to_limit(struct labelling *l, const struct rps_moments3 *x, double x_cost,
                                  const struct rps_moments3 *y, double y_cost)
{
    const double each = by_observation(l, x, y);
    const double apart = difference(l, x, x_cost, y, y_cost);
    const double by = l->beside > 0 && each > 0 ? fmin(1, l->limit / l->beside * each) : 1;

    return apart * by > l->limit ? apart * by : apart / limit_of(l, x, y) * by;
}

/* Return the trend of a cluster's first segment. Return 0 if this segment has several phases. */
static int trend_of(const struct labelling *l, size_t cluster)
{
    const size_t *first = l->first + l->place[cluster];

    return first[1] - first[0] == 1 ? l->tree->leaf[first[0]].trend : 0;
}

/* Return 1 if segments k and k + 1 are adjacent without a gap. */
static int are_neighbours(const struct labelling *l, size_t k)
{
    return !l->tree->broken[l->first[k + 1]];
}

/* Return 1 if a gap separates a segment of one cluster from the next one, of the other cluster. */
static int meet_at_gap(const struct labelling *l, size_t a, size_t b)
{
    for (size_t k = 0; k + 1 < l->count; k++) {
        if (l->place[k] + 1 == l->place[k + 1] && !are_neighbours(l, l->place[k]) &&
            (l->cluster[k] == a || l->cluster[k] == b) &&
            l->cluster[k + 1] == a + b - l->cluster[k])
            return 1;
    }
    return 0;
}

static double between(struct labelling *l, size_t a, size_t b)
{
    size_t width = l->tree->width;
    const struct rps_moments3 *x = l->sums + a * width, *y = l->sums + b * width;

    if (trend_of(l, a) != trend_of(l, b) ||
        rps_level_tree_is_idle(l->tree, x) != rps_level_tree_is_idle(l->tree, y))
        return DBL_MAX;
    if (l->splits[a] && l->splits[b] && rps_level_samples_differ(l->tree, x, y))
        return DBL_MAX; /* not infinite: the clusters may become similar after one has merged */
    return difference_to_limit(l, x, l->cost[a], y, l->cost[b]) *
           (l->chance > 0 && meet_at_gap(l, a, b)
                ? fmin(1, l->limit / (l->chance * by_observation(l, x, y)))
                : 1);
}

/* Compute the difference of each pair of clusters that contain no neighbouring segments. */
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

/* Find the cluster that is closest to cluster a and may merge with it. */
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

/* Store the moments of a segment in ret, and return its cost. */
static double describe(const struct labelling *l, size_t k, struct rps_moments3 *ret)
{
    rps_level_tree_moments(l->tree, l->first[k], l->first[k + 1], ret);
    return rps_level_tree_cost(l->tree, ret);
}

/* Return the median difference per observation between neighbouring segments. If all segments are
 * separated by gaps, return USUAL. */
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

static void find_limit(struct labelling *l)
{
    double usual = usual_difference(l),
           level = log((double)(l->tree->leaf[l->tree->count - 1].last + 1));

    if (l->tree->mix_count > 0) {
        l->limit = ALIKE_OF_COUNTS * level;
        l->beside = ALIKE_BESIDE * usual;
    } else {
        l->limit = (l->tree->runs > 1 ? ALIKE_OF_RUNS : l->alike) * usual;
        /* Segments at a gap may be one phase, because a gap is no evidence of a change. The limit
         * is a quarter of a chi2, because costs include a floor. */
        for (size_t k = 0; k + 1 < l->stretches && l->tree->runs == 1; k++)
            l->chance = are_neighbours(l, k) ? l->chance
                                             : rps_noise_bound((double)l->tree->signals, level) / 4;
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

/* If all neighbours differ without the memory signal, do not use it for labels. Then repeated work
 * is one class even if memory grew in between. If some neighbours differ only in memory, keep the
 * signal, because it defines the phases. `own` is the tree of l, which is changed. */
static void leave_out_memory(struct labelling *l, struct rps_level_tree *own)
{
    double *worth = &own->worth[own->memory_signal - 1];
    const double with = *worth;
    uint8_t *apart = rps_arena_get(l->arena, l->stretches, sizeof(*apart));

    find_limit(l);
    for (size_t k = 0; k + 1 < l->stretches; k++)
        apart[k] = are_neighbours(l, k) && are_apart(l, k);
    *worth = 0;
    find_limit(l);
    for (size_t k = 0; k + 1 < l->stretches; k++)
        *worth = apart[k] && !are_apart(l, k) ? with : *worth;
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

/* Return 1 if a segment or a cluster is idle and the other is not, or if the samples show that they
 * run different functions. `alone` has the moments of the segment. */
static int is_other_code(const struct labelling *l, size_t k, const struct rps_moments3 *alone,
                         size_t cluster)
{
    const struct rps_moments3 *sums = l->sums + cluster * l->tree->width;

    return rps_level_tree_is_idle(l->tree, alone) != rps_level_tree_is_idle(l->tree, sums) ||
           (l->is_split && l->is_split[k] && l->splits[cluster] &&
            rps_level_samples_differ(l->tree, alone, sums));
}

/* Store the moments of a segment in `alone`, and its differences from all clusters in l->apart:
 * DBL_MAX if is_other_code(). Return the cost of the segment. */
static double compare(struct labelling *l, size_t k, struct rps_moments3 *alone)
{
    double cost = describe(l, k, alone);

    for (size_t b = 0; b < l->count; b++) {
        const struct rps_moments3 *sums = l->sums + b * l->tree->width;

        if (l->cluster[b] == b)
            l->apart[b] = is_other_code(l, k, alone, b)
                              ? DBL_MAX
                              : difference(l, alone, cost, sums, l->cost[b]);
    }
    return cost;
}

/* Return the confidence in a segment's label. Compare the segment's distance to the nearest other
 * cluster with its distance to the other segments of its own cluster. `maker` is the number of the
 * segment among the makers, or NONE. `alone` and `cost` describe the segment. */
static double judge(struct labelling *l, const struct rps_moments3 *alone, double cost, size_t own,
                    size_t maker)
{
    size_t width = l->tree->width;
    struct rps_moments3 *rest = l->both + width;
    double inside, other = DBL_MAX;

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
        if (l->cluster[b] == b && b != own)
            other = fmin(other, l->apart[b]);
    }
    return other < DBL_MAX ? fmax(other, 0) / fmax(inside + other, 1e-9) : 1;
}

/* Return the cluster that a segment joins. This is the nearest cluster to which neither neighbour
 * of the segment belongs. */
static size_t join(const struct labelling *l, size_t before, size_t after)
{
    size_t best = NONE;

    for (size_t b = 0; b < l->count; b++) {
        if (l->cluster[b] == b && b != before && b != after &&
            (best == NONE || l->apart[b] < l->apart[best]))
            best = b;
    }
    return best != NONE ? best : before != NONE ? before : after;
}

/* Number the labels by first appearance and compute their confidence. Return the number of labels.
 * `number` (one per maker) is initially filled with -1. */
static int give_labels(struct labelling *l, int *number, int *label, double *sure)
{
    struct rps_moments3 *alone = l->both + 2 * l->tree->width;
    size_t maker = 0, before = NONE;
    int count = 0;

    for (size_t k = 0; k < l->stretches; k++) {
        int is_maker = maker < l->count && l->place[maker] == k;
        int is_next = maker < l->count && l->place[maker] == k + 1 && are_neighbours(l, k);
        double cost = compare(l, k, alone);
        size_t own;

        before = k > 0 && are_neighbours(l, k - 1) ? before : NONE;
        own = is_maker ? l->cluster[maker] : join(l, before, is_next ? l->cluster[maker] : NONE);

        number[own] = number[own] < 0 ? count++ : number[own];
        label[k] = number[own];
        sure[k] = judge(l, alone, cost, own, is_maker ? maker : NONE);
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
    struct rps_level_tree own = *tree;

    l.both = rps_arena_get(l.arena, 3 * tree->width, sizeof(*l.both));
    l.apart = rps_arena_get(l.arena, count, sizeof(*l.apart));
    if (tree->mix_count > 0) {
        l.tree = &own;
        own.worth = rps_arena_get(l.arena, tree->width, sizeof(*own.worth));
        for (size_t s = 0; s < tree->width; s++)
            own.worth[s] =
                tree->worth[s] *
                (s + 1 == tree->use_signal || s + 1 == tree->width ? 1 : SIGNALS_BESIDE_COUNTS);
        if (tree->memory_signal > 0)
            leave_out_memory(&l, &own);
    }
    add_makers(&l);
    merge_alike(&l);
    memset(number, -1, count * sizeof(*number));
    labels = give_labels(&l, number, label, sure);
    rps_arena_free(l.arena);
    return labels;
}
