/* Limits of `rpistat compare`: --fail-if. */
#ifndef RPISTAT_CLI_COMPARE_H
#define RPISTAT_CLI_COMPARE_H

#include <stddef.h>

#include "rpistat/comparison.h"
#include "rpistat/error.h"

/* --fail-if "[PHASE:]FIGURE>+N%" or "FIGURE<-N%". RPS_USAGE for another text. */
int rps_compare_limit_parse(const char *text, struct rps_comparison_limit *ret,
                            struct rps_error *err);

/* Look whether the changes are within the limits: `answer` is filled in. RPS_USAGE for a name that
 * the comparison does not have, RPS_FAILED for a figure of which a side has no value. */
int rps_compare_limits_check(const struct rps_comparison *comparison,
                             struct rps_comparison_limit *limit, size_t count,
                             struct rps_error *err);

/* The answer of all: they fail where one does, else are undecided where one is. Unless that is told
 * already standard error has a line for each that does not hold. */
enum rps_change_answer rps_compare_limits_answer(const struct rps_comparison *comparison,
                                                 const struct rps_comparison_limit *limit,
                                                 size_t count, int is_told);

#endif
