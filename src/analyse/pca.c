/* Principal components: compute the correlation matrix of the signals and its largest eigenvectors.
 *
 * LAPACK is loaded at run time when it is needed. If LAPACK and its dependencies were linked, every
 * command, including the recorder, would start a millisecond later. Most commands never use LAPACK.
 */
#include "rpistat/arena.h"
#include "rpistat/joint.h"

#ifdef RPS_HAS_LAPACK
#include <lapacke.h>
#endif
#include <math.h>

#include "rpistat/process.h"

#define LIBRARY "liblapacke.so.3"

/* Number of observations that are standardised together. */
#define BLOCK 256

/* Minimum standard deviation, relative to the mean, and minimum eigenvalue, relative to the sum of
 * all eigenvalues. Smaller values are treated as rounding errors. */
#define DEVIATION_MIN  1e-12
#define EIGENVALUE_MIN 1e-10

/* Data of the signals that vary. */
struct job {
    const struct rps_signals *signals;
    size_t count;           /* number of signals */
    size_t *at;             /* index of each signal */
    double *mean, *scale;   /* z = (value - mean) * scale */
    double *block;          /* scratch of count x BLOCK values */
    double *matrix;         /* count x count values by column; only the upper triangle is used */
    double *value, *vector; /* eigenvalues (ascending), eigenvectors (by column) */
    size_t found;           /* number of eigenvalues found */
};

/* Compute mean and scale of a signal. Return 0 if the signal is constant. The scale is computed as
 * if each missing value was the mean. */
static int standardise(const double *value, size_t count, double *ret_mean, double *ret_scale)
{
    double sum = 0, squares = 0, mean, deviation;
    size_t seen = 0;

    for (size_t i = 0; i < count; i++) {
        if (isfinite(value[i])) {
            sum += value[i] / (double)count;
            seen++;
        }
    }
    if (seen < 2)
        return 0;
    mean = sum * ((double)count / (double)seen);
    for (size_t i = 0; i < count; i++)
        squares += isfinite(value[i]) ? (value[i] - mean) * (value[i] - mean) : 0;
    deviation = sqrt(squares / (double)count);
    *ret_mean = mean;
    *ret_scale = 1 / deviation;
    return isfinite(squares) && deviation > DEVIATION_MIN * fabs(mean) && isfinite(*ret_scale);
}

static int job_begin(struct rps_arena *scratch, struct job *job, struct rps_error *err)
{
    const struct rps_signals *signals = job->signals;
    size_t n = signals->signal_count;

    if (n > RPS_COMPONENTS_SIGNALS_MAX)
        return rps_error_set(err, RPS_FAILED,
                             "principal components of %zu metrics are too many; choose up to %d", n,
                             RPS_COMPONENTS_SIGNALS_MAX);
    if (signals->count < 3)
        return rps_error_set(
            err, RPS_FAILED,
            "principal components need 3 observations, not %zu; choose a longer range",
            signals->count);
    job->at = rps_arena_get(scratch, n, sizeof(*job->at));
    job->mean = rps_arena_get(scratch, n, sizeof(*job->mean));
    job->scale = rps_arena_get(scratch, n, sizeof(*job->scale));
    job->block = rps_arena_get(scratch, n * BLOCK, sizeof(*job->block));
    job->matrix = rps_arena_get(scratch, n * n, sizeof(*job->matrix));
    job->value = rps_arena_get(scratch, n, sizeof(*job->value));
    job->vector = rps_arena_get(scratch, n * n, sizeof(*job->vector));
    for (size_t s = 0; s < signals->signal_count; s++) {
        if (standardise(signals->value + s * signals->count, signals->count, &job->mean[job->count],
                        &job->scale[job->count]))
            job->at[job->count++] = s;
    }
    if (job->count < 2)
        return rps_error_set(err, RPS_FAILED,
                             "principal components need at least 2 metrics that vary, not %zu",
                             job->count);
    return 0;
}

static double standardised(const struct job *job, size_t v, size_t observation)
{
    double value = job->signals->value[job->at[v] * job->signals->count + observation];

    return isfinite(value) ? (value - job->mean[v]) * job->scale[v] : 0;
}

static void fill_matrix(struct job *job)
{
    size_t count = job->signals->count;

    for (size_t from = 0; from < count; from += BLOCK) {
        size_t length = count - from < BLOCK ? count - from : BLOCK;

        for (size_t v = 0; v < job->count; v++) {
            for (size_t i = 0; i < length; i++)
                job->block[v * BLOCK + i] = standardised(job, v, from + i);
        }
        for (size_t v = 0; v < job->count; v++) {
            for (size_t w = 0; w <= v; w++) {
                double sum = 0;

                for (size_t i = 0; i < length; i++)
                    sum += job->block[v * BLOCK + i] * job->block[w * BLOCK + i];
                job->matrix[v * job->count + w] += sum / (double)count;
            }
        }
    }
}

/* Find the `wanted` largest eigenvalues and their eigenvectors. */
#ifdef RPS_HAS_LAPACK
static int decompose(struct rps_arena *scratch, struct job *job, size_t wanted,
                     struct rps_error *err)
{
    lapack_int n = (lapack_int)job->count, found = 0, info;
    lapack_int *support = rps_arena_get(scratch, 2 * job->count, sizeof(*support));
    __typeof__(LAPACKE_dsyevr) *dsyevr = NULL;
    const struct rps_library_function functions[] = {{"LAPACKE_dsyevr", &dsyevr}, {NULL, NULL}};

    if (!rps_library_open(LIBRARY, functions))
        return rps_error_set(err, RPS_FAILED,
                             "principal components need LAPACK, and " LIBRARY
                             " was not found; install it (Debian: liblapacke)");
    info = dsyevr(LAPACK_COL_MAJOR, 'V', 'I', 'U', n, job->matrix, n, 0, 0,
                  n - (lapack_int)wanted + 1, n, 0, &found, job->value, job->vector, n, support);
    job->found = (size_t)found;
    return info == 0 ? 0
                     : rps_error_set(err, RPS_FAILED,
                                     "LAPACK found no principal components (code %d)", (int)info);
}
#else
static int decompose(struct rps_arena *scratch, struct job *job, size_t wanted,
                     struct rps_error *err)
{
    (void)scratch, (void)job, (void)wanted;
    return rps_error_set(err, RPS_FAILED,
                         "this rpistat was built without principal components; rebuild it with "
                         "LAPACK (Debian: liblapacke-dev)");
}
#endif

/* Return the eigenvector of component c. *ret_sign is the factor that makes the eigenvector's
 * largest entry positive. */
static const double *vector_of(const struct job *job, size_t c, double *ret_sign)
{
    const double *vector = job->vector + (job->found - 1 - c) * job->count;
    size_t largest = 0;

    for (size_t v = 1; v < job->count; v++) {
        if (fabs(vector[v]) > fabs(vector[largest]) * (1 + 1e-9))
            largest = v;
    }
    *ret_sign = vector[largest] < 0 ? -1 : 1;
    return vector;
}

/* Return 1 if the observation has enough seen values for a position in the components. */
static int is_placed(const struct job *job, size_t observation)
{
    size_t seen = 0;

    for (size_t v = 0; v < job->count; v++)
        seen += isfinite(job->signals->value[job->at[v] * job->signals->count + observation]) != 0;
    return 2 * seen >= job->count;
}

static void fill_component(const struct job *job, size_t c, struct rps_components *out)
{
    double eigenvalue = job->value[job->found - 1 - c], sign = 1;
    const double *vector = vector_of(job, c, &sign);

    out->share[c] = eigenvalue / (double)job->count;
    for (size_t v = 0; v < job->count; v++)
        out->loading[c * out->signal_count + job->at[v]] = sign * vector[v] * sqrt(eigenvalue);
    for (size_t i = 0; i < out->count; i++) {
        double score = 0;

        for (size_t v = 0; v < job->count; v++)
            score += standardised(job, v, i) * vector[v];
        out->score[c * out->count + i] = is_placed(job, i) ? sign * score / sqrt(eigenvalue) : NAN;
    }
}

static struct rps_components give(struct rps_arena *arena, const struct job *job)
{
    struct rps_components out = {.count = job->signals->count,
                                 .signal_count = job->signals->signal_count};

    while (out.component_count < job->found &&
           job->value[job->found - 1 - out.component_count] > EIGENVALUE_MIN * (double)job->count)
        out.component_count++;
    out.share = rps_arena_get(arena, out.component_count, sizeof(*out.share));
    out.loading =
        rps_arena_get(arena, out.component_count * out.signal_count, sizeof(*out.loading));
    out.score = rps_arena_get(arena, out.component_count * out.count, sizeof(*out.score));
    for (size_t c = 0; c < out.component_count; c++)
        fill_component(job, c, &out);
    return out;
}

int rps_components_find(struct rps_arena *arena, const struct rps_signals *signals,
                        size_t component_max, struct rps_components *ret, struct rps_error *err)
{
    struct rps_arena *scratch = rps_arena_new();
    struct job job = {.signals = signals};
    int result = job_begin(scratch, &job, err);

    if (result == 0) {
        component_max = component_max < job.count ? component_max : job.count;
        fill_matrix(&job);
        result = decompose(scratch, &job, component_max > 0 ? component_max : 1, err);
    }
    if (result == 0)
        *ret = give(arena, &job);
    rps_arena_free(scratch);
    return result;
}
