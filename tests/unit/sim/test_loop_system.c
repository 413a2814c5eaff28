/* Tests of the measurement loop with a reader of system metrics, on a simulated clock: the requests
 * to the reader, its thread events, and their times. */
#include "simulate.h"

static struct {
    char text[4096]; /* "from TIME"; "PERIOD@TIME/PERIODS" for a reading, with "!" if forced */
    size_t length;
    const struct test_run *run;
    int drains, fail_at; /* drains so far, and number of the drain that fails, from 1 (0: none) */
    int samples;         /* number of samples in the sample sink */
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

static void fake_read(void *self, uint64_t period, int64_t time_ns, int64_t start_ns, int force,
                      const struct rps_system_sink *sink, char *note, size_t size)
{
    (void)self;
    assert_ptr_equal(sink->context, heard.run);
    assert_int_equal(start_ns, 0);
    assert_string_equal(note, "");
    assert_int_equal(heard.run->period[heard.run->count - 1].period, period);
    write_down("%llu@%lld/%zu%s ", (unsigned long long)period, (long long)(time_ns / MS),
               heard.run->count, force ? "!" : "");
    if (period == 2 && !force)
        snprintf(note, size, "system metrics are read every hour");
}

static void fake_resume(void *self, int64_t time_ns)
{
    (void)self;
    write_down("from %lld ", (long long)(time_ns / MS));
}

static void fake_hear(void *self, const struct rps_sample *sample)
{
    (void)self;
    write_down("%s ", !sample                           ? "nothing"
                      : sample->kind == RPS_SAMPLE_FORK ? "fork"
                      : sample->kind == RPS_SAMPLE_EXIT ? "exit"
                      : sample->is_exec                 ? "exec"
                                                        : "what it need not");
}

static const struct rps_system_reader reader = {
    .read = fake_read, .resume = fake_resume, .hear = fake_hear};

static int fake_go(void *self, struct rps_error *err)
{
    (void)self;
    (void)err;
    return 0;
}

/* Hand over one sample of each kind that matters here. */
static int fake_drain(void *self, int64_t until_ns, const struct rps_sample_sink *sink,
                      struct rps_error *err)
{
    static const enum rps_sample_kind kinds[] = {RPS_SAMPLE_FORK, RPS_SAMPLE_STACK, RPS_SAMPLE_NAME,
                                                 RPS_SAMPLE_EXIT};
    static const struct rps_sample exec = {.kind = RPS_SAMPLE_NAME, .is_exec = 1};

    (void)self;
    if (++heard.drains == heard.fail_at)
        return rps_error_set(err, RPS_FAILED, "the ring is broken");
    if (until_ns == INT64_MAX)
        write_down("last ");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        sink->sample(sink->context, &(struct rps_sample){.kind = kinds[i]});
    sink->sample(sink->context, &exec);
    return 0;
}

static const struct rps_sampler sampler = {.start = fake_go, .stop = fake_go, .drain = fake_drain};

static void count_sample(void *context, const struct rps_sample *sample)
{
    (void)context;
    (void)sample;
    heard.samples++;
}

static void simulate(struct test_run *run, const char *script, const struct test_options *options)
{
    heard.length = 0;
    heard.drains = heard.samples = 0;
    heard.run = run;
    test_simulate(run, script, options);
}

/* Metrics are read once after each period, and always at the end. A note becomes a mark at the end
 * of the period. */
static void test_periods(void **state)
{
    static const struct test_options options = {.system = &reader};
    struct test_run run;

    (void)state;
    simulate(&run, "phase work 350ms\n", &options);
    assert_string_equal(heard.text, "from 0 0@100/1 1@200/2 2@300/3 3@350/4! ");
    assert_int_equal(run.mark_count, 1);
    assert_int_equal(run.mark_ns, 300 * MS);
    assert_string_equal(run.mark, "system metrics are read every hour");
    test_run_free(&run);
}

/* The reader receives thread events before each reading, and no other samples. Other sinks receive
 * all samples. */
static void test_hears(void **state)
{
    static const struct rps_sample_sink sink = {NULL, count_sample};
    static const struct test_options options = {
        .system = &reader, .sampler = &sampler, .sample_sink = &sink};
    static const struct test_options alone = {.system = &reader, .sampler = &sampler};
    static const struct test_options samples = {.sampler = &sampler, .sample_sink = &sink};
    struct test_run run;

    (void)state;
    simulate(&run, "phase work 150ms\n", &options);
    assert_string_equal(heard.text, "from 0 fork exit exec 0@100/1 last fork exit exec 1@150/2! ");
    assert_int_equal(heard.samples, 10);
    test_run_free(&run);
    simulate(&run, "phase work 150ms\n", &alone);
    assert_string_equal(heard.text, "from 0 fork exit exec 0@100/1 last fork exit exec 1@150/2! ");
    assert_int_equal(heard.samples, 0);
    test_run_free(&run);
    simulate(&run, "phase work 150ms\n", &samples);
    assert_string_equal(heard.text, "last ");
    assert_int_equal(heard.samples, 10);
    test_run_free(&run);
}

/* If the sampler fails, thread events stop, and readings continue. */
static void test_deaf(void **state)
{
    static const struct test_options options = {.system = &reader, .sampler = &sampler};
    struct test_run run;

    (void)state;
    heard.fail_at = 2;
    simulate(&run, "phase work 250ms\n", &options);
    heard.fail_at = 0;
    assert_int_equal(run.mark_count, 1);
    assert_string_equal(heard.text, "from 0 fork exit exec 0@100/1 nothing 1@200/2 2@250/3! ");
    assert_string_equal(run.mark, "no thread events are received any more: the ring is broken");
    test_run_free(&run);
}

static void test_delay(void **state)
{
    static const struct test_options options = {.system = &reader, .delay_ns = 250 * MS};
    struct test_run run;

    (void)state;
    simulate(&run, "phase work 500ms\n", &options);
    assert_string_equal(heard.text, "from 250 0@350/1 1@450/2 2@500/3! ");
    test_run_free(&run);
}

/* A reading precedes each pause, and the next reading counts from the end of the pause. A recording
 * that ends in a pause has no further reading. */
static void test_pause(void **state)
{
    static const struct test_options options = {.system = &reader, .adapt = test_pause_it};
    struct test_run run;

    (void)state;
    test_resume_ns = 420 * MS;
    simulate(&run, "phase work 550ms\n", &options);
    assert_string_equal(heard.text, "from 0 0@100/1 1@200/2 2@250/3! from 420 3@520/4 4@550/5! ");
    test_run_free(&run);
    test_resume_ns = 900 * MS;
    simulate(&run, "phase work 550ms\n", &options);
    assert_string_equal(heard.text, "from 0 0@100/1 1@200/2 2@250/3! ");
    test_run_free(&run);
}

/* If the counts of a period are lost, there is one period fewer, and no period is read twice. */
static void test_lost(void **state)
{
    static const struct test_options options = {.system = &reader};
    struct test_run run;

    (void)state;
    simulate(&run, "late 200ms 20s\nphase work 20400ms\n", &options);
    assert_int_equal(run.gap_count, 1);
    assert_string_equal(heard.text, "from 0 0@100/1 1@20300/2 2@20400/3! ");
    test_run_free(&run);
    simulate(&run, "late 200ms 60s\nphase work 20s\n", &options);
    assert_int_equal(run.gap_count, 1);
    assert_string_equal(heard.text, "from 0 0@100/1 ");
    test_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_periods), cmocka_unit_test(test_hears), cmocka_unit_test(test_deaf),
        cmocka_unit_test(test_delay),   cmocka_unit_test(test_pause), cmocka_unit_test(test_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
