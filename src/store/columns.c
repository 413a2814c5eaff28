#include "fields.h"

#include <strings.h>

#include "database.h"

#include "rpistat/plan.h"
#include "rpistat/run.h"
#include "rpistat/store.h"

#define FIELD(type, column, kind, member, time, unknown, words)                                    \
    {                                                                                              \
        column, RPS_FIELD_##kind, RPS_FIELD_##time, offsetof(struct type, member),                 \
            sizeof(((struct type *)0)->member), unknown, words                                     \
    }
#define TEXT(type, member) FIELD(type, #member, TEXT, member, BEGIN, RPS_FIELD_NEVER, NULL)
#define NUMBER(type, kind, member, time, unknown)                                                  \
    FIELD(type, #member, kind, member, time, unknown, NULL)
#define LAST                                                                                       \
    {                                                                                              \
        .name = NULL                                                                               \
    }

/* Fields that hold estimates for the whole run. */
#define REAL(type, column, member) FIELD(type, column, REAL, whole.member, END, 0, NULL)
#define WHOLE(type, value_column)                                                                  \
    REAL(type, value_column, value), REAL(type, "low", low), REAL(type, "high", high),             \
        REAL(type, "share", share),                                                                \
        FIELD(type, "certainty", WORD, whole.certainty, END, RPS_CERTAINTY_NONE,                   \
              rps_certainty_names)

const struct rps_field rps_run_fields[] = {
    TEXT(rps_run, uuid),
    TEXT(rps_run, label),
    FIELD(rps_run, "folder", POINTER, folder, BEGIN, RPS_FIELD_NEVER, NULL),
    TEXT(rps_run, host),
    TEXT(rps_run, boot_id),
    TEXT(rps_run, cpu_model),
    NUMBER(rps_run, INT, cpu_count, BEGIN, -1),
    TEXT(rps_run, kernel),
    TEXT(rps_run, architecture),
    TEXT(rps_run, version),
    NUMBER(rps_run, INT64, recorder_pid, BEGIN, -1),
    TEXT(rps_run, target),
    TEXT(rps_run, pmu),
    NUMBER(rps_run, INT, counter_count, BEGIN, -1),
    FIELD(rps_run, "fitting", TEXT, fitting, ALWAYS, RPS_FIELD_NEVER, NULL),
    TEXT(rps_run, clock_label),
    NUMBER(rps_run, INT, paranoid, BEGIN, -100),
    NUMBER(rps_run, INT, nmi_watchdog, BEGIN, -1),
    TEXT(rps_run, governor),
    NUMBER(rps_run, INT64, period_ns, BEGIN, -1),
    NUMBER(rps_run, INT64, start_realtime_ns, ALWAYS, -1),
    NUMBER(rps_run, INT64, start_monotonic_ns, ALWAYS, -1),
    NUMBER(rps_run, INT64, elapsed_ns, ALWAYS, -1),
    FIELD(rps_run, "end_reason", TEXT, end_reason, ALWAYS, RPS_FIELD_NEVER, NULL),
    NUMBER(rps_run, INT, exit_status, ALWAYS, -1),
    NUMBER(rps_run, INT, exit_signal, ALWAYS, RPS_FIELD_NEVER),
    NUMBER(rps_run, INT64, user_ns, ALWAYS, -1),
    NUMBER(rps_run, INT64, system_ns, ALWAYS, -1),
    NUMBER(rps_run, INT64, memory_bytes, ALWAYS, -1),
    NUMBER(rps_run, INT64, recorder_cpu_ns, ALWAYS, -1),
    NUMBER(rps_run, INT64, recorder_after_ns, ALWAYS, -1),
    NUMBER(rps_run, INT64, others_cpu_ns, ALWAYS, -1),
    NUMBER(rps_run, INT64, order_seed, BEGIN, -1),
    FIELD(rps_run, "state", WORD, state, ALWAYS, RPS_RUN_INTERRUPTED, rps_run_states),
    LAST,
};

const struct rps_field rps_plan_fields[] = {
    FIELD(rps_plan, "plan", TEXT, name, BEGIN, RPS_FIELD_NEVER, NULL),
    FIELD(rps_plan, "plan_title", TEXT, title, BEGIN, RPS_FIELD_NEVER, NULL),
    FIELD(rps_plan, "plan_explain", TEXT, explain, BEGIN, RPS_FIELD_NEVER, NULL),
    LAST,
};

const struct rps_field rps_set_fields[] = {
    TEXT(rps_event_set, name),
    TEXT(rps_event_set, explain),
    LAST,
};

const struct rps_field rps_event_fields[] = {
    TEXT(rps_event, name),
    TEXT(rps_event, spec),
    TEXT(rps_event, label),
    TEXT(rps_event, role),
    TEXT(rps_event, unit),
    TEXT(rps_event, family),
    TEXT(rps_event, modifiers),
    TEXT(rps_event, explain),
    NUMBER(rps_event, UINT32, type, BEGIN, RPS_FIELD_NEVER),
    NUMBER(rps_event, UINT64, config, BEGIN, RPS_FIELD_NEVER),
    NUMBER(rps_event, UINT64, config1, BEGIN, RPS_FIELD_NEVER),
    NUMBER(rps_event, UINT64, config2, BEGIN, RPS_FIELD_NEVER),
    NUMBER(rps_event, INT64, cost_ns, BEGIN, 0),
    TEXT(rps_event, reason),
    NUMBER(rps_event, INT64, first_count, APART, 0),
    NUMBER(rps_event, INT64, first_ns, APART, 0),
    NUMBER(rps_event, INT64, second_count, APART, 0),
    NUMBER(rps_event, INT64, second_ns, APART, 0),
    NUMBER(rps_event, INT64, before_ns, APART, 0),
    FIELD(rps_event, "state", WORD, state, BEGIN, RPS_EVENT_UNSUPPORTED, rps_event_states),
    WHOLE(rps_event, "estimate"),
    LAST,
};

const struct rps_field rps_metric_fields[] = {
    TEXT(rps_metric, name),
    TEXT(rps_metric, label),
    TEXT(rps_metric, unit),
    TEXT(rps_metric, family),
    TEXT(rps_metric, panel),
    FIELD(rps_metric, "formula", TEXT, formula_text, BEGIN, RPS_FIELD_NEVER, NULL),
    TEXT(rps_metric, explain),
    WHOLE(rps_metric, "value"),
    LAST,
};

const struct rps_table rps_tables[RPS_TABLE_COUNT] = {
    {"run", 1, {"run_id"}, {1}, false},
    {"event_set", 2, {"run_id", "set_no"}, {1, 0}, false},
    {"event", 3, {"run_id", "set_no", "slot"}, {1, -1, 0}, false},
    {"metric", 1, {"run_id"}, {1}, true},
    {"metric_step", 1, {"run_id"}, {1}, true},
    {"period", 4, {"run_id", "cpu", "cycle", "period"}, {1, -1, 0, 0}, false},
    {"rollup", 4, {"run_id", "level", "cpu", "period"}, {1, 1, -1, 0}, false},
    {"thinned", 3, {"run_id", "cpu", "level"}, {1, -1, 0}, false},
    {"signal", 3, {"run_id", "source", "slot"}, {1, 0, 0}, false},
    {"reading", 3, {"run_id", "source", "period"}, {1, 0, 0}, false},
    {"reading_rollup", 4, {"run_id", "source", "level", "period"}, {1, 0, 1, 0}, false},
    {"heartbeat", 1, {"run_id"}, {1}, false},
    {"detection", 2, {"run_id", "detection"}, {1, 0}, false},
    {"phase", 4, {"run_id", "detection", "level", "phase"}, {1, 0, 0, 0}, false},
    {"outlier", 3, {"run_id", "detection", "period"}, {1, 0, 0}, false},
    {"mark", 3, {"run_id", "time_ns", "mark_no"}, {1, INT64_MIN, INT64_MIN}, false},
    {"gap", 3, {"run_id", "start_ns", "gap_no"}, {1, 0, INT64_MIN}, false},
    {"sampling", 1, {"run_id"}, {1}, false},
    {"module", 2, {"run_id", "module"}, {1, 0}, false},
    {"frame", 2, {"run_id", "frame"}, {1, 0}, false},
    {"location", 3, {"run_id", "frame", "depth"}, {1, 0, 0}, false},
    {"stack", 2, {"run_id", "stack"}, {1, 0}, false},
    {"task", 2, {"run_id", "task"}, {1, 0}, false},
    {"cgroup", 2, {"run_id", "cgroup"}, {1, 0}, false},
    {"program", 2, {"run_id", "program"}, {1, 0}, false},
    {"code_count", 5, {"run_id", "level", "cpu", "period", "part"}, {1, 0, -1, 0, 0}, false},
};

const struct rps_store_hooks *rps_store_hooks;

static const struct rps_code_hooks *used_hooks;

void rps_store_use(const struct rps_store_hooks *tables, const struct rps_code_hooks *hooks)
{
    rps_store_hooks = tables;
    used_hooks = hooks;
    /* Turn off SQLite's memory statistics: rpistat does not use them, and they cost a mutex per
     * allocation. The setting can be changed only while SQLite is not in use. */
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

const struct rps_code_hooks *rps_store_used_hooks(void)
{
    return used_hooks;
}

const struct rps_table *rps_table_find(const char *name)
{
    for (size_t i = 0; i < RPS_TABLE_COUNT; i++)
        if (strcasecmp(rps_tables[i].name, name) == 0)
            return &rps_tables[i];
    return NULL;
}

bool rps_table_is_heartbeat(const struct rps_table *table)
{
    return strcasecmp(table->name, "heartbeat") == 0;
}
