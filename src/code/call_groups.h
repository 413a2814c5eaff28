/* Stacks in groups of calls, each with enough samples to be compared between phases. */
#ifndef RPISTAT_CODE_CALL_GROUPS_H
#define RPISTAT_CODE_CALL_GROUPS_H

#include <stddef.h>

#include "rpistat/code.h"

/* A run. Arrays have one element per stack. A function has the same number in all runs. */
struct rps_call_run {
    const struct rps_code *code;
    const int64_t *function; /* the innermost one; -1: none */
    const uint64_t *samples;
    int64_t *group; /* of the stack, from 0, the same in all runs; -1: it has no function */
};

/* Find the group of each stack. Returns the number of groups. */
size_t rps_call_groups_find(const struct rps_call_run *run, size_t count);

#endif
