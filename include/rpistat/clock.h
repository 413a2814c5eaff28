/* Clocks, in nanoseconds. */
#ifndef RPISTAT_CLOCK_H
#define RPISTAT_CLOCK_H

#include <stdint.h>
#include <sys/time.h>

#define RPS_NS_PER_DAY (86400 * RPS_NS_PER_S)
#define RPS_NS_PER_S   INT64_C(1000000000)
#define RPS_NS_PER_MS  INT64_C(1000000)
#define RPS_NS_PER_US  INT64_C(1000)

/* Add or subtract times. Results beyond 292 years, which a clock may be set to, saturate. */
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

/* Return CLOCK_MONOTONIC in ns. Cannot fail. */
int64_t rps_clock_monotonic_ns(void);

/* Return CLOCK_REALTIME, ns since 1970-01-01 UTC. Cannot fail. */
int64_t rps_clock_realtime_ns(void);

/* Three clocks at one moment. */
struct rps_clocks {
    int64_t monotonic_ns; /* CLOCK_MONOTONIC: stops while the machine sleeps */
    int64_t boot_ns;      /* CLOCK_BOOTTIME: does not stop */
    int64_t realtime_ns;  /* CLOCK_REALTIME: set by users and by the network */
};

/* Read the clocks, close enough together for differences of a tenth of a second to be meaningful.
 * Cannot fail. */
void rps_clock_read_all(struct rps_clocks *ret);

/* Return the CPU time (user and system) of this process and all its threads, ns. Cannot fail. */
int64_t rps_clock_process_cpu_ns(void);

#endif
