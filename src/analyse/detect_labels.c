/*
 * Labels: k-means++ (Arthur and Vassilvitskii 2007) on the segments' means, weighted by what was
 * seen of each, for 1, 2, ... labels; then the fewest that reach nine tenths of what a Bayesian
 * information criterion gains (the rule of SimPoint: Hamerly, Perelman, Lau, Calder 2005). Of many
 * segments a sample is clustered, and all of them then given to the nearest centre.
 *
 * Merging segments whose means a test cannot tell apart was tried and dropped: phases that come
 * back never have exactly the mean that they had, and a long segment makes any difference
 * significant. Where signals have a resolution, means may differ by it. The observations themselves
 * are never clustered: their noise hides what the means show.
 */
#include "detect_labels.h"

#include <math.h>
#include <string.h>

#include "rpistat/random.h"

#define STARTS       4
#define ROUNDS_MAX   40
#define GAINED_SHARE 0.96

/* At most so many segments are clustered; the means of all of them then move the centres a few
 * times. */
#define SAMPLE_MAX 512
#define ROUNDS_ALL 3

/* A boundary is beyond doubt above this confidence. */
#define SURE 0.95

/* A segment has a label of its own when it is so far from that of its neighbour, in squares of what
 * makes no difference. */
#define TORN_MIN 12

struct clustering {
    size_t count, width;         /* segments, features */
    double *feature, *precision; /* [segment * width + feature]; precision 0: not seen */
    double *centre, *weight;     /* of the present clusters, RPS_LABELS_MAX * width */
    int *label, *trial;          /* a segment each: the best of this k, the present one */
    double *distance;            /* a segment each, to its centre */
};

static void allocate(struct rps_arena *arena, struct clustering *c)
{
    size_t total = c->count * c->width, centres = RPS_LABELS_MAX * c->width;

    c->feature = rps_arena_get(arena, total, sizeof(*c->feature));
    c->precision = rps_arena_get(arena, total, sizeof(*c->precision));
    c->centre = rps_arena_get(arena, centres, sizeof(*c->centre));
    c->weight = rps_arena_get(arena, centres, sizeof(*c->weight));
    c->label = rps_arena_get(arena, c->count, sizeof(*c->label));
    c->trial = rps_arena_get(arena, c->count, sizeof(*c->trial));
    c->distance = rps_arena_get(arena, c->count, sizeof(*c->distance));
}

/* A segment of each of as many equal stretches: any, or what comes back could be passed over. */
static struct clustering draw_sample(struct rps_arena *arena, const struct clustering *all)
{
    struct clustering ret = *all;
    uint64_t state = 0;

    ret.count = all->count < SAMPLE_MAX ? all->count : SAMPLE_MAX;
    allocate(arena, &ret);
    for (size_t m = 0; m < ret.count; m++) {
        size_t first = m * all->count / ret.count, end = (m + 1) * all->count / ret.count;
        size_t from = first + (size_t)(rps_random_next(&state) % (end - first));
        size_t size = all->width * sizeof(*all->feature);

        memcpy(ret.feature + m * all->width, all->feature + from * all->width, size);
        memcpy(ret.precision + m * all->width, all->precision + from * all->width, size);
    }
    return ret;
}

/* What comes back is never quite the same: means differ by a part of what does not matter, however
 * much was seen of them. */
static double precision_of(const struct rps_observed *observed, size_t signal, double seen)
{
    double gain = observed->gain[signal];
    double apart = observed->tolerance[signal] * gain * gain;

    return seen / (1 + seen * apart);
}

/* The mean alone. */
static void describe_mean(const struct rps_observed *observed,
                          const struct rps_segmentation *segmentation, size_t k, size_t signal,
                          double *feature, double *precision)
{
    size_t from = segmentation->first[k], to = segmentation->first[k + 1];

    *feature = rps_observed_mean(observed, from, to, signal) * observed->gain[signal];
    *precision = precision_of(observed, signal, rps_observed_weight(observed, from, to, signal));
}

/* Mean, rise (scaled so that its variance is that of a mean) and spread of a signal in a
 * segment. */
static void describe(const struct rps_observed *observed,
                     const struct rps_segmentation *segmentation, size_t k, size_t signal,
                     int variance, double *feature, double *precision)
{
    size_t width = observed->width, f = 0;
    double middle = ((double)segmentation->first[k] + (double)segmentation->first[k + 1] - 1) / 2;
    double n = 0, sum = 0, time = 0, square = 0, moment = 0, squares = 0, rest;

    for (size_t i = segmentation->first[k]; i < segmentation->first[k + 1]; i++) {
        double part = rps_observed_part(observed, i * width + signal);
        double value = observed->value[i * width + signal] * observed->gain[signal];
        double at = (double)i - middle;

        n += part;
        sum += part * value;
        squares += part * value * value;
        time += part * at;
        square += part * at * at;
        moment += part * at * value;
    }
    if (!(n > 0))
        return;
    feature[f] = sum / n;
    precision[f++] = precision_of(observed, signal, n);
    rest = squares - sum * sum / n;
    if (segmentation->sloped_count > 0) {
        square -= time * time / n;
        moment -= time * sum / n;
        if (segmentation->sloped[k] && square > 0.5) {
            feature[f] = moment / sqrt(square) / sqrt(n);
            rest -= moment * moment / square;
        }
        precision[f++] = precision_of(observed, signal, n);
    }
    if (variance && n > 2) {
        feature[f] = log(fmax(rest / n, 1e-6)) / sqrt(2);
        precision[f] = precision_of(observed, signal, n);
    }
}

/* Squared distance of a segment to a centre, in units of the variance of its means. */
static double distance_to(const struct clustering *c, size_t segment, const double *centre)
{
    const double *feature = c->feature + segment * c->width,
                 *precision = c->precision + segment * c->width;
    double sum = 0;

    for (size_t f = 0; f < c->width; f++)
        sum += precision[f] * (feature[f] - centre[f]) * (feature[f] - centre[f]);
    return sum;
}

/* First centres: each next one is a segment, drawn by its distance to those there are. */
static void seed(struct clustering *c, int k, uint64_t *state)
{
    size_t drawn = (size_t)(rps_random_unit(state) * (double)c->count);

    for (size_t m = 0; m < c->count; m++)
        c->distance[m] = INFINITY;
    for (int cluster = 0; cluster < k; cluster++) {
        double *centre = c->centre + (size_t)cluster * c->width, total = 0, target;

        memcpy(centre, c->feature + drawn * c->width, c->width * sizeof(*centre));
        for (size_t m = 0; m < c->count; m++) {
            c->distance[m] = fmin(c->distance[m], distance_to(c, m, centre));
            total += c->distance[m];
        }
        target = rps_random_unit(state) * total;
        for (drawn = 0; drawn + 1 < c->count; drawn++) {
            target -= c->distance[drawn];
            if (target < 0)
                break;
        }
    }
}

/* The label with the nearest centre. */
static int nearest(const struct clustering *c, size_t segment, int k, double *ret_distance)
{
    int best = 0;

    *ret_distance = INFINITY;
    for (int cluster = 0; cluster < k; cluster++) {
        double distance = distance_to(c, segment, c->centre + (size_t)cluster * c->width);

        if (distance < *ret_distance) {
            *ret_distance = distance;
            best = cluster;
        }
    }
    return best;
}

static void find_centres(struct clustering *c, const int *label, int k)
{
    size_t total = (size_t)k * c->width;

    memset(c->centre, 0, total * sizeof(*c->centre));
    memset(c->weight, 0, total * sizeof(*c->weight));
    for (size_t m = 0; m < c->count; m++) {
        size_t to = (size_t)label[m] * c->width, from = m * c->width;

        for (size_t f = 0; f < c->width; f++) {
            c->centre[to + f] += c->precision[from + f] * c->feature[from + f];
            c->weight[to + f] += c->precision[from + f];
        }
    }
    for (size_t i = 0; i < total; i++)
        c->centre[i] = c->weight[i] > 0 ? c->centre[i] / c->weight[i] : 0;
}

/* Give each segment to the nearest centre, in c->trial; the sum of squared distances in *ret_total.
 * 1 when any moved. */
static int assign(struct clustering *c, int k, double *ret_total)
{
    int moved = 0;

    *ret_total = 0;
    for (size_t m = 0; m < c->count; m++) {
        int to = nearest(c, m, k, &c->distance[m]);

        moved |= to != c->trial[m];
        c->trial[m] = to;
        *ret_total += c->distance[m];
    }
    return moved;
}

/* One run of k-means from random centres into c->trial; the sum of squared distances. */
static double run(struct clustering *c, int k, uint64_t *state)
{
    double total = 0;
    int moved = 1;

    seed(c, k, state);
    for (int round = 0; round < ROUNDS_MAX && moved; round++) {
        if (round > 0)
            find_centres(c, c->trial, k);
        moved = assign(c, k, &total) || round == 0;
    }
    return total;
}

static double cluster(struct clustering *c, int k, uint64_t *state)
{
    double least = INFINITY;

    for (int start = 0; start < STARTS && least > 0; start++) {
        double total = run(c, k, state);

        if (total < least) {
            least = total;
            memcpy(c->label, c->trial, c->count * sizeof(*c->label));
        }
    }
    return least;
}

/* How well k labels describe the segments; `left` are their squared distances to the centres. What
 * noise alone leaves, `inflation` a mean, keeps the logarithm from rewarding more than that. */
static double score_of(const struct clustering *c, double dof, double inflation, int k, double left)
{
    double count = (double)c->count;

    return -count * dof / 2 * log(left / (count * dof) + inflation) -
           (double)k * (dof + 1) / 2 * log(count + 1);
}

/* Cluster for all numbers of labels and take one of them, from `fewest`; its labels are in
 * c->label. */
static int choose(struct clustering *c, double dof, double inflation)
{
    int most = c->count < RPS_LABELS_MAX ? (int)c->count : RPS_LABELS_MAX, k;
    double score[RPS_LABELS_MAX], low = INFINITY, high = -INFINITY;
    double squares;
    uint64_t state;

    for (k = 1; k <= most; k++) {
        state = (uint64_t)k;
        squares = cluster(c, k, &state);
        score[k - 1] = score_of(c, dof, inflation, k, squares);
        low = fmin(low, score[k - 1]);
        high = fmax(high, score[k - 1]);
    }
    for (k = 1; k < most && score[k - 1] < low + GAINED_SHARE * (high - low); k++)
        ;
    state = (uint64_t)k;
    cluster(c, k, &state);
    return k;
}

/* Number the labels by first appearance. */
static void number(const struct clustering *c, struct rps_labels *out)
{
    out->count = 0;
    for (size_t m = 0; m < c->count; m++) {
        size_t first = 0;

        while (c->label[first] != c->label[m])
            first++;
        out->label[m] = first == m ? out->count++ : out->label[first];
    }
}

/* How sure the labels are: 1 where the other labels are infinitely far, 1/2 halfway to the next. */
static void judge(struct clustering *c, double inflation, struct rps_labels *out)
{
    double before = 0;

    find_centres(c, out->label, out->count);
    for (size_t m = 0; m < c->count; m++) {
        double own = 0, other = INFINITY;

        for (int cluster = 0; cluster < out->count; cluster++) {
            double distance = distance_to(c, m, c->centre + (size_t)cluster * c->width);

            if (cluster == out->label[m])
                own = distance;
            else
                other = fmin(other, distance);
        }
        if (m > 0)
            out->apart[m] =
                fmin(distance_to(c, m, c->centre + (size_t)out->label[m - 1] * c->width) - own,
                     distance_to(c, m - 1, c->centre + (size_t)out->label[m] * c->width) - before);
        before = own;
        own += inflation * (double)c->width;
        out->confidence[m] = out->count < 2 ? 1 : other / (own + other);
    }
}

static struct clustering clustering_make(struct rps_arena *arena,
                                         const struct rps_observed *observed,
                                         const struct rps_segmentation *segmentation, int variance)
{
    size_t per = 1 + (segmentation->sloped_count > 0) + (variance != 0);
    struct clustering c = {.count = segmentation->count, .width = per * observed->width};

    allocate(arena, &c);
    for (size_t k = 0; k < segmentation->count; k++) {
        for (size_t s = 0; s < observed->width; s++) {
            size_t at = k * c.width + s * per;

            if (per == 1)
                describe_mean(observed, segmentation, k, s, c.feature + at, c.precision + at);
            else
                describe(observed, segmentation, k, s, variance, c.feature + at, c.precision + at);
        }
    }
    return c;
}

/* The segment that is farthest from the centre of its label, of those that share it with a
 * neighbour although the boundary between them is beyond doubt; 0: none. */
static size_t find_torn(const struct clustering *c, const double *confidence)
{
    size_t torn = 0;
    double most = TORN_MIN;

    for (size_t m = 1; m < c->count; m++) {
        size_t farther = c->distance[m] < c->distance[m - 1] ? m - 1 : m;

        if (c->trial[m] == c->trial[m - 1] && confidence[m] > SURE && c->distance[farther] > most) {
            torn = farther;
            most = c->distance[farther];
        }
    }
    return torn;
}

static void settle(struct clustering *c, int count)
{
    double total;

    for (int round = 0; round < ROUNDS_ALL && assign(c, count, &total); round++)
        find_centres(c, c->trial, count);
}

static void find_labels(struct clustering *all, struct clustering *few, const double *confidence,
                        double dof, double inflation)
{
    size_t torn;
    int count = choose(few, dof, inflation);

    find_centres(few, few->label, count);
    memcpy(all->centre, few->centre, (size_t)count * all->width * sizeof(*all->centre));
    settle(all, count);
    while (count < RPS_LABELS_MAX && (torn = find_torn(all, confidence)) > 0) {
        memcpy(all->centre + (size_t)count++ * all->width, all->feature + torn * all->width,
               all->width * sizeof(*all->centre));
        settle(all, count);
    }
    memcpy(all->label, all->trial, all->count * sizeof(*all->label));
}

struct rps_labels rps_labels_find(struct rps_arena *arena, const struct rps_observed *observed,
                                  const struct rps_segmentation *segmentation,
                                  const double *confidence, int variance, double inflation)
{
    struct rps_arena *scratch = rps_arena_new();
    struct clustering all = clustering_make(scratch, observed, segmentation, variance);
    struct clustering few = draw_sample(scratch, &all);
    double dof = observed->degrees_of_freedom * (double)all.width / (double)observed->width;
    struct rps_labels ret = {.label = rps_arena_get(arena, all.count, sizeof(*ret.label))};

    find_labels(&all, &few, confidence, fmax(1, dof), inflation);
    number(&all, &ret);
    rps_arena_free(scratch);
    return ret;
}

void rps_labels_grade(struct rps_arena *arena, const struct rps_observed *observed,
                      const struct rps_segmentation *segmentation, int variance, double inflation,
                      struct rps_labels *labels)
{
    struct rps_arena *scratch = rps_arena_new();
    struct clustering c = clustering_make(scratch, observed, segmentation, variance);

    memcpy(c.label, labels->label, c.count * sizeof(*c.label));
    labels->confidence = rps_arena_get(arena, c.count, sizeof(*labels->confidence));
    labels->apart = rps_arena_get(arena, c.count, sizeof(*labels->apart));
    number(&c, labels);
    judge(&c, inflation, labels);
    rps_arena_free(scratch);
}
