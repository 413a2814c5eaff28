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

#include "export_csv.h"
#include "rpistat/rotation.h"

struct rates {
    struct rps_csv_writer csv;    /* first */
    struct rps_rotation rotation; /* that is being added up */
    double *operand;              /* owned */
};

static void rates_release(struct rps_export_job *job)
{
    struct rates *rates = job->state;

    if (rates) {
        rps_rotation_free(&rates->rotation);
        free(rates->operand);
    }
    free(rates);
}

static int rates_begin(struct rps_export_job *job, struct rps_error *err)
{
    static const char *const fixed[] = {"run",      "cpu",   "rotation", "time_s",
                                        "length_s", "cycle", "cycles"};
    const int fixed_count = (int)(sizeof(fixed) / sizeof(fixed[0]));
    int result = rps_export_csv_begin(job, sizeof(struct rates), err);
    struct rates *rates = job->state;

    if (result == 0)
        result = rps_rotation_init(&rates->rotation, job->plan, err);
    if (result < 0)
        return result;
    rates->operand = calloc((size_t)rps_plan_operand_count(job->plan), sizeof(*rates->operand));
    if (!rates->operand)
        return rps_error_memory(err);
    rps_export_csv_fixed(job, fixed, fixed_count);
    for (int m = 0; m < job->plan->metric_count; m++)
        rps_export_csv_named(job, fixed, fixed_count, job->plan->metric[m].name, "metric");
    rps_csv_end_row(job->state);
    return 0;
}

static void rates_row(struct rps_export_job *job)
{
    struct rates *rates = job->state;
    const struct rps_tally *tally = &rates->rotation.tally;

    if (tally->periods == 0)
        return;
    rps_export_csv_place(job, rates->rotation.cpu);
    rps_csv_uint64(job->state, rates->rotation.number);
    rps_csv_seconds(job->state, tally->start_ns);
    rps_csv_seconds(job->state, tally->length_ns);
    rps_csv_uint64(job->state, rates->rotation.to_cycle);
    rps_csv_uint64(job->state, tally->clock);
    rps_tally_operands(tally, job->plan, rates->operand);
    for (int m = 0; m < job->plan->metric_count; m++)
        rps_csv_double(job->state,
                       rps_formula_value(&job->plan->metric[m].formula, rates->operand));
    rps_csv_end_row(job->state);
    rps_rotation_reset(&rates->rotation);
}

static void rates_period(struct rps_export_job *job, const struct rps_period *period)
{
    struct rates *rates = job->state;

    if (rps_rotation_ends(&rates->rotation, period))
        rates_row(job);
    rps_rotation_add(&rates->rotation, period);
}

static void rates_end(struct rps_export_job *job)
{
    rates_row(job);
    rps_export_csv_end(job);
}

const struct rps_export_format rps_export_rates = {
    .name = "rates",
    .summary = "one row a rotation of the event sets, a column a metric",
    .begin = rates_begin,
    .period = rates_period,
    .end = rates_end,
    .release = rates_release,
};
