/*
 * The values of one run: its periods are added up once, over the whole and over each row, and the
 * figures made of the sums. Where one run stands against one, what the formulas are made of is
 * kept rotation by rotation, since how a figure varies within a row can be told only when the sums
 * of the row are known.
 *
 * A figure's floor is what chance makes of it: counts vary as Poisson's do, a boundary between
 * phases lies anywhere in a period.
 */
#include "work.h"

#include <math.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/rotation.h"
#include "rpistat/tally.h"
#include "rpistat/walk.h"

/* How sure the end of a run is. */
#define END_S 1e-3

/* A 95 % interval in deviations. */
#define INTERVAL_DEVIATIONS (2 * 1.96)

/* What is smaller beside its parts is a sum of 0. */
#define NOTHING 1e-6

/* Nothing is known, since there is too little of it. */
static const struct rps_within too_short = {0, 1, 0};

/* The observations of a run: a rotation, or block, each. */
struct observations {
    int operand_count;
    int *operand; /* those that metrics use */
    size_t count;
    double *value; /* value[i * operand_count + k] */
    size_t *row;   /* 0: in no row but the whole */
};

/* All but what tallies and the rotation own lies in the comparison's arena. */
struct measuring {
    const struct rps_comparison *comparison;
    const struct rps_comparison_run *run;
    struct rps_compared_run *compared;
    int is_single;           /* 1: one run against one */
    struct rps_tally *tally; /* of each row */
    size_t *times;           /* of each row: its phases in this run */
    int64_t *length_ns;      /* of these together */
    double grain_s;          /* how fine boundaries are known */
    struct rps_rotation rotation;
    size_t rotation_phase; /* SIZE_MAX: of several, or of none */
    size_t at;
    double *operand;           /* of the tally that is looked at */
    double *derivative, *term; /* scratch: by the operands, of the observations of a row */
    struct observations seen;
};

/* --- the walk --------------------------------------------------------------------------------- */

/* The row of a phase, 0 for none. */
static size_t row_of(const struct measuring *measuring, size_t phase)
{
    return phase == SIZE_MAX ? 0 : (size_t)(measuring->run->phases.phase[phase].label + 1);
}

static void end_rotation(struct measuring *measuring)
{
    struct rps_arena *arena = measuring->comparison->arena;
    struct observations *seen = &measuring->seen;
    size_t operands = (size_t)seen->operand_count;

    if (!measuring->is_single || measuring->rotation.tally.periods == 0)
        return;
    seen->value = rps_arena_grow(arena, seen->value, seen->count, operands * sizeof(*seen->value));
    seen->row = rps_arena_grow(arena, seen->row, seen->count, sizeof(*seen->row));
    rps_tally_operands(&measuring->rotation.tally, measuring->compared->plan, measuring->operand);
    for (size_t k = 0; k < operands; k++)
        seen->value[seen->count * operands + k] = measuring->operand[seen->operand[k]];
    seen->row[seen->count++] = row_of(measuring, measuring->rotation_phase);
    rps_rotation_reset(&measuring->rotation);
}

static void add_period(struct measuring *measuring, const struct rps_period *period)
{
    const struct rps_phases *phases = &measuring->run->phases;
    size_t end = rps_phases_at(phases, rps_period_last(period), &measuring->at);
    size_t at = rps_phases_at(phases, period->period, &measuring->at);

    rps_tally_add(&measuring->tally[0], period);
    if (row_of(measuring, at) > 0)
        rps_tally_add(&measuring->tally[row_of(measuring, at)], period);
    if (!measuring->is_single)
        return;
    if (rps_rotation_ends(&measuring->rotation, period))
        end_rotation(measuring);
    if (measuring->rotation.tally.periods == 0)
        measuring->rotation_phase = at;
    if (measuring->rotation_phase != at || end != at)
        measuring->rotation_phase = SIZE_MAX;
    rps_rotation_add(&measuring->rotation, period);
}

/* --- variances -------------------------------------------------------------------------------- */

/* 1 when an earlier step of the formula is the same operand. */
static int came_before(const struct rps_formula *formula, int step)
{
    for (int i = 0; i < step; i++) {
        if (formula->step[i].op == RPS_FORMULA_OPERAND &&
            formula->step[i].operand == formula->step[step].operand)
            return 1;
    }
    return 0;
}

/* The variance of an event's estimate, as that of a count by chance; of none at least that of
 * one. 0 for what is no event. */
static double chance_of(const struct rps_tally *tally, int operand)
{
    int set = (operand - RPS_OPERAND_EVENTS) / RPS_SLOT_MAX;
    int slot = (operand - RPS_OPERAND_EVENTS) % RPS_SLOT_MAX;
    const struct rps_set_tally *of;
    double scale = 1;

    if (operand < RPS_OPERAND_EVENTS || set >= tally->set_count)
        return 0;
    of = &tally->set[set];
    if (of->counted_ns[slot] > 0)
        scale = (double)tally->enabled_ns / (double)of->counted_ns[slot];
    return scale * scale * fmax(1, (double)of->count[slot]);
}

/* The same of a formula, by its derivatives. */
static double chance_of_formula(struct measuring *measuring, const struct rps_tally *tally,
                                const struct rps_formula *formula)
{
    double sum = 0;

    for (int i = 0; i < formula->step_count; i++) {
        double derivative;

        if (formula->step[i].op != RPS_FORMULA_OPERAND || came_before(formula, i))
            continue;
        derivative = rps_formula_derivative(formula, measuring->operand, formula->step[i].operand);
        sum += derivative * derivative * chance_of(tally, formula->step[i].operand);
    }
    return isfinite(sum) ? sum : 0;
}

/* The variance of how long a row is, in s^2. */
static double length_variance(const struct measuring *measuring, size_t row)
{
    if (row == 0)
        return END_S * END_S;
    return (double)measuring->times[row] * measuring->grain_s * measuring->grain_s / 6;
}

/* What one observation adds to a formula, by its derivatives. */
static double term_of(const struct observations *seen, size_t i, const double *derivative)
{
    double sum = 0;

    for (int k = 0; k < seen->operand_count; k++) {
        if (derivative[k] != 0)
            sum += derivative[k] * seen->value[i * (size_t)seen->operand_count + (size_t)k];
    }
    return sum;
}

/* The derivatives by the operands of observations; 0 when the formula grows with the length of the
 * stretch, as a total does. */
static int find_derivatives(struct measuring *measuring, const struct rps_formula *formula,
                            double *ret)
{
    const struct observations *seen = &measuring->seen;
    double sum = 0, parts = 0;

    memset(ret, 0, (size_t)seen->operand_count * sizeof(*ret));
    for (int i = 0; i < formula->step_count; i++) {
        for (int k = 0; k < seen->operand_count; k++) {
            double part;

            if (formula->step[i].op != RPS_FORMULA_OPERAND ||
                formula->step[i].operand != seen->operand[k] || came_before(formula, i))
                continue;
            ret[k] = rps_formula_derivative(formula, measuring->operand, seen->operand[k]);
            part = ret[k] * measuring->operand[seen->operand[k]];
            sum += part;
            parts += fabs(part);
        }
    }
    return fabs(sum) <= NOTHING * parts;
}

/* How a metric varies within the row whose operands are filled: what is seen of it in the rotations
 * that lie wholly in it goes for all of it. */
static struct rps_within find_within(struct measuring *measuring, size_t row,
                                     const struct rps_formula *formula)
{
    const struct observations *seen = &measuring->seen;
    struct rps_within within = {NAN, 0, 0};
    double seconds = 0;
    size_t count = 0;

    if (!find_derivatives(measuring, formula, measuring->derivative))
        return within;
    for (size_t i = 0; i < seen->count; i++) {
        if (row > 0 && seen->row[i] != row)
            continue;
        measuring->term[count++] = term_of(seen, i, measuring->derivative);
        seconds += seen->value[i * (size_t)seen->operand_count];
    }
    within = rps_within_find(measuring->term, count);
    if (isnan(within.variance))
        return too_short;
    within.variance *= measuring->operand[RPS_OPERAND_SECONDS] / seconds;
    return within;
}

/* The same with what estimating it from turns adds. */
static struct rps_within find_uncertainty(struct measuring *measuring, size_t row,
                                          const struct rps_formula *formula)
{
    struct rps_interval interval =
        rps_tally_formula_interval(&measuring->tally[row], formula, measuring->operand);
    double deviation = (interval.high - interval.low) / INTERVAL_DEVIATIONS;
    struct rps_within within = find_within(measuring, row, formula);

    if (interval.certainty == RPS_CERTAINTY_NONE || interval.certainty > RPS_CERTAINTY_START)
        return too_short;
    if (!rps_interval_has_ends(&interval))
        return within;
    within.variance += deviation * deviation;
    return isnan(deviation) ? too_short : within;
}

/* --- values ----------------------------------------------------------------------------------- */

static int is_estimated(const struct rps_tally *tally, enum rps_comparison_kind kind,
                        const struct rps_formula *formula)
{
    int set = (formula->step[0].operand - RPS_OPERAND_EVENTS) / RPS_SLOT_MAX;

    if (kind == RPS_FIGURE_METRIC)
        return rps_tally_carries(tally, formula);
    return kind != RPS_FIGURE_TOTAL || formula->step[0].operand < RPS_OPERAND_EVENTS ||
           !rps_tally_hardly(tally, set);
}

/* The elapsed time of a row that the run has. */
static double elapsed_of(const struct measuring *measuring, size_t row)
{
    int64_t length_ns = row > 0 ? measuring->length_ns[row] : measuring->run->run.elapsed_ns;

    return length_ns >= 0 ? (double)length_ns / RPS_NS_PER_S : NAN;
}

/* What system signals say of the row whose operands are filled; NaN: not known. */
static double system_of(const struct measuring *measuring, size_t row,
                        enum rps_compared_system which)
{
    const struct rps_run_system *system = &measuring->compared->system[row];
    struct rps_system_time time =
        rps_run_system_time(system, measuring->operand[RPS_OPERAND_CPU_SECONDS]);

    if (which == RPS_COMPARED_STOLEN)
        return 100 * rps_run_system_stolen(system, measuring->run->run.cpu_count);
    if (which == RPS_COMPARED_THROTTLED)
        return rps_run_system_throttled_s(system);
    if (!(time.elapsed_s > 0))
        return NAN;
    return which == RPS_COMPARED_WAIT     ? time.wait_s
           : which == RPS_COMPARED_WAITED ? 100 * rps_system_time_waited(&time)
                                          : elapsed_of(measuring, row) - time.wait_s;
}

/* Of the row whose operands are filled. */
static struct rps_change_value value_of(struct measuring *measuring, size_t row, size_t figure)
{
    enum rps_comparison_kind kind = measuring->comparison->figure[figure].kind;
    const struct rps_formula *formula = rps_compared_formula(measuring->compared, figure);
    const struct rps_tally *tally = &measuring->tally[row];
    struct rps_change_value ret = {.value = NAN, .variance = NAN};
    double length = length_variance(measuring, row), rate;

    if (kind == RPS_FIGURE_TIME) {
        ret.value = elapsed_of(measuring, row);
        ret.floor = length;
        return ret;
    }
    if (kind == RPS_FIGURE_SYSTEM) {
        ret.value = system_of(measuring, row, rps_compared_system(measuring->compared, figure));
        return ret;
    }
    if (tally->periods == 0 || !is_estimated(tally, kind, formula))
        return ret;
    ret.value = rps_formula_value(formula, measuring->operand);
    if (!isfinite(ret.value)) {
        ret.value = NAN;
        return ret;
    }
    ret.floor = chance_of_formula(measuring, tally, formula);
    rate = ret.value / measuring->operand[RPS_OPERAND_SECONDS];
    if (kind != RPS_FIGURE_METRIC && (row > 0 || kind == RPS_FIGURE_CPU) && isfinite(rate))
        ret.floor += length * rate * rate;
    if (kind == RPS_FIGURE_METRIC && measuring->is_single) {
        struct rps_within within = find_uncertainty(measuring, row, formula);

        ret.variance = within.variance;
        ret.degrees = within.degrees;
        ret.effective = within.effective;
    }
    return ret;
}

/* The row of the whole has all that the others have. */
static int read_system(struct measuring *measuring, struct rps_error *err)
{
    const struct rps_comparison *comparison = measuring->comparison;
    const struct rps_comparison_run *run = measuring->run;
    struct rps_run_part part =
        rps_comparison_part(comparison->arena, &run->phases, comparison->row_count);
    struct rps_compared_run *compared = measuring->compared;
    int result = rps_run_system_read(comparison->arena, run->reader, run->run_id, INT64_MIN,
                                     INT64_MAX, &part, &compared->system, err);

    if (result < 0)
        return result;
    compared->system[0] = compared->system[part.group_count];
    rps_tally_operands(&measuring->tally[0], compared->plan, measuring->operand);
    compared->time =
        rps_run_system_time(&compared->system[0], measuring->operand[RPS_OPERAND_CPU_SECONDS]);
    return 0;
}

static void evaluate(struct measuring *measuring)
{
    const struct rps_comparison *comparison = measuring->comparison;

    for (size_t row = 0; row < comparison->row_count; row++) {
        struct rps_change_value *value =
            measuring->compared->value + row * comparison->figure_count;
        int is_there = row == 0 || measuring->times[row] > 0;

        rps_tally_operands(&measuring->tally[row], measuring->compared->plan, measuring->operand);
        for (size_t f = 0; f < comparison->figure_count; f++)
            value[f] = is_there ? value_of(measuring, row, f)
                                : (struct rps_change_value){.value = NAN, .variance = NAN};
    }
}

/* What the remarks are made of. */
static void look_back(struct measuring *measuring)
{
    struct rps_compared_run *compared = measuring->compared;
    const struct rps_tally *whole = &measuring->tally[0];
    int64_t matched_ns = 0, all_ns = 0;

    compared->coverage = 1;
    for (int n = 0; n < whole->set_count; n++) {
        double coverage = rps_tally_coverage(whole, n);

        if (coverage < compared->coverage)
            compared->coverage = coverage;
    }
    for (size_t row = 1; row < measuring->comparison->row_count; row++)
        matched_ns += measuring->length_ns[row];
    all_ns = measuring->length_ns[0];
    compared->unmatched = all_ns > 0 ? 1 - (double)matched_ns / (double)all_ns : 0;
}

/* --- the run ---------------------------------------------------------------------------------- */

/* The operands of metrics, the elapsed time first. */
static void list_operands(struct measuring *measuring)
{
    struct rps_arena *arena = measuring->comparison->arena;
    int operands = rps_plan_operand_count(measuring->compared->plan);
    char *is_used = rps_arena_get(arena, (size_t)operands + 1, 1);
    struct observations *seen = &measuring->seen;

    seen->operand = rps_arena_get(arena, (size_t)operands + 1, sizeof(*seen->operand));
    measuring->operand = rps_arena_get(arena, (size_t)operands + 1, sizeof(*measuring->operand));
    measuring->derivative =
        rps_arena_get(arena, (size_t)operands + 1, sizeof(*measuring->derivative));
    for (size_t f = 0; f < measuring->comparison->figure_count; f++) {
        const struct rps_formula *formula = rps_compared_formula(measuring->compared, f);

        for (int i = 0;
             measuring->comparison->figure[f].kind == RPS_FIGURE_METRIC && i < formula->step_count;
             i++) {
            if (formula->step[i].op == RPS_FORMULA_OPERAND)
                is_used[formula->step[i].operand] = 1;
        }
    }
    seen->operand[seen->operand_count++] = RPS_OPERAND_SECONDS;
    for (int k = 0; k < operands; k++) {
        if (is_used[k] && k != RPS_OPERAND_SECONDS)
            seen->operand[seen->operand_count++] = k;
    }
}

/* How long each row is in this run, and how often it comes. */
static void count_phases(struct measuring *measuring)
{
    const struct rps_phases *phases = &measuring->run->phases;

    for (size_t i = 0; i < phases->count; i++) {
        const struct rps_phase *phase = &phases->phase[i];
        size_t row = row_of(measuring, i);

        measuring->length_ns[0] += phase->end_ns - phase->start_ns;
        if (row == 0)
            continue;
        measuring->length_ns[row] += phase->end_ns - phase->start_ns;
        measuring->times[row]++;
    }
}

static int begin(struct measuring *measuring, struct rps_error *err)
{
    struct rps_arena *arena = measuring->comparison->arena;
    size_t rows = measuring->comparison->row_count;
    int result = 0;

    measuring->tally = rps_arena_get(arena, rows, sizeof(*measuring->tally));
    measuring->times = rps_arena_get(arena, rows, sizeof(*measuring->times));
    measuring->length_ns = rps_arena_get(arena, rows, sizeof(*measuring->length_ns));
    measuring->compared->value = rps_arena_get(arena, rows * measuring->comparison->figure_count,
                                               sizeof(*measuring->compared->value));
    list_operands(measuring);
    count_phases(measuring);
    for (size_t row = 0; row < rows && result == 0; row++)
        result = rps_tally_init(&measuring->tally[row], measuring->compared->plan, err);
    return result == 0 ? rps_rotation_init(&measuring->rotation, measuring->compared->plan, err)
                       : result;
}

static int walk(struct measuring *measuring, struct rps_error *err)
{
    static const struct rps_cpus all = {.way = RPS_CPUS_SUM};
    const struct rps_comparison_run *run = measuring->run;
    const struct rps_plan *plan = measuring->compared->plan;
    struct rps_cpu_series series = {0};
    struct rps_walk walk = {.series = &series, .way = RPS_CPUS_SUM};
    int result = rps_cpu_series_open(&series, run->reader, run->run_id, 0, INT64_MAX, &all, err);

    if (result == 0) {
        rps_cpu_series_choose_signals(&series, plan->metric_count + 1);
        measuring->grain_s = (double)run->run.period_ns / RPS_NS_PER_S;
        if (series.resolution > 0)
            measuring->grain_s *= (double)(plan->set_count << (RPS_LEVEL_BITS * series.resolution));
    }
    while (rps_walk_next(&walk, &result, err))
        add_period(measuring, walk.period);
    end_rotation(measuring);
    rps_cpu_series_free(&series);
    return result;
}

int rps_comparison_measure(struct rps_comparison_work *work, size_t run, struct rps_error *err)
{
    struct measuring measuring = {.comparison = &work->comparison,
                                  .run = &work->comparison.run[run],
                                  .compared = &work->run[run],
                                  .is_single = work->comparison.a_count == 1 &&
                                               work->comparison.b_count == 1,
                                  .rotation_phase = SIZE_MAX};
    int result = begin(&measuring, err);

    if (result == 0)
        result = walk(&measuring, err);
    if (result == 0)
        result = read_system(&measuring, err);
    if (result == 0) {
        measuring.term =
            rps_arena_get(work->comparison.arena, measuring.seen.count, sizeof(*measuring.term));
        evaluate(&measuring);
        look_back(&measuring);
    }
    for (size_t row = 0; row < work->comparison.row_count; row++)
        rps_tally_free(&measuring.tally[row]);
    rps_rotation_free(&measuring.rotation);
    return result;
}
