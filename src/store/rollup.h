/*
 * Rollups: the coarser levels of a run, made while its periods are written.
 *
 * Periods form whole rotations, sixteen rotations of one cell of the grid a block of level 1,
 * sixteen of these one of level 2, and so on (rpistat/period.h). A block is closed early at a gap,
 * at the run's end, and where the set of countable events changes. So a count of a block is the sum
 * of all its periods or NULL. An incomplete rotation is in no block.
 */
#ifndef RPISTAT_STORE_ROLLUP_H
#define RPISTAT_STORE_ROLLUP_H

#include "rpistat/period.h"

struct rps_rollup;

/* Receives the rows of a closed block, one per event set; returns an SQLite code, which the caller
 * passes on. */
struct rps_rollup_sink {
    void *context;
    int (*row)(void *context, const struct rps_period *row);
};

/* Allocate for a run of set_count event sets. NULL: no memory. */
struct rps_rollup *rps_rollup_new(int set_count, const struct rps_rollup_sink *sink);
void rps_rollup_free(struct rps_rollup *rollup);

/* Add the next period of its CPU. Returns an SQLite code; SQLITE_NOMEM: no memory. */
int rps_rollup_add(struct rps_rollup *rollup, const struct rps_period *period);

/* Add a block whose finer rows are deleted to the next level; its rows are in the order of the
 * sets. Returns an SQLite code, as above. */
int rps_rollup_add_block(struct rps_rollup *rollup, const struct rps_period *row);

/* Close all blocks at the end of the run. Returns an SQLite code. */
int rps_rollup_end(struct rps_rollup *rollup);

/*
 * Keep what was added since the last commit, or discard it, as after a ROLLBACK: the accumulators
 * belong to the transaction of the rows.
 */
void rps_rollup_commit(struct rps_rollup *rollup);
void rps_rollup_roll_back(struct rps_rollup *rollup);

#endif
