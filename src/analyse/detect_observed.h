/*
 * Input of the detector: the signals that vary, without outliers, in units of their noise, one row
 * per observation. Private to the detector (detect*.c).
 */
#ifndef RPISTAT_ANALYSE_DETECT_OBSERVED_H
#define RPISTAT_ANALYSE_DETECT_OBSERVED_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/detect.h"

/* Weights are kept in so many parts, so that their sums are exact integers. */
#define RPS_OBSERVED_WHOLE 16

/* In an arena. */
struct rps_observed {
    size_t count;              /* observations */
    size_t width;              /* signals that are used; may be 0 */
    double *value;             /* value[observation * width + signal]; 0 where not seen */
    uint8_t *weight;           /* same places, in parts of RPS_OBSERVED_WHOLE, 0 where not seen;
                                  NULL: everything was seen completely */
    double *sum;               /* sum[i * width + signal] of weight * value before observation i */
    uint32_t *weight_sum;      /* of weight, the same way, modulo 2^32; NULL as weight */
    double *correlation;       /* of neighbours, by their differences; one per signal */
    double *variance_floor;    /* lower limit of the variance of a signal's noise */
    double *tolerance;         /* variance that the means of one phase class may have */
    double unit;               /* variance of every signal's noise, by differences */
    double *gain;              /* factors for the values of the signals */
    double degrees_of_freedom; /* how many independent signals the used ones are worth */
    size_t block_count;        /* ranges without a gap */
    size_t *block;             /* their first observations; block[block_count] is count */
    size_t outlier_count;      /* observations far outside the noise of some signal, ascending */
    uint64_t *outlier;
};

/* Return the weight of value[at], 0 ... 1. */
static inline double rps_observed_part(const struct rps_observed *observed, size_t at)
{
    return observed->weight ? observed->weight[at] * (1.0 / RPS_OBSERVED_WHOLE) : 1;
}

/* Return the weight of a signal's observations from..to. */
static inline double rps_observed_weight(const struct rps_observed *observed, size_t from,
                                         size_t to, size_t signal)
{
    size_t width = observed->width;

    if (!observed->weight_sum)
        return (double)(to - from);
    return (double)(uint32_t)(observed->weight_sum[to * width + signal] -
                              observed->weight_sum[from * width + signal]) /
           RPS_OBSERVED_WHOLE;
}

/* Return their weighted mean; 0: none was seen. */
static inline double rps_observed_mean(const struct rps_observed *observed, size_t from, size_t to,
                                       size_t signal)
{
    size_t width = observed->width;
    double weight = rps_observed_weight(observed, from, to, signal);

    if (!(weight > 0))
        return 0;
    return (observed->sum[to * width + signal] - observed->sum[from * width + signal]) / weight;
}

/*
 * Prepare signals. Values that are not finite or have no weight are not seen. Signals that are
 * constant or copies of others are dropped. A value more than four robust standard deviations from
 * the running median of seven is clipped to that distance. Signals are divided by their noise,
 * estimated from differences, and by the repetition due to their correlation.
 */
struct rps_observed rps_observed_make(struct rps_arena *arena, const struct rps_signals *signals);

/*
 * For rps_observed_make: drop signals that are copies of others, and find how many independent
 * signals the rest are worth. Correlated noise makes a sum of squares over d signals vary like g
 * times a sum over h < d independent ones (Satterthwaite 1946). So values are divided by the square
 * root of g, and h is the number of degrees of freedom. Whitening would be shorter, but needs all
 * signals seen at once.
 */
void rps_observed_decorrelate(struct rps_observed *observed);

#endif
