/* Clocks, in nanoseconds. */
#ifndef RPISTAT_CLOCK_H
#define RPISTAT_CLOCK_H

#include <stdint.h>
#include <sys/time.h>

#define RPS_NS_PER_DAY (86400 * RPS_NS_PER_S)
#define RPS_NS_PER_S   INT64_C(1000000000)
#define RPS_NS_PER_MS  INT64_C(1000000)
#define RPS_NS_PER_US  INT64_C(1000)

/* Add or subtract times. What is beyond 292 years, as a clock may be set, is as far as that. */
static inline int64_t rps_clock_subtract_ns(int64_t a, int64_t b)
{
    int64_t difference;

    if (__builtin_sub_overflow(a, b, &difference) || difference == INT64_MIN)
        return a < b ? -INT64_MAX : INT64_MAX;
    return difference;
}

static inline int64_t rps_clock_add_ns(int64_t a, int64_t b)
{
    return rps_clock_subtract_ns(a, b == INT64_MIN ? INT64_MAX : -b);
}

/* Return a time of getrusage or wait4 in ns. */
static inline int64_t rps_clock_timeval_ns(const struct timeval *time)
{
    return time->tv_sec * RPS_NS_PER_S + time->tv_usec * RPS_NS_PER_US;
}

/* CLOCK_MONOTONIC in ns. Cannot fail. */
int64_t rps_clock_monotonic_ns(void);

/* CLOCK_REALTIME, ns since 1970-01-01 UTC. Cannot fail. */
int64_t rps_clock_realtime_ns(void);

/* Three clocks at one moment. */
struct rps_clocks {
    int64_t monotonic_ns; /* CLOCK_MONOTONIC: stands still while the machine sleeps */
    int64_t boot_ns;      /* CLOCK_BOOTTIME: goes on */
    int64_t realtime_ns;  /* CLOCK_REALTIME: is set, by people and by the network */
};

/* Read them, close enough together for differences of a tenth of a second to mean something. Cannot
 * fail. */
void rps_clock_read_all(struct rps_clocks *ret);

/* CPU time (user and system) of this process and all its threads so far, ns. Cannot fail. */
int64_t rps_clock_process_cpu_ns(void);

#endif
