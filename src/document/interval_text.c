#include "rpistat/interval_text.h"

#include <math.h>
#include <stdio.h>

#define NARROW .2

#define SHARE_DECIMALS 4

#define DIGITS 15   /* of a double, all that are exact */
#define FINEST 300  /* decimals of a value near 0 */
#define NOISE  1e-6 /* of the last digit: rounding error of the computation */

int rps_interval_is_narrow(const struct rps_interval *interval)
{
    return rps_interval_half(interval) <= NARROW * fabs(interval->value);
}

double rps_interval_half(const struct rps_interval *interval)
{
    return fmax(interval->high - interval->value, interval->value - interval->low);
}

char *rps_interval_percent(char *ret, const struct rps_interval *interval)
{
    double percent = fmax(.01, 100 * rps_interval_half(interval) / fabs(interval->value));
    int decimals = percent < 1 ? 2 : percent < 10 ? 1 : 0;

    snprintf(ret, RPS_INTERVAL_TEXT_SIZE, "± %.*f %%", decimals,
             rps_interval_round(percent, DIGITS, decimals, 1));
    return ret;
}

/* Return the decimals of a share: "12 %", but "99.95 %" of nearly all, since less is not all. */
static int share_decimals(double share)
{
    int decimals = share < .1 ? 1 : 0;

    while (share < 1 && share * 100 >= 100 - .5 * pow(10, -decimals) && decimals < SHARE_DECIMALS)
        decimals++;
    return decimals;
}

char *rps_interval_share(char *ret, double share)
{
    snprintf(ret, RPS_INTERVAL_TEXT_SIZE, "%.*f %%", share_decimals(share), 100 * share);
    return ret;
}

char *rps_interval_words(char *ret, const struct rps_interval *interval)
{
    char share[RPS_INTERVAL_TEXT_SIZE];

    ret[0] = '\0';
    if (interval->certainty == RPS_CERTAINTY_UNSEEN)
        snprintf(ret, RPS_INTERVAL_TEXT_SIZE, "none seen in %s of the time",
                 rps_interval_share(share, interval->share));
    else if (interval->certainty == RPS_CERTAINTY_SCALED)
        snprintf(ret, RPS_INTERVAL_TEXT_SIZE, "counted for %s of the time",
                 rps_interval_share(share, interval->share));
    else if (interval->certainty == RPS_CERTAINTY_START ||
             interval->certainty == RPS_CERTAINTY_END)
        snprintf(ret, RPS_INTERVAL_TEXT_SIZE, "%sits %s was not counted",
                 interval->value > 0 ? "" : "none seen; ",
                 interval->certainty == RPS_CERTAINTY_START ? "start" : "end");
    else if (interval->certainty != RPS_CERTAINTY_COUNTED &&
             interval->certainty != RPS_CERTAINTY_INTERVAL)
        snprintf(ret, RPS_INTERVAL_TEXT_SIZE, "%s", rps_certainty_name(interval->certainty));
    return ret;
}

double rps_interval_end(const struct rps_interval *interval, int is_high)
{
    return rps_interval_has_ends(interval)
               ? rps_interval_round(is_high ? interval->high : interval->low, 9, FINEST, is_high)
               : NAN;
}

double rps_interval_round(double end, int digits, int decimals, int is_high)
{
    double first = fabs(end) > 0 ? floor(log10(fabs(end))) : 0;
    double step = pow(10, fmax(first - digits + 1, -decimals));

    /* 0, which is not -0 */
    return (is_high ? ceil(end / step - NOISE) : floor(end / step + NOISE)) * step + 0.0;
}
