/* The original values of gauges, from value x time in a store (exchange/import_columns.c). */
#ifndef RPISTAT_EXPORT_GAUGES_H
#define RPISTAT_EXPORT_GAUGES_H

#include "rpistat/arena.h"
#include "rpistat/period.h"

struct rps_event;
struct rps_metric;
struct rps_plan;

/* Special values instead of a metric's number. */
#define RPS_GAUGES_COUNT (-1) /* the slot has a count */
#define RPS_GAUGES_TIME  (-2) /* the slot has the time of gauges, not a column of the file */

struct rps_gauges {
    const struct rps_plan *plan;
    int *metric;     /* of slot s of set n, at n * RPS_SLOT_MAX + s: the metric that restores the
                        value, or one of the above */
    double *operand; /* scratch */
};

/* Find the gauges of a plan. Arrays are the arena's. */
struct rps_gauges rps_gauges_find(struct rps_arena *arena, const struct rps_plan *plan);

/* Return the metric of a slot, as above. */
int rps_gauges_metric(const struct rps_gauges *gauges, uint32_t set_no, int slot);

/* Return the slot, in the same set, with the time of a slot's gauge. */
int rps_gauges_time_slot(const struct rps_gauges *gauges, uint32_t set_no, int slot);

/* Return the mean of a slot's gauge from its sum and the sum of its time. It has the digits that
 * the store has, at most 15. NaN: there is none. */
double rps_gauges_mean(const struct rps_gauges *gauges, uint32_t set_no, int slot, uint64_t sum,
                       uint64_t time);
/* Return the same over a row. */
double rps_gauges_value(const struct rps_gauges *gauges, const struct rps_period *row, int slot);

/* Return the name of its column: as in the file, if the event, or the metric, is a gauge. */
const char *rps_gauges_event_name(const struct rps_event *event);
const char *rps_gauges_metric_name(const struct rps_plan *plan, const struct rps_metric *metric);

#endif
