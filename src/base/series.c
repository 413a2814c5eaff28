/* Series: the noun right of the store. */
#include "rpistat/series.h"

#include <stdlib.h>

void rps_series_free(struct rps_series *series)
{
    if (!series)
        return;
    free(series->max);
    free(series->min);
    free(series->value);
    free(series->position);
    *series = (struct rps_series){0};
}
