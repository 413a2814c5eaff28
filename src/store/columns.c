/* Which member of run, event and metric is which column. */
#include "columns.h"

#define NEVER                      RPS_FIELD_NEVER
#define RUN(kind, member, unknown) RPS_FIELD(RPS_FIELD_##kind, struct rps_run, member, unknown)
#define RUN_TEXT(member)           RUN(TEXT, member, NEVER)
#define EVENT(kind, member)        RPS_FIELD(RPS_FIELD_##kind, struct rps_event, member, NEVER)
#define METRIC(member)             RPS_FIELD(RPS_FIELD_TEXT, struct rps_metric, member, NEVER)

const struct rps_field rps_run_columns[RPS_RUN_COLUMN_COUNT] = {
    RUN_TEXT(uuid),
    RUN_TEXT(label),
    RUN(POINTER, folder, NEVER),
    RUN_TEXT(host),
    RUN_TEXT(boot_id),
    RUN_TEXT(cpu_model),
    RUN(INT, cpu_count, -1),
    RUN_TEXT(kernel),
    RUN_TEXT(architecture),
    RUN_TEXT(version),
    RUN(INT64, recorder_pid, -1),
    RUN_TEXT(target),
    RUN_TEXT(pmu),
    RUN(INT, counter_count, -1),
    RUN_TEXT(fitting),
    RUN_TEXT(clock_label),
    RUN(INT, paranoid, -100),
    RUN(INT, nmi_watchdog, -1),
    RUN_TEXT(governor),
    RUN(INT64, period_ns, -1),
    RUN(INT64, start_realtime_ns, -1),
    RUN(INT64, start_monotonic_ns, -1),
    RUN(INT64, elapsed_ns, -1),
    RUN_TEXT(end_reason),
    RUN(INT, exit_status, -1),
    RUN(INT, exit_signal, NEVER),
    RUN(INT64, recorder_cpu_ns, -1),
    RUN(INT64, order_seed, -1),
};

const struct rps_field rps_event_columns[RPS_EVENT_COLUMN_COUNT] = {
    EVENT(TEXT, name),
    EVENT(TEXT, spec),
    EVENT(TEXT, label),
    EVENT(TEXT, role),
    EVENT(TEXT, unit),
    EVENT(TEXT, family),
    EVENT(TEXT, modifiers),
    EVENT(TEXT, explain),
    EVENT(UINT32, type),
    EVENT(UINT64, config),
    EVENT(UINT64, config1),
    EVENT(UINT64, config2),
    RPS_FIELD(RPS_FIELD_INT64, struct rps_event, cost_ns, 0),
    EVENT(TEXT, reason),
};

const struct rps_field rps_metric_columns[RPS_METRIC_COLUMN_COUNT] = {
    METRIC(name),  METRIC(label),        METRIC(unit),    METRIC(family),
    METRIC(panel), METRIC(formula_text), METRIC(explain),
};
