/* Read the rows of a table in a text file one after another, each as an array of cells. The text is
 * CSV, or words separated by blanks. Empty lines and lines that begin with # are left out. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"

/* Maximum number of cells in a row. A text with a longer row is not a table. */
#define RPS_CSV_COLUMNS_MAX 100000

#define RPS_CSV_HEAD_SIZE 65536

struct rps_csv_rows;

/* Return a reader of the rows of a file, in the arena. `path` is the file's name in messages. A
 * line longer than line_max bytes is an error. If the last line has no line end, it may be
 * incomplete: see rps_csv_rows_is_cut. */
struct rps_csv_rows *rps_csv_rows_open(struct rps_arena *arena, FILE *file, const char *path,
                                       size_t line_max);

/* Begin to read. The stream must be at its beginning. Return RPS_FAILED for a read error. */
int rps_csv_rows_begin(struct rps_csv_rows *rows, struct rps_error *err);

/* Return up to RPS_CSV_HEAD_SIZE first bytes of the text, without a byte order mark. */
const char *rps_csv_rows_head(const struct rps_csv_rows *rows);

/* Read the next row. The cells, without quotes and outer blanks, are valid until the next call.
 * With a blank as separator, cells are words, but a date and the time after it are one cell. A line
 * that begins with "# " is then a header. Return 1, 0 at the end, or a negative value for an error:
 * a line that is too long, a NUL, a read error, or an unclosed quote. */
int rps_csv_rows_next(struct rps_csv_rows *rows, char separator, char *const **ret_cell,
                      size_t *ret_count, struct rps_error *err);

/* Return the number, from 1, of the line that was read last, or 0 before the first line. */
uint64_t rps_csv_rows_line(const struct rps_csv_rows *rows);

/* Read only the next `size` bytes, which begin after line number lines_before of the file. */
void rps_csv_rows_limit(struct rps_csv_rows *rows, uint64_t size, uint64_t lines_before);

/* From the next rps_csv_rows_begin on, read `file`. The `lines` lines of `file` after line `after`
 * are the next lines of the first file in reverse order. rps_csv_rows_line returns numbers of the
 * first file. */
void rps_csv_rows_mirror(struct rps_csv_rows *rows, FILE *file, uint64_t after, uint64_t lines);

/* Return 1 if the row was in the file's last line, and the line lacks a line end; also if the line
 * was left out, because a quote is open. */
int rps_csv_rows_is_cut(const struct rps_csv_rows *rows);
