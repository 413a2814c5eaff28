/*
 * Readings of system signals and their blocks, as rows of the store; how the writer makes them.
 *
 * A gauge stands for the time since the reading before, and readings are not equally long: of a block
 * its mean over time is kept, as the sum that so many equal readings would have.
 *
 * A block of level k has the readings of the periods that have the same number / 16^k. It is
 * written when a reading of another one comes, and at the end of the run.
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

/* The statement of SQL that gives the rows of a level, from a period on; ?1 run, ?2 source, ?3
 * level, ?4 period. */
const char *rps_system_row_select(int level);

/* Its row; false when no recorder writes such a one. The caller's are source and level. */
bool rps_system_row_read(sqlite3_stmt *stmt, struct rps_system_row *ret);

/* Insert a row of `reading`, or at a level above 0 of `reading_rollup`; *stmt is prepared when it is
 * NULL. An SQLite code. */
int rps_system_row_insert(sqlite3 *db, sqlite3_stmt **stmt, int64_t run_id,
                          const struct rps_system_row *row);

/* --- blocks ----------------------------------------------------------------------------------- */

/* Who gets rows of blocks that are whole; an SQLite code, which is returned through. */
struct rps_system_block_sink {
    void *context;
    int (*row)(void *context, const struct rps_system_row *row);
};

/* Of one source: the blocks that are being added up, by level, and at 0 all of the run. */
struct rps_system_blocks {
    struct rps_system_block {
        bool used;
        struct rps_system_row row;
        double integral[RPS_SYSTEM_SLOT_MAX]; /* of gauges over time, value x us, */
        double known_us[RPS_SYSTEM_SLOT_MAX]; /* and how much of that they were known */
    } block[RPS_LEVELS + 1];
};

/* Add the next reading, or a block whose finer rows are not there any more. */
int rps_system_blocks_add(struct rps_system_blocks *blocks, const struct rps_system_row *row,
                          const struct rps_system_block_sink *sink);

/* Give out the blocks that are left; all of the run stays. */
int rps_system_blocks_end(struct rps_system_blocks *blocks,
                          const struct rps_system_block_sink *sink);

/* Write what a source came to into its rows of `signal`; an SQLite code. */
int rps_system_write_total(sqlite3 *db, int64_t run_id, const struct rps_system_row *total);

/* Insert the rows of `signal` of a source, in place of those that are there; an SQLite code. */
int rps_system_insert_signals(sqlite3 *db, int64_t run_id, const struct rps_system_state *state);

/* --- the writer ------------------------------------------------------------------------------- */

/* What it has of a run's readings; zero it before the run. Accumulators belong to the transaction
 * that the rows are in. */
struct rps_system_write {
    sqlite3_stmt *insert[2]; /* into reading, and reading_rollup */
    bool touched;            /* since the last commit */
    struct rps_system_blocks now[RPS_SYSTEM_SOURCES], before[RPS_SYSTEM_SOURCES];
    bool has_state[RPS_SYSTEM_SOURCES];
    struct rps_system_state state[RPS_SYSTEM_SOURCES];
};

/* In a transaction; SQLite codes. */
int rps_system_write_state(struct rps_system_write *write, sqlite3 *db, int64_t run_id,
                           const struct rps_system_state *state);
int rps_system_write_reading(struct rps_system_write *write, sqlite3 *db, int64_t run_id,
                             const struct rps_system_reading *reading);
int rps_system_write_end(struct rps_system_write *write, sqlite3 *db, int64_t run_id);

/* Insert the rows of `signal` once more, of a run that goes on elsewhere; an SQLite code. */
int rps_system_write_states(struct rps_system_write *write, sqlite3 *db, int64_t run_id);

void rps_system_write_commit(struct rps_system_write *write);
void rps_system_write_roll_back(struct rps_system_write *write);

void rps_system_write_finalize(struct rps_system_write *write); /* the statements */
void rps_system_write_forget(struct rps_system_write *write);   /* what was added up */

/* --- check and repair ------------------------------------------------------------------------- */

/* Compare blocks and totals of a run with what its finest rows make. 0, or RPS_FAILED with a
 * sentence when these cannot be read. */
int rps_system_check(struct rps_reader *reader, int64_t run_id, struct rps_findings *findings,
                     struct rps_error *err);

/* In a transaction, behind the periods, the highest of which is last_period: drop what no recorder
 * writes, and make blocks and totals anew; *ret_dropped grows by the rows that were left out. An
 * SQLite code. */
int rps_system_rebuild(struct rps_reader *reader, int64_t run_id, uint64_t last_period,
                       uint64_t *ret_dropped);

#endif
