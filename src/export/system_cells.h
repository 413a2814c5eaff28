/*
 * The cells of system signals, behind all others of a sheet's row: wait_s_per_s, threads, in_io ...,
 * rss_mib, read_mib_s ..., m_wait, and where a control group or packages were read their own. A row has what was read in its periods: gauges their mean,
 * counters what came per second; it is empty where nothing was read.
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
    size_t count; /* of cell; 0: the run has no system signals */
    struct rps_system_cell cell[RPS_SYSTEM_SOURCES * RPS_SYSTEM_SLOT_MAX];
    int has[RPS_SYSTEM_SOURCES];                          /* cells of that source */
    int32_t cpu;                                          /* of the last row */
    struct rps_system_cursor *cursor[RPS_SYSTEM_SOURCES]; /* NULL: not open */
    struct rps_system_row next[RPS_SYSTEM_SOURCES];
    int has_next[RPS_SYSTEM_SOURCES];
    int64_t
        from_ns[RPS_SYSTEM_SOURCES]; /* readings before are those of rows that earlier walks had */
    int64_t read_ns[RPS_SYSTEM_SOURCES]; /* end of the newest reading that came */
};

/* Write the names of the columns, if the run has any such signals. */
void rps_system_cells_head(struct rps_system_cells *cells, struct rps_export_job *job);

/* Write the cells of a row of the periods first ... last; rows come in the order of CPUs and time.
 * What fails becomes the job's. */
void rps_system_cells_put(struct rps_system_cells *cells, struct rps_export_job *job, int32_t cpu,
                          uint64_t first, uint64_t last);

/* A walk through the rows has ended: nothing is read any more, so that the next one, of a run that
 * goes on, sees what came since. */
void rps_system_cells_end(struct rps_system_cells *cells);

void rps_system_cells_free(struct rps_system_cells *cells);

#endif
