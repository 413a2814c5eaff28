/*
 * Wandering: what is explained by where a series was lately, without any phases.
 *
 * Sums of processes of many speeds, and slow waves, are no first-order autoregression, so that
 * segments describe them better than one does. But then the means of the last 1, 4, 16 ... values
 * predict the next one better still (a heterogeneous autoregression: Corsi 2009). Levels that stay
 * for a while and then jump are predicted badly by such means.
 */
#include <math.h>

#include "detect_choose.h"

#define MEANS 5

/* So many values of a signal tell enough, in each block. */
#define SAMPLE_MAX 65536

/* Pivots below this share are rounding. */
#define PIVOT_MIN 1e-9

static const size_t length_of[MEANS] = {1, 4, 16, 64, 256};

/* Sums of products of the means and, last, of the value that they predict. */
struct regression {
    double products[MEANS][MEANS + 1];
    double squares;
};

/* The values of a block; `every`: how many observations there are to one that was seen. */
static void add_block(const struct rps_observed *observed, size_t first, size_t end, size_t signal,
                      size_t every, struct regression *r)
{
    double level = rps_observed_mean(observed, first, end, signal);

    for (size_t i = first + 1; i < end; i += (end - first) / SAMPLE_MAX + 1) {
        double x[MEANS + 1];

        if (observed->weight && observed->weight[i * observed->width + signal] == 0)
            continue;
        for (size_t m = 0; m < MEANS; m++) {
            size_t length = length_of[m] * every;

            x[m] = rps_observed_mean(observed, i - first > length ? i - length : first, i, signal) -
                   level;
        }
        x[MEANS] = observed->value[i * observed->width + signal] - level;
        for (size_t m = 0; m < MEANS; m++) {
            for (size_t k = 0; k <= MEANS; k++)
                r->products[m][k] += x[m] * x[k];
        }
        r->squares += x[MEANS] * x[MEANS];
    }
}

/* The share of the squares that the best combination of the means leaves: Gauss's elimination,
 * which leaves out what is a combination of the others. */
static double share_left(struct regression *r)
{
    double left = r->squares;

    for (size_t i = 0; i < MEANS; i++) {
        double pivot = r->products[i][i];

        if (!(pivot > PIVOT_MIN * r->squares))
            continue;
        left -= r->products[i][MEANS] * r->products[i][MEANS] / pivot;
        for (size_t k = i + 1; k < MEANS; k++) {
            double factor = r->products[k][i] / pivot;

            for (size_t j = i; j <= MEANS; j++)
                r->products[k][j] -= factor * r->products[i][j];
        }
    }
    return r->squares > 0 ? left / r->squares : 1;
}

int rps_noise_wanders(const struct rps_observed *observed, const struct rps_noise *none,
                      const struct rps_noise *noise, size_t fitted)
{
    double means = 0, phases = 0;

    for (size_t s = 0; s < observed->width; s++) {
        struct regression r = {.squares = 0};
        /* What a signal is taken to have at least is added, and is no bound here: jumps between
         * quiet levels would hide below it in the mean of all squares. */
        double floor = observed->variance_floor[s] + RPS_NOISE_VARIANCE_MIN * none[s].raw, count;

        if (!(none[s].raw > 0))
            continue;
        for (size_t b = 0; b < observed->block_count; b++)
            add_block(observed, observed->block[b], observed->block[b + 1], s,
                      (size_t)((double)observed->count / none[s].count + 0.5), &r);
        count = none[s].count;
        means += count * log(share_left(&r) * none[s].raw + floor);
        phases += count * log(rps_noise_innovation(&noise[s], noise[s].autocorrelation) + floor) +
                  rps_noise_overfit(count, (double)fitted);
    }
    return means < phases;
}
