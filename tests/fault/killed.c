/* Tests of a recorder killed at every step: killed [STRIDE]
 *
 * A recorder is killed at each of its writes, syncs, openings and removals in turn, before the step
 * and in the middle of a write. The remaining store must be valid and hold every committed period.
 * If the recorder commits each period, the store must hold all periods except those handed over
 * since the last commit began. */
#include "fault_vfs.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recording.h"
#include "sound.h"

#define KILLED 77

static uint64_t stride = 1;

struct killer {
    atomic_uint_fast64_t steps; /* number of steps so far */
    uint64_t at;                /* number of the step that is not made */
    bool half;                  /* true: half of the step is made */
    bool alone;                 /* true: SQLite has no shared memory */
};

static int kill_hook(void *context, const struct fault_step *step)
{
    struct killer *killer = context;

    if (step->op == FAULT_SHM_MAP && killer->alone)
        return SQLITE_IOERR_SHMMAP;
    if (step->op == FAULT_READ || step->op == FAULT_SHM_MAP)
        return FAULT_GO;
    if (atomic_fetch_add(&killer->steps, 1) != killer->at)
        return step->op == FAULT_SYNC ? FAULT_SKIP : FAULT_GO;
    if (killer->half && step->op == FAULT_WRITE)
        step->real->pMethods->xWrite(step->real, step->data, step->size / 2, step->offset);
    _exit(KILLED);
}

struct scenario {
    const char *name;
    struct rps_writer_options options;
    uint64_t periods, each;
    bool alone, is_there;        /* is_there: an empty file of that name exists */
    uint64_t kills, most_behind; /* results: number of kills, and most periods lost */
};

/* Run a recorder in a child process. Return 1 if it was killed, 0 if it reached its end. */
static int record(const struct scenario *scenario, const char *path, uint64_t at, bool half,
                  struct recording_progress *progress)
{
    struct killer killer = {.at = at, .half = half, .alone = scenario->alone};
    const struct recording recording = {.path = path,
                                        .options = scenario->options,
                                        .periods = scenario->periods,
                                        .each = scenario->each,
                                        .progress = progress};
    struct rps_error err;
    int status = 0;
    pid_t child = fixture_fork();

    assert_true(child >= 0);
    if (child == 0) {
        fault_vfs_set_hook(kill_hook, &killer);
        _exit(recording_make(&recording, &err) < 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != KILLED))
        fail_msg("%s, step %ju: the recorder failed, %#x", scenario->name, (uintmax_t)at,
                 (unsigned int)status);
    return WEXITSTATUS(status) == KILLED;
}

static void look_at(struct scenario *scenario, const char *path, const char *what,
                    struct recording_progress *progress)
{
    uint64_t handed = atomic_load(&progress->handed);
    uint64_t committed = atomic_load(&progress->committed);
    uint64_t needed = scenario->options.commit_ns > 0 || handed < scenario->each
                          ? committed
                          : handed - scenario->each;
    struct rps_check_result check;
    int blank = recording_check(path, what, &check);

    if (check.periods < needed || check.periods < committed)
        fail_msg("%s: %ju periods, with %ju handed over and %ju seen to be committed", what,
                 (uintmax_t)check.periods, (uintmax_t)handed, (uintmax_t)committed);
    if (check.periods > 0) /* The remaining periods are the first ones. */
        assert_int_equal(fixture_number(path, "SELECT max(period) + 1 FROM period"), check.periods);
    if (handed - check.periods > scenario->most_behind && check.periods < handed)
        scenario->most_behind = handed - check.periods;
    if (atomic_load(&progress->begun) && (blank || check.runs != 1))
        fail_msg("%s: the run is not there", what);
    recording_add(path, what, check.periods);
}

static void kill_everywhere(void **state, struct scenario scenario)
{
    const char *path = fixture_path(state, "rpistat.data");
    struct recording_progress *progress =
        mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t at;

    assert_ptr_not_equal(progress, MAP_FAILED);
    fault_vfs_set_hook(fault_skip_sync, NULL);
    for (at = 0;; at += stride) {
        char what[160];
        bool half = (at / stride) % 2;

        memset((void *)progress, 0, sizeof(*progress));
        recording_remove(path);
        if (scenario.is_there)
            fixture_write_text(path, "");
        if (!record(&scenario, path, at, half, progress))
            break;
        snprintf(what, sizeof(what), "%s, killed %s step %ju", scenario.name,
                 half ? "half way through" : "before", (uintmax_t)at);
        look_at(&scenario, path, what, progress);
        scenario.kills++;
    }
    assert_true(scenario.kills > 10);
    assert_true(atomic_load(&progress->ended));
    munmap(progress, sizeof(*progress));
    print_message("# %s: killed at %ju steps, every store sound; at most %ju periods lost\n",
                  scenario.name, (uintmax_t)scenario.kills, (uintmax_t)scenario.most_behind);
}

static void with_a_commit_a_period(void **state)
{
    kill_everywhere(state,
                    (struct scenario){.name = "a commit a period", .periods = 24, .each = 1});
}

static void with_full_durability(void **state)
{
    kill_everywhere(state, (struct scenario){.name = "full durability",
                                             .options = {.durability_full = 1},
                                             .periods = 24,
                                             .each = 1});
}

static void with_seldom_commits(void **state)
{
    kill_everywhere(state, (struct scenario){.name = "seldom commits",
                                             .options = {.commit_ns = INT64_C(3600000000000)},
                                             .periods = 203,
                                             .each = 10});
}

static void without_shared_memory(void **state)
{
    kill_everywhere(
        state,
        (struct scenario){.name = "no shared memory", .alone = true, .periods = 63, .each = 10});
}

static void into_an_empty_file(void **state)
{
    kill_everywhere(
        state,
        (struct scenario){.name = "an empty file", .is_there = true, .periods = 24, .each = 1});
}

/* --- without shared memory -------------------------------------------------------------------- */

static int without_memory(void *context, const struct fault_step *step)
{
    if (step->op == FAULT_SHM_MAP)
        return SQLITE_IOERR_SHMMAP;
    return fault_skip_sync(context, step);
}

static void wait_when_committed(void *context, uint64_t periods)
{
    if (periods == 5 && write(*(int *)context, "x", 1) == 1)
        pause();
}

static int reads(const char *path, struct rps_error *err)
{
    struct rps_reader *reader = NULL;
    int result = rps_reader_open(&reader, path, err);

    rps_reader_close(reader);
    return result;
}

static int writes(const char *path, struct rps_error *err)
{
    const struct rps_writer_options options = {0};
    struct rps_writer *writer = NULL;
    int result = rps_writer_open(&writer, path, &options, err);

    rps_writer_close(writer);
    return result;
}

/* Expect a refusal in a child process, which waits as long as for any lock. */
static pid_t is_refused(int (*try)(const char *path, struct rps_error *err), const char *path)
{
    pid_t child = fixture_fork();
    struct rps_error err = {"it was not refused"};

    assert_true(child >= 0);
    if (child != 0)
        return child;
    if (try(path, &err) < 0 && strstr(err.message, "is locked by another program"))
        _exit(0);
    fprintf(stderr, "said: %s\n", err.message);
    _exit(1);
}

static void wait_for(pid_t child)
{
    int status = -1;

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* A recorder has the store to itself. If it is killed, the next reader recovers the store. */
static void alone_without_shared_memory(void **state)
{
    const char *path = fixture_path(state, "rpistat.data");
    struct recording_progress progress = {0};
    struct rps_check_result check;
    struct rps_error err;
    int ready[2], status = 0;
    pid_t child, reader, second;
    char byte;

    fault_vfs_set_hook(without_memory, NULL);
    assert_int_equal(pipe(ready), 0);
    child = fixture_fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct recording recording = {.path = path,
                                            .periods = 10,
                                            .each = 1,
                                            .progress = &progress,
                                            .committed = wait_when_committed,
                                            .context = &ready[1]};

        recording_make(&recording, &err);
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    reader = is_refused(reads, path);
    second = is_refused(writes, path);
    wait_for(reader);
    wait_for(second);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(recording_check(path, "killed alone", &check), 0);
    assert_int_equal(check.periods, 5);
    recording_add(path, "killed alone", 5);
    close(ready[0]);
    close(ready[1]);
}

/* --- deleting and merging --------------------------------------------------------------------- */

/* A change to the store at `path`. */
struct change {
    const char *name;
    int (*make)(const char *path, const char *other, struct rps_error *err);
    uint64_t periods, stride; /* periods of each run; additional stride between kills */
    uint64_t runs[2];         /* number of runs before and after the last transaction */
};

static int merge_all(const char *path, const char *other, struct rps_error *err)
{
    return rps_store_merge(path, other, NULL, 0, INT64_MAX, NULL, NULL, err);
}

static int merge_last(const char *path, const char *other, struct rps_error *err)
{
    return rps_store_merge(path, other, "last", 0, INT64_MAX, NULL, NULL, err);
}

static int delete_first(const char *path, const char *other, struct rps_error *err)
{
    (void)other;
    return rps_store_delete_run(path, 1, err);
}

/* Make the change in a child process. Return 1 if it was killed, 0 if it reached its end. */
static int change_killed(const struct change *change, const char *path, const char *other,
                         uint64_t at, bool half)
{
    struct killer killer = {.at = at, .half = half};
    struct rps_error err;
    int status = 0;
    pid_t child = fixture_fork();

    assert_true(child >= 0);
    if (child == 0) {
        fault_vfs_set_hook(kill_hook, &killer);
        _exit(change->make(path, other, &err) < 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != KILLED))
        fail_msg("%s, step %ju: failed, %#x", change->name, (uintmax_t)at, (unsigned int)status);
    return WEXITSTATUS(status) == KILLED;
}

/* Expect a valid store without findings, and `runs` runs, each complete. */
static void expect_whole(const char *path, const struct change *change, uint64_t at, uint64_t runs)
{
    struct findings findings;

    sound_check(&findings, path);
    if (findings.text[0] != '\0' || findings.check.runs != runs ||
        findings.check.periods != change->periods * runs)
        fail_msg("%s, killed at step %ju: %ju runs, %ju periods; %s", change->name, (uintmax_t)at,
                 (uintmax_t)findings.check.runs, (uintmax_t)findings.check.periods, findings.text);
}

/* A merge replaces the first of two runs and adds another one. Whenever a change is killed, each
 * run is either complete or as before. The change can then be repeated. */
static void kill_change(void **state, const struct change *change)
{
    static const char before_sql[] = "UPDATE run SET state = 'interrupted' WHERE run_id = 1;"
                                     "UPDATE run SET uuid = 'another' WHERE run_id = 2";
    const char *other = fixture_path(state, "other.data");
    const char *path = fixture_path(state, "rpistat.data");
    uint64_t kills = 0, done = 0, at;
    unsigned char *before;
    struct rps_error err;
    size_t size;

    fault_vfs_set_hook(fault_skip_sync, NULL);
    sound_store(other, 2, change->periods, 0);
    before = sound_read(other, &size);
    sound_write(path, before, size);
    fixture_exec(path, before_sql);
    fixture_exec(path, "PRAGMA journal_mode = DELETE");
    free(before);
    before = sound_read(path, &size);
    for (at = 0;; at += change->stride * stride, kills++) {
        uint64_t runs;

        recording_remove(path);
        sound_write(path, before, size);
        if (!change_killed(change, path, other, at, kills % 2))
            break;
        runs = (uint64_t)fixture_number(path, "SELECT count(*) FROM run");
        assert_true(runs == change->runs[0] || runs == change->runs[1]);
        done += runs == change->runs[1];
        expect_whole(path, change, at, runs);
        if (runs == change->runs[0]) {
            assert_int_equal(change->make(path, other, &err), 0);
            expect_whole(path, change, at, change->runs[1]);
        }
    }
    expect_whole(path, change, at, change->runs[1]);
    free(before);
    print_message("# %s: killed at %ju steps, it was done at %ju\n", change->name, (uintmax_t)kills,
                  (uintmax_t)done);
    assert_true(kills > done && done > 0);
}

static void while_it_merges(void **state)
{
    kill_change(state, &(struct change){"merging", merge_all, 200, 1, {2, 3}});
}

static void while_it_deletes(void **state)
{
    kill_change(state, &(struct change){"deleting", delete_first, 200, 1, {2, 1}});
}

/* The merge exceeds SQLite's cache, so rows of the transaction are in the log before the commit. */
static void while_it_merges_much(void **state)
{
    kill_change(state, &(struct change){"merging much", merge_last, 15000, 29, {2, 3}});
}

static void while_it_deletes_much(void **state)
{
    kill_change(state, &(struct change){"deleting much", delete_first, 15000, 29, {2, 1}});
}

/* --- another program's file ------------------------------------------------------------------- */

/* Run another program that is killed while it writes a transaction. */
static void foreign_program(const char *path)
{
    struct killer killer = {.at = UINT64_MAX};
    sqlite3 *db = NULL;

    fault_vfs_set_hook(kill_hook, &killer);
    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(db,
                     "PRAGMA cache_size = 5; CREATE TABLE t (a);"
                     "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                     " WHERE i < 500) INSERT INTO t SELECT randomblob(200) FROM n",
                     NULL, NULL, NULL) != SQLITE_OK)
        _exit(1);
    killer.at = atomic_load(&killer.steps) + 60;
    sqlite3_exec(db, "UPDATE t SET a = randomblob(200)", NULL, NULL, NULL);
    _exit(1);
}

static void another_programs_transaction_is_left_alone(void **state)
{
    const char *path = fixture_path(state, "foreign.db");
    const char *journal = fixture_path(state, "foreign.db-journal");
    const struct rps_writer_options options = {0};
    struct rps_writer *writer = NULL;
    struct rps_reader *reader = NULL;
    struct rps_error err;
    unsigned char *before, *after;
    size_t size, size_after;
    int status = 0;
    pid_t child = fixture_fork();

    assert_true(child >= 0);
    if (child == 0)
        foreign_program(path);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), KILLED);
    before = sound_read(path, &size);
    assert_true(rps_reader_open(&reader, path, &err) < 0);
    assert_true(rps_writer_open(&writer, path, &options, &err) < 0);
    after = sound_read(path, &size_after);
    assert_int_equal(size, size_after);
    assert_memory_equal(before, after, size);
    free(before);
    free(after);
    after = sound_read(journal, &size_after);
    assert_true(size_after > 512);
    free(after);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(with_a_commit_a_period),
        TEST(with_full_durability),
        TEST(with_seldom_commits),
        TEST(without_shared_memory),
        TEST(into_an_empty_file),
        TEST(alone_without_shared_memory),
        TEST(while_it_merges),
        TEST(while_it_deletes),
        TEST(while_it_merges_much),
        TEST(while_it_deletes_much),
        TEST(another_programs_transaction_is_left_alone),
    };

    if (argc > 1)
        stride = strtoull(argv[1], NULL, 10);
    fault_vfs_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
