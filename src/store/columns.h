/*
 * Which member of run, event and metric is which column: shared by the module that writes them and
 * the one that reads them. The order is that of the SQL in both.
 */
#ifndef RPISTAT_STORE_COLUMNS_H
#define RPISTAT_STORE_COLUMNS_H

#include "fields.h"

#include "rpistat/plan.h"
#include "rpistat/run.h"

/* For the SQL of both: the columns of rps_run_columns. */
#define RPS_RUN_COLUMNS                                                                            \
    "uuid, label, folder, host, boot_id, cpu_model, cpu_count, kernel, architecture, version,"     \
    " recorder_pid, target, pmu, counter_count, fitting, clock_label, "                            \
    "paranoid,"                                                                                    \
    " nmi_watchdog, governor, period_ns, start_realtime_ns, start_monotonic_ns, elapsed_ns,"       \
    " end_reason, exit_status, exit_signal, recorder_cpu_ns, order_seed"
#define RPS_RUN_COLUMN_COUNT 28
extern const struct rps_field rps_run_columns[RPS_RUN_COLUMN_COUNT];

#define RPS_EVENT_COLUMNS                                                                          \
    "name, spec, label, role, unit, family, modifiers, explain, type, config, config1, config2,"   \
    " cost_ns, reason"
#define RPS_EVENT_COLUMN_COUNT 14
extern const struct rps_field rps_event_columns[RPS_EVENT_COLUMN_COUNT];

#define RPS_METRIC_COLUMNS      "name, label, unit, family, panel, formula, explain"
#define RPS_METRIC_COLUMN_COUNT 7
extern const struct rps_field rps_metric_columns[RPS_METRIC_COLUMN_COUNT];

/* set_no of the clock event's row in table event */
#define RPS_CLOCK_SET (-1)

#endif
