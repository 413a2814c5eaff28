/* Members of runs and plans by name. */
#include "rpistat/description.h"

#include "rpistat/plan.h"
#include "rpistat/run.h"

#define NEVER                      RPS_MEMBER_NEVER
#define RUN(kind, member, unknown) RPS_MEMBER(RPS_MEMBER_##kind, struct rps_run, member, unknown)
#define RUN_TEXT(member)           RUN(TEXT, member, NEVER)
#define EVENT(kind, member, unknown)                                                               \
    RPS_MEMBER(RPS_MEMBER_##kind, struct rps_event, member, unknown)
#define METRIC(member) RPS_MEMBER(RPS_MEMBER_TEXT, struct rps_metric, member, NEVER)

const struct rps_member rps_run_members[] = {
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
    RUN(INT64, recorder_after_ns, -1),
    RUN(INT, state, NEVER),
    {NULL, RPS_MEMBER_TEXT, 0, 0, 0},
};

const struct rps_member rps_event_members[] = {
    EVENT(TEXT, name, NEVER),         EVENT(TEXT, spec, NEVER),      EVENT(TEXT, label, NEVER),
    EVENT(TEXT, role, NEVER),         EVENT(TEXT, unit, NEVER),      EVENT(TEXT, family, NEVER),
    EVENT(TEXT, modifiers, NEVER),    EVENT(TEXT, explain, NEVER),   EVENT(UINT32, type, NEVER),
    EVENT(UINT64, config, NEVER),     EVENT(UINT64, config1, NEVER), EVENT(UINT64, config2, NEVER),
    EVENT(INT64, cost_ns, 0),         EVENT(TEXT, reason, NEVER),    EVENT(INT, state, NEVER),
    {NULL, RPS_MEMBER_TEXT, 0, 0, 0},
};

const struct rps_member rps_metric_members[] = {
    METRIC(name),  METRIC(label),        METRIC(unit),    METRIC(family),
    METRIC(panel), METRIC(formula_text), METRIC(explain), {NULL, RPS_MEMBER_TEXT, 0, 0, 0},
};
