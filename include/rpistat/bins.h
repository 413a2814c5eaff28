/*
 * Binning: a run's metrics brought to the width of a picture while its periods stream by.
 *
 * A bin's value is a ratio of sums (the metric over the bin's tally), its band goes from the
 * smallest to the largest value of the rotations inside it, so that a spike of one period stays
 * visible. The cost of what follows depends on the number of bins, not on the length of the run.
 *
 * A stretch in which the workload hardly ran, or ran beside the periods of a set that the metric
 * needs, gives no value: its estimates would be noise.
 */
#ifndef RPISTAT_BINS_H
#define RPISTAT_BINS_H

#include <stddef.h>

#include "rpistat/series.h"
#include "rpistat/tally.h"

struct rps_plan;

enum rps_axis {
    RPS_AXIS_TIME,  /* seconds since the start of the run */
    RPS_AXIS_CYCLE, /* the cycle timestamp */
};

struct rps_bins;

/*
 * Bins over [from, to) of the axis (s or clock ticks), all metrics of the plan (kept by reference).
 * bin_count >= 1; least_ns as in struct rps_rotation. A run with fewer rotations than bins gets one bin a rotation.
 */
struct rps_bins *rps_bins_new(const struct rps_plan *plan, enum rps_axis axis, double from,
                              double to, size_t bin_count, int64_t least_ns);
void rps_bins_free(struct rps_bins *bins);

/* Add the next period; of one CPU, in their order. */
void rps_bins_add(struct rps_bins *bins, const struct rps_period *period);

/*
 * End the adding, and give the series of metric m (index into plan->metric), the arena's: one
 * point a bin that holds a rotation, position in the middle of what it holds; bins in which nothing
 * was recorded (gaps) give one point with NaN.
 */
struct rps_series rps_bins_series(struct rps_bins *bins, int metric, struct rps_arena *arena);

/*
 * The same for the share of the time, 0 ... 1, in which an event set was counted: value is the mean
 * over the sets, min and max are the least and the most counted one. NaN where the workload did not
 * run.
 */
struct rps_series rps_bins_duty(struct rps_bins *bins, struct rps_arena *arena);

#endif
