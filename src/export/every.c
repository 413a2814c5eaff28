/*
 * The export of stretches of one length, for spreadsheets of long runs:
 *
 *     run,cpu,time_s,length_s,rotations,block,phase,label, then a column a metric, then NAME_min and
 *     NAME_max of each
 *
 * time_s is where the stretch begins; the first row of a CPU begins where its data do. Stretches
 * count from the start of the run, or, with the column `time`, from midnight. A rotation belongs to
 * the stretch that its middle lies in; a stretch without one has no row. length_s is what was
 * recorded of it. A metric is that of the whole stretch, its minimum and maximum are those of the
 * rotations in it; a rotation in which the workload hardly ran has none. A stretch that was read in
 * blocks, of so many rotations as `block` says, has neither: blocks keep sums alone.
 */
#include <math.h>
#include <stdlib.h>

#include "rpistat/export_columns.h"
#include "rpistat/clock.h"
#include "rpistat/rotation.h"
#include "rpistat/wall.h"

struct every {
    struct rps_csv_writer csv; /* first */
    struct rps_rotation rotation;
    struct rps_tally stretch;
    int64_t begin_ns, end_ns;       /* of the stretch, in the run */
    int32_t cpu;                    /* of the stretch */
    uint64_t first, last;           /* periods in it */
    uint64_t rotations, block;      /* in the stretch; the largest block of them */
    int rows;                       /* written of this CPU */
    double *operand, *least, *most; /* owned; least and most of each metric */
};

static void every_release(struct rps_export_job *job)
{
    struct every *every = job->state;

    if (every) {
        rps_rotation_free(&every->rotation);
        rps_tally_free(&every->stretch);
        free(every->operand);
        free(every->least);
        free(every->most);
    }
    rps_export_csv_release(job);
}

static void every_head(struct rps_export_job *job)
{
    static const char *const fixed[] = {"run",       "cpu",   "time_s", "length_s",
                                        "rotations", "block", "phase",  "label"};
    const int fixed_count = (int)(sizeof(fixed) / sizeof(fixed[0]));

    rps_export_csv_fixed(job, fixed, fixed_count);
    rps_export_csv_metrics(job, fixed, fixed_count, "min", "max");
}

static int every_begin(struct rps_export_job *job, struct rps_error *err)
{
    size_t metrics = (size_t)job->plan->metric_count + 1;
    int result = rps_export_csv_begin(job, sizeof(struct every), err);
    struct every *every = job->state;

    if (result == 0 && job->options->every_ns <= 0)
        result = rps_error_set(err, RPS_USAGE, "stretches must have a length: say --every 10s");
    if (result == 0)
        result = rps_rotation_init(&every->rotation, job->plan, err);
    if (result == 0)
        result = rps_tally_init(&every->stretch, job->plan, err);
    if (result < 0)
        return result;
    every->operand = calloc((size_t)rps_plan_operand_count(job->plan), sizeof(*every->operand));
    every->least = calloc(metrics, sizeof(*every->least));
    every->most = calloc(metrics, sizeof(*every->most));
    if (!every->operand || !every->least || !every->most)
        return rps_error_memory(err);
    every_head(job);
    return rps_csv_end_head(job->state, err);
}

/* Where the stretch of a time of the run begins and ends. */
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

static void put_metrics(struct rps_export_job *job)
{
    struct every *every = job->state;

    rps_tally_operands(&every->stretch, job->plan, every->operand);
    for (int m = 0; m < job->plan->metric_count; m++) {
        const struct rps_formula *formula = &job->plan->metric[m].formula;

        if (rps_tally_carries(&every->stretch, formula))
            rps_csv_double(job->state, rps_formula_value(formula, every->operand));
        else
            rps_csv_empty(job->state);
    }
    for (int m = 0; m < job->plan->metric_count; m++) {
        rps_csv_double(job->state, every->block > 1 ? NAN : every->least[m]);
        rps_csv_double(job->state, every->block > 1 ? NAN : every->most[m]);
    }
}

/* The stretch is over. */
static void write_stretch(struct rps_export_job *job)
{
    struct every *every = job->state;
    int64_t begin_ns = every->begin_ns;

    if (every->rotations == 0)
        return;
    if (every->rows == 0 && every->stretch.start_ns > begin_ns)
        begin_ns = every->stretch.start_ns;
    rps_export_csv_place(job, every->cpu);
    rps_export_csv_time(job, begin_ns);
    rps_csv_seconds(job->state, every->stretch.length_ns);
    rps_csv_uint64(job->state, every->rotations);
    rps_csv_uint64(job->state, every->block);
    rps_export_csv_phase(job, every->first, every->last);
    put_metrics(job);
    rps_csv_end_row(job->state);
    every->rows++;
    rps_tally_reset(&every->stretch);
    every->rotations = every->block = 0;
}

static void begin_stretch(struct rps_export_job *job, int64_t time_ns, int32_t cpu)
{
    struct every *every = job->state;

    write_stretch(job);
    if (cpu != every->cpu)
        every->rows = 0;
    every->cpu = cpu;
    find_stretch(job, time_ns, &every->begin_ns, &every->end_ns);
    for (int m = 0; m < job->plan->metric_count; m++)
        every->least[m] = every->most[m] = NAN;
}

/* The rotation is over: into its stretch. */
static void end_rotation(struct rps_export_job *job)
{
    struct every *every = job->state;
    const struct rps_rotation *rotation = &every->rotation;
    const struct rps_tally *tally = &rotation->tally;
    int64_t middle_ns = tally->start_ns + (tally->end_ns - tally->start_ns) / 2;

    if (tally->periods == 0)
        return;
    if (every->rotations == 0 || middle_ns < every->begin_ns || middle_ns >= every->end_ns ||
        rotation->cpu != every->cpu)
        begin_stretch(job, middle_ns, rotation->cpu);
    rps_tally_merge(&every->stretch, tally);
    every->first = every->rotations == 0 ? rotation->first : every->first;
    every->last = rotation->last;
    every->rotations += rotation->merged;
    every->block = rotation->merged > every->block ? rotation->merged : every->block;
    rps_tally_operands(tally, job->plan, every->operand);
    for (int m = 0; m < job->plan->metric_count; m++) {
        const struct rps_formula *formula = &job->plan->metric[m].formula;
        double value =
            rps_tally_carries(tally, formula) ? rps_formula_value(formula, every->operand) : NAN;

        every->least[m] = fmin(every->least[m], value); /* both prefer a number to NaN */
        every->most[m] = fmax(every->most[m], value);
    }
    rps_rotation_reset(&every->rotation);
}

static void every_period(struct rps_export_job *job, const struct rps_period *period)
{
    struct every *every = job->state;

    if (rps_rotation_ends(&every->rotation, period))
        end_rotation(job);
    rps_rotation_add(&every->rotation, period);
}

static void every_end(struct rps_export_job *job)
{
    end_rotation(job);
    write_stretch(job);
    rps_export_csv_end(job);
}

const struct rps_export_format rps_export_every = {
    .name = "every",
    .summary = "one row a stretch of time: mean, minimum and maximum of each metric",
    .rotations = 1,
    .phases = 1,
    .begin = every_begin,
    .period = every_period,
    .end = every_end,
    .release = every_release,
};
