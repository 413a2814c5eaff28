/* Run the measurement loop on the simulated processor. */
#ifndef RPISTAT_TEST_SIM_SIMULATE_H
#define RPISTAT_TEST_SIM_SIMULATE_H

#include "support/run.h"

#include "rpistat/loop.h"
#include "rpistat/micro.h"

static const struct rps_pmu *const test_simulated[] = {&rps_pmu_sim, NULL};

static struct rps_event_loop test_unpaused;
static int64_t test_resume_ns;

static inline int test_wait_with_pause(void *self, int64_t deadline_ns, enum rps_wake *ret,
                                       struct rps_error *err)
{
    const struct {
        int64_t at_ns;
        enum rps_wake wake;
    } request[] = {{250 * MS, RPS_WAKE_PAUSE}, {test_resume_ns, RPS_WAKE_RESUME}};

    for (size_t i = 0; i < 2; i++)
        if (test_unpaused.now_ns(self) < request[i].at_ns && deadline_ns >= request[i].at_ns) {
            int rc = test_unpaused.wait(self, request[i].at_ns, ret, err);

            if (rc == 0 && *ret == RPS_WAKE_DEADLINE)
                *ret = request[i].wake;
            return rc;
        }
    return test_unpaused.wait(self, deadline_ns, ret, err);
}

/* Use as options.adapt: pause the loop from 250 ms to test_resume_ns. */
static inline void test_pause_it(struct rps_event_loop *event_loop)
{
    test_unpaused = *event_loop;
    event_loop->wait = test_wait_with_pause;
}

/* Run a simulation script to its end. */
static inline void test_simulate(struct test_run *ret, const char *script,
                                 const struct test_options *options)
{
    struct rps_error err = {""};
    struct rps_sink sink = {ret, test_keep_period, test_keep_mark, test_keep_gap};
    struct rps_system_sink system_sink = {ret, test_keep_reading};
    struct rps_system_reader system = {0};
    struct rps_target target = {.start_at_exec = !options->delay_ns && !options->paused};
    const struct rps_pmu *pmu;
    char path[64], choice[80], note[64];
    void *self;

    memset(ret, 0, sizeof(*ret));
    ret->order = options->order;
    test_file(path, script, strlen(script));
    snprintf(choice, sizeof(choice), "sim:%s", path);
    if (rps_pmu_open(choice, test_simulated, &pmu, &self, note, sizeof(note), &err) < 0)
        fail_msg("%s", err.message);
    unlink(path);
    int groups = !!options->events[0] + !!options->events[1];
    if ((groups > 0
             ? rps_plan_from_events(options->events, groups, &ret->plan, &err)
             : rps_plan_load(options->plan ? options->plan : "arm1176", &ret->plan, &err)) < 0 ||
        rps_pmu_prepare(pmu, self, ret->plan, options->merge, &ret->fitting, &err) < 0)
        fail_msg("%s", err.message);
    target.first_set = rps_order_set(&ret->order, ret->plan->set_count, 0);
    if (pmu->attach(self, ret->plan, &target, &err) < 0)
        fail_msg("%s", err.message);
    if (options->signals && pmu->open_system(self, options->signals, &target, &system, &err) < 0)
        fail_msg("%s", err.message);
    struct rps_event_loop event_loop = *pmu->event_loop(self);
    event_loop.approach = options->approach;
    event_loop.clocks = options->clocks;
    if (options->adapt)
        options->adapt(&event_loop);
    struct rps_loop_options loop = {
        .pmu = pmu,
        .pmu_self = self,
        .plan = ret->plan,
        .order = ret->order,
        .event_loop = &event_loop,
        .sink = &sink,
        .period_ns = options->period_ns ? options->period_ns : 100 * MS,
        .duration_ns = options->duration_ns,
        .delay_ns = options->delay_ns,
        .sampler = options->sampler,
        .sample_sink = options->sample_sink,
        .system = options->signals ? &system : options->system,
        .system_sink = &system_sink,
        .paused = options->paused,
        .counting = target.start_at_exec,
    };
    if (rps_loop_run(&loop, &ret->end, &ret->elapsed_ns, &err) < 0)
        fail_msg("%s", err.message);
    if (system.self)
        system.close(system.self);
    pmu->close(self);
}

#endif
