/* Shared by the profiles of runs and of tables: spreads, and statistics computed from spreads. */
#pragma once

#include "rpistat/profile.h"

/* Text of the I/O metric of threads that wait for locks or other threads. */
#define RPS_IO_LOCKS "has threads asleep in lock or thread waits"

/* In the I/O metrics of a workload, the bytes from or to disks come this many metrics after those of
 * system calls. */
#define RPS_IO_DISKS 2

#define RPS_STEP_SUMS 5

/* Weighted mean and sum of squared differences of a stream of numbers (Welford 1962). The steps
 * between neighbours and the means of blocks are without numbers of low weight. Blocks have 16 and
 * 64 numbers. Numbers of a label are neighbours if no number of another label is between them. */
struct rps_spread {
    uint64_t count, sides[2];     /* sides: numbers of even and of odd labels, in the whole run */
    double weight, mean, squares; /* weight: sum of the weights of all values */
    struct {
        uint64_t count, number; /* number: count of the whole run with the last value */
        int is_pair;            /* 1 if `last` is the step before the next one */
        double last_value, last;
        double sum[RPS_STEP_SUMS][3]; /* of 1, step, step squared, 1 per pair of neighbouring steps,
                                         and product of the pair; with three weights each */
    } step;
    struct {
        uint64_t count;
        double sum, mean, squares;
    } block[2];
};

struct rps_spreads {
    struct rps_spread *label; /* Indexed by label * figure_count + metric. */
    struct rps_spread *whole; /* Spread of each metric in the whole run or table. */
};

/* A window of a run and its other side, with which it is compared. */
struct rps_window {
    struct rps_phases
        side; /* ranges in order of time; label 0: the window, label 1: the other side */
    struct rps_phases part; /* the sides, divided at the bounds of phases; label 2 n + 1: the other
                               side in phases of class n */
    size_t range_count;
    struct rps_window_range {
        int64_t from_ns, to_ns;
        int resolution, is_spread; /* is_spread: 1 if the rows are used as observations */
    } range[3];                    /* what is read, in order of time */
    const char *other;             /* as in struct rps_profile */
};

/* Profile a window. In the result, label 0 is the window and label 1 the other side. */
int rps_profile_window(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                       const struct rps_cpus *cpus, const struct rps_window *window,
                       struct rps_profile *ret, struct rps_error *err);

/* Add a value of a metric to the spreads of its label and of the whole run. NaN is not added. A
 * value of a short time has a weight below 1. */
void rps_spread_add(const struct rps_spreads *spreads, size_t label, size_t figure_count,
                    size_t figure, double value, double weight);

/* Make the arrays of a profile for figure_count metrics, all NaN, and count the labels. Return the
 * spreads, which live as long as the profile. */
struct rps_spreads rps_profile_init(struct rps_arena *arena, struct rps_profile *profile,
                                    size_t figure_count, const struct rps_phases *phases);

/* Return the mean of metric `f` over all labels but `label`. A label has the weight of its length
 * in time, or of its periods where the time is unknown. NaN if no other label has periods. */
double rps_profile_elsewhere(const struct rps_profile *profile, int label, size_t f);

/* Fill the means of a profile whose observations were added to the spreads. */
void rps_profile_means(struct rps_profile *profile, const struct rps_spreads *spreads);

/* Fill the spreads, coefficients of variation and order of a profile that has its metrics, phases
 * and means. */
void rps_profile_finish(struct rps_profile *profile, const struct rps_spreads *spreads);

/* Turn a finished profile, whose labels are those of a window's parts, into the profile of the
 * sides. The intervals of `error` hold for all `tests` metrics together in 99 of 100 cases. If
 * is_whole is 1, no observation is missing between the sides. */
void rps_profile_compare_sides(struct rps_profile *profile, const struct rps_spreads *spreads,
                               const char *other, size_t tests, int is_whole);
