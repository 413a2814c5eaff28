/*
 * Recurring phases. The periods themselves are never clustered: noise would decide.
 *
 * Merging neighbours by a significance test was tried elsewhere and is worse: a phase that comes
 * back never has identical means, and with a little drift eight phases become sixty.
 */
#include "labels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Starts of k-means for each k, and iterations of one. */
#define STARTS     4
#define ITERATIONS 50

/* Share of the way to the best BIC that is enough. */
#define BIC_SHARE 0.9

/* Variance within a label that is taken for drift, as a share of all variance of the means. */
#define DRIFT_SHARE 0.002

struct means {
    size_t count, d;
    double *at;     /* count x d */
    double *weight; /* share of the length, sum 1 */
    double noise;   /* variance of the means that is noise's, sum over signals, weighted */
    double total;   /* variance of the means, sum over signals, weighted */
};

struct clustering {
    double *centre; /* label_max x d */
    double *weight; /* label_max */
    int *label;     /* count */
    double spread;  /* weighted sum of squared distances */
};

/* A number in [0, 1): splitmix64, the same on every machine. */
static double draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double distance(const double *a, const double *b, size_t d)
{
    double sum = 0;

    for (size_t j = 0; j < d; j++)
        sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sum;
}

/* --- means
 * ---------------------------------------------------------------------------------------- */

static double mean_of(const struct rps_prepared *p, size_t j, size_t from, size_t to,
                      double *ret_seen)
{
    size_t d = p->signal_count;
    double sum = p->sum[to * d + j] - p->sum[from * d + j];

    *ret_seen =
        p->weight ? p->weight_sum[to * d + j] - p->weight_sum[from * d + j] : (double)(to - from);
    return *ret_seen > 1e-9 ? sum / *ret_seen : NAN;
}

/* Means of the segments; a signal that was not seen in one has its mean over the run there. */
static int make_means(const struct rps_prepared *p, const struct rps_cuts *cuts, double deviation,
                      struct means *ret)
{
    size_t d = p->signal_count, n = cuts->count;

    *ret = (struct means){.count = n, .d = d};
    ret->at = malloc((n * d + 1) * sizeof(*ret->at));
    ret->weight = malloc(n * sizeof(*ret->weight));
    if (!ret->at || !ret->weight)
        return -1;
    for (size_t k = 0; k < n; k++) {
        size_t from = cuts->start[k], to = rps_cuts_end(cuts, k, p->count);

        ret->weight[k] = (double)(to - from) / (double)p->count;
        for (size_t j = 0; j < d; j++) {
            double seen, whole, mean = mean_of(p, j, from, to, &seen);

            ret->noise += isnan(mean) ? 0 : ret->weight[k] * deviation * deviation / fmax(seen, 1);
            ret->at[k * d + j] = isnan(mean) ? mean_of(p, j, 0, p->count, &whole) : mean;
        }
    }
    for (size_t j = 0; j < d; j++) {
        double mean = 0;

        for (size_t k = 0; k < n; k++)
            mean += ret->weight[k] * ret->at[k * d + j];
        for (size_t k = 0; k < n; k++)
            ret->total +=
                ret->weight[k] * (ret->at[k * d + j] - mean) * (ret->at[k * d + j] - mean);
    }
    return 0;
}

static void means_free(struct means *means)
{
    free(means->at);
    free(means->weight);
}

/* --- k-means
 * -------------------------------------------------------------------------------------- */

/* Nearest of the first `labels` centres to segment k. */
static int nearest(const struct means *means, const struct clustering *c, int labels, size_t k,
                   double *ret_distance)
{
    int best = 0;

    *ret_distance = INFINITY;
    for (int l = 0; l < labels; l++) {
        double far = distance(means->at + k * means->d, c->centre + (size_t)l * means->d, means->d);

        if (far < *ret_distance) {
            *ret_distance = far;
            best = l;
        }
    }
    return best;
}

/* Centres far from each other (k-means++). */
static void seed(const struct means *means, struct clustering *c, int labels, uint64_t *random)
{
    for (int l = 0; l < labels; l++) {
        double sum = 0, target;
        size_t chosen = means->count - 1;

        for (int pass = 0; pass < 2; pass++) {
            double far, reached = 0;

            target = pass ? draw(random) * sum : 0;
            for (size_t k = 0; k < means->count; k++) {
                far = 1;
                if (l > 0)
                    nearest(means, c, l, k, &far);
                reached += far * means->weight[k];
                if (pass && reached > target) {
                    chosen = k;
                    break;
                }
            }
            sum = reached;
        }
        memcpy(c->centre + (size_t)l * means->d, means->at + chosen * means->d,
               means->d * sizeof(*c->centre));
    }
}

static void move_centres(const struct means *means, struct clustering *c, int labels)
{
    size_t d = means->d;

    for (int l = 0; l < labels; l++) {
        double weight = 0;

        for (size_t k = 0; k < means->count; k++)
            weight += c->label[k] == l ? means->weight[k] : 0;
        c->weight[l] = weight;
        if (weight > 0)
            memset(c->centre + (size_t)l * d, 0, d * sizeof(*c->centre));
    }
    for (size_t k = 0; k < means->count; k++) {
        int l = c->label[k];

        for (size_t j = 0; j < d; j++)
            c->centre[(size_t)l * d + j] += means->at[k * d + j] * means->weight[k] / c->weight[l];
    }
}

static void cluster(const struct means *means, struct clustering *c, int labels, uint64_t *random)
{
    int changed = 1;

    seed(means, c, labels, random);
    for (size_t k = 0; k < means->count; k++)
        c->label[k] = -1;
    for (int pass = 0; pass < ITERATIONS && changed; pass++) {
        changed = 0;
        c->spread = 0;
        for (size_t k = 0; k < means->count; k++) {
            double far;
            int l = nearest(means, c, labels, k, &far);

            changed |= l != c->label[k];
            c->label[k] = l;
            c->spread += far * means->weight[k];
        }
        move_centres(means, c, labels);
    }
}

static int clustering_make(struct clustering *c, const struct means *means, int label_max)
{
    c->centre = calloc((size_t)label_max * means->d + 1, sizeof(*c->centre));
    c->weight = calloc((size_t)label_max, sizeof(*c->weight));
    c->label = calloc(means->count, sizeof(*c->label));
    return c->centre && c->weight && c->label ? 0 : -1;
}

static void clustering_free(struct clustering *c)
{
    free(c->centre);
    free(c->weight);
    free(c->label);
}

/* The best of several starts with so many labels; c holds it. */
static void best_start(const struct means *means, struct clustering *c, struct clustering *trial,
                       int labels)
{
    uint64_t random = (uint64_t)labels;

    for (int start = 0; start < STARTS; start++) {
        struct clustering keep = *c;

        cluster(means, trial, labels, &random);
        if (start == 0 || trial->spread < c->spread) {
            *c = *trial;
            *trial = keep;
        }
    }
}

/* --- how many -----------------------------------------------------------------------------------
 */

/* BIC of a clustering as a mixture of equal spheres; larger is better. */
static double bic(const struct means *means, const struct clustering *c, int labels)
{
    double r = (double)means->count, d = (double)means->d;
    double floor = means->noise + DRIFT_SHARE * means->total,
           fit = -0.5 * r * d * log((c->spread + floor) / d + 1e-300);

    for (int l = 0; l < labels; l++) {
        double members = 0;

        for (size_t k = 0; k < means->count; k++)
            members += c->label[k] == l;
        if (members > 0)
            fit += members * log(members / r);
    }
    return fit - 0.5 * labels * (d + 1) * log(r);
}

int rps_label_segments(const struct rps_prepared *prepared, const struct rps_cuts *cuts,
                       int label_max, double deviation, int **ret_label, int *ret_label_count,
                       struct rps_error *err)
{
    struct clustering best = {0}, trial = {0};
    int labels = label_max < (int)cuts->count ? label_max : (int)cuts->count, chosen = 0;
    double *score = malloc((size_t)labels * sizeof(*score)), low = INFINITY, high = -INFINITY;
    struct means means = {0};
    int rc = -1;

    if (!score || make_means(prepared, cuts, deviation, &means) < 0 ||
        clustering_make(&best, &means, labels) < 0 || clustering_make(&trial, &means, labels) < 0)
        goto out;
    for (int l = 0; l < labels; l++) {
        best_start(&means, &best, &trial, l + 1);
        score[l] = bic(&means, &best, l + 1);
        low = fmin(low, score[l]);
        high = fmax(high, score[l]);
    }
    while (score[chosen] < low + BIC_SHARE * (high - low))
        chosen++;
    best_start(&means, &best, &trial, chosen + 1);
    *ret_label = best.label;
    best.label = NULL;
    *ret_label_count = chosen + 1;
    rc = 0;
out:
    clustering_free(&best);
    clustering_free(&trial);
    means_free(&means);
    free(score);
    return rc < 0 ? rps_error_memory(err) : 0;
}

/* --- grading ------------------------------------------------------------------------------------
 */

/* Number labels by first appearance; -1 without memory. */
static int renumber(int *label, size_t count)
{
    int most = 0, next = 0, *number;

    for (size_t k = 0; k < count; k++)
        most = label[k] > most ? label[k] : most;
    number = malloc(((size_t)most + 1) * sizeof(*number));
    if (!number)
        return -1;
    for (int l = 0; l <= most; l++)
        number[l] = -1;
    for (size_t k = 0; k < count; k++) {
        if (number[label[k]] < 0)
            number[label[k]] = next++;
        label[k] = number[label[k]];
    }
    free(number);
    return next;
}

/* How much nearer each segment is to its own label's mean than to the next. */
static void grade(const struct means *means, const struct clustering *c, int labels,
                  double *confidence)
{
    for (size_t k = 0; k < means->count; k++) {
        const double *at = means->at + k * means->d;
        double own = distance(at, c->centre + (size_t)c->label[k] * means->d, means->d);
        double other = INFINITY;

        for (int l = 0; l < labels; l++)
            if (l != c->label[k])
                other = fmin(other, distance(at, c->centre + (size_t)l * means->d, means->d));
        confidence[k] = isinf(other) ? 1 : own + other > 0 ? other / (own + other) : 0.5;
    }
}

int rps_label_grade(const struct rps_prepared *prepared, const struct rps_cuts *cuts, int *label,
                    int *ret_label_count, double **ret_confidence, struct rps_error *err)
{
    struct clustering c = {0};
    struct means means = {0};
    double *confidence = malloc(cuts->count * sizeof(*confidence));
    int labels = renumber(label, cuts->count), rc = -1;

    if (labels < 0 || !confidence || make_means(prepared, cuts, 1, &means) < 0 ||
        clustering_make(&c, &means, labels) < 0)
        goto out;
    memcpy(c.label, label, cuts->count * sizeof(*label));
    move_centres(&means, &c, labels);
    grade(&means, &c, labels, confidence);
    *ret_label_count = labels;
    *ret_confidence = confidence;
    confidence = NULL;
    rc = 0;
out:
    clustering_free(&c);
    means_free(&means);
    free(confidence);
    return rc < 0 ? rps_error_memory(err) : 0;
}
