/*
 * The choice: of the segmentations along a path of prices, the one that a Bayesian information
 * criterion likes best.
 *
 * A penalty for white noise, with the noise estimated from differences, finds twenty changes in series
 * where people see two: what it takes for changes is the slow wandering of autocorrelated noise. So the
 * criterion counts the innovations of an autoregressive process: wandering that a correlation explains
 * needs no changes to explain it. The price per change in the criterion is the one that white noise
 * never reaches by chance.
 */
#include "detect_choose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect_math.h"

/* The path starts at this share of the price for white noise, and rises by this factor. */
#define PATH_START 0.5
#define PATH_STEP  1.25

/* Series with so many points are searched at all of them for each price. */
#define POINTS_SMALL 601

/* The path is left when the criterion has become worse so often in a row. */
#define WORSE_MAX 4

/* Variances below this share of the whole are rounding. */
#define VARIANCE_MIN 1e-12

#ifdef RPS_TUNE
double rps_tune[8] = {1, 1, 0, 0, 0, 0, 0, 0};
#define PRICE_FACTOR rps_tune[0]
#define SLOPE_FACTOR rps_tune[1]
#else
#define PRICE_FACTOR 1
#define SLOPE_FACTOR 1
#endif

/* A segmentation that the path came by. */
struct step {
    double price, criterion;
};

struct choosing {
    const struct rps_points *points;
    size_t min_length;
    struct rps_noise none;     /* owned; of no changes */
    struct rps_noise present;  /* owned */
    struct step *step;         /* owned */
    size_t count, room;        /* of steps */
    size_t best;
};

double rps_choose_price(const struct rps_observed *observed)
{
    return PRICE_FACTOR * rps_noise_bound(observed->freedom, log((double)observed->count));
}

static struct rps_prices prices_of(const struct choosing *choosing, double price)
{
    double freedom = choosing->points->observed->freedom;

    return (struct rps_prices){.change = price,
                               .slope = price * SLOPE_FACTOR * freedom / (freedom + 1),
                               .min_length = choosing->min_length};
}

static double find_criterion(const struct choosing *choosing, const struct rps_cuts *cuts)
{
    const struct rps_observed *observed = choosing->points->observed;
    double price = rps_choose_price(observed), total = 0;
    double slope = prices_of(choosing, price).slope;

    for (size_t s = 0; s < observed->width; s++) {
        double echo = choosing->present.echo[s], whole = choosing->none.variance[s];
        double count = (double)observed->count;

        if (observed->mass)
            count = (double)observed->mass[observed->count * observed->width + s] /
                    RPS_OBSERVED_WHOLE;
        if (whole > 0)
            total += count * log(fmax(choosing->present.variance[s] / whole, VARIANCE_MIN) *
                                 (1 - echo * echo));
    }
    return total * observed->freedom / (double)observed->width + price * (double)cuts->free +
           slope * (double)cuts->sloped_count;
}

static int add_step(struct choosing *choosing, double price, const struct rps_cuts *cuts,
                    struct rps_error *err)
{
    if (choosing->count == choosing->room) {
        size_t room = 2 * choosing->room + 16;
        struct step *step = realloc(choosing->step, room * sizeof(*step));

        if (!step)
            return rps_error_memory(err);
        choosing->step = step;
        choosing->room = room;
    }
    if (rps_noise_measure(choosing->points->observed, cuts, &choosing->present, err) < 0)
        return RPS_FAILED;
    choosing->step[choosing->count] =
        (struct step){.price = price, .criterion = find_criterion(choosing, cuts)};
    if (choosing->step[choosing->count].criterion <=
        choosing->step[choosing->best].criterion + 1e-9)
        choosing->best = choosing->count;
    choosing->count++;
    return 0;
}

/* From fine to coarse. points may be those of the finest segmentation only. */
static int walk(struct choosing *choosing, const struct rps_points *points, struct rps_error *err)
{
    double price = PATH_START * rps_choose_price(points->observed);
    size_t free_count = SIZE_MAX, sloped_count = SIZE_MAX, worse = 0;
    int result = 0, done = 0;

    while (result == 0 && !done) {
        struct rps_prices prices = prices_of(choosing, price);
        struct rps_cuts cuts = {0};

        result = rps_cuts_search(points, &prices, &cuts, NULL, err);
        if (result < 0)
            break;
        done = cuts.free == 0 && cuts.sloped_count == 0;
        if ((cuts.free != free_count || cuts.sloped_count != sloped_count) &&
            (worse < WORSE_MAX || done)) {
            result = add_step(choosing, price, &cuts, err);
            worse = choosing->best + 1 == choosing->count ? 0 : worse + 1;
        }
        free_count = cuts.free;
        sloped_count = cuts.sloped_count;
        price *= PATH_STEP;
        rps_cuts_free(&cuts);
    }
    return result;
}

/* Leave only the points of the finest segmentation. */
static int thin(const struct choosing *choosing, struct rps_points *ret, struct rps_error *err)
{
    const struct rps_points *points = choosing->points;
    struct rps_prices prices = prices_of(choosing, PATH_START * rps_choose_price(points->observed));
    struct rps_cuts cuts = {0};
    uint8_t *keep = calloc(points->count, 1);
    int result = keep ? rps_cuts_search(points, &prices, &cuts, NULL, err) : rps_error_memory(err);

    if (result == 0) {
        for (size_t p = 0, k = 0; p < points->count; p++) {
            if (points->at[p] == cuts.first[k]) {
                keep[p] = 1;
                k++;
            }
        }
        result = rps_points_subset(points, keep, ret, err);
    }
    rps_cuts_free(&cuts);
    free(keep);
    return result;
}

static int choose(struct choosing *choosing, struct rps_error *err)
{
    const struct rps_points *points = choosing->points;
    struct rps_points few = {0};
    struct rps_cuts none = {0};
    int result = rps_cuts_none(points->observed, &none, err);

    if (result == 0)
        result = rps_noise_measure(points->observed, &none, &choosing->none, err);
    rps_cuts_free(&none);
    if (result < 0)
        return RPS_FAILED;
    if (points->count <= POINTS_SMALL)
        return walk(choosing, points, err);
    result = thin(choosing, &few, err);
    if (result == 0)
        result = walk(choosing, &few, err);
    rps_points_free(&few);
    return result;
}

/* The noise that the chosen prices leave. */
static int measure_chosen(struct choosing *choosing, const struct rps_prices *prices,
                          struct rps_noise *noise, struct rps_error *err)
{
    struct rps_cuts cuts = {0};
    int result = rps_cuts_search(choosing->points, prices, &cuts, NULL, err);

    if (result == 0)
        result = rps_noise_measure(choosing->points->observed, &cuts, noise, err);
    rps_cuts_free(&cuts);
    return result;
}

int rps_choose(const struct rps_points *points, size_t min_length, int sensitivity,
               struct rps_choice *ret, struct rps_noise *noise, struct rps_error *err)
{
    struct choosing choosing = {.points = points, .min_length = min_length};
    int result = rps_noise_make(points->observed, &choosing.none, err);

    if (result == 0)
        result = rps_noise_make(points->observed, &choosing.present, err);
    if (result == 0)
        result = choose(&choosing, err);
    if (result == 0) {
        long long wanted = (long long)choosing.best - sensitivity;

        wanted = wanted < 0 ? 0 : wanted;
        if (wanted >= (long long)choosing.count)
            wanted = (long long)choosing.count - 1;
        ret->prices = prices_of(&choosing, choosing.step[wanted].price);
        ret->criterion = choosing.step[choosing.best].criterion;
        result = measure_chosen(&choosing, &ret->prices, noise, err);
    }
    free(choosing.step);
    rps_noise_free(&choosing.present);
    rps_noise_free(&choosing.none);
    return result;
}
