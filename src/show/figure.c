/*
 * Figures: from the store to the series of a picture.
 *
 * A recording by CPU has three looks. Added up it is a run like any other. Side by side, each
 * metric has a panel of its own, because lines of several metrics and several CPUs in one panel
 * cannot be told apart. Of more CPUs than there are colours, each line is the median over them, and
 * the band around it holds four fifths of them: where all do the same it is thin.
 */
#include "figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIGURE_WIDTH        1200
#define FIGURE_PANEL_HEIGHT 160
#define FIGURE_PANEL_LEAST  110 /* room a panel's text needs */
#define FIGURE_BIN_PX       1.5
#define FIGURE_COLUMNS      80
#define FIGURE_LINES        24
#define FIGURE_PANEL_LINES  4
#define FIGURE_BAND_LINES   4   /* CPUs side by side that each have the band of their extremes */
#define FIGURE_BAND         0.1 /* share of the CPUs below and above the band of many */

/* --- walking -------------------------------------------------------------------------------------
 */

static double axis_from(enum rps_axis axis, const struct rps_period *period)
{
    return axis == RPS_AXIS_CYCLE ? (double)(period->cycle - period->cycles)
                                  : (double)period->start_ns / 1e9;
}

static double axis_to(enum rps_axis axis, const struct rps_period *period)
{
    return axis == RPS_AXIS_CYCLE ? (double)period->cycle
                                  : (double)(period->start_ns + period->length_ns) / 1e9;
}

static int side_by_side(const struct rps_figure *figure)
{
    return figure->apart || figure->quantile;
}

static int walk(const struct rps_figure *figure, rps_tracks_period *each, void *context,
                struct rps_error *err)
{
    return side_by_side(figure) ? rps_tracks_walk(&figure->tracks, each, context, err)
                                : rps_tracks_walk_sum(&figure->tracks, each, context, err);
}

static int widen_range(void *context, const struct rps_period *period, struct rps_error *err)
{
    struct rps_figure *figure = context;

    (void)err;
    figure->from = fmin(figure->from, axis_from(figure->axis, period));
    figure->to = fmax(figure->to, axis_to(figure->axis, period));
    return 0;
}

/* The run knows how long it was, so that only the cycle axis costs a walk of its own. */
static int read_range(struct rps_figure *figure, const struct rps_plot_options *options,
                      struct rps_error *err)
{
    if (figure->axis == RPS_AXIS_TIME && figure->run.elapsed_ns > 0) {
        figure->from = (double)options->from_ns / 1e9;
        figure->to = fmin((double)options->to_ns, (double)figure->run.elapsed_ns) / 1e9;
    } else {
        figure->from = INFINITY;
        figure->to = 0;
        if (walk(figure, widen_range, figure, err) < 0)
            return RPS_FAILED;
    }
    if (!isfinite(figure->from))
        figure->from = 0;
    if (!(figure->to > figure->from))
        figure->to = figure->from + 1;
    return 0;
}

/* --- series --------------------------------------------------------------------------------------
 */

static size_t bin_count(const struct rps_figure *figure)
{
    double room = figure->characters
                      ? figure->width - RPS_FIGURE_COLUMN_MARGIN
                      : (figure->width - RPS_FIGURE_MARGIN * figure->scale) / FIGURE_BIN_PX;

    return room > 10 ? (size_t)room : 10;
}

/* The bins of the track that is being walked, and where its series go. */
struct binning {
    struct rps_figure *figure;
    struct rps_bins *bins;
    int32_t cpu;
    int lines;                 /* room for series of each metric */
    int line;                  /* the one being filled */
    struct rps_series *series; /* as in the figure, with `lines` a metric */
};

static int end_track(struct binning *binning, struct rps_error *err)
{
    const struct rps_plan *plan = binning->figure->plan;
    int result = 0;

    if (!binning->bins)
        return 0;
    for (int m = 0; m < plan->metric_count && result == 0; m++) {
        if (plan->metric[m].panel[0])
            result = rps_bins_series(binning->bins, m,
                                     &binning->series[m * binning->lines + binning->line], err);
    }
    rps_bins_free(binning->bins);
    binning->bins = NULL;
    binning->line++;
    return result;
}

static int bin_period(void *context, const struct rps_period *period, struct rps_error *err)
{
    struct binning *binning = context;
    const struct rps_figure *figure = binning->figure;

    if (binning->bins && period->cpu != binning->cpu && end_track(binning, err) < 0)
        return RPS_FAILED;
    if (binning->line >= binning->lines)
        return 1; /* a CPU that came while the tracks were counted: not in this picture */
    if (!binning->bins && rps_bins_new(&binning->bins, figure->plan, figure->axis, figure->from,
                                       figure->to, bin_count(figure), err) < 0)
        return RPS_FAILED;
    binning->cpu = period->cpu;
    rps_bins_add(binning->bins, period);
    return 0;
}

static void free_series(struct rps_series *series, size_t count)
{
    for (size_t i = 0; series && i < count; i++)
        rps_series_free(&series[i]);
    free(series);
}

/* A value of one CPU, and the column of the picture it belongs to. */
struct sample {
    size_t column;
    double position, value;
};

/* By column, in it by value, missing ones last. */
static int compare_samples(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;

    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    if (isnan(x->value) || isnan(y->value))
        return isnan(x->value) - isnan(y->value);
    return (x->value > y->value) - (x->value < y->value);
}

/* The value below which `share` of the sorted samples lie, in between where it falls there. */
static double quantile(const struct sample *sample, size_t count, double share)
{
    double place = share * (double)(count - 1);
    size_t low = (size_t)place;

    if (low + 1 >= count)
        return sample[count - 1].value;
    return sample[low].value + (place - (double)low) * (sample[low + 1].value - sample[low].value);
}

/* Median and band of the samples of one column, as the next point. */
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
    series->min[i] = known > 0 ? quantile(sample, known, FIGURE_BAND) : NAN;
    series->max[i] = known > 0 ? quantile(sample, known, 1 - FIGURE_BAND) : NAN;
}

static int allocate_series(struct rps_series *series, size_t points, struct rps_error *err)
{
    points = points > 0 ? points : 1;
    series->position = calloc(points, sizeof(double));
    series->value = calloc(points, sizeof(double));
    series->min = calloc(points, sizeof(double));
    series->max = calloc(points, sizeof(double));
    if (series->position && series->value && series->min && series->max)
        return 0;
    rps_series_free(series);
    return rps_error_memory(err);
}

/* One series of many: the points of all of them, column by column. */
static int merge_series(const struct rps_figure *figure, const struct rps_series *series, int count,
                        struct rps_series *ret, struct rps_error *err)
{
    double columns = (double)bin_count(figure);
    size_t total = 0, used = 0, begin = 0;
    struct sample *sample;
    int result;

    for (int i = 0; i < count; i++)
        total += series[i].count;
    sample = calloc(total > 0 ? total : 1, sizeof(*sample));
    if (!sample)
        return rps_error_memory(err);
    for (int i = 0; i < count; i++) {
        for (size_t k = 0; k < series[i].count; k++, used++) {
            double share = (series[i].position[k] - figure->from) / (figure->to - figure->from);

            sample[used].column = share > 0 ? (size_t)(share * columns) : 0;
            sample[used].position = series[i].position[k];
            sample[used].value = series[i].value[k];
        }
    }
    qsort(sample, total, sizeof(*sample), compare_samples);
    result = allocate_series(ret, total, err);
    for (size_t end = 1; result == 0 && end <= total; end++) {
        if (end < total && sample[end].column == sample[begin].column)
            continue;
        add_column(ret, &sample[begin], end - begin);
        begin = end;
    }
    free(sample);
    return result;
}

/* From a series a CPU to one of their quantiles, for each metric. */
static int merge_lines(struct rps_figure *figure, struct binning *binning, struct rps_error *err)
{
    size_t metrics = (size_t)figure->plan->metric_count;
    struct rps_series *merged = calloc(metrics + 1, sizeof(*merged));
    int result = merged ? 0 : rps_error_memory(err);

    for (size_t m = 0; m < metrics && result == 0; m++)
        result = merge_series(figure, &binning->series[m * (size_t)binning->lines], binning->lines,
                              &merged[m], err);
    free_series(binning->series, metrics * (size_t)binning->lines);
    binning->series = merged;
    figure->line_count = 1;
    return result;
}

/* --- panels --------------------------------------------------------------------------------------
 */

struct rps_series *rps_figure_series(const struct rps_figure *figure, int metric, int line)
{
    return &figure->series[metric * figure->line_count + line];
}

static int metric_has_data(const struct rps_figure *figure, int metric)
{
    for (int line = 0; line < figure->line_count; line++) {
        const struct rps_series *series = rps_figure_series(figure, metric, line);

        for (size_t i = 0; i < series->count; i++) {
            if (isfinite(series->value[i]))
                return 1;
        }
    }
    return 0;
}

/* The panel of metric m: that of an earlier drawn metric of the same panel, or a new one. */
static int panel_of(struct rps_figure *figure, int m)
{
    for (int i = 0; i < m && !figure->apart; i++) {
        if (figure->panel[i] >= 0 &&
            strcmp(figure->plan->metric[i].panel, figure->plan->metric[m].panel) == 0)
            return figure->panel[i];
    }
    return figure->panel_count++;
}

static void choose_panels(struct rps_figure *figure)
{
    for (int m = 0; m < figure->plan->metric_count; m++)
        figure->panel[m] = metric_has_data(figure, m) ? panel_of(figure, m) : -1;
    if (figure->panel_count == 0)
        figure->panel_count = 1;
}

/* The bands of many lines lie on one another and hide the lines. */
static void drop_bands(struct rps_figure *figure)
{
    for (int i = 0; i < figure->plan->metric_count * figure->line_count; i++) {
        const struct rps_series *series = &figure->series[i];

        for (size_t k = 0; k < series->count; k++)
            series->min[k] = series->max[k] = series->value[k];
    }
}

static int read_series(struct rps_figure *figure, struct rps_error *err)
{
    size_t metrics = (size_t)figure->plan->metric_count;
    struct binning binning = {.figure = figure, .lines = 1};
    int result;

    if (figure->tracks.count == 0)
        return rps_error_set(err, RPS_FAILED,
                             "run %lld holds no measurement periods there: nothing can be drawn",
                             (long long)figure->tracks.run_id);
    if (side_by_side(figure))
        binning.lines = figure->tracks.count;
    figure->line_count = binning.lines;
    figure->panel = calloc(metrics + 1, sizeof(*figure->panel));
    binning.series = calloc(metrics * (size_t)binning.lines + 1, sizeof(*binning.series));
    if (!figure->panel || !binning.series) {
        free(binning.series);
        return rps_error_memory(err);
    }
    result = walk(figure, bin_period, &binning, err);
    if (result == 0)
        result = end_track(&binning, err);
    rps_bins_free(binning.bins);
    if (result == 0 && figure->quantile)
        result = merge_lines(figure, &binning, err);
    figure->series = binning.series;
    if (result == 0 && figure->apart && figure->line_count > FIGURE_BAND_LINES)
        drop_bands(figure);
    if (result == 0)
        choose_panels(figure);
    return result;
}

/* --- the figure ----------------------------------------------------------------------------------
 */

static double between(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

static void choose_width(struct rps_figure *figure, const struct rps_plot_options *options)
{
    int chosen = figure->characters ? FIGURE_COLUMNS : FIGURE_WIDTH;

    figure->width = options->width > 0 ? options->width : chosen;
    figure->scale = figure->characters ? 1 : between(figure->width / (double)FIGURE_WIDTH, 0.7, 8);
}

int rps_figure_legend_rows(const struct rps_figure *figure)
{
    int across;

    if (!figure->apart)
        return 0;
    if (figure->characters)
        return 1;
    across = (int)((figure->width / figure->scale - 28) / RPS_FIGURE_LEGEND_ENTRY);
    return (figure->line_count + across - 1) / across;
}

static void choose_height(struct rps_figure *figure, const struct rps_plot_options *options)
{
    int rows = rps_figure_legend_rows(figure);
    double frame = RPS_FIGURE_FRAME_HEIGHT + (double)RPS_FIGURE_LEGEND_HEIGHT * rows;
    double natural = frame + (double)FIGURE_PANEL_HEIGHT * figure->panel_count;
    double least = frame + (double)FIGURE_PANEL_LEAST * figure->panel_count;

    if (figure->characters) {
        /* A panel of fewer lines cannot be read: rather let the terminal scroll. */
        int least_lines = RPS_FIGURE_FRAME_LINES + rows + FIGURE_PANEL_LINES * figure->panel_count;

        figure->height = options->height > 0 ? options->height : FIGURE_LINES;
        figure->height = figure->height > least_lines ? figure->height : least_lines;
        return;
    }
    figure->height = options->height > 0 ? options->height : (int)(natural * figure->scale);
    figure->scale = between(figure->scale, 0.5, fmax(0.5, figure->height / least));
}

/* Added up, side by side, or as quantiles. */
static void choose_look(struct rps_figure *figure, enum rps_cpus_way way)
{
    int few = figure->characters ? RPS_CPUS_MARK_MAX : RPS_CPUS_LINE_MAX;
    int count = figure->tracks.count;

    if (count <= 1 || way == RPS_CPUS_SUM || (way == RPS_CPUS_CHOSEN && count > few))
        return;
    figure->apart = count <= few;
    figure->quantile = count > few;
}

int rps_figure_read(struct rps_figure *figure, struct rps_reader *reader, int64_t run_id,
                    const struct rps_plot_options *options, int characters, struct rps_error *err)
{
    memset(figure, 0, sizeof(*figure));
    rps_run_init(&figure->run);
    figure->axis = options->axis;
    figure->characters = characters;
    choose_width(figure, options);
    if (rps_reader_run(reader, run_id, &figure->run, err) < 0 ||
        rps_reader_plan(reader, run_id, &figure->plan, err) < 0 ||
        rps_tracks_open(&figure->tracks, reader, run_id, options->from_ns, options->to_ns,
                        &options->cpus, err) < 0)
        return RPS_FAILED;
    choose_look(figure, options->cpus.way);
    if (read_range(figure, options, err) < 0 || read_series(figure, err) < 0)
        return RPS_FAILED;
    choose_height(figure, options);
    return 0;
}

void rps_figure_free(struct rps_figure *figure)
{
    if (figure->plan)
        free_series(figure->series,
                    (size_t)figure->plan->metric_count * (size_t)figure->line_count);
    free(figure->panel);
    rps_tracks_free(&figure->tracks);
    rps_plan_free(figure->plan);
    rps_run_free(&figure->run);
    memset(figure, 0, sizeof(*figure));
}
