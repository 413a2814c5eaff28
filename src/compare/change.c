/* The change of a metric between two sides of runs; see rpistat/change.h. */
#include "rpistat/change.h"

#include <math.h>
#include <stdlib.h>

#include "rpistat/student.h"

/* Values that differ by less than this share of them are equal except for rounding. */
#define ROUNDING 1e-12

/* An interval that exceeds a limit by less does so by rounding. */
#define LIMIT_ROUNDING 1e-9

/* The quantile .8 of the normal distribution. */
#define Z_POWER .8416212335729143

/* How values are compared: as logarithms, or as shares of the largest one. */
struct scale {
    int logarithms;
    double unit;
};

/* A side in compared values. */
struct side {
    double count, mean, variance; /* of values; the variance is at least the mean floor */
    double value;                 /* the mean, as a value */
    double least, most;           /* values */
};

struct difference {
    double size, variance, degrees;
    double of_runs; /* variance of the difference of single runs; NaN: not known */
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

/* Convert a variance of the value to compared values; NaN stays. */
static double variance_of(const struct scale *scale, double value, double variance)
{
    double unit = scale->logarithms ? value : scale->unit > 0 ? scale->unit : 1;

    return variance / unit / unit;
}

/* Add up differences to the first value, so that the mean of equal values is exactly that value. */
static struct side add_up(const struct scale *scale, const struct rps_change_value *value,
                          size_t count)
{
    struct side ret = {.least = INFINITY, .most = -INFINITY};
    double first = 0, sum = 0, squares = 0, least = 0;

    for (size_t i = 0; i < count; i++) {
        double above;

        if (!has_value(&value[i]))
            continue;
        first = ret.count > 0 ? first : value[i].value;
        above = compared(scale, value[i].value) - compared(scale, first);
        ret.least = fmin(ret.least, value[i].value);
        ret.most = fmax(ret.most, value[i].value);
        sum += above;
        squares += above * above;
        least += variance_of(scale, value[i].value, fmax(0, value[i].floor));
        ret.count++;
    }
    ret.mean = compared(scale, first) + sum / ret.count;
    ret.value =
        scale->logarithms ? first * exp(sum / ret.count) : first + sum / ret.count * scale->unit;
    ret.variance = fmax(least / ret.count, ROUNDING * ROUNDING);
    if (ret.count > 1)
        ret.variance = fmax(ret.variance, (squares - sum * sum / ret.count) / (ret.count - 1));
    return ret;
}

/* Add two variances, with the degrees of freedom by Satterthwaite (1946). */
static void add_variances(struct difference *difference, double a, double a_degrees, double b,
                          double b_degrees)
{
    double part = a / (a + b);

    difference->variance = a + b;
    difference->degrees = 1 / (part * part / a_degrees + (1 - part) * (1 - part) / b_degrees);
}

static enum rps_change_basis compare_groups(const struct side *a, const struct side *b,
                                            struct difference *difference)
{
    add_variances(difference, a->variance / a->count, a->count - 1, b->variance / b->count,
                  b->count - 1);
    difference->of_runs = a->variance + b->variance;
    return RPS_CHANGE_GROUPS;
}

/* Compare one run with several; it is assumed to vary as they do. */
static enum rps_change_basis compare_baseline(const struct side *many, const struct side *one,
                                              struct difference *difference)
{
    double lone = fmax(many->variance, one->variance);

    difference->of_runs = many->variance + lone;
    difference->variance = many->variance / many->count + lone;
    difference->degrees = many->count - 1;
    return RPS_CHANGE_BASELINE;
}

/* Return a difference of values as a share of the magnitude of a, or, if a is 0, as it is. So -110
 * is less than -100, by 10 %. */
static double as_ratio(const struct scale *scale, const struct rps_change *of, double size)
{
    return size * scale->unit / (of->a != 0 ? fabs(of->a) : 1);
}

/* Set the interval and p. Without bounds of the uncertainty, nothing is tested. */
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

/* Return 1 if a side has few runs, and ranks do not confirm p. All runs of one side must be above
 * all runs of the other, which chance does in 2 of C(n + m, n) cases. */
static int is_few(const struct side *a, const struct side *b, double p)
{
    const double runs = fmin(a->count, b->count);
    double chance = a->most < b->least || b->most < a->least ? 2 : INFINITY;

    for (int i = 1; i <= runs && i < RPS_CHANGE_RUNS_MIN; i++)
        chance *= i / (fmax(a->count, b->count) + i);
    return p < RPS_CHANGE_ALPHA && runs < RPS_CHANGE_RUNS_MIN && chance >= RPS_CHANGE_ALPHA;
}

/* ---------------------------------------------------------------------------------------------- */

struct rps_change rps_change_find(const struct rps_change_value *a, size_t a_count,
                                  const struct rps_change_value *b, size_t b_count)
{
    struct rps_change ret = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, RPS_CHANGE_NONE, RPS_CHANGE_ABSENT,
                             NAN, 0,   0};
    struct scale scale = {.logarithms = 1};
    struct difference difference = {.of_runs = NAN};
    struct side before, after;

    see(&scale, a, a_count);
    see(&scale, b, b_count);
    before = add_up(&scale, a, a_count);
    after = add_up(&scale, b, b_count);
    ret.a = before.count > 0 ? before.value : NAN;
    ret.b = after.count > 0 ? after.value : NAN;
    if (before.count == 0 || after.count == 0)
        return ret;
    difference.size = after.mean - before.mean;
    if (scale.logarithms)
        ret.ratio = expm1(difference.size);
    else if (ret.a != 0)
        ret.ratio = as_ratio(&scale, &ret, difference.size);
    ret.is_log = scale.logarithms;
    ret.why = RPS_CHANGE_TESTED;
    if (before.count > 1 && after.count > 1)
        ret.basis = compare_groups(&before, &after, &difference);
    else if (before.count > 1)
        ret.basis = compare_baseline(&before, &after, &difference);
    else if (after.count > 1)
        ret.basis = compare_baseline(&after, &before, &difference);
    else
        ret.why = RPS_CHANGE_SINGLE;
    if (ret.basis != RPS_CHANGE_NONE)
        conclude(&scale, &difference, &ret);
    ret.is_few = is_few(&before, &after, ret.p);
    return ret;
}

/* --- limits ----------------------------------------------------------------------------------- */

const char *const rps_change_answers[] = {[RPS_CHANGE_HOLDS] = "holds",
                                          [RPS_CHANGE_FAILS] = "fails",
                                          [RPS_CHANGE_UNDECIDED] = "undecided"};

enum rps_change_answer rps_change_judge(const struct rps_change *change, double limit, int is_above)
{
    double at = isnan(change->ratio) ? 0 : limit;
    double near = is_above ? change->low - at : at - change->high;
    double far = is_above ? change->high - at : at - change->low;

    if (change->basis == RPS_CHANGE_NONE)
        return RPS_CHANGE_UNDECIDED;
    return far <= LIMIT_ROUNDING ? RPS_CHANGE_HOLDS
           : near > 0            ? RPS_CHANGE_FAILS
                                 : RPS_CHANGE_UNDECIDED;
}

double rps_change_runs(const struct rps_change *change, double limit)
{
    double distance = isnan(change->ratio) ? change->b - change->a
                      : change->is_log     ? log1p(limit) - log1p(change->ratio)
                                           : limit - change->ratio;
    double ratio = change->spread / fabs(distance);
    double quantiles = (rps_student_95(INFINITY) + Z_POWER) * ratio; /* for infinitely many runs */
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
