#include "tables.h"

#include <sqlite3.h>
#include <stddef.h>
#include <strings.h>

#include "rpistat/store.h"

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

const struct rps_store_wing *rps_store_wing;

static const struct rps_wing *used_wing;

void rps_store_use(const struct rps_store_wing *tables, const struct rps_wing *wing)
{
    rps_store_wing = tables;
    used_wing = wing;
    /* unused memory statistics cost a mutex per allocation; can only be turned off while SQLite is
     * not in use */
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

const struct rps_wing *rps_store_used_wing(void)
{
    return used_wing;
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
