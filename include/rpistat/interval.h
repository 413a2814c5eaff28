/* Intervals: the uncertainty of a value. If event sets rotate, an event is counted in only a sample
 * of the run's periods. The event's estimate, and every metric over the event, has a 95 % interval
 * if the rules permit one. Otherwise, rps_certainty_name returns the reason. */
#pragma once

enum rps_certainty {
    RPS_CERTAINTY_NONE,       /* There is no value. */
    RPS_CERTAINTY_COUNTED,    /* Counted all the time, so the value is not an estimate. */
    RPS_CERTAINTY_SCALED,     /* The value was scaled: the clock event lacked its counter for
                                 some time, or another recorder multiplexed an imported event. */
    RPS_CERTAINTY_INTERVAL,   /* The true value is in low ... high in 95 of 100 cases. */
    RPS_CERTAINTY_START,      /* There is an interval, but the event was first counted after the
                                 rates of other events had changed greatly. The interval includes
                                 the effect of this change (high is NaN if the effect is
                                 unknown). */
    RPS_CERTAINTY_END,        /* Like RPS_CERTAINTY_START, for a change after the last count */
    RPS_CERTAINTY_BURSTS,     /* A few periods have most of the count: no interval is valid. */
    RPS_CERTAINTY_UNSEEN,     /* The event did not occur in the observed share of the time. */
    RPS_CERTAINTY_ONCE,       /* Counted in too few periods, or others had the counters. */
    RPS_CERTAINTY_INCOMPLETE, /* Linux stopped counting a process, so that the value is too low. */
    RPS_CERTAINTY_HARDLY,     /* The event was counted for less than a tenth of the time that its
                                 set should have had, so that the value is not printed. */
};

/* A value and its uncertainty. low and high are NaN if rps_interval_has_ends returns 0. `share` is
 * the part of the workload's time, 0 ... 1, in which the value was observed. */
struct rps_interval {
    enum rps_certainty certainty;
    double value, low, high, share;
};

/* Return 1 for RPS_CERTAINTY_INTERVAL, RPS_CERTAINTY_START and RPS_CERTAINTY_END. */
int rps_interval_has_ends(const struct rps_interval *interval);

/* Return the name of a certainty in the store, JSON and CSV: "counted", "interval", "rare bursts",
 * ... Return "" for RPS_CERTAINTY_NONE. */
const char *rps_certainty_name(enum rps_certainty certainty);

/* Names of all certainties, in the order of enum rps_certainty; the last is NULL. */
extern const char *const rps_certainty_names[];
