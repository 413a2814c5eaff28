/* Tables of other tools, as import_csv.c reads them: what stands in the file, and what it is. */
#ifndef RPISTAT_EXCHANGE_IMPORT_TABLE_H
#define RPISTAT_EXCHANGE_IMPORT_TABLE_H

#include <stddef.h>

#include "import_parts.h"
#include "import_build.h"

#define RPS_IMPORT_TEXT_SIZE 200

/* Behind a cell that is refused as a time. */
#define RPS_IMPORT_AMBIGUOUS                                                                       \
    "may have the day first or the month: write 2026-11-21 14:00:00 or 21.11.2026 14:00:00"

/* What the cells of a column are. */
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
    char cell_unit[32]; /* behind the numbers: "35 %" */
    char panel[100];
    enum rps_cells kind, mapped, said; /* said: in the header */
    /* of the first rows */
    int numbers, words, times, cpus, starts_with_word, is_all, varies;
    const char *first;     /* its cell in the first row; NULL before */
    const char *ambiguous; /* a date that is no time; NULL: none is */
};

/* Of whom a row is. */
struct rps_import_entity {
    const char *text;  /* "" where the table's rows are told apart by time and CPU alone */
    int *column;       /* of the builder, of each of the table's */
    uint64_t interval; /* number of the last one that it has a row in; 0: none */
};

/* What stands below a header. */
struct rps_import_table {
    size_t count;
    struct rps_import_table_column *column;
    int has_header, is_commented; /* a comment before the first row is the header */
    int has_clock;                /* sar's header has the time in place of a name */
    int time, day, cpu;           /* columns; -1: none; day: where `time` has no date */
    int has_processes;            /* its rows are of them, as pidstat prints them, */
    int has_several;              /* and of more than one */
    int is_keyed, adds;           /* 1: processes of one name are one, which was asked for */
    /* of the first rows */
    int rows, descends, repeats; /* 1: a time is none later; it is the same, and the CPU */
    int64_t last_ns;
    int32_t last_cpu;
    size_t section; /* that its last row is in; 0: it had none */
    size_t entity_count;
    struct rps_import_entity *entity;
};

struct rps_import_reading {
    struct rps_import_builder *builder;
    char separator;
    struct rps_import_times times;
    size_t table_count;
    struct rps_import_table **table, *now; /* the one that the last header, or row, is of */
    const char *stamp;                     /* the last line that is a time; NULL: none was */
    char stamp_text[64];
    size_t section;                       /* counts headers and such lines */
    int is_known;                         /* 1: the first rows were looked at */
    int64_t unit_ns;                      /* of times that are numbers; 0: not known yet */
    int is_moment;                        /* 1: times are no numbers */
    int64_t zero_ns;                      /* the time that is 0 in the run */
    int64_t first_ns;                     /* length of the first row */
    int64_t interval_ns, interval_end_ns; /* the latest one of all CPUs */
    /* the period that was begun */
    uint64_t interval; /* its number, from 1; 0: none was */
    int32_t cpu;
    int64_t end_ns;
    uint8_t taken[RPS_IMPORT_COLUMNS_MAX]; /* columns of the builder that are a table's */
};

/* --- what stands there (import_table.c) -------------------------------------------------------- */

int rps_import_is_value(enum rps_cells kind);

/* "time", "cpu", ...; RPS_CELLS: there is no such kind. */
enum rps_cells rps_import_find_cells(const char *name);

/* 1: blanks stand between cells. */
int rps_import_has_words(const struct rps_import_reading *reading);

/* As rps_csv_cell, of a number with a unit behind it, too: *ret_unit, or "". */
int rps_import_number(const struct rps_import_reading *reading, const char *cell, double *ret,
                      const char **ret_unit);

/* "3", "cpu3", "all", "-1": 1 and *ret. */
int rps_import_cpu(const char *text, int32_t *ret);
int rps_import_is_all_cpus(const char *cell);

/* A name, copied; where it is not UTF-8 it is taken for what spreadsheets write on Windows. */
char *rps_import_keep_name(const struct rps_import_reading *reading, const char *name);

/* By the header, or "column 3". Returns ret. */
const char *rps_import_column_name(const struct rps_import_table *table, size_t c,
                                   char ret[RPS_IMPORT_TEXT_SIZE]);

/* The next row of a table, reading->now: 1, 0 at the end, negative. */
int rps_import_next_row(struct rps_import_reading *reading, char *const **ret_cell,
                        struct rps_error *err);

/* The time of the row: 1, 0 where it has none, negative. */
int rps_import_row_time(struct rps_import_reading *reading, char *const *cell, int64_t *ret_ns,
                        struct rps_error *err);

/* Go to the beginning of the file. */
int rps_import_begin_again(struct rps_import_reading *reading, struct rps_error *err);

/* --- what it is (import_look.c) ------------------------------------------------------------------ */

/* What the file is, by its first rows and the map; then it is at its beginning again. */
int rps_import_find_out(struct rps_import_reading *reading, const char *map, struct rps_error *err);

/* 1: numbers are no fewer than words. */
int rps_import_is_numeric(const struct rps_import_table_column *column);

#endif
