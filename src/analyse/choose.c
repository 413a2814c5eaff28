/*
 * The number of changes. On real series the noise model decides between a good and a bad default,
 * not the search: noise measured on differences and a penalty for white noise finds 21 changes
 * where people see two.
 */
#include "choose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Penalties of the path, as multiples of the one for white noise. */
static const double path[] = {0.6, 0.8, 1, 1.4, 2, 3, 4.5, 7, 10, 15, 25, 40, 70, 120, 250, 600};

/* Share of the penalty for white noise that a two-window statistic must reach. */
#define SCREEN_SHARE 0.45

#define PATH_COUNT (sizeof(path) / sizeof(path[0]))

/* What a change costs in the criterion: a share of the penalty for white noise, and more for short
 * series, whose noise is known badly and never quite AR(1). Chosen on synthetic series
 * (tests/bench/phases): less finds changes in Student's noise, more loses weak ones. */
#define CHANGE_SHARE 0.5
#define CHANGE_SHORT 40

/* Share of the penalty for white noise that a two-window statistic must reach. */
#define SCREEN_SHARE 0.45

#define PATH_COUNT (sizeof(path) / sizeof(path[0]))

/* Weight of a change in the criterion, against the penalty for white noise. */
#ifndef CHANGE_WEIGHT
#define CHANGE_WEIGHT 1.0
#endif

/* All places are looked at when that takes no more steps (pairs of places x signals). */
#define EVERYWHERE_STEPS 4e6

/* Longest series for which linear segments are tried. */
#define LINEAR_COUNT_MAX 50000

/* How far a boundary is moved when it is refined. */
#define REFINE_REACH 512

/* Parts of a signal's variance below which its residuals do not get. */
#define VARIANCE_FLOOR 1e-6

struct candidate {
    struct rps_cuts cuts;
    double penalty, score;
    int linear;
};

static double seen_weight(const struct rps_prepared *p, size_t j, size_t from, size_t to)
{
    size_t d = p->signal_count;

    return p->weight ? p->weight_sum[to * d + j] - p->weight_sum[from * d + j]
                     : (double)(to - from);
}

/* Sum of squares around the means, and of products of neighbours in a segment, of signal j. */
static void constant_residuals(const struct rps_prepared *p, const struct rps_cuts *cuts, size_t j,
                               double *ret_squares, double *ret_products)
{
    size_t d = p->signal_count;
    double squares = p->square[j], products = 0;

    for (size_t k = 0; k < cuts->count; k++) {
        size_t from = cuts->start[k], to = rps_cuts_end(cuts, k, p->count);
        double weight = seen_weight(p, j, from, to), mean,
               sum = p->sum[to * d + j] - p->sum[from * d + j];

        if (weight <= 1e-9)
            continue;
        mean = sum / weight;
        squares -= sum * mean;
        if (!p->weight)
            products += p->lag_sum[to * d + j] - p->lag_sum[(from + 1) * d + j] -
                        mean * (2 * sum - p->value[from * d + j] - p->value[(to - 1) * d + j]) +
                        (weight - 1) * mean * mean;
    }
    *ret_squares = squares;
    *ret_products = products;
}

/* The line through a segment of signal j: value at time 0, and slope. */
static void fit_line(const struct rps_prepared *p, size_t j, size_t from, size_t to,
                     double *ret_base, double *ret_slope)
{
    size_t d = p->signal_count, a = from * d + j, b = to * d + j;
    double weight = seen_weight(p, j, from, to), sum = p->sum[b] - p->sum[a],
           length = (double)(to - from);
    double time = (0.5 * (double)(from + to - 1) - 0.5 * (double)p->count) * length;
    double spread = length * (length * length - 1) / 12, slope = 0;

    if (p->weight) {
        time = p->weight_time[b] - p->weight_time[a];
        spread = p->weight_square[b] - p->weight_square[a] - time * time / fmax(weight, 1e-9);
    }
    if (weight > 1e-9 && spread > 0.5)
        slope = (p->time_sum[b] - p->time_sum[a] - time * sum / weight) / spread;
    *ret_slope = slope;
    *ret_base = weight > 1e-9 ? (sum - slope * time) / weight : 0;
}

static void linear_residuals(const struct rps_prepared *p, const struct rps_cuts *cuts, size_t j,
                             double *ret_squares, double *ret_products)
{
    size_t d = p->signal_count;
    double squares = 0, products = 0;

    for (size_t k = 0; k < cuts->count; k++) {
        size_t from = cuts->start[k], to = rps_cuts_end(cuts, k, p->count);
        double base, slope, before = 0;

        fit_line(p, j, from, to, &base, &slope);
        for (size_t i = from; i < to; i++) {
            double weight = p->weight ? p->weight[i * d + j] : 1, residual;

            residual = p->value[i * d + j] - base - slope * ((double)i - 0.5 * (double)p->count);
            squares += weight * residual * residual;
            if (i > from && !p->weight)
                products += residual * before;
            before = residual;
        }
    }
    *ret_squares = squares;
    *ret_products = products;
}

/* Variance of the residuals of signal j and their autocorrelation. */
static double residual_variance(const struct rps_prepared *p, const struct candidate *c, size_t j,
                                double *ret_phi)
{
    double squares, products, n = fmax(seen_weight(p, j, 0, p->count), 1);
    double total = p->square[j] / n, pairs = (double)(p->count - c->cuts.count);

    (c->linear ? linear_residuals : constant_residuals)(p, &c->cuts, j, &squares, &products);
    *ret_phi = squares > 0 && pairs > 0 ? products / squares : 0;
    /* means that were fitted to few values follow them: what they took from the correlation */
    if (!p->weight)
        *ret_phi += (double)c->cuts.count * (c->linear ? 2 : 1) / n * (1 + *ret_phi);
    *ret_phi = fmax(0, fmin(*ret_phi, 0.98));
    return fmax(squares / n, VARIANCE_FLOOR * total + 1e-300);
}

/* --- the path --------------------------------------------------------------------------------- */

static double white_penalty(const struct rps_prepared *p, int linear)
{
    double d = (double)p->signal_count * (linear ? 2 : 1), l = log((double)p->count);

    return d + 2 * sqrt(d * l) + 2 * l;
}

static double score(const struct rps_prepared *p, const struct candidate *c)
{
    double sum = 0, d = (double)p->signal_count, n = (double)p->count;

    for (size_t j = 0; j < p->signal_count; j++) {
        double phi, variance = residual_variance(p, c, j, &phi);

        sum += 0.5 * seen_weight(p, j, 0, p->count) * log(variance * (1 - phi * phi));
    }
    if (c->linear) /* slopes */
        sum += 0.5 * d * log(n) * (double)c->cuts.count;
    return sum + (CHANGE_SHARE * white_penalty(p, 0) + CHANGE_SHORT / sqrt(n)) *
                     (double)(c->cuts.count - 1);
}

static int run_path(struct rps_search *search, int linear, struct candidate *candidate,
                    size_t *count, struct rps_error *err)
{
    const struct rps_prepared *p = search->prepared;
    int rc = 0;

    search->cost = linear ? rps_prepared_cost_linear : rps_prepared_cost;
    for (size_t k = 0; k < PATH_COUNT && rc == 0; k++) {
        struct candidate *c = &candidate[*count];

        *c = (struct candidate){.linear = linear, .penalty = path[k] * white_penalty(p, linear)};
        rc = rps_search_run(search, c->penalty, &c->cuts, err);
        if (rc < 0)
            break;
        if (*count > 0 && c[-1].linear == linear && c[-1].cuts.count == c->cuts.count) {
            rps_cuts_free(&c->cuts); /* the same once more */
            continue;
        }
        c->score = score(p, c);
        ++*count;
        if (c->cuts.count <= 1)
            break;
    }
    return rc;
}

static size_t best_of(const struct candidate *candidate, size_t count)
{
    size_t best = 0;

    for (size_t k = 1; k < count; k++)
        if (candidate[k].score < candidate[best].score)
            best = k;
    return best;
}

/* So many steps along the path, on which penalties rise, among segmentations of the same kind. */
static size_t walk(const struct candidate *candidate, size_t count, size_t from, int sensitivity)
{
    for (; sensitivity > 0 && from > 0 && candidate[from - 1].linear == candidate[from].linear;
         sensitivity--)
        from--;
    for (; sensitivity < 0 && from + 1 < count &&
           candidate[from + 1].linear == candidate[from].linear;
         sensitivity++)
        from++;
    return from;
}

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void describe_noise(const struct rps_prepared *p, const struct candidate *c,
                           struct rps_choice_of_cuts *ret)
{
    double phi[RPS_PREPARED_SIGNALS_MAX], deviation[RPS_PREPARED_SIGNALS_MAX];
    size_t d = p->signal_count;

    for (size_t j = 0; j < d; j++) {
        double variance = residual_variance(p, c, j, &phi[j]);

        deviation[j] = sqrt(variance * (1 + phi[j]) / (1 - phi[j]));
    }
    memcpy(ret->phi, phi, d * sizeof(*phi));
    qsort(phi, d, sizeof(*phi), compare_double);
    qsort(deviation, d, sizeof(*deviation), compare_double);
    ret->autocorrelation = phi[d / 2];
    ret->deviation = deviation[d / 2];
}

/* Would lines through the same segments be worth their slopes? Only then is it worth looking for
 * others. */
static int lines_help(const struct rps_prepared *p, const struct candidate *constant)
{
    struct candidate linear = *constant;

    linear.linear = 1;
    return score(p, &linear) < constant->score;
}

/* The optimum over all places instead of those that the screen left, at the penalty that was
 * chosen. */
static int make_exact(struct rps_prepared *p, const struct rps_detect_options *options,
                      struct candidate *chosen, struct rps_error *err)
{
    struct rps_search search;
    struct rps_cuts cuts;
    int rc = rps_search_open(&search, p, options->min_length, 1, 0, err);

    if (rc < 0)
        return rc;
    search.cost = chosen->linear ? rps_prepared_cost_linear : rps_prepared_cost;
    rc = rps_search_run(&search, chosen->penalty, &cuts, err);
    if (rc == 0) {
        rps_cuts_free(&chosen->cuts);
        chosen->cuts = cuts;
    }
    rps_search_close(&search);
    return rc;
}

/* The path with constant segments, and with linear ones where these may be better. */
static int run_paths(struct rps_search *search, struct rps_prepared *p, struct candidate *candidate,
                     size_t *count, struct rps_error *err)
{
    int rc = run_path(search, 0, candidate, count, err);

    if (rc == 0 && p->count <= LINEAR_COUNT_MAX) {
        rc = rps_prepared_add_times(p, err);
        if (rc == 0 && lines_help(p, &candidate[best_of(candidate, *count)]))
            rc = run_path(search, 1, candidate, count, err);
    }
    return rc;
}

int rps_choose_cuts(struct rps_prepared *p, const struct rps_detect_options *options,
                    struct rps_choice_of_cuts *ret, struct rps_error *err)
{
    struct candidate candidate[2 * PATH_COUNT], *chosen;
    double steps = 0.5 * (double)p->count * (double)p->count * (double)p->signal_count;
    int everywhere = steps <= EVERYWHERE_STEPS, rc;
    struct rps_search search;
    size_t count = 0;

    rc = rps_search_open(&search, p, options->min_length, everywhere,
                         SCREEN_SHARE * white_penalty(p, 0), err);
    if (rc < 0)
        return rc;
    rc = run_paths(&search, p, candidate, &count, err);
    if (rc == 0) {
        chosen =
            &candidate[walk(candidate, count, best_of(candidate, count), options->sensitivity)];
        search.cost = chosen->linear ? rps_prepared_cost_linear : rps_prepared_cost;
        if (options->exact && !everywhere)
            rc = make_exact(p, options, chosen, err);
        else if (!everywhere)
            rps_search_refine(&search, &chosen->cuts, REFINE_REACH);
    }
    if (rc == 0) {
        *ret = (struct rps_choice_of_cuts){
            .cuts = chosen->cuts, .penalty = chosen->penalty, .linear = chosen->linear};
        ret->objective =
            rps_cuts_cost(&search, &ret->cuts) + ret->penalty * (double)(ret->cuts.count - 1);
        describe_noise(p, chosen, ret);
        chosen->cuts = (struct rps_cuts){0};
    }
    for (size_t k = 0; k < count; k++)
        rps_cuts_free(&candidate[k].cuts);
    rps_search_close(&search);
    return rc;
}
