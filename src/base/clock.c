/* Clocks: thin wrappers, so that everything above counts in int64_t nanoseconds. */
#include "rpistat/clock.h"

#include <time.h>

static int64_t read_clock(clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now); /* cannot fail: the three clocks below exist on every Linux */
    return now.tv_sec * RPS_NS_PER_S + now.tv_nsec;
}

int64_t rps_clock_monotonic_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t rps_clock_realtime_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t rps_clock_process_cpu_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}
