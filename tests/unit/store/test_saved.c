/* The store, or the run in it, is deleted, moved or replaced during a recording, with and without a
 * reader that has it open. The recording continues in a new file. Files of the user are not
 * changed, and a moved file is complete. */
#include "recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/writer.h"

struct recording {
    const char *path;
    struct notices notices;
    struct rps_writer *writer;
    struct rps_run run;
    sqlite3 *reader; /* NULL: no reader has the store open */
    char saved[600];
};

static void start(struct recording *recording, void **state, bool read)
{
    sqlite3_stmt *stmt = NULL;

    memset(recording, 0, sizeof(*recording));
    recording->path = fixture_path(state, "s");
    recorder_start_notices(&recording->notices);
    recording->writer = fixture_writer(recording->path, NULL, &recording->run);
    recorder_write(recording->writer, 0, 10);
    fixture_end(recording->writer, &recording->run); /* The store has an earlier run. */
    recording->writer =
        fixture_writer(recording->path, &recording->notices.options, &recording->run);
    recorder_write(recording->writer, 0, 100);
    fixture_wait_committed(recording->writer, 100);
    snprintf(recording->saved, sizeof(recording->saved), "%s.saved-%.8s", recording->path,
             recording->run.uuid);
    if (!read)
        return;
    assert_int_equal(sqlite3_open(recording->path, &recording->reader), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(recording->reader, "SELECT * FROM period", -1, &stmt, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
}

/* Hand over periods until the writer has checked whether its file still exists. */
static void write_on(struct recording *recording)
{
    pthread_mutex_lock(&recording->writer->lock);
    recording->writer->last_beat_ns -= INT64_C(5000000000); /* The check comes with a heartbeat. */
    pthread_mutex_unlock(&recording->writer->lock);
    recorder_write(recording->writer, 100, 200);
    recorder_expect_notice(&recording->notices, "the recording continues in");
    recorder_write(recording->writer, 200, 1000);
}

static void finish(struct recording *recording, const char *why)
{
    struct rps_error err;

    recording->run.state = RPS_RUN_COMPLETE;
    assert_int_equal(rps_writer_end(recording->writer, &recording->run, &err), RPS_FAILED);
    fixture_says(&err, why, "is saved as", recording->saved, NULL);
    rps_writer_close(recording->writer);
    rps_run_free(&recording->run);
    recorder_stop_notices(&recording->notices);
    if (recording->reader) {
        sqlite3_finalize(sqlite3_next_stmt(recording->reader, NULL));
        sqlite3_close(recording->reader);
    }
}

static void expect_complete(const char *path, int64_t run_id, uint64_t first)
{
    char sql[120];

    assert_string_equal(fixture_text(path, "PRAGMA integrity_check"), "ok");
    recorder_expect(path, run_id, first, 1000);
    snprintf(sql, sizeof(sql), "SELECT state FROM run WHERE run_id = %lld", (long long)run_id);
    assert_string_equal(fixture_text(path, sql), "complete");
    snprintf(sql, sizeof(sql),
             "SELECT sum(merged) = %llu FROM rollup WHERE run_id = %lld AND level = 1",
             (unsigned long long)(1000 - first), (long long)run_id);
    assert_int_equal(fixture_number(path, sql), 1);
}

static void expect_moved_is_whole(const char *path)
{
    int64_t count;

    assert_string_equal(fixture_text(path, "PRAGMA integrity_check"), "ok");
    recorder_expect(path, 1, 0, 10);
    count = fixture_number(path, "SELECT count(*) FROM period WHERE run_id = 2");
    assert_in_range(count, 100, 200); /* rows that were committed before the writer noticed the
                                         move */
    recorder_expect(path, 2, 0, (uint64_t)count);
}

static void moved(void **state, bool read)
{
    struct recording recording;
    const char *elsewhere = fixture_path(state, "elsewhere");

    start(&recording, state, read);
    assert_int_equal(rename(recording.path, elsewhere), 0);
    write_on(&recording);
    finish(&recording, "was deleted, moved or replaced");
    expect_complete(recording.saved, 2, 0);
    recorder_expect(recording.saved, 1, 0, 10);
    if (!read)
        expect_moved_is_whole(elsewhere);
}

static void moved_alone(void **state)
{
    moved(state, false);
}

static void moved_while_it_is_read(void **state)
{
    moved(state, true);
}

/* The store is moved to another directory, with the files alongside it. */
static void moved_with_its_log(void **state)
{
    static const char *const end[] = {"", "-wal", "-shm"};
    const char *folder = fixture_path(state, "sub");
    struct recording recording;

    for (int read = 0; read < 2; read++) {
        char from[600], to[600];

        assert_int_equal(mkdir(folder, 0755), 0);
        start(&recording, state, read);
        for (size_t i = 0; i < 3; i++) {
            snprintf(from, sizeof(from), "%s%s", recording.path, end[i]);
            snprintf(to, sizeof(to), "%s/s%s", folder, end[i]);
            assert_int_equal(rename(from, to), 0);
        }
        write_on(&recording);
        finish(&recording, "was deleted, moved or replaced");
        expect_complete(recording.saved, 2, 0);
        snprintf(to, sizeof(to), "%s/s", folder);
        expect_moved_is_whole(to);
        for (size_t i = 0; i < 3; i++) {
            snprintf(to, sizeof(to), "%s/s%s", folder, end[i]);
            unlink(to);
        }
        assert_int_equal(rmdir(folder), 0);
        unlink(recording.saved);
    }
}

static void deleted(void **state)
{
    struct recording recording;

    for (int read = 0; read < 2; read++) {
        start(&recording, state, read);
        assert_int_equal(unlink(recording.path), 0);
        write_on(&recording);
        finish(&recording, "was deleted, moved or replaced");
        expect_complete(recording.saved, 2, 0);
        recorder_expect(recording.saved, 1, 0, 10);
        assert_int_not_equal(access(recording.path, F_OK), 0);
        unlink(recording.saved);
    }
}

static off_t size_of(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 ? status.st_size : -1;
}

/* Another store takes the place of the file. The log of the other store holds data that its
 * database file does not. */
static void replaced(void **state)
{
    const char *other = fixture_path(state, "other"), *log = fixture_path(state, "s-wal");
    struct recording recording;

    for (int read = 0; read < 2; read++) {
        sqlite3 *db = NULL;
        char name[600];
        off_t size;

        start(&recording, state, read);
        assert_int_equal(sqlite3_open(other, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db,
                                      "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;"
                                      "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)",
                                      NULL, NULL, NULL),
                         SQLITE_OK);
        snprintf(name, sizeof(name), "%s-wal", other);
        assert_int_equal(rename(name, log), 0);
        assert_int_equal(rename(other, recording.path), 0);
        size = size_of(log);
        assert_true(size > 8192);
        write_on(&recording);
        finish(&recording, "was deleted, moved or replaced");
        assert_int_equal(size_of(log), size); /* The log belongs to the other store. */
        expect_complete(recording.saved, 2, 0);
        /* Another process would see this state. In this process, `db` still holds its locks. */
        assert_int_equal(sqlite3_exec(db, "INSERT INTO t VALUES (3)", NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        unlink(recording.saved);
        unlink(recording.path);
        unlink(log);
        snprintf(name, sizeof(name), "%s-shm", recording.path);
        unlink(name);
        snprintf(name, sizeof(name), "%s-shm", other);
        unlink(name);
    }
}

/* Nothing happens between the move of the store and the end of the run. */
static void moved_before_the_end(void **state)
{
    const char *elsewhere = fixture_path(state, "elsewhere");
    struct recording recording;

    start(&recording, state, false);
    recorder_write(recording.writer, 100, 1000);
    fixture_wait_committed(recording.writer, 1000);
    assert_int_equal(rename(recording.path, elsewhere), 0);
    finish(&recording, "was deleted, moved or replaced");
    expect_complete(recording.saved, 2, 0);
    recorder_expect(elsewhere, 2, 0, 1000);
}

/* The name for the saved file is already taken by a file of the user. */
static void no_place_for_it(void **state)
{
    const char *elsewhere = fixture_path(state, "elsewhere");
    struct recording recording;
    struct rps_error err;

    start(&recording, state, false);
    recorder_lose_directory(recording.writer);
    assert_int_equal(rename(recording.path, elsewhere), 0);
    pthread_mutex_lock(&recording.writer->lock);
    recording.writer->last_beat_ns -= INT64_C(5000000000);
    pthread_mutex_unlock(&recording.writer->lock);
    recorder_write(recording.writer, 100, 200);
    recorder_expect_notice(&recording.notices, "cannot continue in a file next to it (");
    recording.run.state = RPS_RUN_COMPLETE;
    assert_int_equal(rps_writer_end(recording.writer, &recording.run, &err), RPS_FAILED);
    fixture_says(&err, "no other file could be made", NULL);
    rps_writer_close(recording.writer);
    rps_run_free(&recording.run);
    recorder_stop_notices(&recording.notices);
    recorder_expect(elsewhere, 2, 0, 200); /* The moved file is complete. */
    assert_string_equal(fixture_text(elsewhere, "SELECT state FROM run WHERE run_id = 2"),
                        "complete");
}

/* Another program deletes the run. The rows of the run are gone, later data are saved in a new
 * file, and the run number is not reused. */
static void the_run_is_deleted(void **state)
{
    struct recording recording;
    struct rps_writer *writer;
    struct rps_run run;

    start(&recording, state, false);
    fixture_system(recording.writer, 0);
    recorder_write(recording.writer, 100, 102); /* One commit follows the reading. */
    fixture_wait_committed(recording.writer, 102);
    fixture_exec(recording.path, "PRAGMA foreign_keys = ON; DELETE FROM run WHERE run_id = 2");
    recorder_write(recording.writer, 102, 200);
    fixture_system(recording.writer, 199);
    recorder_expect_notice(
        &recording.notices,
        "the run was deleted while a run was recorded into it; the recording continues");
    recorder_write(recording.writer, 200, 1000);
    finish(&recording, "the run was deleted");
    expect_complete(recording.saved, 1, 102);
    assert_int_equal(fixture_number(recording.saved, "SELECT count(*) FROM run"), 1);
    assert_int_equal(fixture_number(recording.saved, "SELECT sum(periods) FROM event_set"), 898);
    assert_int_equal(fixture_number(recording.saved, "SELECT count(*) FROM signal"),
                     RPS_TREE_SLOTS + RPS_MACHINE_SLOTS + RPS_GROUP_SLOTS + RPS_PACKAGE_SLOTS);
    assert_int_equal(fixture_number(recording.saved, "SELECT readings FROM signal"
                                                     " WHERE name = 'wait'"),
                     1);
    assert_int_equal(fixture_number(recording.saved,
                                    "SELECT count(*) FROM gap WHERE start_ns = 0 AND"
                                    " length_ns = (SELECT min(start_ns) FROM"
                                    " period)"),
                     1);
    assert_int_equal(fixture_number(recording.path, "SELECT count(*) FROM run"), 1);
    assert_int_equal(fixture_number(recording.path, "SELECT count(*) FROM period"), 10);
    writer = fixture_writer(recording.path, NULL, &run);
    assert_int_equal(run.run_id, 3);
    fixture_end(writer, &run);
}

/* The result is the same if no data follow the deletion. */
static void the_run_is_deleted_before_the_end(void **state)
{
    struct recording recording;
    struct rps_error err;

    start(&recording, state, false);
    fixture_exec(recording.path, "PRAGMA foreign_keys = ON; DELETE FROM run WHERE run_id = 2");
    recording.run.state = RPS_RUN_COMPLETE;
    assert_int_equal(rps_writer_end(recording.writer, &recording.run, &err), RPS_FAILED);
    fixture_says(&err, "deleted", NULL);
    rps_writer_close(recording.writer);
    rps_run_free(&recording.run);
    recorder_stop_notices(&recording.notices);
    assert_int_equal(fixture_number(recording.path, "SELECT count(*) FROM run"), 1);
    assert_int_equal(fixture_number(recording.path,
                                    "SELECT (SELECT count(*) FROM rollup WHERE"
                                    " run_id = 2) + (SELECT count(*) FROM heartbeat)"),
                     0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(moved_alone),
        TEST(moved_while_it_is_read),
        TEST(moved_with_its_log),
        TEST(deleted),
        TEST(replaced),
        TEST(moved_before_the_end),
        TEST(no_place_for_it),
        TEST(the_run_is_deleted),
        TEST(the_run_is_deleted_before_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
