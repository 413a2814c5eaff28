/* Choose how often system metrics are read (after each period, or after several periods), so that
 * reading stays within its budget of CPU time. Pure arithmetic, for readers of system metrics. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define RPS_SYSTEM_PACE_COSTS 8 /* number of latest readings whose mean cost is used */

struct rps_system_pace {
    int64_t period_ns;                      /* nominal length of a period */
    double allowed_ns;                      /* CPU time that reading may take per period */
    int64_t factor;                         /* number of periods between readings; 1 at first */
    int64_t last_ns;                        /* time of the last reading, or start of counting */
    int64_t cost_ns[RPS_SYSTEM_PACE_COSTS]; /* ring of the costs of the latest readings */
    uint64_t readings;                      /* number of readings since the factor changed */
    int cheap;        /* successive readings for which half of `factor` would have sufficed */
    int shrink_after; /* Value of `cheap` at which `factor` becomes smaller. The value doubles
                         whenever `factor` became smaller too early. */
    int shrunk;
};

/* Initialize the pace. `budget` (> 0) is the share of a CPU that reading may take. */
void rps_system_pace_init(struct rps_system_pace *pace, int64_t period_ns, double budget);

/* Start or continue counting at time_ns. The time until the next reading begins at time_ns. */
void rps_system_pace_begin(struct rps_system_pace *pace, int64_t time_ns);

/* Return 1 if a reading is due at the end of a period at time_ns. A reading is due up to half a
 * period early, because periods may end a little late. */
int rps_system_pace_due(const struct rps_system_pace *pace, int64_t time_ns);

/* Record a reading at time_ns that took cost_ns of CPU time. The factor grows as soon as the mean
 * of the latest costs (at least three) exceeds the permitted time. The factor shrinks when half of
 * it would suffice for 16 readings. If the interval between readings changed, and the new or the
 * old interval is at least a second, `note` becomes "system metrics are read every 1.300 s: " and
 * `what` ("100 processes"). */
void rps_system_pace_spent(struct rps_system_pace *pace, int64_t time_ns, int64_t cost_ns,
                           const char *what, char *note, size_t size);
