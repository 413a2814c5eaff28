/* Waves: find repetition without phases. Examples are loops shorter than the shortest phase,
 * garbage collection, and a load that follows the time of day.
 *
 * The autocorrelation of values that recur every p observations has peaks at p, 2p and 3p. If a
 * phase recurs only once, there is one peak. Noise has no peak. */
#include <math.h>

#include "rpistat/phases.h"

#define POINTS_MAX     2048
#define POINTS_MIN     24 /* minimum number of points at the coarsest resolution */
#define STEP           4  /* factor between two resolutions */
#define LAG_MIN        4  /* minimum lag in points; shorter waves need a finer resolution */
#define ITERATIONS_MIN 4
#define WINDOWS        3   /* number of windows if a resolution does not cover the whole run */
#define SEEN_MIN       .9  /* minimum share of points that must have been seen */
#define SHARE_MIN      .35 /* minimum share of the variance that must recur */
#define HALF_MIN       .2  /* minimum autocorrelation in each half */

/* Minimum deviation of recurring values, as a share of the signal's resolution. */
#define RESOLVED_MIN .5

/* Minimum height of the peaks at two and three times the lag, as a share of the first peak. */
#define LATER_MIN .7

/* If the second peak is at least this many times as high as the first, the first peak is half a
 * cycle: a cycle has two similar halves. */
#define TWICE_MIN 1.2

struct wave {
    size_t count;        /* number of points */
    int is_in_steps;     /* 1: points are differences of consecutive means */
    double *point;       /* means of observations, minus the mean of all points; 0: not seen */
    double *correlation; /* autocorrelation at each lag */
};

/* Set the points to means of `width` observations, from observation `first` on. Return 1 if nearly
 * all points were seen. */
static int take_points(struct wave *wave, const struct rps_signals *signals, size_t signal,
                       size_t first, size_t width)
{
    const double *value = signals->value + signal * signals->count + first;
    double sum = 0, seen = 0;

    for (size_t k = 0; k < wave->count; k++) {
        double own = 0, n = 0;

        for (size_t i = k * width; i < (k + 1) * width; i++) {
            own += isfinite(value[i]) ? value[i] : 0;
            n += isfinite(value[i]) != 0;
        }
        wave->point[k] = n > 0 ? own / n : NAN;
        sum += n > 0 ? wave->point[k] : 0;
        seen += n > 0;
    }
    for (size_t k = 0; k < wave->count; k++)
        wave->point[k] = isnan(wave->point[k]) ? 0 : wave->point[k] - sum / seen;
    for (size_t k = wave->count - 1; wave->is_in_steps && k > 0; k--)
        wave->point[k] -= wave->point[k - 1];
    wave->point[0] = wave->is_in_steps ? 0 : wave->point[0];
    return seen >= SEEN_MIN * (double)wave->count;
}

/* Return the autocovariance of the points. */
static double covariance(const double *point, size_t count, size_t lag)
{
    double sum = 0;

    for (size_t k = 0; k + lag < count; k++)
        sum += point[k] * point[k + lag];
    return sum / (double)(count - lag);
}

/* Return 1 if the values recur at the lag in both halves. */
static int is_in_halves(const struct wave *wave, size_t lag)
{
    const size_t half = (wave->count - lag) / 2;
    const double *later = wave->point + half;

    return covariance(wave->point, half + lag, lag) >
               HALF_MIN * covariance(wave->point, half + lag, 0) &&
           covariance(later, half + lag, lag) > HALF_MIN * covariance(later, half + lag, 0);
}

/* Return the lag with the largest correlation. The lag differs from `lag` by at most a tenth. */
static size_t near(const struct wave *wave, size_t lag, size_t lags)
{
    size_t reach = lag / 10 + 1, most = lag - reach;

    for (size_t k = most; k <= lag + reach && k <= lags; k++)
        most = wave->correlation[k] > wave->correlation[most] ? k : most;
    return most;
}

/* Find the lag of the first peak after the first valley. Return the share of the variance that
 * recurs at this lag. Return 0 if there is no peak, or if the standard deviation of the recurring
 * values is below `least`. */
static double find_peak(const struct wave *wave, size_t lags, double least, double *ret_lag)
{
    const double *r = wave->correlation;
    double valley = r[0], share;
    size_t lag = 1, peak, second, third;

    while (lag < lags && r[lag] > 0)
        lag++;
    peak = lag;
    for (; lag <= lags / 3; lag++) {
        if (r[lag] > r[peak] || r[peak] <= 0)
            peak = lag;
        if (r[peak] > 0 && r[lag] < r[peak] / 2)
            break;
    }
    for (size_t k = 1; k < peak; k++)
        valley = fmin(valley, r[k]);
    if (3 * peak > lags)
        return 0;
    second = near(wave, 2 * peak, lags);
    if (r[second] > TWICE_MIN * r[peak])
        peak = second;
    share = r[0] > 0 ? (r[peak] - valley) / 2 / r[0] : 0;
    if (peak < LAG_MIN || 3 * peak > lags)
        return 0;
    third = near(wave, 3 * peak, lags); /* the third peak shows the cycle's length best */
    if (r[near(wave, 2 * peak, lags)] < LATER_MIN * r[peak] || r[third] < LATER_MIN * r[peak] ||
        share * r[0] < least * least || !is_in_halves(wave, peak))
        return 0;
    *ret_lag = (double)third / 3;
    return share;
}

/* Return the share of the variance that recurs with the same lag in all windows (0: none). */
static double look_at(struct wave *wave, const struct rps_signals *signals, size_t signal,
                      size_t width, size_t lags, double *ret_lag)
{
    size_t spare = signals->count - wave->count * width;
    size_t windows = spare > wave->count * width ? WINDOWS : 1;
    double least = signals->resolution ? RESOLVED_MIN * signals->resolution[signal] : 0;
    double lowest = 1;

    for (size_t w = 0; w < windows; w++) {
        double lag = 0, share = 0;

        if (take_points(wave, signals, signal, windows > 1 ? w * spare / (windows - 1) : 0,
                        width)) {
            for (size_t k = 0; k <= lags; k++)
                wave->correlation[k] = covariance(wave->point, wave->count, k);
            share = find_peak(wave, lags, least, &lag);
        }
        if (w > 0 && fabs(lag - *ret_lag) > 1 + *ret_lag / 10)
            return 0;
        *ret_lag = lag;
        lowest = fmin(lowest, share);
    }
    return lowest;
}

static void look(struct wave *wave, const struct rps_signals *signals, size_t width, double *most,
                 struct rps_wave *ret)
{
    size_t lags;

    wave->count = signals->count / width < POINTS_MAX ? signals->count / width : POINTS_MAX;
    lags = 3 * wave->count / ITERATIONS_MIN;
    for (size_t s = 0; s < signals->signal_count && lags > 3 * LAG_MIN; s++) {
        double lag = 0, share = look_at(wave, signals, s, width, lags, &lag);

        if (share < SHARE_MIN || share <= *most)
            continue;
        *most = share;
        if (fabs(lag * (double)width - ret->length) < ret->length / 10)
            continue; /* the same wave: a finer resolution gives a more exact length */
        *ret = (struct rps_wave){.turns = (double)signals->count / (lag * (double)width),
                                 .length = lag * (double)width};
    }
}

struct rps_wave rps_wave_find(const struct rps_signals *signals, int is_in_steps)
{
    double point[POINTS_MAX], correlation[POINTS_MAX], most = 0;
    struct wave wave = {.is_in_steps = is_in_steps, .point = point, .correlation = correlation};
    struct rps_wave ret = {0};
    size_t width = 1;

    look(&wave, signals, width, &most, &ret);
    while (signals->count / width > (is_in_steps ? STEP * POINTS_MIN : POINTS_MAX))
        look(&wave, signals, width *= STEP, &most, &ret);
    return ret;
}
