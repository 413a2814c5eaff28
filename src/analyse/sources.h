/* Sources of signals. A source is a quantity of a plan that has values in the periods of a run. */
#pragma once

#include <stddef.h>

#include "rpistat/collect.h"
#include "rpistat/rotation.h"
#include "rpistat/tally.h"

/* Values of `home` for a source that does not belong to a single set. */
#define RPS_SOURCE_ANY    (-1) /* the source has a value in every period */
#define RPS_SOURCE_ACROSS (-2) /* the source needs several sets: one value per rotation */

enum rps_source_kind {
    RPS_SOURCE_RATE,  /* rate: counts per time */
    RPS_SOURCE_RATIO, /* ratio of counts */
    RPS_SOURCE_USE,   /* share of the time spent on something */
};

/* Sums over the ranges in which a source was seen. The transform of a source's values depends on
 * the sums of the source. */
struct rps_source_seen {
    uint64_t looks; /* number of ranges in which the workload ran */
    double sure;    /* sum of the confidence in the denominators of all values */
    double value;   /* sum of the absolute values */
    double least;   /* lowest negative value; 0: no value is negative */
    double count;   /* sum of the counts in all values */
    double drift;   /* drift of a ratio, as a relative standard deviation; 0: no drift */
};

struct rps_source {
    char name[RPS_NAME_SIZE];
    int metric;    /* metric number in the plan, or -1 */
    int set, slot; /* set and slot of the event if the source is the event's rate, or -1 */
    int home;      /* set in whose periods the source has values, or an RPS_SOURCE_ value */
    enum rps_source_kind kind;
    int elapsed; /* 1: rate per elapsed time, which has values even while the workload sleeps; 0:
                    rate per CPU time */
    int sleeps;  /* 1: rate per elapsed time of a workload that sleeps nearly all the time */
    int others;  /* 1: other programs affect the source */
    int faults;  /* 1: the source counts page faults that need no input */
    int named;   /* 1: the user requested the source by name */
    struct rps_source_seen seen;
};

struct rps_sources {
    size_t count;
    struct rps_source *source;
};

/* Choose the sources that the options request. The sources are allocated in the arena. Returns
 * RPS_USAGE for an unknown name. */
int rps_sources_choose(struct rps_arena *arena, const struct rps_collect_options *options,
                       struct rps_sources *ret, struct rps_error *err);

/* Return the number of events in all sets. */
size_t rps_sources_events(const struct rps_plan *plan);

/* The value of a source in one range. */
struct rps_sight {
    double value;  /* value before the transform; NaN: not seen */
    double seen_s; /* time for which the source was seen */
    double sure;   /* confidence in the denominator (0 ... 1); only chance lowers it */
};

/* Return the maximum distance of a rate from the block's mean rate, within a block. The unit is the
 * standard deviation of the count in a time of `seconds`. Return NaN if the distance is unknown. */
double rps_source_reach(double mean, const struct rps_range *range, double seconds);

/* Return the maximum distance of CPU use (CPU time per elapsed time) from its mean in the block. */
double rps_source_use_reach(double mean, const struct rps_range *range);

/* Return the source's value in the tally's range. `operand` must contain the operands of the tally.
 * It is also used as scratch memory. */
struct rps_sight rps_source_look(struct rps_source *source, const struct rps_plan *plan,
                                 const struct rps_tally *tally, double *operand);

/* Add the sums of a source to the sums of the same source in other collects. */
void rps_source_seen_add(struct rps_source_seen *all, const struct rps_source_seen *seen);

/* Measure the drift of a ratio from the untransformed values of one of its signals (NaN: not seen).
 * For a source of several signals, call this function for each signal; the largest drift is kept.
 */
void rps_source_drift(struct rps_source *source, const double *value, size_t count);

/* Return 1 if the source should not be a signal, because its denominator hardly ever occurs. */
int rps_source_is_rare(const struct rps_source *source);

/* Transform all values in place. NaN remains NaN. Return the resolution: a smaller standard
 * deviation of the transformed values does not matter to the user. */
double rps_source_transform(const struct rps_source *source, double *value, size_t count);

/* Return the transformed CPU use below which a workload is idle. */
double rps_source_idle(void);
