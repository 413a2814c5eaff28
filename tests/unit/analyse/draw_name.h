/* Draw a random name with a probability proportional to its weight. */
#ifndef RPISTAT_TEST_DRAW_NAME_H
#define RPISTAT_TEST_DRAW_NAME_H

#include "rpistat/random.h"

static inline size_t draw_name(uint64_t *dice, const double *weight, size_t count)
{
    double sum = 0, at;
    size_t k = 0;

    for (size_t i = 0; i < count; i++)
        sum += weight[i];
    at = rps_random_unit(dice) * sum;
    while (k + 1 < count && (at -= weight[k]) >= 0)
        k++;
    return k;
}

#endif
