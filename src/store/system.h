/*
 * Readings of system metrics and their blocks, as rows of the store; how the writer makes them.
 *
 * A gauge covers the time since the previous reading, and readings differ in length. Therefore a
 * block has a gauge's mean over time, stored as the sum that as many equal readings would have.
 *
 * A block of level k has the readings of the periods with the same number / 16^k. It is written
 * when a reading of another block arrives, and at the end of the run.
 */
#ifndef RPISTAT_STORE_SYSTEM_H
#define RPISTAT_STORE_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "rpistat/period.h"
#include "rpistat/store.h"
#include "rpistat/system_rows.h"
#include "rpistat/system_signals.h"

struct rps_findings;

/* --- rows ------------------------------------------------------------------------------------- */

#define RPS_SYSTEM_EACH(of)                                                                        \
    of(0) "," of(1) "," of(2) "," of(3) "," of(4) "," of(5) "," of(6) "," of(7) "," of(8) "," of(  \
        9) "," of(10) "," of(11) "," of(12) "," of(13) "," of(14) "," of(15)
#define RPS_SYSTEM_VALUE(slot) "s" #slot
#define RPS_SYSTEM_SUM(slot)   "s" #slot ",n" #slot ",l" #slot ",h" #slot

/* SQL: the columns of the slots, of reading and of reading_rollup. */
#define RPS_SYSTEM_VALUES RPS_SYSTEM_EACH(RPS_SYSTEM_VALUE)
#define RPS_SYSTEM_SUMS   RPS_SYSTEM_EACH(RPS_SYSTEM_SUM)

/* Return the SQL statement for the rows of a level from a period on; ?1 run, ?2 source, ?3 level,
 * ?4 period. */
const char *rps_system_row_select(int level);

/* Read its row; false: no recorder writes such a row. The caller sets source and level. */
bool rps_system_row_read(sqlite3_stmt *stmt, struct rps_system_row *ret);

/* Insert a row of `reading`, or at a level above 0 of `reading_rollup`. Prepares *stmt if it is
 * NULL. Returns an SQLite code. */
int rps_system_row_insert(sqlite3 *db, sqlite3_stmt **stmt, int64_t run_id,
                          const struct rps_system_row *row);

/* --- blocks ----------------------------------------------------------------------------------- */

/* Receives rows of complete blocks; returns an SQLite code, which the caller passes on. */
struct rps_system_block_sink {
    void *context;
    int (*row)(void *context, const struct rps_system_row *row);
};

/* The unfinished blocks of one source, by level; the whole run at 0. */
struct rps_system_blocks {
    struct rps_system_block {
        bool used;
        struct rps_system_row row;
        double integral[RPS_SYSTEM_SLOT_MAX]; /* of gauges over time, value x us, */
        double known_us[RPS_SYSTEM_SLOT_MAX]; /* and how much of that time they were known */
    } block[RPS_LEVELS + 1];
};

/* Add the next reading, or a block whose finer rows are deleted. */
int rps_system_blocks_add(struct rps_system_blocks *blocks, const struct rps_system_row *row,
                          const struct rps_system_block_sink *sink);

/* Output the remaining blocks; the whole run stays. */
int rps_system_blocks_end(struct rps_system_blocks *blocks,
                          const struct rps_system_block_sink *sink);

/* Write the totals of a source into its rows of `signal`. Returns an SQLite code. */
int rps_system_write_total(sqlite3 *db, int64_t run_id, const struct rps_system_row *total);

/* Replace the rows of `signal` of a source. Returns an SQLite code. */
int rps_system_insert_signals(sqlite3 *db, int64_t run_id, const struct rps_system_state *state);

/* --- the writer ------------------------------------------------------------------------------- */

/* The writer's data of a run's readings; zero it before the run. Accumulators belong to the
 * transaction of the rows. */
struct rps_system_write {
    sqlite3_stmt *insert[2]; /* into reading, and reading_rollup */
    bool touched;            /* since the last commit */
    struct rps_system_blocks now[RPS_SYSTEM_SOURCES], before[RPS_SYSTEM_SOURCES];
    bool has_state[RPS_SYSTEM_SOURCES];
    struct rps_system_state state[RPS_SYSTEM_SOURCES];
};

/* In a transaction; both return SQLite codes. */
int rps_system_write_state(struct rps_system_write *write, sqlite3 *db, int64_t run_id,
                           const struct rps_system_state *state);
int rps_system_write_reading(struct rps_system_write *write, sqlite3 *db, int64_t run_id,
                             const struct rps_system_reading *reading);
int rps_system_write_end(struct rps_system_write *write, sqlite3 *db, int64_t run_id);

/* Insert the rows of `signal` again, for a run that continues elsewhere. Returns an SQLite code. */
int rps_system_write_states(struct rps_system_write *write, sqlite3 *db, int64_t run_id);

void rps_system_write_commit(struct rps_system_write *write);
void rps_system_write_roll_back(struct rps_system_write *write);

void rps_system_write_finalize(struct rps_system_write *write); /* the statements */
void rps_system_write_forget(struct rps_system_write *write);   /* discards the sums */

/* --- check and repair ------------------------------------------------------------------------- */

/* Compare blocks and totals of a run with those computed from its finest rows. Returns 0, or
 * RPS_FAILED with a message if those cannot be read. */
int rps_system_check(struct rps_reader *reader, int64_t run_id, struct rps_findings *findings,
                     struct rps_error *err);

/* Drop invalid rows, and rebuild blocks and totals. Call it in a transaction after the periods, of
 * which last_period is the highest. *ret_dropped grows by the number of dropped rows. Returns an
 * SQLite code. */
int rps_system_rebuild(struct rps_reader *reader, int64_t run_id, uint64_t last_period,
                       uint64_t *ret_dropped);

#endif
