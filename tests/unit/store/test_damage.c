/* A store from elsewhere may hold any values. Every wrong value leads to a clear error or to a
 * harmless value. */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/database.h"
#include "rpistat/plan.h"
#include "rpistat/run.h"

/* Open a store of one run after `sql` has changed it. */
static struct rps_reader *spoilt(void **state, const char *sql)
{
    const char *path = fixture_path(state, "s");
    struct rps_reader *reader = NULL;
    struct rps_writer *writer;
    struct rps_run run;
    struct rps_error err;

    unlink(path);
    writer = fixture_writer(path, NULL, &run);
    for (unsigned int n = 0; n < 4; n++) {
        struct rps_period period = fixture_period(n, 2);

        rps_writer_period(writer, &period);
    }
    fixture_end(writer, &run);
    fixture_exec(path, sql);
    if (rps_reader_open(&reader, path, &err) < 0)
        fail_msg("%s", err.message);
    return reader;
}

static void periods_fail(void **state, const char *sql, const char *says)
{
    struct rps_reader *reader = spoilt(state, sql);
    struct rps_cursor *cursor = NULL;
    struct rps_period period;
    struct rps_error err;
    int result = rps_cursor_open(&cursor, reader, 1, 0, INT64_MAX, 0, &err);

    while (result >= 0 && (result = rps_cursor_next(cursor, &period, &err)) > 0)
        assert_in_range(period.set_no, 0, 1);
    assert_int_equal(result, RPS_FAILED);
    fixture_says(&err, says, NULL);
    rps_cursor_close(cursor);
    rps_reader_close(reader);
}

static void periods_with_impossible_numbers(void **state)
{
    periods_fail(state, "UPDATE period SET set_no = 2 WHERE period = 2",
                 "period 2 of run 1 has set_no 2");
    periods_fail(state, "UPDATE period SET set_no = -1", "set_no -1");
    periods_fail(state, "UPDATE period SET start_ns = 9223372036854775807", "start_ns");
    periods_fail(state, "UPDATE period SET length_ns = 9223372036854775807", "length_ns");
    periods_fail(state, "UPDATE period SET start_ns = -5", "start_ns -5");
    periods_fail(state, "UPDATE period SET enabled_ns = -5", "enabled_ns");
    periods_fail(state, "UPDATE period SET running_ns = -5", "running_ns");
    periods_fail(state, "UPDATE period SET switch_ns = -5", "switch_ns");
    periods_fail(state, "UPDATE period SET missed = 4294967296", "missed");
    periods_fail(state, "UPDATE period SET cycles = -1", "cycles");
    periods_fail(state, "UPDATE period SET period = -1 - period", "has period -");
    periods_fail(state, "UPDATE period SET cpu = 2147483648", "cpu");
    periods_fail(state, "UPDATE period SET cpu = -2", "cpu");
    periods_fail(state, "UPDATE period SET c1 = -7", "count -7");
    periods_fail(state, "DELETE FROM event_set", "set_no 0");
}

static void missing_tables_and_columns(void **state)
{
    periods_fail(state, "DROP TABLE period", "no such table");
    periods_fail(state,
                 "DROP VIEW sample; DROP VIEW rate; DROP VIEW run_summary; DROP VIEW finest;"
                 "ALTER TABLE period DROP COLUMN missed",
                 "no such column");
    periods_fail(state, "DROP TABLE event", "no such table");
}

static void plan_fails(void **state, const char *sql, const char *says)
{
    struct rps_reader *reader = spoilt(state, sql);
    struct rps_plan *plan = NULL;
    struct rps_error err;

    assert_true(rps_reader_plan(fixture_arena, reader, 1, &plan, &err) < 0);
    assert_null(plan);
    fixture_says(&err, says, NULL);
    rps_reader_close(reader);
}

static void plans_that_make_no_sense(void **state)
{
    plan_fails(state, "DELETE FROM event_set", "the events of run 1");
    plan_fails(state, "DELETE FROM event_set; DELETE FROM event", "the event sets of run 1");
    plan_fails(state, "DELETE FROM event_set WHERE set_no = 0", "the event sets of run 1");
    plan_fails(state, "DELETE FROM event WHERE set_no = 1", "the events of run 1");
    plan_fails(state, "DELETE FROM event WHERE set_no = 0 AND slot = 0", "the events of run 1");
    plan_fails(state, "UPDATE event SET set_no = 5 WHERE set_no = 1", "the events of run 1");
    plan_fails(state, "UPDATE event SET set_no = -9 WHERE set_no = 1", "the events of run 1");
    plan_fails(state,
               "PRAGMA ignore_check_constraints = ON;"
               "UPDATE event SET slot = 800000 WHERE set_no = 1 AND slot = 1",
               "the events of run 1");
    plan_fails(state, "UPDATE metric SET formula = 'a / / b'", "run 1 of");
    plan_fails(state, "UPDATE metric SET formula = ''", "run 1 of");
    plan_fails(state, "UPDATE metric SET formula = printf('%.*c', 5000, '(')", "run 1 of");
}

static void text_is_cut_at_a_whole_character(void **state)
{
    struct rps_reader *reader =
        spoilt(state, "UPDATE run SET label = printf('%.*c', 254, 'x') || 'é' || 'yy',"
                      " host = printf('%.*c', 1000000, 'h'),"
                      " cpu_model = 'ab' || char(0) || 'cd';"
                      "UPDATE event SET name = printf('%.*c', 61, 'n') || '€€'");
    struct rps_plan *plan = NULL;
    struct rps_run run;
    struct rps_error err;

    assert_int_equal(rps_reader_run(fixture_arena, reader, 1, &run, &err), 0);
    assert_int_equal(strlen(run.label), 254);
    assert_int_equal(strlen(run.host), RPS_RUN_TEXT_SIZE - 1);
    assert_string_equal(run.cpu_model, "ab");
    assert_int_equal(rps_reader_plan(fixture_arena, reader, 1, &plan, &err), 0);
    assert_int_equal(strlen(plan->set[0].event[0].name), 61);
    rps_reader_close(reader);
}

static void odd_numbers_of_a_run_are_brought_into_range(void **state)
{
    struct rps_reader *reader =
        spoilt(state, "PRAGMA ignore_check_constraints = ON;"
                      "UPDATE run SET cpu_count = 99999999999, elapsed_ns = 9223372036854775807,"
                      " period_ns = -77, exit_status = -9999999999, state = 'asleep'");
    struct rps_run run;
    struct rps_error err;

    assert_int_equal(rps_reader_run(fixture_arena, reader, 1, &run, &err), 0);
    assert_int_equal(run.cpu_count, INT32_MAX);
    assert_int_equal(run.exit_status, INT32_MIN);
    assert_int_equal(run.period_ns, -1);
    assert_int_equal(run.elapsed_ns, INT64_MAX / 4);
    assert_int_equal(run.state, RPS_RUN_INTERRUPTED);
    rps_reader_close(reader);
}

static void odd_json(void **state)
{
    struct rps_reader *reader =
        spoilt(state, "UPDATE run SET tags = '{\"a\":1,\"b\":null,\"c\":[1,2]}',"
                      " command = '[1, null, {\"x\":2}, \"y\"]'");
    struct rps_run run;
    struct rps_error err;

    assert_int_equal(rps_reader_run(fixture_arena, reader, 1, &run, &err), 0);
    assert_int_equal(run.argc, 4);
    assert_string_equal(run.argv[0], "1");
    assert_string_equal(run.argv[1], "");
    assert_string_equal(run.argv[3], "y");
    assert_int_equal(run.tag_count, 3);
    assert_string_equal(run.tag[0].value, "1");
    rps_reader_close(reader);
    reader = spoilt(state, "UPDATE run SET command = 'nonsense'");
    assert_int_equal(rps_reader_run(fixture_arena, reader, 1, &run, &err), RPS_FAILED);
    fixture_says(&err, "malformed JSON", NULL);
    rps_reader_close(reader);
}

/* The schema of a store may call functions when a table is only read. The reader does not run them.
 */
static void the_schema_runs_nothing(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_reader *reader;
    struct rps_error err;

    rps_reader_close(spoilt(state, "SELECT 1"));
    fixture_exec(path, "DROP TABLE gap; CREATE VIEW gap AS SELECT 1 AS run_id, 1 AS start_ns,"
                       " 1 AS gap_no, 1 AS length_ns, load_extension('evil') AS reason");
    assert_int_equal(rps_reader_open(&reader, path, &err), RPS_FAILED);
    fixture_says(&err, path, "its table gap is a view", NULL);
}

static void readers_are_guarded(void **state)
{
    struct rps_reader *reader = spoilt(state, "SELECT 1");
    int64_t trusted = 1, query_only = 0, cell_check = 0;
    sqlite3 *db = NULL;
    struct rps_error err;
    int defensive = 0;

    rps_reader_close(reader);
    assert_int_equal(rps_database_open_read(fixture_path(state, "s"), &db, &err), 0);
    assert_int_equal(rps_database_ask(db, &trusted, "PRAGMA trusted_schema", ""), SQLITE_OK);
    assert_int_equal(rps_database_ask(db, &query_only, "PRAGMA query_only", ""), SQLITE_OK);
    assert_int_equal(rps_database_ask(db, &cell_check, "PRAGMA cell_size_check", ""), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, -1, &defensive);
    assert_int_equal(trusted, 0);
    assert_int_equal(query_only, 1);
    assert_int_equal(cell_check, 1);
    assert_int_equal(defensive, 1);
    sqlite3_close(db);
}

static void a_huge_cell_is_not_read(void **state)
{
    struct rps_reader *reader =
        spoilt(state, "UPDATE run SET folder = printf('%.*c', 30000000, 'x')");
    struct rps_run run;
    struct rps_error err;

    assert_int_equal(rps_reader_run(fixture_arena, reader, 1, &run, &err), RPS_FAILED);
    fixture_says(&err, "too big", NULL);
    rps_reader_close(reader);
}

static void wrong_bytes_in_the_middle(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_reader *reader = spoilt(state, "PRAGMA journal_mode = DELETE");
    struct rps_cursor *cursor = NULL;
    struct rps_period period;
    struct rps_error err;
    long page = fixture_number(path, "SELECT rootpage FROM sqlite_schema WHERE name = 'period'");
    FILE *file = fopen(path, "r+");
    int result;

    rps_reader_close(reader);
    assert_non_null(file);
    fseek(file, (page - 1) * 4096, SEEK_SET);
    for (int i = 0; i < 4096; i++)
        fputc(0xa5, file);
    fclose(file);
    assert_int_equal(rps_reader_open(&reader, path, &err), 0);
    result = rps_cursor_open(&cursor, reader, 1, 0, INT64_MAX, 0, &err);
    while (result >= 0 && (result = rps_cursor_next(cursor, &period, &err)) > 0)
        ;
    assert_int_equal(result, RPS_FAILED);
    fixture_says(&err, path, "is damaged", "check --repair", NULL);
    rps_cursor_close(cursor);
    rps_reader_close(reader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(periods_with_impossible_numbers),
        TEST(missing_tables_and_columns),
        TEST(plans_that_make_no_sense),
        TEST(text_is_cut_at_a_whole_character),
        TEST(odd_numbers_of_a_run_are_brought_into_range),
        TEST(odd_json),
        TEST(the_schema_runs_nothing),
        TEST(readers_are_guarded),
        TEST(a_huge_cell_is_not_read),
        TEST(wrong_bytes_in_the_middle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
