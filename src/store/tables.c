#include "tables.h"

#include <stddef.h>
#include <strings.h>

const struct rps_table rps_tables[RPS_TABLE_COUNT] = {
    {"run", 1, {"run_id"}, {1}, false, false},
    {"event_set", 2, {"run_id", "set_no"}, {1, 0}, false, false},
    {"event", 3, {"run_id", "set_no", "slot"}, {1, -1, 0}, false, false},
    {"metric", 1, {"run_id"}, {1}, true, false},
    {"metric_step", 1, {"run_id"}, {1}, true, false},
    {"period", 4, {"run_id", "cpu", "cycle", "period"}, {1, -1, 0, 0}, false, true},
    {"rollup", 4, {"run_id", "level", "cpu", "period"}, {1, 1, -1, 0}, false, true},
    {"thinned", 3, {"run_id", "cpu", "level"}, {1, -1, 0}, false, false},
    {"heartbeat", 1, {"run_id"}, {1}, false, false},
    {"detection", 2, {"run_id", "detection"}, {1, 0}, false, false},
    {"phase", 4, {"run_id", "detection", "level", "phase"}, {1, 0, 0, 0}, false, false},
    {"outlier", 3, {"run_id", "detection", "period"}, {1, 0, 0}, false, false},
    {"mark", 3, {"run_id", "time_ns", "mark_no"}, {1, INT64_MIN, INT64_MIN}, false, true},
    {"gap", 3, {"run_id", "start_ns", "gap_no"}, {1, 0, INT64_MIN}, false, false},
    {"sampling", 1, {"run_id"}, {1}, false, false},
    {"module", 2, {"run_id", "module"}, {1, 0}, false, false},
    {"frame", 2, {"run_id", "frame"}, {1, 0}, false, true},
    {"location", 3, {"run_id", "frame", "depth"}, {1, 0, 0}, false, true},
    {"stack", 2, {"run_id", "stack"}, {1, 0}, false, true},
    {"task", 2, {"run_id", "task"}, {1, 0}, false, true},
    {"code_count", 5, {"run_id", "level", "cpu", "period", "part"}, {1, 0, -1, 0, 0}, false, true},
};

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
