/*
 * The choice: of the segmentations along a path of prices, the one that a Bayesian information
 * criterion likes best.
 *
 * A penalty for white noise, with the noise estimated from differences, finds twenty changes in
 * series where people see two: what it takes for changes is the slow wandering of autocorrelated
 * noise. So the criterion counts the innovations of an autoregressive process: wandering that a
 * correlation explains needs no changes to explain it. The price per change in the criterion is the
 * one that white noise never reaches by chance.
 */
#include "detect_choose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect_math.h"

/* The path starts at this share of the price for white noise, and rises by this factor. */
#define PATH_START 0.35
#define PATH_STEP  1.25

/* Series with so many points are searched at all of them for each price. */
#define POINTS_SMALL 601

/* The path is left when the criterion has become worse so often in a row. */
#define WORSE_MAX 4

#define PRICE_LEVEL  1.5
#define SLOPE_FACTOR 1

/* A segmentation that the path came by. */
struct step {
    double price, criterion;
    int none; /* 1: it has no changes */
};

struct choosing {
    const struct rps_points *points;
    size_t min_length;
    const struct rps_noise *none; /* of no changes */
    struct rps_noise present;     /* owned */
    struct step *step;            /* owned */
    size_t count, room;           /* of steps */
    size_t best;
};

double rps_choose_price(const struct rps_observed *observed, size_t number)
{
    return rps_noise_bound(observed->freedom,
                           log((double)observed->count / (double)number) + PRICE_LEVEL);
}

static double first_price(const struct choosing *choosing)
{
    return PATH_START * rps_choose_price(choosing->points->observed, 1);
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
    struct rps_prices prices = prices_of(choosing, rps_choose_price(observed, 1));
    double changes = 0;

    for (size_t k = 1; k <= cuts->free; k++)
        changes += rps_choose_price(observed, k);
    return rps_noise_fit(observed, choosing->none, &choosing->present,
                         cuts->count + cuts->sloped_count) +
           changes + prices.slope * (double)cuts->sloped_count;
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
        (struct step){.price = price,
                      .criterion = find_criterion(choosing, cuts),
                      .none = cuts->free == 0 && cuts->sloped_count == 0};
    if (choosing->step[choosing->count].criterion <=
        choosing->step[choosing->best].criterion + 1e-9)
        choosing->best = choosing->count;
    choosing->count++;
    return 0;
}

/* From fine to coarse, until it gets worse, and without changes. points may be those of the finest
 * segmentation only. */
static int walk(struct choosing *choosing, const struct rps_points *points, struct rps_error *err)
{
    size_t free_count = SIZE_MAX, sloped_count = SIZE_MAX, worse = 0;
    int result = 0, done = 0;

    for (double price = first_price(choosing); result == 0 && !done; price *= PATH_STEP) {
        struct rps_prices prices = prices_of(choosing, price);
        struct rps_cuts cuts = {0};

        if (worse < WORSE_MAX)
            result = rps_cuts_search(points, &prices, &cuts, err);
        else
            result = rps_cuts_at(points->observed, NULL, &cuts, err);
        done = cuts.free == 0 && cuts.sloped_count == 0;
        if (result == 0 && (cuts.free != free_count || cuts.sloped_count != sloped_count)) {
            result = add_step(choosing, price, &cuts, err);
            worse = choosing->best + 1 == choosing->count ? 0 : worse + 1;
        }
        free_count = cuts.free;
        sloped_count = cuts.sloped_count;
        rps_cuts_free(&cuts);
    }
    return result;
}

/* The finest segmentation: its points, and the noise it leaves in choosing->present. */
static int thin(struct choosing *choosing, struct rps_points *ret, struct rps_error *err)
{
    const struct rps_points *points = choosing->points;
    struct rps_prices prices = prices_of(choosing, first_price(choosing));
    struct rps_cuts cuts = {0};
    int all = points->count <= POINTS_SMALL &&
              (double)points->count * (double)points->count * (double)points->observed->width <
                  RPS_POINTS_WORK_MAX;
    uint8_t *keep = calloc(points->count, 1);
    int result = keep ? rps_cuts_search(points, &prices, &cuts, err) : rps_error_memory(err);

    if (result == 0) {
        for (size_t p = 0, k = 0; p < points->count; p++) {
            keep[p] = all || points->at[p] == cuts.first[k];
            k += points->at[p] == cuts.first[k];
        }
        result = rps_points_subset(points, keep, ret, err);
    }
    if (result == 0)
        result = rps_noise_measure(points->observed, &cuts, &choosing->present, err);
    rps_cuts_free(&cuts);
    free(keep);
    return result;
}

static int choose(struct choosing *choosing, struct rps_points *points, struct rps_points *few,
                  struct rps_error *err)
{
    int result = thin(choosing, few, err);

    if (result == 0) {
        rps_noise_set_gains(choosing->none, &choosing->present, points->observed);
        rps_points_add_up(points);
        rps_points_add_up(few);
        result = walk(choosing, few, err);
    }
    return result;
}

int rps_choose(struct rps_points *points, const struct rps_noise *none, size_t min_length,
               struct rps_choice *ret, struct rps_points *ret_few, struct rps_error *err)
{
    struct rps_points few = {0};
    struct choosing choosing = {.points = points, .none = none, .min_length = min_length};
    int result = rps_noise_make(points->observed, &choosing.present, err);

    if (result == 0)
        result = choose(&choosing, points, &few, err);
    if (result == 0) {
        const struct step *best = &choosing.step[choosing.best];

        ret->prices = prices_of(&choosing, best->price);
        ret->none = best->none;
        ret->criterion = best->criterion;
        *ret_few = few;
    } else {
        rps_points_free(&few);
    }
    free(choosing.step);
    rps_noise_free(&choosing.present);
    return result;
}
