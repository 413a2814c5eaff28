/*
 * Where the loop runs: near the workload, on its CPU, or anywhere. Near it, switching event sets is
 * cheap, but only while the workload stays there. The policy finds by trying whether it pays.
 */
#ifndef RPISTAT_PLACEMENT_H
#define RPISTAT_PLACEMENT_H

#include <stdint.h>

#include "rpistat/loop.h"

/* Number of switches in the first row, whose median is judged. */
#define RPS_AFFINITY_POLICY_FIRST 3

struct rps_affinity_policy {
    const struct rps_event_loop *event_loop; /* not owned; NULL: stays where it is */
    int close;                               /* it is on the workload's CPU */
    int64_t far_ns;                          /* median switch cost elsewhere */
    int cheap, dear;                         /* switches since the last move; latest in a row */
    int moves;                               /* consecutive moves that did not pay */
    int late;                                /* late wake-ups of this row */
    int tried;                               /* the first row is over */
    int wait, next_wait;                     /* rows until the next try */
};

/*
 * Begin anywhere; stay there without an event loop, or with one without `approach`. A single event
 * set is not switched: reading it from elsewhere is cheaper than pushing the workload off its CPU.
 */
void rps_affinity_policy_init(struct rps_affinity_policy *policy,
                              const struct rps_event_loop *event_loop);

/* Record that the loop woke up so many ns after its deadline. */
void rps_affinity_policy_woke(struct rps_affinity_policy *policy, int64_t late_ns);

/*
 * Record the time of a switch, the median of the first RPS_AFFINITY_POLICY_FIRST of the run (later
 * calls of _first do nothing), or the median of a row. Each returns 1 if the loop moved: earlier
 * costs do not predict later ones.
 */
int rps_affinity_policy_switch(struct rps_affinity_policy *policy, int64_t switch_ns);
int rps_affinity_policy_first(struct rps_affinity_policy *policy, int64_t median_ns);
int rps_affinity_policy_row(struct rps_affinity_policy *policy, int64_t median_ns);

#endif
