/* Signals from a table that another program wrote. Each row is an observation, and each column of
 * numbers is a signal. rpistat/import.h reads the table. */
#pragma once

#include "rpistat/detect.h"
#include "rpistat/period.h"
#include "rpistat/phases.h"

struct rps_csv_signals {
    struct rps_signals signals;  /* Signals in the arena; do not pass them to rps_signals_free */
    char (*name)[RPS_NAME_SIZE]; /* Header of each column, or its number from 1 */
    uint64_t rows;               /* Number of rows of the table, without the header */
    size_t rows_per;             /* Rows per observation: 1, or more if averaged (large tables) */
};

/* Convert observation numbers in the phases to row numbers. */
void rps_csv_signals_set_rows(const struct rps_csv_signals *table, struct rps_found_phases *found);

/* Return the signals for the detector, in the arena; the marks of gaps are those of `plain`.
 * Columns of positive values whose noise grows with their level become logarithms. The noise grows
 * if the median step between rows is more than twice as large in the highest third of values as in
 * the lowest third. Steps of logarithms must also vary less. Noise floors are set
 * (rps_signals_floor_noise). */
struct rps_signals rps_csv_signals_even(struct rps_arena *arena, const struct rps_signals *plain);

/* Guess the separator and the decimal mark of a file that begins with `text`. A separator or
 * decimal mark that is already set (not 0) is kept. */
void rps_csv_guess(const char *text, size_t size, char *separator, char *decimal);

/* Return 1 if the name is one of row numbers or times: "time", "Time (s)", "index", "date_utc". */
int rps_csv_names_place(const char *name);

/* Return 1 if a column has row numbers or times: its steps are equal, or rps_csv_names_place
 * accepts its name and it never falls. is_averaged: each value is the mean of several rows. */
int rps_csv_is_place(const double *value, size_t count, int is_averaged, const char *name);
