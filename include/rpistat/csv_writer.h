/*
 * Sheets: rows of separated cells for the exports (RFC 4180 and its relatives), or rows of JSON,
 * one object per line.
 *
 * One call writes one cell; the writer adds separators and line ends. The first row has the names
 * of the columns, which JSON has in every line. Write errors are not checked: check the stream.
 */
#ifndef RPISTAT_CSV_WRITER_H
#define RPISTAT_CSV_WRITER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"
#include "rpistat/json.h"

#define RPS_CSV_WRITER_BUFFER_SIZE 65536

struct rps_csv_dialect {
    char separator; /* ',' */
    char decimal;   /* '.' */
    int crlf;       /* 1: lines end in CR LF */
    int bom;        /* 1: a UTF-8 byte order mark first */
    int json;       /* 1: one object per line, with the names and cells of a row, in place of CSV */
};

struct rps_csv_writer {
    FILE *out; /* the caller's */
    char separator, decimal;
    int crlf;
    int row_begun; /* a cell was written in this row */

    struct rps_json json; /* its stream is NULL: CSV */
    struct rps_arena *arena;
    const char **name;            /* of the columns */
    size_t name_count, next_name; /* next_name: index for the next cell */
    int head_done;

    size_t used;
    char buffer[RPS_CSV_WRITER_BUFFER_SIZE];
};

/*
 * Begin a file on `out`; column names are in the arena. Return RPS_USAGE for a separator or decimal
 * sign that makes numbers unreadable: a digit, a quote, a sign, a line end, or both the same.
 */
int rps_csv_begin(struct rps_arena *arena, struct rps_csv_writer *csv, FILE *out,
                  const struct rps_csv_dialect *dialect, struct rps_error *err);

void rps_csv_uint64(struct rps_csv_writer *csv, uint64_t value);
void rps_csv_int64(struct rps_csv_writer *csv, int64_t value);

/* Write ns as seconds, always with nine decimals: the exact value can be read back. */
void rps_csv_seconds(struct rps_csv_writer *csv, int64_t ns);

/* Write nine significant digits; a value that is not finite gives an empty cell. */
void rps_csv_double(struct rps_csv_writer *csv, double value);
/* Write up to 15 digits, as many as a double keeps of any decimal. */
void rps_csv_exact(struct rps_csv_writer *csv, double value);

void rps_csv_empty(struct rps_csv_writer *csv);

/*
 * SAFETY: write text, quoted where necessary. A spreadsheet would take text that begins with = + -
 * @, a tab or a carriage return for a formula. Such text gets an apostrophe in front and stays
 * text.
 */
void rps_csv_text(struct rps_csv_writer *csv, const char *text);

void rps_csv_end_row(struct rps_csv_writer *csv);

/* End the first row. */
void rps_csv_end_head(struct rps_csv_writer *csv);

/* Write the buffered rest to the stream. */
void rps_csv_flush(struct rps_csv_writer *csv);

#endif
