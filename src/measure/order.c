/* The order of the event sets. */
#include "rpistat/order.h"

#include "rpistat/random.h"

/* Fewer sets would have one order only. */
#define APART_SETS_LEAST 3

/* Shuffling a rotation's sets (Fisher and Yates) swaps place n, from the last one down, with this
 * one of the places up to n. */
static int partner(const struct rps_order *order, int set_count, uint64_t rotation, int n)
{
    uint64_t number = rotation * (uint64_t)set_count + (uint64_t)n;

    return (int)(rps_random_at(order->seed, number) % ((uint64_t)n + 1));
}

/* Only one place is asked for: where it got its set from is followed back to before the first
 * swap, when each place n held set n. */
static int drawn(const struct rps_order *order, int set_count, uint64_t rotation, int place)
{
    int set = partner(order, set_count, rotation, place);

    for (int n = place + 1; n < set_count; n++)
        if (partner(order, set_count, rotation, n) == set)
            set = n;
    return set;
}

/* The first two places are swapped where the first one would repeat the set before it. The last
 * place is never swapped so, and all orders remain equally likely. */
int rps_order_set(const struct rps_order *order, int set_count, uint64_t period)
{
    uint64_t rotation = period / (uint64_t)set_count;
    int place = (int)(period % (uint64_t)set_count);

    if (!order->is_random)
        return place;
    if (place < 2 && rotation > 0 && set_count >= APART_SETS_LEAST &&
        drawn(order, set_count, rotation, 0) ==
            drawn(order, set_count, rotation - 1, set_count - 1))
        place = 1 - place;
    return drawn(order, set_count, rotation, place);
}
