/* Series: the noun right of the store. */
#include "rpistat/series.h"

#include <math.h>
#include <stdlib.h>

int rps_series_reserve(struct rps_series *series, size_t points, struct rps_error *err)
{
    points = points > 0 ? points : 1;
    *series = (struct rps_series){
        .position = calloc(points, sizeof(double)),
        .value = calloc(points, sizeof(double)),
        .min = calloc(points, sizeof(double)),
        .max = calloc(points, sizeof(double)),
        .low = calloc(points, sizeof(double)),
        .high = calloc(points, sizeof(double)),
    };
    if (series->position && series->value && series->min && series->max && series->low &&
        series->high)
        return 0;
    rps_series_free(series);
    return rps_error_memory(err);
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

void rps_series_free(struct rps_series *series)
{
    if (!series)
        return;
    free(series->high);
    free(series->low);
    free(series->max);
    free(series->min);
    free(series->value);
    free(series->position);
    *series = (struct rps_series){0};
}
