/* A CSV file as numbers, from which csv_signals.c chooses signals. */
#ifndef RPISTAT_QUERY_CSV_TABLE_H
#define RPISTAT_QUERY_CSV_TABLE_H

#include <stdint.h>

#include "rpistat/csv_signals.h"

#define RPS_CSV_ROWS_MAX (UINT64_C(1) << 21)

struct rps_csv_column {
    char first[RPS_NAME_SIZE]; /* the first row's cell, printable and cut */
    int first_is_word;         /* it is neither a number nor empty nor "not observed" */
    uint64_t numbers, words;   /* of the other rows */
};

struct rps_csv_table {
    char separator, decimal;
    size_t column_count;
    struct rps_csv_column *column;
    size_t row_count; /* the first included, also when it is a header */
    double *value;    /* value[row * column_count + column]; NaN: no number */
    uint16_t *seen;   /* of each value: so many numbers it is the mean of */
    uint64_t rows;    /* rows that were read, with the first one */
    size_t rows_per;  /* file rows that a row is the mean of, except a header; a power of two */
    int has_header;   /* set when rows are averaged */
};

/* Return 1 if the first row has a word above numbers. */
int rps_csv_table_has_header(const struct rps_csv_table *table);

/* Read `in` to its end, into the arena. If the table has RPS_CSV_ROWS_MAX rows, each pair of
 * neighbours becomes its mean, as often as necessary. Errors: as rps_csv_signals_read. */
int rps_csv_table_read(struct rps_arena *arena, FILE *in, const struct rps_csv_options *options,
                       struct rps_csv_table *ret, struct rps_error *err);

#endif
