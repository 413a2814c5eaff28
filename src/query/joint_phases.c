/*
 * The phases of several runs: their periods become signals that mean the same in all of them, and
 * the observations of what is found together become each run's own periods and times again.
 */
#include "rpistat/joint_phases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/joint.h"
#include "rpistat/signal.h"
#include "rpistat/wing.h"
#include "run_collect.h"

static const struct rps_cpus added_up = {.way = RPS_CPUS_SUM};

/* What is needed of a run until its signals are there. */
struct part {
    struct rps_reader *reader; /* borrowed */
    struct rps_run run;        /* owned */
    struct rps_plan *plan;     /* owned */
    struct rps_cpu_series cpu_series;
};

/* All runs, an element each. */
struct work {
    size_t count;
    struct part *part;                          /* owned */
    struct rps_collect **collect;               /* owned */
    struct rps_collected *collected;            /* owned */
    const struct rps_signal_provider *provider; /* of signals beside the counters; NULL: none */
    struct rps_chosen_signals samples;
};

static void work_free(struct work *work)
{
    for (size_t r = 0; r < work->count; r++) {
        if (work->collected)
            rps_collected_free(&work->collected[r]);
        if (work->collect)
            rps_collect_free(work->collect[r]);
        if (work->part) {
            rps_cpu_series_free(&work->part[r].cpu_series);
            rps_plan_free(work->part[r].plan);
            rps_run_free(&work->part[r].run);
        }
    }
    free(work->collected);
    if (work->provider)
        work->provider->free(&work->samples);
    free(work->collect);
    free(work->part);
}

static int work_make(size_t count, struct work *ret, struct rps_error *err)
{
    *ret = (struct work){.count = count,
                         .part = calloc(count, sizeof(*ret->part)),
                         .collect = calloc(count, sizeof(*ret->collect)),
                         .collected = calloc(count, sizeof(*ret->collected))};
    if (ret->part && ret->collect && ret->collected)
        return 0;
    return rps_error_memory(err);
}

static int open_run(const struct rps_joint_run *run, struct part *part, struct rps_error *err)
{
    int result = rps_reader_run(run->reader, run->run_id, &part->run, err);

    part->reader = run->reader;
    if (result == 0)
        result = rps_reader_plan(run->reader, run->run_id, &part->plan, err);
    if (result == 0)
        result = rps_cpu_series_open(&part->cpu_series, run->reader, run->run_id, 0, INT64_MAX,
                                     &added_up, err);
    if (result == 0 && part->cpu_series.count == 0)
        result = rps_cpu_series_none(&part->cpu_series, err);
    return result;
}

static int choose_samples(struct work *work, struct rps_error *err)
{
    struct rps_signal_run *run = calloc(work->count, sizeof(*run));
    int result;

    if (!run)
        return rps_error_memory(err);
    for (size_t r = 0; r < work->count; r++)
        run[r] =
            (struct rps_signal_run){work->part[r].reader, work->part[r].run.run_id,
                                    work->part[r].cpu_series.first, work->part[r].cpu_series.last};
    result = work->provider->choose(run, work->count, &added_up, NULL, 0, &work->samples, err);
    free(run);
    return result;
}

/* The level that all are read at: the coarsest that any is thinned to, or too long below. */
static int choose_level(struct work *work, int *ret_level, struct rps_error *err)
{
    int level = 0, result = 0;

    for (size_t r = 0; r < work->count && result == 0; r++) {
        struct part *part = &work->part[r];
        int signals = part->plan->metric_count + 1 + (int)work->samples.count;

        rps_cpu_series_choose_signals(&part->cpu_series, signals * (int)work->count);
        result = rps_cpu_series_choose_thinned(&part->cpu_series, err);
        level = part->cpu_series.resolution > level ? part->cpu_series.resolution : level;
    }
    *ret_level = level;
    return result;
}

static int walk_run(struct part *part, int level, struct rps_collect **ret, struct rps_error *err)
{
    struct rps_collect_options options = {.plan = part->plan,
                                          .by_rotation = level > 0,
                                          .level = level,
                                          .period_ns = part->run.period_ns,
                                          .together = 1};

    part->cpu_series.resolution = level;
    return rps_run_collect_walk(part->reader, &part->cpu_series, &added_up, &options, ret, err);
}

static int collect_runs(const struct rps_joint_run *run, int no_samples, struct work *work,
                        struct rps_error *err)
{
    const struct rps_wing *wing;
    int result = 0, level = 0;

    for (size_t r = 0; r < work->count && result == 0; r++)
        result = open_run(&run[r], &work->part[r], err);
    wing = work->count > 0 ? rps_reader_wing(run[0].reader) : NULL;
    work->provider = wing && !no_samples ? wing->signals : NULL;
    if (result == 0 && work->provider)
        result = choose_samples(work, err);
    if (result == 0)
        result = choose_level(work, &level, err);
    for (size_t r = 0; r < work->count && result == 0; r++)
        result = walk_run(&work->part[r], level, &work->collect[r], err);
    if (result == 0)
        result = rps_collect_end_together(work->collect, work->count, work->collected, err);
    for (size_t r = 0; r < work->count && result == 0 && work->samples.count > 0; r++)
        result = work->provider->add(&work->samples, r, &work->collected[r], err);
    return result;
}

/* --- names ------------------------------------------------------------------------------------ */

static int add_missing(struct rps_joint_phases *joint, const char *name, struct rps_error *err)
{
    char(*more)[RPS_NAME_SIZE * 2];

    for (size_t i = 0; i < joint->missing_count; i++) {
        if (strcmp(joint->missing[i], name) == 0)
            return 0;
    }
    more = realloc(joint->missing, (joint->missing_count + 1) * sizeof(*more));
    if (!more)
        return rps_error_memory(err);
    joint->missing = more;
    snprintf(more[joint->missing_count++], sizeof(*more), "%s", name);
    return 0;
}

/* What any run has and another lacks. */
static int find_missing(const struct work *work, struct rps_joint_phases *joint,
                        struct rps_error *err)
{
    const char *name;
    int result = 0;

    for (size_t r = 0; r < work->count; r++) {
        for (size_t other = 0; other < work->count; other++) {
            int lacks = 0;

            for (size_t at = 0; lacks >= 0 && result == 0; at++) {
                lacks = rps_collect_lacks(work->collect[r], work->collect[other], at, &name);
                if (lacks > 0)
                    result = add_missing(joint, name, err);
            }
        }
    }
    if (result == 0 && work->samples.having > 0 && work->samples.having < work->count)
        result = add_missing(joint, "samples", err);
    return result;
}

static int find_names(const struct work *work, struct rps_joint_phases *joint,
                      struct rps_error *err)
{
    const struct rps_collected *first = &work->collected[0];

    joint->signal_count = first->signals.signal_count;
    joint->signal = calloc(joint->signal_count + 1, sizeof(*joint->signal));
    if (!joint->signal)
        return rps_error_memory(err);
    for (size_t s = 0; s < joint->signal_count; s++)
        snprintf(joint->signal[s], sizeof(*joint->signal), "%s", first->signal[s].name);
    return find_missing(work, joint, err);
}

/* --- detecting -------------------------------------------------------------------------------- */

static int detect(const struct work *work, const struct rps_joint_options *options,
                  struct rps_joint *ret, struct rps_error *err)
{
    struct rps_phases_options find = {.level = options->level};
    const struct rps_signals **signals = calloc(work->count, sizeof(*signals));
    int result;

    if (!signals)
        return rps_error_memory(err);
    for (size_t r = 0; r < work->count; r++) {
        size_t least = rps_run_collect_shortest(&work->part[r].run, &work->collected[r]);

        signals[r] = &work->collected[r].signals;
        find.detect.min_length = least > find.detect.min_length ? least : find.detect.min_length;
    }
    result = rps_joint_find(signals, work->count, &find, ret, err);
    free(signals);
    return result;
}

void rps_joint_phases_free(struct rps_joint_phases *joint)
{
    for (size_t r = 0; joint->run && r < joint->run_count; r++)
        rps_phases_free(&joint->run[r]);
    free(joint->run);
    free(joint->distance);
    free(joint->signal);
    free(joint->missing);
    memset(joint, 0, sizeof(*joint));
}

int rps_joint_phases_find(const struct rps_joint_run *run, size_t count,
                          const struct rps_joint_options *options, struct rps_joint_phases *ret,
                          struct rps_error *err)
{
    struct rps_joint_phases out = {.run_count = count};
    struct rps_joint found = {0};
    struct work work;
    int result = work_make(count, &work, err);

    if (result == 0)
        result = collect_runs(run, options->no_samples, &work, err);
    if (result == 0)
        result = find_names(&work, &out, err);
    if (result == 0)
        result = detect(&work, options, &found, err);
    for (size_t r = 0; r < count && result == 0; r++)
        rps_run_collect_place(&found.run[r], &work.collected[r]);
    out.level = count > 0 && work.collected ? work.collected[0].level : 0;
    out.run = found.run;
    out.label_count = found.label_count;
    out.distance = found.distance;
    work_free(&work);
    if (result == 0)
        *ret = out;
    else
        rps_joint_phases_free(&out);
    return result;
}
