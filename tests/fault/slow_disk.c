/* Tests of a disk that stalls, and of a disk that is full for a while. Simulated time stops while
 * the disk works and continues while the disk stalls. So 30 s of stall are 300 periods of 100 ms on
 * any machine. A loop that waited for the disk would never end, so the test detects it. */
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
    pthread_cond_t passed; /* signalled when time has passed */
    int64_t now_ns;        /* simulated time */
    int64_t end_ns;        /* end of the latest stall */
    bool over, stuck;
    uint64_t commits, count;
    struct rps_writer *writer;
    uint64_t periods, late, most_queued; /* statistics of the period sink */
};

/* Let every tenth sync of the log return after 30 s. There is one sync per commit. */
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
    for (;;) { /* A disk that works is faster than the simulated time. */
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
        "most %ju waited in the ring\n",
        (uintmax_t)stalls.count, (uintmax_t)stalls.late, (uintmax_t)stalls.periods,
        (uintmax_t)(stalls.periods - check.periods), (uintmax_t)stalls.most_queued);
    recording_end_simulation(&sim);
    rps_run_free(&run);
}

/* --- full for a while ------------------------------------------------------------------------- */

struct full_disk {
    atomic_bool full;
    atomic_int said;
    uint64_t pushed, room; /* room: periods that fit in the ring */
    struct rps_writer *writer;
};

/* Begin a run with a small ring. */
static void begin_small(struct full_disk *disk, const char *path,
                        const struct rps_writer_options *options, struct rps_run *run)
{
    struct rps_writer *writer = fixture_writer(path, options, run);
    struct rps_error err;

    pthread_mutex_lock(&writer->lock);
    rps_ring_free(&writer->ring);
    assert_int_equal(rps_ring_init(&writer->ring, 12288, &err), 0);
    pthread_mutex_unlock(&writer->lock);
    disk->room = writer->ring.size / rps_ring_bytes(sizeof(struct rps_period));
    disk->writer = writer;
}

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

/* Wait until everything is written, or until the full disk has been reported. */
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
    const struct rps_writer_options options = {.notice = count_notice, .notice_context = &disk};
    struct rps_check_result check;
    struct rps_run run;

    begin_small(&disk, path, &options, &run);
    fault_vfs_set_hook(full_hook, &disk);
    push(&disk, 20);
    wait_for(&disk, true, 0);
    for (int i = 0; i < 3; i++) { /* The ring has room for these periods, so nothing is lost. */
        atomic_store(&disk.full, true);
        push(&disk, disk.room - 10);
        wait_for(&disk, false, 2 * i + 1);
        atomic_store(&disk.full, false);
        wait_for(&disk, true, 2 * i + 2);
    }
    atomic_store(&disk.full, true);
    push(&disk, 1); /* The write fails and the period is kept. */
    wait_for(&disk, false, 7);
    push(&disk, disk.room - 1 + 30);
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

/* If the disk stays full to the end of the run, earlier data are kept, and the loss is reported. */
static void a_disk_full_to_the_end(void **state, int64_t commit_ns, int durability_full)
{
    const char *path = fixture_path(state, "rpistat.data");
    struct full_disk disk = {.pushed = 0};
    const struct rps_writer_options options = {.commit_ns = commit_ns,
                                               .durability_full = durability_full,
                                               .notice = count_notice,
                                               .notice_context = &disk};
    struct rps_check_result check;
    struct rps_error err;
    struct rps_run run;
    char more[64];

    begin_small(&disk, path, &options, &run);
    fault_vfs_set_hook(full_hook, &disk);
    push(&disk, 20);
    rps_writer_mark(disk.writer, 1, "written");
    wait_for(&disk, true, 0);
    atomic_store(&disk.full, true);
    push(&disk, 1);
    wait_for(&disk, false, 1);
    push(&disk, disk.room - 1 + 30);
    disk.writer->patience_ns = 1;
    run.state = RPS_RUN_COMPLETE;
    run.elapsed_ns = (int64_t)disk.pushed * SOUND_LENGTH_NS;
    assert_int_equal(rps_writer_end(disk.writer, &run, &err), RPS_FAILED);
    snprintf(more, sizeof(more), "but %ju more periods", (uintmax_t)disk.room + 30);
    fixture_says(&err, "has 20 periods", more, "its disk is full", NULL);
    rps_writer_close(disk.writer);
    rps_run_free(&run);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM period"), 20);

    atomic_store(&disk.full, false);
    assert_int_equal(recording_check(path, "full to the end", &check), 0);
    assert_int_equal(check.periods, 20);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM mark"), 1);
    recording_add(path, "full to the end", 20);
    fault_vfs_set_hook(fault_skip_sync, NULL);
    recording_remove(path);
}

static void a_disk_full_to_the_end_is_said(void **state)
{
    a_disk_full_to_the_end(state, 0, 0);
    a_disk_full_to_the_end(state, 0, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_disk_that_stalls_makes_no_period_late),
        TEST(a_full_disk_loses_only_what_has_no_room),
        TEST(a_disk_full_to_the_end_is_said),
    };

    fault_vfs_install();
    fault_vfs_set_hook(fault_skip_sync, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
