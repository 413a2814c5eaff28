/*
 * The yardstick of phase detection: synthetic series with known phases.
 *
 * usage: phases [SEEDS [quick]]
 *
 * P recurring means N(0, delta^2) in each signal, unit noise, sqrt(n)/2 segments of at least 20
 * periods and exponential length, 3 to 8 phases. Prints a table: precision, recall and F1 of
 * boundaries with a margin of five periods; covering; adjusted Rand index of the labels per period,
 * and phases found against true; time. Then a day of periods, beside the search at every point
 * (PELT alone), which takes minutes: not when quick.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rpistat/detect.h"

#define MARGIN 5

enum noise { WHITE, AR, STUDENT, OUTLIERS, VARIANCE, MASKED };

static const char *const noise_name[] = {"white",        "AR(1) .6", "Student t3",
                                         "1 % outliers", "variance", "masked 1 in 4"};

struct series {
    struct rps_signals signals;
    size_t segment_count;
    size_t *start; /* segment_count + 1 */
    int *label;    /* of segments */
    int label_count;
};

/* --- random numbers --------------------------------------------------------------------------- */

static uint64_t state;

static double uniform(void)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

static double student3(void)
{
    double a = normal(), b = normal(), c = normal();

    return normal() / sqrt((a * a + b * b + c * c) / 3);
}

/* --- series
 * ---------------------------------------------------------------------------------------- */

/* Lengths of `count` segments: at least 20, the rest shared out as exponentials. */
static void cut_up(struct series *s, size_t n, size_t count)
{
    double *share = malloc(count * sizeof(*share)), total = 0, at = 0;
    size_t free_periods = n - 20 * count;

    for (size_t k = 0; k < count; k++)
        total += share[k] = -log(uniform());
    s->segment_count = count;
    s->start = malloc((count + 1) * sizeof(*s->start));
    s->label = malloc(count * sizeof(*s->label));
    for (size_t k = 0; k <= count; k++) {
        s->start[k] = k == count ? n : 20 * k + (size_t)(at / total * (double)free_periods);
        at += k < count ? share[k] : 0;
    }
    free(share);
}

static double noise_value(enum noise kind, double *before, double scale)
{
    double value;

    switch (kind) {
    case AR:
        value = 0.6 * *before + 0.8 * normal();
        break;
    case STUDENT:
        value = student3();
        break;
    case OUTLIERS:
        value = uniform() < 0.01 ? 10 * normal() + (uniform() < 0.5 ? 20 : -20) : normal();
        break;
    case VARIANCE:
        value = scale * normal();
        break;
    default:
        value = normal();
    }
    *before = value;
    return value;
}

static void make(struct series *s, size_t n, size_t d, double delta, enum noise kind,
                 size_t segments, uint64_t seed)
{
    double mean[8][16], scale[8];
    int phases;

    state = seed * UINT64_C(1000003);
    phases = 3 + (int)(uniform() * 6);
    memset(s, 0, sizeof(*s));
    cut_up(s, n, segments);
    for (int p = 0; p < phases; p++) {
        scale[p] = 0.5 + 1.5 * uniform();
        for (size_t j = 0; j < d; j++)
            mean[p][j] = delta * normal();
    }
    s->signals = (struct rps_signals){
        .count = n, .signal_count = d, .value = malloc(n * d * sizeof(double))};
    for (size_t k = 0, used = 0; k < segments; k++) {
        do
            s->label[k] = (int)(uniform() * phases);
        while (k > 0 && s->label[k] == s->label[k - 1] && phases > 1);
        used |= (size_t)1 << s->label[k];
        s->label_count = __builtin_popcountll(used);
    }
    for (size_t j = 0; j < d; j++) {
        double before = normal();

        for (size_t k = 0; k < segments; k++)
            for (size_t i = s->start[k]; i < s->start[k + 1]; i++)
                s->signals.value[j * n + i] =
                    mean[s->label[k]][j] + noise_value(kind, &before, scale[s->label[k]]);
    }
    if (kind == MASKED)
        for (size_t j = 0; j < d; j++)
            for (size_t i = 0; i < n; i++)
                if (i % 4 != j % 4)
                    s->signals.value[j * n + i] = NAN;
}

static void series_free(struct series *s)
{
    rps_signals_free(&s->signals);
    free(s->start);
    free(s->label);
}

/* --- scores
 * ------------------------------------------------------------------------------------------ */

struct score {
    double precision, recall, f1, cover, rand, off, seconds;
    double changes;
};

static double boundaries_hit(const size_t *a, size_t na, const size_t *b, size_t nb)
{
    double hit = 0;
    size_t k = 0;

    for (size_t i = 0; i < na; i++) { /* each of b serves once */
        while (k < nb && b[k] + MARGIN < a[i])
            k++;
        if (k < nb && b[k] <= a[i] + MARGIN) {
            hit++;
            k++;
        }
    }
    return hit;
}

static double choose2(double n)
{
    return n * (n - 1) / 2;
}

static double rand_index(const int *a, const int *b, size_t n, int na, int nb)
{
    double *table = calloc((size_t)na * (size_t)nb, sizeof(*table)), same = 0, sa = 0, sb = 0,
           expected;

    for (size_t i = 0; i < n; i++)
        table[a[i] * nb + b[i]]++;
    for (int i = 0; i < na; i++) {
        double row = 0;

        for (int j = 0; j < nb; j++) {
            same += choose2(table[i * nb + j]);
            row += table[i * nb + j];
        }
        sa += choose2(row);
    }
    for (int j = 0; j < nb; j++) {
        double column = 0;

        for (int i = 0; i < na; i++)
            column += table[i * nb + j];
        sb += choose2(column);
    }
    free(table);
    expected = sa * sb / choose2((double)n);
    return sa + sb == 2 * expected ? 1 : (same - expected) / (0.5 * (sa + sb) - expected);
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct score judge(const struct series *s, const struct rps_detect_options *options,
                          struct rps_detect_details *details)
{
    struct rps_error err;
    struct rps_phases found;
    struct score score = {0};
    size_t n = s->signals.count, *start;
    int *truth = malloc(n * sizeof(*truth)), *label = malloc(n * sizeof(*label));
    double hit, begin = now_s();

    if (rps_detect(&s->signals, options, &found, details, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    score.seconds = now_s() - begin;
    start = malloc(found.count * sizeof(*start));
    for (size_t k = 0; k < found.count; k++) {
        start[k] = found.phase[k].first;
        for (size_t i = found.phase[k].first; i <= found.phase[k].last; i++)
            label[i] = found.phase[k].label;
    }
    for (size_t k = 0; k < s->segment_count; k++) {
        double best = 0, length = (double)(s->start[k + 1] - s->start[k]);

        for (size_t i = s->start[k]; i < s->start[k + 1]; i++)
            truth[i] = s->label[k];
        for (size_t m = 0; m < found.count; m++) {
            size_t from = start[m] > s->start[k] ? start[m] : s->start[k];
            size_t to = found.phase[m].last + 1 < s->start[k + 1] ? found.phase[m].last + 1
                                                                  : s->start[k + 1];
            double both = to > from ? (double)(to - from) : 0;

            best =
                fmax(best, both / (length + (double)(found.phase[m].last + 1 - start[m]) - both));
        }
        score.cover += length * best / (double)n;
    }
    hit = boundaries_hit(s->start + 1, s->segment_count - 1, start + 1, found.count - 1);
    score.changes = (double)found.count - 1;
    score.recall = s->segment_count > 1 ? hit / (double)(s->segment_count - 1) : 1;
    score.precision = found.count > 1 ? hit / (double)(found.count - 1) : 1;
    score.f1 = hit > 0 ? 2 * score.precision * score.recall / (score.precision + score.recall) : 0;
    score.rand =
        rand_index(truth, label, n, s->label_count > 8 ? s->label_count : 8, found.label_count);
    score.off = found.label_count - s->label_count;
    free(start);
    free(truth);
    free(label);
    rps_phases_free(&found);
    return score;
}

int main(int argc, char **argv)
{
    int seeds = argc > 1 ? atoi(argv[1]) : 5;
    struct rps_detect_options options = {0};
    struct rps_detect_details details;
    static const double deltas[] = {1, 0.4};

    printf("%-14s %6s %6s %6s %6s %6s %6s %6s %8s\n", "36,000 x 6", "delta", "prec", "recall", "F1",
           "cover", "ARI", "k-true", "s");
    for (int kind = WHITE; kind <= MASKED; kind++)
        for (int h = 0; h < 2; h++) {
            struct score sum = {0};

            for (int seed = 1; seed <= seeds; seed++) {
                struct series s;
                struct score one;

                make(&s, 36000, 6, deltas[h], kind, 95, (uint64_t)(seed + 100 * kind + 1000 * h));
                one = judge(&s, &options, &details);
                sum.precision += one.precision / seeds;
                sum.recall += one.recall / seeds;
                sum.f1 += one.f1 / seeds;
                sum.cover += one.cover / seeds;
                sum.rand += one.rand / seeds;
                sum.off += fabs(one.off) / seeds;
                sum.seconds += one.seconds / seeds;
                series_free(&s);
            }
            printf("%-14s %6.1f %6.3f %6.3f %6.3f %6.3f %6.3f %6.1f %8.4f\n", noise_name[kind],
                   deltas[h], sum.precision, sum.recall, sum.f1, sum.cover, sum.rand, sum.off,
                   sum.seconds);
        }
    for (int kind = WHITE; kind <= MASKED; kind++) {
        int changes = 0;

        for (int seed = 1; seed <= 20; seed++) {
            struct series s;

            make(&s, 36000, 6, 0, kind == VARIANCE ? WHITE : kind, 1,
                 (uint64_t)(7000 + seed + 100 * kind));
            changes += (int)judge(&s, &options, &details).changes;
            series_free(&s);
        }
        printf("null %-14s changes in 20 series: %d\n", noise_name[kind], changes);
    }
    for (size_t segments = 6; segments <= 501; segments += 495) {
        struct series s;
        struct score one, exact;
        struct rps_detect_options with = {.exact = 1};
        double objective;

        make(&s, 864000, 8, 1, WHITE, segments, 9);
        one = judge(&s, &options, &details);
        objective = details.objective;
        printf("day, %zu changes: %.3f s, F1 %.3f", segments - 1, one.seconds, one.f1);
        if (argc < 3) {
            exact = judge(&s, &with, &details);
            printf("; exact %.3f s, F1 %.3f, objective %.1f above it", exact.seconds, exact.f1,
                   objective - details.objective);
        }
        printf("\n");
        series_free(&s);
    }
    return 0;
}
