/* Input of the detector: the signals that vary, without outliers, in noise units. Each row is one
 * observation. Private to the detector (detect*.c). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/detect.h"

/* Weights are stored in units of 1 / RPS_OBSERVED_WHOLE, so that their sums are exact integers. */
#define RPS_OBSERVED_WHOLE 16

/* Prepared observations, allocated in an arena. */
struct rps_observed {
    size_t count;              /* number of observations */
    size_t width;              /* number of used signals; may be 0 */
    double *value;             /* value[observation * width + signal]; 0 where not seen */
    uint8_t *weight;           /* weight of each value in units of 1 / RPS_OBSERVED_WHOLE, 0
                                  where not seen; NULL: everything was seen completely */
    double *sum;               /* sum[i * width + signal]: sum of weight * value before
                                  observation i */
    uint32_t *weight_sum;      /* weight_sum[i * width + signal]: sum of the weights before
                                  observation i, modulo 2^32; may be NULL like weight */
    double *correlation;       /* autocorrelation of each signal, from differences */
    double *variance_floor;    /* lower limit of the variance of a signal's noise */
    double *tolerance;         /* assumed variance between the means of phases of one class */
    double unit;               /* variance of every signal's noise, estimated from differences */
    double *gain;              /* factor for the values of each signal */
    double degrees_of_freedom; /* equivalent number of independent signals */
    size_t block_count;        /* number of blocks, which are ranges without a gap */
    size_t *block;             /* first observation of each block; block[block_count] is count */
    size_t outlier_count;      /* number of observations far outside the noise of some signal */
    uint64_t *outlier;
};

/* Return the weight of value[at] as a share, 0 ... 1. */
static inline double rps_observed_part(const struct rps_observed *observed, size_t at)
{
    return observed->weight ? observed->weight[at] * (1.0 / RPS_OBSERVED_WHOLE) : 1;
}

/* Return the total weight of a signal in the observations from..to. */
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

/* Return the weighted mean of a signal in the observations from..to, or 0 if no value was seen. */
static inline double rps_observed_mean(const struct rps_observed *observed, size_t from, size_t to,
                                       size_t signal)
{
    size_t width = observed->width;
    double weight = rps_observed_weight(observed, from, to, signal);

    if (!(weight > 0))
        return 0;
    return (observed->sum[to * width + signal] - observed->sum[from * width + signal]) / weight;
}

/* Prepare signals. Values that are not finite or have the weight 0 are treated as not seen. Signals
 * that are constant or copies of other signals are dropped. A value more than four robust standard
 * deviations from the running median of seven is clipped to this distance. Signals are divided by
 * their noise, which is estimated from differences. Signals are also divided by a factor for their
 * mutual correlation. */
struct rps_observed rps_observed_make(struct rps_arena *arena, const struct rps_signals *signals);

/* Used by rps_observed_make. Drop signals that are copies of other signals, and find the equivalent
 * number of independent signals. Correlated noise makes a sum of squares over d signals vary like g
 * times a sum over h < d independent signals (Satterthwaite 1946). So values are divided by the
 * square root of g, and h is the number of degrees of freedom. Whitening would be simpler, but
 * needs observations in which all signals are seen. */
void rps_observed_decorrelate(struct rps_observed *observed);

/* Outliers of a series of values. Private to the detector. */

/* Maximum number of consecutive values that are treated as outliers. More values are a phase. */
#define RPS_CLIP_REACH 3

/* Return the median of the seven values around value `at`. Near the ends, use fewer values. */
double rps_clip_median(const double *value, size_t count, size_t at);

/* Copy the values to `clean`, and clip outliers. An outlier is further than `limit` from the
 * running median. If outliers are rare, they are set to the median. If outliers are frequent, they
 * are set to the limit, because phases may differ in the number of outliers. Sets is_wild[k] to 1
 * for values further than `wild` from the median. */
void rps_clip(const double *value, size_t count, double limit, double wild, double *clean,
              uint8_t *is_wild);

/* Candidates: observations before which a boundary may be, and the sums of the signals up to these
 * observations. Private to the detector. */

/* Maximum length of a segment that may be a line. In longer segments the sums would overflow. */
#define RPS_CANDIDATES_LINE_MAX 1000000

/* Minimum length of a segment that may be a line. Almost any shorter segment looks like a line. */
#define RPS_CANDIDATES_LINE_MIN 8

/* Candidates, allocated in an arena. */
struct rps_candidates {
    struct rps_observed *observed;
    size_t count;
    size_t *at;           /* observation of each candidate, ascending; the first is 0, the last
                             is the number of observations */
    uint8_t *forced;      /* 1: the boundary exists regardless of the signals */
    double *sum;          /* sum[point * width + signal]: sum of value * sqrt(gain) */
    double *moment;       /* moment[point * width + signal]: sum of time * value * sqrt(gain);
                             may be NULL */
    uint64_t *weight_sum; /* sums of weight, weight * time and weight * time^2 per signal, modulo
                             2^64; NULL: everything was seen */
};

/* If places^2 * signals is at most this, a search over all places is fast enough. */
#define RPS_CANDIDATES_WORK_MAX 2e7

/* Decrease of the squares if the observations from..to are described by a constant or by a line. */
struct rps_candidate_gain {
    double constant, line;
};

/* Return the candidates at the places (0 ... count) where `keep` is 1, and at the ends of blocks.
 * If `keep` is NULL, every place is a candidate, for an exact search. If `lines` is 1, also prepare
 * the gains of lines. */
struct rps_candidates rps_candidates_make(struct rps_arena *arena, struct rps_observed *observed,
                                          const uint8_t *keep, int lines);

/* Return the places where two neighbouring windows of any length differ most, if they differ more
 * than by chance. If there are few places, return all places. If `constants` is not NULL, return
 * candidates for lines: those of `constants`, and the places where windows deviate from a line. */
struct rps_candidates rps_candidates_screen(struct rps_arena *arena, struct rps_observed *observed,
                                            const struct rps_candidates *constants);

/* Add up all sums again after the gains of the signals have changed. */
void rps_candidates_add_up(struct rps_candidates *candidates);

/* Return the gains of the segment between two candidates, from < to. If lines are used, this
 * includes the gain of a line. */
struct rps_candidate_gain rps_candidates_gain(const struct rps_candidates *candidates, size_t from,
                                              size_t to);

/* Return the gains of `count` segments. Segment k starts at from[k]. All segments end at `to`. */
void rps_candidates_gains(const struct rps_candidates *candidates, const size_t *from, size_t count,
                          size_t to, struct rps_candidate_gain *ret);
