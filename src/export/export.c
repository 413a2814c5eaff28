/* Exports: the table of formats, and the loop over a run's periods that the formats share. The C
 * locale is set during this loop, so that the user's locale cannot change a number.
 *
 * A run that is being recorded is read repeatedly, each time from the newest period that was
 * already written. Each pass reads the CPUs one after another. Some formats write whole rotations,
 * or all CPUs together. Such a format leaves the newest rotation for the next pass, because this
 * rotation may be incomplete. */
#include "rpistat/export.h"

#include <errno.h>
#include <locale.h>
#include <string.h>

#include "rpistat/plan.h"
#include "rpistat/run_phases.h"
#include "rpistat/run_system.h"
#include "rpistat/run_regions.h"
#include "rpistat/walk.h"

const struct rps_export_format *const rps_export_formats[] = {RPS_EXPORT_FORMATS(RPS_EXPORT_ROW)
                                                                  NULL};

const struct rps_export_format *rps_export_find(const char *name)
{
    for (const struct rps_export_format *const *row = rps_export_formats; *row; row++) {
        if (strcmp((*row)->name, name) == 0)
            return *row;
    }
    return NULL;
}

/* Return 1 if a write has failed: a closed pipe, a full disk. */
static int has_failed(struct rps_export_job *job)
{
    if (!job->write_errno && ferror(job->out))
        job->write_errno = errno ? errno : EIO;
    return job->write_errno != 0;
}

/* Write a period. Returns 1 if the export cannot write any more. */
static int write_period(struct rps_export_job *job, const struct rps_period *period)
{
    job->format->period(job, period);
    return has_failed(job) || job->result < 0;
}

/* Write the data that remain. Returns 0, or the error that occurred when writing. */
static int finish(struct rps_export_job *job, struct rps_error *err)
{
    if (job->result < 0)
        return rps_error_set(err, job->result, "%s", job->err.message);
    if (!has_failed(job) && fflush(job->out) != 0)
        has_failed(job);
    if (job->write_errno)
        return rps_error_set(
            err, RPS_FAILED,
            "cannot write the export: %s; free some space, or choose another file with -o",
            strerror(job->write_errno));
    return 0;
}

static int end_periods(struct rps_export_job *job, int result, struct rps_error *err)
{
    if (result < 0)
        return result;
    if (!has_failed(job) && job->result == 0 && job->format->end)
        job->format->end(job);
    return finish(job, err);
}

/* --- a complete run --------------------------------------------------------------------------- */

/* Maximum number of periods read one by one for an export of intervals, which takes some ten
 * seconds. Single periods are needed, because coarser levels have no minimum and maximum of
 * rotations. Longer runs and formats of sums use the sums of coarser levels, as pictures do. */
#define EVERY_FINE_PERIODS UINT64_C(10000000)

static void choose_resolution(struct rps_cpu_series *cpu_series, struct rps_export_job *job)
{
    const struct rps_export_options *options = job->options;
    int64_t to_ns = options->to_ns < job->run->elapsed_ns ? options->to_ns : job->run->elapsed_ns;
    char level[RPS_CPU_SERIES_TEXT_SIZE], note[RPS_CPU_SERIES_TEXT_SIZE + 256];

    if (options->every_ns <= 0 || to_ns <= options->from_ns ||
        (!job->format->takes_every && cpu_series->periods <= EVERY_FINE_PERIODS))
        return;
    rps_cpu_series_choose_bins(cpu_series,
                               (size_t)((to_ns - options->from_ns) / options->every_ns) + 1);
    job->is_coarse = cpu_series->resolution > 0;
    if (job->format->takes_every || !job->is_coarse || !options->note)
        return;
    snprintf(
        note, sizeof(note),
        "run %lld is long: it was read %s, without minimum and maximum; select a part with --from "
        "and --to for full detail",
        (long long)job->run->run_id, rps_cpu_series_level_text(level, cpu_series));
    options->note(note);
}

static int keep_region(struct rps_cpu_series *cpu_series, const struct rps_export_job *job,
                       struct rps_error *err)
{
    const struct rps_export_options *options = job->options;
    struct rps_run_regions regions;
    struct rps_notes marks = {0};
    int result;

    if (!options->region)
        return 0;
    result = rps_reader_marks(job->arena, cpu_series->reader, cpu_series->run_id, &marks, err);
    regions = rps_run_regions_find(job->arena, &marks, options->from_ns, options->to_ns);
    if (result == 0)
        result = rps_run_regions_choose(&regions, cpu_series->run_id, options->region, err);
    if (result == 0)
        result = rps_run_region_keep(cpu_series, &regions.region[0], err);
    return result;
}

static int walk_once(struct rps_export_job *job, struct rps_error *err)
{
    const struct rps_export_options *options = job->options;
    struct rps_cpu_series cpu_series;
    struct rps_walk periods = {.series = &cpu_series, .way = options->cpus.way};
    int result = rps_cpu_series_open(job->arena, &cpu_series, job->reader, job->run->run_id,
                                     options->from_ns, options->to_ns, &options->cpus, err);

    if (result == 0)
        result = keep_region(&cpu_series, job, err);
    if (result == 0)
        choose_resolution(&cpu_series, job);
    while (rps_walk_next(&periods, &result, err))
        result = write_period(job, periods.period);
    return end_periods(job, result, err);
}

/* --- a run being recorded --------------------------------------------------------------------- */

struct follow {
    struct rps_export_job *job;
    int (*wait)(void *context);
    void *wait_context;
    int64_t from_ns;         /* start of the next pass: start of the newest written period */
    uint64_t newest;         /* number of the newest period that was written */
    uint64_t later_rotation; /* first rotation that is left for the next pass */
    size_t seen_count;
    struct seen {
        int32_t cpu;
        uint64_t next;   /* number of the next period to write: all earlier periods were written */
        uint64_t before; /* `next` before this walk, since rows of a block overlap */
    } * seen;            /* array in the arena, one element per CPU */
};

static struct seen *find_seen(struct follow *follow, int32_t cpu)
{
    for (size_t i = 0; i < follow->seen_count; i++) {
        if (follow->seen[i].cpu == cpu)
            return &follow->seen[i];
    }
    follow->seen =
        rps_arena_grow(follow->job->arena, follow->seen, follow->seen_count, sizeof(*follow->seen));
    follow->seen[follow->seen_count].cpu = cpu;
    return &follow->seen[follow->seen_count++];
}

static int follow_period(struct follow *follow, const struct rps_period *period)
{
    struct seen *seen;

    if (period->rotation >= follow->later_rotation)
        return 0;
    seen = find_seen(follow, period->cpu);
    if (period->period < seen->before)
        return 0;
    if (seen->next <= rps_period_last(period))
        seen->next = rps_period_last(period) + 1;
    if (period->period >= follow->newest) {
        follow->newest = period->period;
        follow->from_ns = period->start_ns;
    }
    return write_period(follow->job, period);
}

/* Write the data committed since the previous call. *ret_goes_on is 1 if more data will come. */
static int look(struct follow *follow, int *ret_goes_on, struct rps_error *err)
{
    struct rps_export_job *job = follow->job;
    int whole = job->format->rotations || job->options->cpus.way == RPS_CPUS_SUM, result;
    struct rps_cpus cpus = job->options->cpus;
    struct rps_cpu_series cpu_series = {0};
    struct rps_walk periods = {.series = &cpu_series, .way = cpus.way};
    struct rps_arena *scratch = rps_arena_new();
    struct rps_run run;

    /* Read the run before its periods: if the run has ended then, no periods are added later. */
    result = rps_reader_run(scratch, job->reader, job->run->run_id, &run, err);
    /* the last period's system metrics may be in another commit */
    if (result == 0)
        result = rps_run_system_is_there(job->reader, job->run->run_id, err);
    if (result < 0)
        goto out;
    *ret_goes_on = run.state == RPS_RUN_RECORDING;
    whole |= result;
    cpus.if_there = *ret_goes_on || follow->seen_count > 0; /* CPUs may go online or offline */
    result = rps_cpu_series_open(scratch, &cpu_series, job->reader, job->run->run_id,
                                 follow->from_ns, INT64_MAX, &cpus, err);
    follow->later_rotation = whole && *ret_goes_on ? cpu_series.last_rotation : UINT64_MAX;
    for (size_t i = 0; i < follow->seen_count; i++)
        follow->seen[i].before = follow->seen[i].next;
    while (rps_walk_next(&periods, &result, err))
        result = follow_period(follow, periods.period);
    result = end_periods(job, result, err);
out:
    rps_arena_free(scratch);
    return result;
}

static int walk_on(struct follow *follow, struct rps_error *err)
{
    int goes_on, result;

    do
        result = look(follow, &goes_on, err);
    while (result == 0 && goes_on && follow->wait(follow->wait_context) == 0);
    return result;
}

/* --- both ------------------------------------------------------------------------------------- */

/* Read and write the periods of the run. `follow` is NULL for a complete run. */
static int walk_run(struct rps_export_job *job, struct follow *follow, struct rps_error *err)
{
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0), before;
    int result;

    if (!c_locale)
        return rps_error_memory(err);
    before = uselocale(c_locale);
    result = job->format->begin(job, err);
    if (result == 0 && job->options->explain) {
        rps_csv_flush(job->state); /* in tables, job->state begins with the CSV writer */
        result = finish(job, err);
    } else if (result == 0)
        result = follow ? walk_on(follow, err) : walk_once(job, err);
    if (job->format->release)
        job->format->release(job);
    uselocale(before);
    freelocale(c_locale);
    return result;
}

/* Find the phases of an ended run: stored phases, or phases detected now if the run is not too
 * long. Returns 1 and *ret; 0 for none or any other problem; RPS_FAILED without memory. */
static int find_phases(const struct rps_export_job *job, struct rps_phase_levels *ret,
                       struct rps_error *err)
{
    char note[sizeof(err->message) + 128] = "";
    long long run = (long long)job->run->run_id;
    struct rps_run_summary summary = {.rows = 0};
    int result = 0;

    if (job->run->state == RPS_RUN_RECORDING)
        result = rps_run_phases_stored(job->arena, job->reader, run, ret, err);
    else
        result = rps_run_phases_get(job->arena, job->reader, run, ret, NULL, err);
    if (result == 0 && job->run->state != RPS_RUN_RECORDING)
        result = rps_reader_summary(job->reader, run, &summary, err);
    else if (result > 0)
        return 1;
    if (result < 0 && rps_error_is_memory(err))
        return result;
    if (result < 0)
        snprintf(note, sizeof(note), "the phases of run %lld are left out: %s", run, err->message);
    else if (summary.rows > RPS_RUN_PHASES_PERIODS_MAX)
        snprintf(note, sizeof(note),
                 "the phases of run %lld are left out, because it is long: find them with `rpistat "
                 "phases`",
                 run);
    if (note[0] && job->options && job->options->note)
        job->options->note(note);
    return 0;
}

/* Export a run. If the run's format has a function `part`, use that function; otherwise export by
 * periods. `follow` is NULL for a complete run. */
static int export_run(struct rps_export_job *job, struct follow *follow, int64_t run_id,
                      const struct rps_part_choice *choice, const struct rps_cpus *cpus,
                      struct rps_error *err)
{
    const struct rps_export_format *format = job->format;
    struct rps_phase_levels levels = {0};
    struct rps_plan *plan = NULL;
    struct rps_run run;
    int result;

    job->arena = rps_arena_new();
    job->run = &run;
    result = rps_reader_run(job->arena, job->reader, run_id, &run, err);
    if (result == 0 && !format->part)
        result = rps_reader_plan(job->arena, job->reader, run_id, &plan, err);
    job->plan = plan;
    if (result == 0 && format->phases && (result = find_phases(job, &levels, err)) > 0)
        job->phases = rps_phase_levels_shown(&levels);
    if (result >= 0 && !format->part)
        result = walk_run(job, follow, err);
    else if (result >= 0 && (result = format->part(job, choice, cpus, err)) == 0)
        result = finish(job, err);
    rps_arena_free(job->arena);
    return result;
}

int rps_export_run(const struct rps_export_format *format, FILE *out, struct rps_reader *reader,
                   int64_t run_id, const struct rps_export_options *options, struct rps_error *err)
{
    const struct rps_part_choice choice = {
        .from_ns = options->from_ns, .to_ns = options->to_ns, .region = options->region};
    struct rps_export_job job = {
        .format = format, .out = out, .reader = reader, .options = options};

    return export_run(&job, NULL, run_id, &choice, &options->cpus, err);
}

int rps_export_part(const struct rps_export_format *format, FILE *out, struct rps_reader *reader,
                    int64_t run_id, const struct rps_part_choice *choice,
                    const struct rps_cpus *cpus, struct rps_error *err)
{
    struct rps_export_job job = {.format = format, .out = out, .reader = reader};

    return export_run(&job, NULL, run_id, choice, cpus, err);
}

int rps_export_follow(const struct rps_export_format *format, FILE *out, struct rps_reader *reader,
                      int64_t run_id, const struct rps_export_options *options,
                      int (*wait)(void *context), void *context, struct rps_error *err)
{
    struct rps_export_job job = {
        .format = format, .out = out, .reader = reader, .options = options};
    struct follow follow = {
        .job = &job, .wait = wait, .wait_context = context, .from_ns = options->from_ns};

    return export_run(&job, &follow, run_id, NULL, NULL, err);
}
