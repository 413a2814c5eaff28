/* The leaves of the tree of levels and what a stretch of them costs; see levels_tree.h. */
#include "levels_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Boundaries that are less sure are left out. */
#define SURE_MIN .5

/* The floor of a stretch's variance, as a share of the whole run's. */
#define FLOOR_SHARE .01

/* Values that are worth one independent value, at most. */
#define TAU_MAX 20

/* What a signal is like inside the leaves. */
struct inside {
    double weight, squares; /* of deviations from the leaf's mean */
    double pairs, products; /* of neighbouring deviations */
    double pair_squares;    /* of the deviations in those pairs */
};

void rps_level_tree_free(struct rps_level_tree *tree)
{
    free(tree->increase);
    free(tree->rank);
    free(tree->worth);
    free(tree->floor);
    free(tree->before);
    free(tree->leaf);
    memset(tree, 0, sizeof(*tree));
}

static int allocate(struct rps_level_tree *tree, size_t leaves, size_t signals,
                    struct rps_error *err)
{
    tree->leaf = calloc(leaves, sizeof(*tree->leaf));
    tree->before = calloc((leaves + 1) * signals + 1, sizeof(*tree->before));
    tree->floor = calloc(signals + 1, sizeof(*tree->floor));
    tree->worth = calloc(signals + 1, sizeof(*tree->worth));
    tree->rank = calloc(leaves + 1, sizeof(*tree->rank));
    tree->increase = calloc(leaves + 1, sizeof(*tree->increase));
    if (tree->leaf && tree->before && tree->floor && tree->worth && tree->rank && tree->increase)
        return 0;
    return rps_error_memory(err);
}

/* Is the boundary before a fine phase left out? It is not sure; or what is before it has got the
 * phase's label by that. */
static int joins(const struct rps_phases *fine, size_t k, const struct rps_phase *last)
{
    return fine->phase[k].confidence < SURE_MIN ||
           (last->label == fine->phase[k].label && fine->phase[k - 1].label != last->label);
}

/* Fine phases as leaves. Those that join have the label of the longest. */
static void add_leaves(struct rps_level_tree *tree, const struct rps_phases *fine)
{
    uint64_t longest = 0;

    for (size_t k = 0; k < fine->count; k++) {
        const struct rps_phase *phase = &fine->phase[k];
        struct rps_phase *last = tree->count > 0 ? &tree->leaf[tree->count - 1] : NULL;
        uint64_t length = phase->last - phase->first + 1;

        if (!last || !joins(fine, k, last)) {
            tree->leaf[tree->count++] = *phase;
            longest = length;
            continue;
        }
        last->last = phase->last;
        if (length > longest) {
            last->label = phase->label;
            last->label_confidence = phase->label_confidence;
            longest = length;
        }
    }
}

static double weight_of(const struct rps_signals *signals, size_t at)
{
    double weight = signals->weight ? (double)signals->weight[at] : 1;

    return isfinite(signals->value[at]) && weight > 0 ? fmin(weight, 1) : 0;
}

/* The middle of a signal's values, so that sums of squares keep their digits. */
static double centre_of(const struct rps_signals *signals, size_t base)
{
    double sum = 0, weight = 0;

    for (size_t i = base; i < base + signals->count; i++) {
        double w = weight_of(signals, i);

        sum += w > 0 ? w * signals->value[i] : 0;
        weight += w;
    }
    return weight > 0 ? sum / weight : 0;
}

/* Moments of a signal in every leaf, outliers left out, and what it is like inside them. */
static struct inside add_signal(struct rps_level_tree *tree, const struct rps_signals *signals,
                                const struct rps_phases *fine, size_t base, size_t to)
{
    double centre = centre_of(signals, base);
    struct inside inside = {0};
    size_t outlier = 0;

    for (size_t k = 0; k < tree->count; k++) {
        struct rps_moments3 *sums = &tree->before[(k + 1) * tree->width + to], own = {0};
        double mean, last = NAN;
        size_t from_outlier = outlier;

        for (int pass = 0; pass < 2; pass++) {
            mean = own.weight > 0 ? own.sum / own.weight : 0;
            outlier = from_outlier;
            for (size_t i = tree->leaf[k].first; i <= tree->leaf[k].last; i++) {
                double weight = weight_of(signals, base + i);
                double value = weight > 0 ? signals->value[base + i] - centre : 0;

                while (outlier < fine->outlier_count && fine->outlier[outlier] < i)
                    outlier++;
                if (!(weight > 0) || (outlier < fine->outlier_count && fine->outlier[outlier] == i))
                    continue;
                if (pass == 0) {
                    own.weight += weight;
                    own.sum += weight * value;
                    own.squares += weight * value * value;
                    continue;
                }
                value -= mean;
                inside.weight += weight;
                inside.squares += weight * value * value;
                if (isfinite(last)) {
                    inside.pairs++;
                    inside.products += last * value;
                    inside.pair_squares += (last * last + value * value) / 2;
                }
                last = value;
            }
        }
        *sums = tree->before[k * tree->width + to];
        sums->weight += own.weight;
        sums->sum += own.sum;
        sums->squares += own.squares;
    }
    return inside;
}

/* Floor and worth of a signal; 0: it does not vary. */
static int describe_signal(struct rps_level_tree *tree, size_t to, const struct inside *inside)
{
    const struct rps_moments3 *all = &tree->before[tree->count * tree->width + to];
    double variance, correlation, tau;

    if (!(all->weight > 0))
        return 0;
    variance = all->squares / all->weight - all->sum / all->weight * (all->sum / all->weight);
    if (!(variance > 1e-12 * all->squares / all->weight))
        return 0;
    correlation = inside->pair_squares > 0 ? inside->products / inside->pair_squares : 0;
    correlation = fmin(fmax(correlation, 0), .99);
    tau = fmin((1 + correlation) / (1 - correlation), TAU_MAX);
    tree->floor[to] = fmax(inside->squares / fmax(inside->weight, 1), FLOOR_SHARE * variance);
    tree->worth[to] = 1 / (2 * tau);
    return 1;
}

int rps_level_tree_make(const struct rps_signals *signals, const struct rps_phases *fine,
                        struct rps_level_tree *ret, struct rps_error *err)
{
    struct rps_level_tree tree = {.width = signals->signal_count, .label_count = fine->label_count};

    if (allocate(&tree, fine->count, signals->signal_count, err) < 0) {
        rps_level_tree_free(&tree);
        return RPS_FAILED;
    }
    add_leaves(&tree, fine);
    for (size_t s = 0; s < tree.width; s++) {
        struct inside inside = add_signal(&tree, signals, fine, s * signals->count, s);

        if (!describe_signal(&tree, s, &inside))
            tree.worth[s] = 0; /* costs nothing */
    }
    *ret = tree;
    return 0;
}

void rps_level_tree_moments(const struct rps_level_tree *tree, size_t from, size_t to,
                            struct rps_moments3 *ret)
{
    const struct rps_moments3 *a = tree->before + from * tree->width;
    const struct rps_moments3 *b = tree->before + to * tree->width;

    for (size_t s = 0; s < tree->width; s++)
        ret[s] = (struct rps_moments3){b[s].weight - a[s].weight, b[s].sum - a[s].sum,
                                       b[s].squares - a[s].squares};
}

double rps_level_tree_cost(const struct rps_level_tree *tree, const struct rps_moments3 *moments)
{
    double cost = 0;

    for (size_t s = 0; s < tree->width; s++) {
        double weight = moments[s].weight, mean, variance;

        if (!(weight > 0) || !(tree->worth[s] > 0))
            continue;
        mean = moments[s].sum / weight;
        variance = fmax(moments[s].squares / weight - mean * mean, 0);
        cost += weight * tree->worth[s] * log(variance + tree->floor[s]);
    }
    return cost;
}
