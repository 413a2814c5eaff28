/*
 * Where the loop runs. Being near pays if each access to a counter is trapped (affinity.c). But the
 * scheduler separates two busy threads that share a CPU, so the workload is moved now and then, and
 * must be followed. Waiting for a whole row of slow switches before following made a quarter of all
 * switches slow in a recording of 20 s.
 */
#include "affinity_policy.h"

#include <string.h>

/* If switching takes longer than this (median), the loop tries to be near the workload. It stays if
 * that halves the time, unless it then wakes up late too often in one row of switches. */
#define DEAR_SWITCH_NS (50 * RPS_NS_PER_US)
#define LATE_NS        RPS_NS_PER_MS
#define LATE_MAX       3

/* This many slow switches in a row: the workload was moved. A single one is a hiccup. */
#define FOLLOW_AFTER 2

/* A move has paid if so many switches after it were cheap. Finding the workload and moving there
 * costs about as much as half a slow switch. After so many moves that did not pay, the loop leaves
 * for so many rows, and for twice as many each time. */
#define PAID_CHEAP 4
#define MOVES_MAX  4
#define WAIT_FIRST 8
#define WAIT_MAX   1024

void rps_affinity_policy_init(struct rps_affinity_policy *policy,
                              const struct rps_event_loop *event_loop)
{
    memset(policy, 0, sizeof(*policy));
    policy->event_loop = event_loop && event_loop->approach ? event_loop : NULL;
    policy->next_wait = WAIT_FIRST;
}

void rps_affinity_policy_woke(struct rps_affinity_policy *policy, int64_t late_ns)
{
    policy->late += late_ns > LATE_NS;
}

static int approach(struct rps_affinity_policy *p)
{
    p->cheap = p->dear = 0;
    return p->event_loop->approach(p->event_loop->self, 1);
}

static void go_far(struct rps_affinity_policy *p)
{
    p->event_loop->approach(p->event_loop->self, 0);
    p->close = p->moves = 0;
    p->wait = p->next_wait;
    if (p->next_wait < WAIT_MAX)
        p->next_wait *= 2;
}

/* While near: is the workload still there? */
int rps_affinity_policy_switch(struct rps_affinity_policy *p, int64_t switch_ns)
{
    if (!p->close)
        return 0;
    if (switch_ns <= p->far_ns / 2) {
        p->dear = 0;
        p->cheap++;
        return 0;
    }
    if (++p->dear < FOLLOW_AFTER)
        return 0;
    p->moves = p->cheap >= PAID_CHEAP ? 1 : p->moves + 1;
    if (p->moves < MOVES_MAX)
        return approach(p);
    go_far(p);
    return 1;
}

static int try_affinity(struct rps_affinity_policy *p, int64_t median_ns)
{
    if (median_ns <= DEAR_SWITCH_NS)
        return 0;
    p->far_ns = median_ns;
    p->moves = 0;
    p->close = approach(p);
    if (!p->close)
        p->wait = WAIT_FIRST;
    return p->close;
}

int rps_affinity_policy_first(struct rps_affinity_policy *p, int64_t median_ns)
{
    int tried = p->tried;

    p->tried = 1;
    return !tried && p->event_loop && try_affinity(p, median_ns);
}

int rps_affinity_policy_row(struct rps_affinity_policy *p, int64_t median_ns)
{
    int late = p->late;

    p->late = 0;
    if (!p->event_loop)
        return 0;
    if (!p->close && p->wait > 0) {
        p->wait--;
        return 0;
    }
    if (!p->close)
        return try_affinity(p, median_ns);
    if (late >= LATE_MAX || median_ns > p->far_ns / 2) {
        go_far(p);
        return 1;
    }
    p->moves = 0;
    p->next_wait = WAIT_FIRST;
    return 0;
}
