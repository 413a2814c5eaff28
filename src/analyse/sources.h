/* Sources of signals: the quantities of a plan that a run's periods have values for. */
#ifndef RPISTAT_ANALYSE_SOURCES_H
#define RPISTAT_ANALYSE_SOURCES_H

#include <stddef.h>

#include "rpistat/collect.h"
#include "rpistat/rotation.h"
#include "rpistat/tally.h"

/* `home` of a source that belongs to no single set. */
#define RPS_SOURCE_ANY    (-1) /* seen in every period */
#define RPS_SOURCE_ACROSS (-2) /* needs several sets: seen once per rotation */

enum rps_source_kind {
    RPS_SOURCE_RATE,  /* of counts, by time */
    RPS_SOURCE_RATIO, /* of counts */
    RPS_SOURCE_USE,   /* the share of time spent on something */
};

/* Sums over the ranges in which a source was seen; its transform depends on them. */
struct rps_source_seen {
    uint64_t looks; /* ranges in which the workload ran */
    double sure;    /* sum of the confidence in their denominators */
    double value;   /* sum of sizes */
    double count;   /* sum of the counts in them */
    double wander;  /* drift of a ratio, a relative standard deviation; 0: none */
};

struct rps_source {
    char name[RPS_NAME_SIZE];
    int metric;    /* of the plan, or -1 */
    int set, slot; /* of the event whose rate this is, or -1 */
    int home;      /* the set in whose periods it is seen, or one of the above */
    enum rps_source_kind kind;
    int elapsed; /* 1: by elapsed time, known while the workload sleeps; 0: by CPU time */
    int others;  /* 1: other programs affect it */
    int named;   /* 1: requested by name */
    struct rps_source_seen seen;
};

struct rps_sources {
    size_t count;
    struct rps_source *source;
};

/* Choose the sources that options request; they are the arena's. RPS_USAGE: an unknown name. */
int rps_sources_choose(struct rps_arena *arena, const struct rps_collect_options *options,
                       struct rps_sources *ret, struct rps_error *err);

/* Return the number of events in all sets. */
size_t rps_sources_events(const struct rps_plan *plan);

/* A source in one range. */
struct rps_sight {
    double value;  /* not transformed; NaN: not seen */
    double seen_s; /* time that it was seen for */
    double sure;   /* 0 ... 1: how well its denominator is known, considering chance alone */
};

/* Return how far a rate in a block was from its mean, at most: in deviations of its count in
 * `seconds`. NaN: unknown. */
double rps_source_reach(double mean, const struct rps_range *range, double seconds);

/* Return the same for CPU time per elapsed time. */
double rps_source_use_reach(double mean, const struct rps_range *range);

/* Return the source in the tally's range. `operand` was filled from the tally; it is scratch. */
struct rps_sight rps_source_look(struct rps_source *source, const struct rps_plan *plan,
                                 const struct rps_tally *tally, double *operand);

/* Add the sums of a source to those of the same source in other collects. */
void rps_source_seen_add(struct rps_source_seen *all, const struct rps_source_seen *seen);

/* Measure the drift of a ratio from the untransformed values of one of its signals (NaN: not seen).
 * The largest drift of several signals counts. */
void rps_source_wander(struct rps_source *source, const double *value, size_t count);

/* Return 1 if the source is not worth a signal because its denominator hardly ever occurs. */
int rps_source_is_rare(const struct rps_source *source);

/* Transform all values in place; NaN remains. Return the standard deviation of a transformed value
 * below which it is of no interest. */
double rps_source_transform(const struct rps_source *source, double *value, size_t count);

#endif
