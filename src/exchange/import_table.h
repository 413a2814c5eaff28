/* Tables of other tools, as import_csv.c reads them: the text of the file, and its meaning. */
#ifndef RPISTAT_EXCHANGE_IMPORT_TABLE_H
#define RPISTAT_EXCHANGE_IMPORT_TABLE_H

#include <stddef.h>

#include "import_parts.h"
#include "import_build.h"

#define RPS_IMPORT_TEXT_SIZE 200

/* Follows a cell that is refused as a time. */
#define RPS_IMPORT_AMBIGUOUS                                                                       \
    "may have the day first or the month: write 2026-11-21 14:00:00 or 21.11.2026 14:00:00"

/* The kinds of cells in a column. */
enum rps_cells {
    RPS_CELLS_NONE,
    RPS_CELLS_TIME,
    RPS_CELLS_CPU,
    RPS_CELLS_COUNT,
    RPS_CELLS_CLOCK,
    RPS_CELLS_GAUGE,
    RPS_CELLS_KEY,
    RPS_CELLS_SKIP,
    RPS_CELLS
};

struct rps_import_table_column {
    char *name; /* of the header */
    char unit[32];
    char cell_unit[32]; /* after the numbers: "35 %" */
    char panel[100];
    enum rps_cells kind, mapped, said; /* said: in the header */
    /* of the first rows */
    int numbers, words, times, cpus, starts_with_word, is_all, varies;
    const char *first;     /* its cell in the first row; NULL before */
    const char *ambiguous; /* a date with two meanings; NULL: none */
};

/* The process or device of a row. */
struct rps_import_entity {
    const char *text;  /* "" if time and CPU alone distinguish the table's rows */
    int *column;       /* of the builder, for each of the table's */
    uint64_t interval; /* number of the last one with its row; 0: none */
};

/* The table below a header. */
struct rps_import_table {
    size_t count;
    struct rps_import_table_column *column;
    int has_header, is_commented; /* a comment before the first row is the header */
    int has_clock;                /* sar's header has the time instead of a name */
    int time, day, cpu;           /* columns; -1: none; day: if `time` has no date */
    int has_processes;            /* its rows are processes, as pidstat prints them, */
    int has_several;              /* and of more than one */
    int is_keyed, adds;           /* 1: processes with the same name are merged, on request */
    /* of the first rows */
    int rows, descends, repeats; /* 1: a time is not later than the last; time and CPU are equal */
    int64_t last_ns;
    int32_t last_cpu;
    size_t section; /* section of its last row; 0: none */
    size_t entity_count;
    struct rps_import_entity *entity;
};

struct rps_import_reading {
    struct rps_import_builder *builder;
    char separator;
    struct rps_import_times times;
    size_t table_count;
    struct rps_import_table **table, *now; /* table of the last header, or row */
    const char *stamp;                     /* the last line that is a time; NULL: none */
    char stamp_text[64];
    size_t section;                       /* counts headers and lines with a time */
    int is_known;                         /* 1: the first rows were read */
    int64_t unit_ns;                      /* of times that are numbers; 0: unknown so far */
    int is_moment;                        /* 1: times are not numbers */
    int64_t zero_ns;                      /* the time of the run's start */
    int64_t first_ns;                     /* length of the first row */
    int64_t interval_ns, interval_end_ns; /* the latest interval of all CPUs */
    /* the period that was begun */
    uint64_t interval; /* its number, from 1; 0: none */
    int32_t cpu;
    int64_t end_ns;
    uint8_t taken[RPS_IMPORT_COLUMNS_MAX]; /* columns of the builder used by a table */
};

/* --- the text (import_table.c) ---------------------------------------------------------------- */

int rps_import_is_value(enum rps_cells kind);

/* Return the kind for "time", "cpu", ...; RPS_CELLS: unknown. */
enum rps_cells rps_import_find_cells(const char *name);

/* Return 1 if blanks separate cells. */
int rps_import_has_words(const struct rps_import_reading *reading);

/* Do the same as rps_csv_cell, also for a number followed by a unit: *ret_unit, or "". */
int rps_import_number(const struct rps_import_reading *reading, const char *cell, double *ret,
                      const char **ret_unit);

/* Parse "3", "cpu3", "all", "-1": 1 and *ret. */
int rps_import_cpu(const char *text, int32_t *ret);
int rps_import_is_all_cpus(const char *cell);

/* Copy a name; if it is not UTF-8, it is read as the encoding of spreadsheets on Windows. */
char *rps_import_keep_name(const struct rps_import_reading *reading, const char *name);

/* Return the header's name, or "column 3", in ret. */
const char *rps_import_column_name(const struct rps_import_table *table, size_t c,
                                   char ret[RPS_IMPORT_TEXT_SIZE]);

/* Read the next row of a table, reading->now: 1, 0 at the end, negative. */
int rps_import_next_row(struct rps_import_reading *reading, char *const **ret_cell,
                        struct rps_error *err);

/* Find the time of the row: 1, 0 if it has none, negative. */
int rps_import_row_time(struct rps_import_reading *reading, char *const *cell, int64_t *ret_ns,
                        struct rps_error *err);

/* Go to the beginning of the file. */
int rps_import_begin_again(struct rps_import_reading *reading, struct rps_error *err);

/* --- the meaning (import_look.c) -------------------------------------------------------------- */

/* Find the meaning of the file from its first rows and the map, and go to its beginning again. */
int rps_import_find_out(struct rps_import_reading *reading, const char *map, struct rps_error *err);

/* Return 1 if numbers are at least as many as words. */
int rps_import_is_numeric(const struct rps_import_table_column *column);

#endif
