/*
 * Where the loop runs. Being near pays where each access to a counter is trapped (near.c); but two
 * busy threads on one CPU are what a scheduler mends, so the workload is moved away now and then,
 * and has to be followed: waiting for a whole row of dear switches first made a quarter of all
 * switches of a recording of 20 s dear.
 */
#include "placement.h"

#include <string.h>

/* Where switching takes longer than this (median), the loop tries to be near the workload. It stays
 * when that halves the time, unless it then wakes up late so often in one row of switches. */
#define NEAR_SWITCH_NS (50 * RPS_NS_PER_US)
#define LATE_NS        RPS_NS_PER_MS
#define LATE_MAX       3

/* So many dear switches in a row: the workload was moved. One alone is a hiccup. */
#define FOLLOW_AFTER 2

/* A move has paid when so many switches were cheap after it: finding the workload and going there
 * costs about as much as half a dear switch. After so many that did not pay the loop goes away, for
 * so many rows, and for twice as many each time. */
#define PAID_CHEAP 4
#define MOVES_MAX  4
#define WAIT_FIRST 8
#define WAIT_MAX   1024

void rps_placement_init(struct rps_placement *placement, const struct rps_world *world)
{
    memset(placement, 0, sizeof(*placement));
    placement->world = world && world->approach ? world : NULL;
    placement->next_wait = WAIT_FIRST;
}

void rps_placement_woke(struct rps_placement *placement, int64_t late_ns)
{
    placement->late += late_ns > LATE_NS;
}

static int approach(struct rps_placement *p)
{
    p->cheap = p->dear = 0;
    return p->world->approach(p->world->self, 1);
}

static void go_far(struct rps_placement *p)
{
    p->world->approach(p->world->self, 0);
    p->near = p->moves = 0;
    p->wait = p->next_wait;
    if (p->next_wait < WAIT_MAX)
        p->next_wait *= 2;
}

/* While near: is the workload still there? */
int rps_placement_switch(struct rps_placement *p, int64_t switch_ns)
{
    if (!p->near)
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

static int try_near(struct rps_placement *p, int64_t median_ns)
{
    if (median_ns <= NEAR_SWITCH_NS)
        return 0;
    p->far_ns = median_ns;
    p->moves = 0;
    p->near = approach(p);
    if (!p->near)
        p->wait = WAIT_FIRST;
    return p->near;
}

int rps_placement_first(struct rps_placement *p, int64_t median_ns)
{
    int tried = p->tried;

    p->tried = 1;
    return !tried && p->world && try_near(p, median_ns);
}

int rps_placement_row(struct rps_placement *p, int64_t median_ns)
{
    int late = p->late;

    p->late = 0;
    if (!p->world)
        return 0;
    if (!p->near && p->wait > 0) {
        p->wait--;
        return 0;
    }
    if (!p->near)
        return try_near(p, median_ns);
    if (late >= LATE_MAX || median_ns > p->far_ns / 2) {
        go_far(p);
        return 1;
    }
    p->moves = 0;
    p->next_wait = WAIT_FIRST;
    return 0;
}
