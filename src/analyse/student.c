/*
 * Student's t. The share beyond |t| is the regularised incomplete beta function I_x(v / 2, 1 / 2)
 * at x = v / (v + t^2) (Abramowitz and Stegun 1964, 26.7.1). Its continued fraction is 26.5.8.
 */
#include "rpistat/student.h"

#include <math.h>

/* The normal distribution is used from so many degrees of freedom on. */
#define FREEDOM_NORMAL 1e7

/* More steps than the fraction takes below so many degrees of freedom. */
#define STEPS_MOST 10000

/* Step k of the continued fraction of I_x(a, b): its numerator (26.5.8). */
static double numerator(double a, double b, double x, int k)
{
    double m = k / 2;

    return k % 2 ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                 : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
}

/* Return I_x(a, b) for x < (a + 1) / (a + b + 2), where the fraction is fast. Lentz's method, as
 * changed by Thompson and Barnett (1986), never divides by 0. */
static double beta_below(double a, double b, double x, double y)
{
    double front = exp(a * log(x) + b * log(y) + lgamma(a + b) - lgamma(a) - lgamma(b)) / a;
    double ret = 1, c = 1, d = 0, change = 0;

    for (int k = 1; k < STEPS_MOST && fabs(change - 1) > 1e-15; k++) {
        double n = numerator(a, b, x, k);

        d = 1 + n * d;
        c = 1 + n / c;
        d = 1 / (d != 0 ? d : 1e-300);
        c = c != 0 ? c : 1e-300;
        change = c * d;
        ret *= change;
    }
    return front / ret;
}

double rps_student_p(double t, double freedom)
{
    double a = freedom / 2, x, y;

    t = fabs(t);
    if (isnan(t) || isnan(freedom))
        return NAN;
    if (freedom >= FREEDOM_NORMAL)
        return erfc(t / sqrt(2));
    y = t / sqrt(freedom);
    x = 1 / (1 + y * y);
    if (!(x > 0) || !(y > 0))
        return y > 0 ? 0 : 1;
    y = y * y * x; /* 1 - x, without loss of digits if t is small */
    return x < (a + 1) / (a + 2.5) ? beta_below(a, .5, x, y) : 1 - beta_below(.5, a, y, x);
}

/* Newton's method on the logarithms, where the share is concave: from 1.96, which is below, the
 * first step overshoots, and the others come down. */
double rps_student_95(double freedom)
{
    double t = 1.959963984540054;
    double scale = lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - log(freedom * M_PI) / 2;

    if (!(freedom < FREEDOM_NORMAL))
        return t;
    for (int k = 0; k < 20; k++) {
        double p = rps_student_p(t, freedom);
        double density = exp(scale - (freedom + 1) / 2 * log1p(t * t / freedom));
        double step = p * log(p / .05) / (2 * t * density);

        t *= exp(step);
        if (fabs(step) < 1e-12)
            break;
    }
    return t;
}
