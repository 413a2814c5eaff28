/* Compute the values of one run. One pass over the periods computes the sums for the whole run and
 * for each row. Metrics are computed from the sums.
 *
 * A metric's floor is its variance by chance. Chance has two causes: counts vary like Poisson
 * variables, and a boundary between phases may be anywhere in a period. */
#include "work.h"

#include <math.h>

#include "rpistat/clock.h"
#include "rpistat/error.h"
#include "rpistat/plan.h"
#include "rpistat/run_system.h"
#include "rpistat/tally.h"
#include "rpistat/walk.h"

/* Uncertainty of the time at which a run ends, in seconds. */
#define END_S 1e-3

/* Work data of the measurement of one run, in the comparison's arena. */
struct measuring {
    const struct rps_comparison *comparison;
    const struct rps_comparison_run *run;
    struct rps_compared_run *compared;
    struct rps_tally *tally; /* tally of each row */
    size_t *times;           /* number of phases that each row has in this run */
    int64_t *length_ns;      /* total length of the phases of each row */
    double grain_s;          /* resolution of phase boundaries in seconds */
    size_t at;
    double *operand; /* operands of the current tally */
};

/* --- the walk --------------------------------------------------------------------------------- */

/* Return the row of a phase. Return 0 if the phase has no row. */
static size_t row_of(const struct measuring *measuring, size_t phase)
{
    return phase == SIZE_MAX ? 0 : (size_t)(measuring->run->phases.phase[phase].label + 1);
}

/* --- variances -------------------------------------------------------------------------------- */

/* Return 1 if an earlier step of the formula has the same operand. */
static int came_before(const struct rps_formula *formula, int step)
{
    for (int i = 0; i < step; i++) {
        if (formula->step[i].op == RPS_FORMULA_OPERAND &&
            formula->step[i].operand == formula->step[step].operand)
            return 1;
    }
    return 0;
}

/* Return the chance variance of an event's estimate, as for a Poisson count. A count of 0 has the
 * variance of a count of 1. Return 0 for other operands. */
static double chance_of(const struct rps_tally *tally, int operand)
{
    int set = rps_operand_set(operand), slot = rps_operand_slot(operand);
    const struct rps_set_tally *of;
    double scale = 1;

    if (set < 0 || set >= tally->set_count)
        return 0;
    of = &tally->set[set];
    if (of->counted_ns[slot] > 0)
        scale = (double)tally->enabled_ns / (double)of->counted_ns[slot];
    return scale * scale * fmax(1, (double)of->count[slot]);
}

/* Return the chance variance of a formula, computed from the formula's derivatives. */
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

/* --- values ----------------------------------------------------------------------------------- */

static int is_estimated(const struct rps_tally *tally, enum rps_comparison_kind kind,
                        const struct rps_formula *formula)
{
    int set = (formula->step[0].operand - RPS_OPERAND_EVENTS) / RPS_SLOT_MAX;

    if (kind == RPS_FIGURE_METRIC || rps_tally_is_incomplete(tally))
        return rps_tally_carries(tally, formula);
    return kind != RPS_FIGURE_TOTAL || formula->step[0].operand < RPS_OPERAND_EVENTS ||
           !rps_tally_hardly(tally, set);
}

/* Return the elapsed time of a row. Call this function only if the run has the row. */
static double elapsed_of(const struct measuring *measuring, size_t row)
{
    int64_t length_ns = row > 0 ? measuring->length_ns[row] : measuring->run->run.elapsed_ns;

    return length_ns >= 0 ? (double)length_ns / RPS_NS_PER_S : NAN;
}

/* Return a metric of system readings for a row, or NaN if it is unknown. measuring->operand must
 * contain the operands of the row. */
static double system_of(const struct measuring *measuring, size_t row,
                        const struct rps_compared_figure *figure)
{
    const struct rps_run_system *system = &measuring->compared->system[row];
    struct rps_system_time time =
        rps_run_system_time(system, measuring->operand[RPS_OPERAND_CPU_SECONDS]);
    struct rps_compared_system of = {system, &time, elapsed_of(measuring, row),
                                     measuring->run->run.cpu_count, figure->package};

    return figure->system(&of);
}

/* Return a metric's value for a row. measuring->operand must contain the row's operands. */
static struct rps_change_value value_of(struct measuring *measuring, size_t row, size_t figure)
{
    enum rps_comparison_kind kind = measuring->comparison->figure[figure].kind;
    const struct rps_compared_run *run = measuring->compared;
    const struct rps_compared_figure *offered = &run->offered[run->figure[figure]];
    const struct rps_formula *formula = &offered->formula;
    const struct rps_tally *tally = &measuring->tally[row];
    struct rps_change_value ret = {.value = NAN};
    double grain_s = measuring->grain_s; /* length: the variance of the row's length, s^2 */
    double seconds = measuring->operand[RPS_OPERAND_SECONDS], whole = run->value[figure].value,
           rate;
    double length =
        row == 0 ? END_S * END_S : (double)measuring->times[row] * grain_s * grain_s / 6;

    if (kind == RPS_FIGURE_TIME) {
        ret.value = elapsed_of(measuring, row);
        ret.floor = length;
        return ret;
    }
    if (kind == RPS_FIGURE_SYSTEM) {
        ret.value = system_of(measuring, row, offered);
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
    /* At a wrong boundary, the row has time of another phase, with the run's mean rate or value. */
    if (kind == RPS_FIGURE_METRIC)
        rate = row > 0 ? (ret.value - whole) / seconds : 0;
    else
        rate = fmax(ret.value / seconds, row > 0 ? whole / elapsed_of(measuring, 0) : 0);
    if ((row > 0 || kind == RPS_FIGURE_CPU) && isfinite(rate))
        ret.floor += length * rate * rate;
    return ret;
}

/* Read the system readings of all rows. The row of the whole run includes all other rows. */
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
    compared->time = rps_arena_get(comparison->arena, 1, sizeof(*compared->time));
    *compared->time =
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
            value[f] =
                is_there ? value_of(measuring, row, f) : (struct rps_change_value){.value = NAN};
    }
}

/* Compute the data that remarks need. */
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

/* Compute the total length and the number of phases of each row in this run. */
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

static void begin(struct measuring *measuring)
{
    struct rps_arena *arena = measuring->comparison->arena;
    size_t rows = measuring->comparison->row_count;

    measuring->tally = rps_arena_get(arena, rows, sizeof(*measuring->tally));
    measuring->times = rps_arena_get(arena, rows, sizeof(*measuring->times));
    measuring->length_ns = rps_arena_get(arena, rows, sizeof(*measuring->length_ns));
    measuring->compared->value = rps_arena_get(arena, rows * measuring->comparison->figure_count,
                                               sizeof(*measuring->compared->value));
    measuring->operand =
        rps_arena_get(arena, (size_t)rps_plan_operand_count(measuring->compared->plan) + 1,
                      sizeof(*measuring->operand));
    count_phases(measuring);
    for (size_t row = 0; row < rows; row++)
        measuring->tally[row] = rps_tally_new(arena, measuring->compared->plan);
}

static int walk(struct measuring *measuring, struct rps_error *err)
{
    static const struct rps_cpus all = {.way = RPS_CPUS_SUM};
    const struct rps_comparison_run *run = measuring->run;
    const struct rps_plan *plan = measuring->compared->plan;
    struct rps_cpu_series series = {0};
    struct rps_walk walk = {.series = &series, .way = RPS_CPUS_SUM};
    int result = rps_cpu_series_open(measuring->comparison->arena, &series, run->reader,
                                     run->run_id, 0, INT64_MAX, &all, err);

    if (result == 0) {
        rps_cpu_series_choose_signals(&series, plan->metric_count + 1);
        measuring->grain_s = (double)run->run.period_ns / RPS_NS_PER_S;
        if (series.resolution > 0)
            measuring->grain_s *= (double)(plan->set_count << (RPS_LEVEL_BITS * series.resolution));
    }
    while (rps_walk_next(&walk, &result, err)) {
        const struct rps_phases *phases = &measuring->run->phases;
        size_t at = rps_phases_at(phases, walk.period->period, &measuring->at);

        rps_tally_add(&measuring->tally[0], walk.period);
        if (row_of(measuring, at) > 0)
            rps_tally_add(&measuring->tally[row_of(measuring, at)], walk.period);
    }
    return result;
}

int rps_comparison_measure(struct rps_comparison_work *work, size_t run, struct rps_error *err)
{
    struct measuring measuring = {.comparison = &work->comparison,
                                  .run = &work->comparison.run[run],
                                  .compared = &work->run[run]};
    int result;

    begin(&measuring);
    result = walk(&measuring, err);
    if (result == 0)
        result = read_system(&measuring, err);
    if (result == 0) {
        evaluate(&measuring);
        look_back(&measuring);
    }
    return result;
}
