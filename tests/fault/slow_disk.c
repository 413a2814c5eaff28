/*
 * A disk that stalls, and one that is full for a while. Time is the simulated processor's: it
 * stands still while the disk works, and goes on while the disk stalls, so that 30 s of stall are
 * 300 periods of 100 ms whatever the machine. A loop that waited for the disk would wait for ever,
 * and is seen.
 */
#include "fault_vfs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "recording.h"
#include "rpistat/clock.h"
#include "rpistat/loop.h"
#include "sound.h"
#include "store/writer.h"

#define PERIOD_NS     (100 * RPS_NS_PER_MS)
#define STALL_NS      (30 * RPS_NS_PER_S)
#define STALL_COMMITS 10
#define STUCK_S       20

#define SCRIPT                                                                                     \
    "default instructions=200M branches=20M branch_miss=1M dc_access=50M dc_miss=2M\n"             \
    "repeat 60\nphase calm 30s\nphase busy 30s dc_miss=9M\nend\n"

struct stalls {
    pthread_mutex_t lock;
    pthread_cond_t passed; /* time has */
    int64_t now_ns;        /* simulated */
    int64_t end_ns;        /* of the latest stall */
    bool over, stuck;
    uint64_t commits, count;
    struct rps_writer *writer;
    uint64_t periods, late, most_queued; /* the sink's */
};

/* Every tenth sync of the log, one a commit, returns when 30 s have passed. */
static int stall_hook(void *context, const struct fault_step *step)
{
    struct stalls *stalls = context;
    struct timespec until;

    if (step->op != FAULT_SYNC || !fault_path_is(step->path, "-wal"))
        return fault_skip_sync(NULL, step);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STUCK_S;
    pthread_mutex_lock(&stalls->lock);
    if (++stalls->commits % STALL_COMMITS == 0 && !stalls->over) {
        stalls->end_ns = stalls->now_ns + STALL_NS;
        stalls->count++;
        while (stalls->now_ns < stalls->end_ns && !stalls->over && !stalls->stuck)
            stalls->stuck = pthread_cond_timedwait(&stalls->passed, &stalls->lock, &until) != 0;
    }
    pthread_mutex_unlock(&stalls->lock);
    return FAULT_SKIP;
}

static bool is_stalled(struct stalls *stalls)
{
    bool stalled;

    pthread_mutex_lock(&stalls->lock);
    stalled = stalls->now_ns < stalls->end_ns;
    pthread_mutex_unlock(&stalls->lock);
    return stalled;
}

static void sink_period(void *context, const struct rps_period *period)
{
    const struct timespec pause = {.tv_nsec = 10000};
    struct stalls *stalls = context;
    struct rps_writer_status status;

    rps_writer_period(stalls->writer, period);
    stalls->periods++;
    stalls->late += period->missed > 0 || period->length_ns != PERIOD_NS;
    pthread_mutex_lock(&stalls->lock);
    stalls->now_ns = period->start_ns + period->length_ns;
    pthread_cond_signal(&stalls->passed);
    pthread_mutex_unlock(&stalls->lock);
    for (;;) { /* a disk that works is faster than time */
        rps_writer_status(stalls->writer, &status);
        if (status.queued > stalls->most_queued)
            stalls->most_queued = status.queued;
        if (status.committed == stalls->periods || is_stalled(stalls))
            return;
        nanosleep(&pause, NULL);
    }
}

static void sink_mark(void *context, int64_t time_ns, const char *text)
{
    rps_writer_mark(((struct stalls *)context)->writer, time_ns, text);
}

static void sink_gap(void *context, int32_t cpu, int64_t start_ns, int64_t length_ns,
                     const char *reason)
{
    rps_writer_gap(((struct stalls *)context)->writer, cpu, start_ns, length_ns, reason);
}

static void run_loop(const struct recording_simulation *sim, struct stalls *stalls,
                     struct rps_run *run)
{
    const struct rps_sink sink = {stalls, sink_period, sink_mark, sink_gap};
    const struct rps_loop_options options = {
        .pmu = sim->pmu,
        .pmu_self = sim->self,
        .plan = sim->plan,
        .event_loop = sim->pmu->event_loop(sim->self),
        .sink = &sink,
        .period_ns = PERIOD_NS,
        .counting = 1,
    };
    enum rps_loop_end end;
    struct rps_error err;

    if (rps_loop_run(&options, &end, &run->elapsed_ns, &err) < 0)
        fail_msg("%s", err.message);
    pthread_mutex_lock(&stalls->lock);
    stalls->over = true;
    pthread_cond_signal(&stalls->passed);
    pthread_mutex_unlock(&stalls->lock);
}

static void a_disk_that_stalls_makes_no_period_late(void **state)
{
    const char *path = fixture_path(state, "rpistat.data");
    const struct rps_writer_options options = {.durability_full = 1};
    struct stalls stalls = {.lock = PTHREAD_MUTEX_INITIALIZER, .passed = PTHREAD_COND_INITIALIZER};
    struct rps_check_result check;
    struct recording_simulation sim;
    struct rps_error err;
    struct rps_run run;

    fixture_run(&run);
    recording_simulate(&sim, fixture_path(state, "script.sim"), SCRIPT);
    if (rps_writer_open(&stalls.writer, path, &options, &err) < 0 ||
        rps_writer_begin(stalls.writer, &run, sim.plan, &err) < 0)
        fail_msg("%s", err.message);
    fault_vfs_set_hook(stall_hook, &stalls);
    run_loop(&sim, &stalls, &run);
    run.state = RPS_RUN_COMPLETE;
    if (rps_writer_end(stalls.writer, &run, &err) < 0)
        fail_msg("%s", err.message);
    rps_writer_close(stalls.writer);
    fault_vfs_set_hook(fault_skip_sync, NULL);

    assert_false(stalls.stuck);
    assert_int_equal(recording_check(path, "a disk that stalls", &check), 0);
    assert_int_equal(stalls.late, 0);
    assert_int_equal(check.periods, stalls.periods);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM gap"), 0);
    assert_true(stalls.count > 50);
    assert_in_range(stalls.most_queued, STALL_NS / PERIOD_NS, 2 * STALL_NS / PERIOD_NS);
    print_message(
        "# %ju stalls of 30 s, at every tenth commit: %ju of %ju periods late, %ju lost; at "
        "most %ju waited in the queue\n",
        (uintmax_t)stalls.count, (uintmax_t)stalls.late, (uintmax_t)stalls.periods,
        (uintmax_t)(stalls.periods - check.periods), (uintmax_t)stalls.most_queued);
    recording_end_simulation(&sim);
    rps_run_free(&run);
}

/* --- full for a while ------------------------------------------------------------------------- */

#define ROOM 50

struct full_disk {
    atomic_bool full;
    atomic_int said;
    uint64_t pushed;
    struct rps_writer *writer;
};

static int full_hook(void *context, const struct fault_step *step)
{
    struct full_disk *disk = context;

    if (step->op == FAULT_WRITE && atomic_load(&disk->full)) {
        step->real->pMethods->xWrite(step->real, step->data, step->size / 3, step->offset);
        return SQLITE_FULL;
    }
    return fault_skip_sync(NULL, step);
}

static void count_notice(void *context, const char *sentence)
{
    struct full_disk *disk = context;

    (void)sentence;
    atomic_fetch_add(&disk->said, 1);
}

static void push(struct full_disk *disk, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct rps_period period = sound_period(disk->pushed++);

        rps_writer_period(disk->writer, &period);
    }
}

/* Wait until all is written, or for the full disk to be said. */
static void wait_for(struct full_disk *disk, bool written, int said)
{
    const struct timespec pause = {.tv_nsec = 100000};
    struct rps_writer_status status;

    do {
        nanosleep(&pause, NULL);
        rps_writer_status(disk->writer, &status);
    } while ((written && (status.queued > 0 || status.failing)) || atomic_load(&disk->said) < said);
}

static void a_full_disk_loses_only_what_has_no_room(void **state)
{
    const char *path = fixture_path(state, "rpistat.data");
    struct full_disk disk = {.pushed = 0};
    const struct rps_writer_options options = {
        .queue_periods = ROOM, .notice = count_notice, .notice_context = &disk};
    struct rps_check_result check;
    struct rps_run run;

    disk.writer = fixture_writer(path, &options, &run);
    fault_vfs_set_hook(full_hook, &disk);
    push(&disk, 20);
    wait_for(&disk, true, 0);
    for (int i = 0; i < 3; i++) { /* within the room: nothing is lost */
        atomic_store(&disk.full, true);
        push(&disk, ROOM - 10);
        wait_for(&disk, false, 2 * i + 1);
        atomic_store(&disk.full, false);
        wait_for(&disk, true, 2 * i + 2);
    }
    atomic_store(&disk.full, true);
    push(&disk, 1); /* tried, and kept */
    wait_for(&disk, false, 7);
    push(&disk, ROOM - 1 + 30);
    atomic_store(&disk.full, false);
    wait_for(&disk, true, 8);
    push(&disk, 10);
    run.elapsed_ns = (int64_t)disk.pushed * SOUND_LENGTH_NS;
    fixture_end(disk.writer, &run);
    fault_vfs_set_hook(fault_skip_sync, NULL);

    assert_int_equal(atomic_load(&disk.said), 8);
    assert_int_equal(recording_check(path, "a full disk", &check), 0);
    assert_int_equal(check.periods, disk.pushed - 30);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM gap"), 1);
    assert_int_equal(fixture_number(path, "SELECT length_ns FROM gap"), 30 * SOUND_LENGTH_NS);
    assert_non_null(strstr(fixture_text(path, "SELECT reason FROM gap"), "30 periods lost"));
    print_message("# full 4 times: %ju of %ju periods kept, the 30 that had no room in a gap row\n",
                  (uintmax_t)check.periods, (uintmax_t)disk.pushed);
}

/* A disk that is full to the end of the run, and is freed afterwards. */
static void full_to_the_end(void **state, struct rps_writer_options options, uint64_t too_many)
{
    const char *path = fixture_path(state, "rpistat.data");
    struct full_disk disk = {.pushed = 0};
    struct rps_reader *reader = NULL;
    struct rps_check_result check;
    struct rps_error err;
    struct rps_run run;

    options.queue_periods = ROOM;
    options.notice = count_notice;
    options.notice_context = &disk;
    disk.writer = fixture_writer(path, &options, &run);
    fault_vfs_set_hook(full_hook, &disk);
    push(&disk, 20);
    rps_writer_mark(disk.writer, 1, "written");
    wait_for(&disk, true, 0);
    atomic_store(&disk.full, true);
    push(&disk, 1);
    rps_writer_mark(disk.writer, 2, "not written"); /* nor does it wait for the commit's time */
    wait_for(&disk, false, 1);
    push(&disk, ROOM - 1 + too_many);
    disk.writer->patience_ns = 1;
    run.state = RPS_RUN_COMPLETE;
    run.exit_status = 3;
    run.elapsed_ns = (int64_t)disk.pushed * SOUND_LENGTH_NS;
    assert_int_equal(rps_writer_end(disk.writer, &run, &err), RPS_FAILED);
    fixture_says(&err, "holds 20 periods", "50 periods and", "stay in memory", "its disk is full",
                 NULL);
    rps_writer_close(disk.writer);
    rps_run_free(&run);

    if (rps_reader_open(&reader, path, &err) < 0 || rps_reader_run(reader, 1, &run, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(run.state, RPS_RUN_INTERRUPTED);
    assert_non_null(strstr(run.end_reason, "could not be written to the end of the recording"));
    assert_non_null(strstr(run.end_reason, "its disk is full"));
    rps_run_free(&run);
    rps_reader_close(reader);

    atomic_store(&disk.full, false);
    assert_int_equal(recording_check(path, "full to the end", &check), 0);
    assert_int_equal(check.periods, disk.pushed - too_many);
    assert_false(recording_leaves_queue(path));
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM mark"), 2);
    assert_int_equal(fixture_number(path, "SELECT exit_status FROM run"), 3);
    assert_int_equal(fixture_number(path, "SELECT elapsed_ns FROM run"),
                     (int64_t)disk.pushed * SOUND_LENGTH_NS);
    assert_string_equal(fixture_text(path, "SELECT state FROM run"), "interrupted");
    assert_non_null(strstr(fixture_text(path, "SELECT end_reason FROM run"),
                           "its disk is full; the last 50 periods"));
    assert_int_equal(fixture_number(path, "SELECT total(length_ns) FROM gap"),
                     (int64_t)too_many * SOUND_LENGTH_NS);
    fault_vfs_set_hook(fault_skip_sync, NULL);
    print_message("# full to the end: the %d periods of the queue were brought in afterwards, "
                  "%ju without room are in a gap row\n",
                  ROOM, (uintmax_t)too_many);
}

static void a_disk_full_to_the_end_leaves_the_queue(void **state)
{
    if (access("/dev/shm", W_OK) != 0)
        skip();
    full_to_the_end(state, (struct rps_writer_options){.commit_ns = RPS_COMMIT_CHOSEN}, 0);
    recording_remove(fixture_path(state, "rpistat.data"));
    full_to_the_end(state, (struct rps_writer_options){.commit_ns = RPS_COMMIT_CHOSEN}, 30);
    recording_remove(fixture_path(state, "rpistat.data"));
    full_to_the_end(state, (struct rps_writer_options){.durability_full = 1}, 30);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_disk_that_stalls_makes_no_period_late),
        TEST(a_full_disk_loses_only_what_has_no_room),
        TEST(a_disk_full_to_the_end_leaves_the_queue),
    };

    fault_vfs_install();
    fault_vfs_set_hook(fault_skip_sync, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
