/*
 * Signals from a CSV file of any program: one row an observation, numeric columns are signals.
 *
 * What is not said is found out: the separator (, ; tab |), the decimal mark, whether there is a
 * header. Empty cells, NaN, NA, and what stands in <...> are not observed. Columns that only number
 * the rows, or say when they were, are no signals: those with such a name (`time`, `index`, `date`)
 * that never fall, and those that rise by the same step from row to row. Of rpistat's own exports
 * the columns that place a row in the run are none, and a new run or CPU begins behind a gap. Rows
 * whose first cell begins with # are left out.
 */
#ifndef RPISTAT_CSV_SIGNALS_H
#define RPISTAT_CSV_SIGNALS_H

#include <stddef.h>
#include <stdio.h>

#include "rpistat/arena.h"
#include "rpistat/detect.h"
#include "rpistat/error.h"
#include "rpistat/period.h"
#include "rpistat/phases.h"

struct rps_plan;

struct rps_csv_options {
    const char *origin;      /* name of the file, for sentences */
    char separator;          /* 0: found */
    char decimal;            /* '.' or ','; 0: found */
    const char *const *name; /* columns to take, by header or number from 1 */
    size_t name_count;       /* 0: all that are signals */
};

struct rps_csv_signals {
    struct rps_signals signals;  /* the arena's: not for rps_signals_free */
    char (*name)[RPS_NAME_SIZE]; /* header, or the column's number from 1 */
    uint64_t rows;               /* in the table, without the header */
    size_t rows_per; /* in large tables: rows that an observation is the mean of; otherwise 1 */
};

/* Convert the observation numbers in the phases to row numbers. */
void rps_csv_signals_set_rows(const struct rps_csv_signals *table, struct rps_found_phases *found);

/*
 * Read `in` to its end, into the arena. Errors, one sentence each (RPS_FAILED, for unknown columns
 * RPS_USAGE): reading fails; it is no text; it has no rows; a row has more or fewer cells than the
 * first; no column of numbers; a column that it does not have.
 */
int rps_csv_signals_read(struct rps_arena *arena, FILE *in, const struct rps_csv_options *options,
                         struct rps_csv_signals *ret, struct rps_error *err);

/*
 * The signals as the detector is to see them, for rps_signals_free: columns of positive values
 * whose noise grows with their level (the median step between rows is more than twice as large in
 * the highest third as in the lowest, and less uneven in logarithms) as their logarithms; noise
 * floors are set (rps_signals_floor_noise).
 */
struct rps_signals rps_csv_signals_even(const struct rps_csv_signals *table);

/* What separates the cells and marks decimals in a file that begins with text; a mark that is given
 * (not 0) is left. */
void rps_csv_guess(const char *text, size_t size, char *separator, char *decimal);

/* A cell: 1 and the number (with a decimal comma also as 1.234,5), NaN where it is not finite; 0:
 * what programs write for a value that they do not have; -1: a word. */
int rps_csv_cell(const char *cell, size_t length, char decimal, double *ret);

/* 1 for the name of a column that numbers rows or says when they were: "time", "index", "date". */
int rps_csv_names_place(const char *name);

#endif
