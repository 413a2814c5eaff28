/* Find signals that repeat other signals: copies, and signals with common noise.
 *
 * All estimates use clipped differences of neighbours, because without clipping, changes that all
 * signals share would look like correlation. If there are more signals than observations, the
 * matrix of products between observations is computed instead of the matrix of products between
 * signals. Both matrices have the same sum of squares. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect_standardize.h"
#include "detect_math.h"
#include "rpistat/random.h"

/* Maximum number of observations that are examined. WORK_MAX may require fewer. */
#define SAMPLE_MAX 4096
#define SAMPLE_MIN 128
#define WORK_MAX   30000000.0

/* Minimum correlation between the differences of a signal and those of a copy of this signal. */
#define COPY_MIN 0.9999

/* Minimum number of observations. With fewer observations, signals look correlated by chance. */
#define COUNT_MIN 8

struct differences {
    size_t count, width;
    double *value;   /* value[signal * count + k], divided so that squares add up to 1; 0: unseen */
    double *scratch; /* scratch for `count` values */
};

static size_t sample_size(const struct rps_observed *observed)
{
    double d = (double)observed->width;
    size_t count = SAMPLE_MAX;

    while (count > SAMPLE_MIN && (double)count * d * fmin(d, (double)count) > WORK_MAX)
        count /= 2;
    return observed->count - 1 < count ? observed->count - 1 : count;
}

/* Return a random observation from the k-th of `count` intervals. With a fixed step, the values of
 * a signal that is seen in rotation could be missing in every chosen observation. */
static size_t pick(const struct rps_observed *observed, size_t k, size_t count)
{
    size_t length = (observed->count - 1) / count;
    uint64_t state = k;

    return 1 + (size_t)((double)(observed->count - 1) / (double)count * (double)k) +
           (size_t)(rps_random_next(&state) % length);
}

/* Return the difference from the previous seen value, or 0 if no previous value was seen. */
static double difference(const struct rps_observed *observed, size_t at, size_t signal)
{
    size_t i = at * observed->width + signal;

    if (!observed->weight)
        return observed->value[i] - observed->value[i - observed->width];
    if (observed->weight[i] == 0)
        return 0;
    for (size_t before = at; before-- > 0;) {
        size_t j = before * observed->width + signal;

        if (observed->weight[j] > 0)
            return observed->value[i] - observed->value[j];
        if (at - before > 64)
            break;
    }
    return 0;
}

static void fill_signal(const struct rps_observed *observed, struct differences *all, size_t signal)
{
    double *value = all->value + signal * all->count, squares = 0, limit;
    size_t seen = 0;

    for (size_t k = 0; k < all->count; k++) {
        value[k] = difference(observed, pick(observed, k, all->count), signal);
        if (value[k] < 0 || value[k] > 0)
            all->scratch[seen++] = value[k];
    }
    limit = RPS_CLIP_DEVIATIONS * rps_robust_deviation(all->scratch, seen);
    for (size_t k = 0; k < all->count; k++) {
        if (fabs(value[k]) > limit)
            value[k] = value[k] > 0 ? limit : -limit;
        squares += value[k] * value[k];
    }
    for (size_t k = 0; k < all->count && squares > 0; k++)
        value[k] /= sqrt(squares);
}

static double dot(const double *a, const double *b, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

struct signature {
    double value;
    size_t signal;
};

static int compare_signatures(const void *a, const void *b)
{
    const struct signature *x = a, *y = b;

    if (x->value < y->value || x->value > y->value)
        return x->value < y->value ? -1 : 1;
    return (x->signal > y->signal) - (x->signal < y->signal);
}

/* Mark the signals that are copies. A signal and its copy have the same product with any vector,
 * except for the sign. So the signals are sorted by their product with one random vector, and only
 * signals that are then close to each other are compared. */
static void mark_copies(struct rps_arena *arena, const struct differences *all, uint8_t *copy)
{
    struct signature *signature = rps_arena_get(arena, all->width, sizeof(*signature));
    uint64_t state = 1;

    for (size_t k = 0; k < all->count; k++)
        all->scratch[k] = rps_random_unit(&state) - 0.5;
    for (size_t s = 0; s < all->width; s++) {
        signature[s].signal = s;
        signature[s].value = fabs(dot(all->value + s * all->count, all->scratch, all->count));
    }
    qsort(signature, all->width, sizeof(*signature), compare_signatures);
    for (size_t i = 0; i < all->width; i++) {
        const double *mine = all->value + signature[i].signal * all->count;

        for (size_t j = i + 1; j < all->width && j <= i + 8; j++) {
            const double *other = all->value + signature[j].signal * all->count;
            size_t later = signature[i].signal > signature[j].signal ? signature[i].signal
                                                                     : signature[j].signal;

            if (fabs(dot(mine, other, all->count)) > COPY_MIN)
                copy[later] = 1;
        }
    }
}

static void drop(struct rps_observed *observed, struct differences *all, const uint8_t *copy)
{
    size_t width = observed->width, kept = 0, to = 0;

    for (size_t i = 0; i < observed->count * width; i++) {
        if (copy[i % width])
            continue;
        observed->value[to] = observed->value[i];
        if (observed->weight)
            observed->weight[to] = observed->weight[i];
        to++;
    }
    for (size_t s = 0; s < width; s++) {
        if (copy[s])
            continue;
        memmove(all->value + kept * all->count, all->value + s * all->count,
                all->count * sizeof(*all->value));
        observed->variance_floor[kept] = observed->variance_floor[s];
        observed->tolerance[kept] = observed->tolerance[s];
        kept++;
    }
    all->width = observed->width = kept;
}

/* Return the sum of all squared correlations, minus the sum that is expected by chance. */
static double correlation_squares(const struct differences *all)
{
    double sum = 0, d = (double)all->width;

    if (all->width <= all->count) {
        for (size_t s = 0; s < all->width; s++) {
            for (size_t t = 0; t < s; t++) {
                double r =
                    dot(all->value + s * all->count, all->value + t * all->count, all->count);

                sum += 2 * r * r;
            }
        }
    } else {
        for (size_t k = 0; k < all->count; k++) {
            for (size_t m = 0; m <= k; m++) {
                double r = 0;

                for (size_t s = 0; s < all->width; s++)
                    r += all->value[s * all->count + k] * all->value[s * all->count + m];
                sum += (m < k ? 2 : 1) * r * r;
            }
        }
        sum -= d;
    }
    /* Neighbouring differences have a value in common. Therefore the sum expected by chance is 1.5
     * times as large as for independent differences. */
    return d + fmax(0, sum - 1.5 * d * (d - 1) / (double)all->count);
}

static void decorrelate(struct rps_arena *arena, struct rps_observed *observed,
                        struct differences *all)
{
    uint8_t *copy = rps_arena_get(arena, all->width, 1);
    double d, squares, factor;

    for (size_t s = 0; s < observed->width; s++)
        fill_signal(observed, all, s);
    mark_copies(arena, all, copy);
    drop(observed, all, copy);
    d = (double)observed->width;
    squares = correlation_squares(all);
    observed->degrees_of_freedom = d * d / squares;
    factor = sqrt(d / squares);
    if (factor < 1)
        observed->unit = factor * factor;
    for (size_t i = 0; factor < 1 && i < observed->count * observed->width; i++)
        observed->value[i] *= factor;
    for (size_t s = 0; factor < 1 && s < observed->width; s++) {
        observed->variance_floor[s] *= factor * factor;
        observed->tolerance[s] *= factor * factor;
    }
}

void rps_observed_decorrelate(struct rps_observed *observed)
{
    struct differences all = {.width = observed->width};
    struct rps_arena *scratch;

    observed->degrees_of_freedom = (double)observed->width;
    observed->unit = 1;
    if (observed->width < 2 || observed->count < COUNT_MIN)
        return;
    scratch = rps_arena_new();
    all.count = sample_size(observed);
    all.value = rps_arena_get(scratch, all.width * all.count, sizeof(*all.value));
    all.scratch = rps_arena_get(scratch, all.count, sizeof(*all.scratch));
    decorrelate(scratch, observed, &all);
    rps_arena_free(scratch);
}
