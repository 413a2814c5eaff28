/* The order of the event sets in a rotation: by number, or random in each rotation. If a workload
 * repeats as often as the rotations do, and the order is constant, each set is counted in only one
 * part of the workload's behaviour. */
#pragma once

#include <stdint.h>

/* Order of event sets. If all members are zero, sets are in the order of their numbers. */
struct rps_order {
    int is_random;
    uint64_t seed; /* Seed of all random orders */
};

/* Return which of `set_count` sets is counted in a period. A rotation begins at each period whose
 * number is a multiple of set_count, and counts each set once. With three or more sets, no set is
 * counted in two consecutive periods. If a set were counted in the last two periods of a run, a
 * change in these periods would look like the set's usual rate. The result depends only on the
 * arguments, so that all tracks agree, and a recording can be simulated again. */
int rps_order_set(const struct rps_order *order, int set_count, uint64_t period);
