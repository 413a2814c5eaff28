/*
 * Measure how much counting an event costs the workload, by trying it on the recorder itself.
 *
 * Kernel events are counted where they occur, and that takes time. For most events it is small
 * compared with the event itself (tests/bench/events compares). A system call, however, can be
 * shorter than its counting. Values from other machines do not apply: on two similar ones it was 30
 * ns and 155 ns per call. An open tracepoint of system calls slows those of all processes, so calls
 * are timed with the counter open and closed, not enabled and disabled.
 */
#include "pmu_perf.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rpistat/clock.h"

/* Blocks of calls are short, so that some of them are not interrupted. */
#define CALLS  200
#define BLOCKS 50
#define ROUNDS 3

/* Find the shortest time of a block of calls, or *least_ns if that is shorter. */
static void time_calls(int64_t *least_ns)
{
    for (int block = 0; block < BLOCKS; block++) {
        int64_t time_ns = rps_clock_monotonic_ns();

        for (int call = 0; call < CALLS; call++)
            syscall(SYS_getppid);
        time_ns = rps_clock_monotonic_ns() - time_ns;
        *least_ns = time_ns < *least_ns ? time_ns : *least_ns;
    }
}

/* Return the cost of counting a system call, ns; 0: unknown. */
static int64_t call_cost_ns(const struct rps_event *event)
{
    int64_t without_ns = INT64_MAX, with_ns = INT64_MAX;

    for (int round = 0; round < ROUNDS; round++) {
        int fd;

        time_calls(&without_ns);
        fd = rps_perf_open_event(event, NULL, -1, RPS_PERF_INHERIT, NULL);
        if (fd < 0)
            return 0;
        time_calls(&with_ns);
        rps_perf_close_fd(&fd);
    }
    return with_ns > without_ns ? (with_ns - without_ns + CALLS / 2) / CALLS : 0;
}

static int counts_calls(const struct rps_event *event)
{
    return event->state == RPS_EVENT_MEASURED && event->type == RPS_EVENT_TRACEPOINT &&
           (strcmp(event->role, "syscalls") == 0 ||
            strncmp(event->spec, "raw_syscalls:", strlen("raw_syscalls:")) == 0);
}

void rps_pmu_measure_costs(struct rps_plan *plan)
{
    for (int n = 0; n < plan->set_count; n++) {
        for (int s = 0; s < plan->set[n].event_count; s++) {
            struct rps_event *event = &plan->set[n].event[s];

            if (counts_calls(event))
                event->cost_ns = call_cost_ns(event);
        }
    }
}
