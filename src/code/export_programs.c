/* Counts the samples of programs over time, for the export of intervals (rpistat/export.h). */
#include "hooks.h"

#include <string.h>

#include "rpistat/export.h"
#include "rpistat/run_code.h"
#include "rpistat/code_store.h"
#include "rpistat/shares.h"

/* Number of periods whose samples are read at once. */
#define WINDOW 16384

typedef uint64_t columns[RPS_SHARES_OWNERS + 1];

struct state {
    struct rps_export_job *job;
    size_t task_count;
    uint8_t *column;                /* column of each task */
    struct rps_run_stretch *window; /* WINDOW periods of `cpu`, each of them a range */
    columns *samples;               /* samples in each range of the window */
    int32_t cpu;                    /* INT32_MIN: no window */
};

static int add_samples(void *context, size_t group, int64_t task, struct rps_code_weight of,
                       struct rps_error *err)
{
    const struct state *state = context;

    (void)err;
    if ((uint64_t)task < state->task_count)
        state->samples[group][state->column[task]] += of.samples;
    return 0;
}

/* Rows come in the order of CPUs and periods. A query for each row would take longer than the rest
 * of the export, so a query reads a window, or the periods of a row that is longer. */
static int read_samples(const struct rps_export_programs *programs, int32_t cpu, uint64_t first,
                        uint64_t last, columns samples, struct rps_error *err)
{
    struct state *state = programs->state;
    struct rps_run_stretch *window = state->window;
    const struct rps_cpus one = {.cpu = &cpu, .count = 1};
    const struct rps_export_job *job = state->job;
    const int is_long = last - first >= WINDOW;
    const struct rps_run_part part = {
        .count = is_long ? 1 : WINDOW, .stretch = window, .group_count = WINDOW};
    int result = 0;

    if (is_long || cpu != state->cpu || first < window[0].first || last > window[WINDOW - 1].last) {
        for (size_t i = 0; i < part.count; i++)
            window[i] = (struct rps_run_stretch){first + i, is_long ? last : first + i, i};
        memset(state->samples, 0, part.count * sizeof(*state->samples));
        state->cpu = is_long ? INT32_MIN : cpu;
        result = rps_run_code_walk(job->reader, job->run->run_id, &part,
                                   cpu == RPS_CPU_ALL ? &job->options->cpus : &one, RPS_COUNT_TASKS,
                                   add_samples, state, err);
    }
    for (uint64_t at = first; at <= (is_long ? first : last); at++) {
        for (size_t i = 0; i < programs->count; i++)
            samples[i] += state->samples[at - window[0].first][i];
    }
    return result;
}

/* Give one column to each program with most samples. All other programs share the last column. */
static void choose_columns(struct rps_export_programs *ret, const struct rps_code *code,
                           const struct rps_share_name *name, const struct rps_code_counts *counts)
{
    struct state *state = ret->state;
    size_t largest[RPS_SHARES_OWNERS];
    size_t others = rps_shares_largest(counts->seen, counts->key_count, RPS_SHARES_OWNERS, largest);

    memset(state->column, (int)others, code->task_count);
    for (size_t i = 0; i < others; i++) {
        ret->name[i] = name[largest[i]].name;
        for (size_t t = 0; t < code->task_count; t++) {
            if (counts->key[t] == (int64_t)largest[i])
                state->column[t] = (uint8_t)i;
        }
    }
    ret->count = others;
    for (size_t t = 0; t < code->task_count; t++) {
        if (counts->id[t] > 0 && state->column[t] == others)
            ret->count = others + 1;
    }
}

int rps_code_programs(struct rps_export_job *job, struct rps_export_programs *ret,
                      struct rps_error *err)
{
    struct rps_run_stretch stretch = {0, INT64_MAX, 0};
    const struct rps_run_part all = {.count = 1, .stretch = &stretch, .group_count = 1};
    struct rps_code *code = rps_arena_get(job->arena, 1, sizeof(*code));
    struct state *state = rps_arena_get(job->arena, 1, sizeof(*state));
    struct rps_code_counts counts = {0};
    struct rps_share_name *name;
    int result = rps_reader_code(job->arena, job->reader, job->run->run_id, code, err);

    if (result <= 0)
        return result;
    counts.key =
        rps_shares_owners(job->arena, code, RPS_SHARES_PROGRAM, &name, &counts.key_count, NULL);
    result = rps_code_counts_read(job->arena, &counts, job->reader, job->run->run_id, &all,
                                  &job->options->cpus, code, RPS_COUNT_TASKS, err);
    if (result < 0)
        return result;
    *state = (struct state){
        .job = job,
        .task_count = code->task_count,
        .column = rps_arena_get(job->arena, code->task_count, sizeof(*state->column)),
        .window = rps_arena_get(job->arena, WINDOW, sizeof(*state->window)),
        .samples = rps_arena_get(job->arena, WINDOW, sizeof(*state->samples)),
        .cpu = INT32_MIN,
    };
    ret->read = read_samples;
    ret->state = state;
    choose_columns(ret, code, name, &counts);
    return 0;
}
