/*
 * Labels of a level: its stretches merged as neighbours are, but wherever they lie. Every cluster
 * knows the one that it would best merge with; after a merge only those are asked again that knew
 * one of the two.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "levels_tree.h"

#define NONE SIZE_MAX

struct labelling {
    const struct rps_level_tree *tree;
    size_t count;              /* stretches */
    size_t *cluster;           /* owned; of each stretch: one of its stretches */
    struct rps_moments3 *sums; /* owned; of each cluster, width each */
    struct rps_moments3 *both; /* owned; scratch, three times width */
    double *cost;              /* owned; of each cluster */
    size_t *partner;           /* owned; of each cluster; NONE: it may merge with none */
    double *increase;          /* owned; by that */
    uint8_t *beside;           /* owned; scratch: clusters that have a neighbour in one */
};

static void labelling_free(struct labelling *l)
{
    free(l->beside);
    free(l->increase);
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
    l->increase = calloc(l->count, sizeof(*l->increase));
    l->beside = calloc(l->count, 1);
    if (!l->cluster || !l->sums || !l->both || !l->cost || !l->partner || !l->increase ||
        !l->beside)
        return rps_error_memory(err);
    for (size_t k = 0; k < l->count; k++) {
        l->cluster[k] = k;
        rps_level_tree_moments(l->tree, first[k], first[k + 1], l->sums + k * width);
        l->cost[k] = rps_level_tree_cost(l->tree, l->sums + k * width);
    }
    return 0;
}

static double increase_of(struct labelling *l, size_t a, size_t b)
{
    size_t width = l->tree->width;
    const struct rps_moments3 *x = l->sums + a * width, *y = l->sums + b * width;

    for (size_t s = 0; s < width; s++)
        l->both[s] = (struct rps_moments3){x[s].weight + y[s].weight, x[s].sum + y[s].sum,
                                           x[s].squares + y[s].squares};
    return rps_level_tree_cost(l->tree, l->both) - l->cost[a] - l->cost[b];
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
    l->increase[a] = INFINITY;
    for (size_t b = 0; b < l->count; b++) {
        double increase;

        if (b == a || l->cluster[b] != b || l->beside[b])
            continue;
        increase = increase_of(l, a, b);
        if (increase < l->increase[a]) {
            l->increase[a] = increase;
            l->partner[a] = b;
        }
        if (increase < l->increase[b]) {
            l->increase[b] = increase;
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

static void merge_up_to(struct labelling *l, double limit)
{
    for (size_t a = 0; a < l->count; a++)
        l->increase[a] = INFINITY;
    for (size_t a = 0; a < l->count; a++)
        find_partner(l, a);
    for (;;) {
        size_t best = 0;

        for (size_t k = 1; k < l->count; k++) {
            if (l->cluster[k] == k &&
                (l->cluster[best] != best || l->increase[k] < l->increase[best]))
                best = k;
        }
        if (!(l->increase[best] <= limit) || l->partner[best] == NONE)
            return;
        merge(l, best < l->partner[best] ? best : l->partner[best],
              best < l->partner[best] ? l->partner[best] : best);
    }
}

/* How sure a stretch's label is: what it costs to have it among another's stretches, beside what it
 * costs among its own. */
static double judge(struct labelling *l, const size_t *first, size_t k)
{
    size_t width = l->tree->width, own = l->cluster[k];
    struct rps_moments3 *rest = l->both + width, *alone = l->both + 2 * width;
    double cost, inside = 0, other = INFINITY;

    rps_level_tree_moments(l->tree, first[k], first[k + 1], alone);
    cost = rps_level_tree_cost(l->tree, alone);
    for (size_t s = 0; s < width; s++)
        rest[s] = (struct rps_moments3){l->sums[own * width + s].weight - alone[s].weight,
                                        l->sums[own * width + s].sum - alone[s].sum,
                                        l->sums[own * width + s].squares - alone[s].squares};
    inside = l->cost[own] - rps_level_tree_cost(l->tree, rest) - cost;
    for (size_t b = 0; b < l->count; b++) {
        if (l->cluster[b] != b || b == own)
            continue;
        for (size_t s = 0; s < width; s++)
            rest[s] = (struct rps_moments3){l->sums[b * width + s].weight + alone[s].weight,
                                            l->sums[b * width + s].sum + alone[s].sum,
                                            l->sums[b * width + s].squares + alone[s].squares};
        other = fmin(other, rps_level_tree_cost(l->tree, rest) - l->cost[b] - cost);
    }
    inside = fmax(inside, 0);
    return isfinite(other) ? fmax(other, 0) / (inside + fmax(other, 1e-9)) : 1;
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
                         double limit, int *label, double *sure, struct rps_error *err)
{
    struct labelling l = {.tree = tree, .count = count};
    int result = labelling_make(&l, first, err);

    if (result == 0) {
        merge_up_to(&l, limit);
        result = number(&l, label);
        for (size_t k = 0; k < count; k++)
            sure[k] = judge(&l, first, k);
    }
    labelling_free(&l);
    return result;
}
