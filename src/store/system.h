/* Rows of the store for system metrics: readings and their blocks, and the functions with which the
 * writer makes them.
 *
 * A gauge covers the time since the previous reading, and readings differ in length. Therefore a
 * block has the mean of a gauge over time. The mean is stored as a sum: the mean times the number
 * of readings.
 *
 * A block of level k includes the readings of all periods whose number / 16^k has the same integer
 * part. The block is written when a reading of another block arrives, and at the end of the run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "rpistat/period.h"
#include "rpistat/store.h"
#include "rpistat/system_rows.h"
#include "rpistat/system_reader.h"

struct rps_findings;

/* --- rows ------------------------------------------------------------------------------------- */

#define RPS_SYSTEM_EACH(of)                                                                        \
    RPS_SYSTEM_20(of)                                                                              \
    "," RPS_SYSTEM_FOUR(of, 20, 21, 22, 23) "," RPS_SYSTEM_FOUR(                                   \
        of, 24, 25, 26, 27) "," RPS_SYSTEM_FOUR(of, 28, 29, 30, 31)
#define RPS_SYSTEM_20(of)                                                                          \
    RPS_SYSTEM_12(of)                                                                              \
    "," RPS_SYSTEM_FOUR(of, 12, 13, 14, 15) "," RPS_SYSTEM_FOUR(of, 16, 17, 18, 19)
#define RPS_SYSTEM_12(of)                                                                          \
    RPS_SYSTEM_FOUR(of, 0, 1, 2, 3)                                                                \
    "," RPS_SYSTEM_FOUR(of, 4, 5, 6, 7) "," RPS_SYSTEM_FOUR(of, 8, 9, 10, 11)
#define RPS_SYSTEM_FOUR(of, a, b, c, d) of(a) "," of(b) "," of(c) "," of(d)
#define RPS_SYSTEM_VALUE(slot)          "s" #slot
#define RPS_SYSTEM_SUM(slot)            "s" #slot ",n" #slot ",l" #slot ",h" #slot

/* SQL: the slots' columns in tables reading and reading_rollup. */
#define RPS_SYSTEM_VALUES RPS_SYSTEM_EACH(RPS_SYSTEM_VALUE)
#define RPS_SYSTEM_SUMS   RPS_SYSTEM_EACH(RPS_SYSTEM_SUM)

/* Return SQL to read a level's rows from a period on: ?1 run, ?2 source, ?3 level, ?4 period. The
 * rows have at least the columns of the first `slots` slots. A column that is not selected costs no
 * time. */
const char *rps_system_row_select(int level, int64_t slots);

/* Read a row of a statement from rps_system_row_select(). Returns false if no recorder writes such
 * a row. The caller sets source and level. */
bool rps_system_row_read(sqlite3_stmt *stmt, struct rps_system_row *ret);

/* Insert a row of `reading`, or at a level above 0 of `reading_rollup`. Prepares *stmt if it is
 * NULL. Returns an SQLite code. */
int rps_system_row_insert(sqlite3 *db, sqlite3_stmt **stmt, int64_t run_id,
                          const struct rps_system_row *row);

/* --- blocks ----------------------------------------------------------------------------------- */

/* Receives rows of complete blocks. The calling function returns the sink's SQLite error code. */
struct rps_system_block_sink {
    void *context;
    int (*row)(void *context, const struct rps_system_row *row);
};

/* The unfinished blocks of one source, by level. Level 0 is the block of the whole run. */
struct rps_system_blocks {
    struct rps_system_block {
        bool used;
        struct rps_system_row row;
        double integral[RPS_SYSTEM_SLOT_MAX]; /* integral of gauges over time: value x us */
        double known_us[RPS_SYSTEM_SLOT_MAX]; /* time for which the gauges are known */
    } block[RPS_LEVELS + 1];
};

/* Add the next reading, or a block whose finer rows are deleted. */
int rps_system_blocks_add(struct rps_system_blocks *blocks, const struct rps_system_row *row,
                          const struct rps_system_block_sink *sink);

/* Output the unfinished blocks, except for the block of the whole run. */
int rps_system_blocks_end(struct rps_system_blocks *blocks,
                          const struct rps_system_block_sink *sink);

/* Write the totals of a source into its rows of `signal`. Returns an SQLite code. */
int rps_system_write_total(sqlite3 *db, int64_t run_id, const struct rps_system_row *total);

/* Replace a source's rows of table `signal`. Returns an SQLite code. */
int rps_system_insert_readings(sqlite3 *db, int64_t run_id, const struct rps_system_state *state);

/* --- the writer ------------------------------------------------------------------------------- */

/* The writer's data for a run's readings. Zero the struct before the run. The accumulated sums are
 * part of the transaction that writes the rows. */
struct rps_system_write {
    sqlite3_stmt *insert[2]; /* inserts into reading and reading_rollup */
    bool touched;            /* true if changed since the last commit */
    struct rps_system_blocks now[RPS_SYSTEM_SOURCES], before[RPS_SYSTEM_SOURCES];
    bool has_state[RPS_SYSTEM_SOURCES];
    struct rps_system_state state[RPS_SYSTEM_SOURCES];
};

/* Write a state or a reading of a source, within a transaction. Both return SQLite codes. */
int rps_system_write_state(struct rps_system_write *write, sqlite3 *db, int64_t run_id,
                           const struct rps_system_state *state);
int rps_system_write_reading(struct rps_system_write *write, sqlite3 *db, int64_t run_id,
                             const struct rps_system_reading *reading);
int rps_system_write_end(struct rps_system_write *write, sqlite3 *db, int64_t run_id);

/* Insert the rows of `signal` again, for a run that continues elsewhere. Returns an SQLite code. */
int rps_system_write_states(struct rps_system_write *write, sqlite3 *db, int64_t run_id);

void rps_system_write_roll_back(struct rps_system_write *write);

void rps_system_write_finalize(struct rps_system_write *write); /* frees the statements */
void rps_system_write_forget(struct rps_system_write *write);   /* discards the sums */

/* --- check and repair ------------------------------------------------------------------------- */

/* Compare blocks and totals of a run with those computed from its finest rows. Returns 0, or
 * RPS_FAILED with a message if the finest rows cannot be read. */
int rps_system_check(struct rps_reader *reader, int64_t run_id, struct rps_findings *findings,
                     struct rps_error *err);

/* Drop invalid rows, and rebuild blocks and totals. Call this function in a transaction after the
 * periods are rebuilt; last_period is the highest period. The number of dropped rows is added to
 * *ret_dropped. Returns an SQLite code. */
int rps_system_rebuild(struct rps_reader *reader, int64_t run_id, uint64_t last_period,
                       uint64_t *ret_dropped);
