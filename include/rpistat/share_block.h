/* Named shares in a document, for programs: what reports, phases and the code say alike. */
#ifndef RPISTAT_SHARE_BLOCK_H
#define RPISTAT_SHARE_BLOCK_H

#include "rpistat/document.h"
#include "rpistat/part_shares.h"

/* The columns of the values below. */
#define RPS_SHARE_COLUMNS                                                                          \
    {"samples", .kind = RPS_VALUE_INT}, {"expected_samples", .kind = RPS_VALUE_NUMBER},            \
    {                                                                                              \
        "top", .kind = RPS_VALUE_BLOCK                                                             \
    }

/* Put what the group has, of so much CPU time: samples (people read "120 of 400" where clearly more
 * were expected), how many were expected, its functions. */
void rps_share_block_put(struct rps_block *block, const struct rps_sampling *sampling,
                         const struct rps_share_group *group, double cpu_s);

#endif
