/* What an import's gauges were, of which a store keeps value x time (exchange/import_columns.c). */
#ifndef RPISTAT_EXPORT_GAUGES_H
#define RPISTAT_EXPORT_GAUGES_H

#include "rpistat/arena.h"
#include "rpistat/period.h"

struct rps_event;
struct rps_metric;
struct rps_plan;

/* In place of a metric's number. */
#define RPS_GAUGES_COUNT (-1) /* the slot has a count */
#define RPS_GAUGES_TIME  (-2) /* the slot has the time of gauges, which is no column of the file */

struct rps_gauges {
    const struct rps_plan *plan;
    int *metric;     /* of slot s of set n, at n * RPS_SLOT_MAX + s: the one that makes it a value
                        again, or one of the above */
    double *operand; /* scratch */
};

/* Arrays are the arena's. */
struct rps_gauges rps_gauges_find(struct rps_arena *arena, const struct rps_plan *plan);

/* The metric of a slot, as above. */
int rps_gauges_metric(const struct rps_gauges *gauges, uint32_t set_no, int slot);

/* The slot, in the same set, that has the time of a slot's gauge. */
int rps_gauges_time_slot(const struct rps_gauges *gauges, uint32_t set_no, int slot);

/* The mean of a slot's gauge by its sum and that of its time, in the digits that the store has of
 * it, at most 15. NaN: there is none. */
double rps_gauges_mean(const struct rps_gauges *gauges, uint32_t set_no, int slot, uint64_t sum,
                       uint64_t time);
/* The same over a row. */
double rps_gauges_value(const struct rps_gauges *gauges, const struct rps_period *row, int slot);

/* What a column of it is called: as in the file, where the event, or the metric, is a gauge. */
const char *rps_gauges_event_name(const struct rps_event *event);
const char *rps_gauges_metric_name(const struct rps_plan *plan, const struct rps_metric *metric);

#endif
