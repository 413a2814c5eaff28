/*
 * The rows of a run in order, as pieces: a period, or the rows of a block together. For those who
 * want all rows, also the ones that a cursor refuses or passes over.
 */
#ifndef RPISTAT_STORE_FINEST_H
#define RPISTAT_STORE_FINEST_H

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

/* Who takes the pieces, one after the other. Another code than SQLITE_OK ends it, and is
 * returned. */
struct rps_piece_taker {
    void *context;
    int (*take)(void *context, const struct rps_piece *piece);
};

/* The finest rows that are left of a run, CPU by CPU: periods, and blocks where periods were
 * thinned away. An SQLite code. */
int rps_finest_each(sqlite3 *db, int64_t run_id, int set_count,
                    const struct rps_piece_taker *taker);

/* All blocks of a level, by their numbers. An SQLite code. */
int rps_finest_blocks(sqlite3 *db, int64_t run_id, int64_t cpu, int level, int set_count,
                      const struct rps_piece_taker *taker);

#endif
