/* Several CPUs in one picture, in three ways. The sum of all CPUs looks like any other run. CPUs
 * side by side have a panel per metric, as several metrics of several CPUs in one panel would be
 * unreadable. With more CPUs than colours, each line is the median of the CPUs, and the band around
 * the line contains four fifths of the CPUs. If all CPUs behave the same, the band is narrow. */
#include <math.h>
#include <stdlib.h>

#include "rpistat/picture.h"
#include "rpistat/plan.h"

#define PICTURE_BAND 0.1 /* share of the CPUs below the band, and also above the band */

int rps_picture_choose_look(struct rps_picture *picture, enum rps_cpus_way way,
                            struct rps_error *err)
{
    int few = picture->characters ? RPS_CPUS_MARK_MAX : RPS_CPUS_LINE_MAX;
    int count = picture->cpu_series.count;

    if (picture->kind != RPS_PLOT_TIME && way == RPS_CPUS_EACH && count > 1)
        return rps_error_set(err, RPS_USAGE,
                             "--kind %s draws the sum of all CPUs; leave out --kind or --cpu each",
                             rps_plot_kind_names[picture->kind]);
    if (picture->kind != RPS_PLOT_TIME || count <= 1 || way == RPS_CPUS_SUM ||
        (way == RPS_CPUS_CHOSEN && count > few))
        return 0;
    picture->apart = count <= few;
    picture->quantile = count > few;
    return 0;
}

int rps_picture_legend_rows(const struct rps_picture *picture)
{
    int across;

    if (!picture->apart)
        return 0;
    if (picture->characters)
        return 1;
    across = (int)((picture->width / picture->scale - 28) / RPS_PICTURE_LEGEND_ENTRY);
    return (picture->line_count + across - 1) / across;
}

void rps_picture_drop_bands(struct rps_picture *picture)
{
    for (int i = 0; i < picture->plan->metric_count * picture->line_count; i++) {
        const struct rps_series *series = &picture->series[i];

        for (size_t k = 0; k < series->count; k++)
            series->min[k] = series->max[k] = series->value[k];
    }
}

/* A value of one CPU, and its column in the picture. */
struct sample {
    size_t column;
    double position, value;
};

/* Compare by column, then by value; missing values come last. */
static int compare_samples(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;

    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    if (isnan(x->value) || isnan(y->value))
        return isnan(x->value) - isnan(y->value);
    return (x->value > y->value) - (x->value < y->value);
}

/* Return the interpolated value below which `share` of the sorted samples are. */
static double quantile(const struct sample *sample, size_t count, double share)
{
    double place = share * (double)(count - 1);
    size_t low = (size_t)place;

    if (low + 1 >= count)
        return sample[count - 1].value;
    return sample[low].value + (place - (double)low) * (sample[low + 1].value - sample[low].value);
}

/* Add median and band of the samples of one column as the next point. */
static void add_column(struct rps_series *series, const struct sample *sample, size_t count)
{
    size_t i = series->count++, known = 0;
    double position = 0;

    for (size_t k = 0; k < count; k++) {
        position += sample[k].position / (double)count;
        known += !isnan(sample[k].value);
    }
    series->position[i] = position;
    series->value[i] = known > 0 ? quantile(sample, known, 0.5) : NAN;
    series->min[i] = known > 0 ? quantile(sample, known, PICTURE_BAND) : NAN;
    series->max[i] = known > 0 ? quantile(sample, known, 1 - PICTURE_BAND) : NAN;
    series->low[i] = series->high[i] = NAN;
}

/* Merge many series, column by column. The merged series has the points of all series. */
static struct rps_series merge_series(const struct rps_picture *picture,
                                      const struct rps_series *series, int count)
{
    double columns = (double)picture->bin_count;
    size_t total = 0, used = 0, begin = 0;
    struct rps_series ret;
    struct sample *sample;

    for (int i = 0; i < count; i++)
        total += series[i].count;
    sample = rps_arena_get(picture->arena, total, sizeof(*sample));
    for (int i = 0; i < count; i++) {
        for (size_t k = 0; k < series[i].count; k++, used++) {
            double share = (series[i].position[k] - picture->from) / (picture->to - picture->from);

            sample[used].column = share > 0 ? (size_t)(share * columns) : 0;
            sample[used].position = series[i].position[k];
            sample[used].value = series[i].value[k];
        }
    }
    qsort(sample, total, sizeof(*sample), compare_samples);
    ret = rps_series_new(picture->arena, total);
    for (size_t end = 1; end <= total; end++) {
        if (end < total && sample[end].column == sample[begin].column)
            continue;
        add_column(&ret, &sample[begin], end - begin);
        begin = end;
    }
    return ret;
}

void rps_picture_merge_lines(struct rps_picture *picture, const struct rps_series *series,
                             int count)
{
    size_t metrics = (size_t)picture->plan->metric_count;
    struct rps_series *merged =
        rps_arena_get(picture->arena, metrics + RPS_PALETTE_LINES, sizeof(*merged));

    for (size_t m = 0; m < metrics; m++)
        merged[m] = merge_series(picture, &series[m * (size_t)count], count);
    picture->series = merged;
    picture->line_count = 1;
}
