/*
 * Intervals: how sure a figure is. An event that was counted in turns is a sample of the run; its
 * estimate, and every metric over it, has a 95 % interval where the rules give one, and a word
 * where they do not.
 */
#ifndef RPISTAT_INTERVAL_H
#define RPISTAT_INTERVAL_H

enum rps_certainty {
    RPS_CERTAINTY_NONE,       /* there is no value */
    RPS_CERTAINTY_COUNTED,    /* counted all the time: nothing was estimated */
    RPS_CERTAINTY_SCALED,     /* the clock event, which lacked its counter for some of the time; an
                               import's event that its recorder counted in turns, and scaled */
    RPS_CERTAINTY_INTERVAL,   /* low ... high hold the true value in 95 of 100 cases */
    RPS_CERTAINTY_START,      /* the same, but the rates of other events changed greatly before this
                                 one was counted: the ends allow for that; high NaN: unknown */
    RPS_CERTAINTY_END,        /* the same for a change after this one was last counted */
    RPS_CERTAINTY_BURSTS,     /* most of it was counted in a few periods: no interval is honest */
    RPS_CERTAINTY_UNSEEN,     /* none was seen in the share of the time that was looked at */
    RPS_CERTAINTY_ONCE,       /* seen in too few periods to tell how much they differ */
    RPS_CERTAINTY_INCOMPLETE, /* Linux stopped counting a process: the value is only the part that
                                 was counted */
    RPS_CERTAINTY_HARDLY, /* counted for less than a tenth of its share of the time: the value is
                               not worth printing */
};

/* A value and how sure it is. low and high are NaN but for rps_interval_has_ends; `share` is the
 * part of the workload's time, 0 ... 1, in which it was looked at. */
struct rps_interval {
    enum rps_certainty certainty;
    double value, low, high, share;
};

/* 1 for RPS_CERTAINTY_INTERVAL, RPS_CERTAINTY_START and RPS_CERTAINTY_END. */
int rps_interval_has_ends(const struct rps_interval *interval);

/* The name in the store, JSON and CSV: "counted", "interval", "rare bursts", ...; "" for
 * RPS_CERTAINTY_NONE. */
const char *rps_certainty_name(enum rps_certainty certainty);

/* All of them, by enum rps_certainty; NULL ends them. */
extern const char *const rps_certainty_names[];

#endif
