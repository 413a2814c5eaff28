/* Checking a run of a store. */
#ifndef RPISTAT_STORE_CHECK_RUN_H
#define RPISTAT_STORE_CHECK_RUN_H

#include <stdint.h>

#include "findings.h"
#include "reader.h"

/*
 * Tell of everything about the run that is not as it should be. `expected` is an empty store, whose
 * tables of metrics are written over; NULL: there is none. Returns the number of its periods, as
 * far as they could be read.
 */
uint64_t rps_check_run(struct rps_reader *reader, int64_t run_id, sqlite3 *expected,
                       struct rps_findings *findings);

#endif
