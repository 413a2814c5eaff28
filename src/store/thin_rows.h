/*
 * Merging periods that follow one another: what the sums are, and which periods can be merged
 * without anything being lost but the time between them.
 */
#ifndef RPISTAT_STORE_THIN_ROWS_H
#define RPISTAT_STORE_THIN_ROWS_H

#include <stddef.h>

#include "rpistat/period.h"

/* Consecutive rows: `count` from `first` on. */
struct rps_thin_run {
    size_t first, count;
};

/*
 * The next stretch of at least two whole rotations, from row `from` on, that can be merged: every
 * set once, in order and at its place, nothing missing between two rows, and the cycle timestamps
 * the sums of the cycles. Rows are those of one track in order. 1 and *ret, or 0.
 */
int rps_thin_run_find(const struct rps_period *row, size_t count, size_t set_count, size_t from,
                      struct rps_thin_run *ret);

/* Merge a stretch into one rotation, set_count periods in ret. */
void rps_thin_run_merge(const struct rps_period *row, const struct rps_thin_run *run,
                        size_t set_count, struct rps_period *ret);

#endif
