/* How sure a sum of autocorrelated terms is; see rpistat/change.h. */
#include <math.h>

#include "rpistat/change.h"

#define COEFFICIENTS 8
#define TERMS_LEAST  3

#define PI 3.14159265358979323846

struct terms {
    const double *term;
    size_t count, seen;
    double scale, mean; /* the largest term's size; the mean in it */
};

/* A term less the mean, in the scale; NaN: not seen. */
static double deviation(const struct terms *t, size_t i)
{
    return isfinite(t->term[i]) ? t->term[i] / t->scale - t->mean : NAN;
}

static struct terms look_at(const double *term, size_t count)
{
    struct terms ret = {.term = term, .count = count};
    double sum = 0;

    for (size_t i = 0; i < count; i++) {
        ret.seen += isfinite(term[i]) != 0;
        ret.scale = isfinite(term[i]) ? fmax(ret.scale, fabs(term[i])) : ret.scale;
    }
    for (size_t i = 0; i < count && ret.scale > 0; i++)
        sum += isfinite(term[i]) ? term[i] / ret.scale : 0;
    ret.mean = ret.seen > 0 ? sum / (double)ret.seen : 0;
    return ret;
}

/*
 * Of a first-order autoregression of n terms, as if each were one. The correlation of neighbours
 * that is seen is short of the true one by (1 + 3 r) / n (Kendall 1954). Degrees by Satterthwaite:
 * variances 2 / n of the shocks' variance, and (1 - r^2) / n of r.
 */
static struct rps_within autoregression(const struct terms *t)
{
    double n = (double)t->seen, squares = 0, products = 0, pairs = 0, before = NAN, r;
    struct rps_within ret;

    for (size_t i = 0; i < t->count; i++) {
        double e = deviation(t, i);

        squares += isnan(e) ? 0 : e * e;
        products += isnan(e * before) ? 0 : e * before;
        pairs += !isnan(e * before);
        before = e;
    }
    r = pairs > 0 && squares > 0 ? products / squares * n / pairs : 0;
    r = fmin(r + (1 + 3 * r) / n, 1 - 1 / n);
    ret.variance = n * squares / (n - 1) * (1 + r) / (1 - r);
    ret.effective = n * (1 - r) / (1 + r);
    ret.degrees = 1 / (1 / n + 2 / ret.effective);
    return ret;
}

/* By the first coefficients of the cosine transform, a turn of a wheel a term each. */
static struct rps_within transform(const struct terms *t)
{
    double x[COEFFICIENTS], y[COEFFICIENTS], turn_x[COEFFICIENTS], turn_y[COEFFICIENTS];
    double sum[COEFFICIENTS] = {0}, n = (double)t->seen, squares = 0;

    for (int k = 0; k < COEFFICIENTS; k++) {
        double angle = PI * (k + 1) / n;

        turn_x[k] = cos(angle);
        turn_y[k] = sin(angle);
        x[k] = cos(angle / 2);
        y[k] = sin(angle / 2);
    }
    for (size_t i = 0; i < t->count; i++) {
        double e = deviation(t, i);

        if (isnan(e))
            continue;
        for (int k = 0; k < COEFFICIENTS; k++) {
            double turned = x[k] * turn_x[k] - y[k] * turn_y[k];

            sum[k] += e * x[k];
            y[k] = x[k] * turn_y[k] + y[k] * turn_x[k];
            x[k] = turned;
        }
    }
    for (int k = 0; k < COEFFICIENTS; k++)
        squares += 2 / n * sum[k] * sum[k];
    return (struct rps_within){.variance = n * squares / COEFFICIENTS, .degrees = COEFFICIENTS};
}

struct rps_within rps_within_find(const double *term, size_t count)
{
    struct rps_within none = {NAN, 0, 0}, ret, other;
    struct terms t = look_at(term, count);

    if (t.seen < TERMS_LEAST)
        return none;
    ret = autoregression(&t);
    other = transform(&t);
    if (other.variance > ret.variance) {
        ret.effective *= ret.variance / other.variance;
        ret.variance = other.variance;
        ret.degrees = other.degrees;
    }
    ret.effective = fmin(ret.effective, (double)t.seen);
    ret.variance *= t.scale * t.scale;
    return ret;
}
