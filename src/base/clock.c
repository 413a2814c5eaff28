/* Clocks: small wrappers, so that all other code counts in int64_t nanoseconds. */
#include "rpistat/clock.h"

#include <time.h>

/* The readings belong together if they take at most this long. */
#define READ_ALL_NS    (10 * RPS_NS_PER_MS)
#define READ_ALL_TRIES 5

static int64_t read_clock(clockid_t clock)
{
    struct timespec now = {0};
    int64_t seconds;

    clock_gettime(clock, &now); /* cannot fail: the clocks below exist on every Linux */
    seconds = now.tv_sec;
    if (seconds >= INT64_MAX / RPS_NS_PER_S || seconds <= -INT64_MAX / RPS_NS_PER_S)
        return seconds < 0 ? -INT64_MAX : INT64_MAX;
    return seconds * RPS_NS_PER_S + now.tv_nsec;
}

int64_t rps_clock_monotonic_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t rps_clock_realtime_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

/* Read again if the process was interrupted between two readings, up to READ_ALL_TRIES times. */
void rps_clock_read_all(struct rps_clocks *ret)
{
    int64_t taken_ns = INT64_MAX;

    for (int i = 0; i < READ_ALL_TRIES && taken_ns > READ_ALL_NS; i++) {
        ret->monotonic_ns = read_clock(CLOCK_MONOTONIC);
        ret->boot_ns = read_clock(CLOCK_BOOTTIME);
        ret->realtime_ns = read_clock(CLOCK_REALTIME);
        taken_ns = read_clock(CLOCK_MONOTONIC) - ret->monotonic_ns;
    }
}

int64_t rps_clock_process_cpu_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}
