/* Tests of a failing clock, and of counters that fail at any read. The measurement loop runs over
 * the simulated processor with an event loop whose time jumps ahead, stops or goes back. Periods
 * still follow one another without a hole, and the store stays valid. */
#include "fault_vfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording.h"
#include "rpistat/clock.h"
#include "rpistat/loop.h"
#include "sound.h"

#define PERIOD_NS (100 * RPS_NS_PER_MS)
#define FAULT_AT  (3 * RPS_NS_PER_S + 17 * RPS_NS_PER_MS)
#define SCRIPT                                                                                     \
    "default instructions=200M branches=20M branch_miss=1M dc_access=50M dc_miss=2M\n"             \
    "phase only 10s\n"

struct odd_event_loop {
    const struct rps_event_loop *real;
    int64_t jump_ns;  /* time added from FAULT_AT on */
    int64_t still_ns; /* length of the time in which the clock stops */
    uint64_t read_at; /* number of the read that fails; 0: none */
    uint64_t reads;
    struct rps_writer *writer;
    int64_t last_ns;
};

/* --- the event loop --------------------------------------------------------------------------- */

static int64_t odd_now(void *self)
{
    const struct odd_event_loop *event_loop = self;
    int64_t now_ns = event_loop->real->now_ns(event_loop->real->self);

    if (now_ns < FAULT_AT)
        return now_ns;
    if (now_ns < FAULT_AT + event_loop->still_ns)
        return FAULT_AT;
    return now_ns + event_loop->jump_ns;
}

static int odd_wait(void *self, int64_t deadline_ns, enum rps_wake *ret, struct rps_error *err)
{
    const struct odd_event_loop *event_loop = self;
    int64_t now_ns = event_loop->real->now_ns(event_loop->real->self);
    int64_t real_ns = deadline_ns - (now_ns >= FAULT_AT ? event_loop->jump_ns : 0);

    /* A timer uses the same clock: it stops too, and expires as soon as its time has passed. */
    if (real_ns > FAULT_AT && real_ns < FAULT_AT + event_loop->still_ns)
        real_ns = FAULT_AT + event_loop->still_ns;
    return event_loop->real->wait(event_loop->real->self,
                                  real_ns > now_ns ? real_ns : now_ns + 1000, ret, err);
}

/* --- counters --------------------------------------------------------------------------------- */

static struct odd_event_loop *reading_world; /* The read function of a backend receives only the
                                                backend. */
static const struct rps_pmu *real_pmu;

static int odd_read(void *self, int track, int set, struct rps_reading *ret, struct rps_error *err)
{
    if (++reading_world->reads == reading_world->read_at)
        return rps_error_set(err, RPS_FAILED, "cannot read the counters: they were taken away");
    return real_pmu->read(self, track, set, ret, err);
}

/* --- recording -------------------------------------------------------------------------------- */

static void sink_period(void *context, const struct rps_period *period)
{
    struct odd_event_loop *event_loop = context;

    assert_int_equal(period->start_ns, event_loop->last_ns);
    if (period->length_ns < 0)
        fail_msg("period %ju has a length of %jd ns", (uintmax_t)period->period,
                 (intmax_t)period->length_ns);
    event_loop->last_ns += period->length_ns;
    rps_writer_period(event_loop->writer, period);
}

static void sink_mark(void *context, int64_t time_ns, const char *text)
{
    rps_writer_mark(((struct odd_event_loop *)context)->writer, time_ns, text);
}

static void sink_gap(void *context, int32_t cpu, int64_t start_ns, int64_t length_ns,
                     const char *reason)
{
    rps_writer_gap(((struct odd_event_loop *)context)->writer, cpu, start_ns, length_ns, reason);
}

static int run_loop(const struct recording_simulation *sim, struct odd_event_loop *odd,
                    struct rps_run *run, struct rps_error *err)
{
    const struct rps_event_loop event_loop = {.self = odd, .now_ns = odd_now, .wait = odd_wait};
    const struct rps_sink sink = {odd, sink_period, sink_mark, sink_gap};
    struct rps_pmu pmu = *sim->pmu;
    const struct rps_loop_options options = {
        .pmu = &pmu,
        .pmu_self = sim->self,
        .plan = sim->plan,
        .event_loop = &event_loop,
        .sink = &sink,
        .period_ns = PERIOD_NS,
        .counting = 1,
    };
    enum rps_loop_end end;

    pmu.read = odd_read;
    real_pmu = sim->pmu;
    reading_world = odd;
    odd->real = sim->pmu->event_loop(sim->self);
    return rps_loop_run(&options, &end, &run->elapsed_ns, err);
}

/* Record in the faulty event loop, and return the loop's result. The store must be valid in any
 * case. */
static int record(void **state, struct odd_event_loop *event_loop, struct rps_error *err,
                  struct rps_check_result *check)
{
    const char *path = fixture_path(state, "rpistat.data");
    const struct rps_writer_options options = {.commit_ns = RPS_NS_PER_S};
    struct recording_simulation sim;
    struct rps_error end_err;
    struct rps_run run;
    int result;

    recording_remove(path);
    fixture_run(&run);
    recording_simulate(&sim, fixture_path(state, "script.sim"), SCRIPT);
    if (rps_writer_open(&event_loop->writer, path, &options, err) < 0 ||
        rps_writer_begin(event_loop->writer, &run, sim.plan, err) < 0)
        fail_msg("%s", err->message);
    result = run_loop(&sim, event_loop, &run, err);
    run.state = result < 0 ? RPS_RUN_INTERRUPTED : RPS_RUN_COMPLETE;
    if (rps_writer_end(event_loop->writer, &run, &end_err) < 0)
        fail_msg("%s", end_err.message);
    rps_writer_close(event_loop->writer);
    assert_int_equal(recording_check(path, "an odd event loop", check), 0);
    recording_end_simulation(&sim);
    rps_run_free(&run);
    return result;
}

static void in_an_odd_world(void **state, struct odd_event_loop event_loop, const char *what)
{
    struct rps_check_result check;
    struct rps_error err = {""};

    if (record(state, &event_loop, &err, &check) < 0)
        fail_msg("%s: %s", what, err.message);
    assert_in_range(check.periods, 60, 110);
    print_message("# the clock %s: %ju periods without a hole, %.3f s; the store is sound\n", what,
                  (uintmax_t)check.periods, (double)event_loop.last_ns / RPS_NS_PER_S);
}

static void time_jumps_ahead(void **state)
{
    in_an_odd_world(state, (struct odd_event_loop){.jump_ns = 3600 * RPS_NS_PER_S},
                    "jumps an hour");
}

static void time_stands_still(void **state)
{
    in_an_odd_world(state, (struct odd_event_loop){.still_ns = 2 * RPS_NS_PER_S},
                    "stands still for 2 s");
}

static void time_goes_back(void **state)
{
    in_an_odd_world(state, (struct odd_event_loop){.jump_ns = -5 * RPS_NS_PER_MS},
                    "goes back by 5 ms");
    in_an_odd_world(state, (struct odd_event_loop){.jump_ns = -2 * RPS_NS_PER_S},
                    "goes back by 2 s");
}

static void every_read_fails_once(void **state)
{
    uint64_t at, periods = 0;

    for (at = 1;; at++) {
        struct odd_event_loop event_loop = {.read_at = at};
        struct rps_check_result check;
        struct rps_error err = {""};
        int result = record(state, &event_loop, &err, &check);

        if (event_loop.reads < at)
            break;
        assert_true(result < 0);
        assert_non_null(strstr(err.message, "cannot read the counters"));
        assert_true(check.periods >= periods); /* All periods measured before the fault are kept. */
        periods = check.periods;
    }
    assert_true(at > 100);
    print_message("# %ju reads failed in turn: each recording kept what was measured before\n",
                  (uintmax_t)at - 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(time_jumps_ahead),
        TEST(time_stands_still),
        TEST(time_goes_back),
        TEST(every_read_fails_once),
    };

    fault_vfs_install();
    fault_vfs_set_hook(fault_skip_sync, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
