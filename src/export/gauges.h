/* Restores the original values of gauges from stored value x time (import/import_columns.c). */
#pragma once

#include "rpistat/arena.h"
#include "rpistat/period.h"

struct rps_event;
struct rps_metric;
struct rps_plan;

/* Special values in place of the number of a metric. */
#define RPS_GAUGES_COUNT (-1) /* the slot has a count, not a gauge */
#define RPS_GAUGES_TIME  (-2) /* the slot has the time of gauges, not a column of the file */

struct rps_gauges {
    const struct rps_plan *plan;
    int *metric;     /* for slot s of set n, at n * RPS_SLOT_MAX + s: the metric that restores
                        the value, or RPS_GAUGES_COUNT or RPS_GAUGES_TIME */
    double *operand; /* operands of formulas; scratch */
};

/* Find the gauges of a plan. The arena holds the arrays. */
struct rps_gauges rps_gauges_find(struct rps_arena *arena, const struct rps_plan *plan);

/* Return the metric of a slot, or RPS_GAUGES_COUNT or RPS_GAUGES_TIME. */
int rps_gauges_metric(const struct rps_gauges *gauges, uint32_t set_no, int slot);

/* Return the slot, in the same set, that has the time of a gauge. */
int rps_gauges_time_slot(const struct rps_gauges *gauges, uint32_t set_no, int slot);

/* Return the mean of a slot's gauge from its sum and the sum of its time. The mean has as many
 * digits as the stored sum justifies, at most 15. NaN: there is no mean. */
double rps_gauges_mean(const struct rps_gauges *gauges, uint32_t set_no, int slot, uint64_t sum,
                       uint64_t time);
/* Return the mean of a slot's gauge over a row. */
double rps_gauges_value(const struct rps_gauges *gauges, const struct rps_period *row, int slot);

/* Return the column name of an event. If the event, or its metric, is a gauge, the name is that of
 * the column in the imported file. */
const char *rps_gauges_event_name(const struct rps_event *event);
const char *rps_gauges_metric_name(const struct rps_plan *plan, const struct rps_metric *metric);
