/* Read system metrics from a store: an extension of rpistat/store.h. */
#ifndef RPISTAT_SYSTEM_ROWS_H
#define RPISTAT_SYSTEM_ROWS_H

#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/system_signals.h"

struct rps_reader;

/*
 * A reading, or a block of them: at level k those of the up to 16^k periods with the same number /
 * 16^k. They are consecutive, and no reading is in two rows.
 */
struct rps_system_row {
    enum rps_system_source source;
    int level;                    /* 0: a reading */
    uint64_t period, last_period; /* the first and the last reading were made at their ends */
    int64_t end_ns;               /* end of the last reading, since the start of the run */
    int64_t length_us;            /* sum over the readings, without pauses */
    uint64_t readings[RPS_SYSTEM_SLOT_MAX]; /* by slot: number of readings with a known value; 0:
                                               none, and the next three are undefined */
    int64_t sum[RPS_SYSTEM_SLOT_MAX];   /* over them; a gauge's mean over time is sum / readings */
    double lowest[RPS_SYSTEM_SLOT_MAX]; /* of a reading, a counter's per second; whole numbers */
    double highest[RPS_SYSTEM_SLOT_MAX];
};

/* Return the readings of a row: the number for its most often known metric. */
uint64_t rps_system_row_readings(const struct rps_system_row *row);

struct rps_system_cursor;

/*
 * Open a cursor over the readings of a source in [from_ns, to_ns), in order of time. Resolution 0:
 * readings; k: rows not coarser than level k, as few as possible. If finer rows were downsampled,
 * the finest remaining ones come instead; if a block is not entirely in the range, or not yet
 * written, finer rows. An indivisible row belongs to the range that has its middle. A run without
 * readings, or a store of a format without them, has no rows. One cursor sees one state of the
 * store.
 */
int rps_system_cursor_open(struct rps_system_cursor **ret, struct rps_reader *reader,
                           int64_t run_id, enum rps_system_source source, int64_t from_ns,
                           int64_t to_ns, int resolution, struct rps_error *err);

/* Read the next row: 1 and *ret; 0 at the end; negative on error. */
int rps_system_cursor_next(struct rps_system_cursor *cursor, struct rps_system_row *ret,
                           struct rps_error *err);

/* Return no further block that extends beyond this period, if finer rows exist. */
void rps_system_cursor_limit(struct rps_system_cursor *cursor, uint64_t last);

void rps_system_cursor_close(struct rps_system_cursor *cursor); /* NULL is harmless */

/* Read which metrics of a source the recorder could read, and their totals: sums, lowest and
 * highest in *ret_total. Its readings are 0 during the run. 1; 0: the source was not read; negative
 * on error. */
int rps_reader_system(struct rps_reader *reader, int64_t run_id, enum rps_system_source source,
                      struct rps_system_state *ret_state, struct rps_system_row *ret_total,
                      struct rps_error *err);

#endif
