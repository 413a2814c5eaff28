/*
 * Functions with which a reader of a foreign format makes a run from a file.
 *
 * The same function reads the file twice. First the builder only checks: it finds the columns and
 * CPUs, and any errors, so that a refused file leaves nothing in the store. Then it writes. A
 * reader therefore makes the same calls both times, and keeps nothing from the first.
 */
#ifndef RPISTAT_EXCHANGE_IMPORT_BUILD_H
#define RPISTAT_EXCHANGE_IMPORT_BUILD_H

#include <stdint.h>
#include <stdio.h>

#include "rpistat/error.h"
#include "rpistat/import.h"
#include "rpistat/run.h"

struct rps_import_builder;

enum rps_import_kind {
    RPS_IMPORT_COUNT, /* events since the previous period */
    RPS_IMPORT_CLOCK, /* CPU time in ns since then: task-clock; the run's clock event. Without one
                         it is the elapsed time */
    RPS_IMPORT_GAUGE, /* a value that is not a count: a ratio, a temperature. Over a time range it
                         is the mean by time. The count value x seconds in millionths is stored, and
                         a metric of the column's name divides it again */
};

struct rps_import_column {
    const char *name;  /* as in the file; converted to a name for formulas, different from all
                          others */
    const char *unit;  /* "", "ns", "%"; of a gauge's metric */
    const char *panel; /* columns with the same panel are drawn together; "": alone */
    enum rps_import_kind kind;
};

/* Find the column of that name (and kind), or add it: *ret, from 0. RPS_FAILED for more than
 * RPS_IMPORT_COLUMNS_MAX. */
int rps_import_column(struct rps_import_builder *builder, const struct rps_import_column *column,
                      int *ret, struct rps_error *err);

/* Note that, according to the file, the column cannot be counted. Without any values, the plan has
 * an event of that state. */
int rps_import_unsupported(struct rps_import_builder *builder,
                           const struct rps_import_column *column, struct rps_error *err);

/* Return the run. The reader may fill in data of the file: command, start_realtime_ns, host,
 * cpu_model, ... Only before the first period. */
struct rps_run *rps_import_run(struct rps_import_builder *builder);

/* Set the file's name for its time, for exports. With is_moment 1 it is a date or a time of day,
 * not a number. `time_of_day_ns` is the start of the run if the file has no day, otherwise -1. */
void rps_import_time_column(struct rps_import_builder *builder, const char *name, int is_moment,
                            int64_t time_of_day_ns);

/* Begin a period of a CPU (or RPS_CPU_ALL) from start_ns, since the run's start, for length_ns
 * above 0. RPS_FAILED, with the line, if it begins before the end of the CPU's last one; a later
 * start leaves a gap. */
int rps_import_begin_period(struct rps_import_builder *builder, int32_t cpu, int64_t start_ns,
                            int64_t length_ns, struct rps_error *err);

/*
 * Set a column's value in the current period; a column without a value was not counted. The times
 * enabled_ns and running_ns are those in which it could be counted and was counted; -1: unknown, so
 * the whole period. A count is stored unchanged. If the other tool scaled it (perf does), it must
 * be the estimate for the whole time. With running_ns 0 the column was not counted. RPS_FAILED,
 * with the line: the value is not finite, or a count is below 0 or at least 2^63.
 */
int rps_import_value(struct rps_import_builder *builder, int column, double value,
                     int64_t enabled_ns, int64_t running_ns, struct rps_error *err);
/* Set an exact count in the same way. */
int rps_import_count(struct rps_import_builder *builder, int column, uint64_t count,
                     int64_t enabled_ns, int64_t running_ns, struct rps_error *err);

int rps_import_end_period(struct rps_import_builder *builder, struct rps_error *err);

/* Add a note for the user; printed once, when the builder checks. */
void rps_import_note(const struct rps_import_builder *builder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Return RPS_FAILED, with "FILE, line N: " before the printf-style sentence, or "FILE: " before the
 * first line was read. */
int rps_import_refuse(struct rps_import_builder *builder, struct rps_error *err, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));

/* Read the next row of the file, as rps_csv_rows_next. A last line without a newline may be
 * truncated: it is left out, with a note. */
int rps_import_cells(struct rps_import_builder *builder, char separator, char *const **ret_cell,
                     size_t *ret_count, struct rps_error *err);

/* Convert the digits of text, with `mark` before the fraction, times `unit` (a power of ten),
 * exactly: a time in ns from seconds. 1, or 0 for other text. The rest below 1 is cut off. */
int rps_import_decimal(const char *text, char mark, int64_t unit, int64_t *ret);

/* Return the beginning of the file, as passed to a format's recognises(). */
const char *rps_import_head(const struct rps_import_builder *builder);

/* A format: a const row in a file of its own, and of RPS_IMPORT_FORMATS. */
struct rps_import_format {
    const char *name; /* "perf-csv" */
    /* Return 1 if the file looks like it: `head` is its beginning, up to 64 KiB, terminated. */
    int (*recognises)(const char *head);
    /* Read the whole file, and pass its contents to the builder. 0 or negative. */
    int (*read)(struct rps_import_builder *builder, const struct rps_import_options *options,
                struct rps_error *err);
};

#define RPS_IMPORT_DECLARE(object, name, help)                                                     \
    extern const struct rps_import_format rps_import_##object;
RPS_IMPORT_FORMATS(RPS_IMPORT_DECLARE)

/* Strict conversions of cells to numbers, for readers of other tools' tables. 1, or 0 for an
 * invalid cell. */

/* A finite number, also with a decimal comma. */
int rps_cell_number(const char *cell, double *ret);
/* A whole number, also as "12.000". */
int rps_cell_count(const char *cell, uint64_t *ret);
/* Seconds, "0.100229166", converted exactly. */
int rps_cell_seconds(const char *cell, int64_t *ret_ns);

/* Return RPS_FAILED with the line, for a cell that is not a number. */
int rps_cell_refuse(struct rps_import_builder *builder, const char *what, const char *cell,
                    struct rps_error *err);

/* Return the first line of the beginning that is neither empty nor a comment, or "". */
const char *rps_import_first_row(const char *head);
/* Copy the rest of the line after `mark` in the comments before it: 1 and ret, or 0. */
int rps_import_comment(const char *head, const char *mark, char *ret, size_t size);
/* Return the separator between the first and the second cell of a row, or 0. */
char rps_import_separator(const char *row);
/* Split that row into cells to recognise it, as if nothing in it were quoted. Returns their number;
 * 0 if the row is longer than `text`. */
size_t rps_import_split(const char *row, char *text, size_t size, char **ret, size_t max);

/* --- times in other tools' tables, as text ---------------------------------------------------- */

/* Limits of times and rows' lengths, so that their sums and differences fit. */
#define RPS_IMPORT_TIME_MAX_NS   INT64_C(4000000000000000000)
#define RPS_IMPORT_LENGTH_MAX_NS INT64_C(1000000000000000000)

/* Numbers from here on are seconds since 1970, then milliseconds, microseconds, nanoseconds. */
#define RPS_IMPORT_EPOCH_S 1e8

/* The format of times in a file. */
struct rps_import_times {
    char decimal;
    int64_t last_ns; /* the previous one: times of day continue after midnight */
};

/* Convert a moment, or a number of `unit_ns`, to ns: 1; 0 for other text. */
int rps_import_time(const struct rps_import_times *times, const char *cell, int64_t unit_ns,
                    int64_t *ret_ns);

/* Do the same for a line with nothing but a time, as iostat writes it. The date is ignored if it is
 * 5 November in one country and 11 May in another; the result is then a time of day. */
int rps_import_stamp(const struct rps_import_times *times, const char *cell, int64_t *ret_ns);

/* Return 1 for 05/11/2026, whose meaning depends on the country. */
int rps_import_is_ambiguous(const char *cell);

/* Return the unit at the end of a name, "time_ms", "Time (us)", or the whole name; in ns, 0:
 * none. */
int64_t rps_import_time_unit(const char *name);

/* Return the day that sar and pidstat print above a table as 2026-11-23 (S_TIME_FORMAT=ISO), in ns
 * of Unix time; -1: none. `head` is the beginning of the file. */
int64_t rps_import_day(const char *head);

#endif
