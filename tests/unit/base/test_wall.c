/* Tests of wall-clock time: a zone with summer time, a zone without, and moments that occur twice
 * or never. */
#include "rpistat/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define S    RPS_NS_PER_S
#define HOUR (3600 * S)

/* NOVEMBER is 2026-11-21T13:30:00.1Z. SPRING and AUTUMN are 2026-03-29 and 2026-10-25, 01:00Z: the
 * clock changes in central Europe. */
#define NOVEMBER (INT64_C(1795267800) * S + 100000000)
#define SPRING   (INT64_C(1774746000) * S)
#define AUTUMN   (INT64_C(1792890000) * S)

static void use_zone(const char *zone)
{
    setenv("TZ", zone, 1);
    tzset();
}

static int use_europe(void **state)
{
    (void)state;
    use_zone("CET-1CEST,M3.5.0,M10.5.0/3");
    return 0;
}

static void test_text(void **state)
{
    char text[RPS_WALL_TEXT_SIZE];

    (void)state;
    assert_string_equal(rps_wall_text(text, sizeof(text), NOVEMBER),
                        "2026-11-21T14:30:00.100+01:00");
    assert_string_equal(rps_wall_text(text, sizeof(text), SPRING - 1),
                        "2026-03-29T01:59:59.999+01:00");
    assert_string_equal(rps_wall_text(text, sizeof(text), SPRING), "2026-03-29T03:00:00.000+02:00");
    assert_string_equal(rps_wall_text(text, sizeof(text), -1), "1970-01-01T00:59:59.999+01:00");
    use_zone("NST3:30");
    assert_string_equal(rps_wall_text(text, sizeof(text), NOVEMBER),
                        "2026-11-21T10:00:00.100-03:30");
    use_zone("UTC");
    assert_string_equal(rps_wall_text(text, sizeof(text), NOVEMBER),
                        "2026-11-21T13:30:00.100+00:00");
}

static void test_change(void **state)
{
    (void)state;
    assert_true(rps_wall_change_ns(SPRING - 40 * 24 * HOUR, SPRING + 300 * 24 * HOUR) == SPRING);
    assert_true(rps_wall_change_ns(SPRING - 1, SPRING) == SPRING);
    assert_true(rps_wall_change_ns(SPRING - HOUR, SPRING - 1) == INT64_MAX);
    assert_true(rps_wall_change_ns(SPRING, SPRING + 40 * 24 * HOUR) == INT64_MAX);
}

/* Return the tics of [from_ns, to_ns], separated by blanks. */
static char *tics(char ret[1024], int64_t from_ns, int64_t to_ns, int64_t step_ns)
{
    char text[RPS_WALL_TEXT_SIZE];

    ret[0] = '\0';
    for (int64_t at_ns = rps_wall_step_ns(from_ns, step_ns); at_ns <= to_ns;
         at_ns = rps_wall_step_ns(at_ns + 1, step_ns)) {
        strcat(ret, ret[0] ? " " : "");
        strcat(ret, rps_wall_short(text, sizeof(text), at_ns, step_ns));
    }
    return ret;
}

static void test_tics(void **state)
{
    char text[1024];

    (void)state;
    assert_string_equal(tics(text, NOVEMBER, NOVEMBER + S, S / 5),
                        "14:30:00.2 14:30:00.4 14:30:00.6 14:30:00.8 14:30:01.0");
    assert_string_equal(tics(text, NOVEMBER, NOVEMBER + 20 * S, 5 * S),
                        "14:30:05 14:30:10 14:30:15 14:30:20");
    assert_string_equal(tics(text, NOVEMBER, NOVEMBER + 20 * HOUR, 3 * HOUR),
                        "15:00 18:00 21:00 2026-11-22 03:00 06:00 09:00");
    assert_string_equal(tics(text, NOVEMBER, NOVEMBER + 72 * HOUR, 24 * HOUR),
                        "2026-11-22 2026-11-23 2026-11-24");
    assert_string_equal(tics(text, SPRING - 2 * HOUR, SPRING + 5 * HOUR, HOUR),
                        "2026-03-29 01:00 03:00 04:00 05:00 06:00 07:00 08:00");
    assert_string_equal(tics(text, SPRING - 2 * HOUR, SPRING + 12 * HOUR, 6 * HOUR),
                        "2026-03-29 06:00 12:00");
    assert_string_equal(tics(text, AUTUMN - HOUR - 1, AUTUMN + HOUR, HOUR / 2),
                        "02:00 02:30 02:00 02:30 03:00");
    assert_string_equal(tics(text, AUTUMN - 2 * 24 * HOUR, AUTUMN + 24 * HOUR, 24 * HOUR),
                        "2026-10-24 2026-10-25 2026-10-26");
}

static void test_last_step(void **state)
{
    (void)state;
    assert_true(rps_wall_last_step_ns(NOVEMBER, 10 * S) == NOVEMBER - 100000000);
    assert_true(rps_wall_last_step_ns(NOVEMBER, 24 * HOUR) == NOVEMBER - 100000000 - 29 * HOUR / 2);
    assert_true(rps_wall_last_step_ns(SPRING + HOUR / 2, HOUR) == SPRING);
    assert_true(rps_wall_last_step_ns(SPRING + 12 * HOUR, 24 * HOUR) == SPRING - 2 * HOUR);
    assert_true(rps_wall_last_step_ns(AUTUMN + HOUR / 2, HOUR) == AUTUMN);
    assert_true(rps_wall_last_step_ns(AUTUMN - 1, HOUR) == AUTUMN - HOUR);
    assert_true(rps_wall_last_step_ns(AUTUMN + 12 * HOUR, 24 * HOUR) == AUTUMN - 3 * HOUR);
}

/* Steps when the clock changes by half an hour (Lord Howe), at midnight (Sao Paulo), or back to
 * midnight (Havana). Each moment belongs to the step that began last. */
static void test_odd_changes(void **state)
{
    static const struct {
        const char *zone;
        int64_t change_s, before_h, after_h, step_h;
        const char *steps;
    } cases[] = {
        {"LHST-10:30LHDT-11,M10.1.0,M4.1.0", 1791041400, 2, 2, 1,
         "2026-10-04 01:00 02:30 03:00 04:00"},
        {"LHST-10:30LHDT-11,M10.1.0,M4.1.0", 1775314800, 2, 2, 1, "2026-04-05 01:00 02:00 03:00"},
        {"<+0545>-5:45", 1772390700, 2, 2, 1, "23:00 2026-03-02 01:00 02:00"},
        {"<-03>3<-02>,M11.1.0/0,M2.3.0/0", 1541300400, 2, 2, 1, "22:00 23:00 01:00 02:00 03:00"},
        {"<-03>3<-02>,M11.1.0/0,M2.3.0/0", 1541300400, 30, 30, 24,
         "2018-11-03 2018-11-04 2018-11-05"},
        {"CST5CDT,M3.2.0/0,M11.1.0/1", 1793509200, 30, 30, 24, "2026-10-31 2026-11-01 2026-11-02"},
        {"CST5CDT,M3.2.0/0,M11.1.0/1", 1793509200, 2, 1, 1, "23:00 2026-11-01 2026-11-01 01:00"},
        {"CET-1CEST,M3.5.0,M10.5.0/3", 1792890000, 3, 3, 2, "2026-10-25 02:00 04:00"},
        {"CET-1CEST,M3.5.0,M10.5.0/3", 1774746000, 3, 4, 2, "2026-03-29 03:00 04:00 06:00"},
    };
    char text[1024];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t step_ns = cases[i].step_h * HOUR, change_ns = cases[i].change_s * S;
        int64_t from_ns = change_ns - cases[i].before_h * HOUR, begin_ns;

        use_zone(cases[i].zone);
        tics(text, from_ns, change_ns + cases[i].after_h * HOUR, step_ns);
        assert_string_equal(text, cases[i].steps);
        begin_ns = rps_wall_step_ns(from_ns, step_ns);
        for (int64_t at_ns = begin_ns; at_ns < change_ns + 30 * HOUR; at_ns += 300 * S) {
            if (at_ns == rps_wall_step_ns(begin_ns + 1, step_ns))
                begin_ns = at_ns;
            assert_true(rps_wall_last_step_ns(at_ns, step_ns) == begin_ns);
            assert_true(rps_wall_last_step_ns(at_ns + 1, step_ns) == begin_ns);
            assert_true(rps_wall_step_ns(at_ns + 1, step_ns) ==
                        rps_wall_step_ns(begin_ns + 1, step_ns));
        }
    }
    use_europe(NULL);
}

static void test_refused(void **state)
{
    static const char *const bad[] = {
        "24:00",
        "14:60",
        "14:30:60",
        "14:3",
        "14:30:",
        "14:30.5",
        "14:30:05.",
        "14:30Z",
        "14:30 ",
        "014:30",
        "2026-11-21",
        "2026-11-21T",
        "2026-11-31T1",
        "2026-02-29T00:00",
        "2026-13-01T00:00",
        "2026-11-21T14:30z",
        "1969-01-01T00:00",
        "2026-11-21T14:30+1",
        "2026-11-21T14:30+0160",
    };
    struct rps_moment moment;
    struct rps_error err;

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(bad); i++) {
        assert_true(rps_moment_is(bad[i]));
        if (rps_moment_parse("--from", bad[i], &moment, &err) != RPS_USAGE)
            fail_msg("%s was taken", bad[i]);
        assert_non_null(strstr(err.message, bad[i]));
    }
    assert_false(rps_moment_is("90"));
    assert_false(rps_moment_is("1m30s"));
    assert_false(rps_moment_is("100ms"));
    assert_false(rps_moment_is("phase:B"));
    assert_false(rps_moment_is(""));
}

/* Return the time at which the moment is found (-1: not found). */
static int64_t found(const char *text, int64_t from_ns, int64_t to_ns)
{
    struct rps_moment moment;
    struct rps_error err;
    int64_t at_ns;

    assert_true(rps_moment_is(text));
    assert_int_equal(rps_moment_parse("--from", text, &moment, &err), 0);
    return rps_moment_find(&moment, from_ns, to_ns, &at_ns) ? at_ns : -1;
}

static void test_find(void **state)
{
    int64_t end = NOVEMBER + 3 * 24 * HOUR;

    (void)state;
    assert_true(found("14:30:00.1", NOVEMBER, end) == NOVEMBER);
    assert_true(found("14:30:05.25", NOVEMBER, end) == NOVEMBER + 5150000000);
    assert_true(found("14:30", NOVEMBER, end) == NOVEMBER + 24 * HOUR - 100000000);
    assert_true(found("14:30", NOVEMBER, NOVEMBER + HOUR) == -1);
    assert_true(found("00:00", NOVEMBER, end) == NOVEMBER + 9 * HOUR + 1799900000000);
    assert_true(found("2026-11-21T14:30:01", NOVEMBER, end) == NOVEMBER + 900000000);
    assert_true(found("2026-11-21 14:30:01", NOVEMBER, end) == NOVEMBER + 900000000);
    assert_true(found("2026-11-21T13:30:01Z", NOVEMBER, end) == NOVEMBER + 900000000);
    assert_true(found("2026-11-21T08:30:01-05:00", NOVEMBER, end) == NOVEMBER + 900000000);
    assert_true(found("2026-11-22T03:00:01+13:30", NOVEMBER, end) == NOVEMBER + 900000000);
    assert_true(found("2026-11-21T13:30:01", NOVEMBER, end) == -1);
    assert_true(found("2026-11-21T13:30Z", NOVEMBER, end) == -1);
    assert_true(found("2026-11-21T14:30:00.1", NOVEMBER, NOVEMBER) == NOVEMBER);
}

static void test_summer_time(void **state)
{
    (void)state;
    /* a time that the clock skips is found on the next day, or not at all */
    assert_true(found("02:30", SPRING - 12 * HOUR, SPRING + 12 * HOUR) == -1);
    assert_true(found("02:30", SPRING - 12 * HOUR, SPRING + 48 * HOUR) == SPRING + 47 * HOUR / 2);
    assert_true(found("2026-03-29T02:30", SPRING - 12 * HOUR, SPRING + 48 * HOUR) == -1);
    assert_true(found("03:00", SPRING - HOUR, SPRING + HOUR) == SPRING);
    /* a time that the clock shows twice is found the first time, or the second time if the run
     * began in between */
    assert_true(found("02:30", AUTUMN - 12 * HOUR, AUTUMN + 12 * HOUR) == AUTUMN - HOUR / 2);
    assert_true(found("02:30", AUTUMN - HOUR / 4, AUTUMN + 12 * HOUR) == AUTUMN + HOUR / 2);
    assert_true(found("2026-10-25T02:30+01:00", AUTUMN - 12 * HOUR, AUTUMN + 12 * HOUR) ==
                AUTUMN + HOUR / 2);
    assert_true(found("2026-10-25T02:30+0100", AUTUMN - 12 * HOUR, AUTUMN + 12 * HOUR) ==
                AUTUMN + HOUR / 2);
    assert_true(found("12:00", AUTUMN - HOUR, AUTUMN + 24 * HOUR) == AUTUMN + 10 * HOUR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_text, use_europe),
        cmocka_unit_test_setup(test_change, use_europe),
        cmocka_unit_test_setup(test_tics, use_europe),
        cmocka_unit_test_setup(test_last_step, use_europe),
        cmocka_unit_test_setup(test_odd_changes, use_europe),
        cmocka_unit_test_setup(test_refused, use_europe),
        cmocka_unit_test_setup(test_find, use_europe),
        cmocka_unit_test_setup(test_summer_time, use_europe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
