#include "recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "store/writer.h"

static void send_notice(void *context, const char *sentence)
{
    struct notices *notices = context;
    size_t size = strlen(sentence) + 1;

    if (write(notices->pipe[1], sentence, size) != (ssize_t)size)
        abort();
}

void recorder_start_notices(struct notices *notices)
{
    assert_int_equal(pipe(notices->pipe), 0);
    notices->options = (struct rps_writer_options){
        .ring_periods = 1, .notice = send_notice, .notice_context = notices};
}

void recorder_stop_notices(struct notices *notices)
{
    close(notices->pipe[0]);
    close(notices->pipe[1]);
}

void recorder_expect_notice(struct notices *notices, const char *text)
{
    char sentence[4096] = "";
    size_t length = 0;

    do {
        assert_int_equal(read(notices->pipe[0], sentence + length, 1), 1);
    } while (sentence[length++] != '\0');
    if (!strstr(sentence, text))
        fail_msg("\"%s\" does not say \"%s\"", sentence, text);
    if (getenv("RPISTAT_TEST_SHOW"))
        print_message("# %s\n", sentence);
}

void recorder_write(struct rps_writer *writer, uint64_t first, uint64_t end)
{
    for (uint64_t n = first; n < end; n++) {
        struct rps_period period = fixture_period(n, 2);

        rps_writer_period(writer, &period);
    }
}

void recorder_commit_each(struct rps_writer *writer, int64_t ns)
{
    pthread_mutex_lock(&writer->lock);
    writer->options.commit_ns = ns;
    pthread_cond_signal(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
}

sqlite3 *recorder_hold_lock(const char *path)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, FIXTURE_BUSY_MS);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    return db;
}

void recorder_release_lock(sqlite3 *db)
{
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

void recorder_lose_directory(struct rps_writer *writer)
{
    char *path = NULL;

    assert_true(asprintf(&path, "%s.none/s", writer->path) > 0);
    pthread_mutex_lock(&writer->lock);
    free(writer->path);
    writer->path = path;
    pthread_mutex_unlock(&writer->lock);
}

void recorder_expect(const char *path, int64_t run_id, uint64_t first, uint64_t end)
{
    struct rps_reader *reader = NULL;
    struct rps_cursor *cursor = NULL;
    struct rps_period period;
    struct rps_error err;
    char sql[700];

    assert_int_equal(rps_reader_open(&reader, path, &err), 0);
    assert_int_equal(rps_cursor_open(&cursor, reader, run_id, 0, INT64_MAX, 0, &err), 0);
    for (uint64_t n = first; n < end; n++) {
        struct rps_period expected = fixture_period(n, 2);

        if (expected.set_no == 1) /* event d is not measured */
            expected.counted = 1, expected.count[1] = 0;
        assert_int_equal(rps_cursor_next(cursor, &period, &err), 1);
        assert_memory_equal(&period, &expected, sizeof(period));
    }
    assert_int_equal(rps_cursor_next(cursor, &period, &err), 0);
    rps_cursor_close(cursor);
    rps_reader_close(reader);
    if (end > 4000) /* The following check takes long. */
        return;
    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM rollup AS r WHERE run_id = %lld AND (merged, length_ns, cycles,"
             " enabled_ns, running_ns, c0) IS NOT (SELECT count(*), sum(length_ns), sum(cycles),"
             " sum(enabled_ns), sum(running_ns), sum(c0) FROM period AS p WHERE p.run_id = r.run_id"
             " AND p.cpu = r.cpu AND p.set_no = r.set_no AND p.period BETWEEN r.period AND"
             " r.last_period)",
             (long long)run_id);
    assert_int_equal(fixture_number(path, sql), 0);
}
