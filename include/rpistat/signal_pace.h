/*
 * How often system metrics are read to stay within their budget: each period, or one of so many.
 * Pure arithmetic, for readers of system metrics.
 */
#ifndef RPISTAT_SIGNAL_PACE_H
#define RPISTAT_SIGNAL_PACE_H

#include <stddef.h>
#include <stdint.h>

#define RPS_SIGNAL_PACE_COSTS 8 /* latest readings, for the mean */

struct rps_signal_pace {
    int64_t period_ns;                      /* nominal */
    double allowed_ns;                      /* of CPU time, per period */
    int64_t factor;                         /* periods between readings; 1 at first */
    int64_t last_ns;                        /* last reading, or start of counting */
    int64_t cost_ns[RPS_SIGNAL_PACE_COSTS]; /* a ring */
    uint64_t readings;                      /* since the factor changed */
    int cheap;        /* readings in a row after which half of the factor would do */
    int shrink_after; /* number of them; doubles each time that it was too early */
    int shrunk;
};

/* Initialize; budget is the share of a CPU that reading may take, > 0. */
void rps_signal_pace_init(struct rps_signal_pace *pace, int64_t period_ns, double budget);

/* Start or continue counting: the next reading counts from here. */
void rps_signal_pace_begin(struct rps_signal_pace *pace, int64_t time_ns);

/* Return whether a reading is due at the end of a period at time_ns. Half a period early is in
 * time, since periods end a little late or on a stretched grid. */
int rps_signal_pace_due(const struct rps_signal_pace *pace, int64_t time_ns);

/*
 * Record a reading at time_ns that took cost_ns of CPU time. The factor grows as soon as the mean
 * of the latest costs (at least three) exceeds the permitted time. It shrinks when half of it would
 * suffice for 16 readings. If the interval changed and is, or was, at least a second, note (size
 * bytes) gets "signals are read every 1.300 s: " and `what` ("100 processes"); otherwise "".
 */
void rps_signal_pace_spent(struct rps_signal_pace *pace, int64_t time_ns, int64_t cost_ns,
                           const char *what, char *note, size_t size);

#endif
