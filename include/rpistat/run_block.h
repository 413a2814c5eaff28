/* What is to be said of a run, in `runs` and in its report. */
#ifndef RPISTAT_RUN_BLOCK_H
#define RPISTAT_RUN_BLOCK_H

#include "rpistat/document.h"
#include "rpistat/store.h"

/* A new block for rows of runs. */
struct rps_block *rps_run_block(struct rps_document *document, const char *name);

/* Put a run's row. */
void rps_run_block_put(struct rps_block *block, const struct rps_run *run,
                       const struct rps_run_summary *summary);

#endif
