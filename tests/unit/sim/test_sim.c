/* Tests of the loop, the multiplexer and event fitting on the simulated ARM1176. All numbers are
 * exact. */
#include "simulate.h"
#include "rpistat/plan.h"

static const struct test_options rotate = {0};
static const struct test_options merge = {.merge = 1};

static const char steady[] = "default instructions=73M ibuf_stall=16M dc_access=1M dc_miss=220k\n"
                             "default micro_tlb_miss=53k main_tlb_miss=39k branches=8M "
                             "branch_miss=88k\n"
                             "phase work 1050ms\n"
                             "exit 3\n";

static void test_rotation(void **state)
{
    static const uint64_t per_period[4][2] = {
        {7300000, 1600000}, {100000, 22000}, {5300, 3900}, {800000, 8800}};
    struct test_run run;

    (void)state;
    test_simulate(&run, steady, &rotate);
    assert_int_equal(run.plan->set_count, 4);
    assert_int_equal(run.count, 11);
    test_check_contiguous(&run);
    for (size_t i = 0; i < run.count; i++) {
        const struct rps_period *p = &run.period[i];
        uint64_t half = i == 10 ? 2 : 1; /* the last period is half as long */

        assert_int_equal(p->length_ns, 100 * MS / (int64_t)half);
        assert_int_equal(p->cycles, 70000000 / half);
        assert_int_equal(p->enabled_ns, 100 * MS / (int64_t)half);
        assert_int_equal(p->running_ns, p->enabled_ns);
        assert_int_equal(p->counted, 3);
        assert_int_equal(p->missed, 0);
        for (int s = 0; s < 2; s++)
            assert_int_equal(p->count[s], per_period[p->set_no][s] / half);
    }
    assert_int_equal(run.end, RPS_LOOP_WORKLOAD);
    assert_int_equal(run.elapsed_ns, 1050 * MS);
    test_run_free(&run);
}

/* At 4G events per second, a 32-bit counter wraps after each 1.07 s of counting, and the cycle
 * counter every 6.1 s. */
static void test_wrap(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run, "phase fast 400s instructions=4G ibuf_stall=3999999999\n", &rotate);
    test_check_contiguous(&run);
    assert_int_equal(run.count, 4000);
    for (size_t i = 0; i < run.count; i += 4) {
        assert_int_equal(run.period[i].count[0], 400000000);
        assert_in_range(run.period[i].count[1], 399999999, 400000000);
    }
    assert_int_equal(run.period[3999].cycle, UINT64_C(280000000000));
    assert_int_equal(test_total(&run, 0, 0), UINT64_C(400000000000));
    test_run_free(&run);
}

/* In random order, each set counts the events of its own periods, whatever their place in the
 * rotation. 32-bit counters wrap as usual. The first rotation lasts 10 ms per set. */
static void test_random_order(void **state)
{
    static const uint64_t per_period[4][2] = {
        {7300000, 1600000}, {100000, 22000}, {5300, 3900}, {800000, 8800}};

    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        const struct test_options random = {.order = {1, seed}};
        struct test_run run;

        test_simulate(&run, steady, &random);
        assert_int_equal(run.count, 15);
        test_check_contiguous(&run);
        for (size_t i = 0; i < 14; i++) {
            uint64_t parts = i < 4 ? 1 : 10;

            assert_int_equal(run.period[i].length_ns, parts * 10 * MS);
            for (int s = 0; s < 2; s++)
                assert_int_equal(run.period[i].count[s],
                                 per_period[run.period[i].set_no][s] * parts / 10);
        }
        test_run_free(&run);
        test_simulate(&run, "phase fast 400040ms instructions=4G dc_access=4G branches=4G\n",
                      &random);
        test_check_contiguous(&run);
        for (unsigned int set = 0; set < 4; set++)
            assert_int_equal(test_total(&run, set, 0), set == 2 ? 0 : UINT64_C(400040000000));
        test_run_free(&run);
    }
}

/* A workload that repeats with the rotation shows each set always the same part, if the order is
 * fixed. In this workload, the first set is always active in the hot 100 ms. */
static void test_beat(void **state)
{
    static const char beat[] = "repeat 1000\nphase hot 100ms instructions=400M branches=40M\n"
                               "phase cool 300ms instructions=100M branches=10M\nend\n";
    const uint64_t instructions = UINT64_C(70000000000), branches = UINT64_C(7000000000);
    struct test_run run;

    (void)state;
    test_simulate(&run, beat, &rotate);
    test_check_contiguous(&run);
    assert_int_equal(4 * test_total(&run, 0, 0), UINT64_C(160000000000));
    assert_int_equal(4 * test_total(&run, 3, 0), UINT64_C(4000000000));
    test_run_free(&run);
    for (uint64_t seed = 1; seed <= 10; seed++) { /* The standard deviation is 2.3 %. */
        test_simulate(&run, beat, &(struct test_options){.order = {1, seed}});
        test_check_contiguous(&run);
        assert_in_range(4 * test_total(&run, 0, 0), instructions / 10 * 9, instructions / 10 * 11);
        assert_in_range(4 * test_total(&run, 3, 0), branches / 10 * 9, branches / 10 * 11);
        test_run_free(&run);
    }
}

/* Within one period of a minute the cycle counter wraps nine times, so it is read within the
 * period. */
static void test_long_period(void **state)
{
    static const struct test_options minute = {.period_ns = 60 * S};
    struct test_run run;

    (void)state;
    test_simulate(&run, "phase fast 250s instructions=2G branches=1G\n", &minute);
    test_check_contiguous(&run);
    assert_int_equal(run.count, 5);
    assert_int_equal(run.period[0].cycles, UINT64_C(42000000000));
    assert_int_equal(run.period[0].count[0], UINT64_C(120000000000));
    assert_int_equal(run.period[3].count[0], UINT64_C(60000000000));
    assert_int_equal(run.period[4].length_ns, 10 * S);
    assert_int_equal(run.period[4].count[0], UINT64_C(20000000000));
    test_run_free(&run);
}

static void test_late(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run, "late 1s 350ms\nlate 2100ms 99ms\nphase work 3s instructions=1M\n",
                  &rotate);
    test_check_contiguous(&run);
    assert_int_equal(run.period[9].length_ns, 450 * MS);
    assert_int_equal(run.period[9].missed, 3);
    assert_int_equal(run.period[9].cycles, 315000000);
    assert_int_equal(run.period[10].length_ns, 50 * MS); /* The period ends on the grid again. */
    assert_int_equal(run.period[10].missed, 0);
    assert_int_equal(run.period[11].length_ns, 100 * MS);
    assert_int_equal(run.period[17].length_ns, 199 * MS);
    assert_int_equal(run.period[17].missed, 0);
    assert_int_equal(run.period[18].length_ns, 1 * MS);
    assert_int_equal(run.elapsed_ns, 3 * S);
    test_run_free(&run);
}

/* The loop is suspended for 60 ms at a given query of the clock, counted from 500 ms on. */
static struct {
    int looks, at_look;
} held;

static int64_t now_held(void *self)
{
    enum rps_wake wake;
    struct rps_error err;
    int64_t time_ns = test_unpaused.now_ns(self);

    if (time_ns >= 500 * MS && ++held.looks == held.at_look)
        test_unpaused.wait(self, time_ns + 60 * MS, &wake, &err);
    return test_unpaused.now_ns(self);
}

static void hold_it(struct rps_event_loop *event_loop)
{
    test_unpaused = *event_loop;
    event_loop->now_ns = now_held;
}

/* Wherever the recorder is delayed, the length of a period is the time in which its counts were
 * made. */
static void test_held(void **state)
{
    static const struct test_options options[] = {{.adapt = hold_it, .merge = 1},
                                                  {.adapt = hold_it}};
    struct test_run run;

    (void)state;
    for (size_t o = 0; o < 2; o++)
        for (int look = 1; look <= 8; look++) {
            held.looks = 0;
            held.at_look = look;
            test_simulate(&run, "counters 8\nphase work 2s instructions=10M\n", &options[o]);
            assert_int_equal(run.plan->set_count == 1, o == 0);
            for (size_t i = 0; i < run.count; i++)
                assert_int_equal(run.period[i].enabled_ns, run.period[i].length_ns);
            assert_int_equal(run.elapsed_ns, 2 * S);
            test_run_free(&run);
        }
}

/* Expect a gap, and periods on both sides that are numbered consecutively and add up to the cycle
 * timestamp. */
static void check_gap(const struct test_run *run, int64_t start_ns, int64_t length_ns,
                      const char *reason)
{
    int64_t time_ns = 0;
    uint64_t cycle = 0;

    assert_int_equal(run->gap_count, 1);
    assert_int_equal(run->gap_start_ns, start_ns);
    assert_int_equal(run->gap_ns, length_ns);
    assert_string_equal(run->gap, reason);
    for (size_t i = 0; i < run->count; i++) {
        const struct rps_period *p = &run->period[i];

        if (time_ns == start_ns)
            time_ns += length_ns;
        assert_int_equal(p->period, i);
        assert_int_equal(p->set_no, i % (size_t)run->plan->set_count);
        assert_int_equal(p->rotation, i / (size_t)run->plan->set_count);
        assert_int_equal(p->start_ns, time_ns);
        assert_int_equal(p->running_ns, p->length_ns);
        assert_int_equal(p->enabled_ns, p->length_ns);
        time_ns += p->length_ns;
        assert_int_equal(p->cycles, time_ns * 7 / 10 - p->start_ns * 7 / 10);
        if (p->set_no == 0)
            assert_int_equal(p->count[0], time_ns / 100 - p->start_ns / 100);
        cycle += p->cycles;
        assert_int_equal(p->cycle, cycle);
    }
    assert_int_equal(time_ns + (time_ns == start_ns ? length_ns : 0), run->elapsed_ns);
}

/* The 32-bit cycle counter wraps every 6.136 s. Up to this time, the difference of two readings is
 * exact. A longer time is ambiguous, so its counts become a gap. */
static void test_late_beyond_a_turn(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run, "late 5s 6030ms\nphase work 30s instructions=10M\n", &rotate);
    test_check_contiguous(&run);
    assert_int_equal(run.gap_count, 0);
    assert_int_equal(run.period[49].length_ns, 6130 * MS);
    assert_int_equal(run.period[49].cycles, UINT64_C(4291000000));
    assert_int_equal(run.period[run.count - 1].cycle, UINT64_C(21000000000));
    test_run_free(&run);

    test_simulate(&run, "late 5s 6040ms\nphase work 30s instructions=10M\n", &rotate);
    check_gap(&run, 4900 * MS, 6140 * MS,
              "the counters may have wrapped more than once: 6.140 s between two readings");
    assert_int_equal(run.period[49].start_ns, 11040 * MS);
    assert_int_equal(run.period[49].length_ns, 60 * MS); /* The period ends on the grid again. */
    assert_int_equal(run.period[50].length_ns, 100 * MS);
    test_run_free(&run);
}

/* In a period of a minute, the counters are read every 4.6 s. The counts read before the delay of
 * the loop become a period. */
static void test_late_in_a_long_period(void **state)
{
    static const struct test_options minute = {.period_ns = 60 * S};
    struct test_run run;

    (void)state;
    test_simulate(&run, "clock 700M\nlate 20s 20s\nphase work 150s instructions=10M\n", &minute);
    assert_int_equal(run.count, 4);
    assert_in_range(run.period[0].length_ns, 18 * S, 20 * S);
    check_gap(&run, run.period[0].length_ns, run.period[1].start_ns - run.period[0].length_ns,
              run.gap);
    assert_int_equal(run.period[2].start_ns, 60 * S);
    test_run_free(&run);
}

/* The workload ends while the loop is late. The gap lasts until the end. A workload that slept has
 * no counts. */
static void test_late_at_the_end(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run, "late 5s 100s\nphase work 20s instructions=10M\n", &rotate);
    check_gap(&run, 4900 * MS, 15100 * MS,
              "the counters may have wrapped more than once: 15.1 s between two readings");
    assert_int_equal(run.count, 49);
    assert_int_equal(run.elapsed_ns, 20 * S);
    test_run_free(&run);

    test_simulate(&run, "late 5s 100s\nphase work 6s instructions=10M\nsleep 50s\n", &rotate);
    test_check_contiguous(&run);
    assert_int_equal(run.gap_count, 0);
    assert_int_equal(run.period[run.count - 1].cycle, UINT64_C(4200000000));
    test_run_free(&run);
}

/* The counters are taken away for 250 ms in the middle of a period. The events are counted in part,
 * then not at all, then again. */
static void test_steal(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run, "steal 850ms 250ms\nphase work 2s instructions=10M dc_access=1M\n",
                  &rotate);
    test_check_contiguous(&run);
    assert_int_equal(run.period[8].running_ns, 50 * MS); /* Period 8 has event set 0. */
    assert_int_equal(run.period[8].enabled_ns, 100 * MS);
    assert_int_equal(run.period[8].count[0], 500000);
    assert_int_equal(run.period[8].counted, 3);
    assert_int_equal(run.period[9].running_ns, 0); /* Period 9 has event set 1. */
    assert_int_equal(run.period[9].counted, 0);
    assert_int_equal(run.period[9].cycles, 70000000); /* The cycle counter is not affected. */
    assert_int_equal(run.period[10].counted, 0);
    assert_int_equal(run.period[11].counted, 3);
    assert_int_equal(run.period[13].count[0], 100000); /* Period 13 has event set 1 again. */
    test_run_free(&run);
}

/* The cycle counter alone is taken away for 250 ms in the middle of a period. The count and running
 * time of the clock stop; its enabled time and the event set continue. */
static void test_steal_clock(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run,
                  "steal-clock 850ms 250ms\nsteal 1500ms 200ms\nsteal-clock 1500ms 200ms\n"
                  "phase work 2s instructions=10M dc_access=1M\n",
                  &rotate);
    test_check_contiguous(&run);
    for (size_t i = 0; i < run.count; i++) {
        const struct rps_period *p = &run.period[i];
        uint64_t expected = i == 8 ? 50 : i == 9 || i == 10 || i == 15 || i == 16 ? 0 : 100;

        assert_int_equal(p->enabled_ns, 100 * MS);
        assert_int_equal(p->clock_running_ns, expected * MS);
        assert_int_equal(p->cycles, expected * 700000);
        assert_int_equal(p->running_ns, i == 15 || i == 16 ? 0 : 100 * MS);
        assert_int_equal(p->counted, i == 15 || i == 16 ? 0 : 3);
    }
    assert_int_equal(run.period[8].count[0], 1000000);
    assert_int_equal(run.period[9].count[0], 100000);
    test_run_free(&run);
}

static void test_sleep(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run,
                  "phase work 1s instructions=10M\nsleep 1s\nphase work 500ms instructions=10M\n",
                  &rotate);
    test_check_contiguous(&run);
    assert_int_equal(run.count, 25);
    for (size_t i = 10; i < 20; i++) {
        assert_int_equal(run.period[i].enabled_ns, 0);
        assert_int_equal(run.period[i].cycles, 0);
        assert_int_equal(run.period[i].cycle, 700000000);
        assert_int_equal(run.period[i].counted, 3); /* The zeros of a sleeping workload are real
                                                       counts. */
        assert_int_equal(run.period[i].count[0], 0);
        assert_int_equal(run.period[i].length_ns, 100 * MS);
    }
    assert_int_equal(run.period[24].cycle, 1050000000);
    test_run_free(&run);
}

static void test_merge(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run, "counters 8\nphase work 1s instructions=10M branch_miss=1k\n", &merge);
    test_check_contiguous(&run);
    assert_int_equal(run.fitting.counter_count, 8);
    assert_int_equal(run.plan->set_count, 1);
    assert_int_equal(run.plan->set[0].event_count, 8);
    assert_int_equal(test_total(&run, 0, 0), 10000000);
    assert_int_equal(test_total(&run, 0, 7), 1000);
    assert_non_null(strstr(run.fitting.text, "4 event sets were merged into 1"));
    test_run_free(&run);

    test_simulate(&run, "counters 5\nphase work 1s instructions=10M dc_miss=40k\n", &merge);
    assert_int_equal(run.plan->set_count, 2);
    assert_string_equal(run.plan->set[0].name, "instr+dc");
    assert_int_equal(test_total(&run, 0, 0), 5000000);
    assert_int_equal(test_total(&run, 0, 3), 20000);
    test_run_free(&run);

    test_simulate(&run, "counters 8\nphase work 1s instructions=10M\n", &rotate);
    assert_int_equal(run.plan->set_count, 4); /* The sets rotate, as with --always-rotate. */
    assert_int_equal(run.fitting.counter_count, 8);
    test_run_free(&run);
}

static void test_split(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run, "counters 1\nphase work 2s instructions=10M ibuf_stall=8M\n", &merge);
    test_check_contiguous(&run);
    assert_int_equal(run.fitting.counter_count, 1);
    assert_int_equal(run.plan->set_count, 8);
    assert_string_equal(run.plan->set[1].event[0].name, "ibuf_stall");
    assert_int_equal(run.period[8].count[0], 1000000);
    assert_int_equal(run.period[9].count[0], 800000);
    assert_non_null(strstr(run.fitting.text, "event set instr was split into 2"));
    test_run_free(&run);
}

/* The clock event is always counted, so requesting it takes neither of the two counters. */
static void test_by_clock(void **state)
{
    static const struct test_options two = {.events = {"instructions,cycles,dc_miss"}};
    static const struct test_options three = {.events = {"cycles,instructions,dc_miss,branches"}};
    static const struct test_options alone = {.events = {"cycles"}};
    static const struct test_options apart = {.events = {"cycles", "instructions,dc_miss"}};
    static const struct test_options joined = {.events = {"cycles", "instructions,dc_miss"},
                                               .merge = 1};
    struct test_run run;

    (void)state;
    test_simulate(&run, "clock 700M\nphase work 1050ms instructions=10M dc_miss=1M\n", &two);
    test_check_contiguous(&run);
    assert_int_equal(run.plan->set_count, 1);
    for (size_t i = 0; i < run.count; i++) {
        assert_int_equal(run.period[i].counted, 7);
        assert_int_equal(run.period[i].count[1], run.period[i].cycles);
    }
    assert_int_equal(test_total(&run, 0, 0), 10500000);
    assert_int_equal(test_total(&run, 0, 1), 735000000);
    assert_int_equal(test_total(&run, 0, 2), 1050000);
    assert_int_equal(run.fitting.counter_count, 2);
    test_run_free(&run);

    test_simulate(&run, "clock 700M\nphase work 1s instructions=10M branches=1M\n", &three);
    assert_int_equal(run.plan->set_count, 2);
    assert_int_equal(run.plan->set[0].event_count, 3);
    assert_int_equal(test_total(&run, 0, 0), 350000000); /* The count covers only the time of its
                                                            event set. */
    assert_int_equal(test_total(&run, 1, 0), 500000);
    test_run_free(&run);

    test_simulate(&run, "clock 700M\nphase work 1s instructions=10M\n", &alone);
    assert_int_equal(test_total(&run, 0, 0), 700000000);
    test_run_free(&run);

    test_simulate(&run, "clock 700M\nphase work 1s instructions=10M\n", &apart);
    assert_int_equal(run.plan->set_count, 2);
    assert_int_equal(run.plan->set[0].event[0].by_clock, 0);
    assert_int_equal(test_total(&run, 0, 0), 350000000);
    test_run_free(&run);

    test_simulate(&run, "clock 700M\nphase work 1s instructions=10M\n", &joined);
    assert_int_equal(run.plan->set_count, 1); /* The set has three events on two counters. */
    assert_int_equal(test_total(&run, 0, 0), 700000000);
    assert_int_equal(test_total(&run, 0, 1), 10000000);
    test_run_free(&run);
}

/* If an event cannot be opened, the rest of its set is counted. A set without events is never
 * active. */
static void test_fail_event(void **state)
{
    const struct rps_event *event;
    struct test_run run;
    int set, slot;

    (void)state;
    test_simulate(&run,
                  "fail ibuf_stall unsupported\nfail micro_tlb_miss denied\n"
                  "fail main_tlb_miss unsupported\nphase work 3s instructions=10M dc_access=1M\n",
                  &rotate);
    test_check_contiguous(&run);
    assert_int_equal(run.plan->set_count, 3);
    assert_int_equal(run.period[0].counted & 1, 1);
    assert_int_equal(run.period[0].counted & 2, 0);
    event = rps_plan_role(run.plan, "dtlb_l1_miss", &set, &slot);
    assert_non_null(event);
    assert_int_equal(event->state, RPS_EVENT_NOT_PERMITTED);
    assert_int_equal(run.period[set].counted >> slot & 1, 0);
    assert_int_equal(run.period[0].count[0], 1000000);
    assert_string_equal(run.plan->set[0].event[1].reason, "the script says unsupported");
    test_run_free(&run);
}

/* If a read fails, its period has no count. The next period of the same set has none either,
 * because its count would cover both. */
static void test_fail_read(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run, "fail-read 850ms 100ms\nphase work 2s instructions=10M\n", &rotate);
    test_check_contiguous(&run);
    assert_int_equal(run.period[4].count[0], 1000000);
    assert_int_equal(run.period[8].counted, 0);
    assert_int_equal(run.period[9].counted, 3);
    assert_int_equal(run.period[12].counted, 0);
    assert_int_equal(run.period[16].counted, 3);
    assert_int_equal(run.period[16].count[0], 1000000);
    test_run_free(&run);
}

static void test_switch_cost(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run, "switch 20us\nphase work 1s instructions=1G\n", &rotate);
    test_check_contiguous(&run);
    assert_int_equal(run.period[0].switch_ns, 20000);
    assert_int_equal(run.period[0].running_ns, 100 * MS);
    assert_int_equal(run.period[1].enabled_ns, 100 * MS);
    assert_int_equal(run.period[1].running_ns, 100 * MS - 20000);
    assert_int_equal(run.period[4].count[0], 99980000);
    assert_string_equal(run.mark, "");
    test_run_free(&run);
}

static void test_stretch(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run, "switch 3ms\nphase work 10s instructions=1G\n", &rotate);
    test_check_contiguous(&run);
    assert_int_equal(run.period[15].length_ns, 100 * MS);
    assert_int_equal(run.period[17].length_ns, 300 * MS);
    assert_int_equal(run.period[18].length_ns, 300 * MS);
    assert_non_null(strstr(run.mark, "stretched to 0.300 s"));
    test_run_free(&run);
}

static int approached, left; /* Number of calls to move closer, and to leave. */

static int approach_well(void *self, int closer)
{
    (void)self;
    approached += closer;
    left += !closer;
    return closer;
}

/* When switching gets cheap again (threads have gone), the period gets short again. */
static void test_shrink(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run, "switch 3ms\nswitch 10us 5s\nphase work 20s instructions=1G\n", &rotate);
    test_check_contiguous(&run);
    assert_int_equal(run.period[20].length_ns, 300 * MS);
    assert_int_equal(run.period[run.count - 2].length_ns, 100 * MS);
    assert_non_null(strstr(run.mark, "shortened to 0.100 s"));
    test_run_free(&run);
}

/* If switching costs alternate, the period adapts less and less often, but never stops adapting. */
static void test_shrink_patience(void **state)
{
    char script[8192] = "";
    size_t used = 0;
    struct test_run run;

    (void)state;
    for (int second = 0; second < 400; second += 20)
        used += (size_t)snprintf(script + used, sizeof(script) - used,
                                 "switch 3ms %ds\nswitch 10us %ds\n", second, second + 10);
    snprintf(script + used, sizeof(script) - used, "phase work 400s instructions=1G\n");
    test_simulate(&run, script, &rotate);
    test_check_contiguous(&run);
    assert_in_range(run.mark_count, 3, 6);
    assert_int_equal(run.period[run.count - 2].length_ns, 300 * MS);
    test_run_free(&run);
}

/* A single event set counts during its reading. A reading may take a quarter of the period. Pushing
 * the workload off its CPU would not make a reading cheaper for the workload. */
static void test_reading(void **state)
{
    static const struct test_options quick = {
        .events = {"instructions,dc_miss"}, .period_ns = MS, .approach = approach_well};
    struct test_run run;

    (void)state;
    approached = 0;
    test_simulate(&run, "switch 250us\nphase work 5s instructions=1G\n", &quick);
    assert_in_range(run.count, 5000, 5001);
    assert_int_equal(run.mark_count, 0);
    assert_int_equal(approached, 0);
    test_run_free(&run);
    test_simulate(&run, "switch 251us\nphase work 5s instructions=1G\n", &quick);
    assert_int_equal(run.period[run.count - 2].length_ns, 2 * MS);
    assert_int_equal(run.mark_count, 1);
    assert_non_null(strstr(run.mark, "reading the counters takes 251.0 us"));
    test_run_free(&run);
    /* A busy machine delays a reading. The period ends at the time of the reading. */
    test_simulate(&run, "switch 800us 450ms\nswitch 20us 455ms\nphase work 1s instructions=1G\n",
                  &quick);
    for (size_t i = 0; i < run.count; i++)
        assert_int_equal(run.period[i].count[0], run.period[i].length_ns);
    test_run_free(&run);
}

/* If switches take a large part of the period, as with thousands of threads, the period grows
 * before sixteen periods have passed. */
static void test_stretch_soon(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run, "switch 30ms\nphase work 30s instructions=1G\n", &rotate);
    test_check_contiguous(&run);
    assert_int_equal(run.period[2].length_ns, 100 * MS);
    assert_int_equal(run.period[5].length_ns, 3000 * MS);
    assert_non_null(strstr(run.mark, "stretched to 3.000 s"));
    test_run_free(&run);
}

/* A machine that stalls briefly, twice within 16 switches, does not lengthen the period. */
static void test_hiccup(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run,
                  "switch 20us\nswitch 80ms 450ms\nswitch 20us 550ms\nswitch 90ms 1150ms\n"
                  "switch 20us 1250ms\nphase work 10s instructions=1G\n",
                  &rotate);
    test_check_contiguous(&run);
    assert_int_equal(run.period[4].switch_ns, 80 * MS);
    assert_int_equal(run.period[run.count - 2].length_ns, 100 * MS);
    assert_string_equal(run.mark, "");
    test_run_free(&run);
}

/* --- near the workload ------------------------------------------------------------------------ */

static int approach_in_vain(void *self, int closer)
{
    approach_well(self, closer);
    return 0;
}

static void go(const char *script, int (*approach)(void *self, int closer))
{
    const struct test_options options = {.approach = approach};
    struct test_run run;

    approached = left = 0;
    test_simulate(&run, script, &options);
    test_check_contiguous(&run);
    test_run_free(&run);
}

/* If switches are slow, the loop tries another CPU, and stays there if switches are fast. */
static void test_near(void **state)
{
    (void)state;
    go("switch 200us\nswitch 20us 350ms\nphase work 60s instructions=1G\n", approach_well);
    assert_int_equal(approached, 1);
    assert_int_equal(left, 0);
    /* The switches are already fast. */
    go("switch 40us\nphase work 60s instructions=1G\n", approach_well);
    assert_int_equal(approached, 0);
}

/* A workload that changes its CPU is followed after two slow switches, however often it moves. */
static void test_near_follows(void **state)
{
    char script[4096] = "switch 200us\nswitch 20us 350ms\n";
    size_t used = strlen(script);

    (void)state;
    go("switch 200us\nswitch 20us 350ms\nswitch 200us 4950ms\nswitch 20us 5050ms\n"
       "phase work 30s instructions=1G\n",
       approach_well);
    assert_int_equal(approached, 1); /* A single slow switch is ignored. */
    for (int second = 1; second < 30; second++)
        used += (size_t)snprintf(script + used, sizeof(script) - used,
                                 "switch 200us %d950ms\nswitch 20us %d150ms\n", second, second + 1);
    snprintf(script + used, sizeof(script) - used, "phase work 32s instructions=1G\n");
    go(script, approach_well);
    assert_int_equal(approached, 30);
    assert_int_equal(left, 0);
}

/* If a move does not help, the loop gives up and tries again later. */
static void test_near_in_vain(void **state)
{
    (void)state;
    /* A trial and three moves take 0.8 s. After these, the loop pauses for 8 rows of 1.6 s, then
     * 16, and so on. */
    go("switch 200us\nphase work 90s instructions=1G\n", approach_well);
    assert_int_equal(approached, 3 * 4);
    assert_int_equal(left, 3);
    go("switch 200us\nphase work 100s instructions=1G\n", approach_in_vain);
    assert_in_range(approached, 5, 8);
    assert_int_equal(left, 0);
}

static void test_duration(void **state)
{
    static const struct test_options short_run = {.duration_ns = 1234 * MS};
    struct test_run run;

    (void)state;
    test_simulate(&run, "phase work 10s instructions=1M\n", &short_run);
    test_check_contiguous(&run);
    assert_int_equal(run.end, RPS_LOOP_DURATION);
    assert_int_equal(run.elapsed_ns, 1234 * MS);
    assert_int_equal(run.count, 13);
    assert_int_equal(run.period[12].length_ns, 34 * MS);
    test_run_free(&run);
}

/* Nothing is counted before the delay has passed. The delay becomes a gap. */
static void test_delay(void **state)
{
    static const struct test_options late = {.delay_ns = 730 * MS};
    struct test_run run;

    (void)state;
    test_simulate(&run, "phase setup 730ms instructions=9M\nphase work 2s instructions=1M\n",
                  &late);
    assert_int_equal(run.count, 20);
    assert_int_equal(run.period[0].start_ns, 730 * MS);
    assert_int_equal(run.period[0].length_ns, 100 * MS);
    assert_int_equal(run.period[0].count[0], 100000);
    assert_int_equal(run.period[0].cycle, 70000000);
    assert_int_equal(run.gap_ns, 730 * MS);
    assert_string_equal(run.gap, "before the delay was over");
    assert_int_equal(run.elapsed_ns, 2730 * MS);
    test_run_free(&run);
    test_simulate(&run, "phase setup 730ms branches=9M\nphase work 2s branches=1M\n",
                  &(struct test_options){.delay_ns = 730 * MS, .order = {1, 5}});
    assert_int_equal(run.period[0].set_no, 3); /* The first set is the first in the random order. */
    assert_int_equal(run.period[0].length_ns, 10 * MS);
    assert_int_equal(run.period[0].count[0], 10000);
    test_run_free(&run);
}

/* Noise is the same however often it is read. Another seed gives other noise. */
static void test_noise(void **state)
{
    static const char script[] = "counters 8\nseed 7\nnoise 5%\nphase work 3s instructions=10M\n";
    static const char other[] = "counters 8\nseed 8\nnoise 5%\nphase work 3s instructions=10M\n";
    static const struct test_options odd = {.merge = 1, .period_ns = 37 * MS};
    struct test_run run, again, different;
    size_t unlike = 0;

    (void)state;
    test_simulate(&run, script, &merge);
    test_simulate(&again, script, &odd);
    test_simulate(&different, other, &merge);
    assert_int_equal(test_total(&run, 0, 0), test_total(&again, 0, 0));
    assert_int_not_equal(test_total(&run, 0, 0), test_total(&different, 0, 0));
    for (size_t i = 0; i < run.count; i++) {
        assert_in_range(run.period[i].count[0], 950000, 1050000);
        unlike += run.period[i].count[0] != 1000000;
    }
    assert_true(unlike > run.count / 2);
    test_run_free(&run);
    test_run_free(&again);
    test_run_free(&different);
}

/* Seeds that differ in few bits do not give the same noise in a different order. */
static void test_noise_of_near_seeds(void **state)
{
    uint64_t total[16];

    (void)state;
    for (int seed = 0; seed < 16; seed++) {
        char script[128];
        struct test_run run;

        snprintf(script, sizeof(script),
                 "counters 8\nseed %d\nnoise 5%%\nphase work 1600ms instructions=10M\n", seed);
        test_simulate(&run, script, &merge);
        assert_int_equal(run.count, 16);
        total[seed] = test_total(&run, 0, 0);
        for (int other = 0; other < seed; other++)
            assert_int_not_equal(total[seed], total[other]);
        test_run_free(&run);
    }
}

/* Noise raises rates beyond 32 bits and makes counters wrap earlier. */
static void test_noise_of_fast_events(void **state)
{
    static const char script[] = "counters 8\nnoise 50%\nphase work 60s instructions=4G\n";
    static const struct test_options minute = {.merge = 1, .period_ns = 60 * S};
    struct test_run run, again;
    int fast = 0;

    (void)state;
    test_simulate(&run, script, &merge);
    test_simulate(&again, script, &minute);
    for (size_t i = 0; i < run.count; i++) {
        assert_in_range(run.period[i].count[0], 200000000, 600000000);
        fast += run.period[i].count[0] > 429496729;
    }
    assert_true(fast > 200);
    assert_in_range(test_total(&run, 0, 0), UINT64_C(230000000000), UINT64_C(250000000000));
    assert_int_equal(test_total(&run, 0, 0), test_total(&again, 0, 0));
    assert_int_equal(again.gap_count, 0);
    test_run_free(&run);
    test_run_free(&again);
}

static void test_repeat(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run,
                  "counters 8\nrepeat 3\nphase a 200ms instructions=10M\nrepeat 2\n"
                  "phase b 100ms instructions=20M\nend\nend\n",
                  &merge);
    assert_int_equal(run.elapsed_ns, 1200 * MS);
    for (size_t i = 0; i < run.count; i++)
        assert_int_equal(run.period[i].count[0], i % 4 < 2 ? 1000000 : 2000000);
    test_run_free(&run);
}

static void test_bad_scripts(void **state)
{
    static const struct {
        const char *script, *message;
    } bad[] = {
        {"", "no phase"},
        {"phase a 0s\n", "no phase"},
        {"# only\nphase a\n", ":2: expected: phase NAME"},
        {"phase a 1s speed=3\n", ":1: 'speed' is not an event"},
        {"phase a 1s r99=3\n", "'r99' is not an event"},
        {"phase a 1s instructions\n", "expected EVENT=RATE"},
        {"phase a 1s instructions=5G\n", "must be between 0 and 4G"},
        {"phase a -1s\n", ":1: length"},
        {"repeat 3\nphase a 1s\n", ":1: 'repeat' without an 'end'"},
        {"phase a 1s\nend\n", ":2: 'end' without"},
        {"width 8\nphase a 1s\n", "between 16 and 64"},
        {"noise 2\nphase a 1s\n", "percentage"},
        {"steal 5s 1s\nsteal 2s 1s\nphase a 9s\n", ":2: must be in order"},
        {"steal-clock 5s 1s\nsteal-clock 2s 1s\nphase a 9s\n", ":2: must be in order"},
        {"fail instructions maybe\n", "unsupported or denied"},
        {"bogus\n", ":1: unknown statement 'bogus'"},
        {"clock\n", "'clock' takes 1 word"},
        {"fail r07\n", "takes 2 words"},
        {"repeat 100000\nrepeat 100000\nphase a 1s\nend\nend\n", "more than 4000000 phases"},
        {"repeat 100\nphase a 300d\nend\n", "more than a year"},
        {"noise 51%\nphase a 1s\n", ":1: noise must be between 0% and 50%"},
        {"function f 0x10\n", ":1: expected: function NAME ADDRESS LENGTH"},
        {"function a>b 0x10 4\n", ":1: 'a>b': a name must not contain"},
        {"function f 0x10 0\n", ":1: length"},
        {"function f 0x10 4 f.c\n", ":1: 'f.c': expected FILE:LINE"},
        {"function f 0x10 4 f.c:9-8\n", ":1: line"},
        {"function f 0x10 4 f.c:1-5\n", ":1: more lines than bytes"},
        {"function f 0x10 4k f.c:1\n", ":1: length"},
        {"function f 0x10 9999 f.c:1-1001\n", ":1: a function has at most 1000 lines"},
        {"function f 0xffffffffffffffff 1\n", "beyond the last address"},
        {"function f 0x10 4\nfunction f 0x20 4\n", ":2: there is already a function f"},
        {"function f 0x10 4\nfunction g 0x13 1\n", ":2: function g overlaps with f"},
        {"function f 0x10 4\nfunction g 0x8 9\n", ":2: function g overlaps with f"},
        {"task t\n", ":1: expected: task NAME PID"},
        {"task t 0\n", ":1: process"},
        {"task t 1\ntask u 2 1\n", ":2: there is already a task t of thread 1"},
        {"phase a 1s code=f\n", ":1: function 'f' is not defined above"},
        {"function f 1 4\nphase a 1s code=f>\n", ":2: function '' is not defined above"},
        {"function f 1 4\nphase a 1s code=t/f\n", ":2: task 't' is not defined above"},
        {"function f 1 4\nphase a 1s code=f:90%\n", ":2: the shares add up to 90%"},
        {"function f 1 4\nphase a 1s code=f:60%,f:60%,f\n", "add up to 120%"},
        {"function f 1 4\nphase a 1s code=f,f\n", "only one stack may be without"},
        {"function f 1 4\nphase a 1s code=f:101%\n", "between 0% and 100%"},
        {"function f 1 4\nfunction k 0xffff000000000000 4\nphase a 1s code=k>f\n",
         ":3: the kernel does not call f"},
        {"lose-samples 5s 1s\nlose-samples 2s 1s\nphase a 9s\n", ":2: must be in order"},
        {"throttle 5s\nthrottle 2s\nphase a 9s\n", ":2: must be in order"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const struct rps_pmu *pmu;
        struct rps_error err = {""};
        char path[64], choice[80], note[64];
        void *self;

        test_file(path, bad[i].script, strlen(bad[i].script));
        snprintf(choice, sizeof(choice), "sim:%s", path);
        assert_int_equal(
            rps_pmu_open(choice, test_simulated, &pmu, &self, note, sizeof(note), &err), RPS_USAGE);
        if (!strstr(err.message, bad[i].message))
            fail_msg("'%s' gives '%s'", bad[i].script, err.message);
        unlink(path);
    }
}

static void test_choice(void **state)
{
    const struct rps_pmu *pmu;
    struct rps_error err = {""};
    char note[64];
    void *self;

    (void)state;
    assert_int_equal(rps_pmu_open("bogus", test_simulated, &pmu, &self, note, sizeof(note), &err),
                     RPS_USAGE);
    assert_string_equal(err.message, "--pmu bogus: no such counters; choose from auto, hardware, "
                                     "software and sim:SCRIPT");
    assert_int_equal(rps_pmu_open("sim:x", NULL, &pmu, &self, note, sizeof(note), &err), RPS_USAGE);
    assert_string_equal(err.message,
                        "--pmu sim:x: no such counters; choose from auto, hardware and "
                        "software");
    assert_int_equal(rps_pmu_open("sim", test_simulated, &pmu, &self, note, sizeof(note), &err),
                     RPS_USAGE);
    assert_int_equal(
        rps_pmu_open("sim:/nonexistent.sim", test_simulated, &pmu, &self, note, sizeof(note), &err),
        RPS_USAGE);
    assert_non_null(strstr(err.message, "/nonexistent.sim"));
}

/* A document of events of another processor is rejected for hardware counters, and only for them.
 */
static void test_document(void **state)
{
    static const char text[] = "[plan]\nname = other\ntitle = Others\nmatch = NoSuchVendor-0-0-0\n"
                               "[event a]\nevent = r01\n[set s]\nevents = a\n";
    struct rps_plan *plan = NULL;
    struct rps_error err = {""};
    char path[64], name[80];

    (void)state;
    test_file(path, text, sizeof(text) - 1);
    snprintf(name, sizeof(name), "%s.ini", path);
    assert_int_equal(rename(path, name), 0);
    assert_int_equal(rps_pmu_load_plan(&rps_pmu_hardware, name, &plan, &err), RPS_FAILED);
    assert_non_null(strstr(err.message, "other (Others) do not match this processor"));
    assert_null(plan);
    assert_int_equal(rps_pmu_load_plan(&rps_pmu_software, name, &plan, &err), 0);
    assert_string_equal(plan->name, "other");
    rps_plan_free(plan);
    assert_int_equal(rps_pmu_load_plan(&rps_pmu_sim, NULL, &plan, &err), 0);
    assert_string_equal(plan->name, "arm1176");
    rps_plan_free(plan);
    assert_int_equal(rps_pmu_load_plan(&rps_pmu_hardware, NULL, &plan, &err), 0);
    assert_string_equal(plan->name, rps_plan_for_cpu("/proc/cpuinfo"));
    rps_plan_free(plan);
    unlink(name);
}

/* The simulated processor can represent a CPU that is idle for a while. */
static void test_idle(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run,
                  "phase work 250ms instructions=10M\nidle 500ms\nphase work 250ms "
                  "instructions=10M\nsleep 100ms\n",
                  &rotate);
    test_check_contiguous(&run);
    assert_int_equal(run.count, 11);
    for (size_t i = 0; i < run.count; i++) {
        const struct rps_period *p = &run.period[i];
        int64_t idle_ns = i == 2 || i == 7 ? 50 * MS : i > 2 && i < 7 ? 100 * MS : 0;

        assert_int_equal(p->idle_ns, idle_ns);
        assert_int_equal(p->enabled_ns, i == 10 ? 0 : 100 * MS);
        assert_int_equal(p->running_ns, p->enabled_ns);
        assert_int_equal(p->clock_running_ns, p->enabled_ns);
        assert_int_equal(p->cycles, ((int64_t)p->enabled_ns - idle_ns) / 10 * 7);
    }
    test_run_free(&run);
}

/* --- clocks ----------------------------------------------------------------------------------- */

/* Clock changes in a run: the query of the clock at which each change occurs, and its amounts. */
struct clock_story {
    int look;
    int64_t slept_ns, set_ns;
};

static const struct clock_story *story;
static int looks;

/* Return the clocks of the next query. Queries are 100 ms apart. */
static void told_clocks(void *self, struct rps_clocks *ret)
{
    int64_t time_ns = looks * 100 * MS;

    (void)self;
    *ret = (struct rps_clocks){time_ns, 50 * S + time_ns, 1000 * S + time_ns};
    for (const struct clock_story *one = story; one->look >= 0; one++) {
        if (looks >= one->look) {
            ret->boot_ns += one->slept_ns;
            ret->realtime_ns += one->slept_ns + one->set_ns;
        }
    }
    looks++;
}

static void tell(struct test_run *run, const struct clock_story *told)
{
    static const struct test_options options = {.clocks = told_clocks};

    story = told;
    looks = 0;
    test_simulate(run, "phase work 3s instructions=1M\n", &options);
    test_check_contiguous(run);
    assert_int_equal(run->count, 30);
    assert_int_equal(run->gap_ns, 0);
}

static void test_machine_sleeps(void **state)
{
    static const struct clock_story night[] = {{20, 8 * 3600 * S, 0}, {-1, 0, 0}};
    struct test_run run;

    (void)state;
    tell(&run, night);
    assert_int_equal(run.mark_count, 1);
    assert_string_equal(run.mark,
                        "the machine was suspended for 8 h 00 min (not in the elapsed time)");
    assert_int_equal(run.mark_ns, 2 * S);
    test_run_free(&run);
}

static void test_clock_is_set(void **state)
{
    static const struct clock_story forward[] = {{11, 0, 3600 * S}, {-1, 0, 0}};
    static const struct clock_story back[] = {{11, 0, -90 * S}, {-1, 0, 0}};
    static const struct clock_story both[] = {{5, 60 * S, 0}, {11, 0, -2 * S}, {-1, 0, 0}};
    struct test_run run;

    (void)state;
    tell(&run, forward);
    assert_int_equal(run.mark_count, 1);
    assert_string_equal(run.mark, "the clock was set forward by 1 h 00 min");
    assert_int_equal(run.mark_ns, 1100 * MS);
    test_run_free(&run);
    tell(&run, back);
    assert_int_equal(run.mark_count, 1);
    assert_string_equal(run.mark, "the clock was set back by 1 min 30 s");
    test_run_free(&run);
    tell(&run, both);
    assert_int_equal(run.mark_count, 2);
    assert_string_equal(run.mark, "the clock was set back by 2.000 s");
    test_run_free(&run);
}

/* The network continually adjusts the clock by fractions of a second, which is not reported. */
static void test_clock_is_adjusted(void **state)
{
    static const struct clock_story adjusted[] = {
        {3, 0, 900 * MS}, {4, 0, 900 * MS}, {12, 0, -S}, {20, 90 * MS, 0}, {-1, 0, 0}};
    struct test_run run;

    (void)state;
    tell(&run, adjusted);
    assert_int_equal(run.mark_count, 0);
    test_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_random_order),
        cmocka_unit_test(test_beat),
        cmocka_unit_test(test_long_period),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_late_beyond_a_turn),
        cmocka_unit_test(test_late_in_a_long_period),
        cmocka_unit_test(test_late_at_the_end),
        cmocka_unit_test(test_noise_of_fast_events),
        cmocka_unit_test(test_steal),
        cmocka_unit_test(test_steal_clock),
        cmocka_unit_test(test_sleep),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_by_clock),
        cmocka_unit_test(test_fail_event),
        cmocka_unit_test(test_fail_read),
        cmocka_unit_test(test_switch_cost),
        cmocka_unit_test(test_stretch),
        cmocka_unit_test(test_stretch_soon),
        cmocka_unit_test(test_shrink_patience),
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_shrink),
        cmocka_unit_test(test_hiccup),
        cmocka_unit_test(test_duration),
        cmocka_unit_test(test_near),
        cmocka_unit_test(test_near_follows),
        cmocka_unit_test(test_near_in_vain),
        cmocka_unit_test(test_delay),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_noise_of_near_seeds),
        cmocka_unit_test(test_repeat),
        cmocka_unit_test(test_bad_scripts),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_document),
        cmocka_unit_test(test_machine_sleeps),
        cmocka_unit_test(test_clock_is_set),
        cmocka_unit_test(test_clock_is_adjusted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
