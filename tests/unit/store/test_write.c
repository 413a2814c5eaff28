/*
 * The writer when things go wrong: locks, failing writes, a full queue, a killed recorder, another
 * recorder, a changed schema. What happened is learnt from the writer's own notices, through a
 * pipe.
 */
#include "fixture.h"

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

#include "store/alive.h"
#include "store/database.h"
#include "store/period_table.h"
#include "store/writer.h"

/* --- helpers --------------------------------------------------------------------------------- */

struct notices {
    int pipe[2];
    struct rps_writer_options options;
};

static void send_notice(void *context, const char *sentence)
{
    struct notices *notices = context;
    size_t size = strlen(sentence) + 1;

    if (write(notices->pipe[1], sentence, size) != (ssize_t)size)
        abort();
}

static void start_notices(struct notices *notices, size_t queue_periods)
{
    assert_int_equal(pipe(notices->pipe), 0);
    notices->options = (struct rps_writer_options){
        .queue_periods = queue_periods, .notice = send_notice, .notice_context = notices};
}

static void stop_notices(struct notices *notices)
{
    close(notices->pipe[0]);
    close(notices->pipe[1]);
}

/* Wait for the next notice, which must say `text`. */
static void expect_notice(struct notices *notices, const char *text)
{
    char sentence[1024] = "";
    size_t length = 0;

    do {
        assert_int_equal(read(notices->pipe[0], sentence + length, 1), 1);
    } while (sentence[length++] != '\0');
    if (!strstr(sentence, text))
        fail_msg("\"%s\" does not say \"%s\"", sentence, text);
    if (getenv("RPISTAT_TEST_SHOW"))
        print_message("# %s\n", sentence);
}

static void write_periods(struct rps_writer *writer, uint64_t first, uint64_t end)
{
    for (uint64_t n = first; n < end; n++) {
        struct rps_period period = fixture_period(n, 2);

        rps_writer_period(writer, &period);
    }
}

static void wait_committed(struct rps_writer *writer, uint64_t periods)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    struct rps_writer_status status;

    for (rps_writer_status(writer, &status); status.committed < periods;
         rps_writer_status(writer, &status))
        nanosleep(&pause, NULL);
}

static sqlite3 *hold_lock(const char *path)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, FIXTURE_BUSY_MS);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    return db;
}

static void release_lock(sqlite3 *db)
{
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* The store holds exactly the periods of these numbers, as written. */
static void holds(const char *path, int64_t run_id, uint64_t first, uint64_t end)
{
    struct rps_reader *reader = NULL;
    struct rps_cursor *cursor = NULL;
    struct rps_period period;
    struct rps_error err;

    assert_int_equal(rps_reader_open(&reader, path, &err), 0);
    assert_int_equal(rps_cursor_open(&cursor, reader, run_id, 0, INT64_MAX, &err), 0);
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
}

/* --- the usual case -------------------------------------------------------------------------- */

static void many_periods_are_kept_small(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer =
        fixture_writer(path, &(struct rps_writer_options){.queue_periods = 20000}, &run);
    struct stat status;

    assert_true(rps_period_table_is_narrow(writer->table));
    write_periods(writer, 0, 20000);
    fixture_end(writer, &run);
    holds(path, 1, 0, 20000);
    assert_string_equal(fixture_text(path, "PRAGMA integrity_check"), "ok");
    assert_int_equal(stat(path, &status), 0);
    assert_in_range(status.st_size, 20000 * 40, 20000 * 64);
}

/* A wide set next to narrow rows, VACUUM, and a schema that another connection changes. */
static void short_rows_are_ordinary_rows(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);

    write_periods(writer, 0, 10);
    wait_committed(writer, 10);
    fixture_exec(path, "VACUUM; CREATE TABLE other (x); ALTER TABLE period ADD COLUMN c8 INTEGER");
    write_periods(writer, 10, 3000);
    wait_committed(writer, 3000);
    assert_false(rps_period_table_is_narrow(writer->table));
    fixture_end(writer, &run);
    holds(path, 1, 0, 3000);
    fixture_exec(path, "UPDATE period SET c7 = 5 WHERE period = 3");
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM period WHERE c7 IS NULL"), 2999);
    assert_string_equal(fixture_text(path, "PRAGMA integrity_check"), "ok");
}

static void several_runs_with_one_writer(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_plan *plan = fixture_plan();
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);
    struct rps_error err;

    write_periods(writer, 0, 5);
    assert_int_equal(rps_writer_begin(writer, &run, plan, &err), RPS_FAILED);
    fixture_says(&err, "has not ended", NULL);
    assert_int_equal(rps_writer_end(writer, &run, &err), 0);
    assert_int_equal(rps_writer_end(writer, &run, &err), RPS_FAILED);
    assert_int_equal(rps_writer_begin(writer, &run, plan, &err), 0);
    assert_int_equal(run.run_id, 2);
    write_periods(writer, 0, 7);
    fixture_end(writer, &run);
    holds(path, 1, 0, 5);
    holds(path, 2, 0, 7);
    rps_plan_free(plan);
}

static void grouped_commits_wait_for_the_end(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(
        path, &(struct rps_writer_options){.commit_ns = INT64_C(3600) * 1000000000}, &run);
    struct rps_writer_status status;

    write_periods(writer, 0, 1);
    wait_committed(writer, 1); /* the first is written at once */
    write_periods(writer, 1, 50);
    rps_writer_status(writer, &status);
    assert_int_equal(status.committed, 1);
    assert_int_equal(status.queued, 49);
    fixture_end(writer, &run);
    holds(path, 1, 0, 50);
}

static void half_a_queue_does_not_wait(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(
        path,
        &(struct rps_writer_options){.commit_ns = INT64_C(3600) * 1000000000, .queue_periods = 40},
        &run);

    write_periods(writer, 0, 1);
    wait_committed(writer, 1);
    write_periods(writer, 1, 21);
    wait_committed(writer, 21);
    fixture_end(writer, &run);
    holds(path, 1, 0, 21);
}

static void durability_full_syncs(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer =
        fixture_writer(path, &(struct rps_writer_options){.durability_full = 1}, &run);
    sqlite3_int64 level = 0;

    assert_int_equal(rps_database_number(writer->db, "PRAGMA synchronous", &level), SQLITE_OK);
    assert_int_equal(level, 2);
    write_periods(writer, 0, 3);
    fixture_end(writer, &run);
    holds(path, 1, 0, 3);
}

/* --- trouble that passes --------------------------------------------------------------------- */

static void a_lock_is_waited_for(void **state)
{
    const char *path = fixture_path(state, "s");
    struct notices notices;
    struct rps_writer_status status;
    struct rps_run run;
    struct rps_writer *writer;
    sqlite3 *other;

    start_notices(&notices, 0);
    writer = fixture_writer(path, &notices.options, &run);
    write_periods(writer, 0, 10);
    wait_committed(writer, 10);
    other = hold_lock(path);
    write_periods(writer, 10, 20);
    rps_writer_mark(writer, 1, "while it was locked");
    expect_notice(&notices, "another program holds its lock");
    rps_writer_status(writer, &status);
    assert_int_equal(status.failing, 1);
    write_periods(writer, 20, 30);
    release_lock(other);
    expect_notice(&notices, "possible again; no period was lost");
    fixture_end(writer, &run);
    holds(path, 1, 0, 30);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM mark"), 1);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM gap"), 0);
    stop_notices(&notices);
}

static void a_full_queue_becomes_a_gap(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_period first_lost = fixture_period(13, 2), last_lost = fixture_period(19, 2);
    struct notices notices;
    struct rps_writer_status status;
    struct rps_run run;
    struct rps_writer *writer;
    sqlite3 *other;
    char sql[200];

    start_notices(&notices, 8);
    writer = fixture_writer(path, &notices.options, &run);
    write_periods(writer, 0, 5);
    wait_committed(writer, 5);
    other = hold_lock(path);
    write_periods(writer, 5, 6);
    expect_notice(&notices, "with room for 7 more periods");
    write_periods(writer, 6, 20); /* 6 ... 12 fill the queue */
    rps_writer_status(writer, &status);
    assert_int_equal(status.queued, 8);
    assert_int_equal(status.dropped, 7);
    release_lock(other);
    expect_notice(&notices, "possible again; 7 periods were lost");
    wait_committed(writer, 13);
    write_periods(writer, 20, 22);
    wait_committed(writer, 15);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM gap"), 1); /* not only at the end */
    fixture_end(writer, &run);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM period"), 15);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM period WHERE period BETWEEN 13 AND"
                                          " 19"),
                     0);
    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM gap WHERE start_ns = %lld AND start_ns + length_ns = %lld AND"
             " reason LIKE '%%queue was full: 7 periods lost'",
             (long long)first_lost.start_ns, (long long)(last_lost.start_ns + last_lost.length_ns));
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM gap"), 1);
    assert_int_equal(fixture_number(path, sql), 1);
    stop_notices(&notices);
}

static void a_gap_at_the_end_is_kept_too(void **state)
{
    const char *path = fixture_path(state, "s");
    struct notices notices;
    struct rps_run run;
    struct rps_writer *writer;
    sqlite3 *other;

    start_notices(&notices, 2);
    writer = fixture_writer(path, &notices.options, &run);
    other = hold_lock(path);
    write_periods(writer, 0, 1);
    expect_notice(&notices, "cannot write");
    write_periods(writer, 1, 6);
    release_lock(other);
    expect_notice(&notices, "4 periods were lost");
    fixture_end(writer, &run);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM gap WHERE reason LIKE '%4 per%'"),
                     1);
    holds(path, 1, 0, 2);
    stop_notices(&notices);
}

static void the_end_does_not_wait_for_ever(void **state)
{
    const char *path = fixture_path(state, "s");
    struct notices notices;
    struct rps_run run;
    struct rps_writer *writer;
    struct rps_error err;
    sqlite3 *other;

    start_notices(&notices, 0);
    writer = fixture_writer(path, &notices.options, &run);
    writer->patience_ns = 1;
    write_periods(writer, 0, 4);
    wait_committed(writer, 4);
    other = hold_lock(path);
    write_periods(writer, 4, 7);
    expect_notice(&notices, "cannot write");
    assert_int_equal(rps_writer_end(writer, &run, &err), RPS_FAILED);
    fixture_says(&err, path, "holds 4 periods", "but 3 more periods",
                 "another program holds its lock", "3 periods and 0 marks and gaps stay in memory",
                 NULL);
    rps_writer_close(writer);
    rps_run_free(&run);
    release_lock(other);
    holds(path, 1, 0, 7);
    stop_notices(&notices);
}

/* 0 when a write that the file-size limit stops is made up for; in a child, for the limit's
 * sake. */
static int limited_child(const char *path)
{
    struct notices notices;
    struct rps_run run;
    struct rps_writer *writer;
    struct rlimit limit, tight;

    signal(SIGXFSZ, SIG_IGN);
    start_notices(&notices, 0);
    writer = fixture_writer(path, &notices.options, &run);
    write_periods(writer, 0, 10);
    wait_committed(writer, 10);
    getrlimit(RLIMIT_FSIZE, &limit);
    tight = limit;
    tight.rlim_cur = 8192;
    setrlimit(RLIMIT_FSIZE, &tight);
    write_periods(writer, 10, 20);
    expect_notice(&notices, "File too large");
    write_periods(writer, 20, 40);
    setrlimit(RLIMIT_FSIZE, &limit);
    expect_notice(&notices, "possible again; no period was lost");
    fixture_end(writer, &run);
    holds(path, 1, 0, 40);
    stop_notices(&notices);
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

/* --- trouble that does not ------------------------------------------------------------------- */

static void damage_ends_writing(void **state)
{
    const char *path = fixture_path(state, "s");
    struct notices notices;
    struct rps_writer_status status;
    struct rps_run run;
    struct rps_writer *writer;
    struct rps_error err;

    start_notices(&notices, 0);
    writer = fixture_writer(path, &notices.options, &run);
    write_periods(writer, 0, 4);
    wait_committed(writer, 4);
    fixture_exec(path, "ALTER TABLE period RENAME TO elsewhere");
    write_periods(writer, 4, 6);
    expect_notice(&notices, "recording into");
    write_periods(writer, 6, 9);
    rps_writer_status(writer, &status);
    assert_int_equal(status.failing, 1);
    assert_true(status.dropped >= 3);
    fixture_exec(path, "ALTER TABLE elsewhere RENAME TO period");
    assert_int_equal(rps_writer_end(writer, &run, &err), RPS_FAILED);
    fixture_says(&err, "holds 4 periods", "but 5 more periods", "no such table", NULL);
    rps_writer_close(writer);
    rps_run_free(&run);
    assert_string_equal(fixture_text(path, "SELECT state FROM run"), "interrupted");
    assert_int_equal(fixture_number(path, "SELECT end_reason LIKE '%no such table%' FROM run"), 1);
    stop_notices(&notices);
}

/* --- other processes ------------------------------------------------------------------------- */

/* A child that writes periods, tells when they are committed, and waits to be killed. */
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

        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nothing behind */
        writer = fixture_writer(path, options, &run);
        write_periods(writer, 0, 1);
        wait_committed(writer, 1); /* the next commit is due after commit_ns */
        write_periods(writer, 1, periods);
        wait_committed(writer, options && options->commit_ns != 0 ? 1 : periods);
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
    assert_int_equal(rps_reader_run(reader, run_id, run, &err), 0);
    rps_reader_close(reader);
    return run->state;
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
    /* read while it is being written */
    assert_int_equal(state_of(path, 1, &run), RPS_RUN_RECORDING);
    assert_int_equal(run.elapsed_ns, last.start_ns + last.length_ns);
    rps_run_free(&run);
    holds(path, 1, 0, 3000);
    /* another opening does not touch a run whose recorder lives */
    assert_int_equal(rps_writer_open(&writer, path, &(struct rps_writer_options){0}, &err), 0);
    rps_writer_close(writer);
    assert_string_equal(fixture_text(path, "SELECT state FROM run"), "recording");

    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(state_of(path, 1, &run), RPS_RUN_INTERRUPTED);
    assert_string_equal(run.end_reason, "the recorder was killed");
    rps_run_free(&run);
    assert_string_equal(fixture_text(path, "SELECT state FROM run"), "recording");
    holds(path, 1, 0, 3000);
    writer = NULL;
    assert_int_equal(rps_writer_open(&writer, path, &(struct rps_writer_options){0}, &err), 0);
    rps_writer_close(writer);
    assert_string_equal(fixture_text(path, "SELECT state FROM run"), "interrupted");
    assert_int_equal(fixture_number(path, "SELECT elapsed_ns FROM run"),
                     last.start_ns + last.length_ns);
    holds(path, 1, 0, 3000);
}

/* A recorder that commits once an hour, with 1,000 periods in its queue. */
static pid_t start_seldom(const char *path, int *ret_ready)
{
    const struct rps_writer_options seldom = {.commit_ns = INT64_C(3600) * 1000000000,
                                              .queue_periods = 3000};

    return start_recorder(path, &seldom, 1000, ret_ready);
}

/* What a recorder with grouped commits had not committed is there for the next reader. */
static void a_killed_recorder_loses_nothing(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    int ready, status;
    pid_t child = start_seldom(path, &ready);
    char uuid[40];

    wait_ready(ready);
    assert_int_equal(state_of(path, 1, &run), RPS_RUN_RECORDING); /* nothing is taken from it */
    snprintf(uuid, sizeof(uuid), "%s", run.uuid);
    rps_run_free(&run);
    assert_true(fixture_number(path, "SELECT count(*) FROM period") < 1000);
    assert_false(rps_left_is_there(uuid)); /* it is not left: it has it */

    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(state_of(path, 1, &run), RPS_RUN_INTERRUPTED);
    rps_run_free(&run);
    holds(path, 1, 0, 1000);
    assert_string_equal(fixture_text(path, "SELECT state FROM run"), "interrupted");
    assert_false(rps_left_is_there(uuid));
}

/* How many sets there are is counted: what the store says of it may be anything. */
static void recovery_believes_no_set_count(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    int ready, status;
    pid_t child = start_seldom(path, &ready);

    wait_ready(ready);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    fixture_exec(path, "PRAGMA ignore_check_constraints = 1;"
                       "UPDATE run SET set_count = 4611686018427387904");
    assert_int_equal(state_of(path, 1, &run), RPS_RUN_INTERRUPTED);
    rps_run_free(&run);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM period"), 1000);
    assert_int_equal(fixture_number(path, "SELECT count(c0) FROM period"), 1000);
}

/* A file that says it is a run of somebody else's shared memory gets nothing out of it. */
static void recovery_believes_no_name(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);

    write_periods(writer, 0, 3);
    fixture_end(writer, &run);
    fixture_exec(path, "UPDATE run SET state = 'recording', boot_id = 'before',"
                       " uuid = '../../etc/passwd'");
    assert_int_equal(state_of(path, 1, &run), RPS_RUN_INTERRUPTED);
    rps_run_free(&run);
    holds(path, 1, 0, 3);
}

static void only_dead_recorders_of_this_host_are_marked(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_writer *writer;
    struct rps_run run;
    struct rps_error err;

    for (int i = 0; i < 5; i++) {
        writer = fixture_writer(path, NULL, &run);
        assert_int_equal(rps_writer_end(writer, &run, &err), 0); /* its state is `recording` */
        rps_writer_close(writer);
        rps_run_free(&run);
    }
    fixture_exec(path, "UPDATE run SET boot_id = 'another' WHERE run_id = 2;"
                       "UPDATE run SET recorder_start_ticks = 1 WHERE run_id = 3;"
                       "UPDATE run SET host = 'elsewhere.invalid', boot_id = 'another',"
                       " recorder_start_ticks = 1 WHERE run_id = 4;"
                       "UPDATE run SET recorder_pid = NULL WHERE run_id = 5");
    writer = NULL;
    assert_int_equal(rps_writer_open(&writer, path, &(struct rps_writer_options){0}, &err), 0);
    rps_writer_close(writer);
    assert_string_equal(fixture_text(path, "SELECT group_concat(state, ' ') FROM"
                                           " (SELECT state FROM run ORDER BY run_id)"),
                        "recording interrupted interrupted recording recording");
}

/* In a container whose first process waits for nobody, a killed recorder stays in the table. */
static void a_recorder_that_nobody_waited_for_is_dead(void **state)
{
    char host[256];
    siginfo_t ended;
    pid_t child = fixture_fork();

    (void)state;
    if (child == 0)
        for (;;)
            pause();
    assert_int_equal(gethostname(host, sizeof(host)), 0);
    assert_int_equal(rps_recorder_is_dead(host, "", child, 0), 0);
    kill(child, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
    assert_int_equal(rps_recorder_is_dead(host, "", child, 0), 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(rps_recorder_is_dead(host, "", child, 0), 1);
}

static void two_recorders_share_a_store(void **state)
{
    const char *path = fixture_path(state, "s");
    pid_t child[2];
    int ready[2], status;

    /* both may create it */
    for (int i = 0; i < 2; i++)
        child[i] = start_recorder(path, NULL, 4000, &ready[i]);
    for (int i = 0; i < 2; i++)
        wait_ready(ready[i]);
    for (int i = 0; i < 2; i++) {
        kill(child[i], SIGKILL);
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
    }
    holds(path, 1, 0, 4000);
    holds(path, 2, 0, 4000);
    assert_int_equal(fixture_number(path, "SELECT count(DISTINCT uuid) FROM run"), 2);
    assert_string_equal(fixture_text(path, "PRAGMA integrity_check"), "ok");
}

/* The store that an intruder makes, once, as soon as somebody asked what it is. */
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

/* Another recorder creates it between two questions: what it is must be one answer. */
static void a_store_is_made_while_it_is_opened(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_writer *writer;
    sqlite3 *db = NULL;
    struct rps_run run;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK); /* blank, but no empty file any more */
    assert_int_equal(sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    intruded = path;
    sqlite3_auto_extension((void (*)(void))watch_statements);
    writer = fixture_writer(path, NULL, &run);
    sqlite3_reset_auto_extension();
    assert_null(intruded);
    write_periods(writer, 0, 3);
    fixture_end(writer, &run);
    holds(path, 1, 0, 3);
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

    write_periods(writer, 0, 500);
    wait_committed(writer, 500);
    assert_int_equal(rps_reader_open(&reader, path, &err), 0);
    assert_int_equal(rps_cursor_open(&cursor, reader, 1, 0, INT64_MAX, &err), 0);
    assert_int_equal(rps_cursor_next(cursor, &period, &err), 1);
    write_periods(writer, 500, 3000);
    wait_committed(writer, 3000); /* the writer does not wait for the reader */
    while (rps_cursor_next(cursor, &period, &err) == 1)
        got++;
    assert_int_equal(got, 499);
    rps_cursor_close(cursor);
    rps_reader_close(reader);
    fixture_end(writer, &run);
    holds(path, 1, 0, 3000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(many_periods_are_kept_small),
        TEST(short_rows_are_ordinary_rows),
        TEST(several_runs_with_one_writer),
        TEST(grouped_commits_wait_for_the_end),
        TEST(half_a_queue_does_not_wait),
        TEST(durability_full_syncs),
        TEST(a_lock_is_waited_for),
        TEST(a_full_queue_becomes_a_gap),
        TEST(a_gap_at_the_end_is_kept_too),
        TEST(the_end_does_not_wait_for_ever),
        TEST(a_write_that_fails_is_tried_again),
        TEST(damage_ends_writing),
        TEST(a_killed_recorder_leaves_a_good_run),
        TEST(a_killed_recorder_loses_nothing),
        TEST(recovery_believes_no_set_count),
        TEST(recovery_believes_no_name),
        TEST(only_dead_recorders_of_this_host_are_marked),
        TEST(a_recorder_that_nobody_waited_for_is_dead),
        TEST(two_recorders_share_a_store),
        TEST(a_store_is_made_while_it_is_opened),
        TEST(a_cursor_sees_one_state),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
