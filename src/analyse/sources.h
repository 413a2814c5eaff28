/* What signals are made of: the quantities of a plan that a run's periods give values for. */
#ifndef RPISTAT_ANALYSE_SOURCES_H
#define RPISTAT_ANALYSE_SOURCES_H

#include <stddef.h>

#include "rpistat/collect.h"
#include "rpistat/rotation.h"
#include "rpistat/tally.h"

/* `home` of a source that is no single set's. */
#define RPS_SOURCE_ANY    (-1) /* seen in every period */
#define RPS_SOURCE_ACROSS (-2) /* needs several sets: seen once a rotation */

enum rps_source_kind {
    RPS_SOURCE_RATE,  /* of counts, by time */
    RPS_SOURCE_RATIO, /* of counts */
    RPS_SOURCE_USE,   /* the share of time that something took */
};

/* What was seen of a source so far; its transform depends on it. */
struct rps_source_seen {
    uint64_t looks; /* at stretches in which the workload ran */
    double sure;    /* sum of how sure their denominators were */
    double value;   /* sum of sizes */
    double count;   /* sum of the counts behind them */
    double wander;  /* what a ratio wanders by, a relative standard deviation; 0: not at all */
};

struct rps_source {
    char name[RPS_NAME_SIZE];
    int metric;    /* of the plan, or -1 */
    int set, slot; /* of the event whose rate it is, or -1 */
    int home;      /* the set in whose periods it is seen, or one of the above */
    enum rps_source_kind kind;
    int elapsed; /* 1: by elapsed time, known while the workload sleeps; 0: by CPU time */
    int others;  /* 1: other programs have a hand in it */
    int named;   /* 1: asked for by name */
    struct rps_source_seen seen;
};

struct rps_sources {
    size_t count;
    struct rps_source *source;
};

/* The sources that options ask for, the arena's. RPS_USAGE for an unknown name. */
int rps_sources_choose(struct rps_arena *arena, const struct rps_collect_options *options,
                       struct rps_sources *ret, struct rps_error *err);

/* Events of all sets. */
size_t rps_sources_events(const struct rps_plan *plan);

/* A source in a stretch. */
struct rps_sight {
    double value;  /* not transformed; NaN: not seen */
    double seen_s; /* time that it was seen for */
    double sure;   /* 0 ... 1: by chance alone, how well its denominator is known */
};

/* How far from its mean a rate was at most, in a block: in deviations of what is counted of it in so
 * many seconds; NaN where that is not known. */
double rps_source_reach(double mean, const struct rps_range *range, double seconds);

/* The same of CPU time per elapsed time. */
double rps_source_use_reach(double mean, const struct rps_range *range);

/* Look at a stretch, whose operands were filled from tally; they are scratch. */
struct rps_sight rps_source_look(struct rps_source *source, const struct rps_plan *plan,
                                 const struct rps_tally *tally, double *operand);

/* Add what was seen of a source to what was seen of it in others. */
void rps_source_seen_add(struct rps_source_seen *all, const struct rps_source_seen *seen);

/* See by how much a ratio wanders on its own, in the values of a signal of it, NaN where it was not
 * seen; not yet transformed. The most of several signals counts. */
void rps_source_wander(struct rps_source *source, const double *value, size_t count);

/* 1: not worth a signal, since it divides by what hardly ever happens. */
int rps_source_is_rare(const struct rps_source *source);

/* Transform all that was seen, in place, NaN stay. Returns the standard deviation of a transformed
 * value below which nobody takes interest in it. */
double rps_source_transform(const struct rps_source *source, double *value, size_t count);

#endif
