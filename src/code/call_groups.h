/* Puts stacks into groups of calls. Each group has enough samples to be compared between phases. */
#pragma once

#include <stddef.h>

#include "rpistat/code.h"
#include "rpistat/shares.h"

/* A run. Each array has one element per stack. A function has the same number in all runs. */
struct rps_call_run {
    const struct rps_code *code;
    const int64_t *function;           /* Innermost function of each stack; -1 if there is none. */
    const struct rps_share_name *name; /* Names of the functions; NULL: do not divide any. */
    const uint64_t *samples;
    int64_t *group; /* Group of each stack, from 0, the same in all runs; -1: no function. */
};

/* Find the group of each stack. Returns the number of groups. */
size_t rps_call_groups_find(const struct rps_call_run *run, size_t count);
