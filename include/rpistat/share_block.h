/* Named shares in a document, for programs: what reports, phases and the code say alike. */
#ifndef RPISTAT_SHARE_BLOCK_H
#define RPISTAT_SHARE_BLOCK_H

#include "rpistat/document.h"
#include "rpistat/part_shares.h"

/* A block "top": the group's functions. */
struct rps_block *rps_share_block_top(struct rps_document *document,
                                      const struct rps_share_group *group);

/* Put what the group has, of so much CPU time, into columns of kinds INT, NUMBER and BLOCK: samples
 * (people read "120 of 400", beside what was expected), how many were expected, its
 * functions. It is not the whole run. */
void rps_share_block_put(struct rps_block *block, const struct rps_sampling *sampling,
                         const struct rps_share_group *group, double cpu_s);

/* Return the columns of a block "stands_out", and put a row into it for each name that sets the group
 * apart. */
const struct rps_column *rps_share_block_columns(size_t *ret_count);
void rps_share_block_stand_out(struct rps_block *block, const struct rps_share_group *group);

/* Put what no sample of the whole run, of so much CPU time, tells of: for programs, and for people
 * lines below what the block has, indented by so much. */
void rps_share_block_unsampled(struct rps_document *document, struct rps_block *block, int indent,
                               const struct rps_sampling *sampling,
                               const struct rps_unsampled *unsampled, double cpu_s);

#endif
