/* The library's state in this process: the chosen events, the regions, their sums. */
#ifndef RPISTAT_REGION_STATE_H
#define RPISTAT_REGION_STATE_H

#include <stdatomic.h>
#include <stdint.h>

#include "choose.h"
#include "counters.h"
#include "marks.h"

/* The completed entries of a region, and the number of others. */
struct rps_sums {
    uint64_t entered, elapsed_ns, enabled_ns, running_ns;
    uint64_t left; /* entries known to have been left without their end */
    uint64_t open; /* entries that are open; only in a sum over threads */
    uint64_t value[RPS_COUNTERS_MAX];
    uint32_t lost; /* bit i: value[i] could not always be read */
};

struct rps_region {
    struct rps_region *next;
    char name[RPS_REGION_NAME_SIZE];
    struct rps_sums ended; /* of threads that have ended */
    atomic_int marking;    /* 1: entries are sent to the recorder */
    struct rps_marks marks;
};

struct rps_region_state {
    int opened;    /* rps_region_open was called: the program measures itself */
    int counting;  /* some thread has counters */
    int from_user; /* ... readable without a system call */
    struct rps_region_choice choice;
    struct rps_sums empty;  /* overhead of an entry in its own values */
    struct rps_sums around; /* ... and in those of a region around it */
    struct rps_region *first;
};

/* SAFETY: return the state, locked against other threads. */
struct rps_region_state *rps_region_state_lock(void);
void rps_region_state_unlock(void);

/* SAFETY: in a locked state. Return a region, or NULL; and its sums over all threads. */
struct rps_region *rps_region_state_find(const struct rps_region_state *state, const char *name);
void rps_region_state_sum(const struct rps_region *region, struct rps_sums *ret);

#endif
