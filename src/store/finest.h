/*
 * The finest rows that are left of a run, in order: periods, and blocks where periods were thinned
 * away. For those who want all rows, also the ones that a cursor refuses or passes over.
 */
#ifndef RPISTAT_STORE_FINEST_H
#define RPISTAT_STORE_FINEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "rpistat/period.h"

/* A period, or the rows of a block together. */
struct rps_piece {
    int level;
    int64_t cpu;
    uint32_t set_no;                  /* of its first row */
    uint64_t first, last;             /* numbers of its periods */
    uint64_t rotation, last_rotation; /* of the first and the last */
    uint64_t cycle, cycles;           /* timestamp at the end, and the sum */
    uint64_t periods;                 /* that it stands for */
    int64_t start_ns, end_ns, switch_ns;
    const struct rps_period *row; /* until the next one is read */
    size_t count;                 /* rows: 1, or the number of event sets */
    const char *fault;            /* NULL: none; the rows and sums are not to be used otherwise */
    int64_t value;                /* of the number that `fault` names */
};

/* `fault` of a block whose rows do not belong together: one an event set, of as many rotations, in
 * one cell of the grid. */
extern const char rps_piece_not_whole[];

/* The blocks of one level and CPU, [from, to) by number. */
struct rps_blocks {
    sqlite3_stmt *stmt;
    int level, at; /* at: the statement's last code */
    size_t set_count, count;
    struct rps_period *row; /* owned */
};

/* Prepare for a run of so many event sets; an SQLite code. To be closed in any case. */
int rps_blocks_open(struct rps_blocks *ret, sqlite3 *db, int64_t run_id, int64_t set_count);
void rps_blocks_close(struct rps_blocks *blocks);

void rps_blocks_seek(struct rps_blocks *blocks, int64_t cpu, int level, int64_t from, int64_t to);

/* SQLITE_ROW and *ret, SQLITE_DONE, or an error's code. */
int rps_blocks_next(struct rps_blocks *blocks, struct rps_piece *ret);

struct rps_finest;

/* An SQLite code; *ret is to be closed in any case. */
int rps_finest_open(struct rps_finest **ret, sqlite3 *db, int64_t run_id, int64_t set_count);
void rps_finest_close(struct rps_finest *finest);

/* The next piece, CPU by CPU: SQLITE_ROW and *ret, SQLITE_DONE, or an error's code. */
int rps_finest_next(struct rps_finest *finest, struct rps_piece *ret);

#endif
