/* The samples of a comparison's page. */
#ifndef RPISTAT_SHOW_COMPARISON_PAGE_H
#define RPISTAT_SHOW_COMPARISON_PAGE_H

#include "rpistat/page_parts.h"
#include "rpistat/comparison.h"

/* Those of the runs of a side that have samples. */
struct rps_comparison_samples {
    size_t runs;
    uint64_t samples, complete;
    double per_s; /* samples that one second of CPU time in each run has together; 0: not known, as
                     some were taken by a threshold */
};

/*
 * The samples of all runs as those of one: functions are joined by name and module, of which the
 * file's name counts, as other builds lie elsewhere; the programs of the commands are one module. A
 * bin is a row of a side, in which number 0 is what belongs to no row: bin = side * row_count +
 * label + 1. No cells where a side has no samples. Errors: the store's. Free in any case; texts are
 * borrowed from the comparison.
 */
int rps_comparison_page_code(const struct rps_comparison *comparison,
                             struct rps_comparison_samples side[2], struct rps_page_code *ret,
                             struct rps_error *err);

#endif
