/*
 * Chooses the axes of a scatter plot. The quality of a metric is the share of the variance of its
 * ranks between the labels: Kruskal and Wallis' H / (n - 1). It is adjusted for the number of
 * labels like R^2. Ranks are used since the rate of a rare event is 0 mostly, and occasionally a
 * hundred. A metric with one value at more than half of the points is useless.
 */
#include "scatter_axes.h"

#include <math.h>
#include <stdlib.h>

#include "rpistat/arena.h"

#define SAME_VALUE_MAX .5 /* share of the points with the same value */
#define LIKE_FIRST     .5 /* share of a second metric not counted if it orders labels alike */

struct ranked {
    float value;
    uint16_t label;
};

struct axis {
    double explained;    /* 0 ... 1; 0: nothing */
    double *rank, *size; /* mean rank of each label, from the middle; its number of points */
};

static int compare_values(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    return (x->value > y->value) - (x->value < y->value);
}

/* Add the ranks of sorted points to their labels. Equal values share their middle rank. Returns the
 * sum of squared ranks; *ret_same is the largest number of equal points. */
static double add_ranks(const struct ranked *sorted, size_t count, struct axis *axis,
                        size_t *ret_same)
{
    double squares = 0;

    *ret_same = 0;
    for (size_t first = 0, next; first < count; first = next) {
        double rank;

        for (next = first + 1; next < count && sorted[next].value <= sorted[first].value;)
            next++;
        rank = (double)(first + next) / 2 - (double)count / 2;
        *ret_same = next - first > *ret_same ? next - first : *ret_same;
        for (size_t i = first; i < next; i++) {
            axis->rank[sorted[i].label] += rank;
            axis->size[sorted[i].label]++;
        }
        squares += rank * rank * (double)(next - first);
    }
    return squares;
}

static struct axis rank_metric(struct rps_arena *arena, const struct rps_scatter_points *points,
                               size_t metric, size_t labels)
{
    struct axis axis = {0, rps_arena_get(arena, labels, sizeof(*axis.rank)),
                        rps_arena_get(arena, labels, sizeof(*axis.size))};
    struct ranked *sorted = rps_arena_get(arena, points->count, sizeof(*sorted));
    double between = 0, used = 0, all, n;
    size_t count = 0, same;

    for (size_t i = 0; i < points->count; i++) {
        const float value = points->value[i * points->metric_count + metric];

        if (isfinite(value))
            sorted[count++] = (struct ranked){value, points->label[i]};
    }
    if (count == 0)
        return axis;
    qsort(sorted, count, sizeof(*sorted), compare_values);
    all = add_ranks(sorted, count, &axis, &same);
    for (size_t l = 0; l < labels; l++) {
        if (axis.size[l] == 0)
            continue;
        axis.rank[l] /= axis.size[l];
        between += axis.size[l] * axis.rank[l] * axis.rank[l];
        used++;
    }
    n = (double)count;
    if ((double)same <= SAME_VALUE_MAX * n && n > used && all > 0)
        axis.explained = fmax(0, 1 - (1 - between / all) * (n - 1) / (n - used));
    return axis;
}

/* The squared correlation of the labels' mean ranks in two metrics. */
static double likeness(const struct axis *a, const struct axis *b, size_t labels)
{
    double xx = 0, yy = 0, xy = 0;

    for (size_t l = 0; l < labels; l++) {
        xx += a->size[l] * a->rank[l] * a->rank[l];
        yy += a->size[l] * b->rank[l] * b->rank[l];
        xy += a->size[l] * a->rank[l] * b->rank[l];
    }
    return xx > 0 && yy > 0 ? xy * xy / (xx * yy) : 0;
}

void rps_scatter_choose_axes(const struct rps_scatter_points *points, int ret[2])
{
    struct rps_arena *scratch = rps_arena_new();
    struct axis *axis = rps_arena_get(scratch, points->metric_count, sizeof(*axis));
    double most[2] = {0, 0};
    size_t labels = 0;

    for (size_t i = 0; i < points->count; i++)
        labels = points->label[i] >= labels ? (size_t)points->label[i] + 1 : labels;
    ret[0] = ret[1] = -1;
    for (size_t m = 0; m < points->metric_count; m++) {
        axis[m] = rank_metric(scratch, points, m, labels);
        if (axis[m].explained > most[0]) {
            most[0] = axis[m].explained;
            ret[0] = (int)m;
        }
    }
    for (size_t m = 0; m < points->metric_count && ret[0] >= 0; m++) {
        double gain =
            axis[m].explained * (1 - LIKE_FIRST * likeness(&axis[ret[0]], &axis[m], labels));

        if ((int)m != ret[0] && gain > most[1]) {
            most[1] = gain;
            ret[1] = (int)m;
        }
    }
    rps_arena_free(scratch);
}
