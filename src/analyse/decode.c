/*
 * Decoding: the labels of all observations at once, by dynamic programming over them.
 *
 * A change between two unknown means must pay for fitting a mean in every signal; one between known
 * means need not. On weak changes that is the difference between finding six of ten and eight.
 */
#include "decode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Mean squares of the segments' means around their label's, in units of what noise makes, above
 * which labels are not taken for single means. */
#define ALIKE_MAX 2.0

struct decoder {
    const struct rps_prepared *p;
    int labels;
    double *mean;   /* labels x signals */
    uint8_t *from;  /* observations x labels: the label before */
    double *total;  /* labels */
    uint8_t *label; /* observations: the outcome */
};

static double weight_of(const struct rps_prepared *p, size_t j, size_t from, size_t to)
{
    size_t d = p->signal_count;

    return p->weight ? p->weight_sum[to * d + j] - p->weight_sum[from * d + j]
                     : (double)(to - from);
}

static double sum_of(const struct rps_prepared *p, size_t j, size_t from, size_t to)
{
    size_t d = p->signal_count;

    return p->sum[to * d + j] - p->sum[from * d + j];
}

/* Means of the labels over all their segments. Returns -1 without memory. */
static int make_means(struct decoder *c, const struct rps_cuts *cuts, const int *label)
{
    size_t d = c->p->signal_count, places = (size_t)c->labels * d;
    double *weight = calloc(places, sizeof(*weight));

    if (!weight)
        return -1;
    memset(c->mean, 0, places * sizeof(*c->mean));
    for (size_t k = 0; k < cuts->count; k++) {
        size_t from = cuts->start[k], to = rps_cuts_end(cuts, k, c->p->count);

        for (size_t j = 0; j < d; j++) {
            c->mean[(size_t)label[k] * d + j] += sum_of(c->p, j, from, to);
            weight[(size_t)label[k] * d + j] += weight_of(c->p, j, from, to);
        }
    }
    for (size_t place = 0; place < places; place++)
        c->mean[place] = weight[place] > 1e-9 ? c->mean[place] / weight[place] : 0;
    free(weight);
    return 0;
}

/* Do segments of one label differ by no more than noise explains? */
static int are_alike(const struct decoder *c, const struct rps_cuts *cuts, const int *label,
                     double deviation)
{
    size_t d = c->p->signal_count, count = 0;
    double squares = 0;

    for (size_t k = 0; k < cuts->count; k++) {
        size_t from = cuts->start[k], to = rps_cuts_end(cuts, k, c->p->count);

        for (size_t j = 0; j < d; j++) {
            double weight = weight_of(c->p, j, from, to), off;

            if (weight <= 1e-9)
                continue;
            off = sum_of(c->p, j, from, to) / weight - c->mean[(size_t)label[k] * d + j];
            squares += weight * off * off;
            count++;
        }
    }
    return count > 0 && squares <= ALIKE_MAX * deviation * deviation * (double)count;
}

/* What it costs to say that observation i has the label. */
static double emission(const struct decoder *c, size_t i, int label)
{
    size_t d = c->p->signal_count;
    const double *value = c->p->value + i * d, *mean = c->mean + (size_t)label * d;
    double sum = 0;

    for (size_t j = 0; j < d; j++) {
        double off = value[j] - mean[j];

        sum += (c->p->weight ? c->p->weight[i * d + j] : 1) * off * off;
    }
    return sum;
}

static void forward(struct decoder *c, double penalty)
{
    size_t n = c->p->count, labels = (size_t)c->labels;

    for (size_t l = 0; l < labels; l++)
        c->total[l] = emission(c, 0, (int)l);
    for (size_t i = 1; i < n; i++) {
        double change = c->p->broken && c->p->broken[i] ? 0 : penalty;
        size_t best = 0;
        double least;

        for (size_t l = 1; l < labels; l++)
            if (c->total[l] < c->total[best])
                best = l;
        least = c->total[best];
        for (size_t l = 0; l < labels; l++) {
            int stay = c->total[l] <= least + change;

            c->from[i * labels + l] = (uint8_t)(stay ? l : best);
            c->total[l] = (stay ? c->total[l] : least + change) - least + emission(c, i, (int)l);
        }
    }
}

static void backward(struct decoder *c)
{
    size_t n = c->p->count, labels = (size_t)c->labels, best = 0;

    for (size_t l = 1; l < labels; l++)
        if (c->total[l] < c->total[best])
            best = l;
    for (size_t i = n; i-- > 0;) {
        c->label[i] = (uint8_t)best;
        if (i > 0)
            best = c->from[i * labels + best];
    }
}

static int is_start(const struct decoder *c, size_t i)
{
    return i == 0 || c->label[i] != c->label[i - 1] || (c->p->broken && c->p->broken[i]);
}

static double piece_cost(const struct decoder *c, size_t from, size_t to, int label)
{
    double sum = 0;

    for (size_t i = from; i < to; i++)
        sum += emission(c, i, label);
    return sum;
}

/* Give pieces that are too short to a neighbour. */
static void absorb_short(struct decoder *c, size_t min_length)
{
    size_t n = c->p->count, from = 0;

    while (from < n) {
        size_t to = from + 1;
        int before, after;

        while (to < n && !is_start(c, to))
            to++;
        before = from > 0 && !(c->p->broken && c->p->broken[from]) ? c->label[from - 1] : -1;
        after = to < n && !(c->p->broken && c->p->broken[to]) ? c->label[to] : -1;
        if (to - from < min_length && (before >= 0 || after >= 0)) {
            int label = before < 0                                                          ? after
                        : after < 0                                                         ? before
                        : piece_cost(c, from, to, before) <= piece_cost(c, from, to, after) ? before
                                                                                            : after;

            memset(c->label + from, label, to - from);
        }
        from = to;
    }
}

/* Cuts and labels of the outcome; labels in order of appearance. */
static int collect(const struct decoder *c, struct rps_cuts *ret_cuts, int **ret_label)
{
    size_t count = 0;

    for (size_t i = 0; i < c->p->count; i++)
        count += (size_t)is_start(c, i);
    ret_cuts->start = malloc(count * sizeof(*ret_cuts->start));
    *ret_label = malloc(count * sizeof(**ret_label));
    if (!ret_cuts->start || !*ret_label) {
        free(ret_cuts->start);
        free(*ret_label);
        return -1;
    }
    ret_cuts->count = count;
    count = 0;
    for (size_t i = 0; i < c->p->count; i++) {
        if (!is_start(c, i))
            continue;
        (*ret_label)[count] = c->label[i];
        ret_cuts->start[count++] = i;
    }
    return 0;
}

static int decode(struct decoder *c, double deviation, double penalty, size_t min_length,
                  struct rps_cuts *cuts, int **label)
{
    struct rps_cuts found;
    int *found_label;

    if (make_means(c, cuts, *label) < 0)
        return -1;
    if (!are_alike(c, cuts, *label, deviation))
        return 0;
    for (int round = 0; round < 2; round++) { /* the means get better with the segments */
        forward(c, penalty * deviation * deviation);
        backward(c);
        absorb_short(c, min_length);
        if (collect(c, &found, &found_label) < 0)
            return -1;
        rps_cuts_free(cuts);
        free(*label);
        *cuts = found;
        *label = found_label;
        if (make_means(c, cuts, *label) < 0)
            return -1;
    }
    return 0;
}

int rps_decode(const struct rps_prepared *prepared, double deviation, double penalty,
               size_t min_length, int label_count, struct rps_cuts *cuts, int **label,
               struct rps_error *err)
{
    struct decoder c = {.p = prepared, .labels = label_count};
    size_t labels = (size_t)label_count;
    int rc = -1;

    if (label_count < 2 || label_count > UINT8_MAX)
        return 0;
    c.mean = malloc(labels * prepared->signal_count * sizeof(*c.mean));
    c.from = malloc(labels * prepared->count);
    c.total = malloc(labels * sizeof(*c.total));
    c.label = malloc(prepared->count);
    if (c.mean && c.from && c.total && c.label)
        rc = decode(&c, deviation, penalty, min_length, cuts, label);
    free(c.mean);
    free(c.from);
    free(c.total);
    free(c.label);
    return rc < 0 ? rps_error_memory(err) : 0;
}
