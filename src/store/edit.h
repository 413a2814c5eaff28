/* Common parts of deleting and merging runs. */
#ifndef RPISTAT_STORE_EDIT_H
#define RPISTAT_STORE_EDIT_H

#include <stdint.h>

#include "reader.h"

/* Maximum rows of table period to delete or copy in one transaction while a recorder waits. */
#define RPS_EDIT_ROWS_MAX 1000000

/*
 * Check whether the run of `from` may be deleted from `to`, or copied into it, in spite of
 * recorders. `to` is open for writing; `what` is "delete" or "merge". RPS_FAILED if a run is being
 * recorded into `to` and this one has more than RPS_EDIT_ROWS_MAX rows.
 */
int rps_edit_check_size(struct rps_reader *from, int64_t run_id, struct rps_reader *to,
                        const char *what, struct rps_error *err);

/* Delete the run's rows of all tables, within the caller's transaction. Returns an SQLite code. A
 * cascade instead takes four times as long, and memory for the keys of all rows. */
int rps_edit_delete_rows(sqlite3 *db, int64_t run_id);

#endif
