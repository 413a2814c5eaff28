/* Tests of a failing disk: failing_disk [STRIDE]
 *
 * Every step of a recording (of the writes, every STRIDE-th) fails in turn. A step fails once and
 * four times in a row, in each way that a disk can fail. A recording that cannot begin prints the
 * reason in one sentence. A recording that has begun continues and loses nothing. In both cases the
 * store is valid for the next recording. */
#include "fault_vfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording.h"
#include "sound.h"

#define PERIODS 24

static uint64_t stride = 1;

struct failure {
    enum fault_op op;
    int code;
    bool half;      /* true: half of the data are written */
    uint64_t times; /* number of successive failures */
    uint64_t at;
    atomic_uint_fast64_t steps; /* number of steps with this op so far */
};

static int fail_hook(void *context, const struct fault_step *step)
{
    struct failure *failure = context;
    uint64_t number;

    if (step->op != failure->op)
        return fault_skip_sync(NULL, step);
    number = atomic_fetch_add(&failure->steps, 1);
    if (number < failure->at || number >= failure->at + failure->times)
        return fault_skip_sync(NULL, step);
    if (failure->half)
        step->real->pMethods->xWrite(step->real, step->data, step->size / 2, step->offset);
    return failure->code;
}

/* Record on the failing disk. */
static int record(struct failure *failure, const char *path, struct recording_progress *progress,
                  struct rps_error *err)
{
    const struct recording recording = {.path = path,
                                        .periods = PERIODS,
                                        .each = 1,
                                        .patience_ns = INT64_C(5000000000),
                                        .progress = progress};
    int result;

    fault_vfs_set_hook(fail_hook, failure);
    result = recording_make(&recording, err);
    fault_vfs_set_hook(fault_skip_sync, NULL);
    return result;
}

static void look_at(const char *path, const char *what, const struct recording_progress *progress,
                    int result, const struct rps_error *err)
{
    struct rps_check_result check;
    int blank = recording_check(path, what, &check);

    if (result < 0 && (strlen(err->message) < 20 || strchr(err->message, '\n')))
        fail_msg("%s: \"%s\" is no sentence", what, err->message);
    if (atomic_load(&progress->begun) && (blank || result < 0 || check.periods != PERIODS))
        fail_msg("%s: %ju periods, %s", what, (uintmax_t)check.periods,
                 result < 0 ? err->message : "said to be all");
    recording_add(path, what, check.periods);
}

/* Let each step of one kind fail in turn. Return the number of failures tested. */
static uint64_t fail_each(void **state, struct failure failure, const char *name,
                          uint64_t *ret_begun)
{
    const char *path = fixture_path(state, "rpistat.data");
    uint64_t cases = 0;

    for (;; failure.at += failure.op == FAULT_WRITE ? stride : 1) {
        struct recording_progress progress = {0};
        struct rps_error err = {0};
        char what[160];
        int result;

        snprintf(what, sizeof(what), "%s number %ju fails %ju times with %s",
                 fault_op_name(failure.op), (uintmax_t)failure.at, (uintmax_t)failure.times, name);
        recording_remove(path);
        atomic_store(&failure.steps, 0);
        result = record(&failure, path, &progress, &err);
        if (atomic_load(&failure.steps) <= failure.at)
            return cases;
        look_at(path, what, &progress, result, &err);
        cases++;
        *ret_begun += atomic_load(&progress.begun);
    }
}

/* Let one kind of step fail, once and repeatedly. Return the number of recordings that did not
 * begin. */
static uint64_t fail_with(void **state, enum fault_op op, int code, bool half, const char *name)
{
    uint64_t begun = 0, cases = 0;

    cases += fail_each(state, (struct failure){.op = op, .code = code, .half = half, .times = 1},
                       name, &begun);
    cases += fail_each(state, (struct failure){.op = op, .code = code, .half = half, .times = 4},
                       name, &begun);
    assert_true(cases > 0);
    print_message("# %s, %s: %ju cases, every store sound; %ju had begun and lost nothing\n",
                  fault_op_name(op), name, (uintmax_t)cases, (uintmax_t)begun);
    return cases - begun;
}

static void files_that_do_not_open(void **state)
{
    fail_with(state, FAULT_OPEN, SQLITE_CANTOPEN, false, "CANTOPEN");
}

static void reads_that_fail(void **state)
{
    fail_with(state, FAULT_READ, SQLITE_IOERR_READ, false, "IOERR");
}

static void writes_that_fail(void **state)
{
    fail_with(state, FAULT_WRITE, SQLITE_IOERR_WRITE, false, "IOERR");
}

static void writes_without_room(void **state)
{
    fail_with(state, FAULT_WRITE, SQLITE_FULL, true, "FULL, half written");
}

static void syncs_that_fail(void **state)
{
    fail_with(state, FAULT_SYNC, SQLITE_IOERR_FSYNC, false, "IOERR");
}

static void files_that_stay(void **state)
{
    fail_with(state, FAULT_DELETE, SQLITE_IOERR_DELETE, false, "IOERR");
}

static void shared_memory_that_fails(void **state)
{
    /* All recordings have begun, because a recorder that is alone needs no shared memory. */
    assert_int_equal(fail_with(state, FAULT_SHM_MAP, SQLITE_IOERR_SHMMAP, false, "IOERR"), 0);
}

/* Each read in turn is cut short while the test records, opens the store and reads everything. */
static void reads_that_are_short(void **state)
{
    const char *path = fixture_path(state, "rpistat.data");
    struct failure failure = {.op = FAULT_READ, .code = SQLITE_IOERR_SHORT_READ, .times = 1};
    uint64_t said = 0, cases = 0;

    for (;; failure.at++) {
        struct recording_progress progress = {0};
        struct rps_check_result check;
        struct rps_error err = {0};
        char what[80];
        int result;

        snprintf(what, sizeof(what), "read number %ju is short", (uintmax_t)failure.at);
        recording_remove(path);
        atomic_store(&failure.steps, 0);
        result = record(&failure, path, &progress, &err);
        if (atomic_load(&failure.steps) <= failure.at)
            break;
        /* A short read looks like a truncated file, so the store may be refused, but must not be
         * damaged. */
        assert_true(result == 0 || strlen(err.message) > 20);
        recording_check(path, what, &check);
        if (result == 0 && check.periods != PERIODS)
            fail_msg("%s: %ju periods, said to be all", what, (uintmax_t)check.periods);
        said += result < 0;
        cases++;
    }
    print_message(
        "# read, short: %ju cases, every store sound; %ju recordings ended with a sentence\n",
        (uintmax_t)cases, (uintmax_t)said);
}

/* A store from elsewhere is read on a file system that cannot map files. */
static void read_without_shared_memory(void **state)
{
    const char *path = fixture_path(state, "rpistat.data");
    struct failure none = {.op = FAULT_OP_COUNT};
    struct failure failure = {.op = FAULT_SHM_MAP, .code = SQLITE_IOERR_SHMMAP, .times = 1000000};
    struct recording_progress progress = {0};
    struct rps_check_result check;
    struct rps_error err;

    assert_int_equal(record(&none, path, &progress, &err), 0);
    fault_vfs_set_hook(fail_hook, &failure);
    assert_int_equal(recording_check(path, "without shared memory", &check), 0);
    assert_int_equal(check.periods, PERIODS);
    assert_true(atomic_load(&failure.steps) > 0);
    fault_vfs_set_hook(fault_skip_sync, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(files_that_do_not_open),
        TEST(reads_that_fail),
        TEST(reads_that_are_short),
        TEST(writes_that_fail),
        TEST(writes_without_room),
        TEST(syncs_that_fail),
        TEST(files_that_stay),
        TEST(shared_memory_that_fails),
        TEST(read_without_shared_memory),
    };

    if (argc > 1)
        stride = strtoull(argv[1], NULL, 10);
    fault_vfs_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
