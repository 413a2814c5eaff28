/* The counters of one thread: the clock event and one event set, opened for the calling thread as
 * one group. If the kernel permits it, the counters are read without a system call. */
#pragma once

#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/period.h"

struct rps_plan;

/* Maximum number of counters. Counter 0 is the clock event; counter s + 1 is slot s of the set. */
#define RPS_COUNTERS_MAX (RPS_SLOT_MAX + 1)

struct rps_counter {
    int fd;                    /* descriptor of the event; -1: not counted */
    const volatile void *page; /* kernel's page for reading the counter, or NULL */
    int in_group;
};

struct rps_counters {
    int count;                    /* number of counters in use; 0: none is open */
    int members;                  /* number of counters in the group of counter 0 */
    int member[RPS_COUNTERS_MAX]; /* indices of the counters in the group */
    uint32_t group_bits;          /* bit mask of the group's counters; bit i is counter i */
    int alone;                    /* counters outside the group, which are read one by one */
    int from_user;                /* 1 if every counter can be read without a system call */
    int user_time; /* 1 if the page also has the times; 0 if the times are computed from `sync` */
    struct {
        int good;
        uint32_t lock; /* lock in the leader's page; it changes if the thread is interrupted */
        int64_t time_ns;
        uint64_t enabled_ns, running_ns;
    } sync;
    struct rps_counter counter[RPS_COUNTERS_MAX];
};

/* Values of all counters, cumulative since they were opened. */
struct rps_counters_sample {
    uint64_t value[RPS_COUNTERS_MAX];
    uint64_t enabled_ns, running_ns; /* times of the counter group */
    uint32_t valid;                  /* bit i is set if value[i] could be read */
};

/* Open the plan's clock event and the measured events of set number `set` on the calling thread,
 * and start counting. Events that cannot join the group are counted separately. Events that the
 * clock event already counts, or that cannot be opened, are left out; their bits in `valid` are
 * always 0. Return RPS_FAILED if the clock event cannot be opened. *counters is then empty. An
 * empty struct may be closed, and a reading of it has no valid values. */
int rps_counters_open(struct rps_counters *counters, const struct rps_plan *plan, int set,
                      struct rps_error *err);

/* Read all counters in the fastest way that now works. Call this function only in the thread that
 * opened the counters. Reading cannot fail: counters that could not be read are not valid. */
void rps_counters_read(struct rps_counters *counters, struct rps_counters_sample *ret);

/* rps_counters_read_user reads all counters without system calls; the other function reads all
 * counters with system calls. rps_counters_read_user returns 0, or -1 (with *ret undefined) if a
 * counter cannot be read at this moment, for example because the event has no hardware counter. */
int rps_counters_read_user(struct rps_counters *counters, struct rps_counters_sample *ret);
void rps_counters_read_system(struct rps_counters *counters, struct rps_counters_sample *ret);

/* Close the counters. Set `forked` to 1 in a child after fork(): the kernel removed the pages. */
void rps_counters_close(struct rps_counters *counters, int forked);
