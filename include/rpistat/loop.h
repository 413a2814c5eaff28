/*
 * The measurement loop: at each expiry of an absolute timer it reads the current event set,
 * switches to the next, and hands the period to a sink. It allocates nothing and waits for nothing
 * but time.
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
    RPS_WAKE_STOP,     /* the recording shall end now */
    RPS_WAKE_PAUSE,    /* counting shall stand still */
    RPS_WAKE_RESUME,   /* counting shall go on */
};

/* Time and the workload's end, as a table of functions, so that a simulation can bring its own. */
struct rps_event_loop {
    void *self;
    /* Now, on a monotonic clock, ns. */
    int64_t (*now_ns)(void *self);
    /* Wait until deadline_ns, the end of the workload or a request, whichever is first. */
    int (*wait)(void *self, int64_t deadline_ns, enum rps_wake *ret, struct rps_error *err);
    /* closer 1: run on the workload's CPU, and 1 when that is a change; 0: run anywhere again. NULL
     * where there is nothing of the kind. */
    int (*approach)(void *self, int closer);
    /* The clocks now, to tell sleep and a clock that was set; NULL: there is but one. */
    void (*clocks)(void *self, struct rps_clocks *ret);
};

struct rps_real_event_loop;

/* A descriptor of the caller's that the event loop waits for beside time. */
struct rps_watch {
    int fd; /* -1: none */
    /* It is readable. Returns 1 and *ret for a request to the loop, 0 to wait on. */
    int (*on_ready)(void *context, enum rps_wake *ret);
    /* The loop has done what was asked for; NULL: nobody wants to know. */
    void (*on_done)(void *context);
    void *context;
};

/*
 * Real time: an absolute timer on CLOCK_MONOTONIC, pidfds (the end is when all of them have ended;
 * with none it is never) and watched descriptors, copied. RPS_FAILED without memory or descriptors.
 */
int rps_real_event_loop_open(struct rps_real_event_loop **ret, const int *pidfd, int pidfd_count,
                             const struct rps_watch *watch, int watch_count, struct rps_error *err);
const struct rps_event_loop *
rps_real_event_loop_table(const struct rps_real_event_loop *event_loop);
void rps_real_event_loop_close(struct rps_real_event_loop *event_loop);

/* --- the loop --------------------------------------------------------------------------------- */

/* Where periods go. Called on the measurement loop: must not wait. */
struct rps_sink {
    void *context;
    void (*period)(void *context, const struct rps_period *period);
    /* An annotation by the recorder itself: "measurement period stretched to 200 ms: ..." */
    void (*mark)(void *context, int64_t time_ns, const char *text);
    /* A stretch in which nothing was counted: a delay, a pause, a CPU that was gone. */
    void (*gap)(void *context, int32_t cpu, int64_t start_ns, int64_t length_ns,
                const char *reason);
};

struct rps_loop_options {
    const struct rps_pmu *pmu; /* attached backend */
    void *pmu_self;
    const struct rps_plan *plan; /* as fitted */
    struct rps_order order;      /* of its sets */
    const struct rps_event_loop *event_loop;
    const struct rps_sink *sink;
    const struct rps_sampler *sampler;         /* NULL: no samples are taken */
    const struct rps_sample_sink *sample_sink; /* who gets them; NULL: nobody, but for `system` */
    const struct rps_system_reader *system;    /* NULL: no system signals are read */
    const struct rps_system_sink *system_sink; /* who gets readings */
    int64_t start_ns;    /* the event loop's time at exec: zero of all times */
    int64_t period_ns;   /* RPS_PERIOD_MIN_NS ... RPS_PERIOD_MAX_NS */
    int fine_start;      /* 1: with several sets, periods begin at 10 ms and grow, see below */
    int64_t duration_ns; /* end the recording after this; 0: with the workload */
    int64_t delay_ns;    /* let counting begin so much after start_ns */
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
 * Run until the end. The timer stands on the grid start + k * period: a late wake-up makes a longer
 * period whose missed expiries are counted, the next one ends on the grid again, nothing drifts.
 * The last, shorter period ends with the workload. A pause ends the period; what follows until
 * counting goes on is a gap. Where a counter could wrap twice within a period it is read in
 * between. A loop that comes so late that one may have wrapped more than once all the same cannot
 * tell what was counted since the last reading: that is a gap, which says so; the period before
 * ends with that reading, and the cycle timestamp leaves the time out. perf's counters have 64
 * bits, and do not wrap.
 *
 * With `fine_start` the periods of a rotation last a hundredth of the time since counting began, at
 * least 10 ms, at least a hundred times the last switch, and at most the period.
 *
 * The period is stretched by a whole factor when the switch (the median of 16, or of 3 when each
 * took a twentieth of it) takes more than 1 % of it, and more than RPS_LOOP_SWITCH_FREE_NS; with
 * one event set, which counts while it is read, when that takes a quarter. It shrinks again when
 * half of that would do, later and later where that does not last. A mark says so each time.
 *
 * Samples are drained once a period, after it was handed over, and more often where the sampler
 * asks for it: those that are older than the drain before, all of them at the end, when the last
 * period was handed over. None are taken in a pause. When the sampler fails a mark says why, and
 * the recording goes on without it.
 *
 * System signals are read behind that, once a period, whether due or not at a pause and at the end.
 * Their reader hears of threads what is drained.
 *
 * The run's time is the event loop's, which stands still while the machine sleeps: nothing is
 * missing in it then. A mark says that the machine slept and for how long; another one when the
 * wall clock was set by more than a second, whose times in the store are those of the start.
 */
#define RPS_LOOP_SWITCH_FREE_NS INT64_C(50000)

int rps_loop_run(const struct rps_loop_options *options, enum rps_loop_end *ret_end,
                 int64_t *ret_elapsed_ns, struct rps_error *err);

#endif
