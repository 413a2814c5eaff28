/*
 * What recorders leave behind: the end of a run that could not be written, queues in shared memory
 * that no store asks for any more, and a store whose name was taken from it.
 */
#include "fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sound.h"
#include "store/queue_head.h"
#include "store/writer.h"

struct notices {
    char text[2048];
};

static void keep_notice(void *context, const char *sentence)
{
    struct notices *notices = context;
    size_t used = strlen(notices->text);

    snprintf(notices->text + used, sizeof(notices->text) - used, "%s\n", sentence);
}

static void push(struct rps_writer *writer, uint64_t first, uint64_t end)
{
    for (uint64_t n = first; n < end; n++) {
        struct rps_period period = sound_period(n);

        rps_writer_period(writer, &period);
    }
}

static void wait_committed(struct rps_writer *writer, uint64_t count)
{
    const struct timespec pause = {.tv_nsec = 20000};
    struct rps_writer_status status;

    for (;;) {
        rps_writer_status(writer, &status);
        if (status.committed >= count)
            return;
        nanosleep(&pause, NULL);
    }
}

/* The store is sound, with so many runs and periods. */
static void is_sound(const char *path, uint64_t runs, uint64_t periods)
{
    struct findings found;

    sound_check(&found, path);
    if (found.check.wrong > 0)
        fail_msg("%s", found.text);
    assert_int_equal(found.check.runs, runs);
    assert_int_equal(found.check.periods, periods);
}

/* --- queues that nobody asks for ------------------------------------------------------------- */

static const struct rps_writer_options seldom = {.commit_ns = INT64_C(3600000000000)};

/* A recorder that is killed with `periods` periods not committed; its run's uuid. */
static void leave_queue(const char *path, uint64_t periods, char ret_uuid[40])
{
    int channel[2], status;
    pid_t child;

    if (access("/dev/shm", W_OK) != 0)
        skip();
    assert_int_equal(pipe(channel), 0);
    child = fixture_fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rps_run run;
        struct rps_writer *writer = fixture_writer(path, &seldom, &run);

        push(writer, 0, periods);
        if (write(channel[1], run.uuid, 40) != 40)
            _exit(1);
        raise(SIGKILL);
    }
    assert_int_equal(read(channel[0], ret_uuid, 40), 40);
    assert_int_equal(waitpid(child, &status, 0), child);
    close(channel[0]);
    close(channel[1]);
    assert_true(rps_left_is_there(ret_uuid));
}

/* Open another store, as a recorder does. */
static void open_another(void **state, struct notices *notices)
{
    const struct rps_writer_options options = {.notice = keep_notice, .notice_context = notices};
    struct rps_writer *writer = NULL;
    struct rps_error err;

    notices->text[0] = '\0';
    if (rps_writer_open(&writer, fixture_path(state, "another"), &options, &err) < 0)
        fail_msg("%s", err.message);
    rps_writer_close(writer);
}

/* Two days pass since the memory was last touched. */
static void age(const char *uuid)
{
    const struct timespec then = {.tv_sec = time(NULL) - 2 * 86400};
    const struct timespec both[2] = {then, then};
    char name[80];
    int fd;

    snprintf(name, sizeof(name), "/rpistat-%s", uuid);
    fd = shm_open(name, O_RDWR, 0);
    assert_true(fd >= 0);
    assert_int_equal(futimens(fd, both), 0);
    close(fd);
}

/* The queue of a store that is missing is removed, not too early; 1 when this recorder did it: any
 * other of this user's may, in a test that runs beside this one. */
static int removes(void **state, const char *path, struct notices *notices)
{
    char uuid[40];

    leave_queue(path, 5, uuid);
    age(uuid); /* the recording was long: that is nothing */
    open_another(state, notices);
    assert_true(rps_left_is_there(uuid)); /* its store is there */
    assert_int_equal(rename(path, fixture_path(state, "moved")), 0);
    open_another(state, notices);
    assert_true(rps_left_is_there(uuid)); /* missed from now on */
    open_another(state, notices);
    assert_true(rps_left_is_there(uuid));
    assert_null(strstr(notices->text, path));
    age(uuid);
    open_another(state, notices);
    assert_false(rps_left_is_there(uuid));
    return strstr(notices->text, "removed from memory") && strstr(notices->text, path);
}

static void a_queue_without_a_store_is_removed_after_a_day(void **state)
{
    struct notices notices;
    char path[512];
    int attempt = 0;

    snprintf(path, sizeof(path), "%s", fixture_path(state, "s")); /* its own is soon used again */
    while (!removes(state, path, &notices))
        assert_true(++attempt < 20);
    open_another(state, &notices);
    assert_null(strstr(notices.text, path));
}

static void a_store_that_was_moved_gets_its_queue(void **state)
{
    const char *path = fixture_path(state, "s"), *moved = fixture_path(state, "moved");
    char name[600], uuid[40];
    struct notices notices;

    leave_queue(path, 5, uuid);
    assert_int_equal(rename(path, moved), 0);
    snprintf(name, sizeof(name), "%s-wal", path);
    assert_int_equal(rename(name, fixture_path(state, "moved-wal")), 0);
    open_another(state, &notices);
    is_sound(moved, 1, 5);
    assert_false(rps_left_is_there(uuid));
}

static void a_queue_that_was_brought_in_is_removed(void **state)
{
    const char *path = fixture_path(state, "another");
    struct notices notices;
    char uuid[40];

    leave_queue(path, 5, uuid);
    /* as when the one who brought it in is killed before it lets go of the memory */
    fixture_exec(path, "UPDATE run SET state = 'interrupted'");
    open_another(state, &notices);
    assert_false(rps_left_is_there(uuid));
    assert_null(strstr(notices.text, path));
}

static void the_queue_of_a_living_recorder_stays(void **state)
{
    const char *path = fixture_path(state, "s");
    struct notices notices;
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, &seldom, &run);

    if (writer->queue.fd < 0)
        skip();
    push(writer, 0, 3);
    fixture_exec(path, "UPDATE run SET uuid = 'lost'"); /* nobody would ask for it */
    unlink(path);
    open_another(state, &notices);
    age(run.uuid);
    open_another(state, &notices);
    age(run.uuid);
    open_another(state, &notices);
    assert_null(strstr(notices.text, path));
    pthread_mutex_lock(&writer->lock);
    rps_queue_unshare(&writer->queue, run.uuid, true);
    pthread_mutex_unlock(&writer->lock);
    assert_true(rps_left_is_there(run.uuid));
    rps_left_forget(run.uuid);
    rps_writer_close(writer);
    rps_run_free(&run);
}

/* --- a store that is not at its place -------------------------------------------------------- */

enum how { DELETED, DELETED_ALL, MOVED, REPLACED };

static void take_away(void **state, const char *path, enum how how)
{
    char name[600];

    if (how == MOVED) {
        assert_int_equal(rename(path, fixture_path(state, "elsewhere")), 0);
    } else if (how == REPLACED) {
        sound_store(fixture_path(state, "new"), 1, 4);
        assert_int_equal(rename(fixture_path(state, "new"), path), 0);
    } else {
        assert_int_equal(unlink(path), 0);
        for (int i = 0; how == DELETED_ALL && i < 2; i++) {
            snprintf(name, sizeof(name), "%s-%s", path, i ? "shm" : "wal");
            unlink(name);
        }
    }
}

static void record_without_a_name(void **state, enum how how, int64_t commit_ns)
{
    const char *path = fixture_path(state, "s");
    struct notices notices = {""};
    const struct rps_writer_options options = {
        .commit_ns = commit_ns, .notice = keep_notice, .notice_context = &notices};
    struct rps_writer *writer;
    struct rps_error err;
    struct rps_run run;
    char saved[600];

    sound_store(path, 1, 6);
    writer = fixture_writer(path, &options, &run);
    push(writer, 0, 1);
    wait_committed(writer, 1); /* the thread has nothing to do now */
    take_away(state, path, how);
    writer->looked_ns = 0; /* the next look is due */
    push(writer, 1, 40);
    run.state = RPS_RUN_COMPLETE;
    run.exit_status = 0;
    run.elapsed_ns = 40 * SOUND_LENGTH_NS;
    snprintf(saved, sizeof(saved), "%s.saved-%.8s", path, run.uuid);
    assert_int_equal(rps_writer_end(writer, &run, &err), RPS_FAILED);
    fixture_says(&err, "was deleted, moved or replaced", "is saved as", saved, NULL);
    assert_non_null(strstr(notices.text, "deleted, moved or replaced while it is recorded into"));
    rps_writer_close(writer);
    rps_run_free(&run);
    is_sound(saved, 2, 46);
    assert_string_equal(fixture_text(saved, "SELECT state FROM run WHERE run_id = 2"), "complete");
    if (how == REPLACED)
        assert_int_equal(fixture_number(path, "SELECT count(*) FROM period"), 4);
    else
        assert_int_equal(access(path, F_OK), -1);
}

static void a_store_that_is_deleted_is_saved(void **state)
{
    record_without_a_name(state, DELETED, 0);
}

static void a_store_that_is_deleted_with_its_log_is_saved(void **state)
{
    record_without_a_name(state, DELETED_ALL, INT64_C(3600000000000));
}

static void a_store_that_is_moved_is_saved(void **state)
{
    record_without_a_name(state, MOVED, INT64_C(3600000000000));
}

static void a_store_that_is_replaced_is_saved(void **state)
{
    record_without_a_name(state, REPLACED, 0);
}

static void what_cannot_be_saved_is_said(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_writer *writer;
    struct rps_error err;
    struct rps_run run;
    char saved[600];

    writer = fixture_writer(path, &seldom, &run);
    push(writer, 0, 3);
    unlink(path);
    snprintf(saved, sizeof(saved), "%s.saved-%.8s", path, run.uuid);
    assert_int_equal(symlink("target", saved), 0);
    assert_int_equal(rps_writer_end(writer, &run, &err), RPS_FAILED);
    fixture_says(&err, "cannot be saved as", saved, "File exists", "is lost", NULL);
    rps_writer_close(writer);
    rps_run_free(&run);
    assert_int_equal(access(fixture_path(state, "target"), F_OK), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_queue_without_a_store_is_removed_after_a_day),
        TEST(a_store_that_was_moved_gets_its_queue),
        TEST(a_queue_that_was_brought_in_is_removed),
        TEST(the_queue_of_a_living_recorder_stays),
        TEST(a_store_that_is_deleted_is_saved),
        TEST(a_store_that_is_deleted_with_its_log_is_saved),
        TEST(a_store_that_is_moved_is_saved),
        TEST(a_store_that_is_replaced_is_saved),
        TEST(what_cannot_be_saved_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
