/*
 * The wide export: one row a measurement period, for spreadsheets.
 *
 *     run,cpu,period,time_s,length_s,cycle,cycles,set,phase,label, then a column an event
 *
 * time_s is the period's start since the start of the run; start and length carry all their
 * nanoseconds, so that they can be read back exactly. `cycle` is the cycle timestamp at the
 * period's end, `cycles` the period's own count. An event is empty where it was not counted,
 * and becomes NAME_event where a fixed column has its name. A gauge of an import has its value.
 */
#include <stdlib.h>
#include <string.h>

#include "rpistat/export_columns.h"
#include "gauges.h"

struct wide {
    struct rps_csv_writer csv; /* first */
    int column_count;
    const char **name; /* owned array; of each column */
    signed char *slot; /* owned; slot of column c in set n at n * column_count + c; -1: none */
    struct rps_gauges gauges;
};

static int column_find(const struct wide *wide, const char *name)
{
    for (int c = 0; c < wide->column_count; c++) {
        if (strcmp(wide->name[c], name) == 0)
            return c;
    }
    return -1;
}

static void wide_release(struct rps_export_job *job)
{
    struct wide *wide = job->state;

    if (wide) {
        free(wide->name);
        free(wide->slot);
        rps_gauges_free(&wide->gauges);
    }
    rps_export_csv_release(job);
}

static void wide_map(struct wide *wide, const struct rps_plan *plan)
{
    for (int n = 0; n < plan->set_count; n++) {
        for (int s = 0; s < plan->set[n].event_count; s++) {
            if (rps_gauges_metric(&wide->gauges, (uint32_t)n, s) != RPS_GAUGES_TIME &&
                column_find(wide, plan->set[n].event[s].name) < 0)
                wide->name[wide->column_count++] = plan->set[n].event[s].name;
        }
    }
    for (int n = 0; n < plan->set_count; n++) {
        signed char *slot = wide->slot + n * wide->column_count;

        memset(slot, -1, (size_t)wide->column_count);
        for (int s = 0; s < plan->set[n].event_count; s++) {
            if (rps_gauges_metric(&wide->gauges, (uint32_t)n, s) != RPS_GAUGES_TIME)
                slot[column_find(wide, plan->set[n].event[s].name)] = (signed char)s;
        }
    }
}

static int wide_begin(struct rps_export_job *job, struct rps_error *err)
{
    static const char *const fixed[] = {"run",   "cpu",    "period", "time_s", "length_s",
                                        "cycle", "cycles", "set",    "phase",  "label"};
    const int fixed_count = sizeof(fixed) / sizeof(fixed[0]);
    size_t most = (size_t)job->plan->set_count * RPS_SLOT_MAX + 1;
    int result = rps_export_csv_begin(job, sizeof(struct wide), err);
    struct wide *wide = job->state;

    if (result < 0)
        return result;
    wide->name = calloc(most, sizeof(*wide->name));
    wide->slot = malloc(most * ((size_t)job->plan->set_count + 1));
    if (!wide->name || !wide->slot)
        return rps_error_memory(err);
    if (rps_gauges_init(&wide->gauges, job->plan, err) < 0)
        return RPS_FAILED;
    wide_map(wide, job->plan);
    rps_export_csv_fixed(job, fixed, fixed_count);
    for (int c = 0; c < wide->column_count; c++)
        rps_export_csv_named(job, fixed, fixed_count, wide->name[c], "event");
    return rps_csv_end_head(job->state, err);
}

static void put_events(struct rps_export_job *job, const struct rps_period *period)
{
    const struct wide *wide = job->state;
    const signed char *slot = NULL;

    if (period->set_no < (uint32_t)job->plan->set_count)
        slot = wide->slot + (size_t)period->set_no * (size_t)wide->column_count;
    for (int c = 0; c < wide->column_count; c++) {
        if (!slot || slot[c] < 0 || !(period->counted & (1u << slot[c])))
            rps_csv_empty(job->state);
        else if (rps_gauges_metric(&wide->gauges, period->set_no, slot[c]) >= 0)
            rps_csv_exact(job->state, rps_gauges_value(&wide->gauges, period, slot[c]));
        else
            rps_csv_uint64(job->state, period->count[slot[c]]);
    }
}

static void put_place(struct rps_export_job *job, const struct rps_period *period)
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

static void wide_period(struct rps_export_job *job, const struct rps_period *period)
{
    put_place(job, period);
    rps_export_csv_phase(job, period->period, rps_period_last(period));
    put_events(job, period);
    rps_csv_end_row(job->state);
}

const struct rps_export_format rps_export_wide = {
    .name = "wide",
    .summary = "one row a measurement period, a column an event (the default)",
    .phases = 1,
    .begin = wide_begin,
    .period = wide_period,
    .end = rps_export_csv_end,
    .release = wide_release,
};
