/* Functions with which a reader of a foreign format makes a run from a file.
 *
 * The reader reads the file twice, with the same function. In the first pass the builder only finds
 * the columns, the CPUs and any errors, so that a refused file leaves nothing in the store. In the
 * second pass the builder writes. A reader therefore makes the same calls in both passes, and must
 * not keep data from the first pass. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "rpistat/error.h"
#include "rpistat/import.h"
#include "rpistat/run.h"

struct rps_import_builder;

enum rps_import_kind {
    RPS_IMPORT_COUNT, /* number of events since the previous period */
    RPS_IMPORT_CLOCK, /* CPU time in ns since the previous period (task-clock), used as the run's
                         clock event. Without such a column, the clock event is the elapsed time */
    RPS_IMPORT_GAUGE, /* a value that is not a count: a ratio, a temperature. The value for a
                         time range is the mean weighted by time. The store has value x seconds
                         as a whole number of millionths. A metric with the column's name divides
                         this count by the time */
};

struct rps_import_column {
    const char *name;  /* name in the file; becomes a unique name for formulas */
    const char *unit;  /* "", "ns" or "%"; unit of a gauge's metric */
    const char *panel; /* columns with the same panel are drawn together; "": alone */
    enum rps_import_kind kind;
};

/* Find the column with that name (and kind), or add it. *ret is the index of the column, from 0.
 * RPS_FAILED for more than RPS_IMPORT_COLUMNS_MAX columns. */
int rps_import_column(struct rps_import_builder *builder, const struct rps_import_column *column,
                      int *ret, struct rps_error *err);

/* Return the run. Before the first period, the reader may fill in data of the file: command,
 * start_realtime_ns, host, cpu_model, ... */
struct rps_run *rps_import_run(struct rps_import_builder *builder);

/* Begin a period of a CPU (or RPS_CPU_ALL). The period starts start_ns after the run's start, and
 * lasts length_ns, which is above 0. Returns RPS_FAILED, with the line, if the period begins before
 * the end of the CPU's last period. If the period begins after that end, there is a gap. */
int rps_import_begin_period(struct rps_import_builder *builder, int32_t cpu, int64_t start_ns,
                            int64_t length_ns, struct rps_error *err);

/* Set a column's value in the current period. A column without a value was not counted. enabled_ns
 * is the time in which the column could be counted, and running_ns is the time in which the column
 * was counted. A time of -1 (unknown) means the whole period. If running_ns is 0, the column was
 * not counted. A count is stored unchanged. If the other tool scaled the count, as perf does, the
 * count must be the estimate for the whole time. Returns RPS_FAILED, with the line, if the value is
 * not finite, or if a count is below 0 or at least 2^63. */
int rps_import_value(struct rps_import_builder *builder, int column, long double value,
                     int64_t enabled_ns, int64_t running_ns, struct rps_error *err);

int rps_import_end_period(struct rps_import_builder *builder, struct rps_error *err);

/* Add a note for the user. The note is printed only once, during the builder's first pass. */
void rps_import_note(const struct rps_import_builder *builder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Return RPS_FAILED. The message is "FILE, line N: " and a printf-style sentence. Before the first
 * line is read, the message is "FILE: " and the sentence. */
int rps_import_refuse(struct rps_import_builder *builder, struct rps_error *err, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));

/* Read the next row, as rps_csv_rows_next. A last line without a line end gives a note. It is left
 * out if it does not have `whole` cells (0: always). */
int rps_import_cells(struct rps_import_builder *builder, char separator, size_t whole,
                     char *const **ret_cell, size_t *ret_count, struct rps_error *err);

/* Convert a decimal number in text to an integer, exactly: the number times `unit`, a power of ten.
 * For example, convert seconds to ns. `mark` is the decimal mark. Returns 1, or 0 if the text is
 * not such a number. Digits below 1 are cut off. */
int rps_import_decimal(const char *text, char mark, int64_t unit, int64_t *ret);

/* A format: a const row in a file of its own, listed in RPS_IMPORT_FORMATS. */
struct rps_import_format {
    const char *name; /* name of the format: "perf-csv" */
    /* Return 1 if the file seems to have this format. `head` is the beginning of the file, up to 64
     * KiB, terminated. */
    int (*recognises)(const char *head);
    /* Read the whole file, and pass its contents to the builder. Returns 0 or a negative value. */
    int (*read)(struct rps_import_builder *builder, const struct rps_import_options *options,
                struct rps_error *err);
};

#define RPS_IMPORT_DECLARE(object, name, help)                                                     \
    extern const struct rps_import_format rps_import_##object;
RPS_IMPORT_FORMATS(RPS_IMPORT_DECLARE)

/* Strict conversions of other tools' cells to numbers. Each returns 1, or 0 for an invalid cell. */

/* Convert a finite number, which may have a decimal comma. */
int rps_cell_number(const char *cell, long double *ret);
/* Convert a whole number, which may also be written as "12.000". */
int rps_cell_count(const char *cell, uint64_t *ret);
/* Convert seconds such as "0.100229166" or "0,100229166" to ns, without rounding. */
int rps_cell_seconds(const char *cell, int64_t *ret_ns);

/* Return RPS_FAILED, with the line, for a cell that is not a number. */
int rps_cell_refuse(struct rps_import_builder *builder, const char *what, const char *cell,
                    struct rps_error *err);

/* Return the first line of the file's beginning that is neither empty nor a comment, or "". */
const char *rps_import_first_row(const char *head);
/* Find `mark` in the comments before the first row, and copy the rest of the comment's line.
 * Returns 1 and ret, or 0. */
int rps_import_comment(const char *head, const char *mark, char *ret, size_t size);

/* Set the run's start from the comment "# started on" of perf (import_perf.c). */
void rps_import_perf_start(struct rps_import_builder *builder);
/* Return the separator between the first and the second cell of a row, or 0. */
char rps_import_separator(const char *row);
/* Split the first row into cells, in order to recognise the format. Quotes in the row have no
 * effect. Returns the number of cells, or 0 if the row is longer than `text`. */
size_t rps_import_split(const char *row, char *text, size_t size, char **ret, size_t max);
