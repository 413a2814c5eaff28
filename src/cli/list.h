/* A list for people, a line a row under one line of titles, which fits the terminal that it goes
 * to. */
#ifndef RPISTAT_CLI_LIST_H
#define RPISTAT_CLI_LIST_H

#include <stddef.h>
#include <stdio.h>

#include "rpistat/error.h"

#define RPS_LIST_COLUMNS_MAX 16
#define RPS_LIST_CELL_SIZE   1024

struct rps_list_column {
    const char *title;
    int is_right;    /* 1: numbers, aligned to the right */
    int is_optional; /* 1: left out where it says "-" in every row */
    int width_max;   /* on a terminal, where longer cells are cut; 0: as wide as it is */
    int drop;        /* the lowest above 0 is left out first where the terminal is narrow */
};

/* All zero but for the columns: no rows. The last column gets what a terminal has left. */
struct rps_list {
    const struct rps_list_column *column;
    int column_count; /* at most RPS_LIST_COLUMNS_MAX */
    size_t row_count;
    char **cell; /* owned; row by row */
};

/* Add a row: printable texts, a column each. RPS_FAILED without memory. */
int rps_list_add(struct rps_list *list, char (*cell)[RPS_LIST_CELL_SIZE], struct rps_error *err);

/* Print it, for standard output as the terminal is. Cells are cut where they stand. */
void rps_list_print(FILE *out, struct rps_list *list);

/* Free the rows. */
void rps_list_free(struct rps_list *list);

#endif
