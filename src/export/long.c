/*
 * The long export: one row an event and measurement period, for databases and data frames.
 *
 *     run,cpu,period,time_s,cycle,phase,label,event,count,enabled_ns,running_ns,scaled
 *
 * time_s is the period's start since the start of the run. `count` is the raw count, `scaled` what
 * counting through the whole of the period would have seen; both are empty where the event was not
 * counted, and both the value of an import's gauge.
 */
#include <math.h>
#include <stdlib.h>

#include "rpistat/export_columns.h"
#include "gauges.h"
#include "rpistat/tally.h"

struct long_state {
    struct rps_csv_writer csv; /* first */
    struct rps_tally tally;    /* scratch */
    struct rps_gauges gauges;
};

static void long_release(struct rps_export_job *job)
{
    struct long_state *state = job->state;

    if (state) {
        rps_tally_free(&state->tally);
        rps_gauges_free(&state->gauges);
    }
    rps_export_csv_release(job);
}

static int long_begin(struct rps_export_job *job, struct rps_error *err)
{
    static const char *const fixed[] = {"run",   "cpu",        "period",     "time_s",
                                        "cycle", "phase",      "label",      "event",
                                        "count", "enabled_ns", "running_ns", "scaled"};
    int result = rps_export_csv_begin(job, sizeof(struct long_state), err);
    struct long_state *state = job->state;

    if (result == 0)
        result = rps_tally_init(&state->tally, job->plan, err);
    if (result == 0)
        result = rps_gauges_init(&state->gauges, job->plan, err);
    if (result < 0)
        return result;
    rps_export_csv_fixed(job, fixed, (int)(sizeof(fixed) / sizeof(fixed[0])));
    return rps_csv_end_head(job->state, err);
}

static void long_row(struct rps_export_job *job, const struct rps_period *period, int slot)
{
    const struct rps_event_set *set = &job->plan->set[period->set_no];
    struct long_state *state = job->state;
    int metric = rps_gauges_metric(&state->gauges, period->set_no, slot);
    double value = metric >= 0 ? rps_gauges_value(&state->gauges, period, slot) : NAN;
    uint64_t scaled;

    if (metric == RPS_GAUGES_TIME)
        return;
    rps_export_csv_place(job, period->cpu);
    rps_csv_uint64(job->state, period->period);
    rps_export_csv_time(job, period->start_ns);
    rps_csv_uint64(job->state, period->cycle);
    rps_export_csv_phase(job, period->period, rps_period_last(period));
    rps_csv_text(job->state, set->event[slot].name);
    if (metric >= 0)
        rps_csv_exact(job->state, value);
    else if (period->counted & (1u << slot))
        rps_csv_uint64(job->state, period->count[slot]);
    else
        rps_csv_empty(job->state);
    rps_csv_uint64(job->state, period->enabled_ns);
    rps_csv_uint64(job->state, period->running_ns - period->missing_ns[slot]);
    if (metric >= 0)
        rps_csv_exact(job->state, value);
    else if (rps_tally_estimate_u64(&state->tally, (int)period->set_no, slot, &scaled))
        rps_csv_uint64(job->state, scaled);
    else
        rps_csv_empty(job->state);
    rps_csv_end_row(job->state);
}

static void long_period(struct rps_export_job *job, const struct rps_period *period)
{
    struct long_state *state = job->state;

    if (period->set_no >= (uint32_t)job->plan->set_count)
        return;
    rps_tally_reset(&state->tally);
    rps_tally_add(&state->tally, period);
    for (int slot = 0; slot < job->plan->set[period->set_no].event_count; slot++)
        long_row(job, period, slot);
}

const struct rps_export_format rps_export_long = {
    .name = "long",
    .summary = "one row an event and measurement period",
    .phases = 1,
    .begin = long_begin,
    .period = long_period,
    .end = rps_export_csv_end,
    .release = long_release,
};
