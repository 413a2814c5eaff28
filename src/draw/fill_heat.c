/*
 * A run as a map (RPS_PLOT_HEAT): a row a metric, a colour for how far it is from the run's own
 * figure, in spreads. For runs with more metrics than panels can be looked at.
 *
 * The figure is the report's, a ratio of sums over the part that is drawn: the mean of the columns
 * would give an idle second as much weight as a busy one. The spread is the root mean square
 * distance of the columns from it; it counts as HEAT_LEAST of it at least, since a colour for a
 * thousandth means nothing to anybody. A row whose columns are hardly further from its figure than
 * from their neighbours is noise around a constant, and left plain. That noise is told by the
 * median, so that a lone spike or a boundary does not count as noise.
 *
 * Neighbouring columns of nearly the same colour are one box: a picture of a quiet day would be
 * thousands of boxes a row otherwise.
 */
#include <math.h>
#include <stdlib.h>

#include "rpistat/picture_kinds.h"
#include "rpistat/text.h"

#define HEAT_ROW       26  /* natural height of a row */
#define HEAT_ROW_LEAST 7   /* one cannot be told from the next below */
#define HEAT_ROW_TEXT  13  /* a name needs this much */
#define HEAT_MOST      2.5 /* spreads at the ends of the colours */
#define HEAT_STEP      0.125
#define HEAT_LEAST     0.01 /* of the figure: the smallest spread */
#define HEAT_LEFT      190
#define HEAT_NARROW    118 /* of a narrow picture */
#define HEAT_RIGHT     136

/* The deviation of independent values is this many times their neighbours' median distance: of
 * normal ones 1 / (0.6745 * sqrt(2)). */
#define HEAT_NOISE 1.048

/* Spread over noise of a row that is no more than noise: 1 of normal values without end; of few,
 * and of others, it is seldom above (1 in 100 of simulated rows of 16 to 600 columns). */
#define HEAT_NOISE_MOST 1.5
#define HEAT_NOISE_FEW  3 /* and this over the root of how many there are */

/* A row of the map. */
struct row {
    double figure; /* of the run */
    double spread;
    double unit; /* of the colours */
    int plain;   /* 1: nothing but noise */
};

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* What the values of a series vary by from one to the next; `distance` has room for them all. */
static double noise_of(const struct rps_series *series, double *distance)
{
    size_t count = 0;

    for (size_t i = 1; i < series->count; i++) {
        double step = fabs(series->value[i] - series->value[i - 1]);

        if (isfinite(step))
            distance[count++] = step;
    }
    qsort(distance, count, sizeof(*distance), by_size);
    return count > 0 ? HEAT_NOISE * distance[count / 2] : 0;
}

static void fill_row(struct row *row, const struct rps_series *series, double *distance)
{
    double squares = 0, count = 0;

    for (size_t i = 0; i < series->count; i++) {
        double off = series->value[i] - row->figure;

        squares += isfinite(off) ? off * off : 0;
        count += isfinite(off);
    }
    row->spread = count > 0 ? sqrt(squares / count) : 0;
    row->plain = row->spread <= (HEAT_NOISE_MOST + HEAT_NOISE_FEW / sqrt(fmax(1, count))) *
                                    noise_of(series, distance);
    row->unit = fmax(row->spread, HEAT_LEAST * fabs(row->figure));
}

/* The figures of the run, as the report makes them. */
static int read_figures(const struct rps_picture *picture, struct row *row, struct rps_error *err)
{
    const struct rps_plan *plan = picture->plan;
    struct rps_cpu_series cpu_series = picture->cpu_series;
    struct rps_walk walk = {.series = &cpu_series, .way = RPS_CPUS_SUM};
    double *operand = calloc((size_t)rps_plan_operand_count(plan), sizeof(*operand));
    struct rps_tally tally = {0};
    int result = operand ? rps_tally_init(&tally, plan, err) : rps_error_memory(err);

    cpu_series.resolution = RPS_LEVELS; /* sums are the same at every level */
    while (rps_walk_next(&walk, &result, err))
        rps_tally_add(&tally, walk.period);
    if (result == 0)
        rps_tally_operands(&tally, plan, operand);
    for (int m = 0; m < plan->metric_count && result == 0; m++)
        row[m].figure = rps_formula_value(&plan->metric[m].formula, operand);
    rps_tally_free(&tally);
    free(operand);
    return result;
}

/* A row of each metric that is drawn, in a new array (free()). */
static int read_rows(const struct rps_picture *picture, struct row **ret, struct rps_error *err)
{
    size_t metrics = (size_t)picture->plan->metric_count, most = 0;
    struct row *row = calloc(metrics + 1, sizeof(*row));
    double *distance;
    int result;

    for (size_t m = 0; m < metrics; m++) {
        size_t count = rps_picture_series(picture, (int)m, 0)->count;

        most = count > most ? count : most;
    }
    distance = calloc(most + 1, sizeof(*distance));
    result = row && distance ? read_figures(picture, row, err) : rps_error_memory(err);
    for (size_t m = 0; m < metrics && result == 0; m++)
        fill_row(&row[m], rps_picture_series(picture, (int)m, 0), distance);
    free(distance);
    if (result == 0)
        *ret = row;
    else
        free(row);
    return result;
}

/* The distance from the figure in steps of colour. */
static double step_of(const struct row *row, double value)
{
    double distance;

    if (!isfinite(value))
        return NAN;
    if (row->plain || !(row->unit > 0))
        return 0;
    distance = (value - row->figure) / row->unit;
    distance = fmin(HEAT_MOST, fmax(-HEAT_MOST, distance));
    return round(distance / HEAT_STEP) * HEAT_STEP;
}

/* Where point i ends and the next begins. */
static double end_of(const struct rps_picture *picture, const struct rps_series *series, size_t i)
{
    if (i + 1 < series->count)
        return (series->position[i] + series->position[i + 1]) / 2;
    return picture->to;
}

static void write_row(const struct rps_picture *picture, const struct rps_series *series,
                      const struct row *row, int place, FILE *file)
{
    double from = picture->from;

    for (size_t i = 0; i < series->count; i++) {
        double step = step_of(row, series->value[i]), to;

        while (i + 1 < series->count && step_of(row, series->value[i + 1]) == step)
            i++;
        to = end_of(picture, series, i);
        if (isfinite(step))
            fprintf(file, "%.12g %.12g %d %g\n", from, to, place, step);
        from = to;
    }
}

static int write_rows(const struct rps_picture *picture, const struct row *row, int folder_fd,
                      struct rps_error *err)
{
    FILE *file = rps_picture_file(folder_fd, "heat.dat", err);

    if (!file)
        return RPS_FAILED;
    fprintf(file, "# from to row spreads\n");
    for (int m = 0; m < picture->plan->metric_count; m++) {
        if (picture->panel[m] >= 0)
            write_row(picture, rps_picture_series(picture, m, 0), &row[m], picture->panel[m], file);
    }
    return rps_picture_file_close(file, "heat.dat", err);
}

/* Every metric with values is a row of its own, from top to bottom, as far as there is room. */
static void choose_rows(struct rps_picture *picture, const struct rps_plot_options *options)
{
    double frame =
        RPS_PICTURE_HEAD + RPS_PICTURE_FOOT + rps_picture_strip_height(picture) +
        RPS_PICTURE_LEGEND_HEIGHT * (rps_picture_needs_label_legend(picture) +
                                     rps_picture_note_rows(picture) + picture->zero_rows);
    int rows = 0, fit;

    for (int m = 0; m < picture->plan->metric_count; m++)
        picture->panel[m] = picture->panel[m] >= 0 ? rows++ : picture->panel[m];
    picture->panel_total = picture->panel_count = rows;
    picture->height = options->height > 0
                          ? options->height
                          : (int)((frame + fmax(2, rows) * HEAT_ROW) * picture->scale);
    fit = (int)((picture->height / picture->scale - frame) / HEAT_ROW_LEAST);
    if (fit < 1)
        fit = 1;
    for (int m = 0; m < picture->plan->metric_count; m++) {
        if (picture->panel[m] >= fit)
            picture->panel[m] = -1;
    }
    if (picture->panel_count > fit)
        picture->panel_count = fit;
}

static int write_numbers(const struct rps_picture *picture, int folder_fd, struct rps_error *err)
{
    FILE *file = rps_picture_file(folder_fd, "figure.gp", err);
    int result;

    if (!file)
        return RPS_FAILED;
    rps_picture_write_canvas(picture, file);
    rps_picture_write_x_axis(picture, file);
    result = rps_picture_write_overlay(picture, folder_fd, file, err);
    fprintf(file, "rows = %d\nmost = %g\nrow_text_px = %d\n", picture->panel_count, HEAT_MOST,
            HEAT_ROW_TEXT);
    return rps_picture_file_close(file, "figure.gp", err) < 0 ? RPS_FAILED : result;
}

static int write_texts(const struct rps_picture *picture, const struct row *row, int folder_fd,
                       struct rps_error *err)
{
    FILE *file = rps_picture_file(folder_fd, "text.gp", err);
    char figure[RPS_TEXT_NUMBER_SIZE], spread[RPS_TEXT_NUMBER_SIZE];
    char text[RPS_PICTURE_TEXT_SIZE];

    if (!file)
        return RPS_FAILED;
    fprintf(file,
            "# Title, second line, name of the x axis; for each row its metric, and its mean and\n"
            "# spread; texts of marks. A line of text is what follows its bar.\n$text << END\n");
    rps_picture_write_titles(
        picture, "each metric by its distance from its mean; plain where it is steady", file);
    rps_picture_write_line(picture, file, rps_picture_x_label(picture, text));
    for (int m = 0; m < picture->plan->metric_count; m++) {
        if (picture->panel[m] < 0)
            continue;
        rps_picture_metric_title(&picture->plan->metric[m], text);
        rps_picture_cut_text(text, (int)((picture->left - 12) / RPS_PICTURE_CHARACTER));
        rps_picture_write_line(picture, file, text);
        snprintf(text, sizeof(text), "%s sd %s",
                 rps_text_number(figure, sizeof(figure), row[m].figure),
                 rps_text_number(spread, sizeof(spread), row[m].spread));
        rps_picture_write_line(picture, file, text);
    }
    rps_picture_write_overlay_texts(picture, file);
    rps_picture_write_zeros(picture, file);
    fprintf(file, "END\n");
    return rps_picture_file_close(file, "text.gp", err);
}

int rps_picture_write_heat(struct rps_picture *picture, struct rps_reader *reader,
                           const struct rps_plot_options *options, int folder_fd,
                           struct rps_error *err)
{
    struct row *row = NULL;
    int result;

    (void)reader;
    picture->left = picture->width / picture->scale < 700 ? HEAT_NARROW : HEAT_LEFT;
    picture->right = HEAT_RIGHT;
    if (rps_picture_bin(picture, 0, err) < 0)
        return RPS_FAILED;
    choose_rows(picture, options);
    if (picture->panel_count == 0)
        return rps_error_set(err, RPS_FAILED, "no metric of run %lld has a value there",
                             (long long)picture->run.run_id);
    result = read_rows(picture, &row, err);
    if (result == 0)
        result = write_numbers(picture, folder_fd, err);
    if (result == 0)
        result = write_texts(picture, row, folder_fd, err);
    if (result == 0)
        result = write_rows(picture, row, folder_fd, err);
    free(row);
    return result;
}
