/* Tests of runs as time series. All samples of random runs are compared with plain sums of the
 * ended periods. Rare periods are tested by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/random_run.h"
#include "rpistat/clock.h"
#include "rpistat/error.h"
#include "rpistat/plan.h"
#include "rpistat/run.h"
#include "rpistat/store.h"
#include "rpistat/time_series.h"

static uint64_t runs = 25; /* number of random runs, as in `test_time_series 1000` */

static void must(int result, const struct rps_error *err)
{
    if (result < 0)
        fail_msg("%s", err->message);
}

/* --- what was handed over --------------------------------------------------------------------- */

struct sample {
    const struct rps_time_series *series;
    int64_t time_ms;
    double value;
};

struct samples {
    size_t count, room;
    struct sample *sample; /* owned array of samples */
};

static const char *label_of(const struct rps_time_series *series, const char *name)
{
    for (size_t i = 0; i < series->label_count; i++) {
        if (strcmp(series->label[i].name, name) == 0)
            return series->label[i].value;
    }
    return NULL;
}

static int take(void *context, const struct rps_time_series *series, int64_t time_ms, double value,
                struct rps_error *err)
{
    struct samples *samples = context;

    (void)err;
    if (samples->count == samples->room) {
        samples->room = 2 * samples->room + 64;
        samples->sample = realloc(samples->sample, samples->room * sizeof(*samples->sample));
        assert_non_null(samples->sample);
    }
    samples->sample[samples->count++] = (struct sample){series, time_ms, value};
    return 0;
}

static struct rps_time_totals *open_totals(const struct rps_run *run, const struct rps_plan *plan,
                                           int64_t every_ns, struct samples *samples)
{
    const struct rps_time_sink sink = {take, samples};
    struct rps_time_totals *ret = NULL;
    struct rps_error err;

    must(rps_time_totals_open(&ret, run, plan, every_ns, &sink, &err), &err);
    return ret;
}

/* Return the samples of a series ("METRIC EVENT") as "TIME=VALUE ...", with times in ms since the
 * run's start. */
static const char *written(const struct samples *samples, const struct rps_run *run,
                           const char *metric, const char *event)
{
    static char ret[1024];
    size_t used = 0;

    ret[0] = '\0';
    for (size_t i = 0; i < samples->count; i++) {
        const struct sample *at = &samples->sample[i];
        const char *has = label_of(at->series, event && metric[8] == 'p' ? "label" : "event");

        if (strcmp(at->series->metric, metric) == 0 && (!event || (has && strcmp(has, event) == 0)))
            used += (size_t)snprintf(
                ret + used, sizeof(ret) - used, "%s%lld=%.17g", used > 0 ? " " : "",
                (long long)(at->time_ms - run->start_realtime_ns / RPS_NS_PER_MS), at->value);
    }
    return ret;
}

/* --- random runs ------------------------------------------------------------------------------ */

#define SERIES_MAX 1024

static int64_t unix_ms(const struct random_run *run, int64_t time_ns)
{
    return (run->fixture.run.start_realtime_ns + time_ns) / RPS_NS_PER_MS;
}

/* Return the time that the CPU was busy, at most the length of the period. */
static uint64_t busy_ns(const struct rps_period *period)
{
    uint64_t busy = period->enabled_ns - (uint64_t)period->idle_ns;

    return period->cpu >= 0 && busy > (uint64_t)period->length_ns ? (uint64_t)period->length_ns
                                                                  : busy;
}

/* Return the true value of a series at a time: the sum over the ended periods of its CPU. */
static double truth(const struct random_run *run, const struct rps_time_series *series,
                    int64_t time_ms)
{
    const char *cpu = label_of(series, "cpu"), *event = label_of(series, "event");
    int track = strcmp(cpu, "all") == 0 ? RPS_CPU_ALL : atoi(cpu), set_no = -1, slot = -1;
    const char *metric = series->metric;
    uint64_t sum = 0;

    if (event)
        sscanf(event, "e%d_%d", &set_no, &slot);
    for (size_t i = 0; i < run->count; i++) {
        const struct rps_period *period = &run->period[i];

        if (period->cpu != track || unix_ms(run, period->start_ns + period->length_ns) > time_ms)
            continue;
        if (strcmp(metric, "rpistat_enabled_seconds_total") == 0)
            sum += period->enabled_ns;
        else if (strcmp(metric, "rpistat_cpu_seconds_total") == 0)
            sum += busy_ns(period);
        else if (set_no < 0)
            sum += strcmp(metric, "rpistat_events_total") == 0 ? period->cycles
                                                               : period->clock_running_ns;
        else if ((int)period->set_no == set_no && (period->counted & UINT32_C(1) << slot))
            sum += strcmp(metric, "rpistat_events_total") == 0 ? period->count[slot]
                                                               : period->running_ns;
    }
    return strcmp(metric, "rpistat_events_total") == 0 ? (double)sum : (double)sum / 1e9;
}

/* Check that each sample is exact, that a series begins with 0, that times ascend, and that the
 * last sample is the total. */
static void expect_exact(const struct random_run *run, const struct samples *samples)
{
    struct sample last[SERIES_MAX] = {{0}};

    for (size_t i = 0; i < samples->count; i++) {
        const struct sample *at = &samples->sample[i];
        struct sample *before = &last[at->series->number];

        assert_true(at->series->number < SERIES_MAX);
        if (!before->series)
            assert_true(at->value == 0);
        else
            assert_true(at->series == before->series && at->time_ms > before->time_ms);
        if (at->value != truth(run, at->series, at->time_ms))
            fail_msg("%s of %s at %lld ms is %.17g, not %.17g", at->series->metric,
                     label_of(at->series, "event"), (long long)at->time_ms, at->value,
                     truth(run, at->series, at->time_ms));
        *before = *at;
    }
    for (int i = 0; i < SERIES_MAX; i++) {
        if (last[i].series && strcmp(last[i].series->metric, "rpistat_cpu_seconds_total") != 0)
            assert_true(last[i].value == truth(run, last[i].series, INT64_MAX));
    }
}

/* Pass all rows of a run at a resolution, the first `quiet` rows without samples. Returns the
 * number of samples after row `look`. */
static size_t hand_over(const struct random_run *run, int64_t every_ns, int resolution,
                        size_t quiet, size_t look, struct samples *samples,
                        struct rps_time_totals **ret_totals)
{
    const struct fixture *fixture = &run->fixture;
    struct rps_cursor *cursor = NULL;
    struct rps_period row;
    struct rps_error err;
    size_t rows = 0, ret = 0;
    int got;

    *ret_totals = open_totals(&fixture->run, fixture->plan, every_ns, samples);
    must(rps_cursor_open(&cursor, fixture->reader, fixture->run_id, 0, INT64_MAX, resolution, &err),
         &err);
    while ((got = rps_cursor_next(cursor, &row, &err)) > 0) {
        must(rps_time_totals_add(*ret_totals, &row, rows < quiet, &err), &err);
        if (++rows == look)
            ret = samples->count;
    }
    must(got, &err);
    rps_cursor_close(cursor);
    must(rps_time_totals_flush(*ret_totals, &err), &err);
    return ret;
}

static void test_random_runs(void **state)
{
    static const int64_t every[] = {0, 250 * RPS_NS_PER_MS, 3 * RPS_NS_PER_S};

    (void)state;
    for (uint64_t seed = 1; seed <= runs; seed++) {
        struct random_run run;

        random_run_make(&run, seed);
        for (int i = 0; i < 6; i++) {
            struct samples samples = {0};
            struct rps_time_totals *totals;

            hand_over(&run, every[i / 2], i % 2 ? 2 : 0, 0, 0, &samples, &totals);
            assert_true(samples.count > 0 || run.count == 0);
            expect_exact(&run, &samples);
            rps_time_totals_close(totals);
            free(samples.sample);
        }
        random_run_free(&run);
    }
}

/* A push that was killed and continues sends the same samples as an uninterrupted push. */
static void test_quiet_rows(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct samples whole = {0}, rest = {0};
        struct rps_time_totals *totals, *again;
        int64_t every_ns = seed % 2 ? 0 : RPS_NS_PER_S;
        struct random_run run;
        size_t quiet, at;

        random_run_make(&run, seed);
        quiet = run.count / 2;
        at = hand_over(&run, every_ns, 0, 0, quiet, &whole, &totals);
        hand_over(&run, every_ns, 0, quiet, 0, &rest, &again);
        if (run.options.thinned) /* a block may be complete before the row and after it */
            at = whole.count - rest.count;
        assert_int_equal(rest.count, whole.count - at);
        for (size_t i = 0; i < rest.count; i++) {
            assert_int_equal(rest.sample[i].series->number, whole.sample[at + i].series->number);
            assert_int_equal(rest.sample[i].time_ms, whole.sample[at + i].time_ms);
            assert_true(rest.sample[i].value == whole.sample[at + i].value);
        }
        rps_time_totals_close(again);
        rps_time_totals_close(totals);
        free(rest.sample);
        free(whole.sample);
        random_run_free(&run);
    }
}

/* --- by hand ---------------------------------------------------------------------------------- */

struct hand {
    struct rps_run run;
    struct rps_plan *plan;
    struct rps_time_totals *totals;
    struct samples samples;
    struct rps_period next;
};

static void add_set(struct rps_plan *plan, const char *name, const char *other)
{
    struct rps_event_set *set = rps_plan_add_set(plan);

    assert_non_null(set);
    strcpy(set->event[set->event_count++].name, name);
    strcpy(set->event[set->event_count++].name, other);
}

/* Begin a series by hand with two sets, {one, Cycles} and {one, two}. The clock event is called
 * "Cycles" too. */
static void begin(struct hand *hand)
{
    *hand = (struct hand){.next = {.cpu = RPS_CPU_ALL, .length_ns = 100 * RPS_NS_PER_MS}};
    rps_run_init(&hand->run);
    strcpy(hand->run.host, "pi");
    strcpy(hand->run.uuid, "0-1");
    hand->run.start_realtime_ns = 1000 * RPS_NS_PER_S + 500000;
    hand->plan = rps_plan_new();
    assert_non_null(hand->plan);
    strcpy(hand->plan->clock.label, "Cycles");
    add_set(hand->plan, "one", "Cycles");
    add_set(hand->plan, "one", "two");
    hand->next.enabled_ns = hand->next.running_ns = hand->next.clock_running_ns = 100000000;
    hand->next.counted = 3;
}

static void add(struct hand *hand, uint64_t first, uint64_t second)
{
    struct rps_period *next = &hand->next;
    struct rps_error err;

    if (!hand->totals)
        hand->totals = open_totals(&hand->run, hand->plan, 0, &hand->samples);
    next->count[0] = first;
    next->count[1] = second;
    next->cycles = 7;
    must(rps_time_totals_add(hand->totals, next, 0, &err), &err);
    next->set_no = !next->set_no;
    next->start_ns += next->length_ns;
    next->period++;
    next->rotation = next->period / 2;
}

static void flush(struct hand *hand)
{
    struct rps_error err;

    must(rps_time_totals_flush(hand->totals, &err), &err);
}

static void expect(const struct hand *hand, const char *metric, const char *event,
                   const char *expected)
{
    assert_string_equal(written(&hand->samples, &hand->run, metric, event), expected);
}

static void end(struct hand *hand)
{
    rps_time_totals_close(hand->totals);
    free(hand->samples.sample);
    rps_plan_free(hand->plan);
    rps_run_free(&hand->run);
}

#define COUNTS  "rpistat_events_total"
#define RUNNING "rpistat_event_running_seconds_total"

/* An event in two sets is one series. An event with the clock event's name is a separate series. */
static void test_names(void **state)
{
    struct hand hand;

    (void)state;
    begin(&hand);
    add(&hand, 10, 1);
    add(&hand, 20, 2);
    flush(&hand);
    expect(&hand, COUNTS, "one", "0=0 100=10 200=30");
    expect(&hand, RUNNING, "one", "0=0 100=0.10000000000000001 200=0.20000000000000001");
    expect(&hand, COUNTS, "Cycles", "0=0 100=7 200=14");
    expect(&hand, COUNTS, "Cycles_event", "0=0 100=1");
    expect(&hand, COUNTS, "two", "100=0 200=2");
    end(&hand);
}

/* Uncounted events have no samples. The clock event's counter can be lost too. */
static void test_not_counted(void **state)
{
    struct hand hand;

    (void)state;
    begin(&hand);
    hand.plan->set[1].event[1].state = RPS_EVENT_UNSUPPORTED;
    add(&hand, 10, 1);
    hand.next.counted = 2;
    hand.next.clock_running_ns = 0;
    hand.next.idle_ns = -1;
    add(&hand, 20, 2);
    hand.next.counted = 3;
    hand.next.idle_ns = 0;
    hand.next.clock_running_ns = 50000000;
    add(&hand, 30, 3);
    expect(&hand, COUNTS, "one", "0=0 100=10 300=40");
    expect(&hand, RUNNING, "one", "0=0 100=0.10000000000000001 300=0.20000000000000001");
    expect(&hand, COUNTS, "Cycles", "0=0 100=7 300=14");
    expect(&hand, COUNTS, "two", "");
    expect(&hand, "rpistat_cpu_seconds_total", NULL, "0=0 100=0.10000000000000001");
    expect(&hand, "rpistat_enabled_seconds_total", NULL,
           "0=0 100=0.10000000000000001 200=0.20000000000000001 300=0.29999999999999999");
    end(&hand);
}

/* A CPU is never busy for longer than its periods, although its clocks are read one after another.
 */
static void test_busy(void **state)
{
    struct hand hand;

    (void)state;
    begin(&hand);
    hand.next.cpu = 0;
    hand.next.enabled_ns += 50000000;
    add(&hand, 10, 1);
    expect(&hand, "rpistat_cpu_seconds_total", NULL, "0=0 100=0.10000000000000001");
    expect(&hand, "rpistat_enabled_seconds_total", NULL, "0=0 100=0.14999999999999999");
    end(&hand);
}

/* A workload that sleeps has true zeros. */
static void test_asleep(void **state)
{
    struct hand hand;

    (void)state;
    begin(&hand);
    hand.next.enabled_ns = hand.next.running_ns = hand.next.clock_running_ns = 0;
    add(&hand, 0, 0);
    expect(&hand, COUNTS, "one", "0=0 100=0");
    expect(&hand, COUNTS, "Cycles", "0=0 100=7");
    end(&hand);
}

/* Short periods give a sample after each 10 ms, at most one per millisecond, and one at the end. */
static void test_short_periods(void **state)
{
    struct hand hand;

    (void)state;
    begin(&hand); /* the run begins at half a millisecond */
    hand.next.length_ns = 9999999;
    add(&hand, 1, 1);
    add(&hand, 1, 1); /* after 10 ms, at 20.499998 ms */
    hand.next.length_ns = 2;
    add(&hand, 1, 1);
    add(&hand, 1, 1); /* after 20 ms, at 20.500002 ms */
    hand.next.length_ns = RPS_NS_PER_MS;
    add(&hand, 1, 1);
    hand.next.length_ns = 2;
    add(&hand, 1, 1);
    flush(&hand);
    expect(&hand, COUNTS, "one", "0=0 20=2 21=5 22=6");
    end(&hand);
}

/* The two rows of a block overlap, and neither covers the whole block. */
static void test_blocks(void **state)
{
    struct hand hand;

    (void)state;
    begin(&hand);
    hand.next.level = 1;
    hand.next.merged = 16;
    hand.next.end_ns = 3100 * RPS_NS_PER_MS;
    add(&hand, 10, 1);
    hand.next.rotation = 0;
    hand.next.end_ns =
        3000 * RPS_NS_PER_MS; /* the second set comes last at first, and first at the end */
    add(&hand, 20, 2);
    expect(&hand, COUNTS, "one", "");
    hand.next.level = 0;
    hand.next.start_ns = 3100 * RPS_NS_PER_MS;
    hand.next.rotation = 16;
    add(&hand, 30, 3);
    expect(&hand, COUNTS, "one", "0=0 3100=30 3200=60");
    expect(&hand, "rpistat_enabled_seconds_total", NULL,
           "0=0 3100=0.20000000000000001 3200=0.29999999999999999");
    end(&hand);
}

/* Above 2^53, only the last digits are lost. */
static void test_large(void **state)
{
    struct hand hand;

    (void)state;
    begin(&hand);
    add(&hand, (UINT64_C(1) << 53) - 1, 0);
    add(&hand, 2, 0);
    expect(&hand, COUNTS, "one", "0=0 100=9007199254740991 200=9007199254740992");
    end(&hand);
}

static void test_info(void **state)
{
    static const char *const tag[][2] = {
        {"commit", "1a2b"}, {"a-b", "x"}, {"a.b", "y\xff"}, {"a_b_2", "z"}, {"none", ""}};
    char *argv[] = {(char[]){"./naive"}, (char[]){"two words"}, NULL};
    const struct rps_time_series *info;
    struct rps_error err;
    struct hand hand;
    char text[512] = "";

    (void)state;
    begin(&hand);
    rps_run_set_command(&hand.run, 2, argv);
    for (size_t i = 0; i < sizeof(tag) / sizeof(tag[0]); i++)
        rps_run_add_tag(&hand.run, tag[i][0], tag[i][1]);
    add(&hand, 1, 1);
    hand.samples.count = 0;
    must(rps_time_totals_info(hand.totals, 0, &err), &err);
    must(rps_time_totals_info(hand.totals, 3, &err), &err); /* within the same millisecond */
    must(rps_time_totals_info(hand.totals, RPS_NS_PER_S, &err), &err);
    expect(&hand, "rpistat_run_info", NULL, "0=1 1000=1");
    info = hand.samples.sample[0].series;
    for (size_t i = 0; i < info->label_count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s=%s;", info->label[i].name,
                 info->label[i].value);
    assert_string_equal(text, "clock=Cycles;command=./naive 'two words';instance=pi;job=rpistat;run=0-1;"
                              "tag_a_b=x;tag_a_b_2=y\xef\xbf\xbd;tag_a_b_2_2=z;tag_commit=1a2b;");
    end(&hand);
}

static void test_phases(void **state)
{
    struct rps_phase phase[] = {
        {.start_ns = 0, .end_ns = RPS_NS_PER_S, .label = 0},
        {.start_ns = RPS_NS_PER_S, .end_ns = 2 * RPS_NS_PER_S, .label = 1},
        {.start_ns = 2 * RPS_NS_PER_S, .end_ns = 2 * RPS_NS_PER_S + 1, .label = 0},
        {.start_ns = 2 * RPS_NS_PER_S + 1, .end_ns = 3 * RPS_NS_PER_S, .label = 2},
        {.start_ns = 3 * RPS_NS_PER_S, .end_ns = 4 * RPS_NS_PER_S, .label = 2},
    };
    const struct rps_phases phases = {.count = 5, .phase = phase, .label_count = 3};
    struct rps_error err;
    struct hand hand;

    (void)state;
    begin(&hand);
    add(&hand, 1, 1);
    must(rps_time_totals_phases(hand.totals, &phases, &err), &err);
    expect(&hand, "rpistat_phase", "A", "0=1 1000=0 2000=1 2001=0");
    expect(&hand, "rpistat_phase", "B", "1000=1 2000=0");
    expect(&hand, "rpistat_phase", "C", "2000=1 3000=1 4000=0");
    end(&hand);
}

static void test_no_start(void **state)
{
    const struct rps_time_sink sink = {take, NULL};
    struct rps_time_totals *totals = NULL;
    struct rps_error err;
    struct hand hand;

    (void)state;
    begin(&hand);
    hand.run.run_id = 3;
    hand.run.start_realtime_ns = -1;
    assert_int_equal(rps_time_totals_open(&totals, &hand.run, hand.plan, 0, &sink, &err),
                     RPS_FAILED);
    assert_string_equal(err.message, "the start time of run 3 is unknown, and time "
                                     "series need times; export it as CSV instead");
    end(&hand);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_runs),   cmocka_unit_test(test_quiet_rows),
        cmocka_unit_test(test_names),         cmocka_unit_test(test_not_counted),
        cmocka_unit_test(test_busy),          cmocka_unit_test(test_asleep),
        cmocka_unit_test(test_short_periods), cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_large),         cmocka_unit_test(test_info),
        cmocka_unit_test(test_phases),        cmocka_unit_test(test_no_start),
    };

    if (argc > 1)
        runs = strtoull(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
