/* perf_event: find by trying which events open and count, and which of them can count at the same
 * time.
 *
 * A pinned group on the recorder itself shows whether events fit: a read of a group that cannot be
 * placed returns 0 bytes at once. This method needs neither a waiting child process nor a table of
 * each processor's counters. */
#include "pmu_perf.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rpistat/clock.h"

/* Maximum number of copies of one event to try. */
#define COPIES_MAX 16

/* Return 1 for events inside the kernel. Without kernel code such events always read 0. */
static int happens_in_kernel(const struct rps_event *event)
{
    return event->type == RPS_EVENT_TRACEPOINT ||
           (event->type == RPS_EVENT_SOFTWARE && (event->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
                                                  event->config == PERF_COUNT_SW_CPU_MIGRATIONS));
}

/* Return 1 for software clocks, which count all of the task's time, whatever code is excluded. */
static int counts_anyway(const struct rps_event *event)
{
    return event->type == RPS_EVENT_SOFTWARE &&
           (event->config == PERF_COUNT_SW_TASK_CLOCK || event->config == PERF_COUNT_SW_CPU_CLOCK);
}

/* Open the event on every kind of core that counts it, as a test. Returns 0 or -errno. *ret_kind is
 * the kind of core on which opening failed. */
static int try_open(const struct rps_perf *perf, const struct rps_event *event, int *ret_kind,
                    int *ret_user_only)
{
    for (int kind = 0; kind < rps_perf_kinds(perf); kind++) {
        struct rps_event one = rps_perf_event_on(perf, event, kind);
        int fd, user_only = 0;

        if (!rps_perf_counts_on(perf, event, kind))
            continue;
        *ret_kind = kind;
        fd = rps_perf_open_event(&one, NULL, -1, RPS_PERF_DISABLED | RPS_PERF_INHERIT, &user_only);
        if (fd < 0)
            return fd;
        close(fd);
        *ret_user_only |= user_only;
    }
    return 0;
}

int rps_perf_try_event(void *self, struct rps_event *event, struct rps_error *err)
{
    const struct rps_perf *perf = self;
    int rc = rps_event_resolve(event, "/sys", err);
    int user_only = 0, kind = 0, number;

    if (rc < 0 || event->state != RPS_EVENT_MEASURED)
        return rc;
    number = -try_open(perf, event, &kind, &user_only);
    if (number != 0) {
        event->state = rps_perf_explain(number, event->reason, sizeof(event->reason));
        if (perf->core_count > 1 && event->state == RPS_EVENT_UNSUPPORTED)
            snprintf(event->reason, sizeof(event->reason),
                     "the %s cores of this processor cannot count it (%s)", perf->core[kind].name,
                     strerror(number));
    } else if (user_only && happens_in_kernel(event)) {
        event->state = RPS_EVENT_NOT_PERMITTED;
        snprintf(event->reason, sizeof(event->reason),
                 "events in the kernel may not be counted (kernel.perf_event_paranoid is "
                 "%d): run as root, give rpistat CAP_PERFMON, or set 'sysctl "
                 "kernel.perf_event_paranoid=1'",
                 rps_perf_paranoid());
    } else if (user_only && !counts_anyway(event)) {
        snprintf(event->modifiers, sizeof(event->modifiers), "u");
    }
    return 0;
}

/* Check that the event counts on this thread. Returns 0, the errno of opening, or ENODATA for an
 * event that opens but does not count. The event is pinned, because a recording may already hold
 * the counters of this process. */
static int counts_now(const struct rps_event *event)
{
    uint64_t value[3] = {0, 0, 0};
    volatile unsigned spin = 0;
    int fd = rps_perf_open_event(event, NULL, -1, RPS_PERF_PINNED, NULL);

    if (fd < 0)
        return -fd;
    while (spin < 10000)
        spin++;
    ssize_t got = read(fd, value, sizeof(value));
    close(fd);
    return got == (ssize_t)sizeof(value) && value[0] > 0 ? 0 : ENODATA;
}

int rps_perf_counts_here(const struct rps_perf *perf, const struct rps_event *event)
{
    int number = ENODATA;

    for (int kind = 0; number != 0 && kind < rps_perf_kinds(perf); kind++) {
        struct rps_event one = rps_perf_event_on(perf, event, kind);

        number = counts_now(&one);
    }
    return number;
}

/* --- fitting ---------------------------------------------------------------------------------- */

int rps_perf_find_limit(void)
{
    struct rps_event cycles = {.type = RPS_EVENT_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES};
    struct rps_event copy = {.type = RPS_EVENT_HARDWARE,
                             .config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS};
    uint64_t buffer[3 + COPIES_MAX + 1];
    int fd[COPIES_MAX + 1], opened = 0, limit = INT_MAX;

    fd[0] = rps_perf_open_event(&cycles, NULL, -1,
                                RPS_PERF_PINNED | RPS_PERF_GROUP | RPS_PERF_DISABLED, NULL);
    while (limit == INT_MAX && fd[opened] >= 0 && ++opened <= COPIES_MAX) {
        volatile unsigned spin = 0;

        fd[opened] = rps_perf_open_event(&copy, NULL, fd[0], 0, NULL);
        if (fd[opened] < 0 || ioctl(fd[0], PERF_EVENT_IOC_ENABLE, 0) < 0)
            break;
        while (spin < 20000)
            spin++;
        if (ioctl(fd[0], PERF_EVENT_IOC_DISABLE, 0) < 0 ||
            read(fd[0], buffer, sizeof(buffer)) <= 0 || buffer[2] == 0)
            break;
        if (buffer[3 + opened] >= 10000) /* the newest copy counted all branches */
            continue;
        if (opened == 1) /* no copy counts branches: there is no result */
            break;
        limit = opened - 1;
    }
    for (int i = 0; i <= opened && i <= COPIES_MAX; i++)
        rps_perf_close_fd(&fd[i]);
    return limit;
}

/* Return 1 if all events that this kind of core counts can be on its counters at the same time. The
 * test runs on the core that this thread uses. */
static int fits_on(const struct rps_perf *perf, const struct rps_event *const *event, int count,
                   int kind)
{
    uint64_t buffer[3 + 2 * (RPS_SLOT_MAX + 16)];
    int fd[RPS_SLOT_MAX + 16], opened = 0, counters = 0, fits = 1;
    volatile unsigned spin = 0;

    for (int i = -1; i < count && fits; i++) {
        const struct rps_event *asked = i < 0 ? &perf->clock : event[i];
        struct rps_event one = rps_perf_event_on(perf, asked, kind);

        if (!rps_perf_needs_counter(perf, asked) || !rps_perf_counts_on(perf, asked, kind))
            continue;
        if (i >= 0 && ++counters > perf->limit) {
            fits = 0;
            break;
        }
        fd[opened] = rps_perf_open_event(
            &one, NULL, opened ? fd[0] : -1,
            opened ? 0 : RPS_PERF_PINNED | RPS_PERF_GROUP | RPS_PERF_DISABLED, NULL);
        if (fd[opened] < 0)
            fits = 0;
        else
            opened++;
    }
    if (fits && opened > 0) {
        fits = ioctl(fd[0], PERF_EVENT_IOC_ENABLE, 0) == 0;
        while (fits && spin < 1000)
            spin++;
        if (fits)
            fits = read(fd[0], buffer, sizeof(buffer)) > 0 && buffer[2] > 0;
    }
    while (opened > 0)
        close(fd[--opened]);
    return fits;
}

/* Check that events fit on each kind of core. A kind that this thread may not use is skipped. */
int rps_perf_fits(void *self, const struct rps_event *const *event, int count)
{
    const struct rps_perf *perf = self;
    cpu_set_t before;
    int fits = 1;

    if (count > RPS_SLOT_MAX + 15)
        return 0;
    if (perf->core_count < 2)
        return fits_on(perf, event, count, 0);
    if (sched_getaffinity(0, sizeof(before), &before) < 0)
        return 0;
    for (int kind = 0; fits && kind < perf->core_count; kind++) {
        if (rps_perf_go_to(&perf->core[kind]))
            fits = fits_on(perf, event, count, kind);
        sched_setaffinity(0, sizeof(before), &before);
    }
    return fits;
}

/* Measure how much counting an event costs the workload, by trying it on the recorder itself.
 *
 * Kernel events are counted where they occur, and counting takes time. For most events this time is
 * small compared with the event itself (tests/bench/events compares). A system call, however, can
 * take less time than counting it. Values from other machines do not apply: on two similar machines
 * the cost was 30 ns and 155 ns per call. An open tracepoint of system calls slows the calls of all
 * processes. So the calls are timed with an open and with a closed counter, because a disabled
 * counter that is still open would also slow them. */

/* Number of system calls in a block. Blocks are short, so that some of them are not interrupted. */
#define CALLS  200
#define BLOCKS 50
#define ROUNDS 3

/* Time some blocks of calls, and lower *least_ns to the shortest time of a block. */
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

/* Return the cost of counting a system call in ns, or 0 if unknown. */
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

void rps_pmu_measure_costs(struct rps_plan *plan)
{
    for (int n = 0; n < plan->set_count; n++) {
        for (int s = 0; s < plan->set[n].event_count; s++) {
            struct rps_event *event = &plan->set[n].event[s];

            if (event->state == RPS_EVENT_MEASURED && event->type == RPS_EVENT_TRACEPOINT &&
                (strcmp(event->role, "syscalls") == 0 ||
                 strncmp(event->spec, "raw_syscalls:", strlen("raw_syscalls:")) == 0))
                event->cost_ns = call_cost_ns(event);
        }
    }
}
