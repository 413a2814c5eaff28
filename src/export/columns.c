/* What the export formats that are CSV share. */
#include "rpistat/export_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/phase.h"
#include "rpistat/wall.h"

int rps_export_csv_begin(struct rps_export_job *job, size_t size, struct rps_error *err)
{
    const struct rps_export_options *options = job->options;
    const struct rps_csv_dialect dialect = {.separator = options->separator,
                                            .decimal = options->decimal,
                                            .crlf = options->crlf,
                                            .bom = options->bom,
                                            .json = options->json};

    job->state = calloc(1, size);
    if (!job->state)
        return rps_error_memory(err);
    return rps_csv_begin(job->state, job->out, &dialect, err);
}

void rps_export_csv_place(struct rps_export_job *job, int32_t cpu)
{
    rps_csv_int64(job->state, job->run->run_id);
    rps_csv_int64(job->state, cpu);
}

void rps_export_csv_time(struct rps_export_job *job, int64_t time_ns)
{
    char text[RPS_WALL_TEXT_SIZE];

    rps_csv_seconds(job->state, time_ns);
    if (!job->options->clock)
        return;
    if (job->run->start_realtime_ns < 0)
        rps_csv_empty(job->state);
    else
        rps_csv_text(job->state,
                     rps_wall_text(text, sizeof(text), job->run->start_realtime_ns + time_ns));
}

void rps_export_csv_phase(struct rps_export_job *job, uint64_t first, uint64_t last)
{
    uint64_t middle = first + (last - first) / 2;
    char label[RPS_PHASE_LABEL_SIZE];
    size_t phase = job->phases ? rps_phases_at(job->phases, middle, &job->phase_at) : SIZE_MAX;

    if (phase == SIZE_MAX) {
        rps_csv_empty(job->state);
        rps_csv_empty(job->state);
    } else {
        rps_csv_uint64(job->state, phase);
        rps_csv_text(job->state, rps_phase_label(job->phases->phase[phase].label, label));
    }
}

void rps_export_csv_fixed(struct rps_export_job *job, const char *const *fixed, int fixed_count)
{
    for (int i = 0; i < fixed_count; i++) {
        rps_csv_text(job->state, fixed[i]);
        if (job->options->clock && strcmp(fixed[i], "time_s") == 0)
            rps_csv_text(job->state, "time");
    }
}

void rps_export_csv_named(struct rps_export_job *job, const char *const *fixed, int fixed_count,
                          const char *name, const char *kind)
{
    char other[RPS_NAME_SIZE + 16];
    int taken = job->options->clock && strcmp(name, "time") == 0;

    for (int i = 0; i < fixed_count; i++)
        taken |= strcmp(fixed[i], name) == 0;
    snprintf(other, sizeof(other), "%s_%s", name, kind);
    rps_csv_text(job->state, taken ? other : name);
}

void rps_export_csv_metrics(struct rps_export_job *job, const char *const *fixed, int fixed_count,
                            const char *lower, const char *upper)
{
    char name[RPS_NAME_SIZE + 8];

    for (int m = 0; m < job->plan->metric_count; m++)
        rps_export_csv_named(job, fixed, fixed_count, job->plan->metric[m].name, "metric");
    for (int m = 0; m < job->plan->metric_count; m++) {
        snprintf(name, sizeof(name), "%s_%s", job->plan->metric[m].name, lower);
        rps_csv_text(job->state, name);
        snprintf(name, sizeof(name), "%s_%s", job->plan->metric[m].name, upper);
        rps_csv_text(job->state, name);
    }
}

void rps_export_csv_end(struct rps_export_job *job)
{
    rps_csv_flush(job->state);
}

void rps_export_csv_release(struct rps_export_job *job)
{
    if (job->state)
        rps_csv_free(job->state);
    free(job->state);
    job->state = NULL;
}
