/* A run as a map (RPS_PLOT_HEAT): one row per metric. The colour shows the distance from the run's
 * own value, as a multiple of the spread. The map is for runs with too many metrics for panels. In
 * other maps, each row is a function, a program, ..., and shows its share of the time.
 *
 * The run's value is the one in the report, a ratio of sums over the time range that is drawn. The
 * mean of the columns is not used, because an idle second would have as much weight as a busy one.
 * The spread is the root mean square distance of the columns from the value. The spread is at least
 * HEAT_MIN of the value, because a difference of a thousandth is meaningless. A row is noise, and
 * has no colours, if its columns are hardly further from the value than from their neighbours. The
 * median measures the noise, so that a single spike or boundary has no effect.
 *
 * Neighbouring columns with nearly the same colour are drawn as one box. Otherwise a picture of a
 * quiet day would have thousands of boxes per row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/arena.h"
#include "rpistat/formula.h"
#include "rpistat/picture.h"
#include "rpistat/plan.h"
#include "rpistat/text.h"

#define HEAT_ROW      26  /* usual height of a row */
#define HEAT_ROW_MIN  7   /* minimum height at which rows can be distinguished */
#define HEAT_ROW_TEXT 13  /* height of a row's name */
#define HEAT_MAX      2.5 /* distance of the strongest colours from the run's value, in spreads */
#define HEAT_STEP     0.125
#define HEAT_MIN      0.01 /* minimum spread, as a share of the value */
#define HEAT_LEFT     196
#define HEAT_NARROW   118 /* left margin of a narrow picture */
#define HEAT_RIGHT    136
#define HEAT_NAME     7  /* distance between a row and its names */
#define HEAT_ROOM     34 /* extra space for names of functions, because their letters are wide */

/* Ratio of the deviation of independent values to the median distance between neighbours: 1 /
 * (0.6745 * sqrt(2)) for normal values. */
#define HEAT_NOISE 1.048

/* Maximum ratio of spread to noise in a row that is only noise. The ratio is 1 for infinitely many
 * normal values. For few values, or values with another distribution, the ratio is rarely above
 * this limit (1 in 100 simulated rows of 16 to 600 columns). */
#define HEAT_NOISE_MAX        1.5
#define HEAT_NOISE_CORRECTION 3 /* the limit increases by this / root of the number of columns */

/* A row of the map. Column i is between edges i and i + 1. */
struct row {
    char name[RPS_PICTURE_TEXT_SIZE];
    size_t count;
    const double *edge, *value; /* count + 1 edges; the first of `count` values */
    size_t stride;              /* distance between two values in the array */
    double figure;              /* value of the whole run */
    double spread;
    double unit; /* change of the value that changes the colour by one step */
    int plain;   /* 1: the row is only noise */
};

RPS_ARRAY_ORDER(by_size, double, )

static double value_of(const struct row *row, size_t i)
{
    return row->value[i * row->stride];
}

/* Return the typical difference of successive values. `distance` has space for all differences. */
static double noise_of(const struct row *row, double *distance)
{
    size_t count = 0;

    for (size_t i = 1; i < row->count; i++) {
        double step = fabs(value_of(row, i) - value_of(row, i - 1));

        if (isfinite(step))
            distance[count++] = step;
    }
    qsort(distance, count, sizeof(*distance), by_size);
    return count > 0 ? HEAT_NOISE * distance[count / 2] : 0;
}

static void fill_row(struct row *row, double *distance)
{
    double squares = 0, count = 0;

    for (size_t i = 0; i < row->count; i++) {
        double off = value_of(row, i) - row->figure;

        squares += isfinite(off) ? off * off : 0;
        count += isfinite(off);
    }
    row->spread = count > 0 ? sqrt(squares / count) : 0;
    row->plain = row->spread <= (HEAT_NOISE_MAX + HEAT_NOISE_CORRECTION / sqrt(fmax(1, count))) *
                                    noise_of(row, distance);
    row->unit = fmax(row->spread, HEAT_MIN * fabs(row->figure));
}

/* Read the run's value of each metric. The report computes the value in the same way. */
static int read_figures(const struct rps_picture *picture, double *figure, struct rps_error *err)
{
    const struct rps_plan *plan = picture->plan;
    struct rps_cpu_series cpu_series = picture->cpu_series;
    struct rps_walk walk = {.series = &cpu_series, .way = RPS_CPUS_SUM};
    double *operand =
        rps_arena_get(picture->arena, (size_t)rps_plan_operand_count(plan), sizeof(*operand));
    struct rps_tally tally = rps_tally_new(picture->arena, plan);
    int result = 0;

    cpu_series.resolution = RPS_LEVELS; /* sums are the same at every level */
    while (rps_walk_next(&walk, &result, err))
        rps_tally_add(&tally, walk.period);
    if (result == 0)
        rps_tally_operands(&tally, plan, operand);
    for (int m = 0; m < plan->metric_count && result == 0; m++)
        figure[m] = rps_formula_value(&plan->metric[m].formula, operand);
    return result;
}

/* Return the start of each column of a series, and the end of the last one. */
static double *edges_of(const struct rps_picture *picture, const struct rps_series *series)
{
    double *edge = rps_arena_get(picture->arena, series->count + 1, sizeof(*edge));

    edge[0] = picture->from;
    for (size_t i = 1; i < series->count; i++)
        edge[i] = (series->position[i - 1] + series->position[i]) / 2;
    edge[series->count] = picture->to;
    return edge;
}

/* Read one row per metric that is shown. */
static int read_metrics(const struct rps_picture *picture, struct row *row, struct rps_error *err)
{
    int metrics = picture->plan->metric_count;
    double *figure = rps_arena_get(picture->arena, (size_t)metrics, sizeof(*figure));

    if (read_figures(picture, figure, err) < 0)
        return RPS_FAILED;
    for (int m = 0; m < metrics; m++) {
        const struct rps_series *series = rps_picture_series(picture, m, 0);
        struct row *at = row + picture->panel[m];

        if (picture->panel[m] < 0)
            continue;
        *at = (struct row){.count = series->count,
                           .edge = edges_of(picture, series),
                           .value = series->value,
                           .stride = 1,
                           .figure = figure[m]};
        rps_picture_metric_title(&picture->plan->metric[m], at->name);
    }
    return 0;
}

/* Read one row per line of the panel "Code". The value of a row is its share of the whole time. */
static void read_lines(const struct rps_picture *picture, struct row *row)
{
    const struct rps_picture_areas *code = &picture->code;
    double all = code->at[code->step_count] - code->at[0];

    for (int line = 0; line < picture->panel_count; line++) {
        struct row *at = row + line;

        *at = (struct row){.count = code->step_count,
                           .edge = code->at,
                           .value = &code->share[line],
                           .stride = RPS_PICTURE_AREAS_LINES};
        snprintf(at->name, sizeof(at->name), "%s", code->name[line]);
        for (size_t i = 0; i < at->count; i++)
            at->figure += value_of(at, i) * (at->edge[i + 1] - at->edge[i]) / all;
    }
}

static int read_rows(const struct rps_picture *picture, struct row **ret, struct rps_error *err)
{
    struct row *row = rps_arena_get(picture->arena, (size_t)picture->panel_count, sizeof(*row));

    if (picture->code.line_count > 0)
        read_lines(picture, row);
    else if (read_metrics(picture, row, err) < 0)
        return RPS_FAILED;
    for (int i = 0; i < picture->panel_count; i++)
        fill_row(&row[i], rps_arena_get(picture->arena, row[i].count + 1, sizeof(double)));
    *ret = row;
    return 0;
}

/* Return the distance from the run's value in steps of colour. */
static double step_of(const struct row *row, double value)
{
    double distance;

    if (!isfinite(value))
        return NAN;
    if (row->plain || !(row->unit > 0))
        return 0;
    distance = (value - row->figure) / row->unit;
    distance = fmin(HEAT_MAX, fmax(-HEAT_MAX, distance));
    return round(distance / HEAT_STEP) * HEAT_STEP;
}

static rps_ink ink_of(double step)
{
    return RPS_INK_MAP + (rps_ink)lround((step + HEAT_MAX) / (2 * HEAT_MAX) * RPS_INK_MAP_STEPS);
}

static void add_row(struct rps_chart *chart, const struct row *row, double top, double bottom,
                    struct rps_layer *boxes)
{
    for (size_t i = 0, first; i < row->count; i++) {
        double step = step_of(row, value_of(row, i));

        first = i;
        while (i + 1 < row->count && step_of(row, value_of(row, i + 1)) == step)
            i++;
        if (isfinite(step))
            rps_chart_shape(chart, boxes, row->edge[first], top, row->edge[i + 1], bottom)->ink =
                ink_of(step);
    }
}

/* Choose the rows: the metrics that have values, from top to bottom, as many as fit. */
static void choose_rows(struct rps_picture *picture, const struct rps_plot_options *options)
{
    double frame =
        RPS_PICTURE_HEAD + RPS_PICTURE_FOOT + rps_picture_strip_height(picture) +
        RPS_PICTURE_LEGEND_HEIGHT * (rps_picture_needs_label_legend(picture) +
                                     rps_picture_note_rows(picture) + picture->zero_rows);
    int rows = 0, fit;

    for (int m = 0; m < picture->plan->metric_count; m++)
        picture->panel[m] = picture->panel[m] >= 0 ? rows++ : picture->panel[m];
    if (picture->code.line_count > 0)
        rows = picture->code.line_count;
    picture->panel_total = picture->panel_count = rows;
    picture->height = options->height > 0
                          ? options->height
                          : (int)((frame + fmax(2, rows) * HEAT_ROW) * picture->scale);
    fit = (int)((picture->height / picture->scale - frame) / HEAT_ROW_MIN);
    if (fit < 1)
        fit = 1;
    for (int m = 0; m < picture->plan->metric_count; m++) {
        if (picture->panel[m] >= fit)
            picture->panel[m] = -1;
    }
    if (picture->panel_count > fit)
        picture->panel_count = fit;
}

static void name_row(struct rps_chart *chart, const struct rps_picture *picture,
                     const struct row *row, double y)
{
    char figure[RPS_TEXT_NUMBER_SIZE], spread[RPS_TEXT_NUMBER_SIZE];
    char text[RPS_PICTURE_TEXT_SIZE];

    strcpy(text, row->name);
    rps_picture_cut_text(text, (int)((picture->left - HEAT_ROOM) / RPS_PICTURE_CHARACTER));
    rps_chart_text(chart, picture->left - HEAT_NAME, y, RPS_LOOK_RIGHT, RPS_TEXT_NORMAL,
                   RPS_INK_TEXT, text);
    snprintf(text, sizeof(text), "%s sd %s", rps_text_number(figure, sizeof(figure), row->figure),
             rps_text_number(spread, sizeof(spread), row->spread));
    rps_chart_text(chart, chart->panel[0]->right - picture->right + HEAT_NAME, y, RPS_LOOK_PLAIN,
                   RPS_TEXT_NORMAL, RPS_INK_QUIET, text);
}

/* The key of the colours, below the rows' names. */
static void add_key(struct rps_chart *chart, double right, double bottom)
{
    struct rps_panel *panel = rps_chart_panel(chart, 14, right, bottom - 22, bottom - 15);
    struct rps_layer *boxes = rps_chart_layer(chart, panel, RPS_LAYER_BOXES, "key", 0);
    int every = right - 14 < 110 ? 2 : 1;
    char text[16];

    panel->x = (struct rps_scale){.from = -HEAT_MAX, .to = HEAT_MAX};
    panel->y = (struct rps_scale){.to = 1};
    boxes->each = 1;
    for (double at = -HEAT_MAX; at <= HEAT_MAX; at += HEAT_STEP)
        rps_chart_shape(chart, boxes, fmax(-HEAT_MAX, at - HEAT_STEP / 2), 0,
                        fmin(HEAT_MAX, at + HEAT_STEP / 2), 1)
            ->ink = ink_of(at);
    for (int n = -2; n <= 2; n += every) {
        snprintf(text, sizeof(text), "%s%d", n < 0 ? "\xe2\x88\x92" : n > 0 ? "+" : "", abs(n));
        rps_chart_text(chart, 14 + (right - 14) * (0.5 + n / (2 * HEAT_MAX)), bottom - 7,
                       RPS_LOOK_CENTRE, RPS_TEXT_SMALL, RPS_INK_QUIET, text);
    }
    rps_chart_text(chart, right + 5, bottom - 18, RPS_LOOK_PLAIN, RPS_TEXT_SMALL, RPS_INK_QUIET,
                   "\xc3\x97 sd");
}

static void add_rows(struct rps_chart *chart, const struct rps_picture *picture,
                     const struct row *row, struct rps_panel *panel)
{
    struct rps_layer *boxes = rps_chart_layer(chart, panel, RPS_LAYER_BOXES, "heat", 0);
    double height = (panel->bottom - panel->top) / picture->panel_count;
    double gutter = height > 8 ? 0.06 : 0;
    int step = (int)ceil(HEAT_ROW_TEXT / height); /* only every step-th row has a name */

    boxes->each = 1;
    for (int place = 0; place < picture->panel_count; place++) {
        add_row(chart, &row[place], place + gutter, place + 1 - gutter, boxes);
        if (place % step == 0)
            name_row(chart, picture, &row[place], panel->top + (place + 0.5) * height);
    }
}

static struct rps_chart *draw_map(struct rps_picture *picture, const struct row *row,
                                  const char *what)
{
    struct rps_chart *chart = rps_picture_chart(
        picture,
        rps_arena_print(picture->arena,
                        "each %s: deviation from its mean, in sd; plain: varies like noise", what));
    double bottom = chart->panel[0]->bottom - picture->zero_rows * RPS_PICTURE_LEGEND_HEIGHT, top;
    struct rps_picture_overlay overlay;
    struct rps_panel *panel;
    struct rps_layer *plain;

    rps_picture_overlay(chart, picture, &overlay);
    top = rps_picture_add_rows(chart, picture, &overlay, RPS_PICTURE_HEAD);
    panel = rps_picture_panel(chart, picture, top, bottom - RPS_PICTURE_FOOT);
    rps_picture_x_scale(chart, picture, 1, &panel->x);
    panel->y = (struct rps_scale){.from = picture->panel_count};
    plain = rps_chart_layer(chart, panel, RPS_LAYER_SPANS, "unknown", RPS_INK_GRID);
    rps_chart_shape(chart, plain, picture->from, 0, picture->to, 0);
    add_rows(chart, picture, row, panel);
    overlay.bounds->ink = RPS_INK_VEIL(RPS_INK_TEXT, 110);
    overlay.bounds->weight = 0.8;
    rps_chart_share(chart, panel, overlay.bounds);
    rps_chart_share(chart, panel, overlay.gaps);
    rps_chart_share(chart, panel, overlay.marks);
    rps_chart_text(chart, panel->right + HEAT_NAME, top - 8, RPS_LOOK_PLAIN, RPS_TEXT_SMALL,
                   RPS_INK_QUIET, picture->code.line_count > 0 ? "mean, sd (%)" : "mean, sd");
    add_key(chart, picture->left - 30, bottom);
    return chart;
}

int rps_picture_fill_heat(struct rps_picture *picture, struct rps_reader *reader,
                          const struct rps_plot_options *options, struct rps_chart **ret,
                          struct rps_error *err)
{
    int by_code = options->code != RPS_PLOT_CODE_CHOSEN && options->code != RPS_PLOT_CODE_NONE;
    struct row *row;

    (void)reader;
    picture->left = picture->width / picture->scale < 700 ? HEAT_NARROW : HEAT_LEFT;
    picture->right = HEAT_RIGHT;
    if (rps_picture_bin(picture, 0, err) < 0 ||
        (by_code && rps_picture_read_code(picture, options, err) < 0))
        return RPS_FAILED;
    if (by_code && picture->code.line_count == 0)
        return rps_error_set(
            err, RPS_FAILED,
            "run %lld has too few samples in this range for a map; choose a longer range",
            (long long)picture->run.run_id);
    if (by_code)
        picture->zero_rows = 0; /* rows of zeros are only for metrics */
    choose_rows(picture, options);
    if (picture->panel_count == 0)
        return rps_error_set(
            err, RPS_FAILED,
            "no metric of run %lld has a value in this range; choose another range",
            (long long)picture->run.run_id);
    if (read_rows(picture, &row, err) < 0)
        return RPS_FAILED;
    *ret = draw_map(picture, row,
                    by_code ? rps_arena_print(picture->arena, "%s's share of the time",
                                              rps_plot_code_names[options->code])
                            : "metric");
    return 0;
}
