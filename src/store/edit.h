/* Steps of deleting a run, which merging has too. */
#ifndef RPISTAT_STORE_EDIT_H
#define RPISTAT_STORE_EDIT_H

#include <stdint.h>

#include <sqlite3.h>

/* Delete the run's rows of all tables but those of many rows (tables.h), within the caller's
 * transaction. An SQLite code. */
int rps_edit_delete_head(sqlite3 *db, int64_t run_id);

/*
 * Delete, in transactions of some milliseconds, what the tables of many rows still hold of runs
 * that are not there; not what a merge that is at work has copied already. An SQLite code.
 */
int rps_edit_sweep(sqlite3 *db);

/* Sleep for so long after a transaction: a program that waits for the lock tries it only now and
 * then, and would hardly ever find it free. */
void rps_edit_give_way(int64_t taken_ns);

#endif
