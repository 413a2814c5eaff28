/*
 * The measurement loop, written against two tables: the PMU backend and the world. With the real
 * world it records a workload; with the simulated one an hour passes in a moment.
 *
 * A timer with an interval (timerfd) was not used: a one-shot absolute timer costs one more cheap
 * system call a period, and leaves the grid, lateness and stretching in one place, here.
 */
#include "rpistat/loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/text.h"

/* Periods whose switch costs are looked at together before the period is stretched. */
#define STRETCH_PERIODS 16

struct loop {
    const struct rps_loop_options *o;
    struct rps_mux mux;
    int64_t period_ns; /* as stretched */
    int64_t grid_ns;   /* last point of the grid that was passed, world's time */
    int64_t end_ns;    /* world's time at which --duration is over, INT64_MAX: never */
    int64_t switch_ns[STRETCH_PERIODS]; /* costs of the latest switches */
    int switch_count;
};

static int64_t now(const struct loop *loop)
{
    return loop->o->world->now_ns(loop->o->world->self);
}

static int read_current(struct loop *loop, struct rps_reading *reading, struct rps_error *err)
{
    return loop->o->pmu->read(loop->o->pmu_self, loop->mux.current, reading, err);
}

/* Hand over the period that ended at end_ns with the given reading. */
static void finish_period(struct loop *loop, const struct rps_reading *reading, int64_t end_ns,
                          int64_t switch_ns, uint64_t missed)
{
    struct rps_period period;

    rps_mux_end_period(&loop->mux, reading, end_ns - loop->o->start_ns, &period);
    period.switch_ns = switch_ns;
    period.missed = missed > UINT32_MAX ? UINT32_MAX : (uint32_t)missed;
    loop->o->sink->period(loop->o->sink->context, &period);
}

static int compare_int64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The factor by which the period must be stretched for a switch that takes so long. */
static int64_t stretch_factor(const struct loop *loop, int64_t switch_ns)
{
    int64_t nominal_ns = loop->o->period_ns, factor;

    if (switch_ns <= RPS_LOOP_SWITCH_FREE_NS)
        return 1;
    factor = (switch_ns * 100 + nominal_ns - 1) / nominal_ns;
    if (factor > RPS_PERIOD_MAX_NS / nominal_ns)
        factor = RPS_PERIOD_MAX_NS / nominal_ns;
    return factor < 1 ? 1 : factor;
}

/* The median, not the mean: one hiccup of the machine among cheap switches stretches nothing. */
static void consider_stretching(struct loop *loop, int64_t switch_ns, int64_t time_ns)
{
    char text[160], cost[RPS_TEXT_NUMBER_SIZE], length[RPS_TEXT_NUMBER_SIZE];
    int64_t median_ns, factor, present = loop->period_ns / loop->o->period_ns;

    loop->switch_ns[loop->switch_count++] = switch_ns;
    if (loop->switch_count < STRETCH_PERIODS)
        return;
    loop->switch_count = 0;
    qsort(loop->switch_ns, STRETCH_PERIODS, sizeof(loop->switch_ns[0]), compare_int64);
    median_ns = loop->switch_ns[STRETCH_PERIODS / 2];
    factor = stretch_factor(loop, median_ns);
    if (factor <= present && factor * 2 > present) /* wide enough, and not much too wide */
        return;
    loop->period_ns = factor * loop->o->period_ns;
    snprintf(text, sizeof(text),
             "measurement period %s to %s: switching event sets takes %s (median)",
             factor > present ? "stretched" : "shortened",
             rps_text_duration(length, sizeof(length), loop->period_ns),
             rps_text_duration(cost, sizeof(cost), median_ns));
    loop->o->sink->mark(loop->o->sink->context, time_ns - loop->o->start_ns, text);
}

/* The deadline was reached: read, switch, hand over. */
static int switch_set(struct loop *loop, struct rps_error *err)
{
    const struct rps_pmu *pmu = loop->o->pmu;
    int alone = loop->mux.set_count == 1;
    int current = loop->mux.current;
    int next = (current + 1) % loop->mux.set_count;
    int64_t before_ns = now(loop), after_ns, passed;
    struct rps_reading reading;
    int rc;

    if (!alone && (rc = pmu->disable(loop->o->pmu_self, current, err)) < 0)
        return rc;
    if ((rc = read_current(loop, &reading, err)) < 0)
        return rc;
    if (!alone && (rc = pmu->enable(loop->o->pmu_self, next, err)) < 0)
        return rc;
    after_ns = now(loop);
    passed = (before_ns - loop->grid_ns) / loop->period_ns;
    if (passed > 0)
        loop->grid_ns += passed * loop->period_ns;
    finish_period(loop, &reading, before_ns, after_ns - before_ns,
                  passed > 1 ? (uint64_t)(passed - 1) : 0);
    consider_stretching(loop, after_ns - before_ns, before_ns);
    return 0;
}

/* Wait for the end of the period, reading in between where a counter could wrap unseen. */
static int wait_period(struct loop *loop, enum rps_wake *wake, struct rps_error *err)
{
    const struct rps_world *world = loop->o->world;
    int64_t within_ns = loop->o->pmu->read_within_ns(loop->o->pmu_self);
    int64_t deadline_ns = loop->grid_ns + loop->period_ns;

    if (deadline_ns > loop->end_ns)
        deadline_ns = loop->end_ns;
    for (;;) {
        int64_t time_ns = now(loop), until_ns = deadline_ns;
        struct rps_reading reading;
        int rc;

        if (until_ns - time_ns > within_ns)
            until_ns = time_ns + within_ns;
        if ((rc = world->wait(world->self, until_ns, wake, err)) < 0)
            return rc;
        if (*wake != RPS_WAKE_DEADLINE || until_ns == deadline_ns)
            return 0;
        if ((rc = read_current(loop, &reading, err)) < 0)
            return rc;
        rps_mux_fold(&loop->mux, &reading);
    }
}

/* The last, shorter period: nothing is switched on any more. */
static int finish(struct loop *loop, int64_t *ret_elapsed_ns, struct rps_error *err)
{
    int64_t end_ns = now(loop), after_ns;
    struct rps_reading reading;
    int rc;

    if ((rc = loop->o->pmu->disable(loop->o->pmu_self, loop->mux.current, err)) < 0 ||
        (rc = read_current(loop, &reading, err)) < 0)
        return rc;
    after_ns = now(loop);
    finish_period(loop, &reading, end_ns, after_ns - end_ns, 0);
    *ret_elapsed_ns = end_ns - loop->o->start_ns;
    return 0;
}

int rps_loop_run(const struct rps_loop_options *options, enum rps_loop_end *ret_end,
                 int64_t *ret_elapsed_ns, struct rps_error *err)
{
    struct loop loop = {.o = options, .period_ns = options->period_ns};
    enum rps_wake wake = RPS_WAKE_DEADLINE;
    enum rps_loop_end end = RPS_LOOP_WORKLOAD;
    int rc;

    if ((rc = rps_mux_init(&loop.mux, options->plan, options->pmu, options->pmu_self, err)) < 0)
        return rc;
    loop.grid_ns = options->start_ns;
    loop.end_ns = options->duration_ns > 0 ? options->start_ns + options->duration_ns : INT64_MAX;
    for (;;) {
        if ((rc = wait_period(&loop, &wake, err)) < 0)
            break;
        if (wake != RPS_WAKE_DEADLINE || now(&loop) >= loop.end_ns) {
            end = wake == RPS_WAKE_ENDED  ? RPS_LOOP_WORKLOAD
                  : wake == RPS_WAKE_STOP ? RPS_LOOP_STOPPED
                                          : RPS_LOOP_DURATION;
            rc = finish(&loop, ret_elapsed_ns, err);
            break;
        }
        if ((rc = switch_set(&loop, err)) < 0)
            break;
    }
    if (rc == 0)
        *ret_end = end;
    rps_mux_free(&loop.mux);
    return rc;
}
