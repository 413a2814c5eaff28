/* Scores of phase labels, and the decoder that knows the true parameters. */
#include "phase_score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- boundaries ------------------------------------------------------------------------------- */

struct segments {
    size_t count, *start; /* start[count] is the end of the last segment */
};

static struct segments find_segments(const int *label, size_t n)
{
    struct segments found = {0, phase_must(malloc((n + 1) * sizeof(*found.start)))};

    for (size_t i = 0; i < n; i++)
        if (i == 0 || label[i] != label[i - 1])
            found.start[found.count++] = i;
    found.start[found.count] = n;
    return found;
}

/* Count the boundaries of `a` that have a boundary of `b` within the margin. Each boundary of `b`
 * is used once. */
static double count_hits(const struct segments *a, const struct segments *b, size_t margin)
{
    size_t k = 1, hits = 0;

    for (size_t i = 1; i < a->count; i++) {
        while (k < b->count && b->start[k] + margin < a->start[i])
            k++;
        if (k < b->count && b->start[k] <= a->start[i] + margin) {
            hits++;
            k++;
        }
    }
    return (double)hits;
}

static size_t overlap(const size_t *a, const size_t *b)
{
    size_t from = a[0] > b[0] ? a[0] : b[0], to = a[1] < b[1] ? a[1] : b[1];

    return to > from ? to - from : 0;
}

static double cover(const struct segments *truth, const struct segments *found)
{
    double sum = 0;
    size_t first = 0;

    for (size_t k = 0; k < truth->count; k++) {
        const size_t *a = truth->start + k;
        double best = 0;

        while (found->start[first + 1] <= a[0])
            first++;
        for (size_t m = first; m < found->count && found->start[m] < a[1]; m++) {
            const size_t *b = found->start + m;
            size_t both = overlap(a, b);

            best = fmax(best, (double)both / (double)(a[1] - a[0] + b[1] - b[0] - both));
        }
        sum += best * (double)(a[1] - a[0]);
    }
    return sum / (double)truth->start[truth->count];
}

/* --- labels ----------------------------------------------------------------------------------- */

static int count_labels(const int *label, size_t n)
{
    int most = 0;

    for (size_t i = 0; i < n; i++)
        most = label[i] > most ? label[i] : most;
    return most + 1;
}

static double pairs(double n)
{
    return n * (n - 1) / 2;
}

static double sum_pairs(const double *count, int of)
{
    double sum = 0;

    for (int i = 0; i < of; i++)
        sum += pairs(count[i]);
    return sum;
}

static double rand_index(const int *a, const int *b, size_t n)
{
    int rows = count_labels(a, n), columns = count_labels(b, n);
    double *table = phase_must(calloc((size_t)((rows + 1) * (columns + 1)), sizeof(*table)));
    double *row = table + rows * columns, *column = row + rows;
    double of_rows, of_columns, both, expected;

    for (size_t i = 0; i < n; i++) {
        table[a[i] * columns + b[i]]++;
        row[a[i]]++;
        column[b[i]]++;
    }
    of_rows = sum_pairs(row, rows);
    of_columns = sum_pairs(column, columns);
    both = sum_pairs(table, rows * columns);
    free(table);
    expected = of_rows * of_columns / pairs((double)n);
    if (of_rows + of_columns == 2 * expected)
        return 1;
    return (both - expected) / ((of_rows + of_columns) / 2 - expected);
}

void phase_score(const struct phase_series *truth, const int *label, size_t margin,
                 struct phase_score *ret)
{
    size_t n = truth->signals.count;
    struct segments a = find_segments(truth->label, n), b = find_segments(label, n);
    double boundaries = (double)(a.count + b.count - 2);

    *ret = (struct phase_score){
        .f1 = boundaries > 0 ? 2 * count_hits(&a, &b, margin) / boundaries : 1,
        .cover = cover(&a, &b),
        .rand = rand_index(truth->label, label, n),
        .changes = (double)(b.count - 1),
    };
    free(a.start);
    free(b.start);
}

/* --- the decoder ------------------------------------------------------------------------------ */

/* Return minus the logarithm of the density of a deviation, up to a constant. An outlier has a
 * hundredth of the density over a range about twenty times as wide. */
static double surprise(enum phase_noise noise, double deviation, double scale)
{
    double square = deviation * deviation;

    switch (noise) {
    case AR:
        return square / (2 * (1 - AR_PHI * AR_PHI));
    case STUDENT:
        return 2 * log(1 + square / 3);
    case OUTLIERS:
        return fmin(square / 2, log(100 * 20));
    case VARIANCE:
        return square / (2 * scale * scale) + log(scale);
    case CORRELATED:
        return square / (2 * (1 - CORRELATED_SHARE));
    default:
        return square / 2;
    }
}

/* Return the surprise of observation i in phase b if the previous observation was in phase a. */
static double surprise_at(const struct phase_series *series, size_t i, int a, int b)
{
    const struct rps_signals *signals = &series->signals;
    double sum = 0, total = 0, d = (double)signals->signal_count;

    for (size_t j = 0; j < signals->signal_count; j++) {
        const double *x = signals->value + j * signals->count + i;
        double deviation = *x - series->mean[b][j];

        if (isnan(deviation))
            continue;
        if (series->noise == AR && i > 0)
            deviation -= AR_PHI * (x[-1] - series->mean[a][j]);
        total += deviation;
        sum += surprise(series->noise, deviation, series->scale[b]);
    }
    if (series->noise == CORRELATED) /* the inverse of the covariance (Sherman and Morrison) */
        sum -= total * total * CORRELATED_SHARE /
               (2 * (1 - CORRELATED_SHARE) * (1 - CORRELATED_SHARE + CORRELATED_SHARE * d));
    return sum;
}

/* State of the best paths that end after observation t - 1 in a segment of at least the minimum
 * length, for each label. */
struct path {
    double surprise[PHASE_KINDS_MAX]; /* surprise of all observations before t, if they had this
                                         label */
    double cost[PHASE_KINDS_MAX];     /* cost of the best path */
    int before[PHASE_KINDS_MAX];      /* previous label, if the last segment has the minimum
                                         length; or -1 */
};

/* Extend the path by an observation in label b, or begin a segment of b after a segment of any
 * other label. */
static void step(const struct phase_series *series, struct path *path, size_t t, int b)
{
    double mean = (double)series->signals.count / (double)series->segments;
    double move = 1 / (mean - (double)series->shortest + 1);
    size_t start = t - series->shortest;
    double begun = 0;

    path[t].surprise[b] = path[t - 1].surprise[b] + surprise_at(series, t - 1, b, b);
    path[t].cost[b] =
        path[t - 1].cost[b] - log(1 - move) + path[t].surprise[b] - path[t - 1].surprise[b];
    path[t].before[b] = -1;
    if (t == series->shortest)
        path[t].cost[b] = path[t].surprise[b];
    for (int a = 0; a < series->phases && t > series->shortest; a++) {
        double cost;

        if (a == 0 || series->noise == AR)
            begun = surprise_at(series, start, a, b);
        cost = path[start].cost[a] - log(move) + begun + path[t].surprise[b] -
               path[start + 1].surprise[b];
        if (a != b && cost < path[t].cost[b]) {
            path[t].cost[b] = cost;
            path[t].before[b] = a;
        }
    }
}

void phase_decode(const struct phase_series *series, int *label)
{
    size_t n = series->signals.count;
    struct path *path = phase_must(calloc(n + 1, sizeof(*path)));
    int best = 0;

    for (int b = 0; b < series->phases; b++)
        path[0].cost[b] = INFINITY;
    for (size_t t = 1; t <= n; t++)
        for (int b = 0; b < series->phases; b++)
            step(series, path, t, b);
    for (int b = 1; b < series->phases; b++)
        if (path[n].cost[b] < path[n].cost[best])
            best = b;
    for (size_t t = n; t > 0;) {
        int before = path[t].before[best];
        size_t length = before < 0 ? 1 : series->shortest;

        while (length-- > 0)
            label[--t] = best;
        best = before < 0 ? best : before;
    }
    free(path);
}
