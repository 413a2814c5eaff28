/* Exports folded stacks for flame graphs (flamegraph.pl, speedscope, inferno). A line has the
 * functions of a stack, outermost first and separated by semicolons, then a blank and the number of
 * samples. Time on and off the CPU is in us. In a line with off-CPU time, "[waiting]" is the
 * innermost function. */
#include <inttypes.h>

#include "timeline.h"
#include "rpistat/off_cpu.h"
#include "rpistat/run_code.h"
#include "rpistat/text.h"

/* Put a function's name without characters that end a name or a line. */
static void put_name(FILE *out, const char *name)
{
    for (int length; *name; name += length > 0 ? length : 1) {
        uint32_t code;

        length = rps_text_decode(name, &code);
        if (length == 0 || !rps_text_is_harmless(code) || code == ';')
            fputc(length > 0 && code == ';' ? ':' : ' ', out);
        else
            fwrite(name, 1, (size_t)length, out);
    }
}

/* Put a stack. `way` has space for all nodes on the way from the root to any node. */
static void put_stack(FILE *out, const struct rps_calls *calls, size_t node, size_t *way,
                      const char *innermost, uint64_t count)
{
    size_t depth = 0;

    if (count == 0)
        return;
    for (; node != 0; node = calls->call[node].parent)
        way[depth++] = node;
    while (depth-- > 0) {
        put_name(out, calls->call[way[depth]].function);
        if (depth > 0)
            fputc(';', out);
    }
    fprintf(out, "%s %" PRIu64 "\n", innermost, count);
}

/* off: for each weight, the part that is off-CPU time; NULL if weights are numbers of samples. */
static void put_stacks(struct rps_export_job *job, const struct rps_code *code,
                       const uint64_t *weight, const struct rps_off_cpu *off)
{
    struct rps_calls calls = rps_shares_calls(job->arena, code, weight);
    size_t *way = rps_arena_get(job->arena, calls.count, sizeof(*way));
    uint64_t *waited = off ? rps_off_cpu_calls(job->arena, code, off, &calls, 0) : NULL;

    for (size_t i = 1; i < calls.count; i++) {
        uint64_t us = waited ? waited[i] : 0;

        put_stack(job->out, &calls, i, way, "", calls.call[i].self - us);
        put_stack(job->out, &calls, i, way, ";[waiting]", us);
    }
}

static int write_folded(struct rps_export_job *job, const struct rps_export_code *of,
                        struct rps_error *err)
{
    struct rps_code_counts counts = {0};
    int result = rps_code_counts_read(job->arena, &counts, job->reader, job->run->run_id, of->part,
                                      of->cpus, of->code, RPS_COUNT_STACKS, err);

    if (result == 0)
        put_stacks(job, of->code, counts.id, NULL);
    return result;
}

static int write_wall(struct rps_export_job *job, const struct rps_export_code *of,
                      struct rps_error *err)
{
    struct rps_off_cpu time;

    if (rps_off_cpu_read(job->arena, job->reader, job->run->run_id, of->part, of->cpus, of->code,
                         &time, err) < 0)
        return RPS_FAILED;
    time = rps_off_cpu_move(job->arena, of->code, &time,
                            rps_off_cpu_callers(job->arena, of->code, RPS_OFF_CPU_REASON));
    put_stacks(job, of->code, time.time, &time);
    return 0;
}

static int folded_part(struct rps_export_job *job, const struct rps_part_choice *choice,
                       const struct rps_cpus *cpus, struct rps_error *err)
{
    return rps_export_code(job, choice, cpus, choice->is_wall ? write_wall : write_folded, err);
}

const struct rps_export_format rps_export_folded = {
    .name = "folded",
    .own_form = 1,
    .part = folded_part,
};
