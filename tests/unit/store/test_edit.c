/* Tests of deleting runs and changing their labels and tags: the store stays valid, and other
 * processes are not disturbed. */
#include "recorder.h"
#include "sound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* SQL that counts the rows of a run in all tables. */
#define ROWS(id)                                                                                   \
    "SELECT (SELECT count(*) FROM run WHERE run_id = " id ")"                                      \
    " + (SELECT count(*) FROM event_set WHERE run_id = " id ")"                                    \
    " + (SELECT count(*) FROM event WHERE run_id = " id ")"                                        \
    " + (SELECT count(*) FROM metric WHERE run_id = " id ")"                                       \
    " + (SELECT count(*) FROM metric_step WHERE run_id = " id ")"                                  \
    " + (SELECT count(*) FROM period WHERE run_id = " id ")"                                       \
    " + (SELECT count(*) FROM rollup WHERE run_id = " id ")"                                       \
    " + (SELECT count(*) FROM thinned WHERE run_id = " id ")"                                      \
    " + (SELECT count(*) FROM heartbeat WHERE run_id = " id ")"                                    \
    " + (SELECT count(*) FROM detection WHERE run_id = " id ")"                                    \
    " + (SELECT count(*) FROM phase WHERE run_id = " id ")"                                        \
    " + (SELECT count(*) FROM outlier WHERE run_id = " id ")"                                      \
    " + (SELECT count(*) FROM mark WHERE run_id = " id ")"                                         \
    " + (SELECT count(*) FROM gap WHERE run_id = " id ")"                                          \
    " + (SELECT count(*) FROM sampling WHERE run_id = " id ")"                                     \
    " + (SELECT count(*) FROM module WHERE run_id = " id ")"                                       \
    " + (SELECT count(*) FROM frame WHERE run_id = " id ")"                                        \
    " + (SELECT count(*) FROM location WHERE run_id = " id ")"                                     \
    " + (SELECT count(*) FROM stack WHERE run_id = " id ")"                                        \
    " + (SELECT count(*) FROM task WHERE run_id = " id ")"                                         \
    " + (SELECT count(*) FROM program WHERE run_id = " id ")"                                      \
    " + (SELECT count(*) FROM code_count WHERE run_id = " id ")"

/* SQL that adds a row to each table that is empty in a valid store. */
#define MORE_ROWS                                                                                  \
    "INSERT INTO detection VALUES (1, 0, 'm', '{}', 0, NULL); INSERT INTO outlier (run_id, "       \
    "detection, period) VALUES (1, 0, "                                                            \
    "5);"                                                                                          \
    "INSERT INTO phase (run_id, detection, level, phase, first_period, last_period, label)"        \
    " VALUES (1, 0, 0, 0, 0, 5, 'A'); INSERT INTO mark VALUES (1, 5, 0, 'x');"                     \
    "INSERT INTO location VALUES (1, 3, 0, 'f', '', 0, 'debug', NULL);"                            \
    "INSERT INTO gap VALUES (1, 5, 0, -1, 0, 'x'); INSERT INTO heartbeat VALUES (1, 1, '', 1)"

/* Number of periods, so large that a deletion exceeds SQLite's cache. */
#define PERIODS 20000

static void delete_run(const char *path, int64_t run_id)
{
    struct rps_error err;

    if (rps_store_delete_run(path, run_id, &err) < 0)
        fail_msg("%s", err.message);
}

static void expect_sound(const char *path, uint64_t runs, const char *findings_text)
{
    struct findings findings;

    sound_check(&findings, path);
    assert_string_equal(findings.text, findings_text);
    assert_int_equal(findings.check.runs, runs);
}

static void a_run_is_gone_with_all_its_rows(void **state)
{
    const char *path = fixture_path(state, "s");
    int64_t others;

    sound_store(path, 2, 3000, 60 * INT64_C(1000000000)); /* a downsampled store */
    fixture_exec(path, MORE_ROWS);
    others = fixture_number(path, ROWS("2"));
    assert_true(fixture_number(path, ROWS("1")) > others);
    delete_run(path, 1);
    assert_int_equal(fixture_number(path, ROWS("1")), 0);
    assert_int_equal(fixture_number(path, ROWS("2")), others);
    expect_sound(path, 1, "");
    delete_run(path, 2);
    expect_sound(path, 0, "");
    assert_int_equal(fixture_number(path, "SELECT seq FROM sqlite_sequence"), 2);
}

static void what_cannot_be_deleted(void **state)
{
    const char *path = fixture_path(state, "s"), *absent = fixture_path(state, "absent");
    struct rps_writer *writer;
    struct rps_error err;
    struct rps_run run;
    struct stat status;
    int64_t rows;

    writer = fixture_writer(path, NULL, &run);
    recorder_write(writer, 0, 100);
    fixture_wait_committed(writer, 100);
    rows = fixture_number(path, ROWS("1"));
    assert_int_equal(rps_store_delete_run(path, 1, &err), RPS_FAILED);
    fixture_says(&err, "run 1", path, "is being recorded", NULL);
    assert_int_equal(rps_store_shrink(path, &err), RPS_FAILED);
    fixture_says(&err, "run 1", path, "is being recorded", NULL);
    assert_true(fixture_number(path, ROWS("1")) >= rows);
    fixture_end(writer, &run);
    assert_int_equal(rps_store_delete_run(path, 7, &err), RPS_FAILED);
    fixture_says(&err, "run 7", "has run 1 only", NULL);
    assert_int_equal(rps_store_delete_run(absent, 1, &err), RPS_FAILED);
    fixture_says(&err, absent, NULL);
    assert_int_equal(stat(absent, &status), -1);
    /* The run looks as if its recorder had died long ago. */
    fixture_exec(path, "UPDATE run SET state = 'recording'");
    delete_run(path, 1);
    assert_int_equal(fixture_number(path, ROWS("1")), 0);
}

/* Return the number of transactions in a write-ahead log with 4,096-byte pages. */
static int transactions(const char *path)
{
    size_t size = 0;
    unsigned char *log = sound_read(path, &size);
    int count = 0;

    for (size_t at = 32; at + 24 <= size; at += 24 + 4096)
        count += (log[at + 4] | log[at + 5] | log[at + 6] | log[at + 7]) != 0;
    free(log);
    return count;
}

/* A reader continues to see its old state, and the log holds the transactions. A recorder continues
 * to write. */
static void beside_a_recorder_and_a_reader(void **state)
{
    const char *path = fixture_path(state, "s"), *log = fixture_path(state, "s-wal");
    struct rps_reader *reader = NULL;
    struct rps_cursor *cursor = NULL;
    struct rps_period period;
    struct rps_writer *writer;
    struct rps_error err;
    struct rps_run run;
    uint64_t read = 1;
    int before;

    writer = fixture_writer(path, NULL, &run);
    recorder_write(writer, 0, PERIODS);
    fixture_end(writer, &run);
    writer = fixture_writer(path, NULL, &run);
    recorder_write(writer, 0, 100);
    fixture_wait_committed(writer, 100);
    assert_int_equal(rps_reader_open(&reader, path, &err), 0);
    assert_int_equal(rps_cursor_open(&cursor, reader, 1, 0, INT64_MAX, 0, &err), 0);
    assert_int_equal(rps_cursor_next(cursor, &period, &err), 1);
    before = transactions(log);
    delete_run(path, 1);
    assert_int_equal(transactions(log) - before, 2); /* One transaction opens the store, the
                                                        other deletes the run. */
    while (rps_cursor_next(cursor, &period, &err) > 0)
        read++;
    assert_int_equal(read, PERIODS);
    rps_cursor_close(cursor);
    rps_reader_close(reader);
    recorder_write(writer, 100, 200);
    fixture_end(writer, &run);
    assert_int_equal(fixture_number(path, ROWS("1")), 0);
    recorder_expect(path, 2, 0, 200);
}

#define LARGE                                                                                      \
    "WITH RECURSIVE n (i) AS (SELECT max(period) + 1 FROM period WHERE run_id = 1 UNION ALL"       \
    " SELECT i + 1 FROM n WHERE i < 1000000) INSERT INTO period SELECT 1, -1, i, i, i / 2, 0,"     \
    " i * 100, 100, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1 FROM n"

/* While another run is recorded, a run of more than a million periods cannot be deleted. A run of
 * exactly a million periods can. */
static void a_large_run_beside_a_recorder(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_writer *writer;
    struct rps_error err;
    struct rps_run run;

    sound_store(path, 1, 100, 0);
    fixture_exec(path, LARGE);
    writer = fixture_writer(path, NULL, &run);
    recorder_write(writer, 0, 100);
    assert_int_equal(rps_store_delete_run(path, 1, &err), RPS_FAILED);
    fixture_says(&err, "run 1 of", path, "more than 1000000 periods", "run 2 is being recorded",
                 "add --wait", NULL);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM period WHERE run_id = 1"), 1000001);
    fixture_exec(path, "DELETE FROM period WHERE run_id = 1 AND period = 1000000");
    delete_run(path, 1);
    assert_int_equal(fixture_number(path, ROWS("1")), 0);
    fixture_end(writer, &run);
    recorder_expect(path, 2, 0, 100);
}

/* A dead recorder or a missing store does not cause a wait. */
static void who_is_waited_for(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_error err;

    assert_int_equal(rps_store_wait(path, &err), 0);
    assert_int_equal(access(path, F_OK), -1);
    fixture_store(path);
    fixture_exec(path, "UPDATE run SET state = 'recording'");
    assert_int_equal(rps_store_wait(path, &err), 0);
    fixture_exec(path,
                 "INSERT INTO heartbeat SELECT run_id, unixepoch() * 1000000000 - 44000000000,"
                 " boot_id, 5000000000 FROM run");
    assert_int_equal(rps_store_wait(path, &err), 0); /* waits one second, in which the recorder
                                                        may still be alive */
    assert_true(fixture_number(path, "SELECT unixepoch() - realtime_ns / 1000000000"
                                     " FROM heartbeat") >= 45);
}

static void free_space(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_reader *reader = NULL;
    uint64_t before, bytes, unused;
    struct rps_error err;
    struct stat status;

    sound_store(path, 2, 3000, 0);
    assert_int_equal(rps_reader_open(&reader, path, &err), 0);
    assert_int_equal(rps_reader_space(reader, &before, &unused, &err), 0);
    assert_int_equal(unused, 0);
    delete_run(path, 1);
    assert_int_equal(rps_reader_space(reader, &bytes, &unused, &err), 0);
    assert_int_equal(bytes, before);
    assert_true(unused > before / 3);
    rps_reader_close(reader);
    assert_int_equal(rps_store_shrink(path, &err), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_true((uint64_t)status.st_size <= before - unused);
    assert_int_equal(fixture_number(path, "PRAGMA application_id"), 0x72706973);
    assert_int_equal(fixture_number(path, "PRAGMA user_version"), 1008);
    expect_sound(path, 1, "");
}

static void the_last_word(void **state)
{
    const char *path = fixture_path(state, "s");
    const struct rps_writer_options options = {.commit_ns = 0};
    struct rps_writer *writer;
    struct rps_error err;
    struct rps_run run;

    fixture_store(path);
    writer = fixture_writer(path, &options, &run);
    recorder_write(writer, 0, 10);
    run.state = RPS_RUN_COMPLETE;
    assert_int_equal(rps_writer_end(writer, &run, &err), 0);
    assert_int_equal(rps_writer_set_after(writer, 77, &err), 0);
    rps_writer_close(writer);
    assert_int_equal(fixture_number(path, "SELECT recorder_after_ns FROM run WHERE run_id = 2"),
                     77);
    assert_int_equal(fixture_number(path, "SELECT recorder_after_ns IS NULL FROM run"), 1);
    rps_run_free(&run);
}

static void labels_and_tags(void **state)
{
    static char quote[] = "q\"uote", value[] = "a\"b\\", host[] = "host", b[] = "b";
    static const struct rps_tag tags[] = {{quote, value}, {host, b}};
    static const char *const unset[] = {"k", "absent"};
    const struct rps_run_edit edit = {NULL, 2, tags, 2, unset}, label = {.label = "new \xff"};
    const char *path = fixture_path(state, "s");
    struct rps_error err;

    fixture_store(path);
    fixture_exec(path, "UPDATE run SET label = 'old', tags = '{\"k\": \"v\", \"host\": \"a\"}'");
    assert_int_equal(rps_store_edit_run(path, 1, &edit, &err), 0);
    assert_string_equal(fixture_text(path, "SELECT label FROM run"), "old");
    assert_string_equal(fixture_text(path, "SELECT tags FROM run"),
                        "{\"host\":\"b\",\"q\\\"uote\":\"a\\\"b\\\\\"}");
    assert_int_equal(rps_store_edit_run(path, 1, &label, &err), 0);
    assert_string_equal(fixture_text(path, "SELECT label FROM run"), "new \xef\xbf\xbd");
    assert_int_equal(fixture_number(path, "SELECT length(tags) FROM run"), 31);
    assert_int_equal(rps_store_edit_run(path, 2, &label, &err), RPS_FAILED);
    fixture_says(&err, "run 2", "has run 1 only", NULL);
}

/* The newest run with a tag is found. */
static void a_run_by_its_tag(void **state)
{
    static char key[] = "build", value[] = "4=2";
    static const struct rps_tag tag = {key, value};
    const struct rps_run_edit edit = {.tag_count = 1, .tag = &tag};
    const char *path = fixture_path(state, "s");
    struct rps_reader *reader = NULL;
    struct rps_error err;
    int64_t run_id = 0;

    for (int i = 0; i < 3; i++)
        fixture_store(path);
    assert_int_equal(rps_store_edit_run(path, 1, &edit, &err), 0);
    assert_int_equal(rps_store_edit_run(path, 2, &edit, &err), 0);
    assert_int_equal(rps_reader_open(&reader, path, &err), 0);
    assert_int_equal(rps_reader_find(reader, "build=4=2", &run_id, &err), 0);
    assert_int_equal(run_id, 2);
    assert_int_equal(rps_reader_find(reader, "build=4", &run_id, &err), RPS_FAILED);
    rps_reader_close(reader);
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run_is_gone_with_all_its_rows),
        TEST(what_cannot_be_deleted),
        TEST(beside_a_recorder_and_a_reader),
        TEST(a_large_run_beside_a_recorder),
        TEST(who_is_waited_for),
        TEST(free_space),
        TEST(labels_and_tags),
        TEST(the_last_word),
        TEST(a_run_by_its_tag),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
