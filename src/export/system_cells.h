/*
 * The cells of system metrics, after all others of a sheet's row: wait_s_per_s, threads, in_io ...,
 * rss_mib, read_mib_s ..., m_wait. Those of a control group or packages follow. A row has its
 * periods' readings, if any: the mean of gauges, the rate of counters.
 */
#ifndef RPISTAT_EXPORT_SYSTEM_CELLS_H
#define RPISTAT_EXPORT_SYSTEM_CELLS_H

#include "rpistat/export.h"
#include "rpistat/run_system.h"

struct rps_system_cell {
    enum rps_system_source source;
    int slot;
};

struct rps_system_cells {
    size_t count; /* of cell; 0: the run has no system metrics */
    struct rps_system_cell cell[RPS_SYSTEM_SOURCES * RPS_SYSTEM_SLOT_MAX];
    int has[RPS_SYSTEM_SOURCES];                          /* cells of that source */
    int32_t cpu;                                          /* of the last row */
    struct rps_system_cursor *cursor[RPS_SYSTEM_SOURCES]; /* NULL: not open */
    struct rps_system_row next[RPS_SYSTEM_SOURCES];
    int has_next[RPS_SYSTEM_SOURCES];
    int64_t from_ns[RPS_SYSTEM_SOURCES]; /* earlier readings belong to rows of earlier walks */
    int64_t read_ns[RPS_SYSTEM_SOURCES]; /* end of the newest reading */
};

/* Write the names of the columns, if the run has such metrics. */
void rps_system_cells_head(struct rps_system_cells *cells, struct rps_export_job *job);

/* Write the cells of a row of the periods first ... last; rows come in the order of CPUs and time.
 * A failure becomes the job's. */
void rps_system_cells_put(struct rps_system_cells *cells, struct rps_export_job *job, int32_t cpu,
                          uint64_t first, uint64_t last);

/* End a walk through the rows: no reading is kept, so that the next walk of a running recording
 * sees the new data. */
void rps_system_cells_end(struct rps_system_cells *cells);

void rps_system_cells_free(struct rps_system_cells *cells);

#endif
