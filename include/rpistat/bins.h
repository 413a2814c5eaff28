/*
 * Binning: reduce a run's metrics to the width of a picture while its periods are read.
 *
 * A bin's value is a ratio of sums (the metric over the bin's tally). Its band goes from the
 * smallest to the largest value of its rotations, so that a spike of one period remains visible.
 * The cost of drawing depends on the number of bins, not on the length of the run.
 *
 * A range has no value if the workload hardly ran in it, or ran outside the periods of a needed
 * set. Its estimates would be noise.
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
 * Return bins over [from, to) of the axis (s or clock ticks), for all metrics of the plan (kept by
 * reference). With fewer rotations, each is a bin. bin_count >= 1. least_ns: struct rps_rotation.
 */
struct rps_bins *rps_bins_new(const struct rps_plan *plan, enum rps_axis axis, double from,
                              double to, size_t bin_count, int64_t least_ns);
void rps_bins_free(struct rps_bins *bins);

/* Add the next period; one CPU only, in order. */
void rps_bins_add(struct rps_bins *bins, const struct rps_period *period);

/*
 * End the adding. Return the series of metric m (index into plan->metric), in the arena. It has one
 * point per bin with a rotation, at the middle of the bin's content. Ranges in which nothing was
 * recorded (gaps) have one point with NaN.
 */
struct rps_series rps_bins_series(struct rps_bins *bins, int metric, struct rps_arena *arena);

/*
 * Return the same for the share of the time, 0 ... 1, in which an event set was counted. The value
 * is the mean over the sets; min and max are the least and the most counted set. NaN: the workload
 * did not run.
 */
struct rps_series rps_bins_duty(struct rps_bins *bins, struct rps_arena *arena);

#endif
