/* Compute the confidence intervals of a tally's estimates. An event has m readings with counts c
 * and running times r. E is the range's enabled time, R = sum c / sum r, d = c - R r, and f = sum r
 * / E. Then an estimate T has the variance
 *
 *     V = (E / sum r)^2 (1 - f) m / (2 k) sum (d_i - d_(i-1))^2
 *
 * with k known differences. (k is m - 1, or less if readings are blocks.) The interval of T is T
 * exp(+- t sqrt(V) / T), but not below the raw count. The interval is made longer for two effects
 * that the estimate omits. The first effect is a drift (end_effect). The second effect is a large
 * change of other events before this event's first reading or after its last reading
 * (change_unseen).
 *
 * Alternatives were rejected after measurements. With plain standard errors and 1.96, 89 to 92 of
 * 100 intervals contain the true value (with this rule, 93 to 95 contain it). Three other rules
 * were rejected: move the estimate by the omitted part, widen both sides by this part, or add its
 * square to the variance. Limits from the uncounted time at the ends, or from the event's highest
 * rate, give +- 5 % instead of +- 0.5 % in a constant run of 60 periods. With limits from the sum
 * over other sets, 84 of 100 intervals contain the true value. Ratios of readings were rejected
 * too; differences are used. */
#include "rpistat/tally.h"

#include <math.h>

#include "detect_math.h"
#include "rpistat/formula.h"
#include "rpistat/plan.h"

/* If an event is counted for more than this share of the time, it is treated as always counted. */
#define COUNTED_SHARE .98

/* Maximum share of a set's time in lost periods, because V assumes equal distances. If others have
 * the counters for .8 s at a time, in a tenth of the time, 69 of 100 intervals hold. */
#define LOST_MAX .02

/* An event comes in rare bursts below this equivalent number of periods: (sum c)^2 / sum c^2. */
#define BURSTS_MIN 4

/* Minimum number of readings, and also of differences between readings. With fewer, the variation
 * of readings is unknown. */
#define READINGS_MIN    3
#define DIFFERENCES_MIN 2

/* If a range has at least this many readings, its interval needs no neighbouring ranges. */
#define READINGS_ENOUGH 16

/* Minimum number of steps between neighbouring readings with which a step is compared. */
#define STEPS_MIN 5

/* A step from the outermost reading to the next is significant if its square is at least this many
 * times the mean square of the other steps. In addition, the outermost reading must differ by a
 * share of EDGE_UNLIKE. */
#define EDGE_SIGNIFICANT 10
#define EDGE_UNLIKE      .5

/* Minimum number of readings from which the usual rate is known. */
#define EDGE_READINGS 5

/* If n other events changed, this event may have changed more than each of the n events. So the
 * largest change of the n events is multiplied by 1 + EDGE_SPREAD / n. In long runs, 94 of 100
 * intervals contain the true value with this factor, and 85 without it. */
#define EDGE_SPREAD 8

/* The certainty is START or END if the uncounted time at an end may add more than both limits.
 * EDGE_MATTERS is a share of the value, EDGE_OF_HALF a share of the half interval. If the possible
 * addition is smaller, it only widens the interval. */
#define EDGE_MATTERS .1
#define EDGE_OF_HALF .5

/* Ratio of a normal deviation to the median absolute value. */
#define MEDIAN_DEVIATION 1.4826

static double ratio_of(const struct rps_set_tally *set, int slot)
{
    return set->counted_ns[slot] > 0 ? (double)set->count[slot] / (double)set->counted_ns[slot] : 0;
}

/* Return the factor before the sum of squared differences in the variance V. */
static double factor_of(const struct rps_tally *tally, const struct rps_set_tally *set, int slot)
{
    double scale = (double)tally->enabled_ns / (double)set->counted_ns[slot];
    double m = (double)set->moments.slot[slot].readings;
    double steps = (double)set->moments.slot[slot].steps;

    return steps > 0 ? scale * scale * fmax(0, 1 - 1 / scale) * m / (2 * steps) : 0;
}

/* --- omitted parts ---------------------------------------------------------------------------- */

/* Return the rate of a reading. The running time of a short reading, such as the last period, is
 * replaced by the mean running time. */
static double rate_of(const struct rps_set_tally *set, int slot, double c, double r)
{
    return c / fmax(r, (double)set->counted_ns[slot] / (double)set->moments.slot[slot].readings);
}

/* Return by how much the estimate is too low because the event drifts at the ends of the range. If
 * the order of sets is fixed, each reading represents half of the gap before it and half of the gap
 * after it. The first reading also represents all time before it, and the last reading all time
 * after it. If the order of sets is random, only an incomplete rotation has such an effect. A block
 * at an end consists of whole rotations. The mean of the block is used instead of the block's
 * outermost reading. */
static double end_effect(const struct rps_tally *tally, const struct rps_set_tally *set, int slot)
{
    const struct rps_slot_moments *m = &set->moments.slot[slot];
    double enabled = (double)tally->enabled_ns, readings = (double)m->readings;
    double half = (enabled - (double)set->counted_ns[slot]) / (2 * readings);
    double ratio = ratio_of(set, slot), merged = (double)m->last_merged;
    double first = rate_of(set, slot, m->first[0].c - ratio * m->first[0].r, m->first[0].r);
    double last = rate_of(set, slot, m->last[0].c - ratio * m->last[0].r, m->last[0].r);

    if (tally->has_blocks)
        return 0;
    if (tally->is_drawn)
        return last * ((enabled - m->rotation_ns) / merged - enabled / readings);
    return first * (m->before_ns - half) + last * ((enabled - m->until_ns) / merged - half);
}

enum side { SIDE_START, SIDE_END, SIDES };

/* Return the uncounted time between one end of the range and the nearest reading of the slot. */
static double gap_of(const struct rps_tally *tally, int set, int slot, enum side side)
{
    const struct rps_slot_moments *m = &tally->set[set].moments.slot[slot];

    return side == SIDE_START ? m->before_ns : (double)tally->enabled_ns - m->until_ns;
}

/* Return 1 if the step between two neighbouring readings is greater than chance explains. */
static int is_step(const struct rps_set_tally *set, int slot, struct rps_slot_reading edge,
                   struct rps_slot_reading next)
{
    const struct rps_slot_moments *m = &set->moments.slot[slot];
    double ratio[RPS_SLOT_MAX] = {0}, step, others;

    ratio[slot] = ratio_of(set, slot);
    step = edge.c - next.c - ratio[slot] * (edge.r - next.r);
    others = fmax(0, rps_moments_squares(&set->moments, slot, slot, ratio) - step * step);
    others *= fmax(1, edge.r * rate_of(set, slot, 1, 0)); /* a longer reading varies more */
    step = edge.c - next.c / fmax(next.r, edge.r) * edge.r;
    return step * step * (double)(m->readings - 2) > EDGE_SIGNIFICANT * others;
}

/* Return by which share the outermost rate is above, or below, both the next rate and the mean of
 * all other rates. Return 0 if the difference is small or may be chance. At the end of the range,
 * also compare the last two rates with the third last rate. The slot may have been counted twice
 * after the change. */
static double change_of(const struct rps_tally *tally, int set, int slot, enum side side)
{
    const struct rps_set_tally *s = &tally->set[set];
    const struct rps_slot_moments *m = &s->moments.slot[slot];
    const struct rps_slot_reading *edge = side == SIDE_START ? m->first : m->last;
    double one = rate_of(s, slot, 1, 0); /* the rate if each reading had counted one event */
    double count = (double)s->count[slot], counted = (double)s->counted_ns[slot];
    double least = INFINITY, most = 0, ret = 0;
    int steps = (side == SIDE_START ? RPS_MOMENTS_FIRST : RPS_MOMENTS_LAST) - 1;

    if (m->readings < EDGE_READINGS || count == 0 || (side == SIDE_END && m->last_merged > 1))
        return 0;
    for (int i = 0; i < steps && edge[i].r > 0 && counted > edge[i].r; i++) {
        double next = edge[i + 1].c / fmax(edge[i + 1].r, edge[i].r), usual, up, down;

        count -= edge[i].c;
        counted -= edge[i].r;
        usual = count / counted;
        least = fmin(least, edge[i].c / edge[i].r);
        most = fmax(most, edge[i].c / edge[i].r);
        up = least / fmax(fmax(next, usual), one) - 1;
        down = 1 - most / fmin(next, usual);
        if (edge[i + 1].r > 0 && fmax(up, down) > EDGE_UNLIKE &&
            is_step(s, slot, edge[i], edge[i + 1]))
            ret = fmax(ret, fmax(up, down));
    }
    return ret;
}

/* Return the largest change that the slot's event may have had before or after its readings. It is
 * derived from the largest change_of among the sets that were counted nearer to this end of the
 * range. Return 0 if no other set changed. */
static double change_unseen(const struct rps_tally *tally, int set, int slot, enum side side)
{
    double gap_ns = gap_of(tally, set, slot, side), largest = 0;
    int changed = 0;

    for (int n = 0; n < tally->set_count && !tally->has_blocks; n++) {
        for (int s = 0; s < tally->set[n].moments.slots && n != set; s++) {
            double change = 0;

            if (gap_of(tally, n, s, side) < gap_ns)
                change = change_of(tally, n, s, side);
            changed += change > 0;
            largest = fmax(largest, change);
        }
    }
    return changed > 0 ? largest * (1 + (double)EDGE_SPREAD / changed) : 0;
}

/* What an estimate omits: a drift, and the minimum and maximum that may have been uncounted before
 * the first and after the last reading. */
struct left_out {
    double drift, less[SIDES], more[SIDES];
};

/* Add the omitted parts of a slot. If other events changed by a share of their mean rates, the
 * slot's event may have increased or decreased by the same share. In a formula, the drifts of
 * events are added, but the change of each event may also be 0. */
static void add_left_out(struct left_out *sum, const struct rps_tally *tally, int set, int slot,
                         double derivative)
{
    double rate = ratio_of(&tally->set[set], slot);

    sum->drift += derivative * end_effect(tally, &tally->set[set], slot);
    for (enum side side = SIDE_START; side < SIDES; side++) {
        double change = change_unseen(tally, set, slot, side);
        double usual = gap_of(tally, set, slot, side) * rate;
        double up = rate > 0 ? change * usual : change > 0 ? INFINITY : 0;
        double down = -fmin(change, 1) * usual;

        /* INFINITY * 0 is NaN, which fmin and fmax ignore. */
        sum->less[side] += fmin(0, fmin(derivative * up, derivative * down));
        sum->more[side] += fmax(0, fmax(derivative * up, derivative * down));
    }
}

/* Lengthen the interval by the omitted parts. The low end of the interval is at least `least`. */
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
    if (moments->readings < READINGS_MIN || moments->steps < DIFFERENCES_MIN ||
        (double)s->lost_ns > LOST_MAX * (double)s->enabled_ns)
        return RPS_CERTAINTY_ONCE;
    /* count^2 / squares is the equivalent number of readings. If it is at least half of the
     * readings, the event does not come in bursts. */
    if (count * count < BURSTS_MIN * moments->squares)
        return 2 * count * count < (double)moments->readings * moments->squares
                   ? RPS_CERTAINTY_BURSTS
                   : RPS_CERTAINTY_ONCE;
    return RPS_CERTAINTY_INTERVAL;
}

/* Return the estimate and its certainty. The ends of the interval are not set yet. */
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
            ret.certainty = RPS_CERTAINTY_SCALED; /* intervals ignore the recorder's scaling */
    }
    return ret;
}

struct rps_interval rps_tally_interval(const struct rps_tally *tally, int set, int slot)
{
    struct rps_interval ret = look_at(tally, set, slot);
    double ratio[RPS_SLOT_MAX] = {0}, variance, spread;
    struct left_out left_out = {0};
    const struct rps_set_tally *s;

    if (rps_interval_has_ends(&ret)) /* for START and END no event was seen; for INTERVAL this
                                        end is set again later */
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
    int differs;              /* 1: the formula subtracts, so that its value may be close to 0 */
    double variance;          /* variance of the formula */
    double deviation;         /* sum of the standard deviations that the sets cause */
    double variance2_freedom; /* sum of variance^2 / degrees of freedom over all sets */
    struct left_out left_out; /* parts that the formula omits */
};

/* Return a mask. Bit s is 1 if the formula uses slot s of the set. */
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

/* Limit the certainty of the formula by the certainty of an event. If an event was never seen, it
 * limits the certainty only if the value of the formula is 0. */
static void add_certainty(struct formula_sum *sum, const struct rps_interval *one)
{
    struct rps_interval *whole = &sum->interval;

    whole->share = fmin(whole->share, one->share);
    if (one->certainty > whole->certainty &&
        (one->certainty != RPS_CERTAINTY_UNSEEN || whole->value == 0))
        whole->certainty = one->certainty;
}

/* Derive the formula's certainty from the certainties of its events. */
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
            continue; /* no event of this set was seen, so the set's variance is 0 */
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

/* Return the variance of the formula. Each set of a run is not counted in the periods of the other
 * sets. So the errors of two of n sets may have a correlation of -1 / (n - 1). In a quotient, this
 * correlation increases the error. With this correlation, intervals of quotients over two sets
 * contain the true value in 97 of 100 cases. If the errors are assumed to be independent, the
 * intervals contain it in 89 of 100 cases (tests/bench/intervals). */
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

/* Begin a formula: compute its value and certainty. The ends of the interval are not set yet. */
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
    return steps < STEPS_MIN ? NAN : rps_select_median(step, steps);
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
    if (!(spread > 0) || !(ret.value > 0)) {
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

/* Student's t. The share beyond |t| is the regularised incomplete beta function I_x(v / 2, 1 / 2)
 * at x = v / (v + t^2) (Abramowitz and Stegun 1964, 26.7.1). Its continued fraction is formula
 * 26.5.8. */

/* Minimum degrees of freedom for the normal distribution. */
#define FREEDOM_NORMAL 1e7

/* Maximum number of steps of the continued fraction. With fewer degrees of freedom than
 * FREEDOM_NORMAL, fewer steps are needed. */
#define STEPS_MAX 10000

/* Return the numerator in step k of the continued fraction of I_x(a, b) (26.5.8). */
static double numerator(double a, double b, double x, int k)
{
    double m = k / 2;

    return k % 2 ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                 : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
}

/* Return I_x(a, b) for x < (a + 1) / (a + b + 2), where the fraction converges fast. Lentz's
 * method, as modified by Thompson and Barnett (1986), never divides by 0. */
static double beta_below(double a, double b, double x, double y)
{
    double front = exp(a * log(x) + b * log(y) + lgamma(a + b) - lgamma(a) - lgamma(b)) / a;
    double ret = 1, c = 1, d = 0, change = 0;

    for (int k = 1; k < STEPS_MAX && fabs(change - 1) > 1e-15; k++) {
        double n = numerator(a, b, x, k);

        d = 1 + n * d;
        c = 1 + n / c;
        d = 1 / (d != 0 ? d : 1e-300);
        c = c != 0 ? c : 1e-300;
        change = c * d;
        ret *= change;
    }
    return front / ret;
}

double rps_student_p(double t, double freedom)
{
    double a = freedom / 2, x, y;

    t = fabs(t);
    if (isnan(t) || isnan(freedom))
        return NAN;
    if (freedom >= FREEDOM_NORMAL)
        return erfc(t / sqrt(2));
    y = t / sqrt(freedom);
    x = 1 / (1 + y * y);
    if (!(x > 0) || !(y > 0))
        return y > 0 ? 0 : 1;
    y = y * y * x; /* 1 - x, without loss of digits for a small t */
    return x < (a + 1) / (a + 2.5) ? beta_below(a, .5, x, y) : 1 - beta_below(.5, a, y, x);
}

double rps_normal_above(double probability)
{
    double z = 0, step = 1;

    for (int k = 0; k < 50 && fabs(step) > 1e-12; k++) {
        step = (erfc(z / M_SQRT2) / 2 - probability) * sqrt(2 * M_PI) * exp(z * z / 2);
        z += step;
    }
    return z;
}

/* Use Newton's method on logarithms, because the logarithm of the share is concave. The start value
 * t, of the normal distribution, is below the solution. The first step overshoots, and the
 * following steps come down to the solution. */
static double find_limit(double t, double probability, double freedom)
{
    double scale = lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - log(freedom * M_PI) / 2;

    if (!(freedom < FREEDOM_NORMAL))
        return t;
    for (int k = 0; k < 20; k++) {
        double p = rps_student_p(t, freedom);
        double density = exp(scale - (freedom + 1) / 2 * log1p(t * t / freedom));
        double step = p * log(p / probability) / (2 * t * density);

        t *= exp(step);
        if (fabs(step) < 1e-12)
            break;
    }
    return t;
}

double rps_student_95(double freedom)
{
    return find_limit(1.959963984540054, .05, freedom);
}

double rps_student_limit(double p, double freedom)
{
    return find_limit(rps_normal_above(p / 2), p, freedom);
}
