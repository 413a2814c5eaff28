/*
 * Walking through a run: the periods of a CPU series one after another, chosen (part, CPUs, region)
 * and at its resolution, CPU by CPU or added up.
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
    const struct rps_cpu_series *series; /* borrowed, and not changed while it is walked */
    enum rps_cpus_way way;               /* RPS_CPUS_SUM: added up; else CPU by CPU, in order */
    const struct rps_period *period;     /* the walk's own, until the next step */
    int track;                           /* its CPU's place in the series; 0 where added up */
    struct rps_walk_state *state;        /* the walk's own; NULL at first, and when it has ended */
};

/*
 * The next period: 1 and walk->period, or 0 when the walk has ended, and released what it had:
 * behind the last period; when *result is not 0, which is how a caller leaves it before; and when it
 * failed, *result then being RPS_FAILED with the store's sentence, or without memory.
 *
 * Added up there is one row (of RPS_CPU_ALL) for all those of the same number, or of the same block
 * and event set. Counts and times of counting are sums; length, switching time and missed expiries
 * are those of the CPU that has the most. A slot that some CPUs could not read has the counts of
 * the others, and rps_period_counted_ns says for how long. A row is of a coarser level than the
 * resolution where finer ones were thinned away. A single series is walked as it is.
 */
int rps_walk_next(struct rps_walk *walk, int *result, struct rps_error *err);

#endif
