/* The exports of metrics by rotation of the event sets, and by intervals of one length. A rotation
 * is the shortest time in which every metric has a value.
 *
 * rates, long-rates: time_s is the start of the rotation's first period, and length_s is the sum of
 * its periods' lengths. `cycle` is the cycle timestamp at the rotation's end. The cell of a metric
 * is empty if one of the metric's events was not counted, or if the workload did not run. The 95 %
 * interval of a metric is empty if its events were counted all the time, or are too rare for an
 * interval. A single rotation does not show how much readings differ, so several rotations are
 * gathered before they are written.
 *
 * every: time_s is the start of the interval. The first row of a CPU begins where the CPU's data
 * begin. Intervals are aligned to the start of the run, or to local time if the column `time` is
 * requested. A rotation belongs to the interval that contains its middle. An interval without a
 * rotation has no row. length_s is the recorded time in the interval. A metric covers the whole
 * interval. The metric's minimum and maximum are those of the rotations in which the workload ran.
 * `block` is the number of rotations in a block, if blocks were read. In blocks, ratios of events
 * have no extremes. Only events per elapsed time and CPU use have extremes. */
#include <math.h>
#include <string.h>

#include "rpistat/arena.h"
#include "gauges.h"
#include "rpistat/formula.h"
#include "rpistat/plan.h"
#include "rpistat/rotation.h"
#include "rpistat/clock.h"
#include "sheet.h"

#define VALUES (2 * RPS_TALLY_NEIGHBOURS)

/* State for adding up rotations. The arena holds the arrays. */
struct rotations {
    struct rps_sheet sheet;       /* the sheet must be the first member */
    struct rps_rotation rotation; /* current rotation, to which periods are added */
    double *operand;              /* operands of formulas; scratch */
    int32_t cpu;                  /* CPU of the most recent period and of the interval */

    /* State of the formats of rates. */
    struct rps_rotation gathered[RPS_TALLY_NEIGHBOURS]; /* rotations that are not written yet */
    size_t count, before;
    double *value; /* values of each metric: first RPS_TALLY_NEIGHBOURS rotations already written
                      (`before` of them are of this CPU), then the gathered rotations */
    double *step;  /* usual difference of each metric between successive gathered rotations */

    /* State of the format `every`. */
    struct rps_tally stretch;
    int64_t begin_ns, end_ns; /* start and end of the interval, as times of the run */
    uint64_t first, last;     /* first and last period of the interval */
    uint64_t merged, block;   /* number of rotations in the interval, and in its largest block */
    int rows;                 /* number of rows of this CPU that were already written */
    struct rps_range *range;  /* extremes of each metric */
    int *is_unknown;          /* 1: extremes unknown, because of a block in the interval */
};

/* Write all metrics' names (gauges: from their file), then those of each metric's extra columns. */
static void head_metrics(struct rps_export_job *job)
{
    const struct rps_plan *plan = job->plan;
    const int is_every = job->format->sheet == RPS_SHEET_EVERY;
    const char *lower = is_every ? "min" : "low", *upper = is_every ? "max" : "high";
    static const char *const how[][3] = {
        {"from the counts of the rotation", "lower end of the 95 % interval",
         "upper end of the 95 % interval"},
        {"from the counts of the interval", "lowest of the rotations", "highest of the rotations"}};

    for (int end = 0; end < 2; end++) {
        for (int m = 0; m < plan->metric_count; m++) {
            const struct rps_metric *metric = &plan->metric[m];
            const char *unit = rps_plan_is_gauge(plan, &metric->formula) ? "" : metric->unit;
            const char *name = rps_gauges_metric_name(plan, metric);
            const char *meaning = metric->explain[0] ? metric->explain : metric->label;

            rps_sheet_head(job, name, unit, "metric", end ? lower : NULL, how[is_every][end],
                           meaning);
            if (end)
                rps_sheet_head(job, name, unit, "metric", upper, how[is_every][2], meaning);
        }
    }
}

static int rotations_begin(struct rps_export_job *job, struct rps_error *err)
{
    size_t metrics = (size_t)job->plan->metric_count;
    int cells = job->format->sheet == RPS_SHEET_LONG_RATES ? 0 : 3 * job->plan->metric_count;
    struct rotations *rotations;
    int result = rps_sheet_begin(job, sizeof(*rotations), cells, err);

    if (result < 0)
        return result;
    rotations = job->state;
    rotations->rotation = rps_rotation_new(job->arena, job->plan);
    rotations->operand = rps_arena_get(job->arena, (size_t)rps_plan_operand_count(job->plan),
                                       sizeof(*rotations->operand));
    rotations->value = rps_arena_get(job->arena, metrics, VALUES * sizeof(*rotations->value));
    rotations->step = rps_arena_get(job->arena, metrics, sizeof(*rotations->step));
    for (size_t i = 0; i < RPS_TALLY_NEIGHBOURS; i++)
        rotations->gathered[i] = rps_rotation_new(job->arena, job->plan);
    rotations->sheet.cell_count = cells;
    if (cells > 0)
        head_metrics(job);
    rps_sheet_end_head(job);
    return 0;
}

/* --- rates ------------------------------------------------------------------------------------ */

static double *values_of(const struct rotations *rates, int metric)
{
    return &rates->value[(size_t)metric * VALUES];
}

static void put_rotation(struct rps_export_job *job, size_t at)
{
    struct rotations *rates = job->state;
    const struct rps_rotation *rotation = &rates->gathered[at];
    const struct rps_tally *tally = &rotation->tally;
    int metrics = job->plan->metric_count;
    struct rps_sheet_row row = {.cpu = rotation->cpu,
                                .number = rotation->number,
                                .first = rotation->first,
                                .last = rotation->last,
                                .start_ns = tally->start_ns,
                                .length_ns = tally->length_ns,
                                .cycle = rotation->to_cycle,
                                .cycles = tally->clock};

    rps_tally_operands(tally, job->plan, rates->operand);
    for (int m = 0; m < metrics; m++) {
        const struct rps_metric *metric = &job->plan->metric[m];
        struct rps_interval interval =
            rps_tally_short_interval(tally, &metric->formula, rates->operand, rates->step[m]);

        row.name = rps_gauges_metric_name(job->plan, metric);
        row.unit = metric->unit;
        row.value = rps_sheet_real(values_of(rates, m)[RPS_TALLY_NEIGHBOURS + at]);
        row.low = rps_sheet_real(interval.low);
        row.high = rps_sheet_real(interval.high);
        if (rates->sheet.format == RPS_SHEET_LONG_RATES) {
            rps_sheet_put(job, &row);
        } else {
            rates->sheet.cell[m] = row.value;
            rates->sheet.cell[metrics + 2 * m] = row.low;
            rates->sheet.cell[metrics + 2 * m + 1] = row.high;
        }
    }
    if (rates->sheet.format == RPS_SHEET_RATES)
        rps_sheet_put(job, &row);
}

/* Write the gathered rotations; if they are too few to show the scatter, also use earlier ones. */
static void write_gathered(struct rps_export_job *job)
{
    struct rotations *rates = job->state;
    size_t before = rates->count < RPS_TALLY_NEIGHBOURS ? rates->before : 0;

    for (int m = 0; m < job->plan->metric_count; m++)
        rates->step[m] = rps_tally_usual_step(values_of(rates, m) + RPS_TALLY_NEIGHBOURS - before,
                                              before + rates->count);
    for (size_t i = 0; i < rates->count; i++)
        put_rotation(job, i);
    for (int m = 0; m < job->plan->metric_count; m++) {
        double *value = values_of(rates, m);

        memmove(value, value + rates->count, RPS_TALLY_NEIGHBOURS * sizeof(*value));
    }
    rates->before += rates->count;
    if (rates->before > RPS_TALLY_NEIGHBOURS)
        rates->before = RPS_TALLY_NEIGHBOURS;
    rates->count = 0;
}

static void gather(struct rps_export_job *job)
{
    struct rotations *rates = job->state;
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
    struct rotations *rates = job->state;

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
    rps_sheet_end(job);
}

const struct rps_export_format rps_export_rates = {
    .name = "rates",
    .sheet = RPS_SHEET_RATES,
    .rotations = 1,
    .phases = 1,
    .begin = rotations_begin,
    .period = rates_period,
    .end = rates_end,
    .release = rps_sheet_release,
};

const struct rps_export_format rps_export_long_rates = {
    .name = "long-rates",
    .sheet = RPS_SHEET_LONG_RATES,
    .rotations = 1,
    .phases = 1,
    .begin = rotations_begin,
    .period = rates_period,
    .end = rates_end,
    .release = rps_sheet_release,
};

/* --- every ------------------------------------------------------------------------------------ */

static int every_begin(struct rps_export_job *job, struct rps_error *err)
{
    size_t metrics = (size_t)job->plan->metric_count;
    struct rotations *every;
    int result;

    if (job->options->every_ns <= 0)
        return rps_error_set(err, RPS_USAGE,
                             "the length of a row is missing; add it, as in --every 10s");
    result = rotations_begin(job, err);
    if (result < 0)
        return result;
    every = job->state;
    every->rotation.least_ns =
        rps_rotation_least_ns(job->run, job->plan->set_count, job->plan->set_count);
    every->range = rps_arena_get(job->arena, metrics, sizeof(*every->range));
    every->is_unknown = rps_arena_get(job->arena, metrics, sizeof(*every->is_unknown));
    every->stretch = rps_tally_new(job->arena, job->plan);
    return 0;
}

static void find_stretch(const struct rps_export_job *job, int64_t time_ns, int64_t *ret_begin_ns,
                         int64_t *ret_end_ns)
{
    int64_t every_ns = job->options->every_ns, start_ns = job->run->start_realtime_ns;

    if (job->options->clock && start_ns >= 0) {
        *ret_begin_ns = rps_wall_last_step_ns(start_ns + time_ns, every_ns) - start_ns;
        *ret_end_ns = rps_wall_step_ns(start_ns + time_ns + 1, every_ns) - start_ns;
    } else {
        *ret_begin_ns = time_ns - time_ns % every_ns;
        *ret_end_ns = *ret_begin_ns + every_ns;
    }
}

/* Write an interval of the format `every`. The interval is complete. */
static void write_stretch(struct rps_export_job *job)
{
    struct rotations *every = job->state;
    struct rps_tally *stretch = &every->stretch;
    struct rps_cell *cell = every->sheet.cell;
    int metrics = job->plan->metric_count;
    struct rps_sheet_row row = {.cpu = every->cpu,
                                .start_ns = every->begin_ns,
                                .length_ns = stretch->length_ns,
                                .rotations = every->merged,
                                .block = every->block,
                                .first = every->first,
                                .last = every->last};

    if (every->merged == 0)
        return;
    if (every->rows == 0 && stretch->start_ns > row.start_ns)
        row.start_ns = stretch->start_ns;
    rps_tally_operands(stretch, job->plan, every->operand);
    for (int m = 0; m < metrics; m++) {
        const struct rps_formula *formula = &job->plan->metric[m].formula;

        cell[m] = rps_sheet_real(
            rps_tally_carries(stretch, formula) ? rps_formula_value(formula, every->operand) : NAN);
        cell[metrics + 2 * m] = rps_sheet_real(every->is_unknown[m] ? NAN : every->range[m].least);
        cell[metrics + 2 * m + 1] =
            rps_sheet_real(every->is_unknown[m] ? NAN : every->range[m].most);
    }
    rps_sheet_put(job, &row);
    every->rows++;
    rps_tally_reset(stretch);
    every->merged = every->block = 0;
}

static void begin_stretch(struct rps_export_job *job, int64_t time_ns, int32_t cpu)
{
    struct rotations *every = job->state;

    write_stretch(job);
    if (cpu != every->cpu)
        every->rows = 0;
    every->cpu = cpu;
    find_stretch(job, time_ns, &every->begin_ns, &every->end_ns);
    for (int m = 0; m < job->plan->metric_count; m++) {
        every->range[m] = (struct rps_range){NAN, NAN};
        every->is_unknown[m] = 0;
    }
}

/* Add a complete rotation to the interval to which it belongs. */
static void end_rotation(struct rps_export_job *job)
{
    struct rotations *every = job->state;
    const struct rps_rotation *rotation = &every->rotation;
    const struct rps_tally *tally = &rotation->tally;
    int64_t middle_ns = tally->start_ns + (tally->end_ns - tally->start_ns) / 2;

    if (tally->periods == 0)
        return;
    if (every->merged == 0 || middle_ns < every->begin_ns || middle_ns >= every->end_ns ||
        rotation->cpu != every->cpu)
        begin_stretch(job, middle_ns, rotation->cpu);
    rps_tally_merge(&every->stretch, tally);
    every->first = every->merged == 0 ? rotation->first : every->first;
    every->last = rotation->last;
    every->merged += rotation->merged + (rotation->latest - rotation->number);
    every->block = rotation->merged > every->block ? rotation->merged : every->block;
    rps_tally_operands(tally, job->plan, every->operand);
    for (int m = 0; m < job->plan->metric_count; m++) {
        struct rps_range *range = &every->range[m], more = {NAN, NAN};

        every->is_unknown[m] |=
            !rps_rotation_range(rotation, &job->plan->metric[m].formula, every->operand, &more);
        range->least = fmin(range->least, more.least); /* fmin and fmax ignore NaN arguments */
        range->most = fmax(range->most, more.most);
    }
    rps_rotation_reset(&every->rotation);
}

static void every_period(struct rps_export_job *job, const struct rps_period *period)
{
    struct rotations *every = job->state;

    if (rps_rotation_ends(&every->rotation, period))
        end_rotation(job);
    rps_rotation_add(&every->rotation, period);
}

static void every_end(struct rps_export_job *job)
{
    end_rotation(job);
    write_stretch(job);
    rps_sheet_end(job);
}

const struct rps_export_format rps_export_every = {
    .name = "every",
    .sheet = RPS_SHEET_EVERY,
    .rotations = 1,
    .phases = 1,
    .begin = every_begin,
    .period = every_period,
    .end = every_end,
    .release = rps_sheet_release,
};
