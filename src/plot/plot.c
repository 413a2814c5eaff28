/* The drawing of a run. gnuplot draws the picture (gnuplot_folder.c). The file receives the user's
 * name only when the picture is finished (rpistat/output_file.h). */
#include "rpistat/plot.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "page.h"
#include "rpistat/picture.h"
#include "rpistat/output_file.h"

static const struct rps_gnuplot_format plot_page = {".html", "page", "</html>", 7};
static const struct rps_gnuplot_format plot_characters = {"-", "characters", NULL, 0};

static rps_picture_fill *const fills[RPS_PLOT_KIND_COUNT] = {
#define FILL(kind, name, help) rps_picture_fill_##name,
    RPS_PLOT_KINDS(FILL)};

struct plot {
    const struct rps_plot_options *options;
    const struct rps_gnuplot_format *format;
    struct rps_picture picture;
    struct rps_output_file file; /* file of the picture; all zero for a drawing in the terminal */
    int drawing_fd;              /* gnuplot's output: the picture or a temporary file; -1: none */
};

/* --- places ----------------------------------------------------------------------------------- */

static const struct rps_gnuplot_format *format_of(const struct rps_plot_options *options)
{
    const char *dot = strrchr(options->output, '.');

    if (strcmp(options->output, "-") == 0)
        return options->sixel ? &rps_gnuplot_sixel : &plot_characters;
    if (dot && strcasecmp(dot, plot_page.ending) == 0)
        return &plot_page;
    return rps_gnuplot_format(options->output);
}

static int open_drawing(struct plot *plot, struct rps_error *err)
{
    if (strcmp(plot->options->output, "-") != 0) {
        if (rps_output_file_open(&plot->file, plot->options->output, 1, err) < 0)
            return RPS_FAILED;
        plot->drawing_fd = plot->file.fd;
        return 0;
    }
    if (plot->format == &plot_characters)
        return 0;
    plot->drawing_fd = memfd_create("rpistat drawing", MFD_CLOEXEC);
    if (plot->drawing_fd < 0)
        return rps_error_set(err, RPS_FAILED, "cannot create a temporary file: %s",
                             strerror(errno));
    return 0;
}

/* --- the finished drawing --------------------------------------------------------------------- */

static int write_drawing(struct plot *plot, struct rps_error *err)
{
    FILE *out = plot->options->out;
    FILE *file = plot->drawing_fd >= 0 ? fdopen(dup(plot->drawing_fd), "r") : NULL;
    int result = 0;

    if (file) {
        rewind(file);
        result = rps_gnuplot_copy(file, out);
        fclose(file);
        fputc('\n', out);
    }
    if (result < 0 || fflush(out) != 0 || ferror(out))
        return rps_error_set(err, RPS_FAILED, "cannot write the drawing: %s", strerror(errno));
    return 0;
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* Refuse options that exclude each other. */
static int check(const struct plot *plot, struct rps_error *err)
{
    const struct rps_plot_options *options = plot->options;
    const char *kind = rps_plot_kind_names[options->kind];

    if (options->kind != RPS_PLOT_TIME &&
        (plot->format == &plot_characters || plot->format == &plot_page))
        return rps_error_set(
            err, RPS_USAGE, "--kind %s: %s the run over time; name a .png, .svg or .pdf with -o%s",
            kind, plot->format == &plot_page ? "a page shows" : "drawings in characters show",
            plot->format == &plot_page ? "" : ", or add --sixel");
    if (options->kind != RPS_PLOT_TIME && options->function_count > 0)
        return rps_error_set(err, RPS_USAGE, "--function needs --kind time, not %s", kind);
    if (options->keep && (plot->format == &plot_page || plot->format == &plot_characters))
        return rps_error_set(err, RPS_USAGE,
                             "--keep-script: a %s is made without gnuplot; leave out --keep-script",
                             plot->format == &plot_page ? "page" : "drawing in characters");
    if (options->no_phases && options->kind == RPS_PLOT_PHASES)
        return rps_error_set(
            err, RPS_USAGE,
            "--no-phases leaves nothing to draw for --kind %s; leave one of them out", kind);
    if (options->kind == RPS_PLOT_SCATTER && options->metric_count > 0 &&
        options->metric_count != 2)
        return rps_error_set(
            err, RPS_USAGE,
            "--metric: --kind scatter needs two metrics, as in cpi,dc_miss_rate, not %zu",
            options->metric_count);
    return 0;
}

static int draw_page(struct plot *plot, struct rps_reader *reader, struct rps_error *err)
{
    FILE *file = fdopen(dup(plot->drawing_fd), "w");
    int result = 0;

    if (file)
        result = rps_page_write(file, &plot->picture, reader, plot->options, err);
    if (!file || (fclose(file) != 0 && result == 0))
        result = rps_error_set(err, RPS_FAILED, "cannot write %s: %s; choose another file with -o",
                               plot->options->output, strerror(errno));
    return result;
}

static int draw_picture(struct plot *plot, struct rps_reader *reader, struct rps_error *err)
{
    struct rps_gnuplot_picture picture = {
        .format = plot->format,
        .script_folder = plot->options->script_folder,
        .keep = plot->options->keep,
        .temporary_folder = plot->options->temporary_folder,
        .out_fd = plot->drawing_fd,
    };
    struct rps_chart *chart;

    if (fills[plot->options->kind](&plot->picture, reader, plot->options, &chart, err) < 0)
        return RPS_FAILED;
    picture.chart = chart;
    return rps_gnuplot_draw(&picture, err);
}

int rps_plot_draw(struct rps_reader *reader, int64_t run_id, const struct rps_plot_options *options,
                  struct rps_error *err)
{
    struct plot plot = {.options = options, .drawing_fd = -1};
    int result;

    plot.format = format_of(options);
    if (!plot.format)
        return rps_error_set(
            err, RPS_USAGE,
            "%s: unknown suffix; use .png, .svg, .pdf or .html (or -o - for the terminal)",
            options->output);
    result = check(&plot, err);
    if (result == 0)
        result = rps_picture_open(&plot.picture, reader, run_id, options,
                                  plot.format == &plot_characters, err);
    if (result == 0)
        result = open_drawing(&plot, err);
    if (result == 0)
        result = plot.format == &plot_page ? draw_page(&plot, reader, err)
                 : plot.format == &plot_characters
                     ? rps_picture_draw_characters(&plot.picture, options, options->out, err)
                     : draw_picture(&plot, reader, err);
    if (result == 0)
        result =
            plot.file.path ? rps_output_file_finish(&plot.file, err) : write_drawing(&plot, err);
    if (strcmp(plot.options->output, "-") == 0 && plot.drawing_fd >= 0)
        close(plot.drawing_fd);
    rps_output_file_abandon(&plot.file);
    rps_picture_free(&plot.picture);
    return result;
}
