/*
 * The columns of run, event_set, event and metric that are members of structs. A new one is a row
 * here, and its column in schema/.
 */
#ifndef RPISTAT_STORE_COLUMNS_H
#define RPISTAT_STORE_COLUMNS_H

#include "fields.h"

/* Of struct rps_run, all but run_id, tags and command; of struct rps_plan, which stands in the row
 * of its run; of struct rps_event_set, rps_event and rps_metric. */
extern const struct rps_field rps_run_fields[], rps_plan_fields[], rps_set_fields[],
    rps_event_fields[], rps_metric_fields[];

/* set_no of the clock event's row in table event */
#define RPS_CLOCK_SET (-1)

#endif
