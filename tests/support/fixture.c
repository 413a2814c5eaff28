#include "support/fixture.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rpistat/clock.h"
#include "rpistat/code_store.h"
#include "rpistat/code_output.h"
#include "rpistat/plan.h"
#include "rpistat/run.h"
#include "rpistat/store.h"
#include "rpistat/store_hooks.h"

#ifdef RPS_HAS_CODE
/* Install the hooks of the store, as main() does. */
__attribute__((constructor)) static void use_hooks(void)
{
    rps_store_use(&rps_code_store, &rps_code_hooks);
}
#endif

static void must(int result, const struct rps_error *err)
{
    if (result < 0)
        fail_msg("%s", err->message);
}

static void fill_run(struct rps_run *run)
{
    char *argv[] = {(char[]){"./naive"}, NULL};

    rps_run_init(run);
    rps_run_set_command(run, 1, argv);
    strcpy(run->host, "pi");
    strcpy(run->kernel, "Linux 3.6.11+");
    strcpy(run->cpu_model, "ARMv6-compatible processor rev 7 (v6l)");
    strcpy(run->pmu, "hardware");
    strcpy(run->clock_label, "Cycles");
    run->cpu_count = 1;
    run->counter_count = 2;
    run->period_ns = FIXTURE_PERIOD_NS;
    run->start_realtime_ns = INT64_C(1372259553) * RPS_NS_PER_S; /* Wed Jun 26 15:12:33 2013 UTC */
    run->exit_status = 0;
    run->recorder_cpu_ns = 3000000;
}

void fixture_begin(struct fixture *fixture, const char *plan_name)
{
    const char *tmp = getenv("TMPDIR");
    struct rps_error err;

    memset(fixture, 0, sizeof(*fixture));
    snprintf(fixture->folder, sizeof(fixture->folder), "%s/rpistat-show-XXXXXX",
             tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(fixture->folder));
    snprintf(fixture->path, sizeof(fixture->path), "%s/rpistat.data", fixture->folder);
    must(rps_plan_load(plan_name, &fixture->plan, &err), &err);
    strcpy(fixture->plan->clock.name, "cycles");
    strcpy(fixture->plan->clock.label, "Cycles");
    strcpy(fixture->plan->clock.unit, "cycles");
    for (int i = 0; i < fixture->plan->set_count; i++) {
        for (int s = 0; s < fixture->plan->set[i].event_count; s++) {
            struct rps_event *event = &fixture->plan->set[i].event[s];

            event->state = RPS_EVENT_MEASURED;
            event->type = strcmp(plan_name, "software") == 0 ? RPS_EVENT_SOFTWARE : RPS_EVENT_RAW;
        }
    }
    fill_run(&fixture->run);
}

void fixture_write(struct fixture *fixture)
{
    const struct rps_writer_options options = {.commit_ns = RPS_NS_PER_S / 100};

    fixture_write_with(fixture, &options);
}

void fixture_write_with(struct fixture *fixture, const struct rps_writer_options *options)
{
    struct rps_error err;

    must(rps_writer_open(&fixture->writer, fixture->path, options, &err), &err);
    must(rps_writer_begin(fixture->writer, &fixture->run, fixture->plan, &err), &err);
    fixture->run_id = fixture->run.run_id;
    fixture->next.cpu = RPS_CPU_ALL;
    fixture->next.length_ns = FIXTURE_PERIOD_NS;
    fixture->next.enabled_ns = fixture->next.running_ns = (uint64_t)FIXTURE_PERIOD_NS;
    fixture->next.clock_running_ns = fixture->next.enabled_ns;
    fixture->next.counted = 0xff;
}

void fixture_period(struct fixture *fixture, uint64_t cycles, const uint64_t *count)
{
    struct rps_period *next = &fixture->next;
    int events;

    next->set_no = (uint32_t)(next->period % (uint64_t)fixture->plan->set_count);
    next->rotation = next->period / (uint64_t)fixture->plan->set_count;
    events = fixture->plan->set[next->set_no].event_count;
    next->cycles = cycles;
    next->cycle += cycles;
    memcpy(next->count, count, (size_t)events * sizeof(*count));
    rps_writer_period(fixture->writer, next);
    next->period++;
    next->start_ns += next->length_ns;
}

void fixture_read(struct fixture *fixture)
{
    struct rps_error err;

    fixture->run.elapsed_ns = fixture->next.start_ns;
    if (fixture->run.state == RPS_RUN_RECORDING)
        fixture->run.state = RPS_RUN_COMPLETE;
    must(rps_writer_end(fixture->writer, &fixture->run, &err), &err);
    rps_writer_close(fixture->writer);
    fixture->writer = NULL;
    must(rps_reader_open(&fixture->reader, fixture->path, &err), &err);
}

const char *fixture_file(struct fixture *fixture, const char *name)
{
    static char path[1024];

    snprintf(path, sizeof(path), "%s/%s", fixture->folder, name);
    return path;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

void fixture_end(struct fixture *fixture)
{
    rps_reader_close(fixture->reader);
    rps_writer_close(fixture->writer);
    rps_plan_free(fixture->plan);
    rps_run_free(&fixture->run);
    nftw(fixture->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
