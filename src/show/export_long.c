/*
 * The long export: one row an event and measurement period, for databases and data frames.
 *
 *     run,cpu,period,time_s,cycle,event,count,enabled_ns,running_ns,scaled
 *
 * time_s is the period's start since the start of the run. `count` is the raw count, `scaled` what
 * counting through the whole of the period would have seen; both are empty where the event was not
 * counted.
 */
#include <stdlib.h>

#include "export_rows.h"
#include "rpistat/tally.h"

static void long_release(struct rps_export_job *job)
{
    rps_tally_free(job->state);
    free(job->state);
    job->state = NULL;
}

static int long_begin(struct rps_export_job *job, struct rps_error *err)
{
    static const char *const fixed[] = {"run",   "cpu",   "period",     "time_s",     "cycle",
                                        "event", "count", "enabled_ns", "running_ns", "scaled"};
    struct rps_tally *tally = malloc(sizeof(*tally));

    if (!tally)
        return rps_error_memory(err);
    if (rps_tally_init(tally, job->plan, err) < 0) {
        free(tally);
        return RPS_FAILED;
    }
    job->state = tally;
    rps_export_fixed(job, fixed, (int)(sizeof(fixed) / sizeof(fixed[0])));
    rps_csv_end_row(job->csv);
    return 0;
}

static void long_row(struct rps_export_job *job, const struct rps_period *period, int slot)
{
    const struct rps_event_set *set = &job->plan->set[period->set_no];
    uint64_t scaled;

    rps_export_place(job, period->cpu);
    rps_csv_uint64(job->csv, period->period);
    rps_csv_seconds(job->csv, period->start_ns);
    rps_csv_uint64(job->csv, period->cycle);
    rps_csv_text(job->csv, set->event[slot].name);
    if (period->counted & (1u << slot))
        rps_csv_uint64(job->csv, period->count[slot]);
    else
        rps_csv_empty(job->csv);
    rps_csv_uint64(job->csv, period->enabled_ns);
    rps_csv_uint64(job->csv, period->running_ns);
    if (rps_tally_estimate_u64(job->state, (int)period->set_no, slot, &scaled))
        rps_csv_uint64(job->csv, scaled);
    else
        rps_csv_empty(job->csv);
    rps_csv_end_row(job->csv);
}

static void long_period(struct rps_export_job *job, const struct rps_period *period)
{
    if (period->set_no >= (uint32_t)job->plan->set_count)
        return;
    rps_tally_reset(job->state);
    rps_tally_add(job->state, period);
    for (int slot = 0; slot < job->plan->set[period->set_no].event_count; slot++)
        long_row(job, period, slot);
}

static const struct rps_export_rows long_rows = {
    .begin = long_begin,
    .period = long_period,
    .release = long_release,
};

int rps_export_long(FILE *out, struct rps_reader *reader, int64_t run_id,
                    const struct rps_export_options *options, struct rps_error *err)
{
    return rps_export_walk(out, reader, run_id, options, &long_rows, err);
}
