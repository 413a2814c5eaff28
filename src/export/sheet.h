/*
 * What the formats that are sheets (CSV, or JSON an object a line) share: the table of their
 * columns, and behind these the cells of events or metrics.
 */
#ifndef RPISTAT_EXPORT_SHEET_H
#define RPISTAT_EXPORT_SHEET_H

#include <stdint.h>

#include "rpistat/csv_writer.h"
#include "rpistat/export.h"
#include "system_cells.h"

/* The formats, as bits: sheet.c says which has which columns. */
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
    double real; /* EXACT: in up to 15 digits, REAL: 9; empty if it is not finite */
};

/* Not every format has a use for all of it. */
struct rps_sheet_row {
    int32_t cpu;
    uint64_t number;             /* of the period, or of the rotation */
    uint64_t first, last;        /* its periods: its phase is that in their middle */
    int64_t start_ns, length_ns; /* in the run */
    int64_t end_ns;              /* of the format table */
    uint64_t cycle, cycles;      /* cycle timestamp at its end, the row's own count */
    uint64_t rotations, block;   /* added up; the largest block of them */
    uint64_t enabled_ns, running_ns;
    const char *set;                  /* texts: NULL and "" are empty */
    const char *name, *unit;          /* of the event or metric */
    struct rps_cell count, scaled;    /* of the event */
    struct rps_cell value, low, high; /* of the metric */
};

/* The state of such a format begins with it. */
struct rps_sheet {
    struct rps_csv_writer csv; /* first */
    enum rps_sheet_format format;
    int column_count, cell_count;
    char time_name[RPS_SPEC_SIZE]; /* of the format table: what the file called its time, */
    int is_moment;                 /* 1: which is a date */
    const struct rps_sheet_column **column; /* the arena's; those that the format has */
    struct rps_cell *cell;                  /* the arena's; of the row that is written next */
    struct rps_system_cells system;         /* of the formats wide and rates; behind them */
};

/* Make job->state, of `size` bytes and all zero but for the sheet at its beginning, with at most
 * `cells` cells a row, and write the names of the format's columns. Errors: rps_csv_begin's. */
int rps_sheet_begin(struct rps_export_job *job, size_t size, enum rps_sheet_format format,
                    int cells, struct rps_error *err);

/* The name of the next cell, with its unit: NAME, NAME_ns, NAME_percent; with _KIND behind it where
 * a column has that name (`-e cycles` makes cycles_event), then with _END, which may be NULL. */
void rps_sheet_head(struct rps_export_job *job, const char *name, const char *unit,
                    const char *kind, const char *end);

/* The names of all cells are written: those of system signals, and the end of the line. */
void rps_sheet_end_head(struct rps_export_job *job);

/* Write a row: the columns, then the cells. */
void rps_sheet_put(struct rps_export_job *job, const struct rps_sheet_row *row);

/* Write what is left. */
void rps_sheet_end(struct rps_export_job *job);

/* Release what the sheet owns; job->state may be NULL. */
void rps_sheet_release(struct rps_export_job *job);

static inline struct rps_cell rps_sheet_count(int is_known, uint64_t count)
{
    return (struct rps_cell){.kind = is_known ? RPS_CELL_COUNT : RPS_CELL_EMPTY, .count = count};
}

static inline struct rps_cell rps_sheet_real(double value)
{
    return (struct rps_cell){.kind = RPS_CELL_REAL, .real = value};
}

#endif
