/*
 * The rows of a table in a text file, one after another, as cells: CSV, or words with blanks between
 * them. Empty lines, and those that begin with #, are left out.
 */
#ifndef RPISTAT_CSV_ROWS_H
#define RPISTAT_CSV_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"

/* Longer cells, and more of them in a row, are those of no table. */
#define RPS_CSV_CELL_MAX    (1 << 20)
#define RPS_CSV_COLUMNS_MAX 100000

#define RPS_CSV_HEAD_SIZE 65536

struct rps_csv_rows;

/* The arena's, to be closed; `path` is for sentences. A line longer than line_max bytes is of no
 * table. leaves_cut: a last line without an end may be cut off, and is left out. */
struct rps_csv_rows *rps_csv_rows_open(struct rps_arena *arena, FILE *file, const char *path,
                                       size_t line_max, int leaves_cut);
void rps_csv_rows_close(struct rps_csv_rows *rows);

/* Begin where the file stands, at its beginning. RPS_FAILED when it cannot be read. */
int rps_csv_rows_begin(struct rps_csv_rows *rows, struct rps_error *err);

/* The beginning of the file behind its byte order mark, up to RPS_CSV_HEAD_SIZE bytes, terminated. */
const char *rps_csv_rows_head(const struct rps_csv_rows *rows);

/* The next row: its cells, without quotes and outer blanks, until the next call. The separator ' ':
 * cells are words, a date and its time one of them, and "# " begins a header. 1, 0 at the end,
 * negative on error: what is too long, a NUL byte, reading, a quote that is never closed. */
int rps_csv_rows_next(struct rps_csv_rows *rows, char separator, char *const **ret_cell,
                      size_t *ret_count, struct rps_error *err);

/* The number of the line that was read last, from 1; 0: none was. */
uint64_t rps_csv_rows_line(const struct rps_csv_rows *rows);

/* 1 when the end was reached, and the last line has none. */
int rps_csv_rows_is_cut(const struct rps_csv_rows *rows);

#endif
