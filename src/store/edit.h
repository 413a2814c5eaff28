/* Functions that are used both to delete and to merge runs. */
#pragma once

#include <stdint.h>

#include "reader.h"

/* Maximum rows of table period that one transaction may delete or copy while a recorder waits. */
#define RPS_EDIT_ROWS_MAX 1000000

/* Check whether a run may be deleted or copied while recorders use the store. `from` holds the run,
 * and `to` is open for writing. `what` is "delete" or "merge". Returns RPS_FAILED if another run is
 * being recorded into `to`, and run `run_id` has more than RPS_EDIT_ROWS_MAX rows. */
int rps_edit_check_size(struct rps_reader *from, int64_t run_id, struct rps_reader *to,
                        const char *what, struct rps_error *err);

/* Delete a run's rows from all tables, within the caller's transaction. Returns an SQLite code. A
 * cascading delete would take four times as long, and need memory for the keys of all rows. */
int rps_edit_delete_rows(sqlite3 *db, int64_t run_id);

/* One of two copies of a run that are compared. */

struct rps_copy {
    struct rps_reader *reader;
    const struct rps_run *run;
};

enum rps_copies {
    RPS_COPIES_DIFFER,
    RPS_COPIES_HAS_MORE, /* the second copy continues the first */
    RPS_COPIES_HAS_NONE, /* the second copy equals the first, or the beginning of the first */
};

/* Compare the recorded data of two copies, row by row:
 *
 * - periods, CPU by CPU. If one copy is downsampled, its blocks are compared with those of the
 *   other copy. A block that extends beyond the end of the other copy cannot be compared.
 * - the run's description, sets, events and metrics; for a complete run also how it ended.
 * - gaps, marks, and samples with modules, frames, stacks and tasks. Samples are compared if both
 *   copies have them at the same level. The longer copy may have additional samples.
 *
 * Later results and changes are not compared: labels, tags, totals, phases, symbols. No copy can
 * continue a complete run. The other copy can only be equal, or contain the beginning of the run.
 * Returns an error if reading either store failed. */
int rps_copies_compare(const struct rps_copy *first, const struct rps_copy *second,
                       enum rps_copies *ret, struct rps_error *err);
