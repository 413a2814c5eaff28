/* Convert the periods of runs to signals. */
#include "run_signals.h"

#include <inttypes.h>

#include "rpistat/plan.h"
#include "rpistat/rotation.h"
#include "rpistat/code_hooks.h"
#include "rpistat/store.h"

/* A recording by CPU may lack this number of period numbers, in addition to as many as it has
 * periods. */
#define HOLES_MAX 1000

/* A workload that uses less of one CPU than this sleeps nearly all the time. */
#define SLEEPING_USE .02

/* Number of values that take as much memory as an observation's counts in a table. */
#define TABLE_VALUES 6

struct work {
    const struct rps_run_phases_options *options;
    int as_shown;
    const char **name; /* Requested metrics of the plan, then requested metrics of samples. */
    size_t metric_count, sample_count;
    int level;  /* Level at which all runs are read. */
    int sleeps; /* 1: the workloads of all runs sleep nearly all the time. */
};

static void split_names(struct rps_arena *arena, const struct rps_signal_provider *provider,
                        struct work *work)
{
    const struct rps_run_phases_options *options = work->options;

    work->name = rps_arena_get(arena, options->metric_count + 1, sizeof(*work->name));
    for (size_t i = 0; i < options->metric_count; i++) {
        size_t behind = options->metric_count - 1 - work->sample_count;

        if (provider && provider->is_name(options->metric[i])) {
            work->name[behind] = options->metric[i];
            work->sample_count++;
        } else {
            work->name[work->metric_count++] = options->metric[i];
        }
    }
}

static int open_run(struct rps_arena *arena, const struct work *work, const struct rps_run_at *run,
                    struct rps_run_member *member, struct rps_error *err)
{
    const struct rps_run_phases_options *options = work->options;
    int result = rps_reader_run(arena, run->reader, run->run_id, &member->run, err);

    member->reader = run->reader;
    if (result == 0)
        result = rps_reader_plan(arena, run->reader, run->run_id, &member->plan, err);
    if (result == 0)
        result = rps_cpu_series_open(arena, &member->cpu_series, run->reader, run->run_id,
                                     options->from_ns, options->to_ns, &options->cpus, err);
    if (result == 0 && member->cpu_series.count == 0)
        result = rps_cpu_series_none(&member->cpu_series, err);
    return result;
}

/* --- samples ---------------------------------------------------------------------------------- */

static int find_samples(struct rps_arena *arena, const struct work *work,
                        struct rps_run_signals *signals, struct rps_error *err)
{
    const struct rps_run_phases_options *options = work->options;
    struct rps_signal_run *run = rps_arena_get(arena, signals->count, sizeof(*run));

    if (options->no_samples && work->sample_count > 0)
        return rps_error_set(
            err, RPS_USAGE,
            "--no-samples excludes '%s', which needs samples; leave out --no-samples",
            work->name[work->metric_count]);
    if (!signals->provider || work->as_shown || options->no_samples ||
        (work->sample_count == 0 && options->metric_count > 0))
        return 0;
    for (size_t r = 0; r < signals->count; r++) {
        const struct rps_run_member *member = &signals->member[r];

        run[r] = (struct rps_signal_run){member->reader, member->run.run_id,
                                         member->cpu_series.first, member->cpu_series.last};
    }
    return signals->provider->choose(arena, run, signals->count, &options->cpus,
                                     work->name + work->metric_count, work->sample_count,
                                     &signals->samples, err);
}

/* --- metrics ---------------------------------------------------------------------------------- */

/* Choose the level at which all runs are read: the coarsest level that any run needs because it is
 * downsampled or too long. */
static int choose_level(struct work *work, struct rps_run_signals *signals, struct rps_error *err)
{
    for (size_t r = 0; r < signals->count; r++) {
        struct rps_run_member *member = &signals->member[r];
        int values =
            member->plan->metric_count + 1 + (int)signals->samples.table_count * TABLE_VALUES;

        rps_cpu_series_choose_signals(&member->cpu_series, values * (int)signals->count);
        if (rps_cpu_series_choose_downsampled(&member->cpu_series, err) < 0)
            return RPS_FAILED;
        if (member->cpu_series.resolution > work->level)
            work->level = member->cpu_series.resolution;
    }
    return 0;
}

/* Refuse CPUs whose period numbers are too far apart to be put side by side. */
static int check_numbers(const struct rps_run_member *member, struct rps_error *err)
{
    struct rps_run_summary summary;

    if (rps_reader_summary(member->reader, member->run.run_id, &summary, err) < 0)
        return RPS_FAILED;
    if (member->cpu_series.last - member->cpu_series.first <= 2 * summary.periods + HOLES_MAX)
        return 0;
    return rps_error_set(
        err, RPS_FAILED,
        "the CPUs of run %" PRId64
        " have measurement periods that are numbered too far apart; choose one CPU with --cpu",
        member->run.run_id);
}

/* Find whether all workloads use so little CPU time that rates per CPU time are mostly unknown. */
static int find_sleeping(struct work *work, const struct rps_run_signals *signals,
                         struct rps_error *err)
{
    work->sleeps = 1;
    for (size_t r = 0; r < signals->count; r++) {
        const struct rps_run_member *member = &signals->member[r];
        struct rps_run_summary summary;

        if (rps_reader_summary(member->reader, member->run.run_id, &summary, err) < 0)
            return RPS_FAILED;
        work->sleeps = work->sleeps && summary.cpu_ns >= 0 &&
                       (double)summary.cpu_ns < SLEEPING_USE * (double)member->run.elapsed_ns;
    }
    return 0;
}

/* Walk the periods of a run, with CPUs side by side or added up. */
static int walk_run(const struct work *work, struct rps_run_member *member, int together,
                    struct rps_error *err)
{
    struct rps_cpu_series *series = &member->cpu_series;
    struct rps_walk walk = {.series = series, .way = RPS_CPUS_SUM};
    struct rps_collect_options options = {
        .plan = member->plan,
        .name = work->name,
        .name_count = work->metric_count,
        .by_rotation = work->as_shown || work->level > 0 || rps_run_is_import(&member->run),
        .level = work->level,
        .as_shown = work->as_shown,
        .as_table = !together && !work->as_shown && work->level == 0 &&
                    rps_run_is_import(&member->run) && !rps_plan_knows_cpu_time(member->plan),
        .period_ns = member->run.period_ns,
        .sleeps = work->sleeps,
        .least_ns = rps_rotation_least_ns(&member->run, member->plan->set_count, 1),
        .together = together};
    int result = 0;

    series->resolution = work->level;
    if (series->by_cpu && series->count > 1 && work->options->cpus.way == RPS_CPUS_EACH) {
        walk.way = RPS_CPUS_EACH;
        options.cpu = series->cpu;
        options.cpu_count = series->count;
        options.first = options.by_rotation ? series->first_rotation : series->first;
        options.last = options.by_rotation ? series->last_rotation : series->last;
        options.first >>= RPS_LEVEL_BITS * options.level;
        options.last >>= RPS_LEVEL_BITS * options.level;
        result = check_numbers(member, err);
    }
    if (result == 0)
        result = rps_collect_new(&member->collect, &options, err);
    while (rps_walk_next(&walk, &result, err))
        result = rps_collect_add(member->collect, walk.track, walk.period, err);
    return result;
}

static int end_walks(struct rps_arena *arena, struct rps_run_signals *signals,
                     struct rps_error *err)
{
    struct rps_collect **collect = rps_arena_get(arena, signals->count, sizeof(*collect));

    for (size_t r = 0; r < signals->count; r++)
        collect[r] = signals->member[r].collect;
    return rps_collect_end_together(collect, signals->count, signals->collected, err);
}

/* Append the signals of samples to the metrics. If only samples were requested, they are the only
 * signals. */
static int add_samples(const struct work *work, struct rps_run_signals *signals, size_t r,
                       struct rps_error *err)
{
    if (signals->samples.name_count == 0)
        return 0;
    if (work->metric_count == 0 && work->sample_count > 0)
        signals->collected[r].signals.signal_count = 0;
    return signals->provider->add(&signals->samples, r, &signals->collected[r], err);
}

/* --- both ------------------------------------------------------------------------------------- */

int rps_run_signals_collect(struct rps_arena *arena, const struct rps_run_at *run, size_t count,
                            const struct rps_run_phases_options *options, int as_shown,
                            struct rps_run_signals *ret, struct rps_error *err)
{
    struct work work = {.options = options, .as_shown = as_shown};
    const struct rps_code_hooks *hooks;
    int result = 0;

    *ret = (struct rps_run_signals){
        .count = count,
        .member = rps_arena_get(arena, count, sizeof(*ret->member)),
        .collected = rps_arena_get(arena, count, sizeof(*ret->collected)),
    };
    hooks = rps_store_used_hooks();
    ret->provider = hooks ? hooks->signals : NULL;
    split_names(arena, ret->provider, &work);
    for (size_t r = 0; r < count && result == 0; r++)
        result = open_run(arena, &work, &run[r], &ret->member[r], err);
    if (result == 0)
        result = find_samples(arena, &work, ret, err);
    if (result == 0)
        result = choose_level(&work, ret, err);
    if (result == 0)
        result = find_sleeping(&work, ret, err);
    for (size_t r = 0; r < count && result == 0; r++)
        result = walk_run(&work, &ret->member[r], count > 1, err);
    if (result == 0)
        result = end_walks(arena, ret, err);
    for (size_t r = 0; r < count && result == 0; r++)
        result = add_samples(&work, ret, r, err);
    if (result == 0 && !as_shown && options->metric_count == 0)
        result = rps_system_series_add(ret, err);
    return result;
}

void rps_run_signals_free(struct rps_run_signals *signals)
{
    for (size_t r = 0; r < signals->count; r++) {
        struct rps_run_member *member = &signals->member[r];

        rps_collected_free(&signals->collected[r]);
        rps_collect_free(member->collect);
    }
}
