/* Binning reduces a run's metrics to the width of a picture while the periods are read.
 *
 * A bin's value is a ratio of sums: the metric is computed from the sums over the bin. A bin's band
 * reaches from the smallest to the largest value of the rotations in the bin. Therefore, a spike of
 * one period remains visible. The cost of drawing depends on the number of bins, not on the length
 * of the run.
 *
 * A time range has no value if the workload hardly ran in the time range. It also has no value if
 * the workload ran only while a needed event set was not counted. An estimate for such a time range
 * would mean nothing. */
#pragma once

#include <stddef.h>

#include "rpistat/series.h"
#include "rpistat/tally.h"

enum rps_axis {
    RPS_AXIS_TIME,  /* Axis of seconds since the start of the run */
    RPS_AXIS_CYCLE, /* Axis of the cycle timestamp */
};

struct rps_bins;

/* Return bins over [from, to) of the axis (s or clock ticks), for all metrics of the plan, which is
 * borrowed. If there are fewer rotations than bins, each rotation is a bin. bin_count must be above
 * 0. For least_ns, see struct rps_rotation. */
struct rps_bins *rps_bins_new(const struct rps_plan *plan, enum rps_axis axis, double from,
                              double to, size_t bin_count, int64_t least_ns);
void rps_bins_free(struct rps_bins *bins);

/* Add the next period. All periods must belong to one CPU and come in order. */
void rps_bins_add(struct rps_bins *bins, const struct rps_period *period);

/* Finish adding periods, and return the series of a metric (index into plan->metric), in the arena.
 * The series has one point per bin with a rotation, at the middle of the bin's content. A gap, in
 * which nothing was recorded, has one point with the value NaN. */
struct rps_series rps_bins_series(struct rps_bins *bins, int metric, struct rps_arena *arena);

/* Return how large a share of the time, 0 ... 1, an event set was counted, as a series. The value
 * of a point is the mean over the sets. min and max are the shares of the sets with the shortest
 * and the longest counted time. A value is NaN if the workload did not run. */
struct rps_series rps_bins_counted(struct rps_bins *bins, struct rps_arena *arena);
