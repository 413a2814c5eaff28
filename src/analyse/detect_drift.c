/* Detect drift. A drifting series has no phases, although segments describe it better than a
 * constant with noise does.
 *
 * A sum of slow and fast processes is no first-order autoregression. For such a sum, the means of
 * the last 1, 4, 16 ... values predict the next value better than the segments do (heterogeneous
 * autoregression, Corsi 2009). If levels last for a while and then jump, these means predict the
 * next value badly.
 *
 * A slow wave has no step at the boundaries of its segments. So a polynomial describes a wave in
 * two neighbouring segments better than two constants or lines do. At a real step, a polynomial
 * leaves a fifth of the squared residuals. */
#include <math.h>

#include "detect_pelt.h"
#include "rpistat/random.h"

#define MEANS  5
#define CURVE  5 /* number of coefficients of the polynomial: degree 4 fits a whole wave */
#define FITTED 5 /* maximum number of coefficients that are fitted at once */

/* Maximum number of values that are used per signal and block. */
#define SAMPLE_MAX 65536

/* Price of each coefficient that the polynomial has more than the segments, as a share of
 * log(number of values). A lower price loses weak steps in autocorrelated noise. A higher price
 * finds false phases in slow waves (tests/bench/phases). The boundary between the segments costs as
 * much as PLACE coefficients for all signals together. */
#define PRICE .4
#define PLACE 2

/* Prices in units of twice the logarithm of the likelihood. PRICE_ANY is for having segments,
 * PRICE_PLACE for each boundary, PRICE_LEVEL and PRICE_SLOPE for each level and slope of a signal.
 * With lower prices, phases are found in random walks of 500 rows. With higher prices, weak steps
 * are lost. Random walks of more than CELLS_MAX values rarely need this test. */
#define PRICE_ANY   12
#define PRICE_PLACE 4
#define PRICE_LEVEL 3.5
#define PRICE_SLOPE 12
#define CELLS_MAX   65536

/* Range of the variances tried for the steps of a walk, as shares of the noise's variance. */
#define RATIO_MIN  1e-7
#define RATIO_STEP 3

/* Minimum autocorrelation of the noise that a random walk may have. */
#define CORRELATION_MIN .05

/* Minimum relative pivot. Smaller pivots are rounding errors. */
#define PIVOT_MIN 1e-9

static const size_t length_of[MEANS] = {1, 4, 16, 64, 256};

/* Sums of products of the predictors and of the predicted value, which has the last index. */
struct regression {
    double products[FITTED][FITTED + 1];
    double squares;
};

static void add(struct regression *r, const double *x, double part)
{
    for (size_t k = 0; k < FITTED; k++) {
        for (size_t j = 0; j <= FITTED; j++)
            r->products[k][j] += part * x[k] * x[j];
    }
    r->squares += part * x[FITTED] * x[FITTED];
}

/* Return the squared residuals of the best linear combination of predictors. Gauss's elimination
 * skips predictors that depend on others: their pivot is at most PIVOT_MIN times `scale`. */
static double find_left(struct regression *r, double scale)
{
    double left = r->squares;

    for (size_t i = 0; i < FITTED; i++) {
        double pivot = r->products[i][i];

        if (!(pivot > PIVOT_MIN * scale))
            continue;
        left -= r->products[i][FITTED] * r->products[i][FITTED] / pivot;
        for (size_t k = i + 1; k < FITTED; k++) {
            double factor = r->products[k][i] / pivot;

            for (size_t j = i; j <= FITTED; j++)
                r->products[k][j] -= factor * r->products[i][j];
        }
    }
    return left;
}

/* Add the values of a block. `every` is the number of observations per seen value. */
static void add_block(const struct rps_observed *observed, const size_t *block, size_t signal,
                      size_t every, struct regression *r)
{
    size_t first = block[0], end = block[1], width = observed->width;
    size_t stride = (end - first) / SAMPLE_MAX + 1;
    double middle = rps_observed_mean(observed, first, end, signal);

    for (size_t from = first + 1; from < end; from += stride) {
        /* Use a random value of each group: every n-th value might miss all jumps of a loop. */
        size_t i = from + (size_t)(rps_random_at(signal, from) % stride);
        double x[FITTED + 1];

        if (i >= end || (observed->weight && observed->weight[i * width + signal] == 0))
            continue;
        for (size_t m = 0; m < MEANS; m++) {
            size_t length = length_of[m] * every, begin = i - first > length ? i - length : first;

            x[m] = rps_observed_mean(observed, begin, i, signal) - middle;
        }
        x[FITTED] = observed->value[i * width + signal] - middle;
        add(r, x, 1);
    }
}

/* Find the squared residuals of segments k - 1 and k, and of one Legendre polynomial for both. */
static void find_pair(const struct rps_observed *observed,
                      const struct rps_segmentation *segmentation, size_t k, size_t signal,
                      double *ret_segments, double *ret_curve)
{
    const size_t *first = &segmentation->first[k - 1];
    double half = (double)(first[2] - first[0]) / 2, squares = 0;
    struct rps_fit fit[2] = {rps_segmentation_fit(observed, segmentation, k - 1, signal),
                             rps_segmentation_fit(observed, segmentation, k, signal)};
    struct regression r = {.squares = 0};

    for (size_t i = first[0]; i < first[2]; i += (first[2] - first[0]) / SAMPLE_MAX + 1) {
        double part = rps_observed_part(observed, i * observed->width + signal);
        double value = observed->value[i * observed->width + signal];
        double at = ((double)(i - first[0]) + .5) / half - 1, x[FITTED + 1] = {1, at};
        double left = value - fit[i >= first[1]].level - fit[i >= first[1]].slope * (double)i;

        for (size_t d = 2; d < CURVE; d++)
            x[d] = ((double)(2 * d - 1) * at * x[d - 1] - (double)(d - 1) * x[d - 2]) / (double)d;
        x[FITTED] = value - fit[0].level;
        add(&r, x, part);
        squares += part * left * left;
    }
    *ret_segments = squares;
    *ret_curve = find_left(&r, r.products[0][0]);
}

/* Return 1 if polynomials describe neighbouring segments better than the segments do.
 * Autocorrelation makes both fits look too good, so both are corrected. */
static int bends(const struct rps_observed *observed, const struct rps_noise *noise,
                 const struct rps_segmentation *segmentation)
{
    const size_t *first = segmentation->first;
    double gain = 0;

    for (size_t k = 1; k < segmentation->count; k++) {
        double fitted = 2 + segmentation->sloped[k - 1] + segmentation->sloped[k];
        double more = CURVE - fitted - PLACE / (double)observed->width;

        for (size_t s = 0; s < observed->width && !segmentation->forced[k]; s++) {
            double count = rps_observed_weight(observed, first[k - 1], first[k + 1], s);
            double a = noise[s].autocorrelation, segments, curve;

            find_pair(observed, segmentation, k, s, &segments, &curve);
            gain += sqrt((1 - a) / (1 + a)) * count *
                        log((segments + PIVOT_MIN) / (curve + PIVOT_MIN)) -
                    rps_noise_overfit(count, CURVE) + rps_noise_overfit(count, fitted) -
                    PRICE * more * log(count);
        }
    }
    return gain > 0;
}

/* Return twice the negative log-likelihood of a random walk in noise. Uses Kalman's filter. The
 * noise may be autocorrelated: then `correlation` times the previous value is subtracted from each
 * value. If the previous value is unknown, the value itself stands for it, so that all correlations
 * use the same values. */
static double fit_walk(const struct rps_observed *observed, size_t signal, double ratio,
                       double correlation, double floor)
{
    double squares = 0, logs = 0, count = 0;

    for (size_t b = 0; b < observed->block_count; b++) {
        double level = 0, variance = 0; /* mean and variance of the level; 0: nothing was seen */
        double value = NAN;

        for (size_t i = observed->block[b]; i < observed->block[b + 1]; i++) {
            size_t at = i * observed->width + signal;
            double before = value, step, all = variance + ratio + 1, gain = 1;

            value = observed->weight && observed->weight[at] == 0 ? NAN : observed->value[at];
            step = value - level - correlation * (isfinite(before) ? before : value);
            if (!isfinite(step)) {
                variance += variance > 0 ? ratio : 0;
                continue;
            }
            if (variance > 0) {
                gain = 1 - 1 / all;
                squares += step * step / all;
                logs += log(all);
                count++;
            }
            level += gain * step;
            variance = gain;
        }
    }
    return count * log(squares / fmax(count, 1) + floor) + logs;
}

/* Return 1 if random walks in noise describe the signals better than the segments do, prices
 * included. `by_phases` is twice the negative log-likelihood of the segments. */
static int walks(const struct rps_observed *observed, const struct rps_noise *none,
                 const struct rps_noise *noise, const struct rps_segmentation *segmentation,
                 double by_phases)
{
    double width = 0, by_walks = 0;

    if (observed->count * observed->width > CELLS_MAX)
        return 0;
    for (size_t s = 0; s < observed->width; s++) {
        double floor = observed->variance_floor[s] + RPS_NOISE_VARIANCE_MIN * none[s].raw;
        double least = INFINITY;

        if (!rps_noise_counts(&none[s], &noise[s]))
            continue;
        width++;
        for (double ratio = 1; ratio > RATIO_MIN; ratio /= RATIO_STEP) {
            least = fmin(least, fit_walk(observed, s, ratio, 0, floor));
            if (noise[s].autocorrelation > CORRELATION_MIN)
                least = fmin(least, fit_walk(observed, s, ratio, noise[s].autocorrelation, floor));
        }
        by_walks += least;
    }
    return by_walks < by_phases + PRICE_ANY +
                          (double)segmentation->free * (PRICE_PLACE + PRICE_LEVEL * width) +
                          (double)segmentation->sloped_count * PRICE_SLOPE * width;
}

int rps_noise_drifts(const struct rps_observed *observed, const struct rps_noise *none,
                     const struct rps_noise *noise, const struct rps_segmentation *segmentation)
{
    double by_means = 0, by_phases = 0;

    for (size_t s = 0; s < observed->width; s++) {
        struct regression r = {.squares = 0};
        /* The floor is added to the variance. If the floor were a lower limit of the mean square,
         * jumps between quiet levels would be hidden. */
        double floor = observed->variance_floor[s] + RPS_NOISE_VARIANCE_MIN * none[s].raw;
        double count = none[s].count, fitted = noise[s].fitted, variance;

        if (!rps_noise_counts(&none[s], &noise[s]))
            continue;
        for (size_t b = 0; b < observed->block_count; b++)
            add_block(observed, &observed->block[b], s,
                      (size_t)((double)observed->count / count + 0.5), &r);
        variance = r.squares > 0 ? none[s].raw / r.squares : 0;
        by_means += count * log(find_left(&r, r.squares) * variance + floor) +
                    fmax(0, MEANS - fitted); /* noise fits each further coefficient by 1 */
        by_phases +=
            count * log(rps_noise_innovation(&noise[s], noise[s].autocorrelation) + floor) +
            rps_noise_overfit(count, fitted);
    }
    /* Signals of recordings have tolerances. Other signals are also tested for waves and random
     * walks. */
    return by_means < by_phases || (!(observed->tolerance[0] > 0) &&
                                    (bends(observed, noise, segmentation) ||
                                     walks(observed, none, noise, segmentation, by_phases)));
}
