/* A part of a run, selected: nothing of it is left out, and little else is read. */
#include "fixture.h"

#include <stdio.h>
#include <unistd.h>

#include "store/period_select.h"

#define PERIOD_NS INT64_C(100000000)

/* Two CPUs; the workload sleeps from 200 to 299: the clock stands still. */
static void write_run(const char *path, uint64_t periods)
{
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);

    for (int cpu = 0; cpu < 2; cpu++) {
        uint64_t cycle = 0;

        for (uint64_t n = 0; n < periods; n++) {
            struct rps_period period = fixture_period(n, 2);

            period.cpu = cpu;
            period.cycles = n >= 200 && n < 300 ? 0 : 1000 * (uint64_t)(cpu + 1);
            period.cycle = cycle += period.cycles;
            rps_writer_period(writer, &period);
        }
    }
    fixture_end(writer, &run);
}

static int64_t steps;

static int count_step(void *unused)
{
    (void)unused;
    steps++;
    return 0;
}

/* Select, and compare with what SQL finds when it looks at all rows. */
static void expect_part(const char *path, int64_t from_ns, int64_t to_ns)
{
    const struct rps_select_options options = {
        .run_id = 1, .slots = 2, .from_ns = from_ns, .to_ns = to_ns};
    struct rps_select *select = NULL;
    struct rps_row row, before = {.value = {-1}};
    sqlite3 *db = NULL;
    char sql[200];
    int64_t inside = 0;
    int code;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    sqlite3_progress_handler(db, 1, count_step, NULL);
    steps = 0;
    assert_int_equal(rps_select_open(&select, db, &options), SQLITE_OK);
    while ((code = rps_select_next(select, &row)) == SQLITE_ROW) {
        int64_t start_ns = row.value[RPS_ROW_START_NS];

        if (row.value[RPS_ROW_CPU] == before.value[RPS_ROW_CPU])
            assert_true(row.value[RPS_ROW_PERIOD] > before.value[RPS_ROW_PERIOD]);
        else
            assert_true(row.value[RPS_ROW_CPU] > before.value[RPS_ROW_CPU]);
        inside += start_ns + row.value[RPS_ROW_LENGTH_NS] >= from_ns && start_ns < to_ns;
        before = row;
    }
    assert_int_equal(code, SQLITE_DONE);
    rps_select_close(select);
    sqlite3_close(db);
    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM period WHERE run_id = 1 AND start_ns + length_ns >= %lld"
             " AND start_ns < %lld",
             (long long)from_ns, (long long)to_ns);
    assert_int_equal(inside, fixture_number(path, sql));
}

static void parts(void **state)
{
    const char *path = fixture_path(state, "s");
    int64_t all;

    write_run(path, 5000);
    expect_part(path, 0, INT64_MAX);
    all = steps;
    for (int64_t n = 0; n <= 5000; n += n < 190 || n > 310 ? 17 : 1) {
        expect_part(path, n * PERIOD_NS, (n + 10) * PERIOD_NS);
        if (n < 180 || n > 310)
            assert_in_range(steps, 0, all / 15);
    }
    expect_part(path, 4990 * PERIOD_NS + 1, INT64_MAX);
    expect_part(path, 5000 * PERIOD_NS, INT64_MAX);
    expect_part(path, INT64_MAX, INT64_MAX);
    expect_part(path, 0, 0);
}

static void nothing(void **state)
{
    const char *path = fixture_path(state, "n");

    write_run(path, 0);
    expect_part(path, 0, INT64_MAX);
    expect_part(path, 5 * PERIOD_NS, 7 * PERIOD_NS);
}

/* The rows are those of the moment when the selection began. */
static void one_state(void **state)
{
    const struct rps_select_options options = {.run_id = 1, .slots = 8, .to_ns = INT64_MAX};
    const char *path = fixture_path(state, "o");
    struct rps_select *select = NULL;
    struct rps_row row;
    sqlite3 *db = NULL;
    int count = 0;

    write_run(path, 300);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(rps_select_open(&select, db, &options), SQLITE_OK);
    fixture_exec(path, "DELETE FROM period WHERE cpu = 1");
    while (rps_select_next(select, &row) == SQLITE_ROW)
        count++;
    assert_int_equal(count, 600);
    rps_select_close(select);
    sqlite3_close(db);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(parts), TEST(nothing), TEST(one_state)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
