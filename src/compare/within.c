/*
 * How sure a sum of autocorrelated terms is; see rpistat/change.h.
 *
 * Four coefficients, since what is slow shows in the first ones alone. The larger of the variances
 * by eight coefficients and by a first-order autoregression was tried and dropped: up to 28 % of
 * false alarms where noise lies about something slow. One degree of freedom less than coefficients,
 * since these fall off and so count for fewer (Satterthwaite 1946: 3.1 where the spectrum has
 * fallen to a quarter). A short series seems long enough most often where its variance comes out
 * too small; so the variance is taken larger the fewer terms seem independent. Figures:
 * tests/bench/changes.
 */
#include <math.h>

#include "rpistat/change.h"

#define COEFFICIENTS 4
#define DEGREES      3

/* So many effective terms double the variance. */
#define EFFECTIVE_WARY 20

/* Of the terms that were seen. */
struct look {
    double count, largest, mean; /* the mean in units of the largest */
};

static struct look look_at(const double *term, size_t count)
{
    struct look ret = {0};

    for (size_t i = 0; i < count; i++) {
        if (!isfinite(term[i]))
            continue;
        ret.count++;
        ret.largest = fmax(ret.largest, fabs(term[i]));
    }
    for (size_t i = 0; i < count && ret.largest > 0; i++)
        ret.mean += isfinite(term[i]) ? term[i] / ret.largest / ret.count : 0;
    return ret;
}

/* The mean square of the coefficients and, in *ret_spread, the variance of the terms, both in
 * squares of the largest. (x, y) is the cosine and the sine of an angle that grows by one step a
 * term. */
static double coefficients(const double *term, size_t count, const struct look *look,
                           double *ret_spread)
{
    double x[COEFFICIENTS], y[COEFFICIENTS], turn_x[COEFFICIENTS], turn_y[COEFFICIENTS];
    double sum[COEFFICIENTS] = {0}, ret = 0;

    for (int k = 0; k < COEFFICIENTS; k++) {
        double angle = M_PI * (k + 1) / look->count;

        turn_x[k] = cos(angle);
        turn_y[k] = sin(angle);
        x[k] = cos(angle / 2);
        y[k] = sin(angle / 2);
    }
    *ret_spread = 0;
    for (size_t i = 0; i < count; i++) {
        double e = term[i] / look->largest - look->mean;

        if (!isfinite(term[i]))
            continue;
        *ret_spread += e * e / (look->count - 1);
        for (int k = 0; k < COEFFICIENTS; k++) {
            double turned = x[k] * turn_x[k] - y[k] * turn_y[k];

            sum[k] += e * x[k];
            y[k] = x[k] * turn_y[k] + y[k] * turn_x[k];
            x[k] = turned;
        }
    }
    for (int k = 0; k < COEFFICIENTS; k++)
        ret += 2 / look->count * sum[k] * sum[k] / COEFFICIENTS;
    return ret;
}

struct rps_within rps_within_find(const double *term, size_t count)
{
    struct rps_within ret = {INFINITY, DEGREES, 0};
    struct look look = look_at(term, count);
    double square, spread, wary;

    if (look.count <= COEFFICIENTS)
        return ret;
    if (look.largest == 0)
        return (struct rps_within){0, DEGREES, look.count};
    square = coefficients(term, count, &look, &spread);
    ret.effective = fmin(look.count * spread / square, look.count);
    wary = EFFECTIVE_WARY / ret.effective;
    ret.variance = look.count * square * (1 + wary * wary) * look.largest * look.largest;
    return ret;
}
