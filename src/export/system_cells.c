#include "system_cells.h"

#include <string.h>

#include "rpistat/csv_writer.h"

#define US_PER_S    1e6
#define KIB_PER_MIB 1024.

static const struct {
    const char *name;
    enum rps_system_source source;
    int slot;
    double divisor;
} cell_of[] = {
    {"wait_s_per_s", RPS_SYSTEM_TREE, RPS_TREE_WAIT, US_PER_S},
    {"threads", RPS_SYSTEM_TREE, RPS_TREE_THREADS, 1},
    {"in_io", RPS_SYSTEM_TREE, RPS_TREE_IN_IO, 1},
    {"in_lock", RPS_SYSTEM_TREE, RPS_TREE_IN_LOCK, 1},
    {"in_message", RPS_SYSTEM_TREE, RPS_TREE_IN_MESSAGE, 1},
    {"in_timer", RPS_SYSTEM_TREE, RPS_TREE_IN_TIMER, 1},
    {"in_child", RPS_SYSTEM_TREE, RPS_TREE_IN_CHILD, 1},
    {"in_other", RPS_SYSTEM_TREE, RPS_TREE_IN_OTHER, 1},
    {"rss_mib", RPS_SYSTEM_TREE, RPS_TREE_RSS, KIB_PER_MIB},
    {"read_mib_s", RPS_SYSTEM_TREE, RPS_TREE_READ, KIB_PER_MIB},
    {"written_mib_s", RPS_SYSTEM_TREE, RPS_TREE_WRITTEN, KIB_PER_MIB},
    {"disk_read_mib_s", RPS_SYSTEM_TREE, RPS_TREE_DISK_READ, KIB_PER_MIB},
    {"disk_written_mib_s", RPS_SYSTEM_TREE, RPS_TREE_DISK_WRITTEN, KIB_PER_MIB},
    {"m_wait", RPS_SYSTEM_MACHINE, RPS_MACHINE_WAIT, 1},
    {"g_throttled_s_per_s", RPS_SYSTEM_GROUP, RPS_GROUP_THROTTLED, US_PER_S},
    {"g_memory_mib", RPS_SYSTEM_GROUP, RPS_GROUP_MEMORY, KIB_PER_MIB},
    {"g_read_mib_s", RPS_SYSTEM_GROUP, RPS_GROUP_READ, KIB_PER_MIB},
    {"g_written_mib_s", RPS_SYSTEM_GROUP, RPS_GROUP_WRITTEN, KIB_PER_MIB},
    {"power_w", RPS_SYSTEM_PACKAGE, RPS_PACKAGE_ENERGY, 1e6},
    {"ram_power_w", RPS_SYSTEM_PACKAGE, RPS_PACKAGE_ENERGY_RAM, 1e6},
    {"mem_read_gb_s", RPS_SYSTEM_PACKAGE, RPS_PACKAGE_READ, 1e9 / 1024},
    {"mem_written_gb_s", RPS_SYSTEM_PACKAGE, RPS_PACKAGE_WRITTEN, 1e9 / 1024},
    {"ghz", RPS_SYSTEM_PACKAGE, RPS_PACKAGE_FREQUENCY, 1e3},
    {"idle", RPS_SYSTEM_TREE, RPS_TREE_IDLE,
     1}, /* newer than the others: columns keep their place */
};

#define CELLS (sizeof(cell_of) / sizeof(cell_of[0]))

/* Those of the workload and the machine are always there, where anything was read. */
void rps_system_cells_head(struct rps_system_cells *cells, struct rps_export_job *job)
{
    struct rps_system_state state;
    struct rps_system_row total;
    int result = rps_run_system_is_there(job->reader, job->run->run_id, &job->err);
    int is_there = result > 0;

    for (int source = 0; source < RPS_SYSTEM_SOURCES && is_there && result >= 0; source++) {
        result = source < RPS_SYSTEM_GROUP
                     ? 1
                     : rps_reader_system(job->reader, job->run->run_id,
                                         (enum rps_system_source)source, &state, &total, &job->err);
        cells->has[source] = result > 0;
    }
    job->result = result < 0 ? result : job->result;
    for (size_t i = 0; i < CELLS; i++) {
        cells->count += (size_t)cells->has[cell_of[i].source];
        if (cells->has[cell_of[i].source])
            rps_csv_text(job->state, cell_of[i].name);
    }
}

static void close_cursors(struct rps_system_cells *cells)
{
    for (int source = 0; source < RPS_SYSTEM_SOURCES; source++) {
        rps_system_cursor_close(cells->cursor[source]);
        cells->cursor[source] = NULL;
        cells->has_next[source] = 0;
    }
}

static int next(struct rps_system_cells *cells, struct rps_export_job *job, int source)
{
    int result = rps_system_cursor_next(cells->cursor[source], &cells->next[source], &job->err);

    job->result = result < 0 ? result : job->result;
    cells->has_next[source] = result > 0;
    return result > 0;
}

/* The readings before the row's periods were of none. */
static void gather(struct rps_system_cells *cells, struct rps_export_job *job, int source,
                   uint64_t first, uint64_t last, struct rps_run_system *ret)
{
    if (!cells->cursor[source]) {
        int result = rps_system_cursor_open(&cells->cursor[source], job->reader, job->run->run_id,
                                            (enum rps_system_source)source, cells->from_ns[source],
                                            INT64_MAX, 0, &job->err);

        job->result = result < 0 ? result : job->result;
        if (result < 0)
            return;
        next(cells, job, source);
    }
    while (cells->has_next[source] && cells->next[source].last_period <= last) {
        if (cells->next[source].end_ns > cells->read_ns[source])
            cells->read_ns[source] = cells->next[source].end_ns;
        if (cells->next[source].last_period >= first)
            rps_run_system_add(ret, &cells->next[source]);
        next(cells, job, source);
    }
}

void rps_system_cells_put(struct rps_system_cells *cells, struct rps_export_job *job, int32_t cpu,
                          uint64_t first, uint64_t last)
{
    struct rps_run_system system = {0};

    if (cells->count == 0 || job->result < 0)
        return;
    if (cells->cpu != cpu)
        close_cursors(cells);
    cells->cpu = cpu;
    for (int source = 0; source < RPS_SYSTEM_SOURCES; source++)
        gather(cells, job, source, first, last, &system);
    for (size_t i = 0; i < CELLS; i++)
        if (cells->has[cell_of[i].source])
            rps_csv_double(job->state,
                           rps_run_system_mean(&system, cell_of[i].source, cell_of[i].slot) /
                               cell_of[i].divisor);
}

void rps_system_cells_end(struct rps_system_cells *cells)
{
    close_cursors(cells);
    memcpy(cells->from_ns, cells->read_ns, sizeof(cells->from_ns));
}

void rps_system_cells_free(struct rps_system_cells *cells)
{
    close_cursors(cells);
}
