/*
 * The columns of run, event and metric, for the SQL of those who write and read them: the first so
 * many members of rps_run_members, rps_event_members, rps_metric_members, in their order.
 */
#ifndef RPISTAT_STORE_COLUMNS_H
#define RPISTAT_STORE_COLUMNS_H

#include "fields.h"

#define RPS_RUN_COLUMNS                                                                            \
    "uuid, label, folder, host, boot_id, cpu_model, cpu_count, kernel, architecture, version,"     \
    " recorder_pid, target, pmu, counter_count, fitting, clock_label, paranoid,"                   \
    " nmi_watchdog, governor, period_ns, start_realtime_ns, start_monotonic_ns, elapsed_ns,"       \
    " end_reason, exit_status, exit_signal, recorder_cpu_ns, order_seed,"                          \
    " recorder_after_ns"
#define RPS_RUN_COLUMN_COUNT 29

#define RPS_EVENT_COLUMNS                                                                          \
    "name, spec, label, role, unit, family, modifiers, explain, type, config, config1, config2,"   \
    " cost_ns, reason"
#define RPS_EVENT_COLUMN_COUNT 14

#define RPS_METRIC_COLUMNS      "name, label, unit, family, panel, formula, explain"
#define RPS_METRIC_COLUMN_COUNT 7

/* set_no of the clock event's row in table event */
#define RPS_CLOCK_SET (-1)

#endif
