/* Functions for sheets: CSV, or JSON with one object per line. A sheet has fixed columns, then the
 * cells of events or metrics. */
#pragma once

#include <stdint.h>

#include "rpistat/csv_writer.h"
#include "rpistat/export.h"
#include "rpistat/run_system.h"

/* The cells of system metrics. These cells follow all other cells of a sheet's row: wait_s_per_s,
 * threads, in_io ..., rss_mib, read_mib_s ..., m_wait. The cells of a control group or of packages
 * follow at the end. A row has values if its periods contain readings: the mean of gauges, and the
 * rate of counters. */

struct rps_system_cell {
    enum rps_system_source source;
    int slot;
    enum {
        RPS_SYSTEM_CELL_MEAN,
        RPS_SYSTEM_CELL_MIN,
        RPS_SYSTEM_CELL_MAX,
        RPS_SYSTEM_CELL_SUM
    } how;
    double divisor; /* divisor of the stored value */
};

struct rps_system_cells {
    size_t count; /* number of cells; 0: the run has no system metrics */
    struct rps_system_cell cell[3 * RPS_SYSTEM_SOURCES * RPS_SYSTEM_SLOT_MAX];
    int has[RPS_SYSTEM_SOURCES];                          /* 1: the row has cells of that source */
    int32_t cpu;                                          /* CPU of the most recent row */
    struct rps_system_cursor *cursor[RPS_SYSTEM_SOURCES]; /* NULL: the cursor is not open */
    struct rps_system_row next[RPS_SYSTEM_SOURCES];
    int has_next[RPS_SYSTEM_SOURCES];
    int64_t from_ns[RPS_SYSTEM_SOURCES]; /* time before which readings belong to earlier rows */
    int64_t read_ns[RPS_SYSTEM_SOURCES]; /* end of the newest reading */
};

/* Write the names of the columns, if the run has system metrics. */
void rps_system_cells_head(struct rps_system_cells *cells, struct rps_export_job *job,
                           int is_interval);

/* Write the cells for a row of the periods first ... last. Call this function in the order of CPUs
 * and time. If an error occurs, the error is stored in the job. */
void rps_system_cells_put(struct rps_system_cells *cells, struct rps_export_job *job, int32_t cpu,
                          uint64_t first, uint64_t last);

/* End a pass through the rows. No reading is kept, so that the next pass over a running recording
 * reads new data. */
void rps_system_cells_end(struct rps_system_cells *cells);
void rps_system_cells_free(struct rps_system_cells *cells);

/* The formats, as bits. sheet.c defines the columns of each format. */
enum rps_sheet_format {
    RPS_SHEET_WIDE = 1,
    RPS_SHEET_LONG = 2,
    RPS_SHEET_RATES = 4,
    RPS_SHEET_LONG_RATES = 8,
    RPS_SHEET_EVERY = 16,
    RPS_SHEET_TABLE = 32
};

struct rps_cell {
    enum { RPS_CELL_EMPTY, RPS_CELL_COUNT, RPS_CELL_EXACT, RPS_CELL_REAL } kind;
    uint64_t count;
    double real; /* a number, printed with up to 15 digits for EXACT, 9 for REAL; the cell is
                    empty if the number is not finite */
};

/* A row of a sheet. Each format uses some of the members. */
struct rps_sheet_row {
    int32_t cpu;
    uint64_t number;             /* number of the period or rotation */
    uint64_t first, last;        /* first and last period of the row; the row's phase is the
                                    phase at their middle */
    int64_t start_ns, length_ns; /* start and length, as times of the run */
    int64_t end_ns;              /* end of the row's time; used only by the format table */
    uint64_t cycle, cycles;      /* cycle timestamp at the row's end; cycles of the row */
    uint64_t rotations, block;   /* number of rotations in the row; number in the largest block */
    uint64_t enabled_ns, running_ns;
    const char *set;                  /* texts; NULL and "" both make an empty cell */
    const char *name, *unit;          /* name and unit of the event or metric */
    struct rps_cell count, scaled;    /* cells of an event */
    struct rps_cell value, low, high; /* cells of a metric */
};

struct rps_sheet_name {
    const char *text, *unit;
    int length;       /* length of the text without an end such as "_min" */
    const char *kind; /* appended if another column has the name; NULL: the name is fixed */
    const char *how, *meaning; /* columns of one event or metric share `meaning` */
};

/* A sheet. The state of each sheet format begins with this struct. */
struct rps_sheet {
    struct rps_csv_writer csv; /* the writer must be the first member */
    enum rps_sheet_format format;
    struct rps_sheet_name *name; /* names of all columns; in the arena */
    size_t name_count;
    int column_count, cell_count;
    char time_name[RPS_SPEC_SIZE];          /* format table: name of the time in the imported
                                               file */
    int is_moment;                          /* 1: the time is a date */
    const struct rps_sheet_column **column; /* columns of the format; in the arena */
    struct rps_cell *cell;                  /* cells of the next row; in the arena */
    struct rps_system_cells system;         /* system metrics in the formats wide, rates and
                                               every; after all cells above */
    struct rps_export_programs programs;    /* programs in the format every; after the system
                                               metrics */
};

/* Write the name of the next column; with --explain, write the column's row of the data dictionary.
 */
void rps_sheet_name(struct rps_export_job *job, const char *name, const char *unit, const char *how,
                    const char *meaning);

/* Begin the CSV, or the data dictionary. Errors: those of rps_csv_begin. */
int rps_sheet_begin_csv(struct rps_export_job *job, struct rps_csv_writer *csv,
                        struct rps_error *err);

/* Make job->state, of `size` bytes: the sheet, and zeros after it. The sheet has at most `cells`
 * cells per row. Write the names of the format's columns. The errors are those of rps_csv_begin. */
int rps_sheet_begin(struct rps_export_job *job, size_t size, int cells, struct rps_error *err);

/* Add the name of the next column. If KIND is not NULL, the name gets its unit (NAME_percent, but
 * not in the format table), and _KIND if another column has the name (`-e cycles` makes
 * cycles_event). END, which may be NULL, is appended as _END. */
void rps_sheet_head(struct rps_export_job *job, const char *name, const char *unit,
                    const char *kind, const char *end, const char *how, const char *meaning);

/* Add the names of the cells of system metrics, and write the line of names. */
void rps_sheet_end_head(struct rps_export_job *job);

/* Write a row: the columns, then the cells. */
void rps_sheet_put(struct rps_export_job *job, const struct rps_sheet_row *row);

/* Write the data that is still buffered. */
void rps_sheet_end(struct rps_export_job *job);

/* Release the memory that the sheet owns. job->state may be NULL. */
void rps_sheet_release(struct rps_export_job *job);

static inline struct rps_cell rps_sheet_count(int is_known, uint64_t count)
{
    return (struct rps_cell){.kind = is_known ? RPS_CELL_COUNT : RPS_CELL_EMPTY, .count = count};
}

static inline struct rps_cell rps_sheet_real(double value)
{
    return (struct rps_cell){.kind = RPS_CELL_REAL, .real = value};
}
