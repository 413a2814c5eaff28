/*
 * Sheets: rows of separated cells written to a stream, for the exports (RFC 4180 and its
 * relatives), or of JSON, an object a line.
 *
 * A cell is one call; the writer puts the separators and line ends. The first row are the names of
 * the columns, which JSON has in every line. Nothing is checked: a failed write is the stream's to
 * tell.
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
    int json;       /* 1: an object a line, with the names and cells of a row, in place of CSV */
};

struct rps_csv_writer {
    FILE *out; /* the caller's */
    char separator, decimal;
    int crlf;
    int row_begun; /* a cell was written in this row */

    struct rps_json json; /* its stream is NULL: CSV */
    struct rps_arena *arena;
    const char **name;            /* of the columns */
    size_t name_count, next_name; /* next_name: that of the next cell */
    int head_done;

    size_t used;
    char buffer[RPS_CSV_WRITER_BUFFER_SIZE];
};

/*
 * Begin a file on `out`; names of columns lie in the arena. RPS_USAGE for a separator or decimal
 * sign that would make the numbers unreadable (a digit, a quote, a sign, a line end, or both the
 * same).
 */
int rps_csv_begin(struct rps_arena *arena, struct rps_csv_writer *csv, FILE *out,
                  const struct rps_csv_dialect *dialect, struct rps_error *err);

void rps_csv_uint64(struct rps_csv_writer *csv, uint64_t value);
void rps_csv_int64(struct rps_csv_writer *csv, int64_t value);

/* ns as seconds, always with nine decimals: the exact value can be read back. */
void rps_csv_seconds(struct rps_csv_writer *csv, int64_t ns);

/* Nine significant digits; a value that is not finite gives an empty cell. */
void rps_csv_double(struct rps_csv_writer *csv, double value);
/* The same in up to 15, as many as any decimal keeps in a double. */
void rps_csv_exact(struct rps_csv_writer *csv, double value);

void rps_csv_empty(struct rps_csv_writer *csv);

/*
 * Text, quoted where it needs to be. Text that a spreadsheet would take for a formula (it begins
 * with = + - @, a tab or a carriage return) gets an apostrophe in front and stays text.
 */
void rps_csv_text(struct rps_csv_writer *csv, const char *text);

void rps_csv_end_row(struct rps_csv_writer *csv);

/* End the first row. */
void rps_csv_end_head(struct rps_csv_writer *csv);

/* Hand what is left to the stream. */
void rps_csv_flush(struct rps_csv_writer *csv);

#endif
