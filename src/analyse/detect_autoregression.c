/* Measure the residuals of a segmentation: their variance and their lag-one autocorrelation. */
#include <math.h>

#include "detect_pelt.h"

/* Maximum autocorrelation. Residuals with this autocorrelation are a random walk. */
#define AUTOCORRELATION_MAX 0.9999

/* In some signals, values are constant between steps. In these signals, an autocorrelation has half
 * of its weight if the signal has TIMES_KNOWN * tau values. */
#define TIMES_KNOWN 40

/* Minimum variance in noise units. Smaller variances are rounding errors. */
#define VARIANCE_MIN 1e-12

/* Residuals of a segmentation. Each array has one value per signal, so that the compiler can
 * process several signals per step. */
struct residuals {
    double *level, *slope;            /* the line of each signal in the current segment */
    double *before;                   /* the previous residual, or 0 for the first */
    double *fresh;                    /* 1: no residual of the current segment was added yet */
    double *count, *squares;          /* number of values, weighted sum of squares */
    double *fitted;                   /* number of parameters, only of segments with values */
    double *energy, *products, *ends; /* unweighted sums: squares, products of neighbours,
                                         squares of each segment's first and last residual */
};

static void residuals_make(struct rps_arena *arena, struct residuals *r, size_t width)
{
    double **array[] = {&r->level,   &r->slope,  &r->before, &r->fresh,    &r->count,
                        &r->squares, &r->fitted, &r->energy, &r->products, &r->ends};

    for (size_t k = 0; k < sizeof(array) / sizeof(array[0]); k++)
        *array[k] = rps_arena_get(arena, width, sizeof(double));
}

/* Add the residuals of a segment. `plain` is 1 for a constant without missing values. Because
 * `plain` is a compile-time constant, the compiler generates a faster function for this case. */
static inline void add(const struct rps_observed *observed, size_t from, size_t to,
                       struct residuals *r, int plain)
{
    size_t width = observed->width;
    const double *restrict level = r->level;
    double *restrict before = r->before, *restrict fresh = r->fresh;
    double *restrict count = r->count, *restrict squares = r->squares;
    double *restrict energy = r->energy, *restrict products = r->products, *restrict ends = r->ends;

    for (size_t s = 0; plain && s < width; s++) {
        double first = observed->value[from * width + s] - r->level[s];

        count[s] += (double)(to - from);
        ends[s] += first * first;
        energy[s] -= squares[s];
    }
    for (size_t i = from; i < to; i++) {
        const double *restrict value = observed->value + i * width;

        for (size_t s = 0; s < width; s++) {
            double left = value[s] - level[s] - (plain ? 0 : r->slope[s] * (double)i), part = 1;

            if (!plain) {
                if (observed->weight && observed->weight[i * width + s] == 0)
                    continue;
                part = rps_observed_part(observed, i * width + s);
                count[s] += 1;
                energy[s] += left * left;
                ends[s] += fresh[s] * left * left;
                fresh[s] = 0;
            }
            squares[s] += part * left * left;
            products[s] += left * before[s];
            before[s] = left;
        }
    }
    for (size_t s = 0; plain && s < width; s++)
        energy[s] += squares[s];
}

static void add_segment(const struct rps_observed *observed,
                        const struct rps_segmentation *segmentation, size_t k, struct residuals *r)
{
    const int is_constant = !observed->weight && !segmentation->sloped[k];

    for (size_t s = 0; s < observed->width; s++) {
        struct rps_fit fit = rps_segmentation_fit(observed, segmentation, k, s);

        r->level[s] = fit.level;
        r->slope[s] = fit.slope;
        r->before[s] = 0;
        r->fresh[s] = 1;
    }
    if (is_constant)
        add(observed, segmentation->first[k], segmentation->first[k + 1], r, 1);
    else
        add(observed, segmentation->first[k], segmentation->first[k + 1], r, 0);
    for (size_t s = 0; s < observed->width; s++) {
        r->ends[s] += r->before[s] * r->before[s];
        r->fitted[s] += is_constant || r->fresh[s] == 0 ? 1 + segmentation->sloped[k] : 0;
    }
}

void rps_noise_measure(const struct rps_observed *observed,
                       const struct rps_segmentation *segmentation, struct rps_noise *noise)
{
    struct rps_arena *scratch = rps_arena_new();
    struct residuals r;

    residuals_make(scratch, &r, observed->width);
    for (size_t k = 0; k < segmentation->count; k++)
        add_segment(observed, segmentation, k, &r);
    for (size_t s = 0; s < observed->width; s++) {
        double count = r.count[s], floor = observed->variance_floor[s];
        double raw = count > 0 ? r.squares[s] / count : 0, variance = fmax(raw, floor);
        double energy = fmax(r.energy[s], floor * count), autocorrelation = 0;

        noise[s] = (struct rps_noise){
            .count = count, .fitted = r.fitted[s], .variance = variance, .raw = raw};
        if (variance > VARIANCE_MIN) {
            noise[s].inner = 1 - r.ends[s] / energy;
            noise[s].product = r.products[s] / energy;
        }
        if (noise[s].inner > 0)
            autocorrelation = noise[s].product / noise[s].inner;
        noise[s].autocorrelation = fmin(fmax(autocorrelation, 0), AUTOCORRELATION_MAX);
    }
    rps_arena_free(scratch);
}

double rps_noise_innovation(const struct rps_noise *noise, double a)
{
    return (1 + a * a) * noise->raw +
           noise->variance * (a * a * (noise->inner - 1) - 2 * a * noise->product);
}

double rps_noise_autocorrelation(const struct rps_observed *observed, const struct rps_noise *noise)
{
    size_t width = observed->width, below = 0;

    /* Find the signal with the median value. Because there are few signals, each signal is compared
     * with all signals instead of sorting a copy. */
    for (size_t s = 0; s < width; s++) {
        below = 0;
        for (size_t t = 0; t < width; t++)
            below += noise[t].autocorrelation < noise[s].autocorrelation ||
                     (noise[t].autocorrelation <= noise[s].autocorrelation && t < s);
        if (below == width / 2)
            return noise[s].autocorrelation;
    }
    return 0;
}

void rps_noise_set_gains(const struct rps_noise *none, const struct rps_noise *noise,
                         struct rps_observed *observed)
{
    for (size_t s = 0; s < observed->width; s++) {
        double variance = noise[s].variance;
        int is_rounding = !(variance > RPS_NOISE_VARIANCE_MIN * none[s].variance);

        observed->gain[s] = is_rounding ? 1 : sqrt(observed->unit / variance);
    }
}

double rps_noise_overfit(double count, double fitted)
{
    double left = count - fitted;

    if (fitted <= 1)
        return 0;
    return left > 1 ? count * log(count / left) - fitted + count / left - 1 : INFINITY;
}

/* Return the credible part of a signal's autocorrelation. If the noise is close to its floor,
 * values are constant between steps. Then a few steps look like a random walk. So the
 * autocorrelation is limited to the value from differences of neighbours. The limit matters less
 * the longer the series is, in units of the process's time constant (tau). Without this rule,
 * rpistat would find only one phase in a program whose load rises in steps. In
 * tests/bench/programs, the F1 of fine phases would be .70 instead of .80. */
static double believed(const struct rps_observed *observed, const struct rps_noise *noise, size_t s)
{
    double tau = (1 + noise[s].autocorrelation) / (1 - noise[s].autocorrelation);
    double soon = TIMES_KNOWN * tau / (TIMES_KNOWN * tau + noise[s].count);
    double still = soon * fmin(observed->variance_floor[s] / observed->unit, 1);
    double known = fmin(noise[s].autocorrelation, observed->correlation[s]);

    return (1 - still) * noise[s].autocorrelation + still * known;
}

int rps_noise_counts(const struct rps_noise *none, const struct rps_noise *noise)
{
    return none->variance > 0 && noise->count > noise->fitted + 1;
}

double rps_noise_fit(const struct rps_observed *observed, const struct rps_noise *none,
                     const struct rps_noise *noise)
{
    double total = 0;

    for (size_t s = 0; s < observed->width; s++) {
        double count = noise[s].count;
        double innovation = rps_noise_innovation(&noise[s], believed(observed, noise, s));

        if (rps_noise_counts(&none[s], &noise[s])) {
            double variance = fmax(fmax(innovation, observed->variance_floor[s]),
                                   RPS_NOISE_VARIANCE_MIN * none[s].variance);

            /* Twice the logarithm of the normal density. The variance is not below the floor. */
            total += count * (log(variance / none[s].variance) + innovation / variance - 1) +
                     rps_noise_overfit(count, noise[s].fitted);
        }
    }
    return total * observed->degrees_of_freedom / (double)observed->width;
}

struct rps_fit rps_segmentation_fit(const struct rps_observed *observed,
                                    const struct rps_segmentation *segmentation, size_t k,
                                    size_t signal)
{
    size_t from = segmentation->first[k], to = segmentation->first[k + 1];
    double middle = ((double)from + (double)to - 1) / 2;
    double n = rps_observed_weight(observed, from, to, signal), time = 0, square = 0, moment = 0;
    struct rps_fit fit = {rps_observed_mean(observed, from, to, signal), 0};

    if (!segmentation->sloped[k] || !(n > 0))
        return fit;
    for (size_t i = from; i < to; i++) {
        double part = rps_observed_part(observed, i * observed->width + signal);
        double at = (double)i - middle;

        time += part * at;
        square += part * at * at;
        moment += part * at * observed->value[i * observed->width + signal];
    }
    square -= time * time / n;
    if (square > 0.5)
        fit.slope = (moment - time * fit.level) / square;
    fit.level -= fit.slope * (time / n + middle);
    return fit;
}
