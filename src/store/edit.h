/* What deleting a run and merging have in common. */
#ifndef RPISTAT_STORE_EDIT_H
#define RPISTAT_STORE_EDIT_H

#include <stdint.h>

#include "reader.h"

/* Rows of table period that are deleted or copied in one transaction while a recorder waits. */
#define RPS_EDIT_ROWS_MAX 1000000

/*
 * May the run of `from` be deleted from `to`, or copied into it, beside who records there? `to` has
 * been opened for writing; `what` is to be done: "delete", "merge". RPS_FAILED and a sentence when
 * a run is being recorded into `to` and this one has more than RPS_EDIT_ROWS_MAX rows.
 */
int rps_edit_check_size(struct rps_reader *from, int64_t run_id, struct rps_reader *to,
                        const char *what, struct rps_error *err);

/* Delete the run's rows of all tables, within the caller's transaction; an SQLite code. Table by
 * table, since a cascade takes four times as long, and memory for the keys of all rows. */
int rps_edit_delete_rows(sqlite3 *db, int64_t run_id);

#endif
