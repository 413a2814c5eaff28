/*
 * Edges: observations in which a change falls. Private to the detector.
 */
#ifndef RPISTAT_ANALYSE_DETECT_EDGES_H
#define RPISTAT_ANALYSE_DETECT_EDGES_H

#include "detect_observed.h"

/* An observation at which a signal steps from one level to another: the last of the one, the first
 * of the other, or between them. In noise units. */
struct rps_edge {
    size_t at, signal;
    double value, before, behind;
    int mixed; /* it is at neither level */
};

struct rps_edges {
    struct rps_edge *edge; /* owned */
    size_t count, room;
};

/* Is the k-th of `count` values at a step between levels that are more than twice the limit apart?
 * Then *ret has value, before, behind and mixed. */
int rps_edge_find(const double *value, size_t k, size_t count, double limit, struct rps_edge *ret);

/* RPS_FAILED without memory. */
int rps_edges_add(struct rps_edges *edges, const struct rps_edge *edge, struct rps_error *err);

/*
 * An observation in which a change falls is a mixture of both sides, which no running median takes
 * for an outlier. Left alone it is so far from either level that the search cuts out a
 * segment of the shortest length around it; and one signal may look like the one side and another
 * like the other. So all that step there are put on the side that they are nearer to together.
 */
void rps_edges_settle(struct rps_edges *edges, struct rps_observed *observed);

void rps_edges_free(struct rps_edges *edges);

#endif
