#include "system_cells.h"

#include <stdio.h>
#include <string.h>

#include "rpistat/csv_writer.h"

/* Add the column of a source's slot, if the run has the source and the metric has a column. */
static void add_cell(struct rps_system_cells *cells, struct rps_export_job *job, int source,
                     int slot, int later)
{
    const struct rps_system_signal *signal = &rps_system_signals[source][slot];
    char name[64];

    if (!cells->has[source] || !signal->column.stem || signal->column.later != later)
        return;
    snprintf(name, sizeof(name), "%s%s", signal->column.stem, signal->column.suffix);
    rps_csv_text(job->state, name);
    cells->cell[cells->count++] = (struct rps_system_cell){(enum rps_system_source)source, slot};
}

/* Columns of the workload and the machine are always present if anything was read. */
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
    for (int later = 0; later < 2; later++)
        for (int source = 0; source < RPS_SYSTEM_SOURCES; source++)
            for (int slot = 0; slot < rps_system_signal_count[source]; slot++)
                add_cell(cells, job, source, slot, later);
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

/* Readings before the row's periods belong to no row. */
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
    for (size_t i = 0; i < cells->count; i++) {
        const struct rps_system_cell *cell = &cells->cell[i];

        rps_csv_double(job->state, rps_run_system_mean(&system, cell->source, cell->slot) /
                                       rps_system_signals[cell->source][cell->slot].column.divisor);
    }
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
