#include "rpistat/interval_text.h"

#include <math.h>
#include <stdio.h>

#define NARROW .2

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
    double percent = 100 * rps_interval_half(interval) / fabs(interval->value);

    if (percent < .01)
        snprintf(ret, RPS_INTERVAL_TEXT_SIZE, "± 0.01 %%");
    else
        snprintf(ret, RPS_INTERVAL_TEXT_SIZE, "± %.*f %%",
                 percent < 1    ? 2
                 : percent < 10 ? 1
                                : 0,
                 percent);
    return ret;
}

char *rps_interval_words(char *ret, const struct rps_interval *interval)
{
    ret[0] = '\0';
    if (interval->certainty == RPS_CERTAINTY_UNSEEN)
        snprintf(ret, RPS_INTERVAL_TEXT_SIZE, "none seen in %.*f %% of the time",
                 interval->share < .1 ? 1 : 0, 100 * interval->share);
    else if (interval->certainty == RPS_CERTAINTY_SCALED)
        snprintf(ret, RPS_INTERVAL_TEXT_SIZE, "counted for %.*f %% of the time",
                 interval->share < .1 ? 1 : 0, 100 * interval->share);
    else if (interval->certainty != RPS_CERTAINTY_COUNTED &&
             interval->certainty != RPS_CERTAINTY_INTERVAL)
        snprintf(ret, RPS_INTERVAL_TEXT_SIZE, "%s", rps_certainty_name(interval->certainty));
    return ret;
}

double rps_interval_round(double value)
{
    double step = value > 0 ? pow(10, floor(log10(value)) - 2) : 1;

    return round(value / step) * step;
}
