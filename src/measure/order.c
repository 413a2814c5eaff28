/* The order of the event sets. */
#include "rpistat/order.h"

#include "rpistat/random.h"

/* Shuffling a rotation's sets (Fisher and Yates) swaps place n, from the last one down, with this
 * one of the places up to n. */
static int partner(const struct rps_order *order, int set_count, uint64_t rotation, int n)
{
    uint64_t number = rotation * (uint64_t)set_count + (uint64_t)n;

    return (int)(rps_random_at(order->seed, number) % ((uint64_t)n + 1));
}

/* Only one place is asked for: where it got its set from is followed back to before the first
 * swap, when each place n held set n. */
int rps_order_set(const struct rps_order *order, int set_count, uint64_t period)
{
    uint64_t rotation = period / (uint64_t)set_count;
    int place = (int)(period % (uint64_t)set_count), set;

    if (!order->is_random)
        return place;
    set = partner(order, set_count, rotation, place);
    for (int n = place + 1; n < set_count; n++)
        if (partner(order, set_count, rotation, n) == set)
            set = n;
    return set;
}
