/* Made-up series of observations, with phases and without. */
#include "phase_series.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/random.h"

#define PI 3.14159265358979323846

/* Minimum length of a segment, of a short segment, and the range of lengths of short segments, in
 * observations. */
#define SHORTEST     20
#define SHORT        5
#define SHORT_LONGER 5
#define MASKED_IN    4

const char *const phase_noise_name[PHASE_NOISES] = {
    "white", "AR.6", "t3", "outliers", "variance", "masked", "correlated",
};

void *phase_must(void *memory)
{
    if (!memory) {
        fprintf(stderr, "phases: no memory\n");
        exit(1);
    }
    return memory;
}

/* --- random numbers --------------------------------------------------------------------------- */

static double exponential(uint64_t *random)
{
    return -log(1 - rps_random_unit(random));
}

static double normal(uint64_t *random)
{
    return sqrt(2 * exponential(random)) * cos(2 * PI * rps_random_unit(random));
}

static double student3(uint64_t *random)
{
    double a = normal(random), b = normal(random), c = normal(random);

    return normal(random) / sqrt((a * a + b * b + c * c) / 3);
}

static double poisson(uint64_t *random, double mean)
{
    double count = -1;

    for (double at = 0; at < mean; count++)
        at += exponential(random);
    return count;
}

/* The next value of AR(1) of variance 1. */
static double ar(uint64_t *random, double phi, double before)
{
    return phi * before + sqrt(1 - phi * phi) * normal(random);
}

/* --- series with phases ----------------------------------------------------------------------- */

static void init(struct phase_series *series, size_t n, size_t d)
{
    *series = (struct phase_series){
        .signals = {.count = n,
                    .signal_count = d,
                    .value = phase_must(malloc(n * d * sizeof(*series->signals.value)))},
        .label = phase_must(calloc(n, sizeof(*series->label))),
        .segments = 1,
        .phases = 1,
    };
}

/* Draw the ends of all segments. The length above the minimum is distributed exponentially. */
static size_t *draw_ends(uint64_t *random, size_t n, size_t count)
{
    size_t *ends = phase_must(malloc(count * sizeof(*ends)));
    double *at = phase_must(malloc(count * sizeof(*at))), total = 0;

    for (size_t k = 0; k < count; k++)
        at[k] = total += exponential(random);
    for (size_t k = 0; k < count; k++)
        ends[k] = SHORTEST * (k + 1) + (size_t)(at[k] / total * (double)(n - SHORTEST * count));
    free(at);
    return ends;
}

/* Draw the ends of short segments of 5 to 10 observations. */
static size_t *draw_short_ends(uint64_t *random, size_t n, size_t *ret_count)
{
    size_t *ends = phase_must(malloc((n / SHORT + 1) * sizeof(*ends))), count = 0;

    for (size_t end = 0; end < n; count++) {
        end += SHORT + (size_t)((SHORT_LONGER + 1) * rps_random_unit(random));
        ends[count] = end < n ? end : n;
    }
    *ret_count = count;
    return ends;
}

/* Labels in random order, no two neighbours alike. */
static void draw_labels(const struct phase_draft *draft, uint64_t *random,
                        struct phase_series *series)
{
    size_t *ends, i = 0;
    int label = -1;

    series->segments = draft->segments;
    series->shortest = draft->segments > 0 ? SHORTEST : SHORT;
    ends = draft->segments > 0 ? draw_ends(random, draft->n, draft->segments)
                               : draw_short_ends(random, draft->n, &series->segments);
    for (size_t k = 0; k < series->segments; k++) {
        int step = (int)(rps_random_unit(random) * (series->phases - (k > 0)));

        label = (label + 1 + step) % series->phases;
        for (; i < ends[k]; i++)
            series->label[i] = label;
    }
    free(ends);
}

static double draw_noise(enum phase_noise noise, uint64_t *random, double before, double scale)
{
    switch (noise) {
    case AR:
        return ar(random, AR_PHI, before);
    case STUDENT:
        return student3(random);
    case OUTLIERS:
        if (rps_random_unit(random) < 0.01)
            return 10 * normal(random) + (rps_random_unit(random) < 0.5 ? 20 : -20);
        return normal(random);
    case VARIANCE:
        return scale * normal(random);
    case CORRELATED:
        return sqrt(1 - CORRELATED_SHARE) * normal(random);
    default:
        return normal(random);
    }
}

static void fill_signals(uint64_t *random, struct phase_series *series)
{
    size_t n = series->signals.count;

    for (size_t j = 0; j < series->signals.signal_count; j++) {
        double *x = series->signals.value + j * n, noise = normal(random);

        for (size_t i = 0; i < n; i++) {
            int label = series->label[i];

            noise = draw_noise(series->noise, random, noise, series->scale[label]);
            x[i] = series->noise == MASKED && i % MASKED_IN != j % MASKED_IN
                       ? NAN
                       : series->mean[label][j] + noise;
        }
    }
}

static void add_shared_factor(uint64_t *random, struct phase_series *series)
{
    size_t n = series->signals.count;

    for (size_t i = 0; i < n; i++) {
        double shared = sqrt(CORRELATED_SHARE) * normal(random);

        for (size_t j = 0; j < series->signals.signal_count; j++)
            series->signals.value[j * n + i] += shared;
    }
}

void phase_series_draw(double deviation, size_t d, uint64_t *random, double *ret)
{
    for (size_t j = 0; j < d; j++)
        ret[j] = deviation * normal(random);
}

void phase_series_make(const struct phase_draft *draft, struct phase_series *ret)
{
    uint64_t random = draft->seed;

    init(ret, draft->n, draft->d);
    ret->noise = draft->noise;
    ret->phases = draft->segments == 1 ? 1 : 3 + (int)(6 * rps_random_unit(&random));
    for (int p = 0; p < ret->phases; p++) {
        ret->scale[p] = 0.5 + 1.5 * rps_random_unit(&random);
        phase_series_draw(draft->delta, draft->d, &random, ret->mean[p]);
    }
    draw_labels(draft, &random, ret);
    fill_signals(&random, ret);
    if (draft->noise == CORRELATED)
        add_shared_factor(&random, ret);
}

void phase_series_run(const struct phase_program *program, enum phase_noise noise, size_t d,
                      uint64_t seed, struct phase_series *ret)
{
    size_t n = 0, i = 0;

    for (size_t t = 0; t < program->turns; t++)
        n += program->turn[t].length;
    init(ret, n, d);
    ret->noise = noise;
    ret->phases = program->kinds;
    memcpy(ret->mean, program->mean, sizeof(ret->mean));
    for (int p = 0; p < ret->phases; p++)
        ret->scale[p] = 1;
    for (size_t t = 0; t < program->turns; t++)
        for (size_t k = 0; k < program->turn[t].length; k++)
            ret->label[i++] = program->turn[t].kind;
    fill_signals(&seed, ret);
    i = 0;
    for (size_t t = 0; t < program->turns; t++)
        for (size_t k = 0; k < program->turn[t].length; k++)
            ret->label[i++] = (int)t;
}

void phase_series_free(struct phase_series *series)
{
    rps_signals_free(&series->signals);
    free(series->label);
    memset(series, 0, sizeof(*series));
}

/* --- series without phases -------------------------------------------------------------------- */

static void fill_lognormal(uint64_t *random, double sigma, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = exp(sigma * normal(random));
}

static void fill_ar(uint64_t *random, double phi, double *x, size_t n)
{
    double value = normal(random);

    for (size_t i = 0; i < n; i++)
        x[i] = value = ar(random, phi, value);
}

static void fill_walk(uint64_t *random, double step, double *x, size_t n)
{
    double value = 0;

    for (size_t i = 0; i < n; i++)
        x[i] = value += step * normal(random);
}

/* Fill a series with a random walk plus noise. */
static void fill_noisy_walk(uint64_t *random, double step, double *x, size_t n)
{
    fill_walk(random, step, x, n);
    for (size_t i = 0; i < n; i++)
        x[i] += normal(random);
}

/* Fill a series with AR(1) processes of several time scales, up to 1 / (1 - the longest phi), with
 * equal variances. */
static void fill_scales(uint64_t *random, double longest, double *x, size_t n)
{
    const double phi[] = {0.5, 0.9, 0.99, longest};
    double value[] = {normal(random), normal(random), normal(random), normal(random)};

    for (size_t i = 0; i < n; i++) {
        x[i] = 0;
        for (int k = 0; k < 4; k++)
            x[i] += value[k] = ar(random, phi[k], value[k]);
    }
}

static void fill_line(uint64_t *random, double rise, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = rise * (double)i / (double)n + normal(random);
}

static void fill_sine(uint64_t *random, double period, double *x, size_t n)
{
    double phase = 2 * PI * rps_random_unit(random);

    for (size_t i = 0; i < n; i++)
        x[i] = 2 * sin(phase + 2 * PI * (double)i / period) + normal(random);
}

/* Fill a series with a sine wave of `periods` periods. */
static void fill_slow(uint64_t *random, double periods, double *x, size_t n)
{
    fill_sine(random, (double)n / periods, x, n);
}

static void fill_poisson(uint64_t *random, double mean, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = poisson(random, mean);
}

static void fill_root_poisson(uint64_t *random, double mean, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = sqrt(poisson(random, mean));
}

const struct phase_null phase_nulls[] = {
    {"white", NULL, 0, WHITE},
    {"t3", NULL, 0, STUDENT},
    {"outliers", NULL, 0, OUTLIERS},
    {"masked", NULL, 0, MASKED},
    {"correlated", NULL, 0, CORRELATED},
    {"lognormal", fill_lognormal, 1, WHITE},
    {"AR .5", fill_ar, 0.5, WHITE},
    {"AR .8", fill_ar, 0.8, WHITE},
    {"AR .95", fill_ar, 0.95, WHITE},
    {"walk", fill_walk, 1, WHITE},
    {"noisy walk .1", fill_noisy_walk, 0.1, WHITE},
    {"noisy walk .3", fill_noisy_walk, 0.3, WHITE},
    {"sum of ARs", fill_scales, 0.999, WHITE},
    {"line", fill_line, 5, WHITE},
    {"slow sine", fill_slow, 1, WHITE},
    {"sine of 4", fill_sine, 4, WHITE},
    {"sine of 20", fill_sine, 20, WHITE},
    {"sine of 200", fill_sine, 200, WHITE},
    {"Poisson .3", fill_poisson, 0.3, WHITE},
    {"Poisson 3", fill_poisson, 3, WHITE},
    {"root of Poisson .3", fill_root_poisson, 0.3, WHITE},
    {"root of Poisson 3", fill_root_poisson, 3, WHITE},
    {NULL, NULL, 0, WHITE},
};

void phase_series_make_null(const struct phase_null *null, size_t n, size_t d, uint64_t seed,
                            struct phase_series *ret)
{
    struct phase_draft draft = {.noise = null->noise, .n = n, .d = d, .segments = 1, .seed = seed};

    if (!null->fill) {
        phase_series_make(&draft, ret);
        return;
    }
    init(ret, n, d);
    for (size_t j = 0; j < d; j++)
        null->fill(&seed, null->number, ret->signals.value + j * n, n);
}
