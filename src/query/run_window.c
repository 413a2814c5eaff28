/* Prepares the comparison of a window with the rest of the run. Values vary less within a phase
 * than in the whole run, so the noise is measured within phases. It is measured near the window
 * only, so that a window of a day's recording takes a fraction of a second. The sums cover all
 * periods. */
#include "rpistat/run_window.h"

#include <inttypes.h>
#include <math.h>

#include "profile_parts.h"
#include "rpistat/cpu_series.h"
#include "rpistat/run.h"
#include "rpistat/run_phases.h"
#include "rpistat/store.h"

/* The noise is measured in this many periods on each side, or in twice as many as the window has.
 * Phases that are not stored are detected near windows of at most this many periods. */
#define NEAR_PERIODS 10000

struct job {
    struct rps_arena *arena;
    struct rps_run_at at;
    struct rps_run_window *window;
    int has_other, is_later; /* is_later: 1 if the other window is before the window */
    int64_t period_ns;
    uint64_t periods; /* periods of the window */
    struct rps_window read;
};

/* Find the periods of a range. A range that cuts a block of a downsampled run is widened. */
static int find_periods(const struct job *job, int64_t *from_ns, int64_t *to_ns,
                        struct rps_run_stretch *ret, struct rps_error *err)
{
    const struct rps_cpus all = {0};
    struct rps_cpu_series series;

    if (rps_cpu_series_open(job->arena, &series, job->at.reader, job->at.run_id, *from_ns, *to_ns,
                            &all, err) < 0)
        return RPS_FAILED;
    ret->first = series.first;
    ret->last = series.last;
    if (series.widened) {
        *from_ns = series.widened_from_ns;
        *to_ns = series.widened_to_ns;
    }
    return 0;
}

/* Divide the run into the sides, or the range of both windows into the sides and a gap. */
static int choose_sides(struct job *job, struct rps_error *err)
{
    struct rps_run_window *window = job->window;
    int64_t begin_ns = 0, end_ns = INT64_MAX;
    const int is_later = job->is_later;
    const struct rps_part_choice choice = {
        .from_ns = window->from_ns[0], .to_ns = window->to_ns[0], .region = window->region};
    struct rps_run_stretch side[2] = {{.group = 0}, {.group = 1}}, all;
    struct rps_run_part part = {.count = 1 + (size_t)job->has_other, .stretch = side};

    for (int i = 0; i < 1 + job->has_other; i++) {
        side[i ^ is_later].group = (size_t)i;
        if (find_periods(job, &window->from_ns[i], &window->to_ns[i], &side[i ^ is_later], err) < 0)
            return rps_error_prefix(err, RPS_FAILED, "%s",
                                    i > 0 ? "other time range" : "time range");
    }
    all = (struct rps_run_stretch){.first = side[0].first, .last = side[1].last};
    if (job->has_other && side[1].first <= side[0].last)
        return rps_error_set(
            err, RPS_FAILED,
            "the time ranges overlap; choose time ranges without common periods with --from, "
            "--to and --against");
    if (!job->has_other && find_periods(job, &begin_ns, &end_ns, &all, err) < 0)
        return RPS_FAILED;
    if (window->region &&
        rps_run_part_choose(job->arena, job->at.reader, job->at.run_id, &choice, &part, err) < 0)
        return RPS_FAILED;
    if (!job->has_other && part.count == 1 && part.stretch->first <= all.first &&
        part.stretch->last >= all.last)
        return rps_error_set(err, RPS_FAILED,
                             "the time range is the whole of run %" PRId64
                             ", so there is no rest to "
                             "compare it with; choose a part with --from and --to",
                             job->at.run_id);
    job->periods = side[is_later].last - side[is_later].first + 1;
    job->read.side =
        rps_part_words_phases(job->arena, &part, all.first, all.last, 1 + job->has_other);
    job->read.side.label_count = 2 + job->has_other;
    return 0;
}

/* Choose what is read: both windows; or the run, coarsely where it is not near the window. */
static int choose_ranges(struct job *job, struct rps_error *err)
{
    const struct rps_run_window *of = job->window;
    const int64_t near_ns =
        (int64_t)fmin((double)job->period_ns * fmax(2. * (double)job->periods, NEAR_PERIODS),
                      (double)(INT64_MAX / 2));
    const int64_t begin_ns = of->from_ns[0] > near_ns ? of->from_ns[0] - near_ns : 0;
    const int64_t end_ns = of->to_ns[0] < INT64_MAX - near_ns ? of->to_ns[0] + near_ns : INT64_MAX;
    struct rps_window_range range[] = {
        {0, begin_ns, RPS_LEVELS, 0}, {begin_ns, end_ns, 0, 1}, {end_ns, INT64_MAX, RPS_LEVELS, 0}};
    uint64_t first, last;
    int result = 0;

    if (job->has_other)
        for (int i = 0; i < 2; i++)
            range[i ^ job->is_later] =
                (struct rps_window_range){of->from_ns[i], of->to_ns[i], 0, 1};
    for (int i = 0; i < 3 - job->has_other && result >= 0; i++) {
        const uint64_t periods =
            job->has_other ? (uint64_t)((range[i].to_ns - range[i].from_ns) / job->period_ns)
                           : job->periods;

        while (range[i].is_spread && range[i].resolution < RPS_LEVELS &&
               periods >> (RPS_LEVEL_BITS * range[i].resolution) > 2 * NEAR_PERIODS)
            range[i].resolution++;
        result = range[i].from_ns >= range[i].to_ns ? 0
                 : range[i].is_spread
                     ? 1
                     : rps_reader_periods(job->at.reader, job->at.run_id, range[i].from_ns,
                                          range[i].to_ns, &first, &last, err);
        if (result > 0)
            job->read.range[job->read.range_count++] = range[i];
    }
    return result;
}

/* Divide the sides at the bounds of the phases. Periods without a phase are of one more class. */
static void divide(struct job *job, const struct rps_phases *phases)
{
    const struct rps_phases *side = &job->read.side;
    const struct rps_run_part known = rps_run_part_of_phases(job->arena, phases, 1);
    const struct rps_phases all =
        rps_part_words_phases(job->arena, &known, side->phase[0].first,
                              side->phase[side->count - 1].last, phases->label_count);
    const struct rps_run_part classes = rps_run_part_of_phases(job->arena, &all, 1);
    const struct rps_run_part sides = rps_run_part_of_phases(job->arena, side, 1);
    const struct rps_run_part both = rps_run_part_both(job->arena, &classes, &sides);
    struct rps_phases *part = &job->read.part;
    size_t at = 0;

    part->label_count = 2 * (phases->label_count + 1);
    part->phase = rps_arena_get(job->arena, both.count, sizeof(*part->phase));
    for (size_t i = 0; i < both.count; i++) {
        const struct rps_run_stretch *of = &both.stretch[i];
        const int label = side->phase[rps_phases_at(side, of->first, &at)].label;

        if (label < 2) /* A length of 1 ns distinguishes a part of a run from rows of a table. */
            part->phase[part->count++] = (struct rps_phase){.first = of->first,
                                                            .last = of->last,
                                                            .end_ns = 1,
                                                            .label = 2 * (int)of->group + label};
    }
}

/* Divide the sides at the bounds of the stored phases, or of those detected near the window. */
static int divide_at_phases(struct job *job, struct rps_error *err)
{
    const struct rps_window_range *near =
        &job->read.range[job->has_other ? job->is_later : !job->read.range[0].is_spread];
    const struct rps_run_phases_options options = {.from_ns = near->from_ns, .to_ns = near->to_ns};
    const struct rps_phases none = {0}, *phases = &none;
    struct rps_phase_levels levels;
    struct rps_run_phases found;
    int result = 0;

    if (near->resolution == 0 && job->window->phases)
        phases = job->window->phases;
    else if (near->resolution == 0) /* A block of many periods may contain several phases. */
        result = rps_run_phases_get(job->arena, job->at.reader, job->at.run_id, &levels, NULL, err);
    if (result > 0)
        phases = rps_phase_levels_shown(&levels);
    else if (result == 0 && phases == &none && job->periods <= NEAR_PERIODS &&
             (result = rps_run_phases_detect(job->arena, &job->at, 1, &options, &found, err)) == 0)
        phases = rps_phase_levels_shown(&found.found.levels);
    divide(job, phases);
    return result;
}

/* Read the code of both sides, without the time between two windows. Put it before the words. */
static int read_code(struct job *job, struct rps_error *err)
{
    struct rps_run_window *window = job->window;
    struct rps_run_part part = rps_run_part_of_phases(job->arena, &job->read.side, 1);

    if (job->has_other && part.count == 3) /* The gap is the second. */
        part.stretch[1] = part.stretch[--part.count];
    part.group_count = 2;
    if (rps_part_shares_find(job->arena, job->at.reader, job->at.run_id, &part, 1, &window->cpus,
                             &window->shares, err) < 0)
        return RPS_FAILED;
    if (window->shares.group_count > 0)
        window->shares.group->other = job->read.other;
    rps_profile_place(&window->profile, &window->shares);
    return 0;
}

int rps_run_window_find(struct rps_arena *arena, struct rps_reader *reader,
                        const struct rps_run *run, struct rps_run_window *window,
                        struct rps_error *err)
{
    struct job job = {.arena = arena,
                      .at = {reader, run->run_id},
                      .window = window,
                      .has_other = window->to_ns[1] > 0,
                      .is_later = window->from_ns[1] < window->from_ns[0] && window->to_ns[1] > 0,
                      .period_ns = run->period_ns > 0 ? run->period_ns : 1};

    job.read.other = job.has_other ? "other time range" : "rest of the run";
    for (int i = 0; i < 2 && run->elapsed_ns > 0; i++)
        window->to_ns[i] = window->to_ns[i] < run->elapsed_ns ? window->to_ns[i] : run->elapsed_ns;
    if (choose_sides(&job, err) < 0 || choose_ranges(&job, err) < 0 ||
        divide_at_phases(&job, err) < 0 ||
        rps_profile_window(arena, reader, run->run_id, &window->cpus, &job.read, &window->profile,
                           err) < 0)
        return RPS_FAILED;
    return read_code(&job, err);
}
