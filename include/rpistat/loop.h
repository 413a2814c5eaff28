/* The measurement loop. Whenever an absolute timer expires, the loop reads the current event set,
 * switches to the next set, and passes the period to a sink. The loop allocates no memory, and
 * waits only for the timer. */
#pragma once

#include <stdint.h>

#include "rpistat/clock.h"
#include "rpistat/error.h"
#include "rpistat/order.h"
#include "rpistat/period.h"
#include "rpistat/pmu.h"
#include "rpistat/sampler.h"

struct rps_system_sink;

#define RPS_PERIOD_MIN_NS     INT64_C(1000000)       /* Minimum: 1 ms */
#define RPS_PERIOD_MAX_NS     INT64_C(3600000000000) /* Maximum: 1 h */
#define RPS_PERIOD_DEFAULT_NS INT64_C(100000000)     /* Default: 100 ms */

/* --- the event loop: time and what happens in it ---------------------------------------------- */

enum rps_wake {
    RPS_WAKE_DEADLINE, /* The deadline was reached. */
    RPS_WAKE_ENDED,    /* The workload has ended. */
    RPS_WAKE_STOP,     /* Request to end the recording */
    RPS_WAKE_PAUSE,    /* Request to stop counting */
    RPS_WAKE_RESUME,   /* Request to continue counting */
};

/* Functions for the clock and for waiting, in a table that a simulation can replace. */
struct rps_event_loop {
    void *self;
    /* Return the current time of a monotonic clock, in ns. */
    int64_t (*now_ns)(void *self);
    /* Wait until deadline_ns, the end of the workload, or a request, whichever is first. */
    int (*wait)(void *self, int64_t deadline_ns, enum rps_wake *ret, struct rps_error *err);
    /* If `closer` is 1, move the loop to the workload's CPU, and return 1 if the loop was moved. If
     * `closer` is 0, permit all CPUs again. The pointer is NULL if this is not supported. */
    int (*approach)(void *self, int closer);
    /* Return the times of the clocks, to detect that the machine slept or that a clock was set. The
     * pointer is NULL if there is only one clock. */
    void (*clocks)(void *self, struct rps_clocks *ret);
};

struct rps_real_event_loop;

/* A file descriptor of the caller that the event loop watches while it waits. */
struct rps_watch {
    int fd; /* File descriptor (-1: none) */
    /* Handle the readable descriptor. Return 1 and a request in *ret, or 0 for no request. */
    int (*on_ready)(void *context, enum rps_wake *ret);
    /* Called after the loop has handled the request (NULL: no call). */
    void (*on_done)(void *context);
    void *context;
};

/* Open the real event loop, with an absolute timer on CLOCK_MONOTONIC. The lists of pidfds and of
 * watched descriptors are copied. The wait reports RPS_WAKE_ENDED when the processes of all pidfds
 * have ended; without pidfds, it never reports this. Return RPS_FAILED if memory or descriptors run
 * out. */
int rps_real_event_loop_open(struct rps_real_event_loop **ret, const int *pidfd, int pidfd_count,
                             const struct rps_watch *watch, int watch_count, struct rps_error *err);
const struct rps_event_loop *
rps_real_event_loop_table(const struct rps_real_event_loop *event_loop);
void rps_real_event_loop_close(struct rps_real_event_loop *event_loop);

/* --- the loop --------------------------------------------------------------------------------- */

/* A receiver of periods. The measurement loop calls its functions, which must not wait. `mark` and
 * `gap` may be NULL. */
struct rps_sink {
    void *context;
    void (*period)(void *context, const struct rps_period *period);
    /* Receive an annotation by the recorder: "measurement period stretched to 200 ms: ..." */
    void (*mark)(void *context, int64_t time_ns, const char *text);
    /* Receive a time range without counting: a delay, a pause, an offline CPU. */
    void (*gap)(void *context, int32_t cpu, int64_t start_ns, int64_t length_ns,
                const char *reason);
};

struct rps_loop_options {
    const struct rps_pmu *pmu; /* Backend, already attached */
    void *pmu_self;
    const struct rps_plan *plan; /* Plan, after it was fitted to the counters */
    struct rps_order order;      /* Order of the plan's event sets */
    const struct rps_event_loop *event_loop;
    const struct rps_sink *sink;
    const struct rps_sampler *sampler;         /* Sampler (NULL: no samples) */
    const struct rps_sample_sink *sample_sink; /* Receiver of samples (NULL: only `system`
                                                  receives the sampler's records) */
    const struct rps_system_reader *system;    /* Reader of system metrics (NULL: none) */
    const struct rps_system_sink *system_sink; /* Receiver of system metrics */
    int64_t start_ns;    /* Time of the event loop at exec; times of the run are relative to it */
    int64_t period_ns;   /* Period, RPS_PERIOD_MIN_NS ... RPS_PERIOD_MAX_NS */
    int fine_start;      /* 1: with several sets, the first periods are short, at least 10 ms */
    int64_t duration_ns; /* Time until the recording ends (0: ends with the workload) */
    int64_t delay_ns;    /* Time from start_ns to the start of counting */
    int paused;          /* 1: counting begins at the first RPS_WAKE_RESUME */
    int counting;        /* 1: counting began at the exec, without delay or pause */
};

/* Reason for the end of a recording. */
enum rps_loop_end {
    RPS_LOOP_WORKLOAD, /* The workload ended. */
    RPS_LOOP_DURATION, /* The requested duration was over. */
    RPS_LOOP_STOPPED,  /* The event loop requested the end. */
};

/* Run until the end. The timer is on the grid start + k * period. If the loop wakes up late, the
 * period is longer, and records the number of missed expiries. The next period ends on the grid
 * again, so that delays do not add up. The last period ends with the workload, and is shorter. A
 * pause ends the period; the time until counting continues is a gap. A counter that could wrap
 * twice within a period is also read during the period. If the loop is so late that a counter may
 * have wrapped more than once, the counts since the previous reading are unknown. The period then
 * ends at this previous reading. The time afterwards is reported as a gap, and the cycle timestamp
 * omits this time. perf's counters have 64 bits, and do not wrap.
 *
 * With `fine_start`, the periods of a rotation last a hundredth of the time since counting began.
 * Short periods last at least 10 ms, at least a hundred times the last switch, and at most the
 * usual period. With a random order, the first rotation always has short periods. A program often
 * behaves differently at its start. In short periods, each set counts a part of the start.
 *
 * The period is multiplied by a whole number if a switch of event sets takes more than 1 % of the
 * period, and more than RPS_LOOP_SWITCH_FREE_NS. The switch time is the median of 16 switches, or
 * of 3 switches if each of them took at least a twentieth of the period. With one event set, the
 * limit is a quarter, because the set counts while it is read. The period becomes shorter again
 * when half of it would suffice. If it must soon become longer again, the loop waits longer before
 * it next makes the period shorter. A mark reports each change.
 *
 * Samples are drained after each period was passed on, and more often if the sampler requires
 * more drains. A drain passes on only the samples taken before the previous drain. The last drain,
 * after the last period, passes on all samples. No samples are taken during a pause. If the sampler
 * fails, a mark reports the reason, and the recording continues without samples.
 *
 * System metrics are read after the samples, once per period. At a pause and at the end, system
 * metrics are read even if they are not due. From the drained samples, the reader of system metrics
 * receives the records of threads that begin or end.
 *
 * The run's time is the time of the event loop. This clock stops while the machine sleeps, so that
 * a sleep causes no gap. A mark reports each sleep and its length. Another mark reports that the
 * wall clock was set by more than a second. Wall-clock times are computed from the time at the
 * start of the run. */
#define RPS_LOOP_SWITCH_FREE_NS INT64_C(50000)

int rps_loop_run(const struct rps_loop_options *options, enum rps_loop_end *ret_end,
                 int64_t *ret_elapsed_ns, struct rps_error *err);
