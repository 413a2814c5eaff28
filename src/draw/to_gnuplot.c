/*
 * The files of a picture, which gnuplot loads.
 *
 * gnuplot runs what it loads, so text from the store must not reach it as code. figure.gp holds
 * numbers only; text.gp is one block of data, which gnuplot keeps as it is, each line behind a bar
 * so that no line can end the block. (A data file would not do: its reader takes quotes apart.)
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rpistat/picture_kinds.h"

#define PICTURE_FEW 40 /* points of a series that are drawn as dots too */

/* --- files ------------------------------------------------------------------------------------ */

FILE *rps_picture_file(int folder_fd, const char *name, struct rps_error *err)
{
    int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (!file) {
        rps_error_set(err, RPS_FAILED, "the plot's file %s could not be written: %s", name,
                      strerror(errno));
        if (fd >= 0)
            close(fd);
    }
    return file;
}

int rps_picture_file_close(FILE *file, const char *name, struct rps_error *err)
{
    int failed = ferror(file);

    if (fclose(file) != 0 || failed)
        return rps_error_set(err, RPS_FAILED, "the plot's file %s could not be written: %s", name,
                             strerror(errno));
    return 0;
}

/* --- numbers ---------------------------------------------------------------------------------- */

void rps_picture_write_canvas(const struct rps_picture *picture, FILE *file)
{
    const struct rps_palette *palette = picture->palette;

    fprintf(file, "# The picture's numbers, written by rpistat plot; its text is in text.gp.\n");
    fprintf(file, "width = %d\nheight = %d\nscale = %.6g\n", picture->width, picture->height,
            picture->scale);
    fprintf(file,
            "left_px = %d\nright_px = %d\nhead_px = %d\nfoot_px = %d\nrow_px = %d\n"
            "strip_px = %d\nfiner_px = %d\nduty_px = %d\n",
            picture->left, picture->right, RPS_PICTURE_HEAD, RPS_PICTURE_FOOT,
            RPS_PICTURE_LEGEND_HEIGHT, RPS_PICTURE_STRIP_HEIGHT, RPS_PICTURE_FINER_HEIGHT,
            RPS_PICTURE_DUTY_HEIGHT);
    fprintf(file, "zeros = %d\n", picture->zero_rows);
    fprintf(file, "background = \"#%s\"\ndark = \"#%s\"\nquiet = \"#%s\"\n", palette->background,
            palette->text, palette->quiet);
    fprintf(file, "axis = \"#%s\"\ngrid = \"#%s\"\nfaint = \"#%s\"\n", palette->axis, palette->grid,
            palette->faint);
    fprintf(file, "low = \"#%s\"\nmiddle = \"#%s\"\nhigh = \"#%s\"\n", palette->low,
            palette->middle, palette->high);
    fprintf(file, "array colour[%d] = [", RPS_PALETTE_LINES);
    for (int i = 0; i < RPS_PALETTE_LINES; i++)
        fprintf(file, "%s\"%s\"", i ? ", " : "", palette->line[i]);
    fprintf(file, "]\narray band[%d] = [", RPS_PALETTE_LABELS);
    for (int i = 0; i < RPS_PALETTE_LABELS; i++)
        fprintf(file, "%s\"%s\"", i ? ", " : "", palette->band[i]);
    fprintf(file, "]\narray ink[%d] = [", RPS_PALETTE_LABELS);
    for (int i = 0; i < RPS_PALETTE_LABELS; i++)
        fprintf(file, "%s\"%s\"", i ? ", " : "", palette->ink[i]);
    fprintf(file, "]\n");
}

void rps_picture_write_x_axis(const struct rps_picture *picture, FILE *file)
{
    struct rps_picture_tic tic;

    fprintf(file, "x_from = %.17g\n", picture->from);
    fprintf(file, "x_to = %.17g\n", picture->to);
    fprintf(file, "x_places = \"");
    for (int64_t next = 0; rps_picture_x_tic(picture, &next, &tic);)
        fprintf(file, "%.17g ", tic.at);
    fprintf(file, "\"\nx_names = \"");
    for (int64_t next = 0; rps_picture_x_tic(picture, &next, &tic);)
        fprintf(file, "%s ", tic.text);
    fprintf(file, "\"\n");
}

void rps_picture_write_panel_axes(const struct rps_picture *picture, FILE *file)
{
    int n = picture->panel_count;

    fprintf(file, "panels = %d\n", n);
    fprintf(file, "array lines[%d]\narray y_from[%d]\narray y_to[%d]\narray y_step[%d]\n", n, n, n,
            n);
    fprintf(file, "array y_scale[%d]\narray y_suffix[%d]\n", n, n);
    for (int p = 0; p < n; p++) {
        struct rps_picture_axis axis = rps_picture_panel_axis(picture, p);

        fprintf(file, "lines[%d] = %d\n", p + 1, rps_picture_panel_lines(picture, p));
        fprintf(file, "y_from[%d] = %.17g\n", p + 1, axis.from);
        fprintf(file, "y_to[%d] = %.17g\n", p + 1, axis.to);
        fprintf(file, "y_step[%d] = %.17g\n", p + 1, axis.step);
        fprintf(file, "y_scale[%d] = %g\n", p + 1, axis.scale);
        fprintf(file, "y_suffix[%d] = \"%s\"\n", p + 1, axis.suffix);
    }
}

static int write_numbers(const struct rps_picture *picture, int folder_fd, struct rps_error *err)
{
    static const char name[] = "figure.gp";
    FILE *file = rps_picture_file(folder_fd, name, err);
    int result;

    if (!file)
        return RPS_FAILED;
    rps_picture_write_canvas(picture, file);
    rps_picture_write_x_axis(picture, file);
    fprintf(file, "apart = %d\nquantile = %d\nlegend_rows = %d\nlegend_entry = %d\n",
            picture->apart, picture->quantile, rps_picture_legend_rows(picture),
            RPS_PICTURE_LEGEND_ENTRY);
    rps_picture_write_panel_axes(picture, file);
    fprintf(file, "duty = %d\n", picture->duty.count > 0);
    result = rps_picture_write_overlay(picture, folder_fd, file, err);
    rps_picture_write_words(picture, file);
    if (result == 0)
        result = rps_picture_write_code(picture, folder_fd, file, err);
    return rps_picture_file_close(file, name, err) < 0 ? RPS_FAILED : result;
}

/* --- texts ------------------------------------------------------------------------------------ */

static void write_panel_texts(const struct rps_picture *picture, int panel, FILE *file)
{
    const char *unit = rps_picture_panel_unit(picture, panel);
    char text[RPS_PICTURE_TEXT_SIZE];

    rps_picture_write_line(picture, file, rps_picture_heading(picture, panel, text));
    for (int m = 0; m < picture->plan->metric_count; m++) {
        const struct rps_metric *metric = &picture->plan->metric[m];

        if (picture->panel[m] != panel)
            continue;
        if (unit[0])
            snprintf(text, sizeof(text), "%s", metric->label);
        else
            rps_picture_metric_title(metric, text);
        for (int line = 0; line < picture->line_count; line++) {
            if (picture->apart)
                snprintf(text, sizeof(text), "CPU %d", (int)picture->cpu_series.cpu[line]);
            rps_picture_write_line(picture, file, text);
        }
    }
}

static int write_texts(const struct rps_picture *picture, int folder_fd, struct rps_error *err)
{
    static const char name[] = "text.gp";
    FILE *file = rps_picture_file(folder_fd, name, err);
    char text[RPS_PICTURE_TEXT_SIZE];

    if (!file)
        return RPS_FAILED;
    fprintf(
        file,
        "# Title, second line, name of the x axis; then each panel's heading and the names of its\n"
        "# lines; then the texts of marks, the words of phases, and what is zero. A line of text "
        "is\n"
        "# what follows its bar.\n$text << END\n");
    rps_picture_write_titles(picture, "", file);
    rps_picture_write_line(picture, file, rps_picture_x_label(picture, text));
    for (int p = 0; p < picture->panel_count; p++)
        write_panel_texts(picture, p, file);
    rps_picture_write_overlay_texts(picture, file);
    rps_picture_write_words_texts(picture, file);
    rps_picture_write_code_texts(picture, file);
    rps_picture_write_zeros(picture, file);
    fprintf(file, "END\n");
    return rps_picture_file_close(file, name, err);
}

/* --- series ----------------------------------------------------------------------------------- */

int rps_picture_write_series(const struct rps_series *series, int folder_fd, const char *name,
                             struct rps_error *err)
{
    FILE *file = rps_picture_file(folder_fd, name, err);

    if (!file)
        return RPS_FAILED;
    fprintf(file, "# position mean smallest largest dot low high\n");
    for (size_t i = 0; i < series->count; i++) {
        double value = series->value[i];

        if (!isfinite(value)) {
            fputc('\n', file); /* ends the line and the band */
            continue;
        }
        fprintf(file, "%.12g %.9g %.9g %.9g ", series->position[i], value, series->min[i],
                series->max[i]);
        if (series->count <= PICTURE_FEW || rps_series_is_lone(series, i))
            fprintf(file, "%.9g", value);
        else
            fputs("NaN", file);
        if (isfinite(series->low[i]))
            fprintf(file, " %.9g %.9g\n", series->low[i], series->high[i]);
        else
            fprintf(file, " %.9g %.9g\n", value, value);
    }
    return rps_picture_file_close(file, name, err);
}

static int write_panel(const struct rps_picture *picture, int panel, int folder_fd,
                       struct rps_error *err)
{
    int place = 1;

    for (int m = 0; m < picture->plan->metric_count; m++) {
        for (int line = 0; picture->panel[m] == panel && line < picture->line_count; line++) {
            char name[64];

            snprintf(name, sizeof(name), "panel-%d-%d.dat", panel + 1, place++);
            if (rps_picture_write_series(rps_picture_series(picture, m, line), folder_fd, name,
                                         err) < 0)
                return RPS_FAILED;
        }
    }
    return 0;
}

static int read_words(struct rps_picture *picture, struct rps_reader *reader,
                      const struct rps_plot_options *options, struct rps_error *err)
{
    struct rps_profile profile;

    if (!picture->has_phases)
        return 0;
    if (rps_picture_profile(picture, reader, options, &profile, err) < 0)
        return RPS_FAILED;
    rps_picture_choose_words(picture, &profile, options);
    rps_profile_free(&profile);
    return 0;
}

int rps_picture_write_time(struct rps_picture *picture, struct rps_reader *reader,
                           const struct rps_plot_options *options, int folder_fd,
                           struct rps_error *err)
{
    if (rps_picture_bin(picture, 0, err) < 0 || rps_picture_read_code(picture, options, err) < 0 ||
        read_words(picture, reader, options, err) < 0)
        return RPS_FAILED;
    rps_picture_fit(picture, options);
    if (write_numbers(picture, folder_fd, err) < 0 || write_texts(picture, folder_fd, err) < 0)
        return RPS_FAILED;
    for (int p = 0; p < picture->panel_count; p++) {
        if (write_panel(picture, p, folder_fd, err) < 0)
            return RPS_FAILED;
    }
    return picture->duty.count > 0
               ? rps_picture_write_series(&picture->duty, folder_fd, "duty.dat", err)
               : 0;
}
