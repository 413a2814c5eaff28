/*
 * Functions for sheets, which are CSV, or JSON with one object per line. They have a table of
 * columns, followed by the cells of events or metrics.
 */
#ifndef RPISTAT_EXPORT_SHEET_H
#define RPISTAT_EXPORT_SHEET_H

#include <stdint.h>

#include "rpistat/csv_writer.h"
#include "rpistat/export.h"
#include "system_cells.h"

/* The formats, as bits: sheet.c has the columns of each. */
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

/* Each format uses some of the members. */
struct rps_sheet_row {
    int32_t cpu;
    uint64_t number;             /* of the period, or of the rotation */
    uint64_t first, last;        /* its periods: its phase is that of their middle */
    int64_t start_ns, length_ns; /* in the run */
    int64_t end_ns;              /* of the format table */
    uint64_t cycle, cycles;      /* cycle timestamp at its end, the row's own count */
    uint64_t rotations, block;   /* number added up; the largest block of them */
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
    char time_name[RPS_SPEC_SIZE]; /* for the format table: the file's name for its time; */
    int is_moment;                 /* 1: the time is a date */
    const struct rps_sheet_column **column; /* the arena's; the columns of the format */
    struct rps_cell *cell;                  /* the arena's; of the next row */
    struct rps_system_cells system;         /* of the formats wide and rates; after the others */
};

/* Make job->state, of `size` bytes: the sheet, then zeros. It has at most `cells` cells per row.
 * Write the names of the format's columns. Errors: those of rps_csv_begin. */
int rps_sheet_begin(struct rps_export_job *job, size_t size, enum rps_sheet_format format,
                    int cells, struct rps_error *err);

/* Write the name of the next cell, with its unit: NAME, NAME_ns, NAME_percent. _KIND follows if a
 * column has that name (`-e cycles` makes cycles_event), then _END, which may be NULL. */
void rps_sheet_head(struct rps_export_job *job, const char *name, const char *unit,
                    const char *kind, const char *end);

/* End the names of the cells: write those of system metrics, and the end of the line. */
void rps_sheet_end_head(struct rps_export_job *job);

/* Write a row: the columns, then the cells. */
void rps_sheet_put(struct rps_export_job *job, const struct rps_sheet_row *row);

/* Write buffered data. */
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
