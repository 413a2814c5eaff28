/*
 * The order of the event sets in a rotation: by number, or drawn at random for each rotation. With
 * a constant order, a workload with the period of a rotation would show each set the same part of
 * itself every time.
 */
#ifndef RPISTAT_ORDER_H
#define RPISTAT_ORDER_H

#include <stdint.h>

/* All zero: by number. */
struct rps_order {
    int is_random;
    uint64_t seed; /* of all drawn orders */
};

/*
 * Return which of `set_count` sets is counted in a period. A rotation begins at each period whose
 * number is a multiple of set_count, and counts each set once. With three or more sets, none is
 * counted in two consecutive periods. A set counted twice at the end of a run would show a change
 * there as the usual rate. The result depends on the arguments alone, so that all tracks agree, and
 * a recording can be simulated again.
 */
int rps_order_set(const struct rps_order *order, int set_count, uint64_t period);

#endif
