/*
 * Intervals: the uncertainty of a value. An event that was counted in rotation is a sample of the
 * run. Its estimate, and every metric over it, has a 95 % interval if the rules give one, and
 * otherwise a word.
 */
#ifndef RPISTAT_INTERVAL_H
#define RPISTAT_INTERVAL_H

enum rps_certainty {
    RPS_CERTAINTY_NONE,       /* there is no value */
    RPS_CERTAINTY_COUNTED,    /* counted all the time: nothing was estimated */
    RPS_CERTAINTY_SCALED,     /* the clock event, which lacked its counter for some of the time; an
                                 imported event that its recorder multiplexed and scaled */
    RPS_CERTAINTY_INTERVAL,   /* low ... high hold the true value in 95 of 100 cases */
    RPS_CERTAINTY_START,      /* the same, but the rates of other events changed greatly before this
                                 one was counted: the ends allow for that; high NaN: unknown */
    RPS_CERTAINTY_END,        /* the same for a change after this one was last counted */
    RPS_CERTAINTY_BURSTS,     /* most events were counted in a few periods: no interval is valid */
    RPS_CERTAINTY_UNSEEN,     /* no event occurred in the share of the time that was observed */
    RPS_CERTAINTY_ONCE,       /* seen in too few periods to know how much they differ */
    RPS_CERTAINTY_INCOMPLETE, /* Linux stopped counting a process: the value is only the part that
                                 was counted */
    RPS_CERTAINTY_HARDLY, /* counted for less than a tenth of its share of the time: the value is
                               not worth printing */
};

/* A value and its uncertainty. low and high are NaN unless rps_interval_has_ends holds. `share` is
 * the part of the workload's time, 0 ... 1, in which it was observed. */
struct rps_interval {
    enum rps_certainty certainty;
    double value, low, high, share;
};

/* Return 1 for RPS_CERTAINTY_INTERVAL, RPS_CERTAINTY_START and RPS_CERTAINTY_END. */
int rps_interval_has_ends(const struct rps_interval *interval);

/* Return the name in the store, JSON and CSV: "counted", "interval", "rare bursts", ...; "" for
 * RPS_CERTAINTY_NONE. */
const char *rps_certainty_name(enum rps_certainty certainty);

/* All names, by enum rps_certainty; NULL ends them. */
extern const char *const rps_certainty_names[];

#endif
