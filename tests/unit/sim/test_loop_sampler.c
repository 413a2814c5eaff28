/* Tests of the measurement loop with a sampler: the requests to the sampler and their times, on a
 * simulated clock. */
#include "simulate.h"

static struct {
    char text[4096]; /* requests: "start", "stop", "UNTIL/PERIODS" for a drain */
    size_t length;
    const struct test_run *run;
    int64_t within_ns;
    int fail_at; /* number of the drain that fails, from 1; 0: none */
    int drains;
} heard;

static void write_down(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    heard.length += (size_t)vsnprintf(heard.text + heard.length, sizeof(heard.text) - heard.length,
                                      format, arguments);
    va_end(arguments);
    assert_true(heard.length < sizeof(heard.text));
}

static int fake_start(void *self, struct rps_error *err)
{
    (void)self;
    (void)err;
    write_down("start ");
    return 0;
}

static int fake_stop(void *self, struct rps_error *err)
{
    (void)self;
    (void)err;
    write_down("stop ");
    return 0;
}

static int fake_drain(void *self, int64_t until_ns, const struct rps_sample_sink *sink,
                      struct rps_error *err)
{
    (void)self;
    (void)sink;
    if (until_ns == INT64_MAX)
        write_down("all/%zu", heard.run->count);
    else
        write_down("%lld/%zu ", (long long)(until_ns / MS), heard.run->count);
    return ++heard.drains == heard.fail_at ? rps_error_set(err, RPS_FAILED, "the ring is broken")
                                           : 0;
}

static int64_t fake_drain_within_ns(void *self)
{
    (void)self;
    return heard.within_ns;
}

static const struct rps_sampler plain = {
    .start = fake_start, .stop = fake_stop, .drain = fake_drain};
static const struct rps_sampler often = {.start = fake_start,
                                         .stop = fake_stop,
                                         .drain = fake_drain,
                                         .drain_within_ns = fake_drain_within_ns};

static void simulate(struct test_run *run, const char *script, const struct test_options *options)
{
    heard.length = 0;
    heard.drains = 0;
    heard.run = run;
    test_simulate(run, script, options);
}

/* The sampler is started when counting begins. After each period, samples from before the end of
 * the previous period are drained. */
static void test_periods(void **state)
{
    static const struct test_options options = {.sampler = &plain};
    struct test_run run;

    (void)state;
    simulate(&run, "phase work 350ms\n", &options);
    assert_string_equal(heard.text, "start 0/1 100/2 200/3 stop all/4");
    test_run_free(&run);
}

/* A sampler does not run before counting begins, but its maps are drained all the time. */
static void test_delay(void **state)
{
    static const struct test_options options = {.sampler = &often, .delay_ns = 250 * MS};
    struct test_run run;

    (void)state;
    heard.within_ns = 100 * MS;
    simulate(&run, "phase work 500ms\n", &options);
    assert_string_equal(heard.text, "0/0 100/0 start 200/0 300/1 350/2 stop all/3");
    test_run_free(&run);
}

/* In long periods the sampler is also drained within the period, so that its buffers do not fill
 * up. The wake-ups for the counters (here after 4.6 s) are unchanged. */
static void test_long_period(void **state)
{
    static const struct test_options options = {.sampler = &often, .period_ns = 2000 * MS};
    static const struct test_options minute = {.sampler = &often, .period_ns = 60 * S};
    struct test_run run;

    (void)state;
    heard.within_ns = 800 * MS;
    simulate(&run, "phase work 2500ms\n", &options);
    assert_string_equal(heard.text, "start 0/0 800/0 1600/1 stop all/2");
    test_run_free(&run);
    heard.within_ns = 3 * S;
    simulate(&run, "phase fast 120s instructions=2G branches=1G\n", &minute);
    assert_int_equal(heard.drains, 40);
    assert_int_equal(run.period[0].count[0], UINT64_C(120000000000));
    assert_int_equal(run.gap_count, 0);
    test_run_free(&run);
}

static void test_pause(void **state)
{
    static const struct test_options options = {.sampler = &plain, .adapt = test_pause_it};
    struct test_run run;

    (void)state;
    test_resume_ns = 420 * MS;
    simulate(&run, "phase work 550ms\n", &options);
    assert_int_equal(run.gap_ns, 170 * MS);
    assert_string_equal(heard.text, "start 0/1 100/2 stop 200/3 start 250/4 stop all/5");
    test_run_free(&run);
}

/* If a sampler fails, sampling ends with a mark, and the recording continues. */
static void test_failure(void **state)
{
    static const struct rps_sample_sink sink = {0};
    static const struct test_options options = {.sampler = &plain, .sample_sink = &sink};
    struct test_run run;

    (void)state;
    heard.fail_at = 2;
    simulate(&run, "phase work 550ms\n", &options);
    heard.fail_at = 0;
    assert_string_equal(heard.text, "start 0/1 100/2 ");
    assert_int_equal(run.count, 6);
    assert_int_equal(run.mark_count, 1);
    assert_string_equal(run.mark, "no samples are taken any more: the ring is broken");
    assert_int_equal(run.mark_ns, 200 * MS);
    test_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_periods),     cmocka_unit_test(test_delay),
        cmocka_unit_test(test_long_period), cmocka_unit_test(test_pause),
        cmocka_unit_test(test_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
