/*
 * In which order a rotation takes the event sets: by their numbers, or each rotation in an order of
 * its own, drawn at random. A workload that repeats itself in the time of a rotation shows each set
 * the same part of itself, again and again, when the order never changes.
 */
#ifndef RPISTAT_ORDER_H
#define RPISTAT_ORDER_H

#include <stdint.h>

/* All zero: by their numbers. */
struct rps_order {
    int is_random;
    uint64_t seed; /* of all orders that are drawn */
};

/*
 * Return which of `set_count` sets is counted in a period. A rotation begins at each period whose
 * number is a multiple of set_count, and counts each set once. Of three or more sets, none is
 * counted in two consecutive periods: a set that was counted twice at the end of a run would show a
 * change there as the usual rate. The result depends on the arguments alone, so that all tracks
 * agree, and a recording can be simulated again.
 */
int rps_order_set(const struct rps_order *order, int set_count, uint64_t period);

#endif
