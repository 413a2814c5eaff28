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

/* Say on standard error which limits do not hold. Returns the answer of all: they fail where one
 * does, and are undecided where one is. */
enum rps_change_answer rps_compare_limits_tell(const struct rps_comparison *comparison,
                                               const struct rps_comparison_limit *limit,
                                               size_t count);

#endif
