/*
 * How often system signals are read, so that reading them stays within its budget: each period, or
 * each so many. Pure arithmetic, for readers of system signals.
 */
#ifndef RPISTAT_SIGNAL_PACE_H
#define RPISTAT_SIGNAL_PACE_H

#include <stddef.h>
#include <stdint.h>

#define RPS_SIGNAL_PACE_COSTS 8 /* latest readings, whose mean counts */

struct rps_signal_pace {
    int64_t period_ns;                      /* nominal */
    double allowed_ns;                      /* of CPU time, a period */
    int64_t factor;                         /* periods between readings; 1 at first */
    int64_t last_ns;                        /* when was read last, or counting began */
    int64_t cost_ns[RPS_SIGNAL_PACE_COSTS]; /* in turn */
    uint64_t readings;                      /* since the factor changed */
    int cheap;        /* readings in a row after which half of the factor would do */
    int shrink_after; /* so many; twice as many each time that it was too early */
    int shrunk;
};

/* budget: part of a CPU that reading may take, > 0. */
void rps_signal_pace_init(struct rps_signal_pace *pace, int64_t period_ns, double budget);

/* Counting begins, or goes on after a pause: the next reading counts from here. */
void rps_signal_pace_begin(struct rps_signal_pace *pace, int64_t time_ns);

/* A period has ended at time_ns: is a reading due? Half a period early is in time, since periods
 * end a little late or on a grid that was stretched. */
int rps_signal_pace_due(const struct rps_signal_pace *pace, int64_t time_ns);

/*
 * A reading was made at time_ns and took cost_ns of CPU time. The factor grows as soon as the mean
 * of the latest costs, three at least, is beyond what is allowed in that time, and shrinks when half
 * of that would do for 16 readings. note (size bytes) gets "signals are read every 1.300 s: ", with
 * `what` ("100 processes") behind it, when it changed and is, or was, a second at least; else "".
 */
void rps_signal_pace_spent(struct rps_signal_pace *pace, int64_t time_ns, int64_t cost_ns,
                           const char *what, char *note, size_t size);

#endif
