/* Steps of a series of runs; see rpistat/steps.h. Positive values are compared as logarithms. */
#include "rpistat/steps.h"

#include <math.h>
#include <string.h>

#include "detect_math.h"
#include "detect_standardize.h"
#include "rpistat/detect.h"
#include "rpistat/tally.h"

#define SIDE_MIN      3     /* minimum number of values before and after a step */
#define SIDE_FEW      5     /* with fewer values, all must be above or below the other side */
#define OUTLIER_MIN   6     /* minimum distance of an outlier, in robust deviations */
#define OUTLIER_ALPHA .01   /* probability of a false outlier among all values */
#define ROUNDING      1e-24 /* minimum variance: values with smaller differences are equal */
#define Z_95          1.645 /* quantile .95 of the standard normal distribution */
#define P_MIN         1e-15 /* smaller p values are corrected by Bonferroni's method alone */

/* The values that are used, on the scale of the tests. */
struct used {
    size_t count;
    int is_log;
    double *y, *floor;
    struct rps_step **of;
};

static void gather(struct rps_step *step, size_t count, struct used *used)
{
    int is_log = 1, may_begin = 0;
    double unit = 0;

    for (size_t i = 0; i < count; i++) {
        is_log = is_log && !(step[i].value <= 0);
        unit = isfinite(step[i].value) ? fmax(unit, fabs(step[i].value)) : unit;
    }
    unit = unit > 0 ? unit : 1;
    used->is_log = is_log;
    used->count = 0;
    for (size_t i = 0; i < count; i++) {
        may_begin |= step[i].may_begin;
        if (!isfinite(step[i].value) || step[i].is_outlier)
            continue;
        step[i].may_begin = may_begin;
        used->of[used->count] = &step[i];
        used->y[used->count] = is_log ? log(step[i].value) : step[i].value / unit;
        used->floor[used->count++] = step[i].floor / pow(is_log ? step[i].value : unit, 2);
        may_begin = 0;
    }
}

/* --- outliers --------------------------------------------------------------------------------- */

static void mark_outliers(struct rps_arena *arena, const struct used *used)
{
    size_t count = used->count, end = count;
    double *work = rps_arena_get(arena, count, sizeof(*work)), limit = OUTLIER_MIN;
    uint8_t *wild = rps_arena_get(arena, count, 1);

    for (size_t i = 1; i < count; i++)
        work[i - 1] = used->y[i] - used->y[i - 1];
    while ((double)count * rps_student_p(limit, (double)count / 2) > OUTLIER_ALPHA)
        limit *= 1.05;
    limit *= rps_robust_deviation(work, count - 1) / sqrt(2);
    rps_clip(used->y, count, limit, limit, work, wild);
    while (end > 0 && wild[end - 1])
        end--;
    if (count - end >= SIDE_MIN) /* the last values may be a new level */
        memset(wild + end, 0, count - end);
    for (size_t i = 0, next; i < count; i = next) {
        size_t far = wild[i];

        for (next = i + 1; next < count && !used->of[next]->may_begin; next++)
            far += wild[next];
        for (size_t k = i; k < next; k++)
            used->of[k]->is_outlier = wild[k] && (far < next - i || far < SIDE_MIN);
    }
}

/* --- tests ------------------------------------------------------------------------------------ */

/* Return the probability that noise without a step reaches p at any of `places` in n values. */
static double correct(double p, double n, double places)
{
    double z = p > P_MIN ? rps_normal_above(p / 2) : 0, sum = 0;

    for (double m = SIDE_MIN; z > 1 && m <= n - SIDE_MIN; m++) {
        double weight = m / n * (1 - m / n), x = z / sqrt(n * weight);
        double below = erfc(-x / 2 / M_SQRT2) / 2, density = exp(-x * x / 8) / sqrt(2 * M_PI);

        sum += 2 / x * (below - .5) / (x / 2 * below + density) / weight;
    }
    sum *= z * exp(-z * z / 2) / sqrt(2 * M_PI) / n * (1 + 4 / n);
    return fmin(1, z > 1 ? fmax(p, fmin(sum, places * p)) : places * p);
}

static double mean_of(const struct used *used, size_t from, size_t to)
{
    double sum = 0;

    for (size_t i = from; i < to; i++)
        sum += used->y[i] - used->y[from];
    return used->y[from] + sum / (double)(to - from);
}

/* Return the variance of the values around the means before and after `at`. If successive residuals
 * are correlated, the variance is increased accordingly. */
static double variance_of(const struct used *used, size_t from, size_t at, size_t to)
{
    double before = mean_of(used, from, at), after = mean_of(used, at, to), n = (double)(to - from);
    double last = 0, squares = 0, products = 0, floor = 0, r;

    for (size_t i = from; i < to; i++) {
        double residual = used->y[i] - (i < at ? before : after);

        products += i == at ? 0 : residual * last;
        squares += residual * residual;
        floor += used->floor[i] / n;
        last = residual;
    }
    r = squares > 0 ? fmin(.95, products / squares) : 0;
    return fmax(squares / (n - 2), fmax(floor, ROUNDING)) *
           (r * sqrt(n) > Z_95 ? (1 + r) / (1 - r) : 1);
}

/* Return 1 if all values of one side are above all values of the other. */
static int is_apart(const struct used *used, size_t from, size_t at, size_t to)
{
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};

    for (size_t i = from; i < to; i++) {
        low[i >= at] = fmin(low[i >= at], used->y[i]);
        high[i >= at] = fmax(high[i >= at], used->y[i]);
    }
    return high[0] < low[1] || high[1] < low[0];
}

/* Return the place with the largest t statistic. Return 0 if its p is not below alpha. */
static size_t find_place(const struct used *used, size_t from, size_t to, double alpha)
{
    double n = (double)(to - from), mean = mean_of(used, from, to), sum = 0, most = 0, places = 0;
    size_t at = 0;

    for (size_t i = from + 1; i + SIDE_MIN <= to && n >= RPS_STEPS_MIN; i++) {
        double before = (double)(i - from), between;

        sum += used->y[i - 1] - mean;
        if (before < SIDE_MIN || !used->of[i]->may_begin)
            continue;
        places++;
        between = sum * sum * n / (before * (n - before));
        if (between > most &&
            (fmin(before, n - before) >= SIDE_FEW || is_apart(used, from, i, to))) {
            most = between;
            at = i;
        }
    }
    if (at == 0)
        return 0;
    used->of[at]->p = rps_student_p(sqrt(most / variance_of(used, from, at, to)), n - 2);
    used->of[at]->corrected = correct(used->of[at]->p, n, places);
    return used->of[at]->corrected < alpha ? at : 0;
}

/* --- steps ------------------------------------------------------------------------------------ */

static size_t next_step(const struct used *used, size_t from)
{
    size_t next = from + 1;

    while (next < used->count && !used->of[next]->begins)
        next++;
    return next;
}

/* Begin with the boundaries of the detector, moved to the next place where a level may begin. */
static int propose(struct rps_arena *arena, const struct used *used, struct rps_error *err)
{
    const struct rps_signals signals = {.count = used->count, .signal_count = 1, .value = used->y};
    const struct rps_detect_options options = {.min_length = SIDE_MIN};
    struct rps_phases phases = {0};
    int result = rps_detect(arena, &signals, &options, &phases, NULL, err);

    for (size_t k = 1; k < phases.count && result == 0; k++) {
        size_t at = (size_t)phases.phase[k].first;

        while (at < used->count && !used->of[at]->may_begin)
            at++;
        if (at < used->count)
            used->of[at]->begins = 1;
    }
    return result;
}

/* Add a step in the first segment that has one. All segments together have a false step with a
 * probability of alpha. Return 1 if a step was added. */
static int add_step(const struct used *used, double alpha)
{
    double segments = 0;

    for (size_t from = 0; from < used->count; from = next_step(used, from))
        segments++;
    for (size_t from = 0, to; from < used->count; from = to) {
        size_t at = find_place(used, from, to = next_step(used, from), alpha / segments);

        if (at > 0)
            return used->of[at]->begins = 1;
    }
    return 0;
}

/* Move each step to the best place between its neighbours, and remove it if there is none. Return 1
 * if a step was moved or removed. */
static int settle(const struct used *used, double alpha)
{
    int is_moved = 0;

    for (size_t from = 0, at, old; (old = next_step(used, from)) < used->count; from = at) {
        used->of[old]->begins = 0;
        at = find_place(used, from, next_step(used, old), alpha);
        if (at == 0)
            return 1;
        used->of[at]->begins = 1;
        is_moved |= at != old;
    }
    return is_moved;
}

static double as_share(const struct used *used, size_t from, double change)
{
    return used->is_log ? expm1(change) : change / fabs(mean_of(used, from, used->count));
}

/* Return the change along a line through the last level, or 0 if its p is not below alpha. Subtract
 * the line from the values. */
static double find_trend(const struct used *used, size_t from, double alpha)
{
    size_t to = used->count;
    double n = (double)(to - from), mean = mean_of(used, from, to), slope = 0;
    double squares = n * (n * n - 1) / 12, variance, change;

    if (n < RPS_STEPS_MIN)
        return 0;
    for (size_t i = from; i < to; i++)
        slope += ((double)(i - from) - (n - 1) / 2) * (used->y[i] - mean) / squares;
    change = as_share(used, from, slope * (n - 1));
    for (size_t i = from; i < to; i++)
        used->y[i] -= slope * (double)(i - from);
    variance = variance_of(used, from, to - 1, to);
    return rps_student_p(fabs(slope) * sqrt(squares / variance), n - 2) < alpha ? change : 0;
}

/* Return the least step that is found if the last five values of the last level have it. */
static double find_found(const struct used *used, size_t from, double alpha)
{
    size_t to = used->count;
    double low = 0, high = 1e3, n = (double)(to - from);

    if (n < RPS_STEPS_LAST + SIDE_MIN)
        return NAN;
    for (int k = 0; k < 40; k++) {
        double t = (low + high) / 2;

        *(correct(rps_student_p(t, n - 2), n, n) < alpha ? &high : &low) = t;
    }
    /* the quantile of the noncentral t distribution (Johnson and Welch 1940) */
    high = high * (1 - 1 / (4 * (n - 2))) + Z_95 * sqrt(1 + high * high / (2 * (n - 2)));
    high *= sqrt(variance_of(used, from, to - 1, to) * n / (RPS_STEPS_LAST * (n - RPS_STEPS_LAST)));
    return as_share(used, from, high);
}

int rps_steps_find(struct rps_arena *arena, struct rps_step *step, size_t count, double alpha,
                   double *ret_found, double *ret_trend, struct rps_error *err)
{
    struct used used = {.y = rps_arena_get(arena, count + 1, sizeof(double)),
                        .floor = rps_arena_get(arena, count + 1, sizeof(double)),
                        .of = rps_arena_get(arena, count + 1, sizeof(struct rps_step *))};

    size_t from = 0;

    *ret_found = NAN;
    *ret_trend = 0;
    gather(step, count, &used);
    if (used.count < RPS_STEPS_MIN)
        return 0;
    mark_outliers(arena, &used);
    gather(step, count, &used);
    if (propose(arena, &used, err) < 0)
        return RPS_FAILED;
    while (add_step(&used, alpha))
        ;
    for (size_t k = 0; k < 2 * used.count && settle(&used, alpha); k++)
        ;
    for (size_t next; (next = next_step(&used, from)) < used.count;)
        from = next;
    *ret_found = find_found(&used, from, alpha);
    *ret_trend = find_trend(&used, from, alpha / 10);
    return 0;
}
