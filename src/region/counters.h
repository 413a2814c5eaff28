/*
 * The counters of one thread: the clock event and one event set. They are opened on the calling
 * thread as one group, and read without a system call if the kernel allows it.
 */
#ifndef RPISTAT_REGION_COUNTERS_H
#define RPISTAT_REGION_COUNTERS_H

#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/plan.h"

/* The clock event is counter 0, slot s of the set counter s + 1. */
#define RPS_COUNTERS_MAX (RPS_SLOT_MAX + 1)

struct rps_counter {
    int fd;                    /* -1: not counted */
    const volatile void *page; /* the kernel's page for reading it, or NULL */
    int in_group;
};

struct rps_counters {
    int count;                    /* counters in use, 0: none is open */
    int members;                  /* of the group that counter 0 leads */
    int member[RPS_COUNTERS_MAX]; /* their counters */
    uint32_t group_bits;          /* the same, as bits like `valid` of a sample */
    int alone;                    /* counters outside the group, each read by a call of its own */
    int from_user;                /* 1: every counter can be read without a system call */
    int user_time; /* 1: the times too; 0: they continue from the last system call, see `sync` */
    struct {
        int good;
        uint32_t lock; /* of the leader's page: unchanged, the thread has run since */
        int64_t time_ns;
        uint64_t enabled_ns, running_ns;
    } sync;
    struct rps_counter counter[RPS_COUNTERS_MAX];
};

/* Cumulative since the counters were opened. */
struct rps_counters_sample {
    uint64_t value[RPS_COUNTERS_MAX];
    uint64_t enabled_ns, running_ns; /* of the group */
    uint32_t valid;                  /* bit i: value[i] could be read */
};

/*
 * Open the plan's clock event and the measured events of set number `set` on the calling thread,
 * counting. Events that cannot join the group are counted outside it. Events that the clock event
 * already counts, or that cannot be opened at all, are left out (their bit in `valid` stays clear).
 * RPS_FAILED if the clock event cannot be opened; *counters is then empty and may be read (nothing
 * is valid) and closed.
 */
int rps_counters_open(struct rps_counters *counters, const struct rps_plan *plan, int set,
                      struct rps_error *err);

/* Read all counters, in the quickest way that works now. Call it only in the thread that opened
 * them. Cannot fail: counters that could not be read are not valid. */
void rps_counters_read(struct rps_counters *counters, struct rps_counters_sample *ret);

/* The two ways of reading. Without a system call: returns 0, or -1 (with *ret undefined) if that is
 * not possible now. One reason is that they are not on the processor. */
int rps_counters_read_user(struct rps_counters *counters, struct rps_counters_sample *ret);
void rps_counters_read_system(struct rps_counters *counters, struct rps_counters_sample *ret);

/* Close them. In a child after fork(), where the kernel has removed the pages, `forked` is 1. */
void rps_counters_close(struct rps_counters *counters, int forked);

#endif
