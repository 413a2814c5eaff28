/* Runs: their texts, and what follows from their settings. */
#include "rpistat/run.h"
#include "rpistat/arena.h"
#include "rpistat/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const rps_run_states[] = {
    [RPS_RUN_RECORDING] = "recording",
    [RPS_RUN_COMPLETE] = "complete",
    [RPS_RUN_INTERRUPTED] = "interrupted",
    NULL,
};

const char *rps_run_lacks_counts(const struct rps_run *run)
{
    return strstr(run->fitting, RPS_RUN_NO_COUNTS)     ? RPS_RUN_NO_COUNTS
           : strstr(run->fitting, RPS_RUN_SOME_COUNTS) ? RPS_RUN_SOME_COUNTS
                                                       : NULL;
}

void rps_run_init(struct rps_run *run)
{
    memset(run, 0, sizeof(*run));
    run->run_id = -1;
    run->cpu_count = -1;
    run->recorder_pid = -1;
    run->counter_count = -1;
    run->paranoid = -100;
    run->nmi_watchdog = -1;
    run->order_seed = -1;
    run->period_ns = -1;
    run->start_realtime_ns = -1;
    run->start_monotonic_ns = -1;
    run->elapsed_ns = -1;
    run->state = RPS_RUN_RECORDING;
    run->exit_status = -1;
    run->user_ns = run->system_ns = run->memory_bytes = -1;
    run->recorder_cpu_ns = run->recorder_after_ns = run->others_cpu_ns = -1;
}

int rps_run_periods_with(const struct rps_run *run, int sets, int times)
{
    /* In random order, the distance of two periods of a set may be almost two rotations, because a
     * set may be first in one rotation and last in the next. */
    return run->order_seed < 0 ? times * sets : (times + 1) * sets - 1;
}

int64_t rps_run_rotations_ns(const struct rps_run *run, int sets, int times, int64_t limit_ns)
{
    const int64_t periods = rps_run_periods_with(run, sets, times);

    return run->period_ns > 0 && run->period_ns < limit_ns / periods ? periods * run->period_ns
                                                                     : limit_ns;
}

struct rps_arena *rps_run_arena(struct rps_run *run)
{
    run->arena = run->arena ? run->arena : rps_arena_new();
    return run->arena;
}

void rps_run_set_command(struct rps_run *run, int argc, char *const argv[])
{
    char **copy = rps_arena_get(rps_run_arena(run), (size_t)argc + 1, sizeof(*copy));

    for (int i = 0; i < argc; i++)
        copy[i] = rps_arena_text(run->arena, argv[i]);
    run->argc = argc;
    run->argv = copy;
}

double rps_run_others_cpus(const struct rps_run *run)
{
    double cpus = (double)run->others_cpu_ns / (double)run->elapsed_ns;

    if (run->others_cpu_ns < 0 || run->elapsed_ns < RPS_RUN_OTHERS_MIN_NS)
        return NAN;
    return run->cpu_count > 0 && cpus > run->cpu_count ? run->cpu_count : cpus;
}

struct rps_tag *rps_run_tag(const struct rps_run *run, const char *key)
{
    for (int i = 0; i < run->tag_count; i++) {
        if (strcmp(run->tag[i].key, key) == 0)
            return &run->tag[i];
    }
    return NULL;
}

void rps_run_add_tag(struct rps_run *run, const char *key, const char *value)
{
    struct rps_tag *tag = rps_run_tag(run, key);

    if (!tag) {
        run->tag =
            rps_arena_grow(rps_run_arena(run), run->tag, (size_t)run->tag_count, sizeof(*tag));
        tag = &run->tag[run->tag_count++];
        tag->key = rps_arena_text(run->arena, key);
    }
    tag->value = rps_arena_text(run->arena, value);
}

int rps_run_is_of_command(const char *target)
{
    return strcmp(target, "command") == 0;
}

/* Targets of the machine are "CPU 0-3", "all 4 CPUs" and "cgroup NAME". */
int rps_run_is_of_cgroup(const char *target)
{
    return strncmp(target, "cgroup ", 7) == 0;
}

int rps_run_is_of_machine(const char *target)
{
    return strncmp(target, "CPU ", 4) == 0 || strncmp(target, "all ", 4) == 0 ||
           rps_run_is_of_cgroup(target);
}

int rps_run_is_import(const struct rps_run *run)
{
    return strcmp(run->pmu, "import") == 0;
}

int rps_run_row_periods(const struct rps_run *run, int sets)
{
    return rps_run_is_import(run) && sets > 0 ? sets : 1;
}

char *rps_run_title(char *ret, size_t size, const struct rps_run *run)
{
    char target[RPS_RUN_TEXT_SIZE * 4];
    size_t used = 0;

    if (run->argc > 0)
        used = strlen(rps_text_command(ret, size, run->argc, run->argv));
    if (run->argc == 0 || strncmp(run->target, "process ", 8) == 0)
        snprintf(ret + used, size - used, "%s(%s)", used > 0 ? " " : "",
                 rps_text_printable(target, sizeof(target), run->target));
    return ret;
}

void rps_run_free(struct rps_run *run)
{
    rps_arena_free(run->arena);
    rps_run_init(run);
}
