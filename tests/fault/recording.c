#include "recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rpistat/plan.h"
#include "rpistat/run.h"
#include "rpistat/micro.h"
#include "sound.h"
#include "store/writer.h"

/* Wait until everything handed over is committed, or writing has failed. */
static void wait_for_commit(const struct recording *recording, struct rps_writer *writer,
                            uint64_t handed)
{
    const struct timespec pause = {.tv_nsec = 20000};
    struct rps_writer_status status;

    for (;;) {
        rps_writer_status(writer, &status);
        if (status.committed >= handed || status.failing)
            break;
        nanosleep(&pause, NULL);
    }
    atomic_store(&recording->progress->committed, status.committed);
    if (recording->committed)
        recording->committed(recording->context, status.committed);
}

static void hand_over(const struct recording *recording, struct rps_writer *writer)
{
    for (uint64_t n = 0; n < recording->periods; n++) {
        struct rps_period period = sound_period(n);

        rps_writer_period(writer, &period);
        fixture_code(writer, n);
        atomic_store(&recording->progress->handed, n + 1);
        if ((n + 1) % recording->each != 0)
            continue;
        if (recording->each > 1)
            rps_writer_mark(writer, (int64_t)n, "so far");
        if (recording->options.commit_ns == 0)
            wait_for_commit(recording, writer, n + 1);
    }
}

int recording_make(const struct recording *recording, struct rps_error *err)
{
    struct rps_plan *plan = fixture_plan();
    struct rps_writer *writer = NULL;
    struct rps_run run;
    int result;

    fixture_run(&run);
    result = rps_writer_open(&writer, recording->path, &recording->options, err);
    if (result == 0) {
        writer->patience_ns = recording->patience_ns;
        if (recording->elsewhere)
            snprintf(writer->boot_id, sizeof(writer->boot_id), "before");
        result = rps_writer_begin(writer, &run, plan, err);
    }
    if (result == 0) {
        atomic_store(&recording->progress->begun, true);
        hand_over(recording, writer);
        fixture_code(writer, recording->periods);
        run.state = RPS_RUN_COMPLETE;
        run.exit_status = 0;
        result = rps_writer_end(writer, &run, err);
        atomic_store(&recording->progress->ended, result == 0);
    }
    rps_writer_close(writer);
    rps_plan_free(plan);
    rps_run_free(&run);
    return result;
}

/* --- what it left ----------------------------------------------------------------------------- */

static void keep(void *context, enum rps_finding_kind kind, const char *sentence)
{
    char *text = context;
    size_t used = strlen(text);

    if (kind == RPS_FINDING_WRONG)
        snprintf(text + used, 4096 - used, "%s\n", sentence);
}

int recording_check(const char *path, const char *what, struct rps_check_result *ret)
{
    char found[4096] = "";
    const struct rps_finding_sink sink = {found, keep};
    struct rps_error err;

    *ret = (struct rps_check_result){0};
    if (access(path, F_OK) != 0)
        return 1;
    if (rps_store_check(path, &sink, ret, &err) < 0) {
        if (strstr(err.message, "is empty"))
            return 1;
        fail_msg("%s: %s", what, err.message);
    }
    if (ret->wrong > 0)
        fail_msg("%s: %s", what, found);
    return 0;
}

void recording_add(const char *path, const char *what, uint64_t before)
{
    struct recording_progress progress = {0};
    const struct recording recording = {
        .path = path, .periods = 2, .each = 1, .progress = &progress};
    struct rps_check_result check;
    struct rps_error err;

    if (recording_make(&recording, &err) < 0)
        fail_msg("%s: the next recording: %s", what, err.message);
    assert_int_equal(recording_check(path, what, &check), 0);
    if (check.periods != before + 2)
        fail_msg("%s: %ju periods after the next recording, %ju before", what,
                 (uintmax_t)check.periods, (uintmax_t)before);
}

void recording_remove(const char *path)
{
    static const char *const end[] = {"", "-wal", "-shm", "-journal"};
    char name[1024];

    for (size_t i = 0; i < sizeof(end) / sizeof(end[0]); i++) {
        snprintf(name, sizeof(name), "%s%s", path, end[i]);
        unlink(name);
    }
}

void recording_simulate(struct recording_simulation *ret, const char *path, const char *script)
{
    static const struct rps_pmu *const simulated[] = {&rps_pmu_sim, NULL};
    struct rps_target target = {.start_at_exec = 1};
    struct rps_fitting fitting;
    struct rps_error err;
    char choice[600], note[64];
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(script, file);
    assert_int_equal(fclose(file), 0);
    snprintf(choice, sizeof(choice), "sim:%s", path);
    if (rps_pmu_open(choice, simulated, &ret->pmu, &ret->self, note, sizeof(note), &err) < 0 ||
        rps_plan_load("arm1176", &ret->plan, &err) < 0 ||
        rps_pmu_prepare(ret->pmu, ret->self, ret->plan, 1, &fitting, &err) < 0 ||
        ret->pmu->attach(ret->self, ret->plan, &target, &err) < 0)
        fail_msg("%s", err.message);
}

void recording_end_simulation(struct recording_simulation *simulation)
{
    simulation->pmu->close(simulation->self);
    rps_plan_free(simulation->plan);
}

uint64_t recording_random(uint64_t *state, uint64_t range)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (x ^ (x >> 31)) % range;
}
