/* CPU time that the samples do not cover, if tasks are sampled one by one. The timer of each task
 * begins with a whole interval. So a process that ends within its first interval has no samples.
 * When a process ends, the time since its last sample is lost. The exact CPU times of ended
 * processes are known, by program. The missing time of a program is the CPU time that its samples
 * do not represent. The total of all missing time is at most the CPU time of all programs minus the
 * time of all samples. This limit matters if the kernel is not sampled: a program with much kernel
 * time would seem to lack time. */
#include "rpistat/run_code.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/clock.h"

/* Missing time is reported beyond this number of standard deviations of the expected samples. */
#define SURE 2

static int by_most(const void *a, const void *b)
{
    const struct rps_unsampled_program *x = a, *y = b;

    if (x->cpu_s != y->cpu_s)
        return x->cpu_s < y->cpu_s ? 1 : -1;
    return strcmp(x->name, y->name);
}

struct rps_unsampled rps_code_unsampled(struct rps_arena *arena, const struct rps_code *code)
{
    const struct rps_sampling *sampling = &code->sampling;
    double all_s = 0, part /* part: share of the CPU time that may be sampled. */, expected = 0,
           lacked_s = 0, left_s = 0;
    struct rps_unsampled ret = {
        .program = rps_arena_get(arena, code->program_count, sizeof(*ret.program))};

    for (size_t i = 0; i < code->program_count; i++)
        all_s += (double)code->program[i].cpu_ns / RPS_NS_PER_S;
    part = rps_samples_expected(sampling, all_s, 1) / all_s / (double)sampling->frequency;
    for (size_t i = 0; i < code->program_count && part > 0; i++) {
        const struct rps_program *program = &code->program[i];
        double had_s = (double)program->samples / (double)sampling->frequency;
        double cpu_s = part * (double)program->cpu_ns / RPS_NS_PER_S;
        struct rps_unsampled_program lacks = {program->name, program->unsampled_processes,
                                              program->unsampled_threads, cpu_s - had_s};

        if (part * (double)program->unsampled_ns / RPS_NS_PER_S < lacks.cpu_s / 2)
            lacks.processes = lacks.threads = 0; /* Other processes account for the missing time. */
        expected += cpu_s * (double)sampling->frequency;
        left_s += lacks.cpu_s;
        if (lacks.cpu_s <= 0)
            continue;
        lacked_s += lacks.cpu_s;
        ret.program[ret.count++] = lacks;
    }
    ret.cpu_s = fmin(lacked_s, left_s);
    if (!(ret.cpu_s * (double)sampling->frequency > SURE * sqrt(expected)))
        return (struct rps_unsampled){0};
    for (size_t i = 0; i < ret.count; i++) {
        struct rps_unsampled_program *program = &ret.program[i];

        program->name = rps_arena_text(arena, program->name[0] ? program->name : RPS_SHARE_UNKNOWN);
        program->cpu_s *= ret.cpu_s / lacked_s;
        ret.processes += program->processes;
        ret.threads += program->threads;
    }
    qsort(ret.program, ret.count, sizeof(*ret.program), by_most);
    return ret;
}
