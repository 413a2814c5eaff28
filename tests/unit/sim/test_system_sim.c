/* The system metrics of simulated workloads have exact values, sums and factors. */
#include "simulate.h"

#include "sim/sim_script.h"

static const struct rps_system_options all = {
    .tree = 1, .machine = 1, .package = 1, .period_ns = 100 * MS, .budget = 0.001};
static const struct test_options read_all = {.signals = &all, .events = {"instructions,branches"}};

#define TREE(run, i, slot) ((run).reading[i].value[RPS_TREE_##slot])

static int64_t total(const struct test_run *run, enum rps_system_source source, int slot)
{
    int64_t sum = 0;

    for (size_t i = 0; i < run->reading_count; i++)
        if (run->reading[i].source == source)
            sum += run->reading[i].value[slot];
    return sum;
}

/* Return the nth reading of a source. A negative number counts backwards from the last reading. */
static const struct rps_system_reading *reading_of(const struct test_run *run,
                                                   enum rps_system_source source, int n)
{
    const struct rps_system_reading *found[64];
    int count = 0;

    for (size_t i = 0; i < run->reading_count; i++)
        if (run->reading[i].source == source && count < 64)
            found[count++] = &run->reading[i];
    n = n < 0 ? n + count : n;
    assert_in_range(n, 0, count - 1);
    return found[n];
}

/* There is one reading per period, at its end. The workload has a fifth of the CPU time and of the
 * events. */
static void test_waits(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run, "phase work 1050ms wait=80% instructions=100M branches=7\n", &read_all);
    assert_int_equal(run.count, 11);
    assert_int_equal(run.reading_count, 11);
    for (size_t i = 0; i < 11; i++) {
        int64_t half = i == 10 ? 2 : 1;

        assert_int_equal(run.reading[i].source, RPS_SYSTEM_TREE);
        assert_int_equal(run.reading[i].period, i);
        assert_int_equal(run.reading[i].end_ns, run.period[i].start_ns + run.period[i].length_ns);
        assert_int_equal(run.reading[i].length_us, 100000 / half);
        assert_int_equal(TREE(run, i, RUNNING), 20000 / half);
        assert_int_equal(TREE(run, i, WAIT), 80000 / half);
        assert_int_equal(TREE(run, i, THREADS), 1);
        assert_int_equal(run.reading[i].valid, 1 << RPS_TREE_RUNNING | 1 << RPS_TREE_WAIT |
                                                   1 << RPS_TREE_UNSEEN | 1 << RPS_TREE_THREADS);
        assert_int_equal(run.period[i].enabled_ns, 20 * MS / half);
        assert_int_equal(run.period[i].running_ns, 20 * MS / half);
        assert_int_equal(run.period[i].cycles, 14000000 / half);
        assert_int_equal(run.period[i].count[0], 2000000 / half);
    }
    assert_int_equal(test_total(&run, 0, 1), 1); /* 7 events per second in 0.21 s */
    test_run_free(&run);
}

/* Each running thread has its own CPU. A reading on a phase boundary belongs to the earlier phase.
 */
static void test_threads(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run,
                  "default threads=5 in=io:1,timer:2\n"
                  "phase two 200ms wait=25% instructions=10M\n"
                  "phase rest 100ms in=message:1,lock\n"
                  "sleep 100ms\n"
                  "idle 100ms\n"
                  "sleep 100ms in=child threads=2\n"
                  "phase pool 100ms threads=8 in=lock:2 idle=5\n",
                  &read_all);
    assert_int_equal(run.reading_count, 7);
    assert_int_equal(TREE(run, 0, IDLE), 0);
    assert_int_equal(TREE(run, 6, IDLE), 5);
    assert_int_equal(TREE(run, 6, THREADS), 8);
    assert_int_equal(TREE(run, 6, IN_LOCK), 2);
    assert_int_equal(TREE(run, 6, RUNNING), 100000); /* One thread of the workload runs. */
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(TREE(run, i, THREADS), 5);
        assert_int_equal(TREE(run, i, IN_IO), 1);
        assert_int_equal(TREE(run, i, IN_TIMER), 2);
        assert_int_equal(TREE(run, i, RUNNING), 150000);
        assert_int_equal(TREE(run, i, WAIT), 50000);
        assert_int_equal(run.period[i].enabled_ns, 150 * MS);
        assert_int_equal(run.period[i].count[0], 1500000);
    }
    assert_int_equal(TREE(run, 2, IN_LOCK), 3);
    assert_int_equal(TREE(run, 2, IN_MESSAGE), 1);
    assert_int_equal(TREE(run, 2, IN_IO), 0);
    assert_int_equal(TREE(run, 2, RUNNING), 100000);
    assert_int_equal(TREE(run, 2, WAIT), 0);
    for (size_t i = 3; i < 5; i++) {
        assert_int_equal(TREE(run, i, THREADS), 5);
        assert_int_equal(TREE(run, i, IN_TIMER), 2);
        assert_int_equal(TREE(run, i, RUNNING), 0);
        assert_int_equal(TREE(run, i, WAIT), 0);
    }
    assert_int_equal(TREE(run, 5, IN_CHILD), 2);
    assert_int_equal(TREE(run, 5, THREADS), 2);
    test_run_free(&run);
}

/* CPU packages are read in each period. Values are whole uJ and KiB that add up to the total. */
static void test_packages(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(
        &run,
        "phase a 300ms p_energy=0.000010J p_energy_ram=12.5J p_read=10000 p_frequency=3100\n"
        "sleep 200ms p_energy=85J\n",
        &read_all);
    assert_int_equal(run.reading_count, 5);
    for (int i = 0; i < 5; i++) {
        const struct rps_system_reading *reading = reading_of(&run, RPS_SYSTEM_PACKAGE, i);

        assert_int_equal(reading->length_us, 100000);
        assert_int_equal(reading->value[RPS_PACKAGE_ENERGY], i < 3 ? 1 : 8500000);
        assert_int_equal(reading->value[RPS_PACKAGE_ENERGY_RAM], i < 3 ? 1250000 : 0);
        assert_int_equal(reading->value[RPS_PACKAGE_READ], i == 1 || i == 2);
        assert_int_equal(reading->value[RPS_PACKAGE_FREQUENCY], i < 3 ? 3100 : 0);
        assert_int_equal(reading->valid, 1 << RPS_PACKAGE_ENERGY | 1 << RPS_PACKAGE_ENERGY_RAM |
                                             1 << RPS_PACKAGE_READ | 1 << RPS_PACKAGE_FREQUENCY |
                                             1 << RPS_PACKAGE_COUNTERS);
    }
    assert_int_equal(total(&run, RPS_SYSTEM_PACKAGE, RPS_PACKAGE_ENERGY), 17000003);
    test_run_free(&run);
}

/* The number of threads is derived if the script does not set it. */
static void test_count(void **state)
{
    static const int threads[] = {1, 2, 4, 1, 3, 1};
    struct test_run run;

    (void)state;
    test_simulate(&run,
                  "phase a 100ms rss=1M\n"
                  "phase b 100ms in=io\n"
                  "phase c 100ms in=io:2,lock:1\n"
                  "sleep 100ms\n"
                  "sleep 100ms in=io:3\n"
                  "sleep 100ms in=lock\n",
                  &read_all);
    assert_int_equal(run.reading_count, 6);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(TREE(run, i, THREADS), threads[i]);
    assert_int_equal(TREE(run, 1, IN_IO), 1);
    assert_int_equal(TREE(run, 5, IN_LOCK), 1);
    test_run_free(&run);
}

/* For any period length, readings add up to rate x time of each phase, rounded down. */
static void test_sums(void **state)
{
    static const int64_t periods[] = {100 * MS, 7 * MS, 333 * MS};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct rps_system_options signals = all;
        struct test_options options = read_all;
        struct test_run run;

        options.period_ns = signals.period_ns = periods[i];
        options.signals = &signals;
        test_simulate(&run,
                      "phase a 1s read=1000 disk_written=1G unseen=333us m_net_in=10M rss=3M\n"
                      "phase b 1.5s read=999 written=3K seen=50% m_steal=10ms m_wait=7 "
                      "g_throttled=3ms g_written=2K\n",
                      &options);
        /* The values come from 1000 B and 1498 B, from 333 us and 0.5 s, and from half of 1.5 s. */
        assert_int_equal(total(&run, RPS_SYSTEM_TREE, RPS_TREE_READ), 2498 / 1024);
        assert_int_equal(total(&run, RPS_SYSTEM_TREE, RPS_TREE_WRITTEN), 4);
        assert_int_equal(total(&run, RPS_SYSTEM_TREE, RPS_TREE_DISK_WRITTEN), 1 << 20);
        assert_int_equal(total(&run, RPS_SYSTEM_TREE, RPS_TREE_UNSEEN), 333);
        assert_int_equal(total(&run, RPS_SYSTEM_TREE, RPS_TREE_RUNNING), 1750000);
        assert_int_equal(total(&run, RPS_SYSTEM_TREE, RPS_TREE_WAIT), 0);
        assert_int_equal(total(&run, RPS_SYSTEM_MACHINE, RPS_MACHINE_NET_IN), 10240);
        assert_int_equal(total(&run, RPS_SYSTEM_MACHINE, RPS_MACHINE_STEAL), 15000);
        assert_int_equal(total(&run, RPS_SYSTEM_GROUP, RPS_GROUP_THROTTLED), 4500);
        assert_int_equal(total(&run, RPS_SYSTEM_GROUP, RPS_GROUP_WRITTEN), 3);
        assert_int_equal(reading_of(&run, RPS_SYSTEM_TREE, 0)->value[RPS_TREE_RSS], 3072);
        assert_int_equal(run.reading[run.reading_count - 3].value[RPS_TREE_RSS], 0);
        for (int n = 0; n < 3; n++) { /* one reading per second, and one at the end */
            const struct rps_system_reading *reading = reading_of(&run, RPS_SYSTEM_MACHINE, n);

            assert_in_range(reading->length_us, n < 2 ? 999000 : 498000, n < 2 ? 1001000 : 502000);
            assert_int_equal(reading->value[RPS_MACHINE_WAIT], n == 0 && i != 1 ? 0 : 7);
            assert_ptr_equal(reading_of(&run, RPS_SYSTEM_GROUP, n), reading + 1);
        }
        test_run_free(&run);
    }
}

/* Repeated phases start from zero. Readings within the delay are discarded. */
static void test_delay(void **state)
{
    struct test_options options = read_all;
    struct test_run run;

    (void)state;
    options.delay_ns = 150 * MS;
    test_simulate(&run, "repeat 4\nphase a 100ms read=10M\nend\n", &options);
    assert_int_equal(run.reading_count, 3);
    assert_int_equal(run.reading[0].length_us, 100000);
    assert_int_equal(run.reading[2].length_us, 50000);
    assert_int_equal(total(&run, RPS_SYSTEM_TREE, RPS_TREE_READ), 2560);
    test_run_free(&run);
}

/* Some readings find only a few metrics. The next reading covers only the time since the incomplete
 * reading. */
static void test_fails(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run, "fail-reading 900ms 200ms\nphase a 1.5s read=10M m_wait=1 m_steal=1ms\n",
                  &read_all);
    assert_int_equal(run.reading_count, 17);
    for (int n = 0; n < 15; n++) {
        const struct rps_system_reading *reading = reading_of(&run, RPS_SYSTEM_TREE, n);

        assert_int_equal(reading->valid,
                         1 << RPS_TREE_THREADS | (n == 8 || n == 9 ? 0 : 1 << RPS_TREE_READ));
        assert_int_equal(reading->value[RPS_TREE_READ], 1024);
        assert_int_equal(reading->length_us, 100000);
    }
    for (int n = 0; n < 2; n++)
        assert_int_equal(reading_of(&run, RPS_SYSTEM_MACHINE, n)->valid,
                         1 << RPS_MACHINE_WAIT | (n == 0 ? 0 : 1 << RPS_MACHINE_STEAL));
    test_run_free(&run);
}

/* A reading takes 250 us, and the budget is 100 us per period. So every third period is read, and
 * always the last. */
static void test_factor(void **state)
{
    struct test_run run;

    (void)state;
    test_simulate(&run, "reading 250us\nreading 10us 2s\nphase a 1050ms in=lock:2 read=10M\n",
                  &read_all);
    assert_int_equal(run.reading_count, 6);
    for (size_t i = 0; i < 6; i++) {
        static const uint64_t period[] = {0, 1, 2, 5, 8, 10};
        static const int64_t length_ms[] = {100, 100, 100, 300, 300, 150};

        assert_int_equal(run.reading[i].period, period[i]);
        assert_int_equal(run.reading[i].length_us, length_ms[i] * 1000);
        assert_in_range(TREE(run, i, READ), length_ms[i] * 1024 / 100, length_ms[i] * 1024 / 100);
    }
    assert_int_equal(run.mark_count, 0); /* Reading intervals below one second are not reported. */
    test_run_free(&run);
}

/* Each running thread counts events. If counters wrap too soon for the loop, the loop detects it.
 */
static void test_counters(void **state)
{
    static const struct test_options options = {.events = {"instructions,branches"},
                                                .period_ns = 5 * S};
    struct test_run run;

    (void)state;
    test_simulate(&run, "width 48\nphase a 20s threads=16 instructions=1G\n", &options);
    assert_int_equal(test_total(&run, 0, 0), UINT64_C(320000000000));
    assert_int_equal(run.period[0].enabled_ns, 80 * S);
    assert_int_equal(run.gap_count, 0);
    test_run_free(&run);
    test_simulate(&run, "phase a 20s threads=16 instructions=1G\n", &options);
    assert_true(run.gap_count > 0);
    test_run_free(&run);
}

/* --- opening ---------------------------------------------------------------------------------- */

static void open_script(const char *script, void **ret)
{
    struct rps_error err = {""};
    char path[64];

    test_file(path, script, strlen(script));
    if (rps_pmu_sim.open(ret, path, &err) < 0)
        fail_msg("%s", err.message);
    unlink(path);
}

/* Metrics that the script does not set are not read, and are reported as missing. A source that is
 * not requested is not read. */
static void test_state(void **state)
{
    static const struct rps_system_options machine = {
        .machine = 1, .period_ns = 100 * MS, .budget = 0.001};
    struct rps_system_reader reader;
    struct rps_system_state told;
    struct rps_error err = {""};
    void *sim;

    (void)state;
    open_script("default in=io rss=3M\nphase a 1s m_steal=1ms\n", &sim);
    assert_int_equal(rps_pmu_sim.open_system(sim, &all, NULL, &reader, &err), 0);
    assert_int_equal(reader.state(reader.self, RPS_SYSTEM_TREE, &told), 0);
    assert_int_equal(told.source, RPS_SYSTEM_TREE);
    assert_int_equal(told.supported, 1 << RPS_TREE_THREADS | 0x3f << RPS_TREE_IN_IO |
                                         1 << RPS_TREE_RSS | 1 << RPS_TREE_IDLE);
    assert_string_equal(told.reason[RPS_TREE_WAIT], "the script does not set it");
    assert_string_equal(told.reason[RPS_TREE_RSS], "");
    assert_int_equal(reader.state(reader.self, RPS_SYSTEM_MACHINE, &told), 0);
    assert_int_equal(told.supported, 1 << RPS_MACHINE_STEAL);
    reader.close(reader.self);
    assert_int_equal(rps_pmu_sim.open_system(sim, &machine, NULL, &reader, &err), 0);
    assert_int_equal(reader.state(reader.self, RPS_SYSTEM_TREE, &told), 1);
    assert_int_equal(reader.state(reader.self, RPS_SYSTEM_MACHINE, &told), 0);
    reader.close(reader.self);
    rps_pmu_sim.close(sim);

    open_script("phase a 1s threads=2\n", &sim);
    assert_int_equal(rps_pmu_sim.open_system(sim, &machine, NULL, &reader, &err), RPS_FAILED);
    assert_string_equal(err.message, "the script has no system metrics");
    rps_pmu_sim.close(sim);
}

static void test_wrong(void **state)
{
    static const char *const wrong[][2] = {
        {"phase a 1s threads=4 in=lock:4",
         "there are 4 threads, so 4 cannot be asleep, because at least one runs"},
        {"sleep 1s threads=2 in=lock:3", "there are 2 threads, so 3 cannot be asleep"},
        {"sleep 1s threads=4 in=lock:2 idle=3", "there are 4 threads, so 5 cannot be asleep"},
        {"phase a 1s in=lock,io", "only one reason may be without a number"},
        {"phase a 1s in=bed:3", "'bed': expected io, lock, message, timer, child or other"},
        {"sleep 1s instructions=3M",
         "'instructions': a sleeping workload has only code and system metrics"},
        {"phase a 1s threads=257", "at most 256 threads run at the same time; give the others a "
                                   "reason to sleep with in="},
        {"phase a 1s read=15G", "read=15G: at most 14G per second"},
        {"phase a 1s p_energy=85", "p_energy=85: write it as 12.5J"},
        {"phase a 1s p_energy=J", "p_energy=J: write it as 12.5J"},
        {"phase a 1s p_energy=-1J", "p_energy=-1J: at most 16000J per second"},
        {"phase a 1s p_energy_ram=16001J", "p_energy_ram=16001J: at most 16000J per second"},
        {"phase a 1s p_energy=manyJ", "p_energy many: not a number; write one like 0.25"},
        {"phase a 1s unseen=17s", "unseen 17s: must be between 0s and 16s"},
        {"phase a 1s wait=101%", "wait must be between 0% and 100%"},
        {"phase a 1s in_lock=3", "'in_lock' is not an event of the ARM1176"},
        {"phase a 1s running=3s", "'running' is not an event of the ARM1176"},
        {"reading", "expected: reading TIME [AT]"},
        {"reading 1ms 2s\nreading 1ms 1s", "must be in order of time"},
        {"sleep", "expected: sleep LENGTH [code=STACKS] [SIGNAL=VALUE...]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct rps_error err = {""};
        char path[64];
        void *sim;

        test_file(path, wrong[i][0], strlen(wrong[i][0]));
        assert_int_equal(rps_pmu_sim.open(&sim, path, &err), RPS_USAGE);
        unlink(path);
        assert_non_null(strstr(err.message, ": "));
        assert_string_equal(strstr(err.message, ": ") + 2, wrong[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits),    cmocka_unit_test(test_threads),
        cmocka_unit_test(test_packages), cmocka_unit_test(test_count),
        cmocka_unit_test(test_sums),     cmocka_unit_test(test_delay),
        cmocka_unit_test(test_fails),    cmocka_unit_test(test_factor),
        cmocka_unit_test(test_counters), cmocka_unit_test(test_state),
        cmocka_unit_test(test_wrong),
    };

    return cmocka_run_group_tests_name("signals_sim", tests, NULL, NULL);
}
