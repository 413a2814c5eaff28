#include "rpistat/series.h"

#include <math.h>

struct rps_series rps_series_new(struct rps_arena *arena, size_t points)
{
    double *room = rps_arena_get(arena, points, 6 * sizeof(*room));

    return (struct rps_series){.position = room,
                               .value = room + points,
                               .min = room + 2 * points,
                               .max = room + 3 * points,
                               .low = room + 4 * points,
                               .high = room + 5 * points};
}

void rps_series_add(struct rps_series *series, double position, double value, double min,
                    double max)
{
    size_t i = series->count++;

    series->position[i] = position;
    series->value[i] = value;
    series->min[i] = isnan(value) ? NAN : min < value ? min : value;
    series->max[i] = isnan(value) ? NAN : max > value ? max : value;
    series->low[i] = series->high[i] = NAN;
}

int rps_series_is_lone(const struct rps_series *series, size_t i)
{
    return (i == 0 || !isfinite(series->value[i - 1])) &&
           (i + 1 == series->count || !isfinite(series->value[i + 1]));
}
