/* What signals are made of: the quantities of a plan that a run's periods give values for. */
#ifndef RPISTAT_ANALYSE_SOURCES_H
#define RPISTAT_ANALYSE_SOURCES_H

#include <stddef.h>

#include "rpistat/collect.h"
#include "rpistat/tally.h"

/* `home` of a source that is no single set's. */
#define RPS_SOURCE_ANY    (-1) /* seen in every period */
#define RPS_SOURCE_ACROSS (-2) /* needs several sets: seen once a rotation */

enum rps_transform {
    RPS_TRANSFORM_COUNT, /* rates per second */
    RPS_TRANSFORM_LOG,   /* everything else */
};

struct rps_source {
    char name[RPS_NAME_SIZE];
    int metric;    /* of the plan, or -1 */
    int set, slot; /* of the event whose rate it is, or -1 */
    int home;      /* the set in whose periods it is seen, or one of the above */
    int over_time; /* 1: known while the workload sleeps */
    int others;    /* 1: other programs have a hand in it */
    enum rps_transform transform;
};

struct rps_sources {
    size_t count;
    struct rps_source *source; /* owned */
};

/* The sources that options ask for. RPS_USAGE for an unknown name; RPS_FAILED without memory. */
int rps_sources_choose(const struct rps_collect_options *options, struct rps_sources *ret,
                       struct rps_error *err);
void rps_sources_free(struct rps_sources *sources);

/* Standard deviation of a transformed value below which nobody takes interest in it. */
double rps_source_floor(const struct rps_source *source);

/* The transformed value over a stretch, whose operands were filled from tally; NaN: not seen. */
double rps_source_value(const struct rps_source *source, const struct rps_plan *plan,
                        const struct rps_tally *tally, const double *operand, double period_s);

#endif
