/*
 * A run as a map (RPS_PLOT_HEAT): a row a metric, a colour for how far it is from its own mean, in
 * standard deviations. For runs with more metrics than panels can be looked at.
 *
 * Neighbouring columns of nearly the same colour are one box: a picture of a quiet day would be
 * thousands of boxes a row otherwise.
 */
#include <math.h>
#include <stdlib.h>

#include "picture_kinds.h"

#define HEAT_ROW       26  /* natural height of a row */
#define HEAT_ROW_LEAST 7   /* one cannot be told from the next below */
#define HEAT_ROW_TEXT  13  /* a name needs this much */
#define HEAT_MOST      2.5 /* standard deviations at the ends of the colours */
#define HEAT_STEP      0.125
#define HEAT_LEFT      190
#define HEAT_NARROW    118 /* of a narrow picture */
#define HEAT_RIGHT     74

struct moments {
    double mean, deviation;
    size_t count;
};

static struct moments moments_of(const struct rps_series *series)
{
    struct moments moments = {0, 0, 0};
    double squares = 0;

    for (size_t i = 0; i < series->count; i++) {
        double value = series->value[i], step;

        if (!isfinite(value))
            continue;
        step = value - moments.mean;
        moments.mean += step / (double)++moments.count;
        squares += step * (value - moments.mean);
    }
    if (moments.count > 1)
        moments.deviation = sqrt(squares / (double)(moments.count - 1));
    return moments;
}

/* Deviations from the mean in steps of colour. */
static double step_of(const struct moments *moments, double value)
{
    double z;

    if (!isfinite(value))
        return NAN;
    if (!(moments->deviation > 1e-9 * fabs(moments->mean)))
        return 0;
    z = (value - moments->mean) / moments->deviation;
    z = fmin(HEAT_MOST, fmax(-HEAT_MOST, z));
    return round(z / HEAT_STEP) * HEAT_STEP;
}

/* Where point i ends and the next begins. */
static double end_of(const struct rps_picture *picture, const struct rps_series *series, size_t i)
{
    if (i + 1 < series->count)
        return (series->position[i] + series->position[i + 1]) / 2;
    return picture->to;
}

static void write_row(const struct rps_picture *picture, const struct rps_series *series, int row,
                      FILE *file)
{
    struct moments moments = moments_of(series);
    double from = picture->from;

    for (size_t i = 0; i < series->count; i++) {
        double step = step_of(&moments, series->value[i]), to;

        while (i + 1 < series->count && step_of(&moments, series->value[i + 1]) == step)
            i++;
        to = end_of(picture, series, i);
        if (isfinite(step))
            fprintf(file, "%.12g %.12g %d %g\n", from, to, row, step);
        from = to;
    }
}

static int write_rows(const struct rps_picture *picture, int folder_fd, struct rps_error *err)
{
    FILE *file = rps_picture_file(folder_fd, "heat.dat", err);

    if (!file)
        return RPS_FAILED;
    fprintf(file, "# from to row deviations\n");
    for (int m = 0; m < picture->plan->metric_count; m++) {
        if (picture->panel[m] >= 0)
            write_row(picture, rps_picture_series(picture, m, 0), picture->panel[m], file);
    }
    return rps_picture_file_close(file, "heat.dat", err);
}

/* Every metric with values is a row of its own, from top to bottom, as far as there is room. */
static void choose_rows(struct rps_picture *picture, const struct rps_plot_options *options)
{
    double frame = RPS_PICTURE_HEAD + RPS_PICTURE_FOOT +
                   (picture->has_phases ? RPS_PICTURE_STRIP_HEIGHT : 0) +
                   RPS_PICTURE_LEGEND_HEIGHT *
                       (rps_picture_needs_label_legend(picture) + rps_picture_has_notes(picture));
    int rows = 0, fit;

    for (int m = 0; m < picture->plan->metric_count; m++)
        picture->panel[m] = picture->panel[m] >= 0 ? rows++ : -1;
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

static int write_texts(const struct rps_picture *picture, int folder_fd, struct rps_error *err)
{
    FILE *file = rps_picture_file(folder_fd, "text.gp", err);
    char text[RPS_PICTURE_TEXT_SIZE], number[RPS_PICTURE_NUMBER_SIZE];

    if (!file)
        return RPS_FAILED;
    fprintf(file,
            "# Title, second line, name of the x axis; for each row its metric and mean; texts\n"
            "# of marks. A line of text is what follows its bar.\n$text << END\n");
    rps_picture_write_titles(picture, "each metric by its distance from its mean", file);
    rps_picture_write_line(picture, file, rps_picture_x_label(picture, text));
    for (int m = 0; m < picture->plan->metric_count; m++) {
        struct moments moments;

        if (picture->panel[m] < 0)
            continue;
        moments = moments_of(rps_picture_series(picture, m, 0));
        rps_picture_metric_title(&picture->plan->metric[m], text);
        rps_picture_cut_text(text, (int)((picture->left - 12) / RPS_PICTURE_CHARACTER));
        rps_picture_write_line(picture, file, text);
        rps_picture_write_line(picture, file, rps_picture_number(number, moments.mean));
    }
    rps_picture_write_overlay_texts(picture, file);
    fprintf(file, "END\n");
    return rps_picture_file_close(file, "text.gp", err);
}

int rps_picture_write_heat(struct rps_picture *picture, struct rps_reader *reader,
                           const struct rps_plot_options *options, int folder_fd,
                           struct rps_error *err)
{
    (void)reader;
    picture->left = picture->width / picture->scale < 700 ? HEAT_NARROW : HEAT_LEFT;
    picture->right = HEAT_RIGHT;
    if (rps_picture_bin(picture, 0, err) < 0)
        return RPS_FAILED;
    choose_rows(picture, options);
    if (picture->panel_count == 0)
        return rps_error_set(err, RPS_FAILED, "no metric of run %lld has a value there",
                             (long long)picture->run.run_id);
    if (write_numbers(picture, folder_fd, err) < 0 || write_texts(picture, folder_fd, err) < 0)
        return RPS_FAILED;
    return write_rows(picture, folder_fd, err);
}
