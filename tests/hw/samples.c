/* samples: shows where a program spends its cycles, by the processor's own counter.
 *
 * usage: samples SETS STACKS COMMAND [ARGUMENT...]
 *
 * The document SETS is counted meanwhile. STACKS is a number of enum rps_stacks. Standard output
 * has a line "EVENT FREQUENCY LOST", and one line for each sample of the workload's own code: its
 * addresses in hexadecimal, innermost first. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "rpistat/pmu.h"
#include "rpistat/sampler.h"
#include "rpistat/workload.h"

static void print_sample(void *context, const struct rps_sample *sample)
{
    (void)context;
    if (sample->kind != RPS_SAMPLE_STACK || sample->address_count == sample->kernel_count)
        return;
    for (size_t i = sample->kernel_count; i < sample->address_count; i++)
        printf("%" PRIx64 " ", sample->address[i]);
    putchar('\n');
}

static void check(int rc, const struct rps_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "samples: %s\n", err->message);
    exit(1);
}

int main(int argc, char *argv[])
{
    const struct rps_sample_sink sink = {NULL, print_sample};
    struct rps_target target = {.kind = RPS_TARGET_LAUNCH, .pid_count = 1, .start_at_exec = 1};
    struct rps_sampling_options options = {0};
    struct rps_sampling status;
    struct rps_fitting fitting;
    struct rps_sampler sampler;
    struct rps_workload workload;
    struct rps_plan *plan;
    struct rps_error err = {""};
    char note[256];
    int64_t start_ns;
    struct rps_workload_end ended;
    struct rps_signals_before before = {0};
    const struct rps_pmu *pmu;
    void *self;

    if (argc < 4) {
        fprintf(stderr, "usage: samples SETS STACKS COMMAND [ARGUMENT...]\n");
        return 2;
    }
    options.stacks = (enum rps_stacks)atoi(argv[2]);
    sigprocmask(SIG_SETMASK, NULL, &before.mask);
    check(rps_pmu_open("hardware", NULL, &pmu, &self, note, sizeof(note), &err), &err);
    check(rps_plan_load(argv[1], &plan, &err), &err);
    check(rps_pmu_prepare(pmu, self, plan, 1, &fitting, &err), &err);
    check(rps_workload_fork(&workload, argv + 3, &before, &err), &err);
    target.pid = &workload.pid;
    check(pmu->attach(self, plan, &target, &err), &err);
    check(pmu->open_sampler(self, &options, &target, &sampler, &err), &err);
    check(rps_workload_release(&workload, &start_ns, &err), &err);
    check(rps_workload_wait(&workload, &ended, &err), &err);
    sampler.status(sampler.self, &status);
    printf("%s %" PRIu64 " %" PRIu64 "\n", status.event, status.frequency, status.lost);
    check(sampler.drain(sampler.self, INT64_MAX, &sink, &err), &err);
    sampler.close(sampler.self);
    pmu->close(self);
    rps_plan_free(plan);
    rps_workload_close(&workload);
    return ended.status != 0;
}
