/*
 * Signals from a CSV file of any program: one observation per row, numeric columns are signals.
 * Unspecified settings are detected: the separator (, ; tab |), the decimal mark, whether there is
 * a header. Empty cells, NaN, NA, and text in <...> are not observed. Rows whose first cell begins
 * with # are left out.
 *
 * Columns that only number the rows, or give their times, are not signals. They have such a name
 * (`time`, `index`, `date`) and never fall, or rise by the same step from row to row. In rpistat's
 * own exports, columns that place a row in the run are no signals; a gap precedes a new run or CPU.
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
    const char *origin;      /* name of the file, for messages */
    char separator;          /* 0: detected */
    char decimal;            /* '.' or ','; 0: detected */
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
 * Read `in` to its end, into the arena. Errors are one sentence each, RPS_FAILED, or RPS_USAGE for
 * unknown columns. Reading fails; it is not text, or without rows; a row has more or fewer cells
 * than the first; no column has numbers.
 */
int rps_csv_signals_read(struct rps_arena *arena, FILE *in, const struct rps_csv_options *options,
                         struct rps_csv_signals *ret, struct rps_error *err);

/*
 * Return the signals for the detector, for rps_signals_free. Columns of positive values whose noise
 * grows with their level become logarithms: the median step between rows is more than twice as
 * large in the highest third as in the lowest, and less uneven in logarithms. Noise floors are set
 * (rps_signals_floor_noise).
 */
struct rps_signals rps_csv_signals_even(const struct rps_csv_signals *table);

/* Guess the separator and the decimal mark of a file that begins with text. A mark that is given
 * (not 0) is kept. */
void rps_csv_guess(const char *text, size_t size, char *separator, char *decimal);

/* Parse a cell. Return 1 and the number (with a decimal comma also as 1.234,5), NaN if it is not
 * finite. Return 0 for the text of a missing value, -1 for a word. */
int rps_csv_cell(const char *cell, size_t length, char decimal, double *ret);

/* Return 1 for a column name of row numbers or times: "time", "index", "date". */
int rps_csv_names_place(const char *name);

#endif
