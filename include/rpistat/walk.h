/*
 * Walk through a run: the selected periods of a CPU series (part, CPUs, region) one after another,
 * at its resolution, CPU by CPU or added up.
 *
 *     struct rps_walk walk = {.series = &series, .way = RPS_CPUS_SUM};
 *     int result = 0;
 *
 *     while (rps_walk_next(&walk, &result, err))
 *         result = add(walk.period, err);
 */
#ifndef RPISTAT_WALK_H
#define RPISTAT_WALK_H

#include "rpistat/cpu_series.h"

struct rps_period;
struct rps_error;

struct rps_walk {
    const struct rps_cpu_series *series; /* borrowed, and not changed during the walk */
    enum rps_cpus_way way;               /* RPS_CPUS_SUM: added up; otherwise CPU by CPU */
    const struct rps_period *period;     /* the walk's own, until the next step */
    int track;                           /* its CPU's place in the series; 0 if added up */
    struct rps_walk_state *state;        /* the walk's own; NULL at first, and after the end */
};

/*
 * Go to the next period. Return 1 and walk->period, or 0 if the walk has ended and released its
 * memory. It ends after the last period, when a caller leaves it by a *result that is not 0, and on
 * failure. On failure *result is RPS_FAILED, with the store's sentence or for lack of memory.
 *
 * If CPUs are added up, one row (of RPS_CPU_ALL) is for all rows of the same number, or of the same
 * block and event set. Counts and times of counting are sums; length, switching time and missed
 * expiries are those of the CPU that has the most. A slot that some CPUs could not read has the
 * counts of the others, for the time of rps_period_counted_ns. A row is coarser than the resolution
 * if finer ones were removed. A single series is walked as it is.
 */
int rps_walk_next(struct rps_walk *walk, int *result, struct rps_error *err);

#endif
