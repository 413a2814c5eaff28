/*
 * The search for change points over prepared signals.
 */
#ifndef RPISTAT_ANALYSE_SEARCH_H
#define RPISTAT_ANALYSE_SEARCH_H

#include <stddef.h>

#include "prepared.h"

/* Starts of segments in ascending order; start[0] is 0, and `count` segments end at the next start
 * or at the end of the series. */
struct rps_cuts {
    size_t count;
    size_t *start; /* owned */
};

typedef double rps_cost_function(const struct rps_prepared *prepared, size_t from, size_t to);

struct rps_search {
    const struct rps_prepared *prepared;
    rps_cost_function *cost;
    size_t min_length;
    size_t place_count; /* where a segment may start, ascending, 0 first, and count at the end */
    size_t *place;      /* owned */
    /* room for the optimisation, place_count each */
    double *best, *total;
    size_t *before, *alive;
};

/*
 * Prepare a search in which segments may start everywhere (`everywhere`), or where two-window
 * statistics of nine scales have local maxima above `threshold`: half the penalty that a change
 * will have to pay is enough. The penalty of a change and the costs are in the same unit.
 * RPS_FAILED without memory.
 */
int rps_search_open(struct rps_search *search, const struct rps_prepared *prepared,
                    size_t min_length, int everywhere, double threshold, struct rps_error *err);
void rps_search_close(struct rps_search *search);

/*
 * The segmentation with the least sum of costs and penalties over all allowed starts: dynamic
 * programming with the pruning of PELT (Killick, Fearnhead, Eckley 2012). Observations marked as
 * broken start a segment in any case, free of charge. *ret is for rps_cuts_free.
 */
int rps_search_run(struct rps_search *search, double penalty, struct rps_cuts *ret,
                   struct rps_error *err);

/* Move each start to its best place between its neighbours, at most `reach` away; twice. */
void rps_search_refine(const struct rps_search *search, struct rps_cuts *cuts, size_t reach);

/*
 * The same for constant segments of AR(1) noise with the given autocorrelations (one a signal): by
 * the sum of squared innovations, in which the step at a boundary stands out. Without weights only.
 */
void rps_cuts_refine_correlated(const struct rps_prepared *prepared, struct rps_cuts *cuts,
                                const double *phi, size_t min_length, size_t reach);

/* Sum of costs of the segments. */
double rps_cuts_cost(const struct rps_search *search, const struct rps_cuts *cuts);

/* End of segment k. */
size_t rps_cuts_end(const struct rps_cuts *cuts, size_t k, size_t count);

void rps_cuts_free(struct rps_cuts *cuts);

#endif
