/* The change of a metric between two sides of runs; see rpistat/change.h. */
#include "rpistat/change.h"

#include <math.h>
#include <stdlib.h>

#include "rpistat/tally.h"

/* Values with a smaller relative difference are equal: the difference may be a rounding error. */
#define ROUNDING 1e-12

/* An interval may exceed a limit by this much, because the excess may be a rounding error. */
#define LIMIT_ROUNDING 1e-9

/* Quantile .8 of the standard normal distribution. */
#define Z_POWER .8416212335729143

#define OUTLIER_ALPHA    .05 /* probability of a false outlier among all runs of a side */
#define OUTLIER_RUNS_MIN 4   /* minimum number of runs of a side that can have an outlier */

/* Minimum number of runs per side for an interval of medians by the normal distribution. With fewer
 * runs the interval is too short. In a simulation, the interval contained the true change in 90 %
 * of cases with 2 runs per side, in 94 % with 3 and in 96 % with 4. */
#define MEDIAN_NORMAL_MIN 4

/* The scale on which values are compared: logarithms, or shares of the largest value. */
struct scale {
    int logarithms;
    double unit;
};

/* The values of one side, on the scale of the comparison. */
struct side {
    double count, mean, variance; /* variance: at least the mean floor */
    double value;                 /* mean of the side, on the original scale */
    double least, most;           /* smallest and largest value */
    double floor;                 /* minimum variance of the side */
};

struct difference {
    double size, variance, degrees;
    double of_runs; /* variance of the difference between one run of each side; NaN: unknown */
};

static int has_value(const struct rps_change_value *value)
{
    return isfinite(value->value);
}

static void see(struct scale *scale, const struct rps_change_value *value, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!has_value(&value[i]))
            continue;
        scale->logarithms = scale->logarithms && value[i].value > 0;
        scale->unit = fmax(scale->unit, fabs(value[i].value));
    }
}

static double compared(const struct scale *scale, double value)
{
    return scale->logarithms ? log(value) : scale->unit > 0 ? value / scale->unit : 0;
}

/* Compute mean and variance of a side. The differences of all values from the first value are added
 * up, so that the mean of equal values is exact. */
static struct side add_up(const struct scale *scale, const struct rps_change_value *value,
                          size_t count)
{
    struct side ret = {.least = INFINITY, .most = -INFINITY};
    double first = 0, sum = 0, squares = 0, least = 0;

    for (size_t i = 0; i < count; i++) {
        double above, unit;

        if (!has_value(&value[i]))
            continue;
        unit = scale->logarithms ? value[i].value : scale->unit > 0 ? scale->unit : 1;
        first = ret.count > 0 ? first : value[i].value;
        above = compared(scale, value[i].value) - compared(scale, first);
        ret.least = fmin(ret.least, value[i].value);
        ret.most = fmax(ret.most, value[i].value);
        sum += above;
        squares += above * above;
        least += fmax(0, value[i].floor) / unit / unit;
        ret.count++;
    }
    ret.mean = compared(scale, first) + sum / ret.count;
    ret.value =
        scale->logarithms ? first * exp(sum / ret.count) : first + sum / ret.count * scale->unit;
    ret.variance = ret.floor = fmax(least / ret.count, ROUNDING * ROUNDING);
    if (ret.count > 1)
        ret.variance = fmax(ret.variance, (squares - sum * sum / ret.count) / (ret.count - 1));
    return ret;
}

/* --- medians ---------------------------------------------------------------------------------- */

/* Set ret[k] to the value of rank rank[k], from 0 (lowest). Equal values keep their order. */
static void find_ranked(const struct rps_change_value *value, size_t count, const size_t rank[4],
                        double ret[4])
{
    for (size_t i = 0; i < count; i++) {
        size_t below = 0;

        for (size_t k = 0; k < count; k++)
            below += has_value(&value[k]) && (value[k].value < value[i].value ||
                                              (value[k].value == value[i].value && k < i));
        for (int k = 0; k < 4 && has_value(&value[i]); k++)
            ret[k] = below == rank[k] ? value[i].value : ret[k];
    }
}

/* Replace the mean of a side by its median, and its variance by n times the variance of the median.
 * The median is below the c-th lowest of n values if fewer than c values are below the median.
 * Fewer than c values are below the median with a binomial probability p. So the c-th lowest and
 * the c-th highest value are 2 z(p) standard errors apart (Price and Bonett, 2002). */
static void use_median(const struct scale *scale, const struct rps_change_value *value,
                       size_t count, struct side *side)
{
    const double n = side->count, c = fmax(1, floor((n + 1) / 2 - sqrt(n) + .5));
    const size_t runs = (size_t)n, at = (size_t)c;
    const size_t rank[4] = {(runs - 1) / 2, runs / 2, at - 1, runs - at};
    double ranked[4] = {NAN, NAN, NAN, NAN}, below = 0, error;

    find_ranked(value, count, rank, ranked);
    for (double i = 0; i < c; i++)
        below += exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) - n * M_LN2);
    side->value = ranked[0] + (ranked[1] - ranked[0]) / 2;
    side->mean = compared(scale, side->value);
    if (runs < 2)
        return;
    error =
        (compared(scale, ranked[3]) - compared(scale, ranked[2])) / (2 * rps_normal_above(below));
    side->variance = fmax(side->floor, n * error * error);
}

/* ---------------------------------------------------------------------------------------------- */

/* Add the variances of both means. The degrees of freedom follow Satterthwaite (1946). */
static enum rps_change_basis compare_groups(const struct side *a, const struct side *b,
                                            struct difference *difference)
{
    double part;

    difference->variance = a->variance / a->count + b->variance / b->count;
    part = a->variance / a->count / difference->variance;
    difference->degrees =
        1 / (part * part / (a->count - 1) + (1 - part) * (1 - part) / (b->count - 1));
    difference->of_runs = a->variance + b->variance;
    return RPS_CHANGE_GROUPS;
}

/* Compare one run with several runs. The one run is assumed to vary as much as the others. */
static enum rps_change_basis compare_baseline(const struct side *many, const struct side *one,
                                              struct difference *difference)
{
    double lone = fmax(many->variance, one->variance);

    difference->of_runs = many->variance + lone;
    difference->variance = many->variance / many->count + lone;
    difference->degrees = many->count - 1;
    return RPS_CHANGE_BASELINE;
}

/* Return a difference of values as a share of |a|, so that -110 is less than -100 by 10 %. If a is
 * 0, return the difference itself. */
static double as_ratio(const struct scale *scale, const struct rps_change *of, double size)
{
    return size * scale->unit / (of->a != 0 ? fabs(of->a) : 1);
}

/* Set the interval and p from a difference. If the uncertainty is infinite, there is no p. */
static void conclude(const struct scale *scale, const struct difference *difference,
                     struct rps_change *ret)
{
    double deviation = sqrt(difference->variance);
    double spread = deviation * rps_student_95(difference->degrees);
    double end[] = {difference->size - spread, difference->size + spread};

    for (int k = 0; k < 2; k++)
        end[k] = scale->logarithms ? expm1(end[k]) : as_ratio(scale, ret, end[k]);
    if (!isfinite(end[0]) || !isfinite(end[1])) {
        ret->basis = RPS_CHANGE_NONE;
        ret->why = RPS_CHANGE_WILD;
        return;
    }
    ret->low = end[0];
    ret->high = end[1];
    ret->p = ret->adjusted = rps_student_p(difference->size / deviation, difference->degrees);
    ret->spread = sqrt(difference->of_runs);
    if (!scale->logarithms)
        ret->spread = as_ratio(scale, ret, ret->spread);
}

/* --- few runs --------------------------------------------------------------------------------- */

/* This happens in 2 of C(a + b, a) cases. */
double rps_change_rank_chance(size_t a, size_t b)
{
    double chance = 2;

    for (size_t i = 1; i <= (a < b ? a : b); i++)
        chance *= (double)i / (double)((a < b ? b : a) + i);
    return chance;
}

/* Return 1 if a side has few runs and ranks do not confirm p. Ranks confirm p if all runs of one
 * side are above all runs of the other side. */
static int is_few(const struct side *a, const struct side *b, double p)
{
    const double runs = fmin(a->count, b->count);
    const int is_apart = a->most < b->least || b->most < a->least;

    return p < RPS_CHANGE_ALPHA && runs < RPS_CHANGE_RUNS_MIN &&
           !(is_apart &&
             rps_change_rank_chance((size_t)a->count, (size_t)b->count) < RPS_CHANGE_ALPHA);
}

/* ---------------------------------------------------------------------------------------------- */

struct rps_change rps_change_find(const struct rps_change_value *a, size_t a_count,
                                  const struct rps_change_value *b, size_t b_count,
                                  enum rps_change_statistic statistic)
{
    struct rps_change ret = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, RPS_CHANGE_NONE, RPS_CHANGE_ABSENT,
                             NAN, 0,   0,   0};
    struct scale scale = {.logarithms = 1};
    struct difference difference = {.of_runs = NAN};
    struct side before, after;

    see(&scale, a, a_count);
    see(&scale, b, b_count);
    before = add_up(&scale, a, a_count);
    after = add_up(&scale, b, b_count);
    if (statistic == RPS_CHANGE_MEDIAN && before.count > 0 && after.count > 0) {
        use_median(&scale, a, a_count, &before);
        use_median(&scale, b, b_count, &after);
    }
    ret.a = before.count > 0 ? before.value : NAN;
    ret.b = after.count > 0 ? after.value : NAN;
    ret.is_log = scale.logarithms;
    if (before.count == 0 || after.count == 0)
        return ret;
    difference.size = after.mean - before.mean;
    if (scale.logarithms)
        ret.ratio = expm1(difference.size);
    else if (ret.a != 0)
        ret.ratio = as_ratio(&scale, &ret, difference.size);
    ret.why = RPS_CHANGE_TESTED;
    if (before.count > 1 && after.count > 1)
        ret.basis = compare_groups(&before, &after, &difference);
    else if (before.count > 1 && statistic == RPS_CHANGE_MEAN)
        ret.basis = compare_baseline(&before, &after, &difference);
    else if (after.count > 1 && statistic == RPS_CHANGE_MEAN)
        ret.basis = compare_baseline(&after, &before, &difference);
    else
        ret.why = RPS_CHANGE_SINGLE;
    if (statistic == RPS_CHANGE_MEDIAN && fmin(before.count, after.count) >= MEDIAN_NORMAL_MIN)
        difference.degrees = INFINITY;
    if (ret.basis != RPS_CHANGE_NONE)
        conclude(&scale, &difference, &ret);
    ret.is_few = is_few(&before, &after, ret.p);
    ret.is_chance = ret.why == RPS_CHANGE_SINGLE && difference.size != 0 &&
                    fabs(difference.size) <= RPS_CHANCE_Z * sqrt(before.floor + after.floor);
    return ret;
}

int rps_change_is_outlier(struct rps_change_value *value, size_t count, size_t run)
{
    struct rps_change_value one = value[run];
    double p;

    if (count < OUTLIER_RUNS_MIN)
        return 0;
    value[run] = value[count - 1];
    p = rps_change_find(value, count - 1, &one, 1, RPS_CHANGE_MEAN).p;
    value[run] = one;
    return (double)count * p < OUTLIER_ALPHA;
}

/* --- limits ----------------------------------------------------------------------------------- */

const char *const rps_change_answers[] = {[RPS_CHANGE_HOLDS] = "holds",
                                          [RPS_CHANGE_FAILS] = "fails",
                                          [RPS_CHANGE_INCONCLUSIVE] = "undecided"};

enum rps_change_answer rps_change_judge(const struct rps_change *change, double limit, int is_above)
{
    double at = isnan(change->ratio) ? 0 : limit;
    double near = is_above ? change->low - at : at - change->high;
    double far = is_above ? change->high - at : at - change->low;

    if (change->basis == RPS_CHANGE_NONE)
        return RPS_CHANGE_INCONCLUSIVE;
    return far <= LIMIT_ROUNDING ? RPS_CHANGE_HOLDS
           : near > 0            ? RPS_CHANGE_FAILS
                                 : RPS_CHANGE_INCONCLUSIVE;
}

double rps_change_runs(const struct rps_change *change, double limit)
{
    double distance = isnan(change->ratio) ? change->b - change->a
                      : change->is_log     ? log1p(limit) - log1p(change->ratio)
                                           : limit - change->ratio;
    double ratio = change->spread / fabs(distance);
    /* start with the number of runs that the quantile for infinitely many runs requires */
    double quantiles = (rps_student_95(INFINITY) + Z_POWER) * ratio;
    double n = fmax(2, floor(quantiles * quantiles));

    if (isnan(change->spread) || (isnan(ratio) && distance != 0))
        return NAN;
    for (; n <= RPS_CHANGE_RUNS_MAX; n++) {
        quantiles = (rps_student_95(2 * n - 2) + Z_POWER) * ratio;
        if (n >= quantiles * quantiles)
            return n;
    }
    return INFINITY;
}

/* --- Holm's correction ------------------------------------------------------------------------ */

int rps_change_is_tested(const struct rps_change *change)
{
    return !isnan(change->p) && (change->a != 0 || change->b != 0);
}

static int compare_p(const void *a, const void *b)
{
    const struct rps_change *x = *(struct rps_change *const *)a,
                            *y = *(struct rps_change *const *)b;

    return (x->p > y->p) - (x->p < y->p);
}

void rps_change_correct(struct rps_arena *arena, struct rps_change *const *change, size_t count)
{
    struct rps_change **tested = rps_arena_get(arena, count, sizeof(*tested));
    double most = 0;
    size_t tests = 0;

    for (size_t i = 0; i < count; i++) {
        if (rps_change_is_tested(change[i]))
            tested[tests++] = change[i];
    }
    qsort(tested, tests, sizeof(*tested), compare_p);
    for (size_t k = 0; k < tests; k++) {
        most = fmax(most, fmin(1, (double)(tests - k) * tested[k]->p));
        tested[k]->adjusted = most;
    }
}
