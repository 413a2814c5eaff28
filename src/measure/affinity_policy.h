/*
 * Where the loop runs: near the workload, on its CPU, or anywhere. Near, switching event sets is
 * cheap, but only as long as the workload stays there; whether it pays is found out by trying.
 */
#ifndef RPISTAT_PLACEMENT_H
#define RPISTAT_PLACEMENT_H

#include <stdint.h>

#include "rpistat/loop.h"

/* The first row of switches, of which the median is judged, has so many. */
#define RPS_AFFINITY_POLICY_FIRST 3

struct rps_affinity_policy {
    const struct rps_event_loop *event_loop; /* not owned; NULL: stays where it is */
    int close;                               /* on the workload's CPU */
    int64_t far_ns;                          /* median switch cost elsewhere */
    int cheap, dear;                         /* switches since the last move; the latest in a row */
    int moves;                               /* in a row that did not pay */
    int late;                                /* wake-ups of this row */
    int tried;                               /* the first row is over */
    int wait, next_wait;                     /* rows until the next try */
};

/*
 * Anywhere; for good where there is no event loop, or one without `approach`. A single event set is
 * not switched, and read for less from elsewhere than by pushing the workload off its CPU.
 */
void rps_affinity_policy_init(struct rps_affinity_policy *policy,
                              const struct rps_event_loop *event_loop);

/* The loop woke up so many ns after its deadline. */
void rps_affinity_policy_woke(struct rps_affinity_policy *policy, int64_t late_ns);

/*
 * A switch took so long, or the median of the first RPS_AFFINITY_POLICY_FIRST of the run (later
 * calls of _first do nothing), or the median of a row. Each returns 1 when the loop moved: costs
 * seen before say nothing of those to come.
 */
int rps_affinity_policy_switch(struct rps_affinity_policy *policy, int64_t switch_ns);
int rps_affinity_policy_first(struct rps_affinity_policy *policy, int64_t median_ns);
int rps_affinity_policy_row(struct rps_affinity_policy *policy, int64_t median_ns);

#endif
