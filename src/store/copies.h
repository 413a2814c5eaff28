/* Two copies of a run against each other. */
#ifndef RPISTAT_STORE_COPIES_H
#define RPISTAT_STORE_COPIES_H

#include "reader.h"

struct rps_copy {
    struct rps_reader *reader;
    const struct rps_run *run;
};

enum rps_copies {
    RPS_COPIES_DIFFER,
    RPS_COPIES_HAS_MORE, /* the first is the beginning of the second, which goes on */
    RPS_COPIES_HAS_NONE, /* the second has nothing that the first has not: it is the same, or its
                            beginning */
};

/*
 * Compare what was recorded, row by row:
 * - periods, CPU by CPU; where one copy was thinned, its blocks with those that the other one has
 *   beside its periods. A block that goes on behind the end of the other copy cannot be compared.
 * - what describes the run, its sets, events and metrics; of a complete run also how it ended.
 * - gaps, marks and samples with their modules, frames, stacks and tasks, the samples where both
 *   have them at the same level. The longer copy has those of the shorter one, maybe more.
 * What was found out or changed later is not compared: labels, tags, totals, phases, names of code.
 * A complete run has no continuation: it is the beginning of nothing but itself.
 *
 * Errors are those of reading, of either store.
 */
int rps_copies_compare(const struct rps_copy *first, const struct rps_copy *second,
                       enum rps_copies *ret, struct rps_error *err);

#endif
