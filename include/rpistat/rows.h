/*
 * What a command says, for programs: tables of named values, as JSON (an object that holds the
 * tables and what else there is to say) or as CSV (one table: the names, and a line a row). A row
 * is written once for both, into memory: what fails on the way leaves no half of an object behind.
 * Numbers are in the C locale, which the caller leaves in force.
 */
#ifndef RPISTAT_ROWS_H
#define RPISTAT_ROWS_H

#include <stdint.h>
#include <stdio.h>

#include "rpistat/error.h"
#include "rpistat/interval.h"
#include "rpistat/json.h"
#include "rpistat/run.h"

enum rps_format {
    RPS_FORMAT_TEXT,
    RPS_FORMAT_JSON,
    RPS_FORMAT_CSV,
    RPS_FORMAT_MARKDOWN, /* documents alone have this and what follows */
};

struct rps_csv_writer;

struct rps_rows {
    struct rps_json *json; /* NULL: CSV. For what is not a flat row, which a CSV does not have */
    struct rps_json to;    /* all is written to to.out */
    FILE *out;             /* at last */
    struct rps_csv_writer *csv; /* owned */
    int in_row;
    int naming; /* names are written, and no values */
};

/* Begin, with JSON's outer object. RPS_FAILED without memory, when there is nothing to close. */
int rps_rows_open(struct rps_rows *rows, FILE *out, enum rps_format format, struct rps_error *err);

/*
 * Begin a table, which is an array of JSON by that name. 1: this is CSV, and the first row that is
 * written, whatever its values, gives the names.
 */
int rps_rows_begin(struct rps_rows *rows, const char *name);
void rps_rows_end(struct rps_rows *rows);

/* A row of the table, with its values in between. Values outside of rows are JSON's alone. */
void rps_rows_row(struct rps_rows *rows);
void rps_rows_end_row(struct rps_rows *rows);

/* What is not known is null in JSON and an empty cell in CSV: NULL and "", numbers that are not
 * finite, and what `known` (0 or 1) says so of. */
void rps_rows_text(struct rps_rows *rows, const char *name, const char *text);
void rps_rows_int(struct rps_rows *rows, const char *name, int64_t value, int known);
void rps_rows_uint(struct rps_rows *rows, const char *name, uint64_t value, int known);
void rps_rows_double(struct rps_rows *rows, const char *name, double value);
void rps_rows_bool(struct rps_rows *rows, const char *name, int value, int known);
/* ns as seconds, all digits that count. */
void rps_rows_seconds(struct rps_rows *rows, const char *name, int64_t ns, int known);
/* Wall-clock time, ISO 8601 in UTC. */
void rps_rows_time(struct rps_rows *rows, const char *name, int64_t realtime_ns, int known);
/* The values low, high, certainty and share of an estimate. */
void rps_rows_interval(struct rps_rows *rows, const struct rps_interval *interval);

/* Stretch [start_ns, end_ns) of a run: start_s, end_s, and the wall-clock times start and end,
 * which the run's start and the time since then come to. */
void rps_rows_stretch(struct rps_rows *rows, const struct rps_run *run, int64_t start_ns,
                      int64_t end_ns);

/*
 * End JSON's outer object, hand all to the stream, which is to be asked whether it could be
 * written, and release what is owned. Unless result is negative: then nothing is written. Returns
 * result, or RPS_FAILED without memory.
 */
int rps_rows_close(struct rps_rows *rows, int result, struct rps_error *err);

#endif
