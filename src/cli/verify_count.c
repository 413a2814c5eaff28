/*
 * `rpistat verify`: one run of a microbenchmark. It is counted like a recording, by the same
 * backends, multiplexer and loop, into a tally instead of a store.
 */
#include "verify.h"

#include "rpistat/clock.h"
#include "rpistat/loop.h"

static void keep_period(void *context, const struct rps_period *period)
{
    rps_tally_add(context, period);
}

static void ignore_mark(void *context, int64_t time_ns, const char *text)
{
    (void)context;
    (void)time_ns;
    (void)text;
}

static void ignore_gap(void *context, int32_t cpu, int64_t start_ns, int64_t length_ns,
                       const char *reason)
{
    (void)context;
    (void)cpu;
    (void)start_ns;
    (void)length_ns;
    (void)reason;
}

/* Release the child, which waits and is attached, and record it to its end. */
static int record_child(const struct rps_pmu *pmu, void *self, const struct rps_plan *plan,
                        struct rps_micro_child *child, int64_t period_ns, struct rps_tally *tally,
                        struct rps_error *err)
{
    struct rps_sink sink = {tally, keep_period, ignore_mark, ignore_gap};
    struct rps_loop_options loop = {
        .pmu = pmu,
        .pmu_self = self,
        .plan = plan,
        .sink = &sink,
        .period_ns = period_ns,
        .counting = 1,
    };
    struct rps_real_event_loop *event_loop = NULL;
    enum rps_loop_end end;
    int64_t elapsed_ns;
    int rc = rps_real_event_loop_open(&event_loop, &child->pidfd, 1, NULL, 0, err);

    if (rc == 0 && (rc = pmu->start(self, 0, err)) == 0)
        rc = rps_micro_release(child, err);
    if (rc == 0) {
        loop.event_loop = rps_real_event_loop_table(event_loop);
        loop.start_ns = rps_clock_monotonic_ns();
        rc = rps_loop_run(&loop, &end, &elapsed_ns, err);
    }
    rps_real_event_loop_close(event_loop);
    return rc;
}

int rps_verify_count_run(const struct rps_pmu *pmu, const struct rps_plan *plan,
                         const struct rps_micro *micro, uint64_t turns, int64_t period_ns,
                         struct rps_tally *tally, struct rps_micro_result *result,
                         struct rps_error *err)
{
    struct rps_micro_child child;
    struct rps_error later;
    void *self = NULL;
    int rc = rps_micro_launch(&child, micro, turns, err), ended;
    struct rps_target target = {
        .kind = RPS_TARGET_LAUNCH,
        .pid = &child.pid,
        .pid_count = 1,
    };

    if (rc != 0)
        return rc;
    if ((rc = pmu->open(&self, NULL, err)) == 0 &&
        (rc = pmu->attach(self, plan, &target, err)) == 0)
        rc = record_child(pmu, self, plan, &child, period_ns, tally, err);
    ended = rps_micro_finish(&child, result, rc < 0 ? &later : err);
    if (self)
        pmu->close(self);
    return rc < 0 ? rc : ended;
}
