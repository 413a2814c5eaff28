/* What can be read of a damaged store is saved, and only that; the file itself is never changed. */
#include "sound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/pages.h"

#define PAGE    4096
#define RUNS    2
#define PERIODS 200

/* The damage, and what it leaves of a store. */
static void repaired(void **state, const unsigned char *data, size_t size, struct findings *ret)
{
    const char *path = fixture_path(state, "damaged"), *saved = fixture_path(state, "saved");
    unsigned char *after;
    size_t after_size;

    sound_write(path, data, size);
    sound_repair(ret, path, saved);
    after = sound_read(path, &after_size);
    assert_int_equal(after_size, size);
    assert_memory_equal(after, data, size);
    free(after);
}

static unsigned char *store_of(void **state, size_t *ret_size)
{
    const char *path = fixture_path(state, "s");

    sound_store(path, RUNS, PERIODS);
    return sound_read(path, ret_size);
}

/* The rows of a table, for comparing. */
static int64_t differences(void **state, const char *table)
{
    char sql[512];

    snprintf(sql, sizeof(sql),
             "ATTACH '%s' AS s; CREATE TEMP TABLE IF NOT EXISTS d AS SELECT * FROM"
             " (SELECT * FROM main.%s EXCEPT SELECT * FROM s.%s) UNION ALL SELECT * FROM"
             " (SELECT * FROM s.%s EXCEPT SELECT * FROM main.%s)",
             fixture_path(state, "s"), table, table, table, table);
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    int64_t count;

    assert_int_equal(sqlite3_open(fixture_path(state, "saved"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM temp.d", -1, &stmt, NULL), 0);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    count = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return count;
}

/* A file without damage comes out the same, row by row. */
static void nothing_is_lost_of_a_sound_store(void **state)
{
    static const char *const table[] = {"run",    "event_set", "event",   "metric", "metric_step",
                                        "period", "phase",     "outlier", "mark",   "gap"};
    struct findings findings;
    unsigned char *data;
    size_t size;

    sound_store(fixture_path(state, "s"), RUNS, PERIODS);
    fixture_exec(
        fixture_path(state, "s"),
        "INSERT INTO mark VALUES (1, 5, 0, 'été'), (2, 6, 0, printf('%.*c', 9000, 'x'));"
        "INSERT INTO gap VALUES (1, 5, 0, 3, 7, 'why');"
        "INSERT INTO outlier VALUES (1, 0, 7);"
        "INSERT INTO phase (run_id, detection, phase, first_period, last_period, label,"
        " method, parameters) VALUES (1, 0, 0, 0, 9, 'A', 'm', '{}');"
        "INSERT INTO phase VALUES (1, 0, 1, 10, 99, 'B', 'm', '{}', 1, 2, 10, 12, 0.5, 1)");
    data = sound_read(fixture_path(state, "s"), &size);
    repaired(state, data, size, &findings);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (differences(state, table[i]) != 0)
            fail_msg("table %s differs", table[i]);
    assert_int_equal(findings.repair.damaged_pages, 0);
    assert_int_equal(findings.repair.dropped, 0);
    assert_string_equal(findings.text, "note: run 1: 200 periods saved, no time is missing\n"
                                       "note: run 2: 200 periods saved, no time is missing\n");
    free(data);
}

/* Whichever page is lost, what is on the others is saved. */
static void every_page_in_turn(void **state)
{
    struct findings findings;
    unsigned char *data, *damaged;
    uint64_t most_lost = 0;
    size_t size;

    data = store_of(state, &size);
    damaged = malloc(size);
    assert_non_null(damaged);
    for (size_t page = 0; page < size / PAGE; page++) {
        uint64_t lost;

        memcpy(damaged, data, size);
        memset(damaged + page * PAGE, page % 2 ? 0xa5 : 0, PAGE);
        repaired(state, damaged, size, &findings);
        lost = RUNS * PERIODS - findings.repair.periods;
        most_lost = lost > most_lost ? lost : most_lost;
        assert_int_equal(findings.repair.runs, RUNS);
        assert_int_equal(findings.repair.damaged_pages, 1);
        assert_int_equal(lost > 0, findings.repair.lost_stretches > 0);
        assert_int_equal(
            fixture_number(fixture_path(state, "saved"),
                           "SELECT coalesce(sum(length_ns), 0) FROM gap WHERE reason LIKE 'lost%'"),
            (int64_t)lost * SOUND_LENGTH_NS);
    }
    /* a row takes 60 bytes */
    assert_in_range(most_lost, 10, PAGE / 40);
    free(damaged);
    free(data);
}

static void a_file_that_was_cut(void **state)
{
    struct findings findings;
    unsigned char *data;
    uint64_t before = RUNS * PERIODS + 1;
    size_t size;

    data = store_of(state, &size);
    for (size_t cut = 0; cut < 8; cut++) {
        repaired(state, data, size - cut * 3 * PAGE / 2, &findings);
        assert_in_range(findings.repair.periods, 0, before - (cut > 0 ? 0 : 1));
        before = findings.repair.periods;
    }
    assert_true(before < RUNS * PERIODS);
    free(data);
}

/* Bytes that make other numbers, which no page can tell; the periods beside them do. */
static void rows_that_cannot_be_believed(void **state)
{
    static const char *const sql[] = {
        "UPDATE period SET cycle = cycle + 1 WHERE run_id = 1 AND period = 50",
        "UPDATE period SET cycle = 9 * cycle WHERE run_id = 1 AND period = 50",
        "UPDATE period SET cycles = 5 WHERE run_id = 1 AND period = 50",
        "UPDATE period SET period = 9999 WHERE run_id = 1 AND period = 50",
        "UPDATE period SET period = 3 WHERE run_id = 1 AND period = 50",
        "UPDATE period SET length_ns = 9000000000 WHERE run_id = 1 AND period = 50",
        "UPDATE period SET start_ns = 15000000000 WHERE run_id = 1 AND period = 50",
        "UPDATE period SET start_ns = 90000000000000 WHERE run_id = 1 AND period = 50",
        "UPDATE period SET set_no = 200 WHERE run_id = 1 AND period = 50",
        "UPDATE period SET run_id = 77 WHERE run_id = 1 AND period = 50",
    };
    struct findings findings;
    unsigned char *data, *changed;
    size_t size;

    data = store_of(state, &size);
    for (size_t i = 0; i < sizeof(sql) / sizeof(sql[0]); i++) {
        sound_write(fixture_path(state, "s"), data, size);
        fixture_exec(fixture_path(state, "s"), sql[i]);
        changed = sound_read(fixture_path(state, "s"), &size);
        repaired(state, changed, size, &findings);
        if (findings.repair.periods != RUNS * PERIODS - 1 || findings.repair.dropped != 1)
            fail_msg("%s: %s", sql[i], findings.text);
        assert_int_equal(fixture_number(fixture_path(state, "saved"),
                                        "SELECT count(*) FROM period WHERE run_id = 1"
                                        " AND period = 50"),
                         0);
        free(changed);
    }
    free(data);
}

/* A run of which only the periods are left can still be read. */
static void descriptions_that_are_lost(void **state)
{
    const char *path = fixture_path(state, "s"), *saved = fixture_path(state, "saved");
    struct rps_reader *reader = NULL;
    struct rps_plan *plan = NULL;
    struct findings findings;
    struct rps_error err;

    sound_store(path, RUNS, PERIODS);
    fixture_exec(path, "DELETE FROM run; DELETE FROM event_set; DELETE FROM event;"
                       "UPDATE metric SET formula = '(' WHERE run_id = 1");
    sound_repair(&findings, path, saved);
    assert_int_equal(findings.repair.periods, RUNS * PERIODS);
    assert_non_null(strstr(findings.text, "note: run 1: what was recorded, when and where is"));
    assert_non_null(strstr(findings.text, "numbers stand for names"));
    assert_non_null(strstr(findings.text, "note: run 1: the formulas of its derived figures are"));
    assert_int_equal(rps_reader_open(&reader, saved, &err), 0);
    assert_int_equal(rps_reader_plan(reader, 2, &plan, &err), 0);
    assert_int_equal(plan->set_count, 2);
    assert_int_equal(plan->set[0].event_count, 2);
    assert_int_equal(plan->set[1].event_count, 1); /* event d was never counted */
    assert_string_equal(plan->set[0].event[1].name, "event_0_1");
    assert_int_equal(plan->metric_count, 6);
    rps_plan_free(plan);
    rps_reader_close(reader);
}

/* Pages that are free hold what was deleted, which does not come back. */
static void what_was_deleted_stays_so(void **state)
{
    const char *path = fixture_path(state, "s");
    struct findings findings;

    sound_store(path, RUNS, PERIODS);
    fixture_exec(path, "PRAGMA secure_delete = OFF; DELETE FROM period WHERE run_id = 1;"
                       "DELETE FROM event WHERE run_id = 1; DELETE FROM event_set WHERE run_id = 1;"
                       "DELETE FROM metric WHERE run_id = 1; DELETE FROM metric_step WHERE"
                       " run_id = 1; DELETE FROM run WHERE run_id = 1");
    assert_true(fixture_number(path, "PRAGMA freelist_count") > 0);
    sound_repair(&findings, path, fixture_path(state, "saved"));
    assert_int_equal(findings.repair.runs, 1);
    assert_int_equal(findings.repair.periods, PERIODS);
    assert_int_equal(findings.repair.damaged_pages, 0);
}

/* What was committed and not yet brought into the file is in the log beside it. */
static void the_log_is_read(void **state)
{
    const char *path = fixture_path(state, "s"), *saved = fixture_path(state, "saved");
    const struct rps_writer_options every = {.commit_ns = 0};
    struct findings findings;
    struct rps_error err;
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, &every, &run);
    struct stat file, log;
    char name[600];

    for (uint64_t n = 0; n < PERIODS; n++) {
        struct rps_period period = sound_period(n);

        rps_writer_period(writer, &period);
    }
    run.state = RPS_RUN_COMPLETE;
    assert_int_equal(rps_writer_end(writer, &run, &err), 0);
    snprintf(name, sizeof(name), "%s-wal", path);
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(stat(name, &log), 0);
    assert_true(log.st_size > file.st_size); /* else nothing is tested */
    sound_repair(&findings, path, saved);
    assert_int_equal(findings.repair.periods, PERIODS);
    assert_int_equal(findings.repair.lost_stretches, 0);
    /* the last transaction was not completed: all before it counts */
    assert_int_equal(truncate(name, log.st_size - 100), 0);
    sound_repair(&findings, path, saved);
    assert_int_equal(findings.repair.runs, 1);
    assert_int_equal(findings.repair.periods, PERIODS);
    assert_int_equal(fixture_number(saved, "SELECT state = 'interrupted' FROM run"), 1);
    rps_writer_close(writer);
    rps_run_free(&run);
}

/* Read all rows of a file, which may hold anything; how many there are. */
static int read_all(const char *path)
{
    struct rps_pages *pages = NULL;
    struct rps_record record;
    struct rps_error err;
    int count = 0, result;

    if (rps_pages_open(&pages, path, &err) < 0)
        return -1;
    while ((result = rps_pages_next(pages, &record, &err)) > 0) {
        assert_in_range(record.count, 0, RPS_RECORD_MAX);
        for (int i = 0; i < record.count; i++)
            if (record.value[i].kind == RPS_VALUE_TEXT && record.value[i].length > 0)
                count += record.value[i].text[record.value[i].length - 1] == '\0';
        count++;
    }
    assert_int_equal(result, 0);
    assert_int_equal(rps_pages_next(pages, &record, &err), 0);
    assert_true(rps_pages_damaged(pages) <= 1000);
    rps_pages_close(pages);
    return count;
}

/* Bytes changed at random: reading ends, and touches nothing that is not its own. */
static void any_bytes_can_be_read(void **state)
{
    const char *path = fixture_path(state, "damaged");
    unsigned char *data, *damaged;
    uint64_t random = 1;
    size_t size;
    int rows;

    data = store_of(state, &size);
    damaged = malloc(size);
    assert_non_null(damaged);
    sound_write(path, data, size);
    rows = read_all(path);
    assert_true(rows > RUNS * PERIODS);
    for (int turn = 0; turn < 400; turn++) {
        memcpy(damaged, data, size);
        for (int i = 0; i < 1 + turn % 40; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            /* every other change in the beginning of a page, where its structure is */
            damaged[i % 2 ? (random >> 20) % size
                          : (random >> 20) % (size / PAGE) * PAGE + (random >> 50) % 120] =
                (unsigned char)(random >> 33);
        }
        sound_write(path, damaged, size);
        rows = read_all(path);
        assert_true(rows >= 0);
    }
    free(damaged);
    free(data);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_lost_of_a_sound_store),
        TEST(every_page_in_turn),
        TEST(a_file_that_was_cut),
        TEST(rows_that_cannot_be_believed),
        TEST(descriptions_that_are_lost),
        TEST(what_was_deleted_stays_so),
        TEST(the_log_is_read),
        TEST(any_bytes_can_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
