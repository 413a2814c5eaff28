/*
 * Tables of text for people: headings of several lines, columns as wide as they need, blocks of
 * columns below one another where a line is too short for all.
 *
 * Nothing is checked a cell: running out of memory is remembered and reported by rps_table_print.
 */
#ifndef RPISTAT_SHOW_TABLE_H
#define RPISTAT_SHOW_TABLE_H

#include <stdio.h>

#include "rpistat/error.h"

#define RPS_TABLE_LINES        3 /* of a heading */
#define RPS_TABLE_HEADING_SIZE 80

struct rps_table_column {
    int left;  /* 1: aligned to the left */
    int width; /* characters */
    char heading[RPS_TABLE_LINES][RPS_TABLE_HEADING_SIZE];
};

/* All zero: a table without columns. */
struct rps_text_table {
    int column_count, row_count;
    struct rps_table_column *column; /* owned */
    char **cell;                     /* owned; cell[row * column_count + column]; NULL: empty */
    int failed;                      /* 1: there was no memory */
};

/* Add a column, before there are rows. The label, with its unit in parentheses unless that is "",
 * is broken into lines of at least RPS_TABLE_HEADING_WIDTH characters, and made printable. */
#define RPS_TABLE_HEADING_WIDTH 12
void rps_table_add_column(struct rps_text_table *table, const char *label, const char *unit,
                          int left);

/* Begin a row; its cells are empty. */
void rps_table_add_row(struct rps_text_table *table);

/* Set a cell of the last row; made printable. */
void rps_table_set(struct rps_text_table *table, int column, const char *text);

/* Width of columns 0 ... count - 1 when printed. */
int rps_table_width(const struct rps_text_table *table, int count);

/*
 * Print, indented by two blanks, in blocks of at most `width` characters, each below an empty line;
 * the first `fixed` columns are in every block. RPS_FAILED when there was no memory.
 */
int rps_table_print(FILE *out, const struct rps_text_table *table, int fixed, int width,
                    struct rps_error *err);

void rps_table_free(struct rps_text_table *table);

#endif
