#include "rpistat/interval.h"

#include <stddef.h>

const char *const rps_certainty_names[] = {
    [RPS_CERTAINTY_NONE] = "",
    [RPS_CERTAINTY_COUNTED] = "counted",
    [RPS_CERTAINTY_SCALED] = "scaled",
    [RPS_CERTAINTY_INTERVAL] = "interval",
    [RPS_CERTAINTY_START] = "start not counted",
    [RPS_CERTAINTY_END] = "end not counted",
    [RPS_CERTAINTY_BURSTS] = "rare bursts",
    [RPS_CERTAINTY_UNSEEN] = "none seen",
    [RPS_CERTAINTY_ONCE] = "too few periods",
    [RPS_CERTAINTY_INCOMPLETE] = "incomplete",
    [RPS_CERTAINTY_HARDLY] = "hardly counted",
    NULL,
};

int rps_interval_has_ends(const struct rps_interval *interval)
{
    return interval->certainty >= RPS_CERTAINTY_INTERVAL &&
           interval->certainty <= RPS_CERTAINTY_END;
}

const char *rps_certainty_name(enum rps_certainty certainty)
{
    return rps_certainty_names[certainty];
}
