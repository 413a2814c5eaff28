/*
 * What a reader of a foreign format calls to make a run of a file.
 *
 * The file is read twice, by the same function: first the builder only looks, at which columns and
 * CPUs there are and whether everything is right, so that a file that is refused leaves nothing in
 * the store; then it writes. A reader therefore says the same things both times, and keeps nothing
 * of the first.
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
    RPS_IMPORT_COUNT, /* events since the period before */
    RPS_IMPORT_CLOCK, /* CPU time in ns since then: task-clock; the run's clock event. Without one
                         it is the elapsed time */
    RPS_IMPORT_GAUGE, /* a value that is no count: a ratio, a temperature. Over any stretch it is
                         the mean by time: it is kept as the count value x seconds in millionths,
                         with a metric of the column's name that divides it again */
};

struct rps_import_column {
    const char *name;  /* as in the file; made a name that formulas can use, and told apart from
                          others that become the same */
    const char *unit;  /* "", "ns", "%"; of a gauge it is the metric's */
    const char *panel; /* what is drawn together; "" alone */
    enum rps_import_kind kind;
};

/* The column of that name (and of that kind), added when it is new: *ret, from 0. RPS_FAILED
 * for more than RPS_IMPORT_COLUMNS_MAX. */
int rps_import_column(struct rps_import_builder *builder, const struct rps_import_column *column,
                      int *ret, struct rps_error *err);

/* The file says that the column cannot be counted; where nothing else of it comes, the plan has an
 * event of that state. */
int rps_import_unsupported(struct rps_import_builder *builder,
                           const struct rps_import_column *column, struct rps_error *err);

/* The run, of which the reader may fill what the file says: command, start_realtime_ns, host,
 * cpu_model, ... Only before the first period. */
struct rps_run *rps_import_run(struct rps_import_builder *builder);

/* What the file calls its time, for exports; is_moment: a date or a time of the day, and no number.
 * time_of_day_ns: when the run begins, of a file that does not say on which day; -1: of others. */
void rps_import_time_column(struct rps_import_builder *builder, const char *name, int is_moment,
                            int64_t time_of_day_ns);

/* Begin a period of a CPU (or RPS_CPU_ALL) that lasted from start_ns, since the run's start, for
 * length_ns above 0. RPS_FAILED, with the line, when it begins before the CPU's last one ended; a
 * later beginning leaves a gap. */
int rps_import_begin_period(struct rps_import_builder *builder, int32_t cpu, int64_t start_ns,
                            int64_t length_ns, struct rps_error *err);

/*
 * What a column had in the period that was begun; a column that is not said was not counted.
 * enabled_ns and running_ns are the time that it could be counted and that in which it was; -1:
 * not known, as the period's length, all of it. A count is taken as it is, so it must be the file's
 * estimate of all the time where the other tool scaled it (perf does): the times say in the run how
 * much of it was counted. With running_ns 0 the column was not counted. A value that is no finite
 * number, or a count below 0 or from 2^63 on, is RPS_FAILED with the line.
 */
int rps_import_value(struct rps_import_builder *builder, int column, double value,
                     int64_t enabled_ns, int64_t running_ns, struct rps_error *err);
/* The same of a count that is exact. */
int rps_import_count(struct rps_import_builder *builder, int column, uint64_t count,
                     int64_t enabled_ns, int64_t running_ns, struct rps_error *err);

int rps_import_end_period(struct rps_import_builder *builder, struct rps_error *err);

/* Something the user should know; said once, when the builder looks. */
void rps_import_note(const struct rps_import_builder *builder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* RPS_FAILED, with "FILE, line N: " before the printf-style sentence, or "FILE: " before the first
 * line was read. */
int rps_import_refuse(struct rps_import_builder *builder, struct rps_error *err, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));

/* The next row of the file, as rps_csv_rows_next. A last line without an end may be cut off: it is left
 * out, with a note. */
int rps_import_cells(struct rps_import_builder *builder, char separator, char *const **ret_cell,
                     size_t *ret_count, struct rps_error *err);

/* The digits of text, with `mark` before a part, times `unit` (a power of ten), exactly: a time in
 * ns of seconds. 1, or 0 for other text. What is finer than 1 is cut off. */
int rps_import_decimal(const char *text, char mark, int64_t unit, int64_t *ret);

/* The beginning of the file, as a format's recognises() is given it. */
const char *rps_import_head(const struct rps_import_builder *builder);

/* A format: a const row in a file of its own, and of RPS_IMPORT_FORMATS. */
struct rps_import_format {
    const char *name; /* "perf-csv" */
    /* 1 when the file looks like it: `head` is its beginning, up to 64 KiB, terminated. */
    int (*recognises)(const char *head);
    /* Read the whole file, and say what is in it. 0 or negative. */
    int (*read)(struct rps_import_builder *builder, const struct rps_import_options *options,
                struct rps_error *err);
};

#define RPS_IMPORT_DECLARE(object, name, help)                                                     \
    extern const struct rps_import_format rps_import_##object;
RPS_IMPORT_FORMATS(RPS_IMPORT_DECLARE)

/* What readers of other tools' tables share: cells as numbers, strictly. 1, or 0 when the cell is
 * none. */

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

/* --- times in other tools' tables, as text ---------------------------------------------------- */

/* No time can be later, and no row as long, so that their sums and differences fit. */
#define RPS_IMPORT_TIME_MAX_NS   INT64_C(4000000000000000000)
#define RPS_IMPORT_LENGTH_MAX_NS INT64_C(1000000000000000000)

/* Numbers from here on are seconds since 1970, then milliseconds, microseconds, nanoseconds. */
#define RPS_IMPORT_EPOCH_S 1e8

/* How a file writes times. */
struct rps_import_times {
    char decimal;
    int64_t last_ns; /* the one that was read before: times of a day go on past midnight */
};

/* 1 and a time in ns: of a moment, or a number of `unit_ns`; 0 for other text. */
int rps_import_time(const struct rps_import_times *times, const char *cell, int64_t unit_ns,
                    int64_t *ret_ns);

/* The same of a line that has nothing else, as iostat writes it. A date that is 5 November in one
 * country and 11 May in the next is left out: then it is a time of day. */
int rps_import_stamp(const struct rps_import_times *times, const char *cell, int64_t *ret_ns);

/* 1 for 05/11/2026, which is one day in one country, and another in the next. */
int rps_import_is_ambiguous(const char *cell);

/* The unit that stands at the end of a name, "time_ms", "Time (us)", or is the whole of it; in ns,
 * 0: none does. */
int64_t rps_import_time_unit(const char *name);

/* The day that sar and pidstat name above a table as 2026-11-23 (S_TIME_FORMAT=ISO), in ns of Unix
 * time; -1: none. `head` is the beginning of the file. */
int64_t rps_import_day(const char *head);

#endif
