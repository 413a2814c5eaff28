/* Stacks in groups of calls, each with enough samples to be compared between phases. */
#ifndef RPISTAT_CODE_CALL_GROUPS_H
#define RPISTAT_CODE_CALL_GROUPS_H

#include "rpistat/arena.h"
#include "rpistat/code.h"

/*
 * Give each stack the number of its group, from 0, into ret, as long as stack_count; -1 where its
 * function is. Returns the number of groups. `function` and `samples` are of each stack: its
 * innermost function, -1 for none, and how often it was seen.
 */
size_t rps_call_groups_find(const struct rps_code *code, const int64_t *function,
                            const uint64_t *samples, int64_t *ret);

#endif
