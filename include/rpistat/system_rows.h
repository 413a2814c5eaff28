/* Read system metrics from a store, as an extension of rpistat/store.h. */
#pragma once

#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/system_reader.h"

struct rps_reader;

/* A reading, or a block of readings. A block of level k has the readings of up to 16^k consecutive
 * periods. Their numbers / 16^k, rounded down, are equal. No reading is in two rows. */
struct rps_system_row {
    enum rps_system_source source;
    int level;                    /* level of the block; 0: a single reading */
    uint64_t period, last_period; /* numbers of the periods of the first and last reading */
    int64_t end_ns;               /* end of the last reading, since the start of the run */
    int64_t length_us;            /* total length of the readings, without pauses */
    uint64_t readings[RPS_SYSTEM_SLOT_MAX]; /* number of known values per slot; if it is 0, sum,
                                               lowest and highest of the slot are undefined */
    int64_t sum[RPS_SYSTEM_SLOT_MAX];       /* sum per slot; a gauge's mean over time is sum /
                                           readings */
    double lowest[RPS_SYSTEM_SLOT_MAX];     /* lowest and highest reading (for a counter: rate per
                                           second); the values are whole numbers */
    double highest[RPS_SYSTEM_SLOT_MAX];
};

/* Return the number of readings of a row. This is the largest number of readings of any slot. */
uint64_t rps_system_row_readings(const struct rps_system_row *row);

struct rps_system_cursor;

/* Open a cursor over the readings of a source in [from_ns, to_ns), in order of time. Resolution 0
 * returns readings. Resolution k returns as few rows as possible that are not coarser than level k.
 * If finer rows were deleted by downsampling, the finest remaining rows are returned. If a block is
 * not entirely in the range, or not yet written, finer rows are returned. A row without finer rows
 * belongs to the range that contains its middle. A run or a store without system metrics has no
 * rows. All rows come from the state that the store had at one moment. */
int rps_system_cursor_open(struct rps_system_cursor **ret, struct rps_reader *reader,
                           int64_t run_id, enum rps_system_source source, int64_t from_ns,
                           int64_t to_ns, int resolution, struct rps_error *err);

/* Read the next row. Return 1 and *ret, 0 at the end, or a negative value on error. */
int rps_system_cursor_next(struct rps_system_cursor *cursor, struct rps_system_row *ret,
                           struct rps_error *err);

/* From now on, return finer rows (if any) instead of blocks that extend beyond period `last`. */
void rps_system_cursor_limit(struct rps_system_cursor *cursor, uint64_t last);

void rps_system_cursor_close(struct rps_system_cursor *cursor); /* accepts NULL */

/* Find out which metrics of a source the recorder could read. *ret_total receives the sums and
 * extremes of these metrics. As long as the run is being recorded, the numbers of readings in
 * *ret_total are 0. Return 1, 0 if the source was not read, or a negative value on error. */
int rps_reader_system(struct rps_reader *reader, int64_t run_id, enum rps_system_source source,
                      struct rps_system_state *ret_state, struct rps_system_row *ret_total,
                      struct rps_error *err);
