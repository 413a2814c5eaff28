/*
 * The rows of an SQLite file, read page by page without SQLite: for a file so damaged that SQLite
 * does not find them any more. The file and its write-ahead log are only read.
 *
 * Format: https://www.sqlite.org/fileformat2.html
 */
#ifndef RPISTAT_STORE_PAGES_H
#define RPISTAT_STORE_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

struct rps_pages;

enum rps_value_kind {
    RPS_VALUE_NULL,
    RPS_VALUE_INTEGER,
    RPS_VALUE_REAL,
    RPS_VALUE_TEXT,
    RPS_VALUE_BLOB,
};

struct rps_value {
    enum rps_value_kind kind;
    int64_t integer;
    double real;
    const char *text; /* of TEXT and BLOB: length bytes, not terminated, borrowed */
    size_t length;
};

/* More than any table of a store has columns. */
#define RPS_RECORD_MAX 64

struct rps_record {
    int is_index;  /* 1: of an index or a table WITHOUT ROWID; 0: of another table */
    int64_t rowid; /* of the latter */
    int count;
    struct rps_value value[RPS_RECORD_MAX];
};

/* RPS_FAILED when the file cannot be opened or is too short to hold anything. */
int rps_pages_open(struct rps_pages **ret, const char *path, struct rps_error *err);
void rps_pages_close(struct rps_pages *pages);

/*
 * The next record that can be read, of any table, in no order; pages that the file gives as free
 * are left out. 1 and *ret, which is valid until the next call; 0 at the end; RPS_FAILED without
 * memory. What cannot be read is passed over.
 */
int rps_pages_next(struct rps_pages *pages, struct rps_record *ret, struct rps_error *err);

/* After the end: pages that could not be read or made sense of, in whole or in part. */
uint64_t rps_pages_damaged(const struct rps_pages *pages);

#endif
