#include "sheet.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct unit {
    const char *stored, *suffix, *unit; /* "KiB"; suffix and unit for intervals: "_mib", "MiB" */
    const char *rate_suffix, *rate;     /* suffix and unit of the increase per second */
    double divisor;
} units[] = {
    {"us", "_s", "s", "_s_per_s", "s/s", RPS_PER_S},
    {"KiB", "_mib", "MiB", "_mib_s", "MiB/s", RPS_PER_MIB},
    {"uJ", "_j", "J", "_w", "W", 1e6},
    {"MHz", "_ghz", "GHz", "", "", 1e3},
};

/* Add the column of a slot; for intervals: the mean or sum, the lowest and highest value. */
static void add_slot(struct rps_system_cells *cells, struct rps_export_job *job, int source,
                     int slot, int is_interval)
{
    static const char *const ends[] = {"", "_min", "_max"};
    static const char *const how[] = {"mean of the readings", "lowest reading", "highest reading"};
    const struct rps_system_metric *signal = &rps_system_metrics[source][slot];
    struct unit unit = {"", "", signal->unit, "", "", 1};
    char name[64];

    for (size_t i = 0; i < RPS_COUNT(units); i++)
        unit = strcmp(signal->unit, units[i].stored) == 0 ? units[i] : unit;
    for (int end = 0; end < (is_interval ? 3 : 1); end++) {
        int is_counter = signal->kind == RPS_SYSTEM_COUNTER;
        int is_sum = is_interval && is_counter && end == 0, is_rate = is_counter && !is_sum;

        if (is_interval)
            snprintf(name, sizeof(name), "%s%s%s", signal->name,
                     is_rate ? unit.rate_suffix : unit.suffix, ends[end]);
        else
            snprintf(name, sizeof(name), "%s%s", signal->column.stem, signal->column.suffix);
        cells->cell[cells->count++] = (struct rps_system_cell){
            (enum rps_system_source)source, slot, is_sum ? RPS_SYSTEM_CELL_SUM : end,
            is_interval ? unit.divisor : signal->column.divisor};
        rps_sheet_head(job, name,
                       !is_rate                                               ? unit.unit
                       : !is_interval && signal->column.divisor == RPS_PER_GB ? "GB/s"
                                                                              : unit.rate,
                       NULL, NULL, is_sum ? "sum of the readings" : how[end], signal->explain);
    }
}

/* If any system metric was read, the columns of the workload and the machine are always present. */
void rps_system_cells_head(struct rps_system_cells *cells, struct rps_export_job *job,
                           int is_interval)
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
    for (int later = 0; later <= RPS_SYSTEM_LATER_MAX; later++)
        for (int source = 0; source < RPS_SYSTEM_SOURCES; source++)
            for (int slot = 0; slot < rps_system_metric_count[source]; slot++)
                if (cells->has[source] && rps_system_metrics[source][slot].column.later == later &&
                    (rps_system_metrics[source][slot].column.stem ||
                     (is_interval && source == RPS_SYSTEM_MACHINE)))
                    add_slot(cells, job, source, slot, is_interval);
}

void rps_system_cells_free(struct rps_system_cells *cells)
{
    for (int source = 0; source < RPS_SYSTEM_SOURCES; source++) {
        rps_system_cursor_close(cells->cursor[source]);
        cells->cursor[source] = NULL;
        cells->has_next[source] = 0;
    }
}

/* Read the next row; a block lies in the periods first ... last, or before them. */
static int next(struct rps_system_cells *cells, struct rps_export_job *job, int source,
                uint64_t first, uint64_t last)
{
    uint64_t at = cells->has_next[source] ? cells->next[source].last_period + 1 : 0;
    int result;

    rps_system_cursor_limit(cells->cursor[source], at < first ? first - 1 : last);
    result = rps_system_cursor_next(cells->cursor[source], &cells->next[source], &job->err);
    job->result = result < 0 ? result : job->result;
    cells->has_next[source] = result > 0;
    return result > 0;
}

/* Gather the readings in the row's periods, and skip earlier ones, which belong to no row. */
static void gather(struct rps_system_cells *cells, struct rps_export_job *job, int source,
                   uint64_t first, uint64_t last, struct rps_run_system *ret)
{
    if (!cells->cursor[source]) {
        int result = rps_system_cursor_open(&cells->cursor[source], job->reader, job->run->run_id,
                                            (enum rps_system_source)source, cells->from_ns[source],
                                            INT64_MAX, job->is_coarse ? RPS_LEVELS : 0, &job->err);

        job->result = result < 0 ? result : job->result;
        if (result < 0)
            return;
        next(cells, job, source, first, last);
    }
    while (cells->has_next[source] && cells->next[source].last_period <= last) {
        if (cells->next[source].end_ns > cells->read_ns[source])
            cells->read_ns[source] = cells->next[source].end_ns;
        if (cells->next[source].last_period >= first)
            rps_run_system_add(ret, &cells->next[source]);
        next(cells, job, source, first, last);
    }
}

/* Return the value of a cell. A sum is unknown if the metric was not read all the time. */
static double value_of(const struct rps_run_system *system, const struct rps_system_cell *cell)
{
    const struct rps_system_sum *sum = &system->slot[cell->source][cell->slot];

    switch (cell->how) {
    case RPS_SYSTEM_CELL_SUM:
        return sum->length_s > .9999 * system->length_s[cell->source] ? sum->sum : NAN;
    case RPS_SYSTEM_CELL_MIN:
        return sum->length_s > 0 ? sum->low : NAN;
    case RPS_SYSTEM_CELL_MAX:
        return sum->length_s > 0 ? sum->high : NAN;
    default:
        return rps_run_system_mean(system, cell->source, cell->slot);
    }
}

void rps_system_cells_put(struct rps_system_cells *cells, struct rps_export_job *job, int32_t cpu,
                          uint64_t first, uint64_t last)
{
    struct rps_run_system system = {0};

    if (cells->count == 0 || job->result < 0)
        return;
    if (cells->cpu != cpu)
        rps_system_cells_free(cells);
    cells->cpu = cpu;
    for (int source = 0; source < RPS_SYSTEM_SOURCES; source++)
        gather(cells, job, source, first, last, &system);
    for (size_t i = 0; i < cells->count; i++)
        rps_csv_double(job->state, value_of(&system, &cells->cell[i]) / cells->cell[i].divisor);
}

void rps_system_cells_end(struct rps_system_cells *cells)
{
    rps_system_cells_free(cells);
    memcpy(cells->from_ns, cells->read_ns, sizeof(cells->from_ns));
}
