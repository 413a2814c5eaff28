/*
 * Labels of a level: its stretches merged as neighbours are, but wherever they lie. Every cluster
 * knows the one that it would best merge with; after a merge only those are asked again that knew
 * one of the two.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect_math.h"
#include "levels_tree.h"

#define NONE SIZE_MAX

/* Stretches of one label differ by less than this, in parts of what neighbours differ by. */
#define ALIKE .4

struct labelling {
    const struct rps_level_tree *tree;
    size_t count;              /* stretches */
    size_t *cluster;           /* owned; of each stretch: one of its stretches */
    struct rps_moments3 *sums; /* owned; of each cluster, width each */
    struct rps_moments3 *both; /* owned; scratch, three times width */
    double *cost;              /* owned; of each cluster */
    size_t *partner;           /* owned; of each cluster; NONE: it may merge with none */
    double *apart;             /* owned; how much it differs from that */
    uint8_t *beside;           /* owned; scratch: clusters that have a neighbour in one */
};

static void labelling_free(struct labelling *l)
{
    free(l->beside);
    free(l->apart);
    free(l->partner);
    free(l->cost);
    free(l->both);
    free(l->sums);
    free(l->cluster);
}

static int labelling_make(struct labelling *l, const size_t *first, struct rps_error *err)
{
    size_t width = l->tree->width;

    l->cluster = calloc(l->count, sizeof(*l->cluster));
    l->sums = calloc(l->count * width + 1, sizeof(*l->sums));
    l->both = calloc(3 * width + 1, sizeof(*l->both));
    l->cost = calloc(l->count, sizeof(*l->cost));
    l->partner = calloc(l->count, sizeof(*l->partner));
    l->apart = calloc(l->count, sizeof(*l->apart));
    l->beside = calloc(l->count, 1);
    if (!l->cluster || !l->sums || !l->both || !l->cost || !l->partner || !l->apart || !l->beside)
        return rps_error_memory(err);
    for (size_t k = 0; k < l->count; k++) {
        l->cluster[k] = k;
        rps_level_tree_moments(l->tree, first[k], first[k + 1], l->sums + k * width);
        l->cost[k] = rps_level_tree_cost(l->tree, l->sums + k * width);
    }
    return 0;
}

/* By how much stretches or clusters with these moments and costs differ. The last signal counts
 * observations. */
static double difference(struct labelling *l, const struct rps_moments3 *x, double x_cost,
                         const struct rps_moments3 *y, double y_cost)
{
    size_t width = l->tree->width;
    double a = x[width - 1].weight, b = y[width - 1].weight;

    for (size_t s = 0; s < width; s++)
        l->both[s] = (struct rps_moments3){x[s].weight + y[s].weight, x[s].sum + y[s].sum,
                                           x[s].squares + y[s].squares};
    return a > 0 && b > 0
               ? (rps_level_tree_cost(l->tree, l->both) - x_cost - y_cost) * (a + b) / (a * b)
               : 0;
}

static double between(struct labelling *l, size_t a, size_t b)
{
    size_t width = l->tree->width;

    return difference(l, l->sums + a * width, l->cost[a], l->sums + b * width, l->cost[b]);
}

/* The cluster that is best merged with cluster a: not one that has a neighbour of it. */
static void find_partner(struct labelling *l, size_t a)
{
    memset(l->beside, 0, l->count);
    for (size_t k = 0; k + 1 < l->count; k++) {
        if (l->cluster[k] == a)
            l->beside[l->cluster[k + 1]] = 1;
        if (l->cluster[k + 1] == a)
            l->beside[l->cluster[k]] = 1;
    }
    l->partner[a] = NONE;
    l->apart[a] = INFINITY;
    for (size_t b = 0; b < l->count; b++) {
        double apart;

        if (b == a || l->cluster[b] != b || l->beside[b])
            continue;
        apart = between(l, a, b);
        if (apart < l->apart[a]) {
            l->apart[a] = apart;
            l->partner[a] = b;
        }
        if (apart < l->apart[b]) {
            l->apart[b] = apart;
            l->partner[b] = a;
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
    for (size_t k = 0; k < l->count; k++)
        l->cluster[k] = l->cluster[k] == b ? a : l->cluster[k];
    for (size_t k = 0; k < l->count; k++) {
        if (l->cluster[k] == k && (k == a || l->partner[k] == a || l->partner[k] == b))
            find_partner(l, k);
    }
}

/* What neighbours differ by: the median. They are still clusters of their own. */
static double usual_difference(struct labelling *l)
{
    for (size_t k = 0; k + 1 < l->count; k++)
        l->apart[k] = between(l, k, k + 1);
    return l->count > 1 ? rps_select_rank(l->apart, l->count - 1, (l->count - 1) / 2) : 0;
}

static void merge_alike(struct labelling *l)
{
    double limit = ALIKE * usual_difference(l);

    for (size_t a = 0; a < l->count; a++)
        l->apart[a] = INFINITY;
    for (size_t a = 0; a < l->count; a++)
        find_partner(l, a);
    for (;;) {
        size_t best = 0, other;

        for (size_t k = 1; k < l->count; k++) {
            if (l->cluster[k] == k && l->apart[k] < l->apart[best])
                best = k;
        }
        other = l->partner[best];
        if (other == NONE || l->apart[best] > limit)
            return;
        merge(l, best < other ? best : other, best < other ? other : best);
    }
}

/* How sure a stretch's label is: how far the nearest other label is, beside how far the rest of its
 * own. */
static double judge(struct labelling *l, const size_t *first, size_t k)
{
    size_t width = l->tree->width, own = l->cluster[k];
    struct rps_moments3 *rest = l->both + width, *alone = l->both + 2 * width;
    double cost, inside, other = INFINITY;

    rps_level_tree_moments(l->tree, first[k], first[k + 1], alone);
    cost = rps_level_tree_cost(l->tree, alone);
    for (size_t s = 0; s < width; s++)
        rest[s] = (struct rps_moments3){l->sums[own * width + s].weight - alone[s].weight,
                                        l->sums[own * width + s].sum - alone[s].sum,
                                        l->sums[own * width + s].squares - alone[s].squares};
    inside = fmax(difference(l, alone, cost, rest, rps_level_tree_cost(l->tree, rest)), 0);
    for (size_t b = 0; b < l->count; b++) {
        if (l->cluster[b] == b && b != own)
            other = fmin(other, difference(l, alone, cost, l->sums + b * width, l->cost[b]));
    }
    return isfinite(other) ? fmax(other, 0) / fmax(inside + other, 1e-9) : 1;
}

static int number(const struct labelling *l, int *label)
{
    int count = 0;

    /* A cluster is named by the first of its stretches. */
    for (size_t k = 0; k < l->count; k++)
        label[k] = l->cluster[k] == k ? count++ : label[l->cluster[k]];
    return count;
}

int rps_level_tree_label(const struct rps_level_tree *tree, const size_t *first, size_t count,
                         int *label, double *sure, struct rps_error *err)
{
    struct labelling l = {.tree = tree, .count = count};
    int result = labelling_make(&l, first, err);

    if (result == 0) {
        merge_alike(&l);
        result = number(&l, label);
        for (size_t k = 0; k < count; k++)
            sure[k] = judge(&l, first, k);
    }
    labelling_free(&l);
    return result;
}
