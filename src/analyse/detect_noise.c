/* Residuals of a segmentation: their variance and their correlation at lag one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect_choose.h"
#include "detect_math.h"

/* Correlation above this is taken for this: a random walk. */
#define ECHO_MAX 0.9999

/* Variances below this, in units of noise, are rounding. */
#define VARIANCE_LEAST 1e-12

/* Sums of one signal. */
struct residual {
    struct rps_fit fit;             /* of the present segment */
    double before;                  /* the residual before */
    int any;                        /* was there one, in this segment? */
    double count, squares;          /* the latter weighted */
    double pairs, products, energy; /* of neighbours; squares without weights */
    double ends;                    /* squares of each segment's first and last */
};

void rps_noise_free(struct rps_noise *noise)
{
    free(noise->product);
    free(noise->inner);
    free(noise->echo);
    free(noise->variance);
    free(noise->count);
    memset(noise, 0, sizeof(*noise));
}

int rps_noise_make(const struct rps_observed *observed, struct rps_noise *ret,
                   struct rps_error *err)
{
    ret->count = calloc(observed->width + 1, sizeof(*ret->count));
    ret->variance = calloc(observed->width + 1, sizeof(*ret->variance));
    ret->echo = calloc(observed->width + 1, sizeof(*ret->echo));
    ret->inner = calloc(observed->width + 1, sizeof(*ret->echo));
    ret->product = calloc(observed->width + 1, sizeof(*ret->echo));
    if (ret->count && ret->variance && ret->echo && ret->inner && ret->product)
        return 0;
    rps_noise_free(ret);
    return rps_error_memory(err);
}

static double part_of(const struct rps_observed *observed, size_t at)
{
    return observed->share ? observed->share[at] * (1.0 / RPS_OBSERVED_WHOLE) : 1;
}

static void fit(const struct rps_observed *observed, const struct rps_cuts *cuts, size_t k,
                struct residual *residual)
{
    size_t width = observed->width, from = cuts->first[k], to = cuts->first[k + 1];

    for (size_t s = 0; s < width; s++) {
        struct residual *r = &residual[s];
        size_t a = from * width + s, b = to * width + s;

        double mass = observed->mass ? (double)(uint32_t)(observed->mass[b] - observed->mass[a]) /
                                           RPS_OBSERVED_WHOLE
                                     : (double)(to - from);

        r->fit = (struct rps_fit){mass > 0 ? (observed->sum[b] - observed->sum[a]) / mass : 0, 0};
        if (cuts->sloped[k])
            r->fit = rps_cuts_fit(observed, cuts, k, s);
        r->any = 0;
        r->before = 0;
    }
}

/* The loop that takes the time: constants, everything seen. The sums stand side by side in `room`,
 * so that the compiler takes several signals a step. */
static void add_whole(const struct rps_observed *observed, size_t from, size_t to, double *room,
                      struct residual *residual)
{
    size_t width = observed->width;
    double *restrict level = room, *restrict before = room + width;
    double *restrict squares = room + 2 * width, *restrict products = room + 3 * width;

    for (size_t s = 0; s < width; s++) {
        level[s] = residual[s].fit.level;
        before[s] = squares[s] = products[s] = 0;
    }
    for (size_t i = from; i < to; i++) {
        const double *restrict value = observed->value + i * width;

        for (size_t s = 0; s < width; s++) {
            double left = value[s] - level[s];

            squares[s] += left * left;
            products[s] += left * before[s];
            before[s] = left;
        }
    }
    for (size_t s = 0; s < width; s++) {
        double first = observed->value[from * width + s] - level[s];

        residual[s].ends += first * first + before[s] * before[s];
        residual[s].squares += squares[s];
        residual[s].energy += squares[s];
        residual[s].products += products[s];
        residual[s].count += (double)(to - from);
        residual[s].pairs += (double)(to - from) - 1;
    }
}

static void add_any(const struct rps_observed *observed, size_t from, size_t to,
                    struct residual *residual)
{
    size_t width = observed->width;

    for (size_t i = from; i < to; i++) {
        for (size_t s = 0; s < width; s++) {
            struct residual *r = &residual[s];
            double part = part_of(observed, i * width + s), left;

            if (!(part > 0))
                continue;
            left = observed->value[i * width + s] - r->fit.level - r->fit.slope * (double)i;
            r->count += 1;
            r->squares += part * left * left;
            r->energy += left * left;
            r->pairs += r->any;
            if (!r->any)
                r->ends += left * left;
            r->products += r->any * left * r->before;
            r->before = left;
            r->any = 1;
        }
    }
    for (size_t s = 0; s < width; s++)
        residual[s].ends += residual[s].before * residual[s].before;
}

int rps_noise_measure(const struct rps_observed *observed, const struct rps_cuts *cuts,
                      struct rps_noise *noise, struct rps_error *err)
{
    struct residual *residual = calloc(observed->width + 1, sizeof(*residual));
    double *room = calloc(4 * observed->width + 1, sizeof(*room));

    if (!residual || !room) {
        free(room);
        free(residual);
        return rps_error_memory(err);
    }
    for (size_t k = 0; k < cuts->count; k++) {
        size_t from = cuts->first[k], to = cuts->first[k + 1];

        fit(observed, cuts, k, residual);
        if (observed->share || cuts->sloped[k])
            add_any(observed, from, to, residual);
        else
            add_whole(observed, from, to, room, residual);
    }
    for (size_t s = 0; s < observed->width; s++) {
        const struct residual *r = &residual[s];
        double variance = r->count > 0 ? r->squares / r->count : 0, echo = 0;

        variance = fmax(variance, observed->least[s]);
        if (r->pairs > 0 && variance > VARIANCE_LEAST) {
            double energy = fmax(r->energy, observed->least[s] * r->count);

            noise->inner[s] = 1 - r->ends / energy;
            noise->product[s] = r->products / energy;
            if (noise->inner[s] > 0)
                echo = noise->product[s] / noise->inner[s];
        } else {
            noise->inner[s] = noise->product[s] = 0;
        }
        noise->count[s] = r->count;
        noise->variance[s] = variance;
        noise->echo[s] = fmin(fmax(echo, 0), ECHO_MAX);
    }
    free(room);
    free(residual);
    return 0;
}

double rps_noise_echo(const struct rps_observed *observed, const struct rps_noise *noise)
{
    size_t width = observed->width, below = 0;

    /* The signal that half of the others are below: no copy needed, and there are few signals. */
    for (size_t s = 0; s < width; s++) {
        below = 0;
        for (size_t t = 0; t < width; t++)
            below += noise->echo[t] < noise->echo[s] || (noise->echo[t] <= noise->echo[s] && t < s);
        if (below == width / 2)
            return noise->echo[s];
    }
    return 0;
}

int rps_noise_none(const struct rps_observed *observed, struct rps_noise *ret,
                   struct rps_error *err)
{
    struct rps_cuts cuts = {0};
    int result = rps_noise_make(observed, ret, err);

    if (result == 0)
        result = rps_cuts_at(observed, NULL, &cuts, err);
    if (result == 0)
        result = rps_noise_measure(observed, &cuts, ret, err);
    rps_cuts_free(&cuts);
    if (result < 0)
        rps_noise_free(ret);
    return result;
}

/* What fitting so many numbers to `count` values of noise gains, beyond one for each: fitting many
 * to few makes the rest look calm. The second part is how much smaller the logarithm of a variance
 * is than that of its expectation. */
static double overfit(double count, double fitted)
{
    double left = count - fitted;

    if (fitted <= 1)
        return 0;
    return left > 1 ? count * log(count / left) - fitted + count / left - 1 : INFINITY;
}

/* Innovations of an autoregressive process. What the least variance adds to a signal's noise does
 * not wander: as far as there is nothing else, steps are not explained by wandering; but the longer
 * a correlation was seen, the less it is taken for chance. */
static double innovation_variance(const struct rps_observed *observed, const struct rps_noise *none,
                                  const struct rps_noise *noise, size_t s)
{
    double tau = (1 + none->echo[s]) / (1 - none->echo[s]);
    double still = fmin(observed->least[s] / observed->unit, 1) * tau / (tau + noise->count[s]);
    double echo = (1 - still) * noise->echo[s];

    return fmax(noise->variance[s] *
                    (1 - 2 * echo * noise->product[s] + echo * echo * noise->inner[s]),
                observed->least[s]);
}

double rps_noise_fit(const struct rps_observed *observed, const struct rps_noise *none,
                     const struct rps_noise *noise, size_t fitted)
{
    double total = 0;

    for (size_t s = 0; s < observed->width; s++) {
        double count = noise->count[s], innovation = innovation_variance(observed, none, noise, s);

        if (none->variance[s] > 0)
            total += count * log(fmax(innovation / none->variance[s], RPS_NOISE_VARIANCE_MIN)) +
                     overfit(count, (double)fitted);
    }
    return total * observed->freedom / (double)observed->width;
}

struct rps_fit rps_cuts_fit(const struct rps_observed *observed, const struct rps_cuts *cuts,
                            size_t k, size_t signal)
{
    size_t from = cuts->first[k], to = cuts->first[k + 1];
    double middle = ((double)from + (double)to - 1) / 2;
    double n = 0, sum = 0, time = 0, square = 0, moment = 0;
    struct rps_fit fit = {0, 0};

    for (size_t i = from; i < to; i++) {
        double part = part_of(observed, i * observed->width + signal), at = (double)i - middle;
        double value = observed->value[i * observed->width + signal];

        n += part;
        sum += part * value;
        time += part * at;
        square += part * at * at;
        moment += part * at * value;
    }
    if (!(n > 0))
        return fit;
    square -= time * time / n;
    if (cuts->sloped[k] && square > 0.5)
        fit.slope = (moment - time * sum / n) / square;
    fit.level = (sum - fit.slope * time) / n - fit.slope * middle;
    return fit;
}
