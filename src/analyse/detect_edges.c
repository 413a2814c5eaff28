/* Observations in which a change falls; see detect_edges.h. */
#include "detect_edges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A level is so many values that are alike. */
#define LEVEL 3

/* Are the values of a level alike? Their median in *ret. */
static int are_alike(const double *value, double limit, double *ret)
{
    double low = fmin(value[0], fmin(value[1], value[2]));
    double high = fmax(value[0], fmax(value[1], value[2]));

    *ret = value[0] + value[1] + value[2] - low - high;
    return high - low <= 2 * limit;
}

int rps_edge_find(const double *value, size_t k, size_t count, double limit, struct rps_edge *ret)
{
    double own = value[k];

    if (k < LEVEL || k + LEVEL >= count || fabs(value[k + 1] - value[k - 1]) <= 2 * limit ||
        !are_alike(value + k - LEVEL, limit, &ret->before) ||
        !are_alike(value + k + 1, limit, &ret->behind) ||
        fabs(ret->before - ret->behind) <= 2 * limit)
        return 0;
    ret->value = own;
    ret->mixed = fabs(own - ret->before) > limit && fabs(own - ret->behind) > limit &&
                 (own > ret->before) == (own < ret->behind);
    return 1;
}

int rps_edges_add(struct rps_edges *edges, const struct rps_edge *edge, struct rps_error *err)
{
    if (edges->count == edges->room) {
        size_t room = 2 * edges->room + 64;
        struct rps_edge *grown = realloc(edges->edge, room * sizeof(*grown));

        if (!grown)
            return rps_error_memory(err);
        edges->edge = grown;
        edges->room = room;
    }
    edges->edge[edges->count++] = *edge;
    return 0;
}

static int compare_edges(const void *a, const void *b)
{
    const struct rps_edge *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->signal > y->signal) - (x->signal < y->signal);
}

void rps_edges_settle(struct rps_edges *edges, struct rps_observed *observed)
{
    if (edges->count > 0)
        qsort(edges->edge, edges->count, sizeof(*edges->edge), compare_edges);
    for (size_t first = 0, end; first < edges->count; first = end) {
        double before = 0, behind = 0;
        int mixed = 0;

        for (end = first; end < edges->count && edges->edge[end].at == edges->edge[first].at;
             end++) {
            const struct rps_edge *edge = &edges->edge[end];

            before += (edge->value - edge->before) * (edge->value - edge->before);
            behind += (edge->value - edge->behind) * (edge->value - edge->behind);
            mixed |= edge->mixed;
        }
        for (size_t e = first; mixed && e < end; e++) {
            const struct rps_edge *edge = &edges->edge[e];

            observed->value[edge->at * observed->width + edge->signal] =
                before < behind ? edge->before : edge->behind;
        }
    }
}

void rps_edges_free(struct rps_edges *edges)
{
    free(edges->edge);
    memset(edges, 0, sizeof(*edges));
}
