/* Compute the values of sources, in one range and over all ranges. */
#include "sources.h"

#include <math.h>

#include "detect_math.h"
#include "rpistat/clock.h"
#include "rpistat/formula.h"
#include "rpistat/plan.h"

/* Assumed standard deviations, as shares of the mean: of a large count; the minimum of a large
 * ratio; the maximum of a drifting ratio. */
#define COUNT_VARIATION     0.05
#define RATIO_VARIATION     0.03
#define RATIO_VARIATION_MAX 0.15

/* A ratio is assumed to vary by WANDERS times its drift. The drift is measured between ranges of
 * WANDER_PERIODS periods, if there are WANDER_STRETCHES such ranges. Ranges also differ because of
 * noise between periods. So WANDER_NOISE times this noise is not treated as drift. */
#define WANDERS          3
#define WANDER_PERIODS   8
#define WANDER_STRETCHES 16
#define WANDER_NOISE     1.5

/* Lower quartile of |x| for a normal variable x of deviation 1. */
#define NORMAL_QUARTILE 0.3186

/* The confidence in a denominator with this relative standard deviation by chance is one half. */
#define VARIATION_THRESHOLD 0.15

/* Other programs make CPU use drift. The drift is assumed to be USE_WANDERS times the differences
 * between periods, but within USE_VARIATION ... USE_VARIATION_MAX. If the workload sleeps, CPU use
 * changes far more. */
#define USE_WANDERS       4
#define USE_VARIATION     0.1
#define USE_VARIATION_MAX 0.35

/* If a workload sleeps nearly all the time, a change of a rate by less than this share does not
 * matter to the user. The resolution is at least SLEEPING_MIN, because counts usually vary more. */
#define SLEEPING_VARIATION 0.1
#define SLEEPING_MIN       0.25

/* If CPU use is below this share of its maximum, the low use is caused by the workload itself. */
#define USE_LOW 0.1

/* If CPU use, in percent, is below this, the workload is treated as idle. */
#define USE_NONE 0.1

/* If the mean CPU use of a phase, in percent, is below this, the phase is idle. The mean is that of
 * transformed values, nearly the geometric mean. With 2 instead of .5, a phase with a short job
 * every 250 ms was partly idle. */
#define USE_IDLE .5

/* Maximum number of differences from which noise is estimated. */
#define DIFFERENCES_MAX 8192

/* Events that other programs cause are assumed to occur in groups of this many counts. */
#define OTHERS_LUMP 4

/* Minimum share of a range for which the workload must have run, so that the range has values. */
#define MIN_USE 0.01

/* A denominator of fewer than RARE_EVENTS events is rare. */
#define RARE_EVENTS 10

/* A value that is known exactly is treated as a value with this number of counts. */
#define COUNT_EXACT 1e12

/* --- values in one range ---------------------------------------------------------------------- */

/* The numbers of counts from which a value was computed. The value's relative variance by chance is
 * 1 / above + 1 / below. */
struct counts {
    double above, below; /* counts in numerator and denominator; INFINITY: known exactly */
};

/* Return the number of counts that has the same relative variance as a product of both values. */
static double together(double a, double b)
{
    return 1 / (1 / a + 1 / b);
}

static double raw_count(const struct rps_tally *tally, int operand)
{
    int set = rps_operand_set(operand);

    return set >= 0 && set < tally->set_count
               ? (double)tally->set[set].count[rps_operand_slot(operand)]
               : INFINITY;
}

/* Return the number of counts for the sum of two values. A term that is known exactly does not make
 * the sum more uncertain: 1 - a / b is as uncertain as a / b. */
static double add_counts(double a, double b)
{
    if (isinf(a) || isinf(b))
        return fmin(a, b);
    return a + b;
}

static struct counts counts_of(const struct rps_formula *formula, const struct rps_tally *tally)
{
    struct counts stack[RPS_FORMULA_DEPTH_MAX + 1] = {{INFINITY, INFINITY}}, *top = stack;

    for (int i = 0; i < formula->step_count; i++) {
        const struct rps_formula_step *step = &formula->step[i];
        struct counts right = *top;

        switch (step->op) {
        case RPS_FORMULA_NUMBER:
            *++top = (struct counts){INFINITY, INFINITY};
            break;
        case RPS_FORMULA_OPERAND:
            *++top = (struct counts){raw_count(tally, step->operand), INFINITY};
            break;
        case RPS_FORMULA_MULTIPLY:
            top--;
            *top = (struct counts){together(top->above, right.above),
                                   together(top->below, right.below)};
            break;
        case RPS_FORMULA_DIVIDE:
            top--;
            *top = (struct counts){together(top->above, right.below),
                                   together(top->below, right.above)};
            break;
        default:
            top--;
            *top =
                (struct counts){add_counts(top->above, right.above), fmin(top->below, right.below)};
        }
    }
    return *top;
}

/* Return the time for which the workload ran. If whole CPUs were recorded, return the time for
 * which they were not idle. */
static double ran_s(const struct rps_tally *tally)
{
    int64_t idle_ns = tally->idle_ns > 0 ? tally->idle_ns : 0;

    return ((double)tally->enabled_ns - (double)idle_ns) / RPS_NS_PER_S;
}

static double value_of(const struct rps_source *source, const struct rps_plan *plan,
                       const struct rps_tally *tally, double *operand)
{
    double seconds = operand[RPS_OPERAND_SECONDS], value;

    if (source->set >= 0)
        return tally->clock > 0
                   ? 1000 *
                         operand[RPS_OPERAND_EVENTS + source->set * RPS_SLOT_MAX + source->slot] /
                         operand[RPS_OPERAND_CLOCK]
                   : NAN;
    if (source->metric < 0)
        return tally->length_ns > 0 ? 100 * operand[RPS_OPERAND_CPU_SECONDS] / seconds : NAN;
    if (source->kind == RPS_SOURCE_RATE && !source->elapsed)
        operand[RPS_OPERAND_SECONDS] = ran_s(tally);
    value = rps_formula_value(&plan->metric[source->metric].formula, operand);
    operand[RPS_OPERAND_SECONDS] = seconds;
    return value;
}

/* Return 1 if the source can have a value in the range of the tally. */
static int carries(const struct rps_source *source, const struct rps_plan *plan,
                   const struct rps_tally *tally)
{
    if (!source->elapsed && !(ran_s(tally) >= MIN_USE * (double)tally->length_ns / RPS_NS_PER_S))
        return 0;
    return source->metric < 0 || rps_tally_carries(tally, &plan->metric[source->metric].formula);
}

struct rps_sight rps_source_look(struct rps_source *source, const struct rps_plan *plan,
                                 const struct rps_tally *tally, double *operand)
{
    struct rps_sight sight = {.value = NAN};
    struct counts counts = {INFINITY, INFINITY};

    if (!carries(source, plan, tally))
        return sight;
    sight.value = value_of(source, plan, tally, operand);
    sight.seen_s = source->elapsed ? (double)tally->length_ns / RPS_NS_PER_S : ran_s(tally);
    if (source->metric >= 0)
        counts = counts_of(&plan->metric[source->metric].formula, tally);
    else if (source->set >= 0)
        counts.above = (double)tally->set[source->set].count[source->slot];
    sight.sure = 1 / (1 + 1 / (counts.below * VARIATION_THRESHOLD * VARIATION_THRESHOLD));
    if (isfinite(sight.value) || counts.below == 0) {
        source->seen.looks++;
        source->seen.sure += sight.sure;
    }
    if (isfinite(sight.value)) {
        source->seen.value += fabs(sight.value);
        source->seen.least = fmin(source->seen.least, sight.value);
        source->seen.count += fmin(counts.above, COUNT_EXACT);
    }
    return sight;
}

/* --- all ranges ------------------------------------------------------------------------------- */

void rps_source_seen_add(struct rps_source_seen *all, const struct rps_source_seen *seen)
{
    all->looks += seen->looks;
    all->sure += seen->sure;
    all->value += seen->value;
    all->least = fmin(all->least, seen->least);
    all->count += seen->count;
    all->drift = fmax(all->drift, seen->drift);
}

int rps_source_is_rare(const struct rps_source *source)
{
    double rare = RARE_EVENTS * VARIATION_THRESHOLD * VARIATION_THRESHOLD;

    return source->seen.sure < (double)source->seen.looks * rare / (1 + rare);
}

/* Return the smallest possible change of the value: that of one count, or of OTHERS_LUMP counts. */
static double quantum(const struct rps_source *source)
{
    double one = source->seen.value / source->seen.count;

    one = isfinite(one) && one > 0 ? one : 1;
    return source->others ? OTHERS_LUMP * one : one;
}

/* Transform a count so that its noise is the same at all levels. A count of n has a variance of at
 * least n. For large n the variance is (v n)^2, because no program repeats its work exactly. The
 * result is the integral of 1 / deviation, so that its noise has the deviation 1. For a ratio,
 * `count` is the count in the numerator. */
static double of_count(double count, double variation)
{
    return 2 / variation * asinh(variation * sqrt(count));
}

double rps_source_reach(double mean, const struct rps_range *range, double seconds)
{
    double usual = of_count(mean * seconds, COUNT_VARIATION);

    return fmax(of_count(range->most * seconds, COUNT_VARIATION) - usual,
                usual - of_count(range->least * seconds, COUNT_VARIATION));
}

double rps_source_use_reach(double mean, const struct rps_range *range)
{
    const double none = USE_NONE / 100;
    double far = fmax(range->most + none, mean + none) / fmin(range->least + none, mean + none);

    return log(far) / USE_VARIATION_MAX;
}

/* For each range of `length` values, store how much the mean logarithm of the range differs from
 * that of the previous range. Store at most DIFFERENCES_MAX differences. */
static size_t differences(const struct rps_source *source, const double *value, size_t count,
                          size_t length, size_t step, double *ret)
{
    double last[2 * WANDER_PERIODS], least = quantum(source);
    size_t seen = 0, taken = 0;

    for (size_t i = 0; i < count; i++) {
        double difference = 0;

        if (!isfinite(value[i]))
            continue;
        last[seen++ % (2 * length)] = fmax(fabs(value[i]), least);
        if (seen < 2 * length || (seen - 2 * length) % step != 0)
            continue;
        for (size_t back = 1; back <= 2 * length; back++)
            difference += (back <= length ? 1 : -1) * log(last[(seen - back) % (2 * length)]);
        ret[taken++] = difference / (double)length;
    }
    return taken;
}

/* The lower quartile of the differences is used, so that phases of some seconds are not treated as
 * drift. If there are few values, no drift is measured. */
void rps_source_drift(struct rps_source *source, const double *value, size_t count)
{
    double difference[DIFFERENCES_MAX], noise, wide;
    size_t seen = 0, length, step, taken;

    for (size_t i = 0; i < count; i++)
        seen += isfinite(value[i]) != 0;
    length = (size_t)(WANDER_PERIODS * (double)seen / (double)(count + 1) + .5);
    length = length > 2 ? length : 2;
    if (source->kind != RPS_SOURCE_RATIO || seen < WANDER_STRETCHES * length)
        return;
    step = seen / DIFFERENCES_MAX + 1;
    taken = differences(source, value, count, 1, step, difference);
    noise = rps_robust_deviation(difference, taken);
    taken = differences(source, value, count, length, step, difference);
    for (size_t i = 0; i < taken; i++)
        difference[i] = fabs(difference[i]);
    wide = rps_select_rank(difference, taken, taken / 4) / NORMAL_QUARTILE;
    wide = wide * wide / 2 - WANDER_NOISE * noise * noise / (2 * (double)length);
    source->seen.drift = fmax(source->seen.drift, sqrt(fmax(0, wide)));
}

/* Return the standard deviation of CPU use. It is estimated from differences between periods in
 * which the workload is active. */
static double use_noise(const double *value, size_t count)
{
    size_t step = count / DIFFERENCES_MAX + 1, taken = 0;
    double difference[DIFFERENCES_MAX], low = 0;

    for (size_t i = 0; i < count; i++)
        low = value[i] > low ? value[i] : low;
    low = log1p(USE_LOW * expm1(low)); /* USE_LOW of the maximum, as a logarithm */
    for (size_t i = 1; i < count; i += step) {
        if (value[i] > low && value[i - 1] > low)
            difference[taken++] = value[i] - value[i - 1];
    }
    return rps_robust_deviation(difference, taken) / sqrt(2);
}

/* Return how much a transformed count changes if the mean count changes by SLEEPING_VARIATION. */
static double sleeping_resolution(const struct rps_source *source)
{
    const double mean = source->seen.value / (double)source->seen.looks / quantum(source);
    const double slope = sqrt(mean / (1 + COUNT_VARIATION * COUNT_VARIATION * mean));

    return fmin(fmax(SLEEPING_VARIATION * slope, SLEEPING_MIN), 1);
}

double rps_source_transform(const struct rps_source *source, double *value, size_t count)
{
    double scale = source->kind == RPS_SOURCE_USE ? USE_NONE : quantum(source);
    double variation = COUNT_VARIATION;

    if (source->seen.least < 0) /* negative values are no counts; a square root would move values
                                   near 0 apart */
        return rps_noise_floor(value, count);
    if (source->kind == RPS_SOURCE_RATIO)
        variation = fmin(fmax(RATIO_VARIATION, WANDERS * source->seen.drift), RATIO_VARIATION_MAX);
    for (size_t i = 0; i < count; i++) {
        double size = fabs(value[i]) / scale;

        size = source->kind == RPS_SOURCE_USE ? log1p(size) : of_count(size, variation);
        value[i] = copysign(size, value[i]);
    }
    if (source->kind != RPS_SOURCE_USE)
        return source->sleeps ? sleeping_resolution(source) : 1;
    return fmin(fmax(USE_VARIATION, USE_WANDERS * use_noise(value, count)), USE_VARIATION_MAX);
}

double rps_source_idle(void)
{
    return log1p(USE_IDLE / USE_NONE);
}
