/* Tests of how often system metrics are read. The factor follows the cost: it rises at once and
 * falls slowly. */
#include "rpistat/system_pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define US INT64_C(1000)
#define MS (1000 * US)

static struct rps_system_pace pace;
static char note[160];
static int notes;

/* Begin periods of 100 ms with a budget of a thousandth of a CPU: 100 us. */
static void begin(void)
{
    rps_system_pace_init(&pace, 100 * MS, 0.001);
    rps_system_pace_begin(&pace, 0);
    notes = 0;
}

/* Make `count` readings of this cost, each as soon as it is due. */
static void spend(int count, int64_t cost_ns)
{
    while (count-- > 0) {
        int64_t time_ns = pace.last_ns + 100 * MS;
        char text[sizeof(note)];

        while (!rps_system_pace_due(&pace, time_ns))
            time_ns += 100 * MS;
        assert_int_equal(time_ns - pace.last_ns, pace.factor * 100 * MS);
        rps_system_pace_spent(&pace, time_ns, cost_ns, "100 processes", text, sizeof(text));
        if (text[0])
            memcpy(note, text, sizeof(note));
        notes += text[0] != '\0';
    }
}

static void test_cheap(void **state)
{
    (void)state;
    begin();
    spend(100, 100 * US);
    assert_int_equal(pace.factor, 1);
    assert_int_equal(notes, 0);
}

/* One expensive reading at the start does not change the factor, but three do. */
static void test_grows(void **state)
{
    (void)state;
    begin();
    spend(2, 1243 * US);
    assert_int_equal(pace.factor, 1);
    spend(1, 1243 * US);
    assert_int_equal(pace.factor, 13);
    assert_string_equal(note, "system metrics are read every 1.300 s: 100 processes");
    spend(7, 1243 * US);
    spend(1, 12565 * US); /* mean of eight readings: 2,658 us */
    assert_int_equal(pace.factor, 27);
    assert_int_equal(notes, 2);
}

static void test_shrinks(void **state)
{
    (void)state;
    begin();
    spend(8, 1243 * US);
    spend(8, 660 * US); /* the limit is half of 1,300 us: 650 us */
    spend(50, 660 * US);
    assert_int_equal(pace.factor, 13);
    spend(7, 200 * US); /* the mean falls below 650 us with the first reading */
    spend(8, 200 * US);
    assert_int_equal(pace.factor, 13);
    spend(1, 200 * US);
    assert_int_equal(pace.factor, 2);
    assert_int_equal(notes, 2);
}

/* If the cost rises and falls repeatedly, the factor follows more slowly each time. */
static void test_patience(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 200; i++) {
        spend(30, 1000 * US);
        spend(30, 100 * US);
    }
    assert_in_range(notes, 3, 6);
}

/* The factor has a maximum, even with a tiny budget. */
static void test_limits(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 3; i++)
        rps_system_pace_spent(&pace, i, INT64_MAX / 8, "", note, sizeof(note));
    assert_int_equal(pace.factor, 36000);
    assert_true(rps_system_pace_due(&pace, 2 + 3600000 * MS));
    assert_false(rps_system_pace_due(&pace, 2 + 3599000 * MS));
}

/* A period that was cut by a pause, or was late, is judged by its time. */
static void test_due(void **state)
{
    (void)state;
    begin();
    assert_true(rps_system_pace_due(&pace, 99 * MS));
    assert_false(rps_system_pace_due(&pace, 49 * MS));
    rps_system_pace_begin(&pace, 1000 * MS);
    assert_false(rps_system_pace_due(&pace, 1040 * MS));
    assert_true(rps_system_pace_due(&pace, 1100 * MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cheap),   cmocka_unit_test(test_grows),
        cmocka_unit_test(test_shrinks), cmocka_unit_test(test_patience),
        cmocka_unit_test(test_limits),  cmocka_unit_test(test_due),
    };

    return cmocka_run_group_tests_name("signal_pace", tests, NULL, NULL);
}
