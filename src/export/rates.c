/*
 * The export of metrics: one row a rotation of the event sets, the smallest stretch in which every
 * metric has a value.
 *
 *     run,cpu,rotation,time_s,length_s,cycle,cycles,phase,label, then a column a metric, then
 *     NAME_low and NAME_high of each
 *
 * time_s is the start of the rotation's first period, length_s the sum of its periods, `cycle` the
 * cycle timestamp at its end. A metric is empty where it is not known: an event of it was not
 * counted, or the workload did not run. Its 95 % interval is empty where its events were counted
 * all the time, or are too rare for one. One rotation does not tell how much readings differ, so
 * some are gathered before they are written.
 *
 * The long form has one row a metric and rotation:
 *
 *     run,cpu,rotation,time_s,length_s,phase,label,metric,value,low,high
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/export_columns.h"
#include "rpistat/rotation.h"

struct rates {
    struct rps_csv_writer csv;                          /* first */
    struct rps_rotation rotation;                       /* that is being added up */
    struct rps_rotation gathered[RPS_TALLY_NEIGHBOURS]; /* that are not written yet */
    size_t count, before;
    int is_long;
    int32_t cpu;     /* of the last row that was added */
    double *value;   /* owned; of each metric those of RPS_TALLY_NEIGHBOURS rotations that were
                      written, of which `before` are of this CPU, then those of the gathered */
    double *step;    /* owned; of each metric the usual one among the gathered */
    double *operand; /* owned */
};

#define VALUES (2 * RPS_TALLY_NEIGHBOURS)

static void rates_release(struct rps_export_job *job)
{
    struct rates *rates = job->state;

    if (rates) {
        rps_rotation_free(&rates->rotation);
        for (size_t i = 0; i < RPS_TALLY_NEIGHBOURS; i++)
            rps_rotation_free(&rates->gathered[i]);
        free(rates->value);
        free(rates->step);
        free(rates->operand);
    }
    rps_export_csv_release(job);
}

static void long_head(struct rps_export_job *job)
{
    static const char *const fixed[] = {"run",      "cpu",   "rotation", "time_s",
                                        "length_s", "phase", "label",    "metric",
                                        "value",    "low",   "high"};

    rps_export_csv_fixed(job, fixed, (int)(sizeof(fixed) / sizeof(fixed[0])));
}

static void rates_head(struct rps_export_job *job)
{
    static const char *const fixed[] = {"run",   "cpu",    "rotation", "time_s", "length_s",
                                        "cycle", "cycles", "phase",    "label"};
    const int fixed_count = (int)(sizeof(fixed) / sizeof(fixed[0]));

    rps_export_csv_fixed(job, fixed, fixed_count);
    rps_export_csv_metrics(job, fixed, fixed_count, "low", "high");
}

static int begin(struct rps_export_job *job, int is_long, struct rps_error *err)
{
    int result = rps_export_csv_begin(job, sizeof(struct rates), err);
    struct rates *rates = job->state;

    if (result == 0)
        result = rps_rotation_init(&rates->rotation, job->plan, err);
    for (size_t i = 0; i < RPS_TALLY_NEIGHBOURS && result == 0; i++)
        result = rps_rotation_init(&rates->gathered[i], job->plan, err);
    if (result < 0)
        return result;
    rates->operand = calloc((size_t)rps_plan_operand_count(job->plan), sizeof(*rates->operand));
    rates->value = calloc((size_t)job->plan->metric_count + 1, VALUES * sizeof(*rates->value));
    rates->step = calloc((size_t)job->plan->metric_count + 1, sizeof(*rates->step));
    if (!rates->operand || !rates->value || !rates->step)
        return rps_error_memory(err);
    rates->is_long = is_long;
    if (is_long)
        long_head(job);
    else
        rates_head(job);
    return rps_csv_end_head(job->state, err);
}

static int rates_begin(struct rps_export_job *job, struct rps_error *err)
{
    return begin(job, 0, err);
}

static int long_begin(struct rps_export_job *job, struct rps_error *err)
{
    return begin(job, 1, err);
}

static double *values_of(const struct rates *rates, int metric)
{
    return &rates->value[(size_t)metric * VALUES];
}

static void put_place(struct rps_export_job *job, const struct rps_rotation *rotation)
{
    rps_export_csv_place(job, rotation->cpu);
    rps_csv_uint64(job->state, rotation->number);
    rps_export_csv_time(job, rotation->tally.start_ns);
    rps_csv_seconds(job->state, rotation->tally.length_ns);
}

/* The ends of a metric's interval; its operands are in rates->operand. */
static void put_interval(struct rps_export_job *job, const struct rps_tally *tally, int m)
{
    const struct rates *rates = job->state;
    struct rps_interval interval = rps_tally_short_interval(tally, &job->plan->metric[m].formula,
                                                            rates->operand, rates->step[m]);

    rps_csv_double(job->state, interval.low);
    rps_csv_double(job->state, interval.high);
}

static void rates_row(struct rps_export_job *job, size_t at)
{
    struct rates *rates = job->state;
    const struct rps_rotation *rotation = &rates->gathered[at];
    const struct rps_tally *tally = &rotation->tally;

    put_place(job, rotation);
    rps_csv_uint64(job->state, rotation->to_cycle);
    rps_csv_uint64(job->state, tally->clock);
    rps_export_csv_phase(job, rotation->first, rotation->last);
    for (int m = 0; m < job->plan->metric_count; m++)
        rps_csv_double(job->state, values_of(rates, m)[RPS_TALLY_NEIGHBOURS + at]);
    rps_tally_operands(tally, job->plan, rates->operand);
    for (int m = 0; m < job->plan->metric_count; m++)
        put_interval(job, tally, m);
    rps_csv_end_row(job->state);
}

static void long_rows(struct rps_export_job *job, size_t at)
{
    struct rates *rates = job->state;
    const struct rps_rotation *rotation = &rates->gathered[at];

    rps_tally_operands(&rotation->tally, job->plan, rates->operand);
    for (int m = 0; m < job->plan->metric_count; m++) {
        put_place(job, rotation);
        rps_export_csv_phase(job, rotation->first, rotation->last);
        rps_csv_text(job->state, job->plan->metric[m].name);
        rps_csv_double(job->state, values_of(rates, m)[RPS_TALLY_NEIGHBOURS + at]);
        put_interval(job, &rotation->tally, m);
        rps_csv_end_row(job->state);
    }
}

/* Write what was gathered. Rotations too few to tell how they differ are seen behind those before
 * them. */
static void write_gathered(struct rps_export_job *job)
{
    struct rates *rates = job->state;
    size_t before = rates->count < RPS_TALLY_NEIGHBOURS ? rates->before : 0;

    for (int m = 0; m < job->plan->metric_count; m++)
        rates->step[m] = rps_tally_usual_step(values_of(rates, m) + RPS_TALLY_NEIGHBOURS - before,
                                              before + rates->count);
    for (size_t i = 0; i < rates->count; i++) {
        if (rates->is_long)
            long_rows(job, i);
        else
            rates_row(job, i);
    }
    for (int m = 0; m < job->plan->metric_count; m++) {
        double *value = values_of(rates, m);

        memmove(value, value + rates->count, RPS_TALLY_NEIGHBOURS * sizeof(*value));
    }
    rates->before += rates->count;
    if (rates->before > RPS_TALLY_NEIGHBOURS)
        rates->before = RPS_TALLY_NEIGHBOURS;
    rates->count = 0;
}

/* The rotation is over. */
static void gather(struct rps_export_job *job)
{
    struct rates *rates = job->state;
    struct rps_rotation *next = &rates->gathered[rates->count], empty = *next;

    if (rates->rotation.tally.periods == 0)
        return;
    *next = rates->rotation;
    rates->rotation = empty;
    rps_rotation_reset(&rates->rotation);
    rps_tally_operands(&next->tally, job->plan, rates->operand);
    for (int m = 0; m < job->plan->metric_count; m++)
        values_of(rates, m)[RPS_TALLY_NEIGHBOURS + rates->count] =
            rps_formula_value(&job->plan->metric[m].formula, rates->operand);
    if (++rates->count == RPS_TALLY_NEIGHBOURS)
        write_gathered(job);
}

static void rates_period(struct rps_export_job *job, const struct rps_period *period)
{
    struct rates *rates = job->state;

    if (rps_rotation_ends(&rates->rotation, period))
        gather(job);
    if (rates->cpu != period->cpu) {
        write_gathered(job);
        rates->before = 0;
    }
    rates->cpu = period->cpu;
    rps_rotation_add(&rates->rotation, period);
}

static void rates_end(struct rps_export_job *job)
{
    gather(job);
    write_gathered(job);
    rps_export_csv_end(job);
}

const struct rps_export_format rps_export_rates = {
    .name = "rates",
    .summary = "one row a rotation of the event sets, a column a metric, and its interval",
    .rotations = 1,
    .phases = 1,
    .begin = rates_begin,
    .period = rates_period,
    .end = rates_end,
    .release = rates_release,
};

const struct rps_export_format rps_export_long_rates = {
    .name = "long-rates",
    .summary = "one row a metric and rotation, and its interval",
    .rotations = 1,
    .phases = 1,
    .begin = long_begin,
    .period = rates_period,
    .end = rates_end,
    .release = rates_release,
};
