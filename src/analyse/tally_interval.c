/*
 * Intervals of a tally's estimates. An event has m readings with counts c and running times r. Let
 * E be the range's enabled time, R = sum c / sum r, d = c - R r, f = sum r / E. Then an estimate T
 * has the variance
 *
 *     V = (E / sum r)^2 (1 - f) m / (2 k) sum (d_i - d_(i-1))^2
 *
 * with k known differences (m - 1; fewer if readings are blocks). Its interval is T exp(+- t
 * sqrt(V) / T), not below the raw count. Two omitted parts lengthen it: a drift (end_effect), and a
 * large change of other events before or after this one was counted (change_unseen).
 *
 * Rejected after measurements: plain standard errors with 1.96 (89 to 92 of 100 intervals hold the
 * true value, these hold it in 93 to 95). Also rejected: moving the estimate by the omitted part,
 * widening both sides by it, and adding its square to the variance. For changes at the ends: limits
 * by uncounted time or the event's own highest rate (+- 5 % instead of +- 0.5 % for a constant run
 * of 60 periods). Also the sum over other sets (84 of 100), and ratios instead of differences.
 */
#include "rpistat/tally.h"

#include <math.h>

#include "detect_math.h"
#include "rpistat/formula.h"
#include "rpistat/plan.h"
#include "rpistat/student.h"

/* An event counted for more than this share of the time is treated as always counted. */
#define COUNTED_SHARE .98

/* An event comes in rare bursts if (sum c)^2 / sum c^2, its worth in periods, is less. */
#define BURSTS_LEAST 4

/* Fewer readings do not show how much they differ. */
#define READINGS_LEAST    3
#define DIFFERENCES_LEAST 2

/* A range with this many readings needs no neighbours for its interval. */
#define READINGS_ENOUGH 16

/* Fewer steps between neighbours show nothing. */
#define STEPS_LEAST 5

/* A step from the outermost reading to the next is significant if its square is so many times the
 * mean square of the others. It matters if the outermost reading differs by this share. */
#define EDGE_SIGNIFICANT 10
#define EDGE_UNLIKE      .5

/* Fewer readings do not show the usual rate. */
#define EDGE_READINGS 5

/* This event may have changed by more than the n others that did. So their largest change is
 * multiplied by 1 + EDGE_SPREAD / n: in long runs 94 of 100 intervals hold, and 85 without it. */
#define EDGE_SPREAD 8

/* The certainty is START or END if the uncounted ends may add more than these shares of the value
 * and of the interval's half width. A smaller addition only widens the interval. */
#define EDGE_MATTERS .1
#define EDGE_OF_HALF .5

/* Ratio of a normal deviation to its median size. */
#define MEDIAN_DEVIATION 1.4826

static double ratio_of(const struct rps_set_tally *set, int slot)
{
    return set->counted_ns[slot] > 0 ? (double)set->count[slot] / (double)set->counted_ns[slot] : 0;
}

/* Return the factor of the sum of squared differences in V. */
static double factor_of(const struct rps_tally *tally, const struct rps_set_tally *set, int slot)
{
    double scale = (double)tally->enabled_ns / (double)set->counted_ns[slot];
    double m = (double)set->moments.slot[slot].readings;
    double steps = (double)set->moments.slot[slot].steps;

    return steps > 0 ? scale * scale * fmax(0, 1 - 1 / scale) * m / (2 * steps) : 0;
}

/* --- omitted parts ---------------------------------------------------------------------------- */

/* Return a reading's rate. A reading of a short time, as the last period may be, counts as if it
 * had the mean length. */
static double rate_of(const struct rps_set_tally *set, int slot, double c, double r)
{
    return c / fmax(r, (double)set->counted_ns[slot] / (double)set->moments.slot[slot].readings);
}

/*
 * Return by how much the estimate is too low because the event drifts at the ends of the range. In
 * a fixed order a reading represents half of the gaps before and after it. The first reading also
 * represents all time before it, and the last one all time after it. In a drawn order only an
 * incomplete rotation matters. A block at an end consists of whole rotations, and its mean
 * represents its outermost reading.
 */
static double end_effect(const struct rps_tally *tally, const struct rps_set_tally *set, int slot)
{
    const struct rps_slot_moments *m = &set->moments.slot[slot];
    double enabled = (double)tally->enabled_ns, readings = (double)m->readings;
    double half = (enabled - (double)set->counted_ns[slot]) / (2 * readings);
    double ratio = ratio_of(set, slot), merged = (double)m->last_merged;
    double first = rate_of(set, slot, m->first_c - ratio * m->first_r, m->first_r);
    double last = rate_of(set, slot, m->last_c - ratio * m->last_r, m->last_r);

    if (tally->has_blocks)
        return 0;
    if (tally->is_drawn)
        return last * ((enabled - m->turn_ns) / merged - enabled / readings);
    return first * (m->before_ns - half) + last * ((enabled - m->until_ns) / merged - half);
}

/* The first or the last reading of a slot, the reading next to it, and the uncounted time beyond
 * it. */
struct edge {
    double c, r, next_c, next_r, gap_ns;
};

enum side { SIDE_START, SIDE_END, SIDES };

static struct edge edge_of(const struct rps_tally *tally, int set, int slot, enum side side)
{
    const struct rps_slot_moments *m = &tally->set[set].moments.slot[slot];

    if (side == SIDE_START)
        return (struct edge){m->first_c, m->first_r, m->second_c, m->second_r, m->before_ns};
    return (struct edge){m->last_c, m->last_r, m->prior_c, m->prior_r,
                         (double)tally->enabled_ns - m->until_ns};
}

/* Return the share by which the slot's outermost rate is above, or below, both the next rate and
 * the mean of the rest. 0: the difference is small, or may be chance. */
static double change_of(const struct rps_tally *tally, int set, int slot, enum side side)
{
    const struct rps_set_tally *s = &tally->set[set];
    const struct rps_slot_moments *m = &s->moments.slot[slot];
    struct edge edge = edge_of(tally, set, slot, side);
    double ratio[RPS_SLOT_MAX] = {0}, step, others, one, now, next, usual, ret;

    if (m->readings < EDGE_READINGS || s->count[slot] == 0 || edge.r <= 0 ||
        (double)s->counted_ns[slot] <= edge.r || (side == SIDE_END && m->last_merged > 1))
        return 0;
    ratio[slot] = ratio_of(s, slot);
    step = edge.c - edge.next_c - ratio[slot] * (edge.r - edge.next_r);
    others = fmax(0, rps_moments_squares(&s->moments, slot, slot, ratio) - step * step);
    one = rate_of(s, slot, 1, 0); /* one event per reading */
    now = edge.c / edge.r;
    next = edge.next_c / fmax(edge.next_r, edge.r);
    usual = ((double)s->count[slot] - edge.c) / ((double)s->counted_ns[slot] - edge.r);
    step = (now - next) * edge.r;
    others *= fmax(1, edge.r * one); /* a longer reading varies by more than the others */
    if (step * step * (double)(m->readings - 2) <= EDGE_SIGNIFICANT * others)
        return 0;
    ret = fmax(now / fmax(fmax(next, usual), one) - 1, 1 - now / fmin(next, usual));
    return ret > EDGE_UNLIKE ? ret : 0;
}

/* Return the largest change to expect of the slot, by change_of of the other sets that were counted
 * nearer to that end than this one. 0: none of them changed. */
static double change_unseen(const struct rps_tally *tally, int set, int slot, enum side side)
{
    double gap_ns = edge_of(tally, set, slot, side).gap_ns, largest = 0;
    int changed = 0;

    for (int n = 0; n < tally->set_count && !tally->has_blocks; n++) {
        for (int s = 0; s < tally->set[n].moments.slots && n != set; s++) {
            double change = 0;

            if (edge_of(tally, n, s, side).gap_ns < gap_ns)
                change = change_of(tally, n, s, side);
            changed += change > 0;
            largest = fmax(largest, change);
        }
    }
    return changed > 0 ? largest * (1 + (double)EDGE_SPREAD / changed) : 0;
}

/* An estimate omits these parts: a drift; and the least and the most that may lie before the first
 * and after the last reading. */
struct left_out {
    double drift, less[SIDES], more[SIDES];
};

/* If other events changed by some share of their mean rates, this event may have changed by the
 * same share, up or down. In a formula, drifts add up, but each event's change may be 0. */
static void add_left_out(struct left_out *sum, const struct rps_tally *tally, int set, int slot,
                         double derivative)
{
    double rate = ratio_of(&tally->set[set], slot);

    sum->drift += derivative * end_effect(tally, &tally->set[set], slot);
    for (enum side side = SIDE_START; side < SIDES; side++) {
        double change = change_unseen(tally, set, slot, side);
        double usual = edge_of(tally, set, slot, side).gap_ns * rate;
        double up = rate > 0 ? change * usual : change > 0 ? INFINITY : 0;
        double down = -fmin(change, 1) * usual;

        /* INFINITY times 0 is NaN; fmin and fmax prefer 0 */
        sum->less[side] += fmin(0, fmin(derivative * up, derivative * down));
        sum->more[side] += fmax(0, fmax(derivative * up, derivative * down));
    }
}

/* Lengthen the interval by the omitted parts; its low end is at least `least`. */
static void lengthen(struct rps_interval *interval, const struct left_out *left_out, double least)
{
    double half = fmax(interval->high - interval->value, interval->value - interval->low);
    double start = fmax(-left_out->less[SIDE_START], left_out->more[SIDE_START]);
    double end = fmax(-left_out->less[SIDE_END], left_out->more[SIDE_END]);

    if (start + end > fmax(EDGE_OF_HALF * half, EDGE_MATTERS * fabs(interval->value)))
        interval->certainty = end > start ? RPS_CERTAINTY_END : RPS_CERTAINTY_START;
    interval->low +=
        fmin(0, left_out->drift) + left_out->less[SIDE_START] + left_out->less[SIDE_END];
    interval->low = fmax(interval->low, least);
    interval->high +=
        fmax(0, left_out->drift) + left_out->more[SIDE_START] + left_out->more[SIDE_END];
    if (isinf(interval->low))
        interval->low = NAN;
    if (isinf(interval->high))
        interval->high = NAN;
}

/* --- events ----------------------------------------------------------------------------------- */

static enum rps_certainty certainty_of(const struct rps_tally *tally, int set, int slot,
                                       double share)
{
    const struct rps_set_tally *s = &tally->set[set];
    const struct rps_slot_moments *moments = &s->moments.slot[slot];
    double count = (double)s->count[slot];

    if (tally->enabled_ns == 0 || share > COUNTED_SHARE)
        return RPS_CERTAINTY_COUNTED;
    if (rps_tally_is_incomplete(tally))
        return RPS_CERTAINTY_INCOMPLETE;
    if (rps_tally_hardly(tally, set))
        return RPS_CERTAINTY_HARDLY;
    if (s->count[slot] == 0)
        return change_unseen(tally, set, slot, SIDE_START) > 0 ? RPS_CERTAINTY_START
               : change_unseen(tally, set, slot, SIDE_END) > 0 ? RPS_CERTAINTY_END
                                                               : RPS_CERTAINTY_UNSEEN;
    if (moments->readings < READINGS_LEAST || moments->steps < DIFFERENCES_LEAST)
        return RPS_CERTAINTY_ONCE;
    /* if half of the readings have the event, it does not come in bursts */
    if (count * count < BURSTS_LEAST * moments->squares)
        return 2 * count * count < (double)moments->readings * moments->squares
                   ? RPS_CERTAINTY_BURSTS
                   : RPS_CERTAINTY_ONCE;
    return RPS_CERTAINTY_INTERVAL;
}

/* Return the estimate and its certainty, without the ends of the interval. */
static struct rps_interval look_at(const struct rps_tally *tally, int set, int slot)
{
    struct rps_interval ret = {RPS_CERTAINTY_NONE, rps_tally_estimate(tally, set, slot), NAN, NAN,
                               NAN};

    if (isnan(ret.value))
        return ret;
    ret.share = tally->enabled_ns > 0
                    ? fmin(1, (double)tally->set[set].counted_ns[slot] / (double)tally->enabled_ns)
                    : 1;
    ret.certainty = certainty_of(tally, set, slot, ret.share);
    if (tally->scaled) {
        double scaled = tally->scaled[set * RPS_SLOT_MAX + slot];

        ret.share *= scaled;
        if (scaled <= COUNTED_SHARE && ret.certainty <= RPS_CERTAINTY_INTERVAL)
            ret.certainty = RPS_CERTAINTY_SCALED; /* an interval would ignore the scaling */
    }
    return ret;
}

struct rps_interval rps_tally_interval(const struct rps_tally *tally, int set, int slot)
{
    struct rps_interval ret = look_at(tally, set, slot);
    double ratio[RPS_SLOT_MAX] = {0}, variance, spread;
    struct left_out left_out = {0};
    const struct rps_set_tally *s;

    if (rps_interval_has_ends(&ret)) /* START or END: no event was seen; INTERVAL: not final */
        ret.low = 0;
    if (ret.certainty != RPS_CERTAINTY_INTERVAL)
        return ret;
    s = &tally->set[set];
    ratio[slot] = ratio_of(s, slot);
    variance =
        fmax(0, factor_of(tally, s, slot) * rps_moments_squares(&s->moments, slot, slot, ratio));
    spread = rps_student_95(rps_moments_freedom(&s->moments, slot, ratio[slot])) * sqrt(variance) /
             ret.value;
    ret.low = ret.value * exp(-spread);
    ret.high = ret.value * exp(spread);
    add_left_out(&left_out, tally, set, slot, 1);
    lengthen(&ret, &left_out, (double)s->count[slot]);
    return ret;
}

/* --- formulas --------------------------------------------------------------------------------- */

struct formula_sum {
    const struct rps_tally *tally;
    const struct rps_formula *formula;
    double *operand;
    struct rps_interval interval;
    int differs;              /* 1: a difference is taken, the value may be about 0 */
    double variance;          /* of the formula */
    double deviation;         /* sum over sets of its root */
    double variance2_freedom; /* sum over sets of variance^2 / freedom */
    struct left_out left_out; /* of the formula */
};

/* Return a mask; bit s: the formula uses slot s of the set. */
static uint32_t slots_of(const struct rps_formula *formula, int set)
{
    int first = RPS_OPERAND_EVENTS + set * RPS_SLOT_MAX;
    uint32_t ret = 0;

    for (int i = 0; i < formula->step_count; i++) {
        int slot = formula->step[i].operand - first;

        if (formula->step[i].op == RPS_FORMULA_OPERAND && slot >= 0 && slot < RPS_SLOT_MAX)
            ret |= UINT32_C(1) << slot;
    }
    return ret;
}

/* Limit the certainty by an event's. One that was never seen counts only if the value is 0. */
static void add_certainty(struct formula_sum *sum, const struct rps_interval *one)
{
    struct rps_interval *whole = &sum->interval;

    whole->share = fmin(whole->share, one->share);
    if (one->certainty > whole->certainty &&
        (one->certainty != RPS_CERTAINTY_UNSEEN || whole->value == 0))
        whole->certainty = one->certainty;
}

/* Derive the formula's certainty from the certainty of its events. */
static void look(struct formula_sum *sum)
{
    for (int set = 0; set < sum->tally->set_count; set++) {
        uint32_t slots = slots_of(sum->formula, set);

        for (int slot = 0; slots; slot++, slots >>= 1) {
            struct rps_interval one;

            if (!(slots & 1))
                continue;
            one = look_at(sum->tally, set, slot);
            add_certainty(sum, &one);
        }
    }
}

/* Add the variance that the events of one set cause. */
static void add_variance(struct formula_sum *sum, int set)
{
    const struct rps_set_tally *s = &sum->tally->set[set];
    double weight[RPS_SLOT_MAX] = {0}, ratio[RPS_SLOT_MAX] = {0};
    double squares = 0, freedom = INFINITY, factor = 0;
    uint32_t slots = slots_of(sum->formula, set);

    for (int slot = 0; slots >> slot; slot++) {
        int operand = RPS_OPERAND_EVENTS + set * RPS_SLOT_MAX + slot;
        struct rps_interval one;
        double derivative;

        if (!(slots >> slot & 1))
            continue;
        one = look_at(sum->tally, set, slot);
        if (!rps_interval_has_ends(&one))
            continue;
        derivative = rps_formula_derivative(sum->formula, sum->operand, operand);
        add_left_out(&sum->left_out, sum->tally, set, slot, derivative);
        if (one.certainty != RPS_CERTAINTY_INTERVAL)
            continue; /* no event was seen: no variance */
        weight[slot] = derivative;
        ratio[slot] = ratio_of(s, slot);
        factor = factor_of(sum->tally, s, slot);
        freedom = fmin(freedom, rps_moments_freedom(&s->moments, slot, ratio[slot]));
    }
    if (isinf(freedom))
        return;
    for (int j = 0; j < RPS_SLOT_MAX; j++) {
        for (int k = 0; k < RPS_SLOT_MAX; k++)
            squares += weight[j] * weight[k] * rps_moments_squares(&s->moments, j, k, ratio);
    }
    squares = fmax(0, factor * squares);
    sum->variance += squares;
    sum->deviation += sqrt(squares);
    sum->variance2_freedom += squares * squares / freedom;
}

/*
 * Each set of a run misses the periods of the others. So the errors of two of n sets may have a
 * correlation of -1 / (n - 1), which affects a quotient in full. Intervals of quotients over two
 * sets hold in 97 cases of 100 this way, and in 89 if errors count as independent
 * (tests/bench/intervals).
 */
static double variance_of(const struct formula_sum *sum)
{
    double together = sum->deviation * sum->deviation - sum->variance;

    return sum->tally->set_count > 1
               ? sum->variance + together / (double)(sum->tally->set_count - 1)
               : sum->variance;
}

static void set_ends(struct formula_sum *sum)
{
    struct rps_interval *interval = &sum->interval;
    double freedom = sum->variance * sum->variance / sum->variance2_freedom;
    double spread = rps_student_95(freedom >= 1 ? freedom : 1) * sqrt(variance_of(sum));

    if (sum->differs || !(interval->value > 0)) {
        interval->low = interval->value - spread;
        interval->high = interval->value + spread;
    } else {
        interval->low = interval->value * exp(-spread / interval->value);
        interval->high = interval->value * exp(spread / interval->value);
    }
    lengthen(interval, &sum->left_out, sum->differs ? -INFINITY : 0);
}

/* Return the value and its certainty, without the ends of the interval. */
static struct formula_sum begin_formula(const struct rps_tally *tally,
                                        const struct rps_formula *formula, double *operand)
{
    struct formula_sum sum = {.tally = tally,
                              .formula = formula,
                              .operand = operand,
                              .interval = {RPS_CERTAINTY_NONE, NAN, NAN, NAN, 1}};
    double value = rps_formula_value(formula, operand);

    if (!isfinite(value))
        return sum;
    sum.interval.value = value;
    sum.interval.certainty = RPS_CERTAINTY_COUNTED;
    look(&sum);
    return sum;
}

struct rps_interval rps_tally_formula_interval(const struct rps_tally *tally,
                                               const struct rps_formula *formula, double *operand)
{
    struct formula_sum sum = begin_formula(tally, formula, operand);

    if (!rps_interval_has_ends(&sum.interval))
        return sum.interval;
    for (int i = 0; i < formula->step_count; i++)
        sum.differs = sum.differs || formula->step[i].op == RPS_FORMULA_SUBTRACT;
    for (int set = 0; set < tally->set_count; set++)
        add_variance(&sum, set);
    set_ends(&sum);
    return sum.interval;
}

/* --- short ranges ----------------------------------------------------------------------------- */

static uint64_t readings_of(const struct rps_tally *tally)
{
    uint64_t least = UINT64_MAX;

    for (int set = 0; set < tally->set_count; set++) {
        uint64_t most = 0;

        for (int slot = 0; slot < RPS_SLOT_MAX; slot++) {
            uint64_t readings = tally->set[set].moments.slot[slot].readings;

            most = readings > most ? readings : most;
        }
        least = most < least ? most : least;
    }
    return least;
}

double rps_tally_usual_step(const double *value, size_t count)
{
    double step[RPS_TALLY_NEIGHBOURS];
    size_t steps = 0;

    for (size_t i = 1; i < count && steps < RPS_TALLY_NEIGHBOURS; i++) {
        if (value[i] > 0 && value[i - 1] > 0)
            step[steps++] = fabs(log(value[i] / value[i - 1]));
    }
    return steps < STEPS_LEAST ? NAN : rps_select_median(step, steps);
}

struct rps_interval rps_tally_short_interval(const struct rps_tally *tally,
                                             const struct rps_formula *formula, double *operand,
                                             double usual_step)
{
    struct rps_interval ret;
    double spread;

    if (readings_of(tally) >= READINGS_ENOUGH)
        return rps_tally_formula_interval(tally, formula, operand);
    ret = begin_formula(tally, formula, operand).interval;
    if ((ret.certainty != RPS_CERTAINTY_INTERVAL && ret.certainty != RPS_CERTAINTY_BURSTS &&
         ret.certainty != RPS_CERTAINTY_ONCE))
        return ret;
    spread = 1.96 * MEDIAN_DEVIATION * usual_step * sqrt(fmax(0, 1 - ret.share) / 2);
    if (isnan(spread) || !(ret.value > 0)) {
        ret.certainty = RPS_CERTAINTY_ONCE;
        ret.low = ret.high = NAN;
        return ret;
    }
    ret.certainty = RPS_CERTAINTY_INTERVAL;
    ret.low = ret.value * exp(-spread);
    ret.high = ret.value * exp(spread);
    return ret;
}

/* --- a whole run ------------------------------------------------------------------------------ */

struct rps_interval rps_tally_clock_interval(const struct rps_tally *tally)
{
    struct rps_interval ret = {RPS_CERTAINTY_COUNTED, rps_tally_clock(tally), NAN, NAN, 1};

    if (rps_tally_clock_is_scaled(tally)) {
        ret.certainty = tally->clock_running_ns == 0     ? RPS_CERTAINTY_HARDLY
                        : rps_tally_is_incomplete(tally) ? RPS_CERTAINTY_INCOMPLETE
                                                         : RPS_CERTAINTY_SCALED;
        ret.share = (double)tally->clock_running_ns / (double)tally->enabled_ns;
    }
    return ret;
}

void rps_tally_conclude(const struct rps_tally *tally, struct rps_plan *plan, double *operand)
{
    plan->clock.whole = rps_tally_clock_interval(tally);
    for (int n = 0; n < plan->set_count; n++) {
        for (int s = 0; s < plan->set[n].event_count; s++)
            plan->set[n].event[s].whole = rps_tally_interval(tally, n, s);
    }
    rps_tally_operands(tally, plan, operand);
    for (int m = 0; m < plan->metric_count; m++)
        plan->metric[m].whole =
            rps_tally_formula_interval(tally, &plan->metric[m].formula, operand);
}
