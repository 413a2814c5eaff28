/*
 * What the detector works on: the signals that vary, without outliers, in units of their noise, an
 * observation a row. Private to the detector (detect*.c).
 */
#ifndef RPISTAT_ANALYSE_DETECT_OBSERVED_H
#define RPISTAT_ANALYSE_DETECT_OBSERVED_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/detect.h"

/* How well a value was seen is kept in so many parts: sums of them are exact integers. */
#define RPS_OBSERVED_WHOLE 16

/* In an arena. */
struct rps_observed {
    size_t count;              /* observations */
    size_t width;              /* signals that are used; may be 0 */
    double *value;             /* value[observation * width + signal]; 0 where not seen */
    uint8_t *weight;           /* same places, parts of RPS_OBSERVED_WHOLE, 0 where not seen; NULL:
                           everything was seen whole */
    double *sum;               /* sum[i * width + signal] of weight * value before observation i */
    uint32_t *weight_sum;      /* of weight, the same way, modulo 2^32; NULL as weight */
    double *correlation;       /* of neighbours, by their differences; a signal each */
    double *variance_floor;    /* variance that a signal's noise is taken to have at least */
    double *tolerance;         /* variance that the means of one kind may have */
    double unit;               /* variance of every signal's noise, by differences */
    double *gain;              /* what a signal's values are to be multiplied with */
    double degrees_of_freedom; /* how many independent signals the used ones are worth */
    size_t block_count;        /* stretches without a gap */
    size_t *block;             /* their first observations; block[block_count] is count */
    size_t outlier_count;      /* observations far outside the noise of some signal, ascending */
    uint64_t *outlier;
};

/* Weight of value[at], 0 ... 1. */
static inline double rps_observed_part(const struct rps_observed *observed, size_t at)
{
    return observed->weight ? observed->weight[at] * (1.0 / RPS_OBSERVED_WHOLE) : 1;
}

/* Weight of a signal's observations from..to. */
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

/* Their weighted mean; 0 where none was seen. */
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
 * Prepare signals: values that are not finite or have no weight are not seen; signals that are
 * constant or copies of others are dropped; a value more than four robust standard deviations off
 * the running median of seven is drawn in to that distance; signals are divided by their noise,
 * estimated from differences, and by what their correlation repeats.
 */
struct rps_observed rps_observed_make(struct rps_arena *arena, const struct rps_signals *signals);

/*
 * For rps_observed_make: drop signals that are copies of others, and find how many independent
 * signals the rest are worth. Correlated noise makes a sum of squares over d signals vary like g
 * times one over h < d independent ones (Satterthwaite 1946): values are divided by the square root
 * of g, and h is the freedom. Whitening would say the same with fewer words, but needs all signals
 * seen at once.
 */
void rps_observed_decorrelate(struct rps_observed *observed);

#endif
