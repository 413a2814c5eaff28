/* Making a run whole whose rows a repair has brought into a new store. */
#ifndef RPISTAT_STORE_RECONSTRUCT_H
#define RPISTAT_STORE_RECONSTRUCT_H

#include <stdint.h>

#include "findings.h"
#include "reader.h"

/*
 * In one transaction: give the run the rows it lacks, take out what contradicts the rest, write gap
 * rows for what is missing, and make its rollups and totals anew; then tell of it, and add to
 * *result. The reader's connection is one that can write. RPS_FAILED when it could not be written.
 */
int rps_reconstruct_run(struct rps_reader *reader, int64_t run_id, struct rps_findings *findings,
                        struct rps_repair_result *result, struct rps_error *err);

#endif
