/* Limits of `rpistat compare`: --fail-if. */
#ifndef RPISTAT_CLI_COMPARE_H
#define RPISTAT_CLI_COMPARE_H

#include <stddef.h>

#include "rpistat/comparison.h"
#include "rpistat/error.h"

/* Parse --fail-if "[PHASE:]FIGURE>+N%" or "FIGURE<-N%". RPS_USAGE for any other text. */
int rps_compare_limit_parse(const char *text, struct rps_comparison_limit *ret,
                            struct rps_error *err);

/* Check whether the changes are within the limits: `answer` is filled in. RPS_USAGE for a name that
 * the comparison does not have, RPS_FAILED for a metric without a value on one side. */
int rps_compare_limits_check(const struct rps_comparison *comparison,
                             struct rps_comparison_limit *limit, size_t count,
                             struct rps_error *err);

/* Return the result of all limits: failed if one is, otherwise inconclusive if one is. Print a line
 * on standard error for each limit that does not hold, unless that is already printed. */
enum rps_change_answer rps_compare_limits_answer(const struct rps_comparison *comparison,
                                                 const struct rps_comparison_limit *limit,
                                                 size_t count, int is_told);

#endif
