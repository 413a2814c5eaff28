/*
 * Exports: the table of formats, and the walk over a run that they share. The C locale is in force
 * during the walk, so that no environment can change a number.
 */
#include "rpistat/export.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "export_rows.h"
#include "cpu_series.h"

const struct rps_export_format rps_export_formats[] = {
    {"wide", "one row a measurement period, a column an event (the default)", rps_export_wide},
    {"rates", "one row a rotation of the event sets, a column a metric", rps_export_rates},
    {"long", "one row an event and measurement period", rps_export_long},
    {NULL, NULL, NULL},
};

const struct rps_export_format *rps_export_find(const char *name)
{
    for (const struct rps_export_format *format = rps_export_formats; format->name; format++) {
        if (strcmp(format->name, name) == 0)
            return format;
    }
    return NULL;
}

void rps_export_place(struct rps_export_job *job, int32_t cpu)
{
    rps_csv_int64(job->csv, job->run_id);
    rps_csv_int64(job->csv, cpu);
}

void rps_export_fixed(struct rps_export_job *job, const char *const *fixed, int fixed_count)
{
    for (int i = 0; i < fixed_count; i++)
        rps_csv_text(job->csv, fixed[i]);
}

void rps_export_named(struct rps_export_job *job, const char *const *fixed, int fixed_count,
                      const char *name, const char *kind)
{
    char other[RPS_NAME_SIZE + 16];
    int taken = 0;

    for (int i = 0; i < fixed_count; i++)
        taken |= strcmp(fixed[i], name) == 0;
    snprintf(other, sizeof(other), "%s_%s", name, kind);
    rps_csv_text(job->csv, taken ? other : name);
}

/* A period for the rows of a format. */
struct walk {
    struct rps_export_job *job;
    const struct rps_export_rows *rows;
};

static int walk_period(void *context, const struct rps_period *period, struct rps_error *err)
{
    struct walk *walk = context;

    (void)err;
    walk->rows->period(walk->job, period);
    /* A reader that went away (a closed pipe, a full disk) ends the walk at once. */
    return walk->job->csv->write_errno != 0;
}

static int walk_periods(struct rps_export_job *job, const struct rps_cpu_series *cpu_series,
                        int sum, const struct rps_export_rows *rows, struct rps_error *err)
{
    struct walk walk = {job, rows};
    int result = sum ? rps_cpu_series_walk_sum(cpu_series, walk_period, &walk, err)
                     : rps_cpu_series_walk(cpu_series, walk_period, &walk, err);

    if (result < 0)
        return result;
    if (rows->end)
        rows->end(job);
    return rps_csv_end(job->csv, err);
}

static int walk_with_plan(struct rps_export_job *job, const struct rps_cpu_series *cpu_series,
                          int sum, const struct rps_export_rows *rows, struct rps_error *err)
{
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0), before;
    int result;

    if (!c_locale)
        return rps_error_memory(err);
    before = uselocale(c_locale);
    result = rows->begin(job, err);
    if (result == 0) {
        result = walk_periods(job, cpu_series, sum, rows, err);
        rows->release(job);
    }
    uselocale(before);
    freelocale(c_locale);
    return result;
}

int rps_export_walk(FILE *out, struct rps_reader *reader, int64_t run_id,
                    const struct rps_export_options *options, const struct rps_export_rows *rows,
                    struct rps_error *err)
{
    struct rps_csv_writer *csv = malloc(sizeof(*csv));
    struct rps_plan *plan = NULL;
    struct rps_cpu_series cpu_series = {0};
    struct rps_export_job job = {.csv = csv, .run_id = run_id};
    int result;

    if (!csv)
        return rps_error_memory(err);
    result = rps_csv_begin(csv, out, options, err);
    if (result < 0)
        goto done;
    result = rps_reader_plan(reader, run_id, &plan, err);
    if (result < 0)
        goto done;
    job.plan = plan;
    result = rps_cpu_series_open(&cpu_series, reader, run_id, options->from_ns, options->to_ns,
                                 &options->cpus, err);
    if (result < 0)
        goto done;
    result = walk_with_plan(&job, &cpu_series, options->cpus.way == RPS_CPUS_SUM, rows, err);
done:
    rps_cpu_series_free(&cpu_series);
    rps_plan_free(plan);
    free(csv);
    return result;
}
