/* A writer of tables for the exports. Each row is a line of separated cells (RFC 4180 and similar
 * formats) or a JSON object.
 *
 * One call writes one cell; the writer adds separators and line ends. In CSV, the first row has the
 * names of the columns. In JSON, every line has these names. The writer does not check for write
 * errors; the caller checks the stream. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "rpistat/error.h"
#include "rpistat/json.h"

#define RPS_CSV_WRITER_BUFFER_SIZE 65536

struct rps_csv_dialect {
    char separator; /* Separator of cells, usually ',' */
    char decimal;   /* Decimal mark, usually '.' */
    int crlf;       /* 1: lines end with CR LF */
    int bom;        /* 1: the file begins with a UTF-8 byte order mark */
    int json;       /* 1: write one JSON object per line, with column names and cells */
};

struct rps_csv_writer {
    FILE *out; /* Output stream of the caller */
    char separator, decimal;
    int crlf;
    int row_begun; /* 1 if the current row has a cell */

    struct rps_json json; /* JSON writer, whose stream is NULL for CSV */
    struct rps_arena *arena;
    const char **name;            /* Names of the columns */
    size_t name_count, next_name; /* Number of columns, and index of the column of the next cell */
    int head_done;

    size_t used;
    char buffer[RPS_CSV_WRITER_BUFFER_SIZE];
};

/* Begin a file on `out`; column names are in the arena. Return RPS_USAGE if numbers would be
 * unreadable: the separator or decimal mark is a digit, quote, sign or line end, or both equal. */
int rps_csv_begin(struct rps_arena *arena, struct rps_csv_writer *csv, FILE *out,
                  const struct rps_csv_dialect *dialect, struct rps_error *err);

void rps_csv_uint64(struct rps_csv_writer *csv, uint64_t value);
void rps_csv_int64(struct rps_csv_writer *csv, int64_t value);

/* Write ns as seconds with nine decimals, so that readers get the exact value. */
void rps_csv_seconds(struct rps_csv_writer *csv, int64_t ns);

/* Write nine significant digits, or an empty cell if the value is not finite. */
void rps_csv_double(struct rps_csv_writer *csv, double value);
/* Write up to 15 digits, because a double keeps 15 digits of any decimal number. */
void rps_csv_exact(struct rps_csv_writer *csv, double value);

void rps_csv_empty(struct rps_csv_writer *csv);

/* SAFETY: write text, quoted where necessary. A spreadsheet runs text as a formula if it begins
 * with = + - @, tab or carriage return. An apostrophe in front of the text prevents this. */
void rps_csv_text(struct rps_csv_writer *csv, const char *text);

void rps_csv_end_row(struct rps_csv_writer *csv);

/* End the first row, which has the names of the columns. */
void rps_csv_end_head(struct rps_csv_writer *csv);

/* Write buffered text to the stream. */
void rps_csv_flush(struct rps_csv_writer *csv);
