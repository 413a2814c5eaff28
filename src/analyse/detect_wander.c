/*
 * Drift: recent values explain a series without any phases.
 *
 * Sums of processes of many speeds, and slow waves, are not first-order autoregressions, so
 * segments describe them better than such a process does. But the means of the last 1, 4, 16 ...
 * values predict the next one even better (a heterogeneous autoregression: Corsi 2009). Such means
 * predict badly if levels last for a while and then jump: the levels of the phases then add much.
 */
#include <math.h>

#include "detect_choose.h"

#define MEANS 5

/* The means, and the levels of the phases at the value and before it. */
#define ALL (MEANS + 2)

/* This many values of a signal are enough, in each block. */
#define SAMPLE_MAX 65536

/* Levels are rejected if they add less than this share of the criterion's charge, with FIRST_MIN of
 * the charge for the first. Single steps of 1 deviation in 500 values add .8 to 1.6 of the charge,
 * slow waves .1 to .6. Larger shares lose weak steps (tests/bench/phases, hard). */
#define WORTH_MIN .45
#define FIRST_MIN .1

/* The same share for a line after a constant. A line after another line, as in a slow wave, has the
 * charge of a change. */
#define SLOPE_MIN  .17
#define FITTED_MAX 9 /* segments and lines of a slow wave; in tables: recordings have tolerances */

/* Pivots below this share are rounding errors. */
#define PIVOT_MIN 1e-9

static const size_t length_of[MEANS] = {1, 4, 16, 64, 256};

/* Sums of products of the means, the levels and, last, the predicted value. */
struct regression {
    double products[ALL][ALL + 1];
    double squares;
};

/* Add the values of a block; `every`: the number of observations per seen one. */
static void add_block(const struct rps_observed *observed,
                      const struct rps_segmentation *segmentation, const size_t *block,
                      size_t signal, size_t every, struct regression *r)
{
    size_t first = block[0], end = block[1], width = observed->width, k = 0;
    double middle = rps_observed_mean(observed, first, end, signal), before = NAN;
    struct rps_fit fit = {0};

    for (size_t i = first; i<end; i += i> first ? (end - first) / SAMPLE_MAX + 1 : 1) {
        double x[ALL + 1];

        if (i == first || segmentation->first[k + 1] <= i) {
            while (segmentation->first[k + 1] <= i)
                k++;
            fit = rps_segmentation_fit(observed, segmentation, k, signal);
        }
        x[MEANS + 1] = before;
        x[MEANS] = before = fit.level + fit.slope * (double)i - middle;
        if (i == first || (observed->weight && observed->weight[i * width + signal] == 0))
            continue;
        for (size_t m = 0; m < MEANS; m++) {
            size_t length = length_of[m] * every, begin = i - first > length ? i - length : first;

            x[m] = rps_observed_mean(observed, begin, i, signal) - middle;
        }
        x[ALL] = observed->value[i * width + signal] - middle;
        for (size_t m = 0; m < ALL; m++) {
            for (size_t j = 0; j <= ALL; j++)
                r->products[m][j] += x[m] * x[j];
        }
        r->squares += x[ALL] * x[ALL];
    }
}

/* Find the squares that the best combination of the means leaves, and that of means and levels.
 * Gauss's elimination leaves out combinations of the others. */
static void find_left(struct regression *r, double *ret_means, double *ret_all)
{
    double left = r->squares;

    for (size_t i = 0; i < ALL; i++) {
        double pivot = r->products[i][i];

        if (i == MEANS)
            *ret_means = left;
        if (!(pivot > PIVOT_MIN * r->squares))
            continue;
        left -= r->products[i][ALL] * r->products[i][ALL] / pivot;
        for (size_t k = i + 1; k < ALL; k++) {
            double factor = r->products[k][i] / pivot;

            for (size_t j = i; j <= ALL; j++)
                r->products[k][j] -= factor * r->products[i][j];
        }
    }
    *ret_all = left;
}

int rps_noise_wanders(const struct rps_observed *observed, const struct rps_noise *none,
                      const struct rps_noise *noise, const struct rps_segmentation *segmentation)
{
    size_t fitted = segmentation->count + segmentation->sloped_count;
    double by_means = 0, by_phases = 0, gain = 0;
    double first = rps_choose_penalty(observed, 1), penalty = FIRST_MIN * first;

    for (size_t s = 0; s < observed->width; s++) {
        struct regression r = {.squares = 0};
        /* The floor is added here and is not a lower limit. Below a limit, the mean of all squares
         * would hide jumps between quiet levels. */
        double floor = observed->variance_floor[s] + RPS_NOISE_VARIANCE_MIN * none[s].raw;
        double count = none[s].count, means = 0, all = 0, variance;

        if (!(none[s].raw > 0))
            continue;
        for (size_t b = 0; b < observed->block_count; b++)
            add_block(observed, segmentation, &observed->block[b], s,
                      (size_t)((double)observed->count / count + 0.5), &r);
        find_left(&r, &means, &all);
        variance = r.squares > 0 ? none[s].raw / r.squares : 0;
        means = count * log(means * variance + floor);
        by_means += means;
        by_phases +=
            count * log(rps_noise_innovation(&noise[s], noise[s].autocorrelation) + floor) +
            rps_noise_overfit(count, (double)fitted);
        gain += means - count * log(all * variance + floor);
    }
    for (size_t k = 0; k < segmentation->count; k++)
        penalty += !segmentation->sloped[k]               ? 0
                   : k > 0 && segmentation->sloped[k - 1] ? WORTH_MIN * first
                                                          : SLOPE_MIN * first;
    for (size_t k = 1; k <= segmentation->free; k++)
        penalty += WORTH_MIN * rps_choose_penalty(observed, k);
    gain *= observed->degrees_of_freedom / (double)observed->width;
    return by_means < by_phases ||
           (fitted <= FITTED_MAX && gain < penalty && !(observed->tolerance[0] > 0));
}
