/* What `rpistat compare` shares between its files: groups of runs, and limits. */
#ifndef RPISTAT_CLI_COMPARE_H
#define RPISTAT_CLI_COMPARE_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/comparison.h"
#include "rpistat/comparison_output.h"
#include "rpistat/error.h"
#include "rpistat/store.h"

/* --- groups of runs: compare_choice.c --------------------------------------------------------- */

struct rps_compare_group {
    size_t count;
    int64_t *run_id; /* owned (free()); ascending, each once */
};

/*
 * The runs that a text means in a store: a number, a range 1-5, last, last-N, a label or label:TEXT
 * and a tag KEY=VALUE (all runs that have it), or several of these with commas between. RPS_USAGE
 * for what is no such text, RPS_FAILED for what the store does not have, with what it has and the
 * labels and tags that are near.
 */
int rps_compare_choose(struct rps_reader *reader, const char *store, const char *text,
                       struct rps_compare_group *ret, struct rps_error *err);

/* Take the runs of `other`, which is of the same store, out of the group. */
void rps_compare_leave_out(struct rps_compare_group *group, const struct rps_compare_group *other);

/* --- limits: compare_limits.c ----------------------------------------------------------------- */

/* --fail-if "[PHASE:]FIGURE>+N%" or "FIGURE<-N%". RPS_USAGE for another text. */
int rps_compare_limit_parse(const char *text, struct rps_comparison_limit *ret,
                            struct rps_error *err);

/*
 * Look whether the changes are within the limits: is_failed is filled in. proven: the whole
 * interval must be beyond a limit, and not the estimate with p < .05. RPS_USAGE for a name that the
 * comparison does not have, RPS_FAILED for a limit that can never fail since there is no test.
 */
int rps_compare_limits_check(const struct rps_comparison *comparison, int proven,
                             struct rps_comparison_limit *limit, size_t count,
                             struct rps_error *err);

/* Say on standard error which limits failed. Returns how many did. */
size_t rps_compare_limits_tell(const struct rps_comparison *comparison,
                               const struct rps_comparison_limit *limit, size_t count);

#endif
