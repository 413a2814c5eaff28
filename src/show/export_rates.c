/*
 * The export of metrics: one row a rotation of the event sets, the smallest stretch in which every
 * metric has a value.
 *
 *     run,cpu,rotation,time_s,length_s,cycle,cycles, then a column a metric
 *
 * time_s is the start of the rotation's first period, length_s the sum of its periods, `cycle` the
 * cycle timestamp at its end. A metric is empty where it is not known: an event of it was not
 * counted, or the workload did not run.
 */
#include <stdlib.h>

#include "export_rows.h"
#include "rpistat/tally.h"

struct rates {
    struct rps_tally tally; /* of the rotation that is being added up */
    double *operand;        /* owned */
    int32_t cpu;
    uint64_t rotation, cycle;
};

static void rates_release(struct rps_export_job *job)
{
    struct rates *rates = job->state;

    rps_tally_free(&rates->tally);
    free(rates->operand);
    free(rates);
    job->state = NULL;
}

static int rates_begin(struct rps_export_job *job, struct rps_error *err)
{
    static const char *const fixed[] = {"run",      "cpu",   "rotation", "time_s",
                                        "length_s", "cycle", "cycles"};
    const int fixed_count = (int)(sizeof(fixed) / sizeof(fixed[0]));
    struct rates *rates = calloc(1, sizeof(*rates));

    job->state = rates;
    if (!rates)
        return rps_error_memory(err);
    rates->operand = calloc((size_t)rps_plan_operand_count(job->plan), sizeof(*rates->operand));
    if (!rates->operand || rps_tally_init(&rates->tally, job->plan, err) < 0) {
        rates_release(job);
        return rps_error_memory(err);
    }
    rps_export_fixed(job, fixed, fixed_count);
    for (int m = 0; m < job->plan->metric_count; m++)
        rps_export_named(job, fixed, fixed_count, job->plan->metric[m].name, "metric");
    rps_csv_end_row(job->csv);
    return 0;
}

static void rates_row(struct rps_export_job *job)
{
    struct rates *rates = job->state;

    if (rates->tally.periods == 0)
        return;
    rps_export_place(job, rates->cpu);
    rps_csv_uint64(job->csv, rates->rotation);
    rps_csv_seconds(job->csv, rates->tally.start_ns);
    rps_csv_seconds(job->csv, rates->tally.length_ns);
    rps_csv_uint64(job->csv, rates->cycle);
    rps_csv_uint64(job->csv, rates->tally.clock);
    rps_tally_operands(&rates->tally, job->plan, rates->operand);
    for (int m = 0; m < job->plan->metric_count; m++)
        rps_csv_double(job->csv, rps_formula_value(&job->plan->metric[m].formula, rates->operand));
    rps_csv_end_row(job->csv);
    rps_tally_reset(&rates->tally);
}

static void rates_period(struct rps_export_job *job, const struct rps_period *period)
{
    struct rates *rates = job->state;
    uint64_t sets = job->plan->set_count > 0 ? (uint64_t)job->plan->set_count : 1;
    uint64_t rotation = period->period / sets;

    if (rotation != rates->rotation || period->cpu != rates->cpu)
        rates_row(job);
    rates->rotation = rotation;
    rates->cpu = period->cpu;
    rates->cycle = period->cycle;
    rps_tally_add(&rates->tally, period);
}

static const struct rps_export_rows rates_rows = {
    .begin = rates_begin,
    .period = rates_period,
    .end = rates_row,
    .release = rates_release,
};

int rps_export_rates(FILE *out, struct rps_reader *reader, int64_t run_id,
                     const struct rps_export_options *options, struct rps_error *err)
{
    return rps_export_walk(out, reader, run_id, options, &rates_rows, err);
}
