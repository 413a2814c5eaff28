/* Tests of the idle time of CPUs: parsing /proc/stat, reading while counting, and the idle time of
 * periods. */
#include <fcntl.h>
#include <inttypes.h>

#include "support/run.h"

#include "measure/idle.h"
#include "measure/mux.h"
#include "wide_pmu.h"
#include "rpistat/plan.h"

#define TICK (10 * MS)

/* Return all parsed CPUs as "CPU:ticks CPU:ticks". */
static const char *parsed(const char *text)
{
    static char found[256];
    size_t used = 0;
    uint64_t ticks;
    int cpu;

    found[0] = '\0';
    while ((text = rps_idle_parse(text, &cpu, &ticks)))
        used += (size_t)snprintf(found + used, sizeof(found) - used, "%s%d:%" PRIu64,
                                 used ? " " : "", cpu, ticks);
    return found;
}

static void test_parse(void **state)
{
    static const struct {
        const char *text, *found;
    } cases[] = {
        {"cpu  9 9 9 99 9 0 0 0 0 0\ncpu0 1 2 3 40 5 6 7 8 9 10\ncpu12 1 2 3 7 0\nintr 1 2 3\n",
         "0:45 12:7"},
        {"cpu0 1 2 3 40 5\ncpu1 1 2 3 7 6", "0:45"}, /* cut off: 6 may be 61 */
        {"cpu0 1 2 3 40\ncpu1 1 2 3 7 0 0\n", "1:7"},
        {"cpu 1 2 3 40 5\n", ""},
        {"cpu  3 1 2 3 40 5\n", ""},
        {"cpux 1 2 3 40 5\ncpu-1 1 2 3 40 5\ncpu2x 1 2 3 40 5\n", ""},
        {"cpu0 1 2 3 -40 5\ncpu1 1 2 3 4.5 5\ncpu2 1 2 3 x 5\ncpu3 1 2 3 4 5z\n", ""},
        {"cpu0 1 2 3 99999999999999999999 5\ncpu1 18446744073709551615 2 3 4 5\n", "1:9"},
        {"cpu0 1 2 3 18446744073709551615 1\n", ""},
        {"cpu99999999999 1 2 3 4 5\ncpu2000000000 1 2 3 4 5\n", ""},
        {"cpu0\t1\t2\t3\t4\t5\n\n\ncpu1 1 2 3 4 5\ncpu1 0 0 0 0 0\n", "1:9 1:0"},
        {"", ""},
        {"\n", ""},
        {"cpu", ""},
        {"cpu0\n1 2 3 4 5\n", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(parsed(cases[i].text), cases[i].found);
}

/* --- looking ---------------------------------------------------------------------------------- */

static char stat_path[64];

static void write_stat(const char *text)
{
    int fd = open(stat_path, O_WRONLY | O_TRUNC);

    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* Begin to read CPUs 0 and 3 from the test's file. */
static void begin(struct rps_idle *idle, const char *text)
{
    static const int cpu[] = {3, 0};

    assert_int_equal(rps_idle_open(idle, cpu, 2, NULL), 0);
    if (idle->fd >= 0)
        close(idle->fd);
    test_file(stat_path, text, strlen(text));
    idle->fd = open(stat_path, O_RDONLY | O_CLOEXEC);
    assert_true(idle->fd >= 0);
    idle->tick_ns = TICK;
    rps_idle_start(idle);
}

static void end(struct rps_idle *idle)
{
    rps_idle_close(idle);
    unlink(stat_path);
}

static void test_looks(void **state)
{
    struct rps_idle idle;

    (void)state;
    begin(&idle, "cpu0 0 0 0 100 0\ncpu1 0 0 0 9 9\ncpu3 0 0 0 1000 50\n");
    assert_int_equal(rps_idle_ns(&idle, 0), 0);
    write_stat("cpu0 0 0 0 103 1\ncpu1 0 0 0 9 9\ncpu3 0 0 0 1000 51\n");
    assert_int_equal(rps_idle_ns(&idle, 3), 0); /* the value is from the same reading as CPU 0 */
    assert_int_equal(rps_idle_ns(&idle, 0), 4 * TICK);
    write_stat("cpu0 0 0 0 203 1\ncpu3 0 0 0 1000 71\n");
    assert_int_equal(rps_idle_ns(&idle, 3), 1 * TICK);
    assert_int_equal(rps_idle_ns(&idle, 3), 21 * TICK);
    rps_idle_look(&idle);
    write_stat("cpu0 0 0 0 999 999\ncpu3 0 0 0 999 999\n");
    assert_int_equal(rps_idle_ns(&idle, 0), 104 * TICK);
    assert_int_equal(rps_idle_ns(&idle, 3), 21 * TICK);
    end(&idle);
}

/* If iowait decreases and increases again, the time is not counted twice. */
static void test_goes_back(void **state)
{
    struct rps_idle idle;

    (void)state;
    begin(&idle, "cpu0 0 0 0 100 10\n");
    write_stat("cpu0 0 0 0 105 10\n");
    assert_int_equal(rps_idle_ns(&idle, 0), 5 * TICK);
    write_stat("cpu0 0 0 0 105 7\n");
    assert_int_equal(rps_idle_ns(&idle, 0), 5 * TICK);
    write_stat("cpu0 0 0 0 105 12\n");
    assert_int_equal(rps_idle_ns(&idle, 0), 7 * TICK);
    end(&idle);
}

/* Idle time in a pause does not belong to the run. */
static void test_pause(void **state)
{
    struct rps_idle idle;

    (void)state;
    begin(&idle, "cpu0 0 0 0 100 0\n");
    write_stat("cpu0 0 0 0 110 0\n");
    assert_int_equal(rps_idle_ns(&idle, 0), 10 * TICK);
    write_stat("cpu0 0 0 0 5110 0\n");
    rps_idle_start(&idle);
    assert_int_equal(rps_idle_ns(&idle, 0), 10 * TICK);
    write_stat("cpu0 0 0 0 5111 0\n");
    assert_int_equal(rps_idle_ns(&idle, 0), 11 * TICK);
    end(&idle);
}

/* The idle time of a CPU is unknown while its line is missing, or if it was missing at the start.
 * Nothing is lost if the line returns. */
static void test_not_known(void **state)
{
    struct rps_idle idle = {0};

    (void)state;
    rps_idle_start(&idle); /* starts without any CPU to read */
    rps_idle_look(&idle);
    begin(&idle, "cpu0 0 0 0 100 0\n");
    assert_int_equal(rps_idle_ns(&idle, 3), -1);
    assert_int_equal(rps_idle_ns(&idle, 0), 0);
    write_stat("intr 1 2 3\n");
    assert_int_equal(rps_idle_ns(&idle, 0), -1);
    write_stat("cpu0 0 0 0 120 0\ncpu3 0 0 0 40 0\n");
    assert_int_equal(rps_idle_ns(&idle, 0), 20 * TICK);
    assert_int_equal(rps_idle_ns(&idle, 3), -1); /* the start of the idle time is unknown */
    write_stat("cpu0 0 0 0 120 0\ncpu3 0 0 0 47 0\n");
    assert_int_equal(rps_idle_ns(&idle, 3), 7 * TICK);
    end(&idle);
}

/* --- periods ---------------------------------------------------------------------------------- */

/* A reading, and the expected idle time of its period. A reading may be added without ending a
 * period. */
struct step {
    int folded;
    uint64_t enabled_ns;
    int64_t idle_ns, expected_ns;
};

static void expect_steps(const struct step *step, size_t count)
{
    struct rps_event_set set = {.event_count = 0};
    struct rps_plan plan = {.set_count = 1, .set = &set};
    struct rps_mux mux;

    assert_int_equal(
        rps_mux_init(&mux, &plan, &(struct rps_order){0}, &test_wide_pmu, NULL, 0, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        const struct rps_reading reading = {.enabled_ns = step[i].enabled_ns,
                                            .running_ns = step[i].enabled_ns,
                                            .clock_running_ns = step[i].enabled_ns,
                                            .idle_ns = step[i].idle_ns};
        struct rps_period period;

        if (step[i].folded) {
            rps_mux_fold(&mux, &reading);
            continue;
        }
        rps_mux_end_period(&mux, &reading, (int64_t)step[i].enabled_ns, &period);
        if (period.idle_ns != step[i].expected_ns)
            fail_msg("step %zu: idle %" PRId64 " ns", i, period.idle_ns);
    }
    rps_mux_free(&mux);
}

static void test_periods(void **state)
{
    static const struct step plain[] = {{0, 100, 30, 30}, {0, 200, 30, 0}, {0, 300, 130, 100}};
    /* Ticks of 10 in periods of 4: no period has more idle time than its length, and sums are
     * correct. */
    static const struct step ticks[] = {{0, 4, 0, 0},    {0, 8, 0, 0},   {0, 12, 10, 4},
                                        {0, 16, 10, 4},  {0, 20, 20, 4}, {0, 24, 20, 4},
                                        {0, 28, 20, 4},  {0, 32, 20, 0}, {0, 36, 30, 4},
                                        {0, 136, 30, 6}, {0, 236, 30, 0}};
    static const struct step folded[] = {
        {1, 50, 20, 0}, {1, 100, 90, 0}, {0, 120, 130, 120}, {0, 220, 130, 10}};
    static const struct step unknown[] = {{0, 100, 10, 10},  {0, 200, -1, -1}, {0, 300, 90, -1},
                                          {0, 400, 120, 30}, {1, 450, -1, 0},  {0, 500, 150, -1},
                                          {0, 600, 160, 10}};

    (void)state;
    expect_steps(plain, sizeof(plain) / sizeof(plain[0]));
    expect_steps(ticks, sizeof(ticks) / sizeof(ticks[0]));
    expect_steps(folded, sizeof(folded) / sizeof(folded[0]));
    expect_steps(unknown, sizeof(unknown) / sizeof(unknown[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),     cmocka_unit_test(test_looks),
        cmocka_unit_test(test_goes_back), cmocka_unit_test(test_pause),
        cmocka_unit_test(test_not_known), cmocka_unit_test(test_periods),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
