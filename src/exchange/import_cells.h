/* What readers of other tools' tables share: cells as numbers, strictly. 1, or 0 when the cell is
 * none. */
#ifndef RPISTAT_EXCHANGE_IMPORT_CELLS_H
#define RPISTAT_EXCHANGE_IMPORT_CELLS_H

#include <stdint.h>

#include "import_build.h"

/* A finite number, also with a decimal comma. */
int rps_cell_number(const char *cell, double *ret);
/* A whole number, also as "12.000". */
int rps_cell_count(const char *cell, uint64_t *ret);
/* Seconds, "0.100229166", exactly. */
int rps_cell_seconds(const char *cell, int64_t *ret_ns);

/* RPS_FAILED with the line: "WHAT 'CELL' is no number". */
int rps_cell_refuse(struct rps_import_builder *builder, const char *what, const char *cell,
                    struct rps_error *err);

/* The first line of the file's beginning that is neither empty nor a comment; "" without one. */
const char *rps_import_first_row(const char *head);
/* What follows `mark` in the comments before it, up to the line's end: 1 and ret, or 0. */
int rps_import_comment(const char *head, const char *mark, char *ret, size_t size);
/* The separator between the first cell and the second of a row, or 0. */
char rps_import_separator(const char *row);
/* The cells of that row, for recognising it: as if nothing in it were quoted. How many there are; 0
 * when the row is longer than `text`. */
size_t rps_import_split(const char *row, char *text, size_t size, char **ret, size_t max);

#endif
