/* A recording starts while another program holds the lock of the store. The recording begins in
 * memory. When the lock is free, it moves to the store, or else to a file of its own. A recording
 * that never began leaves nothing. */
#include "recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/database.h"
#include "store/writer.h"

struct recording {
    const char *path;
    struct notices notices;
    struct rps_writer *writer;
    struct rps_run run;
    sqlite3 *lock;
    int64_t first_beat, last_beat; /* run numbers; -1: there was none */
    char saved[600];
};

static void on_beat(void *context, const struct rps_writer_beat *beat)
{
    struct recording *recording = context;

    if (recording->first_beat < 0)
        recording->first_beat = beat->run_id;
    recording->last_beat = beat->run_id;
}

/* Lock a store of one run. If `alone` is set, other processes cannot even read it. */
static void start(struct recording *recording, void **state, bool alone)
{
    *recording = (struct recording){.first_beat = -1, .last_beat = -1};
    recording->path = fixture_path(state, "s");
    fixture_store(recording->path);
    recorder_start_notices(&recording->notices);
    recording->notices.options.starts_locked = 1;
    recording->notices.options.beat = on_beat;
    recording->notices.options.beat_context = recording;
    if (alone) {
        assert_int_equal(sqlite3_open(recording->path, &recording->lock), SQLITE_OK);
        assert_int_equal(sqlite3_exec(recording->lock,
                                      "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", NULL,
                                      NULL, NULL),
                         SQLITE_OK);
    } else {
        recording->lock = recorder_hold_lock(recording->path);
    }
    recording->writer =
        fixture_writer(recording->path, &recording->notices.options, &recording->run);
    assert_int_equal(recording->run.run_id, 0);
    snprintf(recording->saved, sizeof(recording->saved), "%s.saved-%.8s", recording->path,
             recording->run.uuid);
}

/* Hand over the data of a recorder for a range of periods. */
static void write_all(struct rps_writer *writer, uint64_t first, uint64_t end)
{
    for (uint64_t n = first; n < end; n++) {
        recorder_write(writer, n, n + 1);
        fixture_system(writer, n);
        fixture_code(writer, n);
    }
    rps_writer_mark(writer, 1, "while it was locked");
}

/* From now on the writer does not wait for the lock. */
static void wait_no_more(struct rps_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    writer->lock_wait_ns = 1;
    pthread_cond_signal(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
}

static void finish(struct recording *recording, int expected, struct rps_error *err)
{
    recording->run.state = RPS_RUN_COMPLETE;
    if (rps_writer_end(recording->writer, &recording->run, err) != expected)
        fail_msg("%s", err->message);
}

static void close_recording(struct recording *recording)
{
    rps_writer_close(recording->writer);
    rps_run_free(&recording->run);
    recorder_stop_notices(&recording->notices);
}

/* Expect that the file holds all data from write_all, and that the run is complete. */
static void expect_all(const char *path, int64_t run_id, uint64_t periods)
{
    char sql[200];

    recorder_expect(path, run_id, 0, periods);
    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM run WHERE state = 'complete' AND run_id = %lld"
             " AND (SELECT count(*) FROM mark AS m WHERE m.run_id = run.run_id) = 1",
             (long long)run_id);
    assert_int_equal(fixture_number(path, sql), 1);
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM reading WHERE run_id = %lld",
             (long long)run_id);
    assert_true(fixture_number(path, sql) > 0);
    snprintf(sql, sizeof(sql), "SELECT sum(samples) FROM stack_count WHERE run_id = %lld",
             (long long)run_id);
    if (FIXTURE_SAMPLES > 0)
        assert_true(fixture_number(path, sql) > 0);
    assert_string_equal(fixture_text(path, "PRAGMA integrity_check"), "ok");
}

static void starts_in_memory(void **state, bool alone)
{
    struct recording recording;
    struct rps_error err;

    start(&recording, state, alone);
    write_all(recording.writer, 0, 50);
    recorder_expect_notice(&recording.notices, "another program holds its lock");
    recorder_write(recording.writer, 50, 60);
    recorder_release_lock(recording.lock);
    recorder_expect_notice(&recording.notices, "possible again; no period was lost");
    fixture_wait_committed(recording.writer, 60);
    finish(&recording, 0, &err);
    assert_int_equal(recording.writer->run_id, 2);
    assert_string_equal(rps_writer_file(recording.writer), recording.path);
    assert_int_equal(recording.first_beat, 0);
    assert_int_equal(recording.last_beat, 2);
    close_recording(&recording);
    expect_all(recording.path, 2, 60);
    assert_int_equal(access(recording.saved, F_OK), -1);
}

static void a_locked_store_is_waited_for(void **state)
{
    starts_in_memory(state, false);
}

static void a_store_that_cannot_be_read_is_waited_for(void **state)
{
    starts_in_memory(state, true);
}

/* Release the lock when the end of the run has begun. */
static void *release_at_end(void *context)
{
    struct recording *recording = context;
    bool has_begun = false;

    while (!has_begun) {
        usleep(1000);
        pthread_mutex_lock(&recording->writer->lock);
        has_begun = recording->writer->stop;
        pthread_mutex_unlock(&recording->writer->lock);
    }
    recorder_release_lock(recording->lock);
    return NULL;
}

static void the_end_waits_for_the_lock(void **state)
{
    struct recording recording;
    struct rps_error err;
    pthread_t thread;

    start(&recording, state, false);
    recording.writer->patience_ns = 1; /* patience_ns applies only to other failures */
    write_all(recording.writer, 0, 20);
    assert_int_equal(pthread_create(&thread, NULL, release_at_end, &recording), 0);
    finish(&recording, 0, &err);
    pthread_join(thread, NULL);
    assert_int_equal(recording.writer->run_id, 2);
    close_recording(&recording);
    expect_all(recording.path, 2, 20);
}

/* Expect the run in the saved file, and the text of the error message. */
static void expect_saved(struct recording *recording, const struct rps_error *err, uint64_t periods)
{
    char command[1300];

    snprintf(command, sizeof(command), "`rpistat merge -i %s %s`", recording->path,
             recording->saved);
    fixture_says(err, recording->path, recording->saved, command, NULL);
    assert_string_equal(rps_writer_file(recording->writer), recording->saved);
    assert_int_equal(recording->writer->run_id, 1);
    close_recording(recording);
    recorder_release_lock(recording->lock);
    expect_all(recording->saved, 1, periods);
    assert_int_equal(fixture_number(recording->path, "SELECT count(*) FROM run"), 1);
}

static void a_store_that_stays_locked(void **state)
{
    struct recording recording;
    struct rps_error err;

    start(&recording, state, false);
    write_all(recording.writer, 0, 30);
    wait_no_more(recording.writer);
    finish(&recording, RPS_BUSY, &err);
    expect_saved(&recording, &err, 30);
}

static void a_store_that_stays_locked_while_the_run_goes_on(void **state)
{
    struct recording recording;
    struct rps_error err;

    start(&recording, state, true);
    recorder_expect_notice(&recording.notices, "another program holds its lock");
    recorder_write(recording.writer, 0, 10);
    wait_no_more(recording.writer);
    recorder_expect_notice(&recording.notices, "stayed locked by another program");
    for (uint64_t n = 0; n < 30; n++) {
        if (n >= 10)
            recorder_write(recording.writer, n, n + 1);
        fixture_system(recording.writer, n);
        fixture_code(recording.writer, n);
    }
    rps_writer_mark(recording.writer, 1, "in the saved file");
    finish(&recording, RPS_BUSY, &err);
    expect_saved(&recording, &err, 30);
}

/* If waiting records fill half of the ring, the recording moves to a file of its own, long before
 * the wait for the lock ends. */
static void records_that_wait_do_not_take_all_memory(void **state)
{
    struct recording recording;
    struct rps_error err;
    uint64_t room;

    start(&recording, state, false);
    room = recording.writer->ring.size / 2 / rps_ring_bytes(sizeof(struct rps_period)) + 1;
    recorder_expect_notice(&recording.notices, "another program holds its lock");
    recorder_write(recording.writer, 0, room);
    recorder_expect_notice(&recording.notices, "stayed locked by another program");
    fixture_wait_committed(recording.writer, room);
    finish(&recording, RPS_BUSY, &err);
    close_recording(&recording);
    recorder_release_lock(recording.lock);
    recorder_expect(recording.saved, 1, 0, room);
}

/* An existing file or link of that name is left alone. The run is lost, but the workload does not
 * fail. */
static void the_saved_file_replaces_nothing(void **state)
{
    struct recording recording;
    struct rps_error err;
    const char *victim = fixture_path(state, "victim");
    struct stat status;

    start(&recording, state, false);
    fixture_write_text(victim, "precious");
    assert_int_equal(symlink(victim, recording.saved), 0);
    write_all(recording.writer, 0, 5);
    wait_no_more(recording.writer);
    finish(&recording, RPS_BUSY, &err);
    fixture_says(&err, recording.path, recording.saved, "rpistat merge", NULL);
    assert_string_not_equal(rps_writer_file(recording.writer), recording.saved);
    recorder_expect(rps_writer_file(recording.writer), 1, 0, 5);
    close_recording(&recording);
    recorder_release_lock(recording.lock);
    assert_int_equal(fixture_number(recording.path, "SELECT count(*) FROM run"), 1);
    assert_int_equal(lstat(recording.saved, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(stat(victim, &status), 0);
    assert_int_equal(status.st_size, strlen("precious"));
}

/* Other faults of the store are still reported before the start. */
static void other_refusals_stay(void **state)
{
    const struct rps_writer_options options = {.starts_locked = 1};
    const char *path = fixture_path(state, "s");
    struct rps_writer *writer = NULL;
    struct rps_error err;
    sqlite3 *lock;

    fixture_store(path);
    fixture_exec(path, "PRAGMA user_version = 9000");
    lock = recorder_hold_lock(path);
    assert_int_equal(rps_writer_open(&writer, path, &options, &err), RPS_FAILED);
    fixture_says(&err, path, "newer rpistat", NULL);
    recorder_release_lock(lock);
}

/* --- a recording that never began ------------------------------------------------------------- */

static void expect_gone(const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char name[600];

    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "%s%s", path, ends[i]);
        assert_int_equal(access(name, F_OK), -1);
    }
}

static void nothing_remains_of_a_new_store(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);

    recorder_write(writer, 0, 3);
    rps_writer_abandon(writer);
    rps_run_free(&run);
    expect_gone(path);
    rps_writer_abandon(NULL);
}

/* An existing store is unchanged: it gets neither the run nor its number. */
static void an_existing_store_stays(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;

    fixture_store(path);
    rps_writer_abandon(fixture_writer(path, NULL, &run));
    rps_run_free(&run);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM run"), 1);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM heartbeat"), 0);
    fixture_end(fixture_writer(path, NULL, &run), &run);
    assert_int_equal(fixture_number(path, "SELECT max(run_id) FROM run"), 2);
}

static void an_empty_store_that_was_there_stays(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;

    rps_writer_abandon(fixture_writer(path, NULL, &run));
    rps_run_free(&run);
    expect_gone(path);
    fixture_end(fixture_writer(path, NULL, &run), &run);
    fixture_exec(path, "DELETE FROM run");
    rps_writer_abandon(fixture_writer(path, NULL, &run));
    rps_run_free(&run);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM run"), 0);
}

/* A run that has not yet begun in the locked store is discarded at once. */
static void a_run_that_waits_is_forgotten(void **state)
{
    struct recording recording;

    start(&recording, state, false);
    recorder_write(recording.writer, 0, 3);
    rps_writer_abandon(recording.writer);
    recording.writer = NULL;
    close_recording(&recording);
    recorder_release_lock(recording.lock);
    assert_int_equal(fixture_number(recording.path, "SELECT count(*) FROM run"), 1);
    assert_int_equal(access(recording.saved, F_OK), -1);
}

static void a_store_in_use_stays(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run, other_run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run), *other;

    other = fixture_writer(path, NULL, &other_run);
    recorder_write(other, 0, 3);
    rps_writer_abandon(writer); /* This writer has created the store. */
    rps_run_free(&run);
    fixture_end(other, &other_run);
    recorder_expect(path, 2, 0, 3);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM run"), 1);
}

#define RACERS 4
#define ROUNDS 25

/* Record into the store repeatedly, and abandon every other run. */
static void race(const char *path, int number)
{
    const struct rps_writer_options options = {.starts_locked = 1};

    for (int round = 0; round < ROUNDS; round++) {
        struct rps_run run;
        struct rps_writer *writer = fixture_writer(path, &options, &run);

        recorder_write(writer, 0, 3);
        if ((round + number) % 2 == 0) {
            rps_writer_abandon(writer);
            rps_run_free(&run);
        } else {
            fixture_end(writer, &run);
        }
    }
    _exit(0);
}

/* A recorder creates the store, another one uses it, and the first one abandons it. No run is lost.
 */
static void recorders_race(void **state)
{
    char sql[] = "SELECT count(*) FROM run WHERE state = 'complete'";
    const char *path = fixture_path(state, "s");
    int status;

    for (int number = 0; number < RACERS; number++)
        if (fixture_fork() == 0)
            race(path, number);
    for (int number = 0; number < RACERS; number++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(fixture_number(path, sql), RACERS / 2 * ROUNDS);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM run"), RACERS / 2 * ROUNDS);
    assert_string_equal(fixture_text(path, "PRAGMA integrity_check"), "ok");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_locked_store_is_waited_for),
        TEST(a_store_that_cannot_be_read_is_waited_for),
        TEST(the_end_waits_for_the_lock),
        TEST(a_store_that_stays_locked),
        TEST(a_store_that_stays_locked_while_the_run_goes_on),
        TEST(records_that_wait_do_not_take_all_memory),
        TEST(the_saved_file_replaces_nothing),
        TEST(other_refusals_stay),
        TEST(nothing_remains_of_a_new_store),
        TEST(an_existing_store_stays),
        TEST(an_empty_store_that_was_there_stays),
        TEST(a_run_that_waits_is_forgotten),
        TEST(a_store_in_use_stays),
        TEST(recorders_race),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
