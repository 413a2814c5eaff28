/* Refining: move each boundary to the best place between the previous and the next boundary.
 *
 * The screened search puts boundaries at the maxima of windows. If a change is weak, the maximum is
 * a few observations away from the change. A boundary is moved by one observation per step, and
 * each step updates the cost of the two segments next to it. The same pass shows how far the
 * boundary could move at little cost. */
#include <string.h>

#include "detect_pelt.h"

/* Maximum move of a boundary per round, in observations. Nearby places are tried first. */
#define REACH_MAX   1024
#define REACH_FIRST 32

/* Sums of one signal in a segment. Times are relative to the boundary that moves. */
struct sums {
    double weight, time, square, value, moment;
};

struct walk {
    const struct rps_observed *observed;
    const struct rps_penalties *penalties;
    int lines;          /* 1: one of the two segments is a line */
    struct sums *left;  /* sums of the left segment, one per signal */
    struct sums *right; /* sums of the right segment, one per signal */
    double *cost;       /* cost of the boundary at 2 * REACH_MAX + 1 places */
};

static void add(const struct walk *walk, struct sums *sums, size_t at, double time, double sign)
{
    const struct rps_observed *observed = walk->observed;
    size_t width = observed->width;

    for (size_t s = 0; s < width; s++) {
        double value = observed->value[at * width + s] * observed->gain[s];
        double part = sign * rps_observed_part(observed, at * width + s);

        sums[s].weight += part;
        sums[s].value += part * value;
        if (walk->lines) {
            sums[s].time += part * time;
            sums[s].square += part * time * time;
            sums[s].moment += part * time * value;
        }
    }
}

static void fill(const struct walk *walk, struct sums *sums, size_t from, size_t to,
                 size_t boundary)
{
    const struct rps_observed *observed = walk->observed;
    size_t width = observed->width;

    memset(sums, 0, width * sizeof(*sums));
    if (walk->lines) {
        for (size_t i = from; i < to; i++)
            add(walk, sums, i, (double)i - (double)boundary, 1);
        return;
    }
    for (size_t s = 0; s < width; s++) {
        sums[s].weight = rps_observed_weight(observed, from, to, s);
        sums[s].value =
            sums[s].weight * rps_observed_mean(observed, from, to, s) * observed->gain[s];
    }
}

static double cost_of(const struct walk *walk, const struct sums *sums)
{
    double constant = 0, line = 0;

    for (size_t s = 0; s < walk->observed->width; s++) {
        const struct sums *sum = &sums[s];
        double square, moment;

        if (!(sum->weight > 0.03))
            continue;
        constant += sum->value * sum->value / sum->weight;
        if (!walk->lines || sum->weight < 3)
            continue;
        square = sum->square - sum->time * sum->time / sum->weight;
        moment = sum->moment - sum->time * sum->value / sum->weight;
        if (square > 0.5)
            line += moment * moment / square;
    }
    return line > walk->penalties->slope ? walk->penalties->slope - line - constant : -constant;
}

/* Move the boundary between `from` and `to` through the places low ... high, and store the cost at
 * each place. Return the best place. */
static size_t follow(struct walk *walk, size_t from, size_t boundary, size_t to, size_t low,
                     size_t high)
{
    size_t best = low;

    fill(walk, walk->left, from, low, boundary);
    fill(walk, walk->right, low, to, boundary);
    for (size_t at = low;; at++) {
        walk->cost[at - low] = cost_of(walk, walk->left) + cost_of(walk, walk->right);
        if (walk->cost[at - low] < walk->cost[best - low])
            best = at;
        if (at == high)
            return best;
        add(walk, walk->left, at, (double)at - (double)boundary, 1);
        add(walk, walk->right, at, (double)at - (double)boundary, -1);
    }
}

/* Find the outermost places whose cost exceeds the best cost by at most the slack. */
static void find_place(const struct walk *walk, size_t boundary, size_t low, size_t high,
                       size_t best, double slack, struct rps_boundary_place *place)
{
    double worst = walk->cost[best - low] + slack;

    *place = (struct rps_boundary_place){best, boundary, boundary};
    for (size_t at = low; at <= high; at++) {
        if (walk->cost[at - low] > worst)
            continue;
        place->earliest = at < place->earliest ? at : place->earliest;
        place->latest = at > place->latest ? at : place->latest;
    }
}

/* Refine one boundary. If the best place is near the limit of the search, increase the limit. */
static void refine(struct walk *walk, struct rps_segmentation *segmentation, size_t k, double slack,
                   struct rps_boundary_place *place)
{
    size_t from = segmentation->first[k - 1], boundary = segmentation->first[k],
           to = segmentation->first[k + 1];
    size_t shortest = walk->penalties->min_length;
    size_t least = boundary - from > shortest ? from + shortest : boundary;
    size_t most = to - boundary > shortest ? to - shortest : boundary;

    walk->lines = segmentation->sloped[k - 1] || segmentation->sloped[k];
    for (size_t reach = REACH_FIRST; reach <= REACH_MAX; reach *= 2) {
        size_t low = boundary - least > reach ? boundary - reach : least;
        size_t high = most - boundary > reach ? boundary + reach : most, margin = reach / 2;

        place->best = follow(walk, from, boundary, to, low, high);
        find_place(walk, boundary, low, high, place->best, slack, place);
        if ((low == least || place->earliest > low + margin) &&
            (high == most || place->latest + margin < high))
            break;
    }
}

void rps_segmentation_refine(const struct rps_observed *observed,
                             const struct rps_penalties *penalties, int rounds, double slack,
                             struct rps_segmentation *segmentation,
                             struct rps_boundary_place *place)
{
    struct rps_arena *scratch = rps_arena_new();
    struct walk walk = {.observed = observed,
                        .penalties = penalties,
                        .left = rps_arena_get(scratch, observed->width, sizeof(*walk.left)),
                        .right = rps_arena_get(scratch, observed->width, sizeof(*walk.right)),
                        .cost = rps_arena_get(scratch, 2 * REACH_MAX + 1, sizeof(*walk.cost))};

    for (int round = 0; round < rounds; round++) {
        for (size_t k = 1; k < segmentation->count; k++) {
            struct rps_boundary_place found;

            if (segmentation->forced[k])
                continue;
            refine(&walk, segmentation, k, 0, &found);
            segmentation->first[k] = found.best;
        }
    }
    for (size_t k = 0; place && k < segmentation->count; k++) {
        place[k].best = place[k].earliest = place[k].latest = segmentation->first[k];
        if (!segmentation->forced[k])
            refine(&walk, segmentation, k, slack, &place[k]);
    }
    rps_arena_free(scratch);
}
