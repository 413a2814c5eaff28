/*
 * The rows of a table in a text file, one after another, as cells: CSV, or words with blanks
 * between them. Empty lines and lines that begin with # are left out.
 */
#ifndef RPISTAT_CSV_ROWS_H
#define RPISTAT_CSV_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"

/* A text with longer cells, or with more cells in a row, is not a table. */
#define RPS_CSV_CELL_MAX    (1 << 20)
#define RPS_CSV_COLUMNS_MAX 100000

#define RPS_CSV_HEAD_SIZE 65536

struct rps_csv_rows;

/* Open the rows of a file, in the arena, for rps_csv_rows_close; `path` is for messages. A longer
 * line than line_max bytes is an error. leaves_cut: skip a last line without end, maybe cut off. */
struct rps_csv_rows *rps_csv_rows_open(struct rps_arena *arena, FILE *file, const char *path,
                                       size_t line_max, int leaves_cut);
void rps_csv_rows_close(struct rps_csv_rows *rows);

/* Begin at the position of the file, which is its beginning. RPS_FAILED if it cannot be read. */
int rps_csv_rows_begin(struct rps_csv_rows *rows, struct rps_error *err);

/* Return the beginning after the byte order mark, up to RPS_CSV_HEAD_SIZE bytes, terminated. */
const char *rps_csv_rows_head(const struct rps_csv_rows *rows);

/* Read the next row: its cells, without quotes and outer blanks, until the next call. With a blank
 * as separator, cells are words, a date and its time are one, and "# " begins a header. Return 1, 0
 * at the end, negative on error: too long, a NUL byte, a read error, an open quote. */
int rps_csv_rows_next(struct rps_csv_rows *rows, char separator, char *const **ret_cell,
                      size_t *ret_count, struct rps_error *err);

/* Return the number of the line that was read last, from 1; 0: none was. */
uint64_t rps_csv_rows_line(const struct rps_csv_rows *rows);

/* Return 1 if the end was reached, and the last line has no line end. */
int rps_csv_rows_is_cut(const struct rps_csv_rows *rows);

#endif
