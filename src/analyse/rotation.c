/* Add up rotations of the event sets, period by period. */
#include "rpistat/rotation.h"

#include <math.h>

#include "rpistat/formula.h"
#include "rpistat/moments.h"
#include "rpistat/plan.h"

struct rps_rotation rps_rotation_new(struct rps_arena *arena, const struct rps_plan *plan)
{
    return (struct rps_rotation){.tally = rps_tally_new(arena, plan),
                                 .range = rps_arena_get(arena, (size_t)plan->set_count,
                                                        RPS_SLOT_MAX * sizeof(struct rps_range))};
}

void rps_rotation_reset(struct rps_rotation *rotation)
{
    rps_tally_reset(&rotation->tally);
}

int64_t rps_rotation_least_ns(const struct rps_run *run, int set_count, int periods)
{
    return rps_run_is_import(run) || set_count < 2 || run->period_ns <= RPS_FINE_START_NS
               ? 0
               : run->period_ns / 4 * 3 * periods;
}

/* Return 1 if the rotation is too short to end and no gap precedes the period. */
static int is_short(const struct rps_rotation *rotation, const struct rps_period *period)
{
    return period->level == 0 &&
           rotation->tally.end_ns - rotation->tally.start_ns < rotation->least_ns &&
           period->start_ns - rotation->tally.end_ns < rotation->least_ns / 10;
}

int rps_rotation_ends(const struct rps_rotation *rotation, const struct rps_period *period)
{
    return rotation->tally.periods > 0 &&
           (period->cpu != rotation->cpu || period->level != rotation->level ||
            (period->rotation != rotation->latest && !is_short(rotation, period)));
}

/* Store the ranges of values within a block, from one row of the block. */
static void add_ranges(struct rps_rotation *rotation, const struct rps_period *period)
{
    const struct rps_scatter *scatter = period->scatter;
    struct rps_range *range = &rotation->range[(size_t)period->set_no * RPS_SLOT_MAX];

    if (rotation->tally.periods == rps_period_weight(period)) { /* first row of the block */
        rotation->has_ranges = 1;
        rotation->use = (struct rps_range){NAN, NAN};
    }
    rotation->has_ranges = rotation->has_ranges && scatter;
    if (!scatter || period->set_no >= (uint32_t)rotation->tally.set_count)
        return;
    for (int s = 0; s < RPS_SLOT_MAX; s++)
        range[s] = (struct rps_range){scatter->least[s], scatter->most[s]};
    if (period->set_no == 0)
        rotation->use = (struct rps_range){scatter->least_use, scatter->most_use};
}

void rps_rotation_add(struct rps_rotation *rotation, const struct rps_period *period)
{
    uint64_t last = rps_period_last(period);

    if (rotation->tally.periods == 0) {
        rotation->number = period->rotation;
        rotation->cpu = period->cpu;
        rotation->level = period->level;
        rotation->merged = rps_period_weight(period);
        rotation->first = period->period;
        rotation->last = last;
        rotation->from_cycle = period->cycle - period->cycles;
        rotation->to_cycle = period->cycle;
    }
    rotation->latest = period->rotation;
    rps_tally_add(&rotation->tally, period);
    if (period->level > 0)
        add_ranges(rotation, period);
    if (period->period < rotation->first)
        rotation->first = period->period;
    if (last > rotation->last)
        rotation->last = last;
    if (period->cycle > rotation->to_cycle)
        rotation->to_cycle = period->cycle;
    if (period->level > 0) /* blocks have no gaps: the start is the end minus the cycles */
        rotation->from_cycle = rotation->to_cycle - rotation->tally.clock;
}

/* Return the only operand of the formula besides the elapsed time, or -1 for none or several. */
static int single_operand(const struct rps_formula *formula)
{
    int ret = -1;

    for (int i = 0; i < formula->step_count; i++) {
        int operand = formula->step[i].operand;

        if (formula->step[i].op != RPS_FORMULA_OPERAND || operand == RPS_OPERAND_SECONDS)
            continue;
        if (ret >= 0 && operand != ret)
            return -1;
        ret = operand;
    }
    return ret;
}

/* Return the value that the formula has if `single` is counted at this rate per second. */
static double value_at(const struct rps_formula *formula, double *operand, int single, double rate)
{
    double seconds = operand[RPS_OPERAND_SECONDS], before = operand[single], ret;

    operand[RPS_OPERAND_SECONDS] = 1;
    operand[single] = rate;
    ret = rps_formula_value(formula, operand);
    operand[RPS_OPERAND_SECONDS] = seconds;
    operand[single] = before;
    return ret;
}

int rps_rotation_range(const struct rps_rotation *rotation, const struct rps_formula *formula,
                       double *operand, struct rps_range *ret)
{
    int single = single_operand(formula);
    const struct rps_range *range = &rotation->use;
    double a, b;

    if (rotation->merged <= 1) {
        a = rps_tally_carries(&rotation->tally, formula) ? rps_formula_value(formula, operand)
                                                         : NAN;
        *ret = (struct rps_range){a, a};
        return 1;
    }
    if (!rotation->has_ranges || (single < RPS_OPERAND_EVENTS && single != RPS_OPERAND_CPU_SECONDS))
        return 0;
    if (single >= RPS_OPERAND_EVENTS)
        range = &rotation->range[single - RPS_OPERAND_EVENTS];
    a = value_at(formula, operand, single, range->least);
    b = value_at(formula, operand, single, range->most);
    *ret = (struct rps_range){fmin(a, b), fmax(a, b)};
    return 1;
}
