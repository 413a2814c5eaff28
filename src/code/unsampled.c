/*
 * What the samples say nothing of, where tasks are sampled one by one: the timer of each begins with
 * a whole interval, so that processes which end sooner have none. Their exact CPU times are known,
 * by program. That a thread without a sample stands beside one of the same program that had too many
 * for its time is chance, and nothing is missing then.
 */
#include "rpistat/run_code.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/clock.h"
#include "shares_index.h"

/* What is missing is told when it is more than so many standard deviations of the samples that were
 * to be expected. */
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
    double per_s = rps_samples_expected(sampling, 1, 1); /* of all CPU time */
    double part = per_s / rps_samples_expected(sampling, 1, 0), expected = 0;
    struct rps_unsampled ret = {
        .program = rps_arena_get(arena, code->program_count, sizeof(*ret.program))};

    for (size_t i = 0; i < code->program_count && per_s > 0; i++) {
        const struct rps_program *program = &code->program[i];
        double had = (double)program->samples / (double)sampling->frequency;
        double cpu_s = part * (double)program->cpu_ns / RPS_NS_PER_S;
        double unsampled_s = part * (double)program->unsampled_ns / RPS_NS_PER_S;
        double missing_s = fmin(unsampled_s, cpu_s - had);

        expected += cpu_s * (double)sampling->frequency;
        if (missing_s <= 0)
            continue;
        ret.program[ret.count++] = (struct rps_unsampled_program){
            program->name[0] ? program->name : RPS_SHARE_UNKNOWN, program->unsampled_processes,
            program->unsampled_threads, missing_s};
        ret.cpu_s += missing_s;
    }
    if (!(ret.cpu_s * (double)sampling->frequency > SURE * sqrt(expected)))
        return (struct rps_unsampled){0};
    for (size_t i = 0; i < ret.count; i++) {
        ret.program[i].name = rps_arena_text(arena, ret.program[i].name);
        ret.processes += ret.program[i].processes;
        ret.threads += ret.program[i].threads;
    }
    qsort(ret.program, ret.count, sizeof(*ret.program), by_most);
    return ret;
}
