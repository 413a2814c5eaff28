/* Readings of system signals, read from a store: a room of rpistat/store.h. */
#ifndef RPISTAT_SYSTEM_ROWS_H
#define RPISTAT_SYSTEM_ROWS_H

#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/system_signals.h"

struct rps_reader;

/*
 * A reading, or a block of them: at level k those of the up to 16^k periods that have the same
 * number / 16^k. They are one after the other, and none is in two rows.
 */
struct rps_system_row {
    enum rps_system_source source;
    int level;                    /* 0: a reading */
    uint64_t period, last_period; /* at whose ends the first and the last reading were made */
    int64_t end_ns;               /* when the last was, since the start of the run */
    int64_t length_us;            /* sum over the readings: pauses are no part of it */
    uint64_t readings[RPS_SYSTEM_SLOT_MAX]; /* by slot: in which it was known; 0: in none, and the
                                               next three say nothing */
    int64_t sum[RPS_SYSTEM_SLOT_MAX];   /* over them; a gauge's mean over time is sum / readings */
    double lowest[RPS_SYSTEM_SLOT_MAX]; /* of a reading, a counter's per second; whole numbers */
    double highest[RPS_SYSTEM_SLOT_MAX];
};

/* Readings of a row: as many as the signal has that could be read most often. */
uint64_t rps_system_row_readings(const struct rps_system_row *row);

struct rps_system_cursor;

/*
 * The readings of a source that lie in [from_ns, to_ns), in order of time, at a resolution: 0 for
 * readings, k for rows not coarser than level k and as few as possible. Where finer rows were
 * thinned away the finest that is left comes instead, and where a block is not whole in the part,
 * or not there yet, finer rows. A row that can be no finer lies in the part by its middle. A run
 * without readings, and a store of a format without them, has no rows. One cursor sees one state of
 * the store.
 */
int rps_system_cursor_open(struct rps_system_cursor **ret, struct rps_reader *reader,
                           int64_t run_id, enum rps_system_source source, int64_t from_ns,
                           int64_t to_ns, int resolution, struct rps_error *err);

/* Next row: 1 and *ret, 0 at the end, negative on error. */
int rps_system_cursor_next(struct rps_system_cursor *cursor, struct rps_system_row *ret,
                           struct rps_error *err);

/* From now on no block goes beyond this period where finer rows are there. */
void rps_system_cursor_limit(struct rps_system_cursor *cursor, uint64_t last);

void rps_system_cursor_close(struct rps_system_cursor *cursor); /* NULL is harmless */

/* Which signals of a source the recorder could read, and what they came to: sums, lowest and highest
 * in *ret_total, whose readings are 0 while the run goes on. 1; 0: the source was not read; negative
 * on error. */
int rps_reader_system(struct rps_reader *reader, int64_t run_id, enum rps_system_source source,
                      struct rps_system_state *ret_state, struct rps_system_row *ret_total,
                      struct rps_error *err);

#endif
