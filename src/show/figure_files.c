/*
 * The files of a figure, which gnuplot loads.
 *
 * gnuplot runs what it loads, so text from the store must not reach it as code. figure.gp holds
 * numbers only; text.gp is one block of data, which gnuplot keeps as it is, each line behind a bar
 * so that no line can end the block. (A data file would not do: its reader takes quotes apart.)
 */
#include "figure.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rpistat/clock.h"
#include "rpistat/text.h"

#define FIGURE_TEXT_SIZE 2048
#define FIGURE_PEAK      5  /* times its neighbours: a lone peak */
#define FIGURE_FEW       40 /* points of a series that are drawn as dots too */

static double between(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

/* --- axes ------------------------------------------------------------------------------------ */

/* The smallest of 1, 2, 5 times a power of ten that is not below step. */
static double round_step(double step)
{
    double power = pow(10, floor(log10(step)));

    if (step <= power * 1.01)
        return power;
    if (step <= 2 * power * 1.01)
        return 2 * power;
    return step <= 5 * power * 1.01 ? 5 * power : 10 * power;
}

/* The same for a clock: beyond a second, steps that divide minutes, hours and days. */
static double round_clock_step(double step)
{
    static const double steps[] = {1,   2,   5,    10,   15,   30,    60,    120,   300,
                                   600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};

    if (step < 0.5001)
        return round_step(step);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (step <= steps[i])
            return steps[i];
    }
    return 86400 * ceil(step / 86400);
}

struct y_axis {
    double from, to, step, scale;
    const char *suffix;
    double peak; /* the largest value when it lies above the axis, else 0 */
};

/* The unit prefix under which numbers up to `size` read well. */
static void choose_prefix(struct y_axis *axis, double size)
{
    static const struct {
        double from, scale;
        const char *suffix;
    } prefixes[] = {{1e13, 1e12, "T"}, {1e10, 1e9, "G"}, {1e7, 1e6, "M"},
                    {1e4, 1e3, "k"},   {1e-3, 1, ""},    {1e-6, 1e-3, "m"}};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (size >= prefixes[i].from) {
            axis->scale = prefixes[i].scale;
            axis->suffix = prefixes[i].suffix;
            return;
        }
    }
    axis->scale = 1;
    axis->suffix = "";
}

/* Does the metric relate events that were counted at different times? */
static int mixes_sets(const struct rps_plan *plan, const struct rps_metric *metric)
{
    int first = -1, whole = 0;

    for (int i = 0; i < metric->formula.step_count; i++) {
        const struct rps_formula_step *step = &metric->formula.step[i];
        int set = (step->operand - RPS_OPERAND_EVENTS) / RPS_SLOT_MAX;

        if (step->op != RPS_FORMULA_OPERAND)
            continue;
        if (step->operand < RPS_OPERAND_EVENTS) {
            whole = 1;
            continue;
        }
        if (first >= 0 && set != first)
            return 1;
        first = set;
    }
    return whole && first >= 0 && plan->set_count > 1;
}

/* Is value i far above the known values before and behind it? */
static int is_lone_peak(const struct rps_series *series, size_t i)
{
    double around = NAN;

    for (size_t k = i; k-- > 0 && isnan(around);)
        around = series->value[k];
    for (size_t k = i + 1; k < series->count; k++) {
        if (!isnan(series->value[k])) {
            around = fmax(around, series->value[k]);
            break;
        }
    }
    return series->value[i] > FIGURE_PEAK * around;
}

/*
 * Where sets take turns, the rotation in which the workload changed relates a count from before
 * with one from behind, and one such value can be many times what there is else. It stays in the
 * picture, but does not set its scale.
 */
static double highest(const struct rps_series *series, int mixed)
{
    double value = 0, top = 0;

    for (size_t i = 0; mixed && i < series->count; i++) {
        if (!is_lone_peak(series, i))
            value = fmax(value, series->value[i]);
    }
    top = value; /* means stay inside, also where each has its peak */
    for (size_t i = 0; i < series->count; i++) {
        if (value == 0 || series->max[i] <= FIGURE_PEAK * value)
            top = fmax(top, series->max[i]);
    }
    return top;
}

static void measure_series(struct y_axis *axis, const struct rps_series *series, int mixed)
{
    axis->to = fmax(axis->to, highest(series, mixed));
    for (size_t i = 0; i < series->count; i++) {
        axis->from = fmin(axis->from, series->min[i]);
        axis->peak = fmax(axis->peak, series->max[i]);
    }
}

static struct y_axis choose_y_axis(const struct rps_figure *figure, int panel)
{
    struct y_axis axis = {0, 0, 1, 1, "", 0};
    double room =
        figure->characters
            ? (figure->height - (double)RPS_FIGURE_FRAME_LINES) / figure->panel_count / 3
            : (figure->height / figure->scale - RPS_FIGURE_FRAME_HEIGHT) / figure->panel_count / 34;

    for (int m = 0; m < figure->plan->metric_count; m++) {
        for (int line = 0; figure->panel[m] == panel && line < figure->line_count; line++)
            measure_series(&axis, rps_figure_series(figure, m, line),
                           mixes_sets(figure->plan, &figure->plan->metric[m]));
    }
    if (!(axis.to > axis.from) || !isfinite(axis.to - axis.from)) {
        axis = (struct y_axis){0, 1, 1, 1, "", 0};
        return axis;
    }
    axis.step = round_step((axis.to - axis.from) / between(floor(room), 2, 6));
    /* 100.1 % does not deserve a tic at 150. */
    axis.from = fmin(axis.from, axis.step * floor(axis.from / axis.step + 0.02));
    axis.to = fmax(axis.to, axis.step * ceil(axis.to / axis.step - 0.02));
    if (axis.peak <= axis.to)
        axis.peak = 0;
    choose_prefix(&axis, fmax(axis.to, -axis.from));
    return axis;
}

static double choose_x_step(const struct rps_figure *figure)
{
    double room = figure->characters ? (figure->width - RPS_FIGURE_COLUMN_MARGIN) / 16.0
                                     : (figure->width / figure->scale - RPS_FIGURE_MARGIN) / 105;
    double step = (figure->to - figure->from) / between(floor(room), 1, 1000);

    return figure->axis == RPS_AXIS_TIME ? round_clock_step(step) : round_step(step);
}

/* Power of ten, a multiple of 3, in which the cycle axis is labelled. */
static int x_power(const struct rps_figure *figure)
{
    if (figure->axis == RPS_AXIS_TIME || figure->to < 1e4)
        return 0;
    return 3 * (int)floor(log10(figure->to) / 3);
}

/* --- files ----------------------------------------------------------------------------------- */

static FILE *file_open(int folder_fd, const char *name, struct rps_error *err)
{
    int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (!file) {
        rps_error_set(err, RPS_FAILED, "the plot's file %s could not be written: %s", name,
                      strerror(errno));
        if (fd >= 0)
            close(fd);
    }
    return file;
}

static int file_close(FILE *file, const char *name, struct rps_error *err)
{
    int failed = ferror(file);

    if (fclose(file) != 0 || failed)
        return rps_error_set(err, RPS_FAILED, "the plot's file %s could not be written: %s", name,
                             strerror(errno));
    return 0;
}

/* Lines in a panel. */
static int panel_lines(const struct rps_figure *figure, int panel)
{
    int count = 0;

    for (int m = 0; m < figure->plan->metric_count; m++)
        count += figure->panel[m] == panel ? figure->line_count : 0;
    return count;
}

static void write_x_axis(const struct rps_figure *figure, FILE *file)
{
    double step = choose_x_step(figure);
    int decimals = step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0;

    fprintf(file, "x_is_time = %d\n", figure->axis == RPS_AXIS_TIME);
    fprintf(file, "x_from = %.17g\n", figure->from);
    fprintf(file, "x_to = %.17g\n", figure->to);
    fprintf(file, "x_step = %.17g\n", step);
    fprintf(file, "x_decimals = %d\n", decimals);
    fprintf(file, "x_scale = 1e%d\n", x_power(figure));
}

static int write_numbers(const struct rps_figure *figure, int folder_fd, struct rps_error *err)
{
    static const char name[] = "figure.gp";
    FILE *file = file_open(folder_fd, name, err);
    int n = figure->panel_count;

    if (!file)
        return RPS_FAILED;
    fprintf(file, "# The figure's numbers, written by rpistat plot; its text is in text.gp.\n");
    fprintf(file, "width = %d\nheight = %d\nscale = %.6g\n", figure->width, figure->height,
            figure->scale);
    write_x_axis(figure, file);
    fprintf(file,
            "apart = %d\nquantile = %d\nlegend_rows = %d\nlegend_height = %d\nlegend_entry = %d\n",
            figure->apart, figure->quantile, rps_figure_legend_rows(figure),
            RPS_FIGURE_LEGEND_HEIGHT, RPS_FIGURE_LEGEND_ENTRY);
    fprintf(file, "panels = %d\n", n);
    fprintf(file, "array lines[%d]\narray y_from[%d]\narray y_to[%d]\narray y_step[%d]\n", n, n, n,
            n);
    fprintf(file, "array y_scale[%d]\narray y_suffix[%d]\n", n, n);
    for (int p = 0; p < n; p++) {
        struct y_axis axis = choose_y_axis(figure, p);

        fprintf(file, "lines[%d] = %d\n", p + 1, panel_lines(figure, p));
        fprintf(file, "y_from[%d] = %.17g\n", p + 1, axis.from);
        fprintf(file, "y_to[%d] = %.17g\n", p + 1, axis.to);
        fprintf(file, "y_step[%d] = %.17g\n", p + 1, axis.step);
        fprintf(file, "y_scale[%d] = %g\n", p + 1, axis.scale);
        fprintf(file, "y_suffix[%d] = \"%s\"\n", p + 1, axis.suffix);
    }
    return file_close(file, name, err);
}

/* Cut text to `most` characters, the last of them an ellipsis then. */
static void cut_text(char *text, int most)
{
    int count = 0;
    char *cut = text;

    for (char *c = text; *c; c++) {
        if (((unsigned char)*c & 0xc0) == 0x80)
            continue;
        if (++count == most)
            cut = c;
        if (count > most) {
            strcpy(cut, "\xe2\x80\xa6");
            return;
        }
    }
}

/* Characters that fit across the figure at `px` pixels high. */
static int characters_across(const struct rps_figure *figure, double px)
{
    if (figure->characters)
        return figure->width - 2;
    return (int)between((figure->width / figure->scale - 28) / (px * 0.6), 10, 400);
}

static void write_text(FILE *file, const char *text)
{
    fputc('|', file);
    rps_text_print(file, text);
    fputc('\n', file);
}

static void write_title(const struct rps_figure *figure, FILE *file)
{
    char text[FIGURE_TEXT_SIZE];

    rps_run_title(text, sizeof(text) - 8, &figure->run);
    cut_text(text, characters_across(figure, 16));
    fprintf(file, "|%s\n", text);
}

static void append(char *text, size_t size, const char *more)
{
    size_t used = strlen(text);

    if (more[0])
        snprintf(text + used, size - used, "%s%s", used ? " \xc2\xb7 " : "", more);
}

/* What the CPUs of a recording by CPU are shown as; side by side the legend says it. */
static void append_cpus(const struct rps_figure *figure, char *text, size_t size)
{
    char name[RPS_TRACKS_TEXT_SIZE], part[RPS_TRACKS_TEXT_SIZE + 64];

    rps_tracks_name(name, &figure->tracks);
    if (!name[0] || figure->apart)
        return;
    snprintf(part, sizeof(part), "%s%s", name,
             figure->quantile           ? ": median, and band of 10 % to 90 % of them"
             : figure->tracks.count > 1 ? " added up"
                                        : "");
    append(text, size, part);
}

static void write_subtitle(const struct rps_figure *figure, FILE *file)
{
    const struct rps_run *run = &figure->run;
    time_t start = (time_t)(run->start_realtime_ns / RPS_NS_PER_S);
    char text[FIGURE_TEXT_SIZE] = "", raw[FIGURE_TEXT_SIZE] = "", part[RPS_TEXT_NUMBER_SIZE];
    struct tm local;

    append(raw, sizeof(raw), run->host);
    if (localtime_r(&start, &local) && strftime(part, sizeof(part), "%Y-%m-%d %H:%M:%S", &local))
        append(raw, sizeof(raw), part);
    if (run->elapsed_ns >= 0)
        append(raw, sizeof(raw), rps_text_duration(part, sizeof(part), run->elapsed_ns));
    if (run->state == RPS_RUN_INTERRUPTED)
        append(raw, sizeof(raw), "interrupted");
    append_cpus(figure, raw, sizeof(raw));
    append(raw, sizeof(raw), run->label);
    rps_text_printable(text, sizeof(text) - 8, raw);
    cut_text(text, characters_across(figure, 12));
    fprintf(file, "|%s\n", text);
}

static void write_x_label(const struct rps_figure *figure, FILE *file)
{
    static const char *const powers[] = {"",
                                         "10\xc2\xb3 ",
                                         "10\xe2\x81\xb6 ",
                                         "10\xe2\x81\xb9 ",
                                         "10\xc2\xb9\xc2\xb2 ",
                                         "10\xc2\xb9\xe2\x81\xb5 ",
                                         "10\xc2\xb9\xe2\x81\xb8 "};
    const struct rps_event *clock = &figure->plan->clock;
    char text[3 * RPS_NAME_SIZE];
    int power = x_power(figure) / 3;

    if (figure->axis == RPS_AXIS_TIME) {
        write_text(file, "Time since the start (hh:mm:ss)");
        return;
    }
    snprintf(text, sizeof(text), "Cycle timestamp: %s (%s%s)",
             clock->label[0] ? clock->label : "Cycles", power <= 6 ? powers[power] : "",
             clock->unit[0] ? clock->unit : "cycles");
    write_text(file, text);
}

/* The unit that all metrics of the panel share, "" when they do not. */
static const char *panel_unit(const struct rps_figure *figure, int panel)
{
    const char *unit = NULL;

    for (int m = 0; m < figure->plan->metric_count; m++) {
        if (figure->panel[m] != panel)
            continue;
        if (unit && strcmp(unit, figure->plan->metric[m].unit) != 0)
            return "";
        unit = figure->plan->metric[m].unit;
    }
    return unit ? unit : "";
}

/* The first metric of a panel; NULL when it has none. */
static const struct rps_metric *first_metric(const struct rps_figure *figure, int panel)
{
    for (int m = 0; m < figure->plan->metric_count; m++) {
        if (figure->panel[m] == panel)
            return &figure->plan->metric[m];
    }
    return NULL;
}

/* Do several drawn metrics have this title of their panel? */
static int shares_title(const struct rps_figure *figure, const char *title)
{
    int count = 0;

    for (int m = 0; m < figure->plan->metric_count; m++)
        count += figure->panel[m] >= 0 && strcmp(figure->plan->metric[m].panel, title) == 0;
    return count > 1;
}

static void write_heading(const struct rps_figure *figure, int panel, FILE *file)
{
    const struct rps_metric *metric = first_metric(figure, panel);
    const char *unit = panel_unit(figure, panel), *title = metric ? metric->panel : "";
    double peak = choose_y_axis(figure, panel).peak;
    /* Titles of the shipped plans name their unit in words. */
    int named = !unit[0] || strchr(title, '(') || strstr(title, " per ");
    char text[4 * RPS_NAME_SIZE], number[RPS_TEXT_NUMBER_SIZE] = "";

    if (peak > 0)
        snprintf(number, sizeof(number), "; peak above: %.*f", peak < 100 ? 1 : 0, peak);
    snprintf(text, sizeof(text), "%s%s%s%s%s%s%s", title, named ? "" : " (", named ? "" : unit,
             named ? "" : ")", figure->apart && shares_title(figure, title) ? ": " : "",
             figure->apart && shares_title(figure, title) ? metric->label : "", number);
    write_text(file, text);
}

static void write_panel_texts(const struct rps_figure *figure, int panel, FILE *file)
{
    const char *unit = panel_unit(figure, panel);
    char text[3 * RPS_NAME_SIZE];

    write_heading(figure, panel, file);
    for (int m = 0; m < figure->plan->metric_count; m++) {
        const struct rps_metric *metric = &figure->plan->metric[m];

        if (figure->panel[m] != panel)
            continue;
        snprintf(text, sizeof(text), unit[0] || !metric->unit[0] ? "%s" : "%s (%s)", metric->label,
                 metric->unit);
        for (int line = 0; line < figure->line_count; line++) {
            if (figure->apart)
                snprintf(text, sizeof(text), "CPU %d", (int)figure->tracks.cpu[line]);
            write_text(file, text);
        }
    }
}

static int write_texts(const struct rps_figure *figure, int folder_fd, struct rps_error *err)
{
    static const char name[] = "text.gp";
    FILE *file = file_open(folder_fd, name, err);

    if (!file)
        return RPS_FAILED;
    fprintf(file, "# Title, second line, name of the x axis; then each panel's heading and the\n"
                  "# names of its lines. A line of text is what follows its bar.\n$text << END\n");
    write_title(figure, file);
    write_subtitle(figure, file);
    write_x_label(figure, file);
    for (int p = 0; p < figure->panel_count; p++)
        write_panel_texts(figure, p, file);
    fprintf(file, "END\n");
    return file_close(file, name, err);
}

/* Neither neighbour has a value, so that no line can show this point. */
static int is_lone(const struct rps_series *series, size_t i)
{
    return (i == 0 || !isfinite(series->value[i - 1])) &&
           (i + 1 == series->count || !isfinite(series->value[i + 1]));
}

static int write_series(const struct rps_series *series, int folder_fd, int panel, int metric,
                        struct rps_error *err)
{
    char name[64];
    FILE *file;

    snprintf(name, sizeof(name), "panel-%d-%d.dat", panel + 1, metric + 1);
    file = file_open(folder_fd, name, err);
    if (!file)
        return RPS_FAILED;
    fprintf(file, "# position mean smallest largest dot\n");
    for (size_t i = 0; i < series->count; i++) {
        double value = series->value[i];

        if (!isfinite(value)) {
            fputc('\n', file); /* ends the line and the band */
            continue;
        }
        fprintf(file, "%.12g %.9g %.9g %.9g ", series->position[i], value, series->min[i],
                series->max[i]);
        if (series->count <= FIGURE_FEW || is_lone(series, i))
            fprintf(file, "%.9g\n", value);
        else
            fputs("NaN\n", file);
    }
    return file_close(file, name, err);
}

int rps_figure_write(const struct rps_figure *figure, int folder_fd, struct rps_error *err)
{
    if (write_numbers(figure, folder_fd, err) < 0 || write_texts(figure, folder_fd, err) < 0)
        return RPS_FAILED;
    for (int p = 0; p < figure->panel_count; p++) {
        int place = 0;

        for (int m = 0; m < figure->plan->metric_count; m++) {
            for (int line = 0; figure->panel[m] == p && line < figure->line_count; line++) {
                if (write_series(rps_figure_series(figure, m, line), folder_fd, p, place++, err) <
                    0)
                    return RPS_FAILED;
            }
        }
    }
    return 0;
}
