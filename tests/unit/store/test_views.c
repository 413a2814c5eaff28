/* The views are compared with values computed by hand by the rules of rpistat/tally.h. */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/writer.h"

#define MS 1000000

/* In rotation 0, one set was counted half of its time, the other a third. In rotation 1 the
 * workload slept. In rotation 2 the first set had no counter, and the run ended before the second
 * set. */
static const struct rps_period periods[] = {
    {.cpu = -1,
     .set_no = 0,
     .period = 0,
     .cycle = 1000,
     .cycles = 1000,
     .start_ns = 0,
     .length_ns = 100 * MS,
     .enabled_ns = 100 * MS,
     .running_ns = 50 * MS,
     .counted = 3,
     .count = {10, 20}},
    {.cpu = -1,
     .set_no = 1,
     .period = 1,
     .cycle = 4000,
     .cycles = 3000,
     .start_ns = 100 * MS,
     .length_ns = 200 * MS,
     .enabled_ns = 300 * MS,
     .running_ns = 100 * MS,
     .counted = 3,
     .count = {7, 99}},
    {.cpu = -1,
     .set_no = 0,
     .period = 2,
     .cycle = 4000,
     .start_ns = 300 * MS,
     .length_ns = 100 * MS,
     .counted = 3},
    {.cpu = -1,
     .set_no = 1,
     .period = 3,
     .cycle = 4000,
     .start_ns = 400 * MS,
     .length_ns = 100 * MS,
     .counted = 1},
    {.cpu = -1,
     .set_no = 0,
     .period = 4,
     .cycle = 4500,
     .cycles = 500,
     .start_ns = 500 * MS,
     .length_ns = 100 * MS,
     .enabled_ns = 100 * MS},
};

static int make_store(void **state)
{
    struct rps_run run;
    struct rps_writer *writer;

    if (fixture_make_folder(state) != 0)
        return -1;
    /* Write an earlier run, whose numbers must not appear in the tested run. */
    for (int n = 0; n < 2; n++) {
        writer = fixture_writer(fixture_path(state, "s"), NULL, &run);
        for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
            struct rps_period period = periods[i];

            period.rotation = i / 2;
            period.clock_running_ns = period.enabled_ns / (period.rotation == 0 ? 2 : 1);
            period.count[0] += n == 0 ? 1000000 : 0;
            rps_writer_period(writer, &period);
        }
        fixture_end(writer, &run);
    }
    return 0;
}

static void rate_is(void **state, int rotation, const char *metric, double expected)
{
    const char *path = fixture_path(state, "s");
    char sql[256];
    double value;

    snprintf(sql, sizeof(sql),
             "SELECT value FROM rate WHERE run_id = 2 AND rotation = %d AND metric = '%s'",
             rotation, metric);
    if (isnan(expected)) {
        assert_string_equal(fixture_text(path, sql), "(null)");
        return;
    }
    value = fixture_real(path, sql);
    if (fabs(value - expected) > 1e-12 * fabs(expected))
        fail_msg("%s of rotation %d: %.15g, not %.15g", metric, rotation, value, expected);
}

static void rate_follows_the_tally_rules(void **state)
{
    /* Enabled 400 ms: a = 10 * 400/50 = 80, b = 160, c = 7 * 400/100 = 28. Event d is not measured.
     */
    rate_is(state, 0, "a_per_clock", 80.0 / 8000); /* The clock event had a counter half of the
                                                      time. */
    rate_is(state, 0, "c_share", 100 * 28.0 / 108);
    rate_is(state, 0, "b_rate", 160 / 0.3);
    rate_is(state, 0, "d_per_cpu_s", NAN);
    rate_is(state, 0, "nested", -(80.0 - 2) * 3 + 160);
    rate_is(state, 0, "by_zero", NAN);
    assert_float_equal(fixture_real(fixture_path(state, "s"),
                                    "SELECT length_s FROM rate WHERE run_id = 2 AND rotation = 0"),
                       0.3, 1e-12);
    assert_float_equal(fixture_real(fixture_path(state, "s"),
                                    "SELECT time_s FROM rate WHERE run_id = 2 AND rotation = 1"),
                       0.3, 1e-12);
}

static void rate_of_a_sleeping_workload_is_zero(void **state)
{
    rate_is(state, 1, "b_rate", 0);
    rate_is(state, 1, "nested", 6);
    rate_is(state, 1, "a_per_clock", NAN);
    rate_is(state, 1, "c_share", NAN);
}

static void rate_of_what_was_not_counted_is_missing(void **state)
{
    rate_is(state, 2, "a_per_clock", NAN);
    rate_is(state, 2, "b_rate", NAN);
    rate_is(state, 2, "c_share", NAN);
    assert_int_equal(
        fixture_number(fixture_path(state, "s"), "SELECT count(*) FROM rate WHERE run_id = 2"), 18);
}

static void sample_is_the_long_form(void **state)
{
    const char *path = fixture_path(state, "s");

    /* Event d is not measured, so set 0 has two events and set 1 has one. */
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM sample WHERE run_id = 2"), 8);
    assert_string_equal(fixture_text(path, "SELECT group_concat(event, ' ') FROM (SELECT event FROM"
                                           " sample WHERE run_id = 2 ORDER BY period, event)"),
                        "a b c a b c a b");
    assert_string_equal(fixture_text(path, "SELECT printf('%d %d %.1f %.2f %.3f', cpu, count,"
                                           " scaled, duty, time_s) FROM sample"
                                           " WHERE run_id = 2 AND period = 0 AND event = 'b'"),
                        "-1 20 40.0 0.50 0.000");
    assert_string_equal(fixture_text(path, "SELECT printf('%d %.1f %.4f %.1f', count, scaled, duty,"
                                           " time_s) FROM sample"
                                           " WHERE run_id = 2 AND period = 1 AND event = 'c'"),
                        "7 21.0 0.3333 0.1");
    assert_string_equal(fixture_text(path, "SELECT count || ' ' || scaled || ' ' ||"
                                           " coalesce(duty, 'idle') FROM sample"
                                           " WHERE run_id = 2 AND period = 2 AND event = 'a'"),
                        "0 0.0 idle");
    assert_string_equal(fixture_text(path, "SELECT coalesce(count, 'none') || ' ' ||"
                                           " coalesce(scaled, 'none') || ' ' || duty FROM sample"
                                           " WHERE run_id = 2 AND period = 4 AND event = 'a'"),
                        "none none 0.0");
}

static void summary_is_a_line_a_run(void **state)
{
    const char *path = fixture_path(state, "s");

    assert_int_equal(fixture_number(path, "SELECT count(*) FROM run_summary"), 2);
    assert_string_equal(
        fixture_text(path,
                     "SELECT label || '|' || start || '|' || state || '|' || periods || '|' ||"
                     " elapsed_s || '|' || gaps || '|' || plan || '|' || sets || '|' || pmu ||"
                     " '|' || exit_status FROM run_summary WHERE run_id = 2"),
        "first|2013-06-26T15:12:33.000Z|complete|5|0.6|0|test|2|sim|0");
    assert_string_equal(fixture_text(path, "SELECT command FROM run_summary WHERE run_id = 2"),
                        "./naive --size=5 00 \"q\\uo\n\xc3\xa9 ");
}

static void views_need_no_trust(void **state)
{
    fixture_exec(fixture_path(state, "s"),
                 "PRAGMA trusted_schema = OFF; SELECT * FROM run_summary; SELECT * FROM sample;"
                 "SELECT * FROM rate");
}

/* --- a run of which the old part was thinned -------------------------------------------------- */

#define PERIODS 1001

/* Return the sums over the views, which do not depend on downsampling. */
static void sums_of_views(const char *path, char *ret, size_t size)
{
    int at =
        snprintf(ret, size, "%s|",
                 fixture_text(path, "SELECT group_concat(event || ' ' || sum, ',') FROM (SELECT"
                                    " event, sum(count) AS sum FROM sample GROUP BY event)"));

    snprintf(ret + at, size - (size_t)at, "%s",
             fixture_text(path, "SELECT periods || ' ' || elapsed_s FROM run_summary"));
}

static void thin(const char *path)
{
    const struct rps_downsample_options options = {.run_id = 1, .keep_ns = INT64_C(2000000000)};
    struct rps_downsample *downsample = NULL;
    struct rps_period last = fixture_period(PERIODS - 1, 2);
    sqlite3 *db = NULL;
    int left = 1;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(rps_downsample_open(db, &options, &downsample), SQLITE_OK);
    while (left)
        assert_int_equal(
            rps_downsample_work(downsample, PERIODS, last.start_ns + last.length_ns, 9, &left),
            SQLITE_OK);
    rps_downsample_close(downsample);
    sqlite3_close(db);
}

/* Expect the metric values of a rotation or block, computed from the rows of a cursor. */
static void expect_rates(const char *path, const struct rps_period *set0,
                         const struct rps_period *set1)
{
    double enabled = (double)(set0->enabled_ns + set1->enabled_ns);
    double a = (double)set0->count[0] * enabled / (double)set0->running_ns;
    double b = (double)set0->count[1] * enabled / (double)set0->running_ns;
    double c = (double)set1->count[0] * enabled / (double)set1->running_ns;
    double clock = (double)(set0->cycles + set1->cycles);
    double seconds = (double)(set0->length_ns + set1->length_ns) / 1e9;
    const struct {
        const char *metric;
        double value;
    } rates[] = {
        {"a_per_clock", a / clock}, {"c_share", 100 * c / (a + c)}, {"b_rate", b / seconds}};
    char sql[256];

    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        snprintf(sql, sizeof(sql),
                 "SELECT value FROM rate WHERE run_id = 1 AND rotation = %llu AND metric = '%s'",
                 (unsigned long long)set0->rotation, rates[i].metric);
        assert_float_equal(fixture_real(path, sql), rates[i].value, 1e-9 * rates[i].value);
    }
}

static uint64_t expect_all_rates(const char *path)
{
    struct rps_reader *reader = NULL;
    struct rps_cursor *cursor = NULL;
    struct rps_period period, before = {.rotation = UINT64_MAX};
    struct rps_error err;
    uint64_t rotations = 0;

    assert_int_equal(rps_reader_open(&reader, path, &err), 0);
    assert_int_equal(rps_cursor_open(&cursor, reader, 1, 0, INT64_MAX, 0, &err), 0);
    while (rps_cursor_next(cursor, &period, &err) == 1) {
        if (period.rotation == before.rotation && rotations++ % 7 == 0)
            expect_rates(path, &before, &period);
        before = period;
    }
    rps_cursor_close(cursor);
    rps_reader_close(reader);
    return rotations;
}

static void views_show_what_took_their_place(void **state)
{
    const char *path = fixture_path(state, "thin");
    char sums[1024], thinned[1024];
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);
    struct rps_writer_status status;

    for (uint64_t n = 0; n < PERIODS; n++) {
        struct rps_period period = fixture_period(n, 2);

        rps_writer_period(writer, &period);
    }
    do {
        rps_writer_status(writer, &status);
    } while (status.committed < PERIODS);
    rps_writer_close(writer); /* as if killed: no sums were stored */
    rps_run_free(&run);
    sums_of_views(path, sums, sizeof(sums));
    assert_int_equal(expect_all_rates(path), 500);
    thin(path);
    sums_of_views(path, thinned, sizeof(thinned));
    assert_string_equal(thinned, sums);
    assert_in_range(expect_all_rates(path), 20, 60);
    assert_int_equal(fixture_number(path, "SELECT count(DISTINCT level) FROM finest"), 3);
    assert_int_equal(fixture_number(path, "SELECT sum(merged) FROM finest"), PERIODS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rate_follows_the_tally_rules),
        cmocka_unit_test(rate_of_a_sleeping_workload_is_zero),
        cmocka_unit_test(rate_of_what_was_not_counted_is_missing),
        cmocka_unit_test(sample_is_the_long_form),
        cmocka_unit_test(summary_is_a_line_a_run),
        cmocka_unit_test(views_need_no_trust),
        cmocka_unit_test(views_show_what_took_their_place),
    };

    return cmocka_run_group_tests(tests, make_store, fixture_remove_folder);
}
