/* The Dirichlet-multinomial of a table's counts; see counts.h. */
#include <math.h>

#include "counts.h"
#include "rpistat/count_table.h"

/* Counts that the run's own mix is worth. */
#define PRIOR 3.0

/* From here on, Stirling's series is exact to ten digits. */
#define STIRLING_FROM 8

#define HALF_LOG_TWO_PI 0.91893853320467274178

static double log_gamma(double x)
{
    double product = 1, inverse;

    for (; x < STIRLING_FROM; x++)
        product *= x;
    inverse = 1 / (x * x);
    return (x - .5) * log(x) - x + HALF_LOG_TWO_PI - log(product) +
           (1. / 12 - inverse * (1. / 360 - inverse / 1260)) / x;
}

struct rps_mix rps_mix_make(struct rps_arena *arena, const struct rps_count_table *table)
{
    size_t symbols = table->width + 1;
    struct rps_mix mix = {.width = table->width,
                          .divisor = table->divisor,
                          .is_read = table->is_read,
                          .prior = rps_arena_get(arena, symbols, sizeof(*mix.prior)),
                          .base = rps_arena_get(arena, symbols, sizeof(*mix.base)),
                          .rise = rps_arena_get(arena, symbols * RPS_MIX_STEPS, sizeof(*mix.rise))};
    double all = .5 * (double)table->width;

    for (size_t e = 0; e < table->begin[table->count]; e++) {
        mix.prior[table->entry[e].symbol] += (double)table->entry[e].count;
        all += (double)table->entry[e].count;
    }
    for (size_t k = 0; k < table->width; k++)
        mix.prior[k] = PRIOR * (mix.prior[k] + .5) / all;
    mix.prior[table->width] = PRIOR;
    for (size_t k = 0; k <= table->width; k++) {
        mix.base[k] = log_gamma(mix.prior[k]);
        for (size_t c = 1; c < RPS_MIX_STEPS; c++)
            mix.rise[k * RPS_MIX_STEPS + c] =
                mix.rise[k * RPS_MIX_STEPS + c - 1] + log(mix.prior[k] + (double)(c - 1));
    }
    return mix;
}

double rps_mix_rise_far(const struct rps_mix *mix, size_t symbol, double count)
{
    return log_gamma(mix->prior[symbol] + count) - mix->base[symbol];
}
