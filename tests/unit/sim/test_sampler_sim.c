/* Samples of the simulated processor are exact in number, task, time and address. */
#include "simulate.h"

#include "rpistat/sampler.h"

#define FUNCTIONS                                                                                  \
    "function main 0x1000 0x100 main.c:10\nfunction solve 0x2000 0x200\n"                          \
    "function kernel 0x3000 0x40 solve.c:21-24\nfunction copy 0x4000 0x10\n"                       \
    "function do_read 0xffffffff81000000 0x100\n"
#define TASKS "task sim 100\ntask worker 100 101\n"

struct seen {
    int64_t time_ns;
    pid_t pid, tid;
    uint64_t address[4];
    size_t address_count, kernel_count;
};

/* A simulation, and the samples from its sampler. */
struct sampling {
    const struct rps_pmu *pmu;
    void *self;
    struct rps_plan *plan;
    struct rps_sampler sampler;
    struct seen *seen; /* stacks of the samples; owned by the struct */
    size_t count;
    char waits[1024]; /* tasks that begin to wait, with the code, or that wake up */
    char names[1024]; /* names of symbols and tasks, in order */
    struct rps_sampling status;
};

static void keep(void *context, const struct rps_sample *sample)
{
    struct sampling *s = context;
    size_t used = strlen(s->names);
    struct seen *seen;

    if (sample->kind == RPS_SAMPLE_SYMBOL)
        snprintf(s->names + used, sizeof(s->names) - used, "%s %llx+%llx %s:%d\n", sample->path,
                 (unsigned long long)sample->map_address, (unsigned long long)sample->map_length,
                 sample->source_file ? sample->source_file : "", sample->source_line);
    if (sample->kind == RPS_SAMPLE_NAME)
        snprintf(s->names + used, sizeof(s->names) - used, "%s %d %d\n", sample->path,
                 (int)sample->pid, (int)sample->tid);
    used = strlen(s->waits);
    if (sample->kind == RPS_SAMPLE_WAIT || sample->kind == RPS_SAMPLE_AWAKE)
        snprintf(s->waits + used, sizeof(s->waits) - used, "%lld %d %llx, ",
                 (long long)(sample->time_ns / MS), (int)sample->tid,
                 sample->kind == RPS_SAMPLE_WAIT ? (unsigned long long)sample->address[0] : 0);
    if (sample->kind != RPS_SAMPLE_STACK)
        return;
    if ((s->count & (s->count - 1)) == 0) { /* The array is full; double its size. */
        s->seen = realloc(s->seen, (2 * s->count + 1) * sizeof(*s->seen));
        assert_non_null(s->seen);
    }
    seen = &s->seen[s->count++];
    assert_in_range(sample->address_count, 1, 4);
    memset(seen, 0, sizeof(*seen));
    seen->time_ns = sample->time_ns;
    seen->pid = sample->pid;
    seen->tid = sample->tid;
    memcpy(seen->address, sample->address, sample->address_count * sizeof(*sample->address));
    seen->address_count = sample->address_count;
    seen->kernel_count = sample->kernel_count;
}

/* Open a sampler on a simulation that is ready to run. Return the result of open_sampler. */
static int open_sampling(struct sampling *ret, const char *script,
                         const struct rps_sampling_options *options, struct rps_error *err)
{
    const struct rps_target target = {.start_at_exec = 1};
    struct rps_fitting fitting;
    char path[64], choice[80], note[64];

    memset(ret, 0, sizeof(*ret));
    test_file(path, script, strlen(script));
    snprintf(choice, sizeof(choice), "sim:%s", path);
    if (rps_pmu_open(choice, test_simulated, &ret->pmu, &ret->self, note, sizeof(note), err) < 0 ||
        rps_plan_load("arm1176", &ret->plan, err) < 0 ||
        rps_pmu_prepare(ret->pmu, ret->self, ret->plan, 0, &fitting, err) < 0 ||
        ret->pmu->attach(ret->self, ret->plan, &target, err) < 0)
        fail_msg("%s", err->message);
    unlink(path);
    return ret->pmu->open_sampler(ret->self, options, &target, &ret->sampler, err);
}

/* Let time pass until until_ns. Return 0 if the workload has ended. */
static int pass(struct sampling *s, int64_t until_ns)
{
    const struct rps_event_loop *loop = s->pmu->event_loop(s->self);
    enum rps_wake wake;
    struct rps_error err;

    assert_int_equal(loop->wait(loop->self, until_ns, &wake, &err), 0);
    return wake == RPS_WAKE_DEADLINE;
}

static void drain(struct sampling *s, int64_t until_ns)
{
    const struct rps_sample_sink sink = {s, keep};
    struct rps_error err;

    assert_int_equal(s->sampler.drain(s->sampler.self, until_ns, &sink, &err), 0);
}

static void close_sampling(struct sampling *s)
{
    if (s->sampler.close)
        s->sampler.close(s->sampler.self);
    s->pmu->close(s->self);
    rps_plan_free(s->plan);
    free(s->seen);
}

/* Run a simulation to its end. As in the loop, each period drains the samples that are older than
 * the period. */
static void simulate(struct sampling *ret, const char *script,
                     const struct rps_sampling_options *options, int64_t period_ns)
{
    struct rps_error err = {""};

    if (open_sampling(ret, script, options, &err) < 0)
        fail_msg("%s", err.message);
    for (int64_t time_ns = period_ns; pass(ret, time_ns); time_ns += period_ns)
        drain(ret, time_ns - period_ns);
    drain(ret, INT64_MAX);
    ret->sampler.status(ret->sampler.self, &ret->status);
    for (size_t i = 1; i < ret->count; i++)
        assert_true(ret->seen[i - 1].time_ns < ret->seen[i].time_ns);
}

/* Return the number of samples in [from_ns, to_ns) whose innermost address is in the function that
 * starts at this address. */
static size_t at(const struct sampling *s, uint64_t function, int64_t from_ns, int64_t to_ns)
{
    size_t count = 0;

    for (size_t i = 0; i < s->count; i++)
        count += s->seen[i].time_ns >= from_ns && s->seen[i].time_ns < to_ns &&
                 s->seen[i].address[0] >= function && s->seen[i].address[0] < function + 0x100;
    return count;
}

static const struct rps_sampling_options hundred = {.frequency = 100};
static const struct rps_sampling_options normal = {0};

static void test_shares(void **state)
{
    static const char script[] =
        FUNCTIONS "phase solve 10s code=main>solve>kernel:70%,main>solve>copy:30%\n"
                  "phase save 7300ms code=main>copy\n"
                  "default code=main:12.5%,main>solve:12.5%,main>copy\nphase both 4s\n";
    struct sampling s, other;

    (void)state;
    simulate(&s, script, &hundred, 100 * MS);
    assert_int_equal(s.count, 2130);
    assert_int_equal(at(&s, 0x3000, 0, 10 * S), 700);
    assert_int_equal(at(&s, 0x4000, 0, 10 * S), 300);
    assert_int_equal(at(&s, 0x4000, 10 * S, 17300 * MS), 730);
    assert_int_equal(at(&s, 0x1000, 17300 * MS, 22 * S), 50);
    assert_int_equal(at(&s, 0x2000, 17300 * MS, 22 * S), 50);
    assert_int_equal(at(&s, 0x4000, 17300 * MS, 22 * S), 300);
    for (size_t i = 0; i < s.count; i++)
        assert_int_equal(s.seen[i].time_ns, 5 * MS + (int64_t)i * 10 * MS);
    assert_int_equal(s.status.lost + s.status.throttled, 0);
    simulate(&other, script, &hundred, 3333 * MS); /* The samples do not depend on the times of
                                                      drains. */
    assert_int_equal(other.count, s.count);
    assert_memory_equal(other.seen, s.seen, s.count * sizeof(*s.seen));
    close_sampling(&s);
    close_sampling(&other);
}

/* Each stack has its share of all samples so far, rounded up or down, at any time. */
static void check_turns(const char *phase, const double share[4])
{
    static const uint64_t function[] = {0x1000, 0x2000, 0x3000, 0x4000};
    char script[1024];
    size_t count[4] = {0};
    struct sampling s;

    snprintf(script, sizeof(script), FUNCTIONS "repeat 1000\n%s\nend\n", phase);
    simulate(&s, script, &hundred, S);
    assert_int_equal(s.count, 30000);
    for (size_t i = 0; i < s.count; i++) {
        for (int f = 0; f < 4; f++) {
            double expected = share[f] * (double)(i + 1);

            count[f] += s.seen[i].address[0] - function[f] < 0x100;
            assert_true((double)count[f] > expected - 1 && (double)count[f] < expected + 1);
        }
    }
    close_sampling(&s);
}

static void test_turns(void **state)
{
    (void)state;
    check_turns("phase a 300ms code=main:0.49%,main>solve:33.33%,kernel:33.33%,copy",
                (const double[]){0.0049, 0.3333, 0.3333, 0.3285});
    check_turns("phase a 300ms code=main:93.75%,solve:3.125%,main>kernel:3.125%",
                (const double[]){0.9375, 0.03125, 0.03125, 0});
}

static void test_frequency(void **state)
{
    static const struct rps_sampling_options fast = {.frequency = 4999};
    struct sampling s;

    (void)state;
    simulate(&s, FUNCTIONS "phase a 1h code=main\n", &normal, 60 * S);
    assert_int_equal(s.count, 99 * 3600);
    assert_int_equal(s.seen[99 * 3600 - 1].time_ns - s.seen[0].time_ns, 3600 * S - S / 99 - 1);
    assert_int_equal(s.status.frequency, 99);
    assert_string_equal(s.status.event, "cpu-clock");
    assert_string_equal(s.status.stacks, "auto");
    close_sampling(&s);
    simulate(&s, FUNCTIONS "phase a 100s code=main\n", &fast, S);
    assert_int_equal(s.count, 499900);
    close_sampling(&s);
}

/* A workload that does not run has no samples, and the next sample comes after the remaining CPU
 * time. Time without known code has no samples either. */
static void test_sleep(void **state)
{
    struct sampling s;

    (void)state;
    simulate(&s,
             FUNCTIONS "phase a 1002ms code=main\nsleep 1s\nphase b 1s code=copy\nidle 2003ms\n"
                       "phase unknown 1s instructions=1M\nphase c 1s code=main\n",
             &hundred, 100 * MS);
    assert_int_equal(s.count, 300);
    assert_int_equal(s.seen[99].time_ns, 995 * MS);
    assert_int_equal(s.seen[100].time_ns, 2005 * MS);
    assert_int_equal(at(&s, 0x4000, 2002 * MS, 3002 * MS), 100);
    assert_int_equal(s.seen[200].time_ns, 6008 * MS);
    assert_int_equal(at(&s, 0x1000, 6005 * MS, 7005 * MS), 100);
    close_sampling(&s);
}

static void test_lost(void **state)
{
    struct sampling s;

    (void)state;
    simulate(&s,
             FUNCTIONS "lose-samples 2s 500ms\nthrottle 4s\nthrottle 6s\nthrottle 20s\n"
                       "phase a 10s code=main:50%,copy:50%\n",
             &(struct rps_sampling_options){.frequency = 1000}, 100 * MS);
    assert_int_equal(s.status.lost, 500);
    assert_int_equal(s.status.throttled, 2);
    assert_int_equal(s.count, 10000 - 500 - 20);
    assert_int_equal(at(&s, 0x1000, 2 * S, 2500 * MS) + at(&s, 0x4000, 2 * S, 2500 * MS), 0);
    assert_int_equal(at(&s, 0x1000, 2500 * MS, 4 * S), 750);
    assert_int_equal(at(&s, 0x1000, 4 * S, 5 * S) + at(&s, 0x4000, 4 * S, 5 * S), 990);
    close_sampling(&s);
}

static void test_threshold(void **state)
{
    static const struct rps_sampling_options misses = {.event = "dc_miss", .threshold = 1000};
    static const struct rps_sampling_options cycles = {.event = "cycles", .threshold = 7000000};
    static const struct rps_sampling_options each = {.event = "dc_miss", .threshold = 1};
    static const struct rps_sampling_options often = {.event = "dc_miss", .frequency = 100};
    static const char script[] =
        FUNCTIONS "phase a 10s dc_miss=30k code=main\nphase b 10s code=kernel\n"
                  "phase c 10s dc_miss=7k code=copy\nsleep 3s\nphase d 3s dc_miss=333 code=main\n";
    struct sampling s;

    (void)state;
    simulate(&s, script, &misses, 100 * MS);
    assert_int_equal(s.count, 371); /* one sample per 1000 of 370,999 misses */
    assert_int_equal(at(&s, 0x1000, 0, 10 * S), 300);
    assert_int_equal(at(&s, 0x4000, 20 * S, 30 * S), 70);
    assert_int_equal(at(&s, 0x1000, 33 * S, 36 * S), 1);
    assert_int_equal(s.status.threshold, 1000);
    assert_int_equal(s.status.frequency, 0);
    assert_string_equal(s.status.event, "dc_miss");
    close_sampling(&s);
    simulate(&s, script, &each, 100 * MS);
    assert_int_equal(s.count + s.status.lost, 370999);
    close_sampling(&s);
    simulate(&s, script, &cycles, 100 * MS); /* 700 million cycles per second */
    assert_int_equal(s.count, 3300);
    close_sampling(&s);
    simulate(&s, script, &often, 100 * MS); /* Samples stop when the misses stop. */
    assert_int_equal(s.count, 2300);
    assert_int_equal(at(&s, 0x3000, 0, 33 * S), 0);
    close_sampling(&s);
}

/* Time between stop and start of the sampler is not sampled. */
static void test_pause(void **state)
{
    struct rps_error err = {""};
    struct sampling s;

    (void)state;
    assert_int_equal(open_sampling(&s, FUNCTIONS "phase a 10s code=main\n", &hundred, &err), 0);
    pass(&s, 2 * S);
    assert_int_equal(s.sampler.stop(s.sampler.self, &err), 0);
    pass(&s, 5 * S);
    assert_int_equal(s.sampler.start(s.sampler.self, &err), 0);
    drain(&s, 1995 * MS);
    assert_int_equal(s.count, 199); /* The sample at 1995 ms is still waiting. */
    pass(&s, 6 * S);
    drain(&s, 1995 * MS + 1);
    assert_int_equal(s.count, 200);
    drain(&s, INT64_MAX);
    assert_int_equal(s.count, 300);
    assert_int_equal(s.seen[200].time_ns, 5005 * MS);
    s.sampler.close(s.sampler.self);
    memset(&s.sampler, 0, sizeof(s.sampler));
    assert_int_equal(pass(&s, 11 * S), 0); /* The simulation continues without the sampler. */
    close_sampling(&s);
}

static void test_stacks(void **state)
{
    static const char script[] =
        FUNCTIONS TASKS "phase a 1s code=main>solve>kernel:50%,worker/main>copy>do_read\n";
    struct sampling s;
    const struct seen *seen;

    (void)state;
    simulate(&s, script, &hundred, 100 * MS);
    assert_string_equal(s.names, "main 1000+100 main.c:10\nsolve 2000+200 :0\n"
                                 "kernel 3000+10 solve.c:21\nkernel 3010+10 solve.c:22\n"
                                 "kernel 3020+10 solve.c:23\nkernel 3030+10 solve.c:24\n"
                                 "copy 4000+10 :0\ndo_read ffffffff81000000+100 :0\n"
                                 "sim 100 100\nworker 100 101\n");
    for (size_t i = 0; i < s.count; i += 2) {
        seen = &s.seen[i]; /* Lines of a function are sampled in rotation. The address of a
                              caller is after its call. */
        assert_int_equal(seen->address_count, 3);
        assert_int_equal(seen->address[0], 0x3000 + i / 2 % 4 * 0x10);
        assert_int_equal(seen->address[1], 0x2200);
        assert_int_equal(seen->address[2], 0x1100);
        assert_int_equal(seen->kernel_count, 0);
        assert_int_equal(seen->tid, 100);
        seen = &s.seen[i + 1];
        assert_int_equal(seen->address_count, 3);
        assert_int_equal(seen->address[0], UINT64_C(0xffffffff81000000));
        assert_int_equal(seen->address[1], 0x4000); /* address of the interrupted function */
        assert_int_equal(seen->address[2], 0x1100);
        assert_int_equal(seen->kernel_count, 1);
        assert_int_equal(seen->pid, 100);
        assert_int_equal(seen->tid, 101);
    }
    close_sampling(&s);
    simulate(&s, script, &(struct rps_sampling_options){.stacks = RPS_STACKS_NONE}, S);
    assert_int_equal(s.seen[0].address_count, 1);
    assert_int_equal(s.seen[0].address[0], 0x3000);
    assert_string_equal(s.status.stacks, "none");
    close_sampling(&s);
    simulate(&s, FUNCTIONS "phase a 1s code=main\n", &normal, S);
    assert_non_null(strstr(s.names, "\nworkload 1000 1000\n"));
    assert_int_equal(s.seen[0].tid, 1000);
    close_sampling(&s);
}

/* With noise, stacks are random. The stacks differ for another seed, and stay within five standard
 * deviations. */
static void test_noise(void **state)
{
    static const char phase[] = "noise 1%\nphase a 100s code=main:70%,copy:30%\n";
    char script[512];
    struct sampling s[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        snprintf(script, sizeof(script), FUNCTIONS "seed %d\n%s", i / 2, phase);
        simulate(&s[i], script, &hundred, 100 * MS + i);
        assert_int_equal(s[i].count, 10000);
        assert_in_range(at(&s[i], 0x1000, 0, 100 * S), 7000 - 229, 7000 + 229);
    }
    assert_memory_equal(s[0].seen, s[1].seen, s[0].count * sizeof(*s[0].seen));
    assert_memory_not_equal(s[0].seen, s[2].seen, s[0].count * sizeof(*s[0].seen));
    for (int i = 0; i < 3; i++)
        close_sampling(&s[i]);
}

/* Random numbers of two times and two seeds are independent, even if the seeds differ by as much as
 * the times. */
static void test_noise_of_near_seeds(void **state)
{
    static const char script_of[] =
        FUNCTIONS "seed %lld\nnoise 1%%\nphase a 1s code=main:50%%,copy:50%%\n";
    struct sampling first, other;
    char script[512];
    int unlike = 0;

    (void)state;
    snprintf(script, sizeof(script), script_of, 0LL);
    simulate(&first, script, &hundred, S);
    for (size_t i = 0; i + 1 < first.count; i += 2) {
        snprintf(script, sizeof(script), script_of,
                 (long long)(first.seen[i].time_ns ^ first.seen[i + 1].time_ns));
        simulate(&other, script, &hundred, S);
        unlike += first.seen[i].address[0] != other.seen[i + 1].address[0];
        close_sampling(&other);
    }
    assert_in_range(unlike, 10, 40);
    close_sampling(&first);
}

static void test_refused(void **state)
{
    static const struct {
        struct rps_sampling_options options;
        int rc;
        const char *message;
    } bad[] = {
        {{.event = "bogus"}, RPS_USAGE, "'bogus' is not an event"},
        {{.event = "dc_miss"}, RPS_FAILED, "dc_miss cannot be sampled"},
        {{.stacks = RPS_STACKS_DWARF}, RPS_FAILED, "by frame pointers only"},
        {{.stacks = RPS_STACKS_LBR}, RPS_FAILED, "by frame pointers only"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rps_error err = {""};
        struct sampling s;

        assert_int_equal(open_sampling(&s, FUNCTIONS "fail dc_miss denied\nphase a 1s code=main\n",
                                       &bad[i].options, &err),
                         bad[i].rc);
        assert_non_null(strstr(err.message, bad[i].message));
        close_sampling(&s);
    }
}

/* Tasks wait in the code of a sleep while the sleep lasts. Without the option `waits` no waits are
 * reported. */
static void test_waits_in_code(void **state)
{
    static const char script[] =
        TASKS FUNCTIONS "phase a 1s code=main\nsleep 2s code=main>copy:70%,worker/main>solve:30%\n"
                        "sleep 1s code=main>copy\nidle 1s\nsleep 1s\n";
    static const struct rps_sampling_options options = {.frequency = 100, .waits = 1};
    struct rps_error err;
    struct sampling s;

    (void)state;
    simulate(&s, script, &options, 300 * MS);
    assert_string_equal(s.waits, "1000 100 4000, 1000 101 2000, 3000 100 0, 3000 101 0, "
                                 "3000 100 4000, 4000 100 0, ");
    assert_int_equal(s.count, 100);
    close_sampling(&s);
    simulate(&s, script, &hundred, 300 * MS);
    assert_string_equal(s.waits, "");
    close_sampling(&s);
    /* A pause ends the known waits. */
    assert_int_equal(open_sampling(&s, script, &options, &err), 0);
    pass(&s, 1500 * MS);
    assert_int_equal(s.sampler.stop(s.sampler.self, &err), 0);
    pass(&s, 1700 * MS);
    assert_int_equal(s.sampler.start(s.sampler.self, &err), 0);
    pass(&s, 3500 * MS);
    drain(&s, INT64_MAX);
    assert_string_equal(s.waits, "1000 100 4000, 1000 101 2000, 1500 100 0, 1500 101 0, "
                                 "3000 100 0, 3000 101 0, 3000 100 4000, ");
    close_sampling(&s);
}

/* Samples follow CPU time. A workload that waits has fewer samples, two running threads have twice
 * as many, and a workload that always waits has none. */
static void test_waits(void **state)
{
    struct sampling s;

    (void)state;
    simulate(&s,
             FUNCTIONS TASKS "phase a 1s wait=80% code=main\nphase b 1s threads=2 code=solve\n"
                             "phase c 1s wait=100% code=main\nphase d 1s threads=2 wait=50% "
                             "code=solve\n",
             &hundred, 100 * MS);
    assert_int_equal(at(&s, 0x1000, 0, S), 20);
    assert_int_equal(at(&s, 0x2000, S, 2 * S), 200);
    assert_int_equal(at(&s, 0x1000, 2 * S, 3 * S), 0);
    assert_int_equal(at(&s, 0x2000, 3 * S, 4 * S), 100);
    assert_int_equal(s.count, 320);
    assert_int_equal(s.seen[0].time_ns, 25 * MS);
    assert_int_equal(s.seen[20].time_ns, S + 2 * MS + MS / 2);
    assert_int_equal(s.seen[220].time_ns, 3 * S + 5 * MS);
    close_sampling(&s);
    /* The sample is due at the end of the first phase. */
    simulate(&s,
             FUNCTIONS TASKS "phase a 5ms code=main\nphase b 1s wait=100% code=main\n"
                             "phase c 5ms code=main\n",
             &hundred, 100 * MS);
    assert_int_equal(s.count, 1);
    assert_int_equal(s.seen[0].time_ns, S + 5 * MS);
    close_sampling(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_frequency),     cmocka_unit_test(test_sleep),
        cmocka_unit_test(test_lost),          cmocka_unit_test(test_threshold),
        cmocka_unit_test(test_pause),         cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_noise),         cmocka_unit_test(test_noise_of_near_seeds),
        cmocka_unit_test(test_refused),       cmocka_unit_test(test_waits),
        cmocka_unit_test(test_waits_in_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
