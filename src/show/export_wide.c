/*
 * The wide export: one row a measurement period, for spreadsheets.
 *
 *     run,cpu,period,time_s,length_s,cycle,cycles,set, then a column an event
 *
 * time_s is the period's start since the start of the run; start and length carry all their
 * nanoseconds, so that they can be read back exactly. `cycle` is the cycle timestamp at the
 * period's end, `cycles` the period's own count. An event is empty where it was not counted,
 * and becomes NAME_event where a fixed column has its name.
 */
#include <stdlib.h>
#include <string.h>

#include "export_wide.h"

struct wide {
    struct rps_csv_writer csv; /* first */
    int fixed_count;
    int column_count;
    const char **name; /* owned array; of each column */
    signed char *slot; /* owned; slot of column c in set n at n * column_count + c; -1: none */
};

static int column_find(const struct wide *wide, const char *name)
{
    for (int c = 0; c < wide->column_count; c++) {
        if (strcmp(wide->name[c], name) == 0)
            return c;
    }
    return -1;
}

void rps_export_wide_release(struct rps_export_job *job)
{
    struct wide *wide = job->state;

    if (wide) {
        free(wide->name);
        free(wide->slot);
    }
    rps_export_csv_release(job);
}

static void wide_map(struct wide *wide, const struct rps_plan *plan)
{
    for (int n = 0; n < plan->set_count; n++) {
        for (int s = 0; s < plan->set[n].event_count; s++) {
            if (column_find(wide, plan->set[n].event[s].name) < 0)
                wide->name[wide->column_count++] = plan->set[n].event[s].name;
        }
    }
    for (int n = 0; n < plan->set_count; n++) {
        signed char *slot = wide->slot + n * wide->column_count;

        memset(slot, -1, (size_t)wide->column_count);
        for (int s = 0; s < plan->set[n].event_count; s++)
            slot[column_find(wide, plan->set[n].event[s].name)] = (signed char)s;
    }
}

int rps_export_wide_begin(struct rps_export_job *job, const char *const *fixed, int fixed_count,
                          struct rps_error *err)
{
    size_t most = (size_t)job->plan->set_count * RPS_SLOT_MAX + 1;
    int result = rps_export_csv_begin(job, sizeof(struct wide), err);
    struct wide *wide = job->state;

    if (result < 0)
        return result;
    wide->fixed_count = fixed_count + job->options->clock;
    wide->name = calloc(most, sizeof(*wide->name));
    wide->slot = malloc(most * ((size_t)job->plan->set_count + 1));
    if (!wide->name || !wide->slot)
        return rps_error_memory(err);
    wide_map(wide, job->plan);
    rps_export_csv_fixed(job, fixed, fixed_count);
    for (int c = 0; c < wide->column_count; c++)
        rps_export_csv_named(job, fixed, fixed_count, wide->name[c], "event");
    return rps_csv_end_head(job->state, err);
}

void rps_export_wide_events(struct rps_export_job *job, const struct rps_period *period)
{
    const struct wide *wide = job->state;
    const signed char *slot = NULL;

    if (period->set_no < (uint32_t)job->plan->set_count)
        slot = wide->slot + (size_t)period->set_no * (size_t)wide->column_count;
    for (int c = 0; c < wide->column_count; c++) {
        if (slot && slot[c] >= 0 && (period->counted & (1u << slot[c])))
            rps_csv_uint64(job->state, period->count[slot[c]]);
        else
            rps_csv_empty(job->state);
    }
}

void rps_export_wide_text(struct rps_export_job *job, const char *text)
{
    const struct wide *wide = job->state;

    for (int c = 1; c < wide->fixed_count; c++)
        rps_csv_empty(job->state);
    rps_csv_text(job->state, text);
    for (int c = 0; c < wide->column_count; c++)
        rps_csv_empty(job->state);
    rps_csv_end_row(job->state);
}

void rps_export_wide_place(struct rps_export_job *job, const struct rps_period *period)
{
    rps_export_csv_place(job, period->cpu);
    rps_csv_uint64(job->state, period->period);
    rps_export_csv_time(job, period->start_ns);
    rps_csv_seconds(job->state, period->length_ns);
    rps_csv_uint64(job->state, period->cycle);
    rps_csv_uint64(job->state, period->cycles);
    if (period->set_no < (uint32_t)job->plan->set_count)
        rps_csv_text(job->state, job->plan->set[period->set_no].name);
    else
        rps_csv_empty(job->state);
}

static int wide_begin(struct rps_export_job *job, struct rps_error *err)
{
    static const char *const fixed[] = {"run",      "cpu",   "period", "time_s",
                                        "length_s", "cycle", "cycles", "set"};

    return rps_export_wide_begin(job, fixed, sizeof(fixed) / sizeof(fixed[0]), err);
}

static void wide_period(struct rps_export_job *job, const struct rps_period *period)
{
    rps_export_wide_place(job, period);
    rps_export_wide_events(job, period);
    rps_csv_end_row(job->state);
}

const struct rps_export_format rps_export_wide = {
    .name = "wide",
    .summary = "one row a measurement period, a column an event (the default)",
    .begin = wide_begin,
    .period = wide_period,
    .end = rps_export_csv_end,
    .release = rps_export_wide_release,
};
