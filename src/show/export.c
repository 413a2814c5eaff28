/*
 * Exports: the table of formats, and the walk over a run that they share. The C locale is in force
 * during the walk, so that no environment can change a number.
 */
#include "rpistat/export.h"

#include <errno.h>
#include <locale.h>
#include <string.h>

#include "cpu_series.h"
#include "export_csv.h"

const struct rps_export_format *const rps_export_formats[] = {
    &rps_export_wide,
    &rps_export_rates,
    &rps_export_long,
    NULL,
};

const struct rps_export_format *rps_export_find(const char *name)
{
    for (const struct rps_export_format *const *row = rps_export_formats; *row; row++) {
        if (strcmp((*row)->name, name) == 0)
            return *row;
    }
    return NULL;
}

struct walk {
    const struct rps_export_format *format;
    struct rps_export_job *job;
    int write_errno; /* of the write that failed, or 0 */
};

/* 1 when a write has failed: a closed pipe, a full disk. */
static int has_failed(struct walk *walk)
{
    if (!walk->write_errno && ferror(walk->job->out))
        walk->write_errno = errno ? errno : EIO;
    return walk->write_errno != 0;
}

static int walk_period(void *context, const struct rps_period *period, struct rps_error *err)
{
    struct walk *walk = context;

    (void)err;
    walk->format->period(walk->job, period);
    return has_failed(walk);
}

static int walk_periods(struct walk *walk, const struct rps_cpu_series *cpu_series,
                        struct rps_error *err)
{
    struct rps_export_job *job = walk->job;
    int result = job->options->cpus.way == RPS_CPUS_SUM
                     ? rps_cpu_series_walk_sum(cpu_series, walk_period, walk, err)
                     : rps_cpu_series_walk(cpu_series, walk_period, walk, err);

    if (result < 0)
        return result;
    if (!has_failed(walk) && walk->format->end)
        walk->format->end(job);
    if (!has_failed(walk) && fflush(job->out) != 0)
        has_failed(walk);
    if (walk->write_errno)
        return rps_error_set(
            err, RPS_FAILED,
            "the export could not be written: %s; make room, or choose another place with -o",
            strerror(walk->write_errno));
    return 0;
}

static int walk_run(const struct rps_export_format *format, struct rps_export_job *job,
                    const struct rps_cpu_series *cpu_series, struct rps_error *err)
{
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0), before;
    struct walk walk = {.format = format, .job = job};
    int result;

    if (!c_locale)
        return rps_error_memory(err);
    before = uselocale(c_locale);
    result = format->begin ? format->begin(job, err) : 0;
    if (result == 0)
        result = walk_periods(&walk, cpu_series, err);
    if (format->release)
        format->release(job);
    uselocale(before);
    freelocale(c_locale);
    return result;
}

int rps_export_run(const struct rps_export_format *format, FILE *out, struct rps_reader *reader,
                   int64_t run_id, const struct rps_export_options *options, struct rps_error *err)
{
    struct rps_cpu_series cpu_series = {0};
    struct rps_plan *plan = NULL;
    struct rps_run run;
    struct rps_export_job job = {.out = out, .run = &run, .options = options};
    int result;

    rps_run_init(&run);
    result = rps_reader_run(reader, run_id, &run, err);
    if (result == 0)
        result = rps_reader_plan(reader, run_id, &plan, err);
    job.plan = plan;
    if (result == 0)
        result = rps_cpu_series_open(&cpu_series, reader, run_id, options->from_ns, options->to_ns,
                                     &options->cpus, err);
    if (result == 0)
        result = walk_run(format, &job, &cpu_series, err);
    rps_cpu_series_free(&cpu_series);
    rps_plan_free(plan);
    rps_run_free(&run);
    return result;
}
