/* Clocks, in nanoseconds. */
#ifndef RPISTAT_CLOCK_H
#define RPISTAT_CLOCK_H

#include <stdint.h>

#define RPS_NS_PER_DAY (86400 * RPS_NS_PER_S)
#define RPS_NS_PER_S   INT64_C(1000000000)
#define RPS_NS_PER_MS  INT64_C(1000000)
#define RPS_NS_PER_US  INT64_C(1000)

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
