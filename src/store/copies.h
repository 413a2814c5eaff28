/* Compare two copies of a run. */
#ifndef RPISTAT_STORE_COPIES_H
#define RPISTAT_STORE_COPIES_H

#include "reader.h"

struct rps_copy {
    struct rps_reader *reader;
    const struct rps_run *run;
};

enum rps_copies {
    RPS_COPIES_DIFFER,
    RPS_COPIES_HAS_MORE, /* the second continues the first */
    RPS_COPIES_HAS_NONE, /* the second is the same as the first, or its beginning */
};

/*
 * Compare the recorded data of two copies, row by row:
 *
 * - periods, CPU by CPU. If one copy is downsampled, compare its blocks with the other's.
 *   A block that extends beyond the end of the other copy cannot be compared.
 * - the run's description, sets, events and metrics; for a complete run also how it ended.
 * - gaps, marks, and samples with modules, frames, stacks and tasks. Samples are compared if both
 *   copies have them at the same level. The longer copy has those of the shorter, maybe more.
 * Later results and changes are not compared: labels, tags, totals, phases, symbols. A complete run
 * has no continuation: it is only the beginning of itself. Errors: reading either store failed.
 */
int rps_copies_compare(const struct rps_copy *first, const struct rps_copy *second,
                       enum rps_copies *ret, struct rps_error *err);

#endif
