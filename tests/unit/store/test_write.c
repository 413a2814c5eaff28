/* Tests of the writer: its writes, and its reaction to locks, failed writes, a full ring, another
 * recorder, and a changed schema. Events are observed through the writer's own notices, received
 * through a pipe. */
#include "recorder.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/database.h"
#include "store/write_run.h"
#include "store/writer.h"
#include "rpistat/plan.h"
#include "rpistat/run.h"

/* --- the usual case ----------------------------------------------------------------------------
 */

static void many_periods_are_kept_small(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer =
        fixture_writer(path, &(struct rps_writer_options){.ring_periods = 20000}, &run);
    struct stat status;

    recorder_write(writer, 0, 20000);
    fixture_end(writer, &run);
    recorder_expect(path, 1, 0, 20000);
    assert_string_equal(fixture_text(path, "PRAGMA integrity_check"), "ok");
    assert_int_equal(stat(path, &status), 0);
    assert_in_range(status.st_size, 20000 * 40, 20000 * 107);
}

/* A change that a user makes to the run during the recording is not overwritten at its end. */
static void a_label_that_changes_meanwhile_stays(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);

    recorder_write(writer, 0, 5);
    fixture_exec(path, "UPDATE run SET label = 'named', tags = '{\"a\":\"b\"}'");
    fixture_end(writer, &run);
    assert_string_equal(fixture_text(path, "SELECT label || tags || state FROM run"),
                        "named{\"a\":\"b\"}complete");
}

static void several_runs_with_one_writer(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_plan *plan = fixture_plan();
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);
    struct rps_error err;

    recorder_write(writer, 0, 5);
    assert_int_equal(rps_writer_end(writer, &run, &err), 0);
    assert_int_equal(rps_writer_end(writer, &run, &err), RPS_FAILED);
    fixture_says(&err, "no run is being recorded", path, NULL);
    assert_int_equal(rps_writer_begin(writer, &run, plan, &err), 0);
    assert_int_equal(run.run_id, 2);
    recorder_write(writer, 0, 7);
    fixture_end(writer, &run);
    recorder_expect(path, 1, 0, 5);
    recorder_expect(path, 2, 0, 7);
    rps_plan_free(plan);
}

/* Wait until the writer thread is idle after its first heartbeat. */
static void wait_asleep(struct rps_writer *writer)
{
    bool asleep = false;

    while (!asleep) {
        sched_yield();
        pthread_mutex_lock(&writer->lock);
        asleep = writer->sleeping && writer->last_beat_ns > 0;
        pthread_mutex_unlock(&writer->lock);
    }
}

static void grouped_commits_wait_for_the_end(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(
        path, &(struct rps_writer_options){.commit_ns = INT64_C(3600) * 1000000000}, &run);
    struct rps_writer_status status;

    wait_asleep(writer);
    recorder_write(writer, 0, 1);
    fixture_wait_committed(writer, 1); /* The first period is written at once, even after a
                                          heartbeat. */
    recorder_write(writer, 1, 50);
    rps_writer_status(writer, &status);
    assert_int_equal(status.committed, 1);
    assert_int_equal(status.queued, 49);
    fixture_end(writer, &run);
    recorder_expect(path, 1, 0, 50);
}

/* A period in an empty ring waits for the commit interval and not for the heartbeat. If commits
 * waited for heartbeats, the test would exceed its time limit. */
static void commits_come_as_often_as_asked(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer =
        fixture_writer(path, &(struct rps_writer_options){.commit_ns = 10000000}, &run);

    for (uint64_t n = 0; n < 40; n++) {
        wait_asleep(writer);
        recorder_write(writer, n, n + 1);
        fixture_wait_committed(writer, n + 1);
    }
    fixture_end(writer, &run);
    recorder_expect(path, 1, 0, 40);
}

/* When 4,096 periods are waiting, a commit is due. */
static void many_periods_do_not_wait(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(
        path, &(struct rps_writer_options){.commit_ns = INT64_C(3600) * 1000000000}, &run);

    recorder_write(writer, 0, 1);
    fixture_wait_committed(writer, 1);
    recorder_write(writer, 1, 1 + 4096);
    fixture_wait_committed(writer, 1 + 4096);
    fixture_end(writer, &run);
    recorder_expect(path, 1, 0, 4097);
}

static void rollups_are_whole_at_the_end(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);

    recorder_write(writer, 0, 1001);
    fixture_end(writer, &run);
    recorder_expect(path, 1, 0, 1001);
    /* The run has 500 rotations. */
    assert_string_equal(fixture_text(path, "SELECT group_concat(level || ' ' || n || ' ' || m, ',')"
                                           " FROM (SELECT level, count(*) AS n, sum(merged) AS m"
                                           " FROM rollup GROUP BY level)"),
                        "1 64 1000,2 4 1000,3 2 1000,4 2 1000");
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM heartbeat"), 0);
}

/* Marks beyond the limit per second are counted, and the number is reported. */
static void too_many_marks_are_counted(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);
    int64_t kept;

    for (int64_t n = 0; n < 50000; n++)
        rps_writer_mark(writer, n, "so far");
    fixture_end(writer, &run);
    kept = fixture_number(path, "SELECT count(*) FROM mark WHERE text = 'so far'");
    assert_true(kept >= RPS_MARKS_PER_S && kept < 50000);
    assert_int_equal(fixture_number(path, "SELECT sum(CAST(text AS INTEGER)) FROM mark WHERE text"
                                          " LIKE '% marks left out: more than 1000 came within a"
                                          " second'"),
                     50000 - kept);
}

static void durability_full_syncs(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer =
        fixture_writer(path, &(struct rps_writer_options){.durability_full = 1}, &run);
    int64_t level = 0;

    assert_int_equal(rps_database_ask(writer->db, &level, "PRAGMA synchronous", ""), SQLITE_OK);
    assert_int_equal(level, 2);
    recorder_write(writer, 0, 3);
    fixture_end(writer, &run);
    recorder_expect(path, 1, 0, 3);
}

/* --- trouble that passes ------------------------------------------------------------------------
 */

static void a_lock_is_waited_for(void **state)
{
    const char *path = fixture_path(state, "s");
    struct notices notices;
    struct rps_writer_status status;
    struct rps_run run;
    struct rps_writer *writer;
    sqlite3 *other;

    recorder_start_notices(&notices);
    writer = fixture_writer(path, &notices.options, &run);
    recorder_write(writer, 0, 10);
    fixture_wait_committed(writer, 10);
    other = recorder_hold_lock(path);
    recorder_write(writer, 10, 20);
    rps_writer_mark(writer, 1, "while it was locked");
    recorder_expect_notice(&notices, "another program holds its lock");
    rps_writer_status(writer, &status);
    assert_int_equal(status.failing, 1);
    recorder_write(writer, 20, 30);
    recorder_release_lock(other);
    recorder_expect_notice(&notices, "possible again; no period was lost");
    fixture_end(writer, &run);
    recorder_expect(path, 1, 0, 30);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM mark"), 1);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM gap"), 0);
    recorder_stop_notices(&notices);
}

/* Return the number of periods that fit in the ring. */
static uint64_t room_of(const struct rps_writer *writer)
{
    return writer->ring.size / rps_ring_bytes(sizeof(struct rps_period));
}

/* Expect exactly one gap, of these periods. */
static void expect_gap(const char *path, uint64_t first, uint64_t end)
{
    struct rps_period first_lost = fixture_period(first, 2), last_lost = fixture_period(end - 1, 2);
    char sql[256];

    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM gap WHERE start_ns = %lld AND start_ns + length_ns = %lld AND"
             " cpu = -1 AND reason LIKE '%% was full: %llu periods lost'",
             (long long)first_lost.start_ns, (long long)(last_lost.start_ns + last_lost.length_ns),
             (unsigned long long)(end - first));
    assert_int_equal(fixture_number(path, sql), 1);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM gap"), 1);
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM period WHERE period BETWEEN %llu AND %llu",
             (unsigned long long)first, (unsigned long long)end - 1);
    assert_int_equal(fixture_number(path, sql), 0);
}

static void a_full_ring_becomes_a_gap(void **state)
{
    const char *path = fixture_path(state, "s");
    struct notices notices;
    struct rps_writer_status status;
    struct rps_run run;
    struct rps_writer *writer;
    uint64_t room;
    sqlite3 *other;

    recorder_start_notices(&notices);
    writer = fixture_writer(path, &notices.options, &run);
    room = room_of(writer);
    recorder_write(writer, 0, 5);
    fixture_wait_committed(writer, 5);
    other = recorder_hold_lock(path);
    recorder_write(writer, 5, 6);
    recorder_expect_notice(&notices, "the recording continues in memory, with space for");
    recorder_write(writer, 6, 5 + room + 7);
    rps_writer_status(writer, &status);
    assert_int_equal(status.queued, room);
    assert_int_equal(status.dropped, 7);
    recorder_release_lock(other);
    recorder_expect_notice(&notices, "possible again; 7 periods were lost");
    fixture_wait_committed(writer, 5 + room);
    recorder_write(writer, 5 + room + 7, 5 + room + 107);
    fixture_wait_committed(writer, 5 + room + 100);
    /* The gap is not only written at the end. */
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM gap"), 1);
    fixture_end(writer, &run);
    expect_gap(path, 5 + room, 5 + room + 7);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM period"), 5 + room + 100);
    /* No block extends across the gap. */
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM rollup WHERE end_ns - start_ns >"
                                          " length_ns * 2 + 300000000"),
                     0);
    recorder_stop_notices(&notices);
}

/* The ring holds ten minutes of all CPUs, and has between 64 and 512 MiB. */
static void room_of_the_ring(void **state)
{
    const size_t bytes = rps_ring_bytes(sizeof(struct rps_period));

    (void)state;
    assert_int_equal(rps_writer_ring_periods(100000000, 1), (64 << 20) / bytes);
    assert_int_equal(rps_writer_ring_periods(100000000, 64), 6000 * 64);
    assert_int_equal(rps_writer_ring_periods(1000000, 64), (512 << 20) / bytes);
}

/* A gap is stored even if no period follows it and the ring is full until the end. */
static void a_gap_at_the_end_is_kept_too(void **state)
{
    const char *path = fixture_path(state, "s");
    struct notices notices;
    struct rps_run run;
    struct rps_writer *writer;
    struct rps_error err;
    uint64_t room;
    sqlite3 *other;

    recorder_start_notices(&notices);
    writer = fixture_writer(path, &notices.options, &run);
    room = room_of(writer);
    other = recorder_hold_lock(path);
    recorder_write(writer, 0, 1);
    recorder_expect_notice(&notices, "cannot write");
    recorder_write(writer, 1, room + 4);
    pthread_mutex_lock(&writer->lock); /* The end begins before the thread has written. */
    recorder_release_lock(other);
    writer->stop = true;
    writer->give_up_ns = INT64_MAX;
    pthread_mutex_unlock(&writer->lock);
    run.state = RPS_RUN_COMPLETE;
    if (rps_writer_end(writer, &run, &err) < 0)
        fail_msg("%s", err.message);
    rps_writer_close(writer);
    rps_run_free(&run);
    expect_gap(path, room, room + 4);
    recorder_expect(path, 1, 0, room);
    recorder_stop_notices(&notices);
}

/* If the lock is never released, the run ends in a copy of the store, with the earlier run. If the
 * name of the copy is taken, unwritten data are lost. */
static void end_while_locked(void **state, bool can_be_saved)
{
    const char *path = fixture_path(state, "s");
    char saved[600];
    struct notices notices;
    struct rps_run run;
    struct rps_writer *writer;
    struct rps_error err;
    sqlite3 *other;

    recorder_start_notices(&notices);
    writer = fixture_writer(path, &notices.options, &run);
    writer->patience_ns = writer->lock_wait_ns = 1;
    snprintf(saved, sizeof(saved), "%s.saved-%.8s", path, run.uuid);
    if (!can_be_saved)
        recorder_lose_directory(writer);
    recorder_write(writer, 0, 4);
    fixture_wait_committed(writer, 4);
    other = recorder_hold_lock(path);
    recorder_write(writer, 4, 7);
    recorder_expect_notice(&notices, "cannot write");
    run.state = RPS_RUN_COMPLETE;
    assert_int_equal(rps_writer_end(writer, &run, &err), RPS_BUSY);
    if (can_be_saved)
        fixture_says(&err, path, saved, "rpistat merge", NULL);
    else
        fixture_says(&err, "has 4 periods", "but 3 more periods", "another program holds its lock",
                     NULL);
    rps_writer_close(writer);
    rps_run_free(&run);
    recorder_release_lock(other);
    recorder_expect(path, 1, 0, 4); /* The store holds the committed periods. */
    if (can_be_saved) {
        recorder_expect(saved, 1, 0, 7);
        assert_string_equal(fixture_text(saved, "SELECT state FROM run"), "complete");
    }
    recorder_stop_notices(&notices);
}

static void the_end_does_not_wait_for_ever(void **state)
{
    end_while_locked(state, true);
}

static void what_cannot_be_saved_is_lost(void **state)
{
    end_while_locked(state, false);
}

/* Hand over periods and the readings at their ends. */
static void write_with_readings(struct rps_writer *writer, uint64_t first, uint64_t end)
{
    for (uint64_t n = first; n < end; n++) {
        recorder_write(writer, n, n + 1);
        fixture_system(writer, n);
    }
}

/* Return 0 if the writer recovers from a write stopped by the file-size limit. Run in a child,
 * because of the limit. */
static int limited_child(const char *path)
{
    struct notices notices;
    struct rps_run run;
    struct rps_writer *writer;
    struct rlimit limit, tight;

    signal(SIGXFSZ, SIG_IGN);
    recorder_start_notices(&notices);
    writer = fixture_writer(path, &notices.options, &run);
    write_with_readings(writer, 0, 10);
    fixture_wait_committed(writer, 10);
    getrlimit(RLIMIT_FSIZE, &limit);
    tight = limit;
    tight.rlim_cur = 8192;
    setrlimit(RLIMIT_FSIZE, &tight);
    write_with_readings(writer, 10, 200);
    recorder_expect_notice(&notices, "its disk is full");
    write_with_readings(writer, 200, 400);
    setrlimit(RLIMIT_FSIZE, &limit);
    recorder_expect_notice(&notices, "possible again; no period was lost");
    write_with_readings(writer, 400, 1000);
    fixture_end(writer, &run);
    recorder_expect(path, 1, 0, 1000);
    assert_int_equal(fixture_number(path, "SELECT readings FROM signal WHERE name = 'wait'"), 1000);
    /* Rolled-back rows are rolled up once, and completely. */
    for (int level = 1; level <= RPS_LEVELS; level++) {
        char sql[80];

        snprintf(sql, sizeof(sql), "SELECT sum(merged) FROM rollup WHERE level = %d", level);
        assert_int_equal(fixture_number(path, sql), 1000);
        snprintf(sql, sizeof(sql),
                 "SELECT sum(n1) FROM reading_rollup WHERE source = 0"
                 " AND level = %d",
                 level);
        assert_int_equal(fixture_number(path, sql), 1000);
    }
    recorder_stop_notices(&notices);
    return 0;
}

static void a_write_that_fails_is_tried_again(void **state)
{
    int status = -1;
    pid_t child = fixture_fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(limited_child(fixture_path(state, "s")));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- trouble that does not -----------------------------------------------------------------------
 */

/* If the store can no longer be written, the recording continues in a file of its own. */
static void damage_is_left_behind(void **state)
{
    const char *path = fixture_path(state, "s");
    struct notices notices;
    struct rps_writer_status status;
    struct rps_run run;
    struct rps_writer *writer;
    struct rps_error err;
    char saved[600];

    recorder_start_notices(&notices);
    writer = fixture_writer(path, &notices.options, &run);
    snprintf(saved, sizeof(saved), "%s.saved-%.8s", path, run.uuid);
    recorder_write(writer, 0, 4);
    fixture_wait_committed(writer, 4);
    fixture_exec(path, "ALTER TABLE period RENAME TO elsewhere");
    recorder_write(writer, 4, 6);
    recorder_expect_notice(&notices, "the recording continues in");
    recorder_write(writer, 6, 9);
    run.state = RPS_RUN_COMPLETE;
    assert_int_equal(rps_writer_end(writer, &run, &err), RPS_FAILED);
    fixture_says(&err, "damaged", "continues in", saved, NULL);
    rps_writer_status(writer, &status);
    assert_int_equal(status.is_damaged, 1);
    assert_int_equal(status.run_id, 1);
    rps_writer_close(writer);
    rps_run_free(&run);
    recorder_expect(saved, 1, 4, 9);
    assert_string_equal(fixture_text(saved, "SELECT state FROM run"), "complete");
    assert_int_equal(fixture_number(saved, "SELECT length_ns = (SELECT min(start_ns) FROM period)"
                                           " FROM gap"),
                     1);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM elsewhere"), 4);
    recorder_stop_notices(&notices);
}

/* --- other processes -----------------------------------------------------------------------------
 */

/* Start a child that writes periods, reports the commit, and waits to be killed. */
static pid_t start_recorder(const char *path, const struct rps_writer_options *options,
                            uint64_t periods, int *ret_ready)
{
    int ready[2];
    pid_t child;

    assert_int_equal(pipe(ready), 0);
    child = fixture_fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rps_run run;
        struct rps_writer *writer;

        prctl(PR_SET_PDEATHSIG, SIGKILL); /* A failed test leaves no child. */
        writer = fixture_writer(path, options, &run);
        recorder_write(writer, 0, 1);
        fixture_wait_committed(writer, 1); /* the next commit is due after commit_ns */
        recorder_write(writer, 1, periods);
        fixture_wait_committed(writer, options && options->commit_ns != 0 ? 1 : periods);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    *ret_ready = ready[0];
    return child;
}

static void wait_ready(int ready)
{
    char byte;

    assert_int_equal(read(ready, &byte, 1), 1);
    close(ready);
}

static enum rps_run_state state_of(const char *path, int64_t run_id, struct rps_run *run)
{
    struct rps_reader *reader = NULL;
    struct rps_error err;

    assert_int_equal(rps_reader_open(&reader, path, &err), 0);
    assert_int_equal(rps_reader_run(fixture_arena, reader, run_id, run, &err), 0);
    rps_reader_close(reader);
    return run->state;
}

static void age_heartbeat(const char *path, const char *realtime_ns)
{
    char sql[256];

    snprintf(sql, sizeof(sql), "UPDATE heartbeat SET realtime_ns = %s", realtime_ns);
    fixture_exec(path, sql);
}

static void a_killed_recorder_leaves_a_good_run(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_period last = fixture_period(2999, 2);
    struct rps_writer *writer = NULL;
    struct rps_run run;
    struct rps_error err;
    int ready, status;
    pid_t child = start_recorder(path, NULL, 3000, &ready);

    wait_ready(ready);
    /* The run is read while it is being written. */
    assert_int_equal(state_of(path, 1, &run), RPS_RUN_RECORDING);
    assert_int_equal(run.elapsed_ns, last.start_ns + last.length_ns);
    recorder_expect(path, 1, 0, 3000);
    /* Opening the store again does not change a run whose recorder is alive. */
    assert_int_equal(rps_writer_open(&writer, path, &(struct rps_writer_options){0}, &err), 0);
    rps_writer_close(writer);
    assert_string_equal(fixture_text(path, "SELECT state FROM run"), "recording");

    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    age_heartbeat(path, "realtime_ns - 3 * interval_ns - 30000000000");
    assert_int_equal(state_of(path, 1, &run), RPS_RUN_INTERRUPTED);
    assert_string_equal(run.end_reason, "the recorder was killed, or its disk was full");
    assert_string_equal(fixture_text(path, "SELECT state FROM run"), "recording");
    recorder_expect(path, 1, 0, 3000);
    writer = NULL;
    assert_int_equal(rps_writer_open(&writer, path, &(struct rps_writer_options){0}, &err), 0);
    rps_writer_close(writer);
    assert_string_equal(fixture_text(path, "SELECT state FROM run"), "interrupted");
    assert_int_equal(fixture_number(path, "SELECT elapsed_ns FROM run"),
                     last.start_ns + last.length_ns);
    recorder_expect(path, 1, 0, 3000);
}

/* Only the heartbeat shows whether a recorder is alive, on whichever machine it runs. */
static void the_heartbeat_decides(void **state)
{
    static const struct {
        const char *sql;
        enum rps_run_state state;
    } cases[] = {
        {"UPDATE run SET recorder_pid = 1", RPS_RUN_RECORDING},
        {"UPDATE run SET recorder_pid = NULL", RPS_RUN_RECORDING},
        {"UPDATE heartbeat SET realtime_ns = realtime_ns - 3 * interval_ns - 20000000000",
         RPS_RUN_RECORDING},
        {"UPDATE heartbeat SET realtime_ns = realtime_ns - 3 * interval_ns - 30000000000",
         RPS_RUN_INTERRUPTED},
        {"UPDATE heartbeat SET interval_ns = 3600000000000, realtime_ns = realtime_ns -"
         " 3 * 3600000000000",
         RPS_RUN_RECORDING},
        {"UPDATE heartbeat SET boot_id = 'another'", RPS_RUN_INTERRUPTED},
        {"UPDATE heartbeat SET boot_id = ''", RPS_RUN_RECORDING},
        {"UPDATE heartbeat SET boot_id = 'another'; UPDATE run SET host = 'elsewhere.invalid'",
         RPS_RUN_RECORDING},
        {"DELETE FROM heartbeat", RPS_RUN_INTERRUPTED},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char name[16];
        const char *path;
        struct rps_writer *writer = NULL;
        struct rps_run run;
        struct rps_error err;

        snprintf(name, sizeof(name), "s%zu", i);
        path = fixture_path(state, name);
        writer = fixture_writer(path, NULL, &run);
        recorder_write(writer, 0, 3);
        fixture_wait_committed(writer, 3);
        rps_writer_close(writer); /* as if the recorder had been killed */
        rps_run_free(&run);
        fixture_exec(path, cases[i].sql);
        if (state_of(path, 1, &run) != cases[i].state)
            fail_msg("%s: state %d", cases[i].sql, run.state);
        assert_string_equal(fixture_text(path, "SELECT state FROM run"), "recording");
        writer = NULL;
        assert_int_equal(rps_writer_open(&writer, path, &(struct rps_writer_options){0}, &err), 0);
        rps_writer_close(writer);
        assert_string_equal(fixture_text(path, "SELECT state FROM run"),
                            cases[i].state == RPS_RUN_RECORDING ? "recording" : "interrupted");
        recorder_expect(path, 1, 0, 3);
    }
}

/* A run is marked as being recorded before the thread has written anything. */
static void a_run_begins_with_a_heartbeat(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_plan *plan = fixture_plan();
    struct rps_writer *writer = NULL;
    int64_t run_id = 0;
    struct rps_run run;
    struct rps_error err;

    fixture_run(&run);
    assert_int_equal(rps_writer_open(&writer, path, &(struct rps_writer_options){0}, &err), 0);
    assert_int_equal(rps_write_run_begin(writer->db, &run, plan, &run_id), SQLITE_OK);
    rps_run_free(&run);
    assert_int_equal(state_of(path, run_id, &run), RPS_RUN_RECORDING);
    rps_writer_close(writer);
    rps_plan_free(plan);
}

static void write_cpu(struct rps_writer *writer, uint64_t n, int cpu)
{
    struct rps_period period = fixture_period(n, 2);

    period.cpu = cpu;
    period.running_ns = 100 + (uint64_t)cpu;
    rps_writer_period(writer, &period);
}

/* The counts of the first two rotations include all CPUs, also if a commit ends between the CPUs
 * of a period. */
static void the_start_of_two_cpus(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);

    for (uint64_t n = 0; n < 3; n++) {
        write_cpu(writer, n, 0);
        write_cpu(writer, n, 1);
    }
    write_cpu(writer, 3, 0);
    fixture_wait_committed(writer, 4);
    write_cpu(writer, 3, 1);
    write_cpu(writer, 4, 0);
    write_cpu(writer, 4, 1);
    fixture_wait_committed(writer, 5);
    fixture_end(writer, &run);
    assert_int_equal(fixture_number(path, "SELECT max(first_ns) FROM event WHERE set_no = 0"), 201);
    assert_int_equal(fixture_number(path, "SELECT max(second_ns) FROM event WHERE set_no = 1"),
                     201);
}

/* A run of two rotations has no later period. */
static void the_start_of_a_short_run(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);

    for (uint64_t n = 0; n < 4; n++)
        write_cpu(writer, n, 0);
    fixture_end(writer, &run);
    assert_int_equal(fixture_number(path, "SELECT max(second_ns) FROM event WHERE set_no = 1"),
                     100);
}

/* The heartbeat is written even if there are no data to write. */
static void it_beats_while_idle(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);
    int64_t first_ns;

    wait_asleep(writer);
    first_ns = fixture_number(path, "SELECT realtime_ns FROM heartbeat");
    assert_int_equal(fixture_number(path, "SELECT interval_ns FROM heartbeat"), 5000000000);
    pthread_mutex_lock(&writer->lock);
    writer->last_beat_ns -= INT64_C(5000000000); /* the interval has passed */
    pthread_cond_signal(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
    while (fixture_number(path, "SELECT realtime_ns FROM heartbeat") == first_ns)
        ;
    fixture_end(writer, &run);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM heartbeat"), 0);
}

/* Another process considered the recorder dead, for example after a clock jump. The next commit
 * corrects the state. */
static void taken_for_interrupted(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_writer *other = NULL;
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);
    struct rps_error err;

    recorder_write(writer, 0, 100);
    fixture_wait_committed(writer, 100);
    age_heartbeat(path, "1");
    assert_int_equal(rps_writer_open(&other, path, &(struct rps_writer_options){0}, &err), 0);
    rps_writer_close(other);
    assert_string_equal(fixture_text(path, "SELECT state || end_reason FROM run"),
                        "interruptedthe recorder was killed, or its disk was full");
    recorder_write(writer, 100, 200);
    fixture_wait_committed(writer, 200);
    assert_string_equal(
        fixture_text(path, "SELECT state || end_reason || coalesce(elapsed_ns, '') FROM run"),
        "recording");
    fixture_end(writer, &run);
    recorder_expect(path, 1, 0, 200);
    assert_string_equal(fixture_text(path, "SELECT state FROM run"), "complete");
    assert_int_equal(fixture_number(path, "SELECT sum(merged) FROM rollup WHERE level = 1"), 200);
}

#define RECORDERS 20

static void many_recorders_share_a_store(void **state)
{
    const char *path = fixture_path(state, "s");
    pid_t child[RECORDERS];
    int ready[RECORDERS], status;

    /* Each recorder may create the store. */
    for (int i = 0; i < RECORDERS; i++)
        child[i] = start_recorder(path, NULL, 500, &ready[i]);
    for (int i = 0; i < RECORDERS; i++)
        wait_ready(ready[i]);
    for (int i = 0; i < RECORDERS; i++) {
        kill(child[i], SIGKILL);
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
    }
    for (int i = 0; i < RECORDERS; i++)
        recorder_expect(path, i + 1, 0, 500);
    assert_int_equal(fixture_number(path, "SELECT count(DISTINCT uuid) FROM run"), RECORDERS);
    assert_string_equal(fixture_text(path, "PRAGMA integrity_check"), "ok");
}

/* Path at which an intruder creates a store once, as soon as the file type has been queried. */
static const char *intruded;

static int intrude(unsigned event, void *context, void *statement, void *ns)
{
    const char *path = intruded;
    struct rps_writer *writer = NULL;
    struct rps_error err;

    (void)event;
    (void)context;
    (void)ns;
    if (!path || strcmp(sqlite3_sql(statement), "PRAGMA application_id") != 0)
        return 0;
    intruded = NULL;
    if (rps_writer_open(&writer, path, &(struct rps_writer_options){0}, &err) < 0)
        abort();
    rps_writer_close(writer);
    return 0;
}

static int watch_statements(sqlite3 *db, const char **message, const void *routines)
{
    (void)message;
    (void)routines;
    return sqlite3_trace_v2(db, SQLITE_TRACE_PROFILE, intrude, NULL);
}

/* Another recorder creates the store between two queries. The opening process must act on a single
 * answer. */
static void a_store_is_made_while_it_is_opened(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_writer *writer;
    sqlite3 *db = NULL;
    struct rps_run run;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK); /* a blank database, but no longer an
                                                             empty file */
    assert_int_equal(sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    intruded = path;
    sqlite3_auto_extension((void (*)(void))watch_statements);
    writer = fixture_writer(path, NULL, &run);
    sqlite3_reset_auto_extension();
    assert_null(intruded);
    recorder_write(writer, 0, 3);
    fixture_end(writer, &run);
    recorder_expect(path, 1, 0, 3);
}

static void a_cursor_sees_one_state(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);
    struct rps_reader *reader = NULL;
    struct rps_cursor *cursor = NULL;
    struct rps_period period;
    struct rps_error err;
    int got = 0;

    recorder_write(writer, 0, 500);
    fixture_wait_committed(writer, 500);
    assert_int_equal(rps_reader_open(&reader, path, &err), 0);
    assert_int_equal(rps_cursor_open(&cursor, reader, 1, 0, INT64_MAX, 0, &err), 0);
    assert_int_equal(rps_cursor_next(cursor, &period, &err), 1);
    recorder_write(writer, 500, 3000);
    fixture_wait_committed(writer, 3000); /* the writer does not wait for the reader */
    while (rps_cursor_next(cursor, &period, &err) == 1)
        got++;
    assert_int_equal(got, 499);
    rps_cursor_close(cursor);
    rps_reader_close(reader);
    fixture_end(writer, &run);
    recorder_expect(path, 1, 0, 3000);
}

/* A copy of the database file alone, made right after the recorder ended, contains the run. */
static void the_file_is_whole_beside_a_reader(void **state)
{
    const char *path = fixture_path(state, "s"), *alone = fixture_path(state, "alone");
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);
    struct rps_reader *reader = NULL;
    char command[1200];
    struct rps_error err;

    recorder_write(writer, 0, 500);
    fixture_wait_committed(writer, 500);
    assert_int_equal(rps_reader_open(&reader, path, &err), 0);
    fixture_end(writer, &run);
    snprintf(command, sizeof(command), "cp '%s' '%s'", path, alone);
    assert_int_equal(system(command), 0);
    rps_reader_close(reader);
    recorder_expect(alone, 1, 0, 500);
}

/* A run whose command could not be started is removed. If the store was created for it and is not
 * used otherwise, the store is removed too. An existing store is kept. */
static void a_run_that_never_began(void **state)
{
    const char *path = fixture_path(state, "s"), *log = fixture_path(state, "s-wal");
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);
    sqlite3 *other;

    rps_writer_abandon(writer);
    rps_run_free(&run);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(log, F_OK), -1);

    writer = fixture_writer(path, NULL, &run);
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "SELECT * FROM run", NULL, NULL, NULL), SQLITE_OK);
    rps_writer_abandon(writer);
    rps_run_free(&run);
    sqlite3_close(other);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM run"), 0);
    assert_string_equal(fixture_text(path, "PRAGMA journal_mode"), "wal");

    for (int i = 0; i < 2; i++) {
        writer = fixture_writer(path, NULL, &run);
        recorder_write(writer, 0, 5);
        if (i == 0) {
            fixture_end(writer, &run);
            continue;
        }
        rps_writer_abandon(writer);
        rps_run_free(&run);
    }
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM run"), 1);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM period WHERE run_id > 2"), 0);
    assert_string_equal(fixture_text(path, "SELECT state FROM run"), "complete");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(many_periods_are_kept_small),
        TEST(a_label_that_changes_meanwhile_stays),
        TEST(several_runs_with_one_writer),
        TEST(grouped_commits_wait_for_the_end),
        TEST(commits_come_as_often_as_asked),
        TEST(many_periods_do_not_wait),
        TEST(rollups_are_whole_at_the_end),
        TEST(too_many_marks_are_counted),
        TEST(durability_full_syncs),
        TEST(a_lock_is_waited_for),
        TEST(room_of_the_ring),
        TEST(a_full_ring_becomes_a_gap),
        TEST(a_gap_at_the_end_is_kept_too),
        TEST(the_end_does_not_wait_for_ever),
        TEST(what_cannot_be_saved_is_lost),
        TEST(a_write_that_fails_is_tried_again),
        TEST(damage_is_left_behind),
        TEST(a_killed_recorder_leaves_a_good_run),
        TEST(the_heartbeat_decides),
        TEST(a_run_begins_with_a_heartbeat),
        TEST(the_start_of_two_cpus),
        TEST(the_start_of_a_short_run),
        TEST(it_beats_while_idle),
        TEST(taken_for_interrupted),
        TEST(many_recorders_share_a_store),
        TEST(a_store_is_made_while_it_is_opened),
        TEST(a_cursor_sees_one_state),
        TEST(the_file_is_whole_beside_a_reader),
        TEST(a_run_that_never_began),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
