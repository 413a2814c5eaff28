/*
 * Rollups: the coarser levels of a run, made while its periods are written.
 *
 * Periods become whole rotations, sixteen rotations of one cell of the grid a block of level 1, its
 * blocks those of level 2, and so on (rpistat/period.h). A block is closed early at a gap, at the
 * run's end, and where other events could be counted than before, so that a count of a block is
 * that of all its periods or NULL. A rotation that is not whole is in no block.
 */
#ifndef RPISTAT_STORE_ROLLUP_H
#define RPISTAT_STORE_ROLLUP_H

#include "rpistat/period.h"

struct rps_rollup;

/* Who gets the rows of a block that is closed, one an event set; an SQLite code, which is returned
 * through. */
struct rps_rollup_sink {
    void *context;
    int (*row)(void *context, const struct rps_period *row);
};

/* For a run of so many event sets. NULL without memory. */
struct rps_rollup *rps_rollup_new(int set_count, const struct rps_rollup_sink *sink);
void rps_rollup_free(struct rps_rollup *rollup);

/* Add the next period of its CPU. An SQLite code; SQLITE_NOMEM for want of memory. */
int rps_rollup_add(struct rps_rollup *rollup, const struct rps_period *period);

/* Add a block whose finer rows are not there any more, its rows in the order of the sets: it goes
 * into the next level. An SQLite code, as above. */
int rps_rollup_add_block(struct rps_rollup *rollup, const struct rps_period *row);

/* The run has ended: close all blocks. An SQLite code. */
int rps_rollup_end(struct rps_rollup *rollup);

/*
 * The accumulators belong to the transaction that the rows are in: keep what was added since the
 * last commit, or forget it, as after a ROLLBACK.
 */
void rps_rollup_commit(struct rps_rollup *rollup);
void rps_rollup_roll_back(struct rps_rollup *rollup);

#endif
