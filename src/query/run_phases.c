/*
 * The phases of a run: its periods become signals, the detector's observations become period
 * numbers and times again.
 */
#include "rpistat/run_phases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/collect.h"
#include "rpistat/cpu_series.h"
#include "rpistat/signal.h"
#include "rpistat/wing.h"
#include "run_collect.h"

/* --- collecting ------------------------------------------------------------------------------- */

/* The names that were asked for: those of the plan, and behind them those of samples. */
struct names {
    const char **name; /* owned */
    size_t metric_count, sample_count;
};

static int split_names(const struct rps_run_phases_options *options,
                       const struct rps_signal_provider *provider, struct names *ret,
                       struct rps_error *err)
{
    *ret = (struct names){.name = calloc(options->metric_count + 1, sizeof(*ret->name))};
    if (!ret->name)
        return rps_error_memory(err);
    for (size_t i = 0; i < options->metric_count; i++) {
        size_t behind = options->metric_count - 1 - ret->sample_count;

        if (provider && provider->is_name(options->metric[i])) {
            ret->name[behind] = options->metric[i];
            ret->sample_count++;
        } else {
            ret->name[ret->metric_count++] = options->metric[i];
        }
    }
    return 0;
}

/* as_shown: by rotation, and rates as they are shown; not for the detector, and without samples. */
static int collect_run(struct rps_reader *reader, const struct rps_run *run,
                       const struct rps_run_phases_options *options, int as_shown,
                       struct rps_collected *ret, struct rps_error *err)
{
    struct rps_collect_options collect = {
        .by_rotation = as_shown, .as_shown = as_shown, .period_ns = run->period_ns};
    const struct rps_wing *wing = rps_reader_wing(reader);
    const struct rps_signal_provider *provider = wing ? wing->signals : NULL;
    struct rps_chosen_signals samples = {0};
    struct rps_cpu_series cpu_series = {0};
    struct rps_plan *plan = NULL;
    struct rps_collect *walked = NULL;
    struct names names = {0};
    int result = split_names(options, provider, &names, err);

    if (result == 0)
        result = rps_reader_plan(reader, run->run_id, &plan, err);
    collect.plan = plan;
    collect.name = names.name;
    collect.name_count = names.metric_count;
    if (result == 0)
        result = rps_cpu_series_open(&cpu_series, reader, run->run_id, options->from_ns,
                                     options->to_ns, &options->cpus, err);
    if (result == 0 && cpu_series.count == 0)
        result = rps_cpu_series_none(&cpu_series, err);
    if (result == 0 && options->no_samples && names.sample_count > 0)
        result = rps_error_set(err, RPS_USAGE, "--no-samples leaves nothing of '%s'",
                               names.name[names.metric_count]);
    if (result == 0 && provider && !as_shown && !options->no_samples &&
        (names.sample_count > 0 || options->metric_count == 0))
        result = provider->choose(
            &(struct rps_signal_run){reader, run->run_id, cpu_series.first, cpu_series.last}, 1,
            &options->cpus, names.name + names.metric_count, names.sample_count, &samples, err);
    if (result == 0) {
        rps_cpu_series_choose_signals(&cpu_series, plan->metric_count + 1 + (int)samples.count);
        result = rps_cpu_series_choose_thinned(&cpu_series, err);
    }
    if (result == 0) {
        collect.level = cpu_series.resolution;
        collect.by_rotation = as_shown || collect.level > 0;
        result = rps_run_collect_walk(reader, &cpu_series, &options->cpus, &collect, &walked, err);
    }
    if (result == 0)
        result = rps_collect_end(walked, ret, err);
    if (result == 0 && samples.count > 0) {
        if (names.metric_count == 0 && names.sample_count > 0) /* they alone */
            ret->signals.signal_count = 0;
        result = provider->add(&samples, 0, ret, err);
    }
    rps_collect_free(walked);
    if (provider)
        provider->free(&samples);
    rps_cpu_series_free(&cpu_series);
    rps_plan_free(plan);
    free(names.name);
    return result;
}

/* --- detecting -------------------------------------------------------------------------------- */

static void place(struct rps_run_phases *found, const struct rps_collected *collected)
{
    size_t count = collected->signals.count;

    found->observation_count = count;
    found->observation_ns =
        (collected->end_ns[count - 1] - collected->start_ns[0]) / (int64_t)count;
    for (size_t i = 0; i < found->found.levels.count; i++)
        rps_run_collect_place(&found->found.levels.level[i], collected);
}

static int name_signals(const struct rps_collected *collected, struct rps_run_phases *found,
                        struct rps_error *err)
{
    found->signal_count = collected->signals.signal_count;
    found->signal = calloc(found->signal_count + 1, sizeof(*found->signal));
    if (!found->signal)
        return rps_error_memory(err);
    for (size_t s = 0; s < found->signal_count; s++)
        snprintf(found->signal[s], sizeof(found->signal[s]), "%s", collected->signal[s].name);
    return 0;
}

/* The shortest phase, in periods: what was asked for, or 0, the detector's choice. */
static size_t shortest(const struct rps_run_phases_options *options, const struct rps_run *run,
                       const struct rps_collected *collected)
{
    if (options->find.detect.min_length > 0)
        return options->find.detect.min_length;
    if (options->min_length_ns > 0 && run->period_ns > 0)
        return (size_t)((options->min_length_ns - 1) / run->period_ns + 1);
    return rps_run_collect_shortest(run, collected);
}

/* Periods as observations, which are blocks where the run was read at a level. */
static size_t in_observations(size_t periods, const struct rps_collected *collected)
{
    size_t block = (size_t)(collected->set_count > 0 ? collected->set_count : 1)
                   << (RPS_LEVEL_BITS * collected->level);

    return collected->level > 0 ? (periods + block - 1) / block : periods;
}

void rps_run_phases_free(struct rps_run_phases *found)
{
    rps_found_phases_free(&found->found);
    free(found->signal);
    memset(found, 0, sizeof(*found));
}

/* From when on the part would be seen period by period; -1: it is, or nowhere. */
static int periods_from(struct rps_reader *reader, const struct rps_run_phases_options *options,
                        struct rps_run_phases *found, int64_t run_id, struct rps_error *err)
{
    int result = rps_reader_thinned(reader, run_id, &found->periods_from_ns, err);

    if (found->periods_from_ns <= options->from_ns || found->periods_from_ns >= options->to_ns)
        found->periods_from_ns = -1;
    return result;
}

static int detect_run(struct rps_reader *reader, const struct rps_run *run,
                      const struct rps_run_phases_options *options, struct rps_run_phases *ret,
                      struct rps_error *err)
{
    struct rps_phases_options find = options->find;
    struct rps_collected collected = {0};
    struct rps_run_phases found = {0};
    int result = collect_run(reader, run, options, 0, &collected, err);

    found.min_length = shortest(options, run, &collected);
    find.detect.min_length = in_observations(found.min_length, &collected);
    found.resolution = collected.level;
    if (result == 0)
        result = periods_from(reader, options, &found, run->run_id, err);
    if (result == 0)
        result = rps_phases_find(&collected.signals, &find, &found.found, err);
    if (result == 0) {
        place(&found, &collected);
        result = name_signals(&collected, &found, err);
    }
    if (result == 0)
        *ret = found;
    else
        rps_run_phases_free(&found);
    rps_collected_free(&collected);
    return result;
}

int rps_run_phases_detect(struct rps_reader *reader, int64_t run_id,
                          const struct rps_run_phases_options *options, struct rps_run_phases *ret,
                          struct rps_error *err)
{
    struct rps_run run;
    int result = rps_reader_run(reader, run_id, &run, err);

    if (result < 0)
        return result;
    result = detect_run(reader, &run, options, ret, err);
    rps_run_free(&run);
    return result;
}

/* What a run is profiled by. */
struct profiling {
    struct rps_reader *reader;
    int64_t run_id;
    const struct rps_run_phases_options *options;
};

static int profile(const void *context, const struct rps_phases *phases, struct rps_profile *ret,
                   struct rps_error *err)
{
    const struct profiling *of = context;

    return rps_profile_run(of->reader, of->run_id, of->options->from_ns, of->options->to_ns,
                           &of->options->cpus, phases, ret, err);
}

int rps_run_phases_remark(struct rps_reader *reader, int64_t run_id,
                          const struct rps_run_phases_options *options,
                          const struct rps_run_phases *found, char ret[RPS_PHASE_REMARK_SIZE],
                          struct rps_error *err)
{
    const struct profiling of = {reader, run_id, options};

    return rps_profile_remark(&found->found, found->observation_ns, profile, &of, ret, err);
}

/* --- what other commands use ------------------------------------------------------------------ */

/* Does the detection reach to the end of the run? A recording may have gone on since. */
static int reaches_end(const struct rps_phase_levels *levels, const struct rps_run *run)
{
    const struct rps_phases *phases = rps_phase_levels_shown(levels);

    return phases->count > 0 &&
           phases->phase[phases->count - 1].end_ns + run->period_ns > run->elapsed_ns;
}

/* The stored detection when it is of any use now: 1, 0 or negative. */
static int stored(struct rps_reader *reader, const struct rps_run *run,
                  struct rps_phase_levels *ret, char *remark, struct rps_error *err)
{
    struct rps_detection detection;
    int result = rps_reader_detection(reader, run->run_id, &detection, err);

    if (result <= 0)
        return result;
    result = reaches_end(&detection.levels, run);
    if (result) {
        *ret = detection.levels;
        detection.levels = (struct rps_phase_levels){0};
        if (remark)
            snprintf(remark, RPS_PHASE_REMARK_SIZE, "%s", detection.remark ? detection.remark : "");
    }
    rps_detection_free(&detection);
    return result;
}

static int detect_small(struct rps_reader *reader, const struct rps_run *run,
                        struct rps_phase_levels *ret, char *remark, struct rps_error *err)
{
    const struct rps_run_phases_options options = {.to_ns = INT64_MAX};
    struct rps_run_phases found;
    struct rps_run_summary summary;
    int result = rps_reader_summary(reader, run->run_id, &summary, err);

    if (result < 0)
        return result;
    if (summary.rows == 0 || summary.rows > RPS_RUN_PHASES_PERIODS_MAX)
        return 0;
    result = detect_run(reader, run, &options, &found, err);
    if (result < 0)
        return result;
    if (remark)
        result = rps_run_phases_remark(reader, run->run_id, &options, &found, remark, err);
    if (result == 0) {
        *ret = found.found.levels;
        found.found.levels = (struct rps_phase_levels){0};
        result = 1;
    }
    rps_run_phases_free(&found);
    return result;
}

int rps_run_phases_get(struct rps_reader *reader, int64_t run_id, struct rps_phase_levels *ret,
                       char remark[RPS_PHASE_REMARK_SIZE], struct rps_error *err)
{
    struct rps_run run;
    int result = rps_reader_run(reader, run_id, &run, err);

    if (result < 0)
        return result;
    result = stored(reader, &run, ret, remark, err);
    if (result == 0)
        result = detect_small(reader, &run, ret, remark, err);
    rps_run_free(&run);
    return result;
}

/* --- principal components --------------------------------------------------------------------- */

void rps_run_components_free(struct rps_run_components *components)
{
    rps_components_free(&components->components);
    free(components->start_ns);
    free(components->end_ns);
    free(components->cycle);
    free(components->name);
    memset(components, 0, sizeof(*components));
}

/* Times and names of what was collected, taken over. */
static int take_over(struct rps_collected *collected, struct rps_run_components *found,
                     struct rps_error *err)
{
    struct rps_run_phases names = {0};

    if (name_signals(collected, &names, err) < 0)
        return RPS_FAILED;
    found->name = names.signal;
    found->start_ns = collected->start_ns;
    found->end_ns = collected->end_ns;
    found->cycle = collected->cycle;
    collected->start_ns = collected->end_ns = NULL;
    collected->cycle = NULL;
    return 0;
}

int rps_run_components_find(struct rps_reader *reader, int64_t run_id,
                            const struct rps_run_phases_options *options, size_t component_max,
                            struct rps_run_components *ret, struct rps_error *err)
{
    struct rps_collected collected = {0};
    struct rps_run_components found = {0};
    struct rps_run run;
    int result = rps_reader_run(reader, run_id, &run, err);

    if (result < 0)
        return result;
    result = collect_run(reader, &run, options, 1, &collected, err);
    if (result == 0)
        result = rps_components_find(&collected.signals, component_max, &found.components, err);
    if (result == 0)
        result = take_over(&collected, &found, err);
    if (result == 0)
        *ret = found;
    else
        rps_run_components_free(&found);
    rps_collected_free(&collected);
    rps_run_free(&run);
    return result;
}
