/* Walk through the periods that a CPU series selects (part, CPUs, region), at its resolution. The
 * walk returns the periods CPU by CPU, or sums over the CPUs.
 *
 *     struct rps_walk walk = {.series = &series, .way = RPS_CPUS_SUM};
 *     int result = 0;
 *
 *     while (rps_walk_next(&walk, &result, err))
 *         result = add(walk.period, err); */
#pragma once

#include "rpistat/cpu_series.h"

struct rps_period;

struct rps_walk {
    const struct rps_cpu_series *series; /* series of the walk, borrowed and not changed */
    enum rps_cpus_way way;               /* RPS_CPUS_SUM: add the CPUs up; otherwise CPU by CPU */
    const struct rps_period *period;     /* current period, valid until the next step */
    int track;                           /* index of the CPU in the series; 0 for a sum */
    struct rps_walk_state *state;        /* state of the walk; NULL at first, and after the end */
};

/* Go to the next period. Return 1 and walk->period, or 0 if the walk has ended and released its
 * memory. The walk ends after the last period, after a failure, or if the caller sets *result to a
 * value other than 0. On failure, *result is RPS_FAILED, and the error is from the store or reports
 * that memory ran out.
 *
 * If CPUs are added up, rows of all CPUs with an equal number, or an equal block and event set,
 * become one row of RPS_CPU_ALL. Counts and counting times are sums. Length, switching time and
 * missed expiries are maxima over the CPUs. If some CPUs could not read a slot, the slot has the
 * sum over the other CPUs, and rps_period_counted_ns returns the time in which the slot was counted
 * on these other CPUs. In an import, the slot is then not counted, because the CPUs of a table may
 * differ. A row is coarser than the resolution if finer rows were deleted by
 * downsampling. If there is only one CPU, or one series for the workload, rows are not changed. */
int rps_walk_next(struct rps_walk *walk, int *result, struct rps_error *err);
