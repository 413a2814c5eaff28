/* Tests of the multiplexer: effects of a failed reading on its period and the next. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "measure/mux.h"
#include "wide_pmu.h"
#include "rpistat/plan.h"

/* A reading at a time of the workload, and the expected values of its period. */
struct step {
    uint64_t time_ns, value;
    int valid;
    uint64_t enabled_ns, count;
    int counted;
};

static void expect_steps(const struct step *step, size_t count)
{
    struct rps_event_set set = {.event_count = 1};
    struct rps_plan plan = {.set_count = 1, .set = &set};
    struct rps_mux mux;

    set.event[0].state = RPS_EVENT_MEASURED;
    assert_int_equal(
        rps_mux_init(&mux, &plan, &(struct rps_order){0}, &test_wide_pmu, NULL, 0, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        const struct rps_reading reading = {.clock = step[i].time_ns,
                                            .enabled_ns = step[i].time_ns,
                                            .running_ns = step[i].time_ns,
                                            .clock_running_ns = step[i].time_ns,
                                            .value = {step[i].value},
                                            .valid = step[i].valid ? ~UINT32_C(0) : 0};
        struct rps_period period;

        rps_mux_end_period(&mux, &reading, (int64_t)(100 * (i + 1)), &period);
        assert_int_equal(period.enabled_ns, step[i].enabled_ns);
        assert_int_equal(period.running_ns, step[i].enabled_ns);
        assert_int_equal(period.count[0], step[i].count);
        assert_int_equal(period.counted, step[i].counted);
    }
    rps_mux_free(&mux);
}

/* A failed reading's count is in the next reading, which therefore is not used either. */
static void test_slot_fails(void **state)
{
    static const struct step steps[] = {{100, 10, 1, 100, 10, 1},
                                        {200, 10, 0, 100, 0, 0},
                                        {300, 30, 1, 100, 0, 0},
                                        {400, 45, 1, 100, 15, 1}};

    (void)state;
    expect_steps(steps, 4);
}

/* If the clock event was not read either, times and counts of both periods go to the next period.
 */
static void test_all_fails(void **state)
{
    static const struct step steps[] = {{100, 10, 1, 100, 10, 1},
                                        {100, 10, 0, 0, 0, 0},
                                        {300, 30, 1, 200, 20, 1},
                                        {400, 45, 1, 100, 15, 1}};

    (void)state;
    expect_steps(steps, 4);
}

/* A reading during sleep is not used after a failed reading. */
static void test_slot_fails_before_sleep(void **state)
{
    static const struct step steps[] = {{100, 10, 1, 100, 10, 1},
                                        {200, 10, 0, 100, 0, 0},
                                        {200, 30, 1, 0, 0, 0},
                                        {300, 45, 1, 100, 15, 1}};

    (void)state;
    expect_steps(steps, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slot_fails),
        cmocka_unit_test(test_all_fails),
        cmocka_unit_test(test_slot_fails_before_sleep),
    };

    return cmocka_run_group_tests_name("measure/mux", tests, NULL, NULL);
}
