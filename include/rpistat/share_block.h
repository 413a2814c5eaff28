/* Shares with names in a document, for programs: common to reports, phases and the code. */
#ifndef RPISTAT_SHARE_BLOCK_H
#define RPISTAT_SHARE_BLOCK_H

#include "rpistat/document.h"
#include "rpistat/part_shares.h"

/* Add a block "top": the group's functions. */
struct rps_block *rps_share_block_top(struct rps_document *document,
                                      const struct rps_share_group *group);

/* Put a group's data for its CPU time into columns of kinds INT, NUMBER and BLOCK. These are
 * samples (in the text with the expected number, "120 of 400"), the expected number, functions. The
 * group is not the whole run. */
void rps_share_block_put(struct rps_block *block, const struct rps_sampling *sampling,
                         const struct rps_share_group *group, double cpu_s);

/* Return the columns of a block "stands_out", and put a row for each name that distinguishes the
 * group. */
const struct rps_column *rps_share_block_columns(size_t *ret_count);
void rps_share_block_stand_out(struct rps_block *block, const struct rps_share_group *group);

/* Put the CPU time of the whole run that no samples cover, for programs; in the text, append lines
 * to the block with this indent. */
void rps_share_block_unsampled(struct rps_document *document, struct rps_block *block, int indent,
                               const struct rps_sampling *sampling,
                               const struct rps_unsampled *unsampled, double cpu_s);

#endif
