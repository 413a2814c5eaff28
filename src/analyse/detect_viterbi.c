/* Decoding: the Viterbi algorithm over labels, one step per observation; see detect_model.h. */
#include "detect_model.h"

#include <math.h>
#include <string.h>

#define DECODE_EXTRA 1

/* If there are fewer segments per label on average, labels recur too rarely for decoding. */
#define RECURRENCE_MIN 2

/* Number of observations of variance 1 that are added to estimate the noise of a label. */
#define PRIOR 200

/* Number of decoding rounds. Each round uses the means of the previous round's segments. */
#define ROUNDS 2

struct decoder {
    const struct rps_observed *observed;
    size_t labels;
    double *mean;         /* mean[label * width + signal]: mean of the label, times the gain */
    double *weight;       /* weight[label * width + signal]: sum of the weights */
    double *sharp;        /* sharp[label * width + signal]: 1 / variance */
    double *level;        /* level[label * width + signal]: -log(variance) */
    double *base;         /* sum of `level` over all signals of each label */
    double *total, *cost; /* path cost and current cost of each label */
    double *row;          /* values of one observation, times the gains */
    size_t *seen;         /* signals that were seen in one observation */
    uint8_t *from;        /* from[observation * labels + label]: previous label on the path */
    uint8_t *label;       /* label of each observation, with room for one more */
    uint8_t *broken;      /* broken[observation]: 1 if a block begins */
};

static void allocate(struct rps_arena *arena, struct decoder *d)
{
    size_t places = d->labels * d->observed->width, count = d->observed->count;

    d->mean = rps_arena_get(arena, places, sizeof(*d->mean));
    d->weight = rps_arena_get(arena, places, sizeof(*d->weight));
    d->sharp = rps_arena_get(arena, places, sizeof(*d->sharp));
    d->level = rps_arena_get(arena, places, sizeof(*d->level));
    d->base = rps_arena_get(arena, d->labels, sizeof(*d->base));
    d->total = rps_arena_get(arena, d->labels, sizeof(*d->total));
    d->cost = rps_arena_get(arena, d->labels, sizeof(*d->cost));
    d->row = rps_arena_get(arena, d->observed->width, sizeof(*d->row));
    d->seen = rps_arena_get(arena, d->observed->width, sizeof(*d->seen));
    d->from = rps_arena_get(arena, count, d->labels);
    d->label = rps_arena_get(arena, count + 1, 1);
    d->broken = rps_arena_get(arena, count + 1, 1);
    for (size_t b = 0; b <= d->observed->block_count; b++)
        d->broken[d->observed->block[b]] = 1;
}

static void find_means(struct decoder *d, const struct rps_segmentation *segmentation,
                       const int *label)
{
    size_t width = d->observed->width, places = d->labels * width;

    memset(d->mean, 0, places * sizeof(*d->mean));
    memset(d->weight, 0, places * sizeof(*d->weight));
    for (size_t k = 0; k < segmentation->count; k++) {
        for (size_t s = 0; s < width; s++) {
            size_t to = (size_t)label[k] * width + s;
            size_t from = segmentation->first[k], end = segmentation->first[k + 1];
            double weight = rps_observed_weight(d->observed, from, end, s);

            d->mean[to] +=
                weight * rps_observed_mean(d->observed, from, end, s) * d->observed->gain[s];
            d->weight[to] += weight;
        }
    }
    for (size_t i = 0; i < places; i++)
        d->mean[i] = d->weight[i] > 0 ? d->mean[i] / d->weight[i] : 0;
}

/* Find the noise of each label. If all labels had the same noise, noisy phases would be cut into
 * many segments, because calm phases would make this noise too small. A few observations do not
 * show the noise of a label, so PRIOR observations of variance 1 are added. */
static void find_noise(struct decoder *d, const struct rps_segmentation *segmentation,
                       const int *label)
{
    const struct rps_observed *observed = d->observed;
    size_t width = observed->width, places = d->labels * width;

    for (size_t i = 0; i < places; i++)
        d->sharp[i] = PRIOR * observed->unit;
    for (size_t k = 0; k < segmentation->count; k++) {
        const double *mean = d->mean + (size_t)label[k] * width;
        double *squares = d->sharp + (size_t)label[k] * width;

        for (size_t at = segmentation->first[k] * width; at < segmentation->first[k + 1] * width;
             at += width) {
            for (size_t s = 0; s < width; s++) {
                double off = observed->value[at + s] * observed->gain[s] - mean[s];

                squares[s] += rps_observed_part(observed, at + s) * off * off;
            }
        }
    }
    for (size_t l = 0; l < d->labels; l++) {
        d->base[l] = 0;
        for (size_t s = 0; s < width; s++) {
            size_t i = l * width + s;

            d->sharp[i] = (d->weight[i] + PRIOR) / d->sharp[i];
            d->level[i] = -log(d->sharp[i]);
            d->base[l] += d->level[i];
        }
    }
}

static void find_costs(struct decoder *d, size_t at)
{
    const struct rps_observed *observed = d->observed;
    size_t width = observed->width, count = 0;
    const double *value = observed->value + at * width;
    const uint8_t *weight = observed->weight ? observed->weight + at * width : NULL;

    for (size_t s = 0; s < width; s++) {
        d->row[s] = value[s] * observed->gain[s];
        d->seen[count] = s;
        count += weight && weight[s] > 0;
    }
    for (size_t l = 0; l < d->labels; l++) {
        const double *mean = d->mean + l * width, *sharp = d->sharp + l * width;
        const double *level = d->level + l * width;
        double cost = weight ? 0 : d->base[l];

        for (size_t s = 0; !weight && s < width; s++)
            cost += (d->row[s] - mean[s]) * (d->row[s] - mean[s]) * sharp[s];
        for (size_t k = 0; k < count; k++) {
            size_t s = d->seen[k];

            cost += weight[s] * (1.0 / RPS_OBSERVED_WHOLE) *
                    ((d->row[s] - mean[s]) * (d->row[s] - mean[s]) * sharp[s] + level[s]);
        }
        d->cost[l] = cost;
    }
}

static size_t least_of(const struct decoder *d)
{
    size_t best = 0;

    for (size_t l = 1; l < d->labels; l++) {
        if (d->total[l] < d->total[best])
            best = l;
    }
    return best;
}

static void decode(struct decoder *d, double penalty)
{
    size_t count = d->observed->count, labels = d->labels, best;

    memset(d->total, 0, labels * sizeof(*d->total));
    for (size_t i = 0; i < count; i++) {
        double change = d->broken[i] ? 0 : penalty, least;

        best = least_of(d);
        least = d->total[best];
        find_costs(d, i);
        for (size_t l = 0; l < labels; l++) {
            int stay = d->total[l] <= least + change;

            d->from[i * labels + l] = (uint8_t)(stay ? l : best);
            d->total[l] = (stay ? d->total[l] - least : change) + d->cost[l];
        }
    }
    best = least_of(d);
    for (size_t i = count; i-- > 0;) {
        d->label[i] = (uint8_t)best;
        best = d->from[i * labels + best];
    }
}

static int begins(const struct decoder *d, size_t at)
{
    return d->broken[at] || d->label[at] != d->label[at - 1];
}

static double cost_of(struct decoder *d, size_t from, size_t to, int label)
{
    double sum = 0;

    for (size_t i = from; i < to; i++) {
        find_costs(d, i);
        sum += d->cost[label];
    }
    return sum;
}

/* Merge segments that are too short into a neighbour. */
static void absorb(struct decoder *d, size_t min_length)
{
    size_t count = d->observed->count, to;

    for (size_t from = 0; from < count; from = to) {
        int before = d->broken[from] ? -1 : d->label[from - 1], after;

        for (to = from + 1; to < count && !begins(d, to); to++)
            ;
        after = d->broken[to] ? -1 : d->label[to];
        if (to - from >= min_length || (before < 0 && after < 0))
            continue;
        if (before >= 0 && after >= 0)
            before = cost_of(d, from, to, after) < cost_of(d, from, to, before) ? after : before;
        memset(d->label + from, before >= 0 ? before : after, to - from);
    }
}

/* Return the decoded path as segmentation and labels. */
static void collect(struct rps_arena *arena, const struct decoder *d,
                    struct rps_segmentation *segmentation, struct rps_labels *labels)
{
    uint8_t *keep = rps_arena_get(arena, d->observed->count + 1, 1);

    for (size_t i = 0; i < d->observed->count; i++)
        keep[i] = begins(d, i) != 0;
    *segmentation = rps_segmentation_at(arena, d->observed, keep);
    labels->label = rps_arena_get(arena, segmentation->count, sizeof(*labels->label));
    for (size_t k = 0; k < segmentation->count; k++)
        labels->label[k] = d->label[segmentation->first[k]];
}

/* Compute how much better each segment's label fits than the labels of its neighbours. */
static void find_apart(struct rps_arena *arena, struct decoder *d,
                       const struct rps_segmentation *segmentation, struct rps_labels *labels)
{
    const int *label = labels->label;
    size_t count = segmentation->count;

    labels->apart = rps_arena_get(arena, count, sizeof(*labels->apart));
    for (size_t k = 0; k < count; k++) {
        double before = 0, behind = 0;

        for (size_t i = segmentation->first[k]; i < segmentation->first[k + 1]; i++) {
            find_costs(d, i);
            before += d->cost[label[k > 0 ? k - 1 : k]] - d->cost[label[k]];
            behind += d->cost[label[k + 1 < count ? k + 1 : k]] - d->cost[label[k]];
        }
        labels->apart[k] = fmin(labels->apart[k], before);
        if (k + 1 < count)
            labels->apart[k + 1] = behind;
    }
}

double rps_decode_penalty(const struct rps_observed *observed,
                          const struct rps_segmentation *segmentation,
                          const struct rps_labels *labels)
{
    double rare = (double)observed->count / (double)segmentation->count;

    return 2 * (log(rare) + log((double)labels->count) + DECODE_EXTRA);
}

int rps_decode(struct rps_arena *arena, const struct rps_observed *observed, size_t min_length,
               double inflation, struct rps_segmentation *segmentation, struct rps_labels *labels)
{
    struct decoder d = {.observed = observed, .labels = (size_t)labels->count};
    struct rps_arena *scratch;

    if (labels->count < 2 || segmentation->count < RECURRENCE_MIN * (size_t)labels->count ||
        labels->count > UINT8_MAX || segmentation->sloped_count > 0)
        return 0;
    scratch = rps_arena_new();
    allocate(scratch, &d);
    for (int round = 0; round < ROUNDS; round++) {
        find_means(&d, segmentation, labels->label);
        find_noise(&d, segmentation, labels->label);
        decode(&d, rps_decode_penalty(observed, segmentation, labels) * inflation / observed->unit);
        absorb(&d, min_length);
        collect(arena, &d, segmentation, labels);
    }
    find_apart(arena, &d, segmentation, labels);
    rps_arena_free(scratch);
    return 1;
}
