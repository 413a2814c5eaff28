/* Tests of power cuts: power_cuts [CUTS [SEED]]
 *
 * For each durability, with and without shared memory, one recording is made and all its writes are
 * logged. The power is cut at random moments of a recording. The possible disk contents
 * (disk_log.h) must be a valid store for the next recording. With full durability the store holds
 * everything committed; otherwise, everything synced. */
#include "disk_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recording.h"
#include "sound.h"

static uint64_t cut_count = 500, first_seed = 1;

struct scenario {
    const char *name;
    int durability_full;
    bool alone; /* true: SQLite has no shared memory */
    uint64_t periods;
    unsigned int share; /* share of the cuts, in tenths */
    struct disk_log *log;
};

/* --- recording -------------------------------------------------------------------------------- */

static int record_hook(void *context, const struct fault_step *step)
{
    const struct scenario *scenario = context;

    if (step->op == FAULT_SHM_MAP && scenario->alone)
        return SQLITE_IOERR_SHMMAP;
    return disk_log_hook(scenario->log, step);
}

static void on_committed(void *context, uint64_t periods)
{
    disk_log_promise(context, periods);
}

static void record(struct scenario *scenario, const char *path)
{
    struct recording_progress progress = {0};
    const struct recording recording = {
        .path = path,
        .options = {.durability_full = scenario->durability_full},
        .periods = scenario->periods,
        .each = 1,
        .elsewhere = true,
        .progress = &progress,
        .committed = on_committed,
        .context = scenario->log,
    };
    struct rps_error err;

    fault_vfs_set_hook(record_hook, scenario);
    if (recording_make(&recording, &err) < 0)
        fail_msg("%s: %s", scenario->name, err.message);
    fault_vfs_set_hook(fault_skip_sync, NULL);
}

/* --- cutting ---------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

static void look_at(const struct scenario *scenario, const char *path, const char *what,
                    struct disk_promise promise, uint64_t *ret_lost)
{
    uint64_t needed = scenario->durability_full ? promise.made : promise.synced;
    struct rps_check_result check;
    int blank = recording_check(path, what, &check);

    if (check.periods < needed)
        fail_msg("%s: %ju periods of %ju", what, (uintmax_t)check.periods, (uintmax_t)needed);
    if (!blank && check.periods < promise.made)
        *ret_lost += promise.made - check.periods;
    recording_add(path, what, check.periods);
}

static void cut(struct scenario *scenario, const char *path, uint64_t cuts)
{
    size_t size = disk_log_size(scenario->log);
    size_t *moment = calloc(cuts, sizeof(*moment));
    uint64_t state = first_seed, lost = 0, losing = 0;

    assert_non_null(moment);
    for (uint64_t i = 0; i < cuts; i++)
        moment[i] = recording_random(&state, size + 1);
    qsort(moment, cuts, sizeof(*moment), compare_numbers);
    for (uint64_t i = 0; i < cuts; i++) {
        enum disk_cut kind = i % 4 == 0   ? DISK_CUT_LOST
                             : i % 4 == 1 ? DISK_CUT_ORDERED
                                          : DISK_CUT_MIXED;
        size_t sector = i & 8 ? 512 : 4096;
        struct disk_promise promise;
        uint64_t before = lost;
        char what[160];

        snprintf(what, sizeof(what), "%s, cut %ju before step %zu of %zu (kind %d, %zu bytes)",
                 scenario->name, (uintmax_t)i, moment[i], size, (int)kind, sector);
        disk_log_play(scenario->log, moment[i], &promise);
        disk_log_cut(scenario->log, path, kind, sector, first_seed + i);
        look_at(scenario, path, what, promise, &lost);
        losing += lost > before;
    }
    print_message(
        "# %s: %ju power cuts in %zu steps, every store sound; %ju cuts lost %.0f commits on "
        "average\n",
        scenario->name, (uintmax_t)cuts, size, (uintmax_t)losing,
        losing ? (double)lost / (double)losing : 0);
    free(moment);
}

static void run(void **state, struct scenario scenario)
{
    const char *path = fixture_path(state, "rpistat.data");

    scenario.log = disk_log_new(path);
    record(&scenario, path);
    recording_remove(path);
    cut(&scenario, fixture_path(state, "cut.data"), cut_count * scenario.share / 10);
    disk_log_free(scenario.log);
}

static void a_log_loses_what_was_not_synced(void **state)
{
    run(state, (struct scenario){.name = "log, normal", .periods = 3000, .share = 4});
}

static void a_log_with_full_durability_loses_nothing(void **state)
{
    run(state,
        (struct scenario){.name = "log, full", .durability_full = 1, .periods = 3000, .share = 4});
}

static void without_shared_memory(void **state)
{
    run(state, (struct scenario){
                   .name = "no shared memory, normal", .alone = true, .periods = 600, .share = 1});
}

static void without_shared_memory_with_full_durability(void **state)
{
    run(state, (struct scenario){.name = "no shared memory, full",
                                 .durability_full = 1,
                                 .alone = true,
                                 .periods = 600,
                                 .share = 1});
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(a_log_loses_what_was_not_synced),
        TEST(a_log_with_full_durability_loses_nothing),
        TEST(without_shared_memory),
        TEST(without_shared_memory_with_full_durability),
    };

    if (argc > 1)
        cut_count = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        first_seed = strtoull(argv[2], NULL, 10);
    fault_vfs_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
