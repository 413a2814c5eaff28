/* Tables of other tools, as import_csv.c reads them: the text and the meaning of the file. */
#pragma once

#include <stddef.h>

#include "import_parts.h"
#include "import_times.h"

#define RPS_IMPORT_TEXT_SIZE 200

/* End of the message about a cell that is refused as a time. */
#define RPS_IMPORT_AMBIGUOUS                                                                       \
    "may have the day first or the month: write 2026-11-21 14:00:00 or 21.11.2026 14:00:00"

/* The kinds of cells in a column. */
#define RPS_IMPORT_KINDS "time, cpu, count, counter, clock, gauge, key, skip"
enum rps_cells {
    RPS_CELLS_NONE,
    RPS_CELLS_TIME,
    RPS_CELLS_CPU,
    RPS_CELLS_COUNT,
    RPS_CELLS_COUNTER, /* a running total */
    RPS_CELLS_CLOCK,
    RPS_CELLS_GAUGE,
    RPS_CELLS_KEY,
    RPS_CELLS_SKIP,
    RPS_CELLS
};

/* How successive values of a column change. */
struct rps_time_order {
    uint64_t count, rises, falls;
    double first, last; /* first and last value; for texts, in ns */
};

/* Statistics of a column's cells that are times as text. */
struct rps_time_stats {
    uint64_t parsed, failed, kinds[RPS_TIME_KINDS];
    uint64_t ambiguous, day_first, month_first, compact; /* compact: dates like 20260304 */
    int has_zone, is_single, is_wide, is_short;          /* zone's name; one digit before the colon
                                                   (9:55); first part above 24 (59:10); only two
                                                   parts */
    int has_leap_day; /* 1: a date without a year is February 29 */
    int has_offset;   /* 1: a cell has its own offset from UTC */
    int is_tolerant;  /* 1: --skip-bad is given, so up to half of the cells may be bad */
    int first;        /* hours of the first time */
    struct rps_time_order order[2]; /* with the day first; with the month first */
};

struct rps_import_table_column {
    char *header;         /* text in the header; without a header, in the first row */
    const char *name;     /* name in the header; "": none */
    const char *label;    /* the name, or a text such as "column 3" */
    const char *map_name; /* the name, or the column's number, as --map reads it */
    char unit[32];
    char cell_unit[32]; /* unit that follows the numbers in the cells, such as "%" in "35 %" */
    int is_scaled;      /* 1: values are converted to the base unit of their kind */
    char panel[100];
    enum rps_cells kind, mapped, said; /* kind in use; kind from the map; kind from the header */
    int is_metric;                     /* 1: --metric selects the column */
    int is_found; /* 1: the column is a running total by its name and values, not by the map */
    uint64_t numbers, words, missing;
    uint64_t packed; /* number of the first cells that may be times such as 235959 */
    int cpus, starts_with_word, is_all, varies, has_fraction;
    double first_value;    /* number in the row that may be the header; NaN: no number */
    const char *first;     /* cell in the first row; NULL before that row */
    const char *first_bad; /* first cell that is neither a number nor a time; NULL: none */
    struct rps_time_order order;
    struct rps_time_stats time;
    struct rps_time_format format;
};

/* The growth of a running total over several rows, of which only the last has a total. */
struct rps_import_fill {
    int64_t start_ns, end_ns;
    long double growth;
};

/* A running total of a process or device on a CPU. */
struct rps_import_total {
    long double last, most; /* last value; largest growth */
    int64_t last_ns;        /* end of the row with the last value; 0: none */
    uint64_t steps, rises, falls;
    size_t fill_count, next;
    struct rps_import_fill *fill;
};

/* The process or device of a row. */
struct rps_import_entity {
    const char *text; /* name; "" if rows of the table differ only in time and CPU */
    int *column;      /* for each column of the table: the column of the builder */
    size_t track_count;
    struct rps_import_total *total; /* for each CPU, one element per column of the table */
    uint64_t interval;              /* number of the latest interval with such a row; 0: none */
};

/* A table of the file, which begins with its header. */
struct rps_import_table {
    size_t count;
    struct rps_import_table_column *column;
    int has_header, is_commented;  /* is_commented: a comment before the first row is the header */
    int has_clock;                 /* 1: sar's header has a time where others have a name */
    int time, day, cpu, interval;  /* columns; -1: none; `day` is used if `time` has no date */
    struct rps_time_format format; /* format of the times */
    struct rps_time_order order;   /* order of the times */
    int is_export;                 /* 1: the table is an export of rpistat */
    int has_processes;             /* 1: each row is about a process, as pidstat prints it */
    int has_several;               /* 1: the rows belong to several processes */
    int is_keyed, adds;            /* adds: on request, processes with the same name are merged */
    uint64_t rows, repeats;        /* repeats: rows with the time and CPU of the row before */
    int descends;                  /* 1: some time is not later than the time before */
    int64_t last_ns;
    int32_t last_cpu;
    struct rps_import_keys *keys; /* columns of words that may be keys; NULL: none */
    size_t section;               /* section of the table's last row; 0: none */
    size_t entity_count;
    struct rps_import_entity *entity;
};

/* The distances between rows; see import_order.c. */
struct rps_import_order {
    int64_t *distance; /* distances in ns, in the arena */
    size_t count;
    int64_t median_ns;
    int is_regular;
    uint64_t holes, hole_line, backs, back_line;
    uint64_t same; /* number of rows with the time of the row before */
    int64_t hole_ns;
};

struct rps_import_reading {
    struct rps_import_builder *builder;
    const struct rps_import_options *options;
    char separator;
    struct rps_import_times times;
    size_t table_count;
    struct rps_import_table **table, *now; /* all tables; table of the last header or row */
    const char *stamp;                     /* last line that has only a time; NULL: none */
    char stamp_text[64];
    size_t section;      /* number of headers and of lines with only a time */
    int is_known;        /* 1: the columns are known */
    uint64_t first_line; /* line of the first row or of the header */
    struct rps_import_order order;
    int is_restart; /* 1: the machine was started between the last row and the next */
    uint64_t bad_cells, bad_rows;
    char footers[100]; /* list of the rows of totals that were left out */
    char own[2][24];   /* run and CPU of the last row of an export of rpistat */
    int64_t shift_ns;  /* time by which rows are moved later, because earlier times stepped back */
    int64_t zero_ns;   /* the time at which the run starts */
    int64_t first_ns;  /* length of the first row */
    int64_t interval_ns, interval_end_ns; /* start and end of the latest interval of any CPU */
    /* The period that has begun. */
    uint64_t interval; /* number of the period, from 1; 0: none */
    int32_t cpu;
    int64_t end_ns;
    int has_sparse_totals; /* 1: a running total may lack values, or has several per time */
    int had_dry_run;       /* 1: the growth of running totals over several rows is known */
    uint8_t *taken;        /* for each column of the builder: 1 if some table uses the column */
};

/* --- the text (import_table.c) ---------------------------------------------------------------- */

int rps_import_is_value(enum rps_cells kind);

/* Return the kind for a word such as "time" or "cpu"; RPS_CELLS_NONE: the word is unknown. */
enum rps_cells rps_import_find_cells(const char *name);

/* Return 1 if blanks separate cells. */
int rps_import_has_words(const struct rps_import_reading *reading);

/* Parse a CPU such as "3", "cpu3", "all" or "-1". Returns 1 and *ret, or 0. */
int rps_import_cpu(const char *text, int32_t *ret);
int rps_import_is_all_cpus(const char *cell);

/* Copy a name. A name that is not UTF-8 is read in the encoding of spreadsheets on Windows. */
char *rps_import_keep_name(const struct rps_import_reading *reading, const char *name);

/* Read a table's next row, and set reading->now. Returns 1, 0 at the end, or a negative value. */
int rps_import_next_row(struct rps_import_reading *reading, char *const **ret_cell,
                        struct rps_error *err);

/* Find the time of the row. Returns 1, 0 if the row has no time, or a negative value on error. With
 * --skip-bad, returns 2 if the time is invalid. */
int rps_import_row_time(struct rps_import_reading *reading, char *const *cell, int64_t *ret_ns,
                        struct rps_error *err);

/* Go to the beginning of the file. */
int rps_import_begin_again(struct rps_import_reading *reading, struct rps_error *err);

/* --- the column of times (import_time_column.c) ----------------------------------------------- */

void rps_time_add_order(struct rps_time_order *order, double value, int wraps);

/* Add a cell that may be a time to the statistics. */
void rps_time_look(struct rps_time_stats *stats, const char *cell);

/* Return 1 if the cells are times written as text. */
int rps_import_is_text_time(const struct rps_import_table_column *column);

/* Choose the table's columns of time and day, and their format. Returns RPS_FAILED if a column
 * looks like a time but cannot be used. */
int rps_import_choose_time(const struct rps_import_reading *reading, struct rps_import_table *table,
                           struct rps_error *err);

/* --- order and gaps (import_order.c) ---------------------------------------------------------- */

/* Find the median distance, and whether the distances are regular. */
void rps_order_end(struct rps_import_order *order);

/* Return the length of a row whose time is distance_ns after the last row. The length is less than
 * the distance if the row follows a gap. own_ns is the length according to the row; 0: unknown. */
int64_t rps_order_length(struct rps_import_order *order, int64_t distance_ns, int64_t own_ns,
                         int is_restart, uint64_t line);

/* Refuse a table in which many rows have the time of the row before. */
int rps_order_check(const struct rps_import_builder *builder, const struct rps_import_order *order,
                    uint64_t rows, struct rps_error *err);

/* Print a note about the gaps that were found. */
void rps_order_note(const struct rps_import_builder *builder, const struct rps_import_order *order);

/* Continue with a copy of the file in which the lines after line `after` are in reverse order. */
int rps_order_mirror(struct rps_import_builder *builder, uint64_t after, struct rps_error *err);

/* --- columns that tell rows apart (import_keys.c) --------------------------------------------- */

/* Return 1 for the column of the time, the date or the CPU. */
int rps_import_is_place(const struct rps_import_table *table, size_t c);

void rps_keys_begin(struct rps_arena *arena, struct rps_import_table *table);
/* Compare a row with the earlier rows of its time. is_same: the time is that of the last row. */
void rps_keys_look(struct rps_import_keys *keys, char *const *cell, int is_same);
/* Make columns keys. */
void rps_keys_choose(struct rps_import_table *table);

/* --- running totals (import_totals.c) --------------------------------------------------------- */

/* Return 1 for a running total. If the name ends in "_total" or contains "counter", the column may
 * decrease rarely, when a program restarts. Other columns must have "total" or "cumul" in their
 * names and increase in every row. */
int rps_total_is_growing(const char *name, uint64_t rises, uint64_t falls, uint64_t steps);

/* Return 1 if the growth is imported as a rate: the total has fractions or a scaled unit. */
int rps_total_is_rate(const struct rps_import_table_column *column);

/* Add a total of the current period. Returns 1 with its growth since the period before. Returns 0
 * if the growth is unknown or belongs to several periods. */
int rps_total_add(struct rps_import_reading *reading, struct rps_import_entity *entity, size_t c,
                  long double value, long double *ret_growth);

/* Pass the growth in the current period to the builder. `number` is the builder's column. */
int rps_total_put(const struct rps_import_reading *reading,
                  const struct rps_import_table_column *column, int number, long double growth,
                  struct rps_error *err);

/* Pass the period's shares of growth over several periods to the builder. */
int rps_totals_end_period(const struct rps_import_reading *reading, struct rps_error *err);

/* After the dry run, return 1 if a column's totals grow. */
int rps_total_grows(const struct rps_import_table *table, size_t c);

/* --- the meaning (import_look.c) -------------------------------------------------------------- */

/* Find the meaning of the file from the map and its first rows, and go back to its beginning. */
int rps_import_find_out(struct rps_import_reading *reading, struct rps_error *err);

/* Return 1 if the column's cells are numbers at least as often as words. */
int rps_import_is_numeric(const struct rps_import_table_column *column);
