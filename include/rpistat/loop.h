/*
 * The measurement loop. At each expiry of an absolute timer it reads the current event set,
 * switches to the next, and passes the period to a sink. It allocates nothing and waits only for
 * time.
 */
#ifndef RPISTAT_LOOP_H
#define RPISTAT_LOOP_H

#include <stdint.h>

#include "rpistat/clock.h"
#include "rpistat/error.h"
#include "rpistat/order.h"
#include "rpistat/period.h"
#include "rpistat/pmu.h"
#include "rpistat/sampler.h"

struct rps_system_reader;
struct rps_system_sink;

#define RPS_PERIOD_MIN_NS     INT64_C(1000000)       /* 1 ms */
#define RPS_PERIOD_MAX_NS     INT64_C(3600000000000) /* 1 h */
#define RPS_PERIOD_DEFAULT_NS INT64_C(100000000)     /* 100 ms */

/* --- the event loop: time and what happens in it ---------------------------------------------- */

enum rps_wake {
    RPS_WAKE_DEADLINE, /* the time was reached */
    RPS_WAKE_ENDED,    /* the workload has ended */
    RPS_WAKE_STOP,     /* end the recording now */
    RPS_WAKE_PAUSE,    /* stop counting */
    RPS_WAKE_RESUME,   /* continue counting */
};

/* Time and the workload's end, as a table of functions that a simulation can replace. */
struct rps_event_loop {
    void *self;
    /* Return the present time of a monotonic clock, in ns. */
    int64_t (*now_ns)(void *self);
    /* Wait until deadline_ns, the end of the workload or a request, whichever is first. */
    int (*wait)(void *self, int64_t deadline_ns, enum rps_wake *ret, struct rps_error *err);
    /* closer 1: run on the workload's CPU; returns 1 if that is a change. 0: run anywhere again.
     * NULL: not supported. */
    int (*approach)(void *self, int closer);
    /* Return the clocks' times, to detect sleep and a clock that was set; NULL: one clock. */
    void (*clocks)(void *self, struct rps_clocks *ret);
};

struct rps_real_event_loop;

/* A caller's descriptor that the event loop waits for in addition to time. */
struct rps_watch {
    int fd; /* -1: none */
    /* Handle a readable descriptor. Returns 1 and *ret for a request to the loop; 0: continue. */
    int (*on_ready)(void *context, enum rps_wake *ret);
    /* Called after the loop has done what was requested; NULL: no call. */
    void (*on_done)(void *context);
    void *context;
};

/*
 * Open the real event loop: an absolute timer on CLOCK_MONOTONIC, pidfds (it ends with the last
 * one; without pidfds never) and watched descriptors, copied. RPS_FAILED: no memory or descriptors.
 */
int rps_real_event_loop_open(struct rps_real_event_loop **ret, const int *pidfd, int pidfd_count,
                             const struct rps_watch *watch, int watch_count, struct rps_error *err);
const struct rps_event_loop *
rps_real_event_loop_table(const struct rps_real_event_loop *event_loop);
void rps_real_event_loop_close(struct rps_real_event_loop *event_loop);

/* --- the loop --------------------------------------------------------------------------------- */

/* Receives periods. Called on the measurement loop: must not wait. */
struct rps_sink {
    void *context;
    void (*period)(void *context, const struct rps_period *period);
    /* An annotation by the recorder itself: "measurement period stretched to 200 ms: ..." */
    void (*mark)(void *context, int64_t time_ns, const char *text);
    /* A time range without counting: a delay, a pause, an offline CPU. */
    void (*gap)(void *context, int32_t cpu, int64_t start_ns, int64_t length_ns,
                const char *reason);
};

struct rps_loop_options {
    const struct rps_pmu *pmu; /* attached backend */
    void *pmu_self;
    const struct rps_plan *plan; /* as fitted */
    struct rps_order order;      /* order of its sets */
    const struct rps_event_loop *event_loop;
    const struct rps_sink *sink;
    const struct rps_sampler *sampler;         /* NULL: no samples */
    const struct rps_sample_sink *sample_sink; /* receives samples; NULL: only `system` does */
    const struct rps_system_reader *system;    /* NULL: no system metrics */
    const struct rps_system_sink *system_sink; /* receives readings */
    int64_t start_ns;    /* the event loop's time at exec: zero of all times */
    int64_t period_ns;   /* RPS_PERIOD_MIN_NS ... RPS_PERIOD_MAX_NS */
    int fine_start;      /* 1: with several sets, periods begin at 10 ms and grow, see below */
    int64_t duration_ns; /* end the recording after this; 0: with the workload */
    int64_t delay_ns;    /* start counting so long after start_ns */
    int paused;          /* 1: counting begins at the first RPS_WAKE_RESUME */
    int counting;        /* 1: counting began at the exec; neither of the above */
};

/* How the recording ended. */
enum rps_loop_end {
    RPS_LOOP_WORKLOAD, /* the workload ended */
    RPS_LOOP_DURATION, /* the time was over */
    RPS_LOOP_STOPPED,  /* the event loop asked for it */
};

/*
 * Run until the end. The timer is on the grid start + k * period. A late wake-up makes a longer
 * period with its missed expiries counted; the next one ends on the grid again, so nothing drifts.
 * The last, shorter period ends with the workload. A pause ends the period; the time until counting
 * continues is a gap. If a counter could wrap twice within a period, it is read in between. If the
 * loop is so late that a counter may have wrapped more than once, the counts since the last reading
 * are unknown: that time is a gap, which reports it. The period before ends with that reading, and
 * the cycle timestamp omits the time. perf's counters have 64 bits, and do not wrap.
 *
 * With `fine_start` the periods of a rotation last a hundredth of the time since counting began, at
 * least 10 ms, at least a hundred times the last switch, and at most the period.
 *
 * The period is stretched by a whole factor if the switch takes more than 1 % of it, and more than
 * RPS_LOOP_SWITCH_FREE_NS. (That is the median of 16 switches, or of 3 if each took a twentieth.)
 * With one event set, which counts while it is read, the limit is a quarter. The period shrinks
 * again when half of it would suffice, later each time if that does not last. A mark reports each
 * change.
 *
 * Samples are drained once per period, after it was passed on, and more often if the sampler
 * requires it. A drain passes on samples older than the previous drain; the last one, after the
 * last period, all. There are none in a pause. If the sampler fails, a mark reports why, and the
 * recording continues without it.
 *
 * System metrics are read after that, once per period; at a pause and at the end even if not due.
 * Their reader receives thread events from the drained records.
 *
 * The run's time is the event loop's, which stops while the machine sleeps: nothing is missing in
 * it. A mark reports each sleep and its length. Another one reports that the wall clock was set by
 * more than a second; wall times in the store are those of the start.
 */
#define RPS_LOOP_SWITCH_FREE_NS INT64_C(50000)

int rps_loop_run(const struct rps_loop_options *options, enum rps_loop_end *ret_end,
                 int64_t *ret_elapsed_ns, struct rps_error *err);

#endif
