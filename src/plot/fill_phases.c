/* The properties of a run's phase classes (RPS_PLOT_PHASES): one column per label, one row per
 * metric. Each cell has a bar from the value of the whole run (a vertical line) to the label's
 * value, and a thin line for the spread. The axis is the logarithm of the ratio of both values, and
 * is the same in all cells. The metrics that distinguish the phases most are in the first rows;
 * metrics that do not fit are left out. */
#include <math.h>
#include <string.h>

#include "rpistat/error.h"
#include "rpistat/part_shares.h"
#include "rpistat/picture.h"
#include "rpistat/plan.h"
#include "rpistat/profile.h"
#include "rpistat/text.h"

#define PROFILE_ROW      40 /* usual height of a row */
#define PROFILE_ROW_MIN  32
#define PROFILE_HEAD     96 /* height of the head, including the columns' headings */
#define PROFILE_FOOT     30
#define PROFILE_CELL_MIN 74
#define PROFILE_LEFT     170
#define PROFILE_NARROW   132
#define PROFILE_CELL     0.86 /* share of a cell's width for its bar */
#define NAME_ROOM        23   /* space beside a name: to its left, and to the cells */
#define PROFILE_HALF_MAX 5    /* power of two at the ends of a cell: 32 times the run's value */

struct grid {
    const struct rps_profile *profile;
    size_t rows;    /* number of metrics that are drawn, in the profile's order */
    size_t *figure; /* metric of each row */
    size_t row_total;
    int columns, column_total; /* number of labels that are drawn; number of all labels */
    int *label;                /* label of each column, in the order of labels */
};

static double mean_of(const struct grid *grid, size_t row, int label)
{
    const struct rps_profile *profile = grid->profile;

    return profile->mean[(size_t)label * profile->figure_count + grid->figure[row]];
}

static double spread_of(const struct grid *grid, size_t row, int label)
{
    const struct rps_profile *profile = grid->profile;
    double spread = profile->spread[(size_t)label * profile->figure_count + grid->figure[row]];

    return isfinite(spread) ? spread : 0;
}

/* --- space ------------------------------------------------------------------------------------ */

static int is_wanted(const struct rps_picture *picture, const char *name)
{
    int m = rps_plan_metric(picture->plan, name);

    return m < 0 || picture->chosen[m]; /* CPU use is not a metric of the plan */
}

/* Return 1 if any label has a value other than zero for the metric. */
static int is_seen(const struct rps_profile *profile, size_t figure)
{
    for (int l = 0; l < profile->label_count; l++) {
        double mean = profile->mean[(size_t)l * profile->figure_count + figure];

        if (isfinite(mean) && mean != 0)
            return 1;
    }
    return 0;
}

/* Return the height of the head, including the rows of words above the columns. */
static int head_of(const struct rps_picture *picture)
{
    return PROFILE_HEAD + picture->words.rows * RPS_PICTURE_LEGEND_HEIGHT;
}

static void choose_rows(struct rps_picture *picture, const struct rps_plot_options *options,
                        struct grid *grid)
{
    const struct rps_profile *profile = grid->profile;
    int only = options->metric_count + options->panel_count > 0;
    size_t fit;

    for (size_t i = 0; i < profile->figure_count; i++) {
        const struct rps_figure *figure = &profile->figure[profile->order[i]];
        int cpu_use = is_wanted(picture, figure->name) && strcmp(figure->name, "cpu_use") == 0;

        if (is_wanted(picture, figure->name) && is_seen(profile, profile->order[i]) &&
            !(only && cpu_use))
            grid->figure[grid->row_total++] = profile->order[i];
    }
    picture->height = options->height > 0 ? options->height
                                          : (int)((head_of(picture) + PROFILE_FOOT +
                                                   PROFILE_ROW * fmax(3, (double)grid->row_total)) *
                                                  picture->scale);
    fit = (size_t)fmax(1, (picture->height / picture->scale - head_of(picture) - PROFILE_FOOT) /
                              PROFILE_ROW_MIN);
    grid->rows = grid->row_total < fit ? grid->row_total : fit;
}

/* Choose as many labels as fit, those with the most time, but draw them in the order of labels. */
static void choose_columns(const struct rps_picture *picture, struct grid *grid)
{
    const struct rps_profile *profile = grid->profile;
    double room = picture->width / picture->scale - picture->left - picture->right;
    int fit = (int)fmax(1, room / PROFILE_CELL_MIN);

    for (int l = 0; l < profile->label_count; l++)
        grid->column_total += profile->label[l].periods > 0;
    for (int l = 0; l < profile->label_count; l++) {
        int longer = 0;

        if (profile->label[l].periods == 0)
            continue;
        for (int k = 0; k < profile->label_count; k++)
            longer += profile->label[k].periods > profile->label[l].periods ||
                      (profile->label[k].periods == profile->label[l].periods && k < l);
        if (longer < fit)
            grid->label[grid->columns++] = l;
    }
}

/* --- chart ------------------------------------------------------------------------------------ */

/* Return the ratio of a value to the run's value, as a power of two; NaN: meaningless. */
static double times(double value, double whole)
{
    return value >= 0 && whole > 0 ? log2(value / whole) : NAN;
}

/* Return the power of two that half of a cell's width represents. */
static double half_width(const struct grid *grid)
{
    double half = 1;

    for (size_t r = 0; r < grid->rows; r++) {
        for (int c = 0; c < grid->columns; c++) {
            double power = fabs(times(mean_of(grid, r, grid->label[c]),
                                      grid->profile->figure[grid->figure[r]].whole));

            if (power > half)
                half = power;
        }
    }
    return fmin(PROFILE_HALF_MAX, ceil(half));
}

/* Return a position in a cell, from 0 (left) to 1 (right). The run's value and unknown values are
 * in the middle. */
static double place(double power, double half)
{
    if (isnan(power))
        return 0.5;
    return fmin(1, fmax(0, 0.5 + power / half / 2));
}

static void add_cells(struct rps_chart *chart, const struct grid *grid, struct rps_panel *panel)
{
    struct rps_layer *bars = rps_chart_layer(chart, panel, RPS_LAYER_BOXES, "cells", 0);
    struct rps_layer *spreads = rps_chart_layer(chart, panel, RPS_LAYER_SEGMENTS, "spreads",
                                                RPS_INK_VEIL(RPS_INK_TEXT, 64));
    double half = half_width(grid);

    bars->each = 1;
    spreads->weight = 1.2;
    for (size_t r = 0; r < grid->rows; r++) {
        double whole = grid->profile->figure[grid->figure[r]].whole, y = (double)r;

        for (int c = 0; c < grid->columns; c++) {
            double mean = mean_of(grid, r, grid->label[c]);
            double spread = isfinite(mean) ? spread_of(grid, r, grid->label[c]) : NAN;
            char number[RPS_TEXT_NUMBER_SIZE] = "-";

            if (isfinite(mean))
                rps_text_number_of(number, sizeof(number), mean,
                                   grid->profile->figure[grid->figure[r]].unit);
            rps_chart_shape(chart, bars, c + PROFILE_CELL / 2, y + 0.14,
                            c + PROFILE_CELL * place(times(mean, whole), half), y + 0.50)
                ->ink = RPS_INK_BAND + (rps_ink)grid->label[c];
            rps_chart_shape(
                chart, spreads,
                c + PROFILE_CELL * place(times(spread > mean ? 0 : mean - spread, whole), half),
                y + 0.32, c + PROFILE_CELL * place(times(mean + spread, whole), half), y + 0.32);
            rps_chart_label(chart, panel, c + PROFILE_CELL / 2, y + 0.76, RPS_LOOK_BOXED,
                            RPS_INK_TEXT, number);
        }
    }
}

static int has_spreads(const struct grid *grid)
{
    for (size_t r = 0; r < grid->rows; r++) {
        for (int c = 0; c < grid->columns; c++) {
            if (spread_of(grid, r, grid->label[c]) > 0)
                return 1;
        }
    }
    return 0;
}

static void name_columns(struct rps_chart *chart, const struct grid *grid,
                         const struct rps_panel *panel)
{
    const struct rps_profile *profile = grid->profile;
    double width = (panel->right - panel->left) / grid->columns, top = panel->top;

    for (int c = 0; c < grid->columns; c++) {
        const struct rps_profile_label *of = &profile->label[grid->label[c]];
        double left = panel->left + c * width, middle = left + PROFILE_CELL / 2 * width;
        char text[64], name[RPS_PHASE_LABEL_SIZE];

        rps_chart_box(chart, left, top - 38, left + PROFILE_CELL * width, top - 20,
                      RPS_INK_BAND + (rps_ink)grid->label[c]);
        rps_chart_text(chart, middle, top - 29, RPS_LOOK_CENTRE, RPS_TEXT_NORMAL, RPS_INK_ON_AREA,
                       rps_phase_label(grid->label[c], name));
        snprintf(text, sizeof(text), "%.1f %% \xc2\xb7 %zu\xc3\x97",
                 100 * rps_profile_share(profile, of->length_ns, of->periods), of->occurrences);
        rps_chart_text(chart, middle, top - 10, RPS_LOOK_CENTRE, RPS_TEXT_SMALL, RPS_INK_QUIET,
                       text);
    }
}

static void name_rows(struct rps_chart *chart, const struct rps_picture *picture,
                      const struct grid *grid, const struct rps_panel *panel)
{
    double height = (panel->bottom - panel->top) / (double)grid->rows, x = panel->left - 9;
    char text[RPS_PICTURE_TEXT_SIZE], number[RPS_TEXT_NUMBER_SIZE];

    for (size_t r = 0; r < grid->rows; r++) {
        const struct rps_figure *figure = &grid->profile->figure[grid->figure[r]];
        double y = panel->top + ((double)r + 0.5) * height;

        snprintf(text, sizeof(text), figure->unit[0] ? "%s (%s)" : "%s", figure->label,
                 figure->unit);
        rps_picture_cut_text(text, (int)((picture->left - NAME_ROOM) / RPS_PICTURE_CHARACTER));
        rps_chart_text(chart, x, y - 7, RPS_LOOK_RIGHT, RPS_TEXT_NORMAL, RPS_INK_TEXT, text);
        snprintf(text, sizeof(text), "run: %s",
                 rps_text_number_of(number, sizeof(number), figure->whole, figure->unit));
        rps_chart_text(chart, x, y + 7, RPS_LOOK_RIGHT, RPS_TEXT_SMALL, RPS_INK_QUIET, text);
    }
}

/* Add lines below the rows, and a line for the whole run in the middle of each column. */
static void add_lines(struct rps_chart *chart, const struct grid *grid, struct rps_panel *panel)
{
    struct rps_layer *below =
        rps_chart_layer(chart, panel, RPS_LAYER_SEGMENTS, "rows", RPS_INK_GRID);
    struct rps_layer *middle = rps_chart_layer(chart, panel, RPS_LAYER_RULES, "run", RPS_INK_AXIS);

    below->weight = 0.6;
    middle->weight = 0.8;
    for (size_t r = 1; r <= grid->rows; r++)
        rps_chart_shape(chart, below, 0, (double)r, grid->columns - 1 + PROFILE_CELL, (double)r);
    for (int c = 0; c < grid->columns; c++)
        rps_chart_shape(chart, middle, c + PROFILE_CELL / 2, 0, 0, 0);
}

static struct rps_chart *draw_grid(struct rps_picture *picture, const struct grid *grid)
{
    double half = exp2(half_width(grid));
    struct rps_chart *chart;
    struct rps_panel *panel;
    char text[128] = "";

    if (grid->rows < grid->row_total || grid->columns < grid->column_total)
        snprintf(text, sizeof(text), "%zu of %zu metrics and %d of %d classes fit", grid->rows,
                 grid->row_total, grid->columns, grid->column_total);
    chart = rps_picture_chart(picture, text);
    rps_picture_add_words(chart, picture, RPS_PICTURE_HEAD - 2);
    panel =
        rps_picture_panel(chart, picture, head_of(picture), chart->panel[0]->bottom - PROFILE_FOOT);
    panel->x = (struct rps_scale){.to = grid->columns};
    panel->y = (struct rps_scale){.from = (double)grid->rows};
    add_lines(chart, grid, panel);
    add_cells(chart, grid, panel);
    name_columns(chart, grid, panel);
    name_rows(chart, picture, grid, panel);
    snprintf(text, sizeof(text), "Bars: ratio to the whole run (vertical line), 1/%g to %g.%s",
             half, half, has_spreads(grid) ? " Thin lines: standard deviation." : "");
    rps_chart_text(chart, picture->left, chart->panel[0]->bottom - 12, RPS_LOOK_PLAIN,
                   RPS_TEXT_SMALL, RPS_INK_QUIET, text);
    return chart;
}

int rps_picture_profile(const struct rps_picture *picture, struct rps_reader *reader,
                        const struct rps_plot_options *options, struct rps_profile *ret,
                        struct rps_error *err)
{
    struct rps_phase all = {.last = UINT64_MAX, .end_ns = INT64_MAX};
    const struct rps_phases one = {.count = 1, .phase = &all, .label_count = 1};

    const struct rps_phases *phases = picture->has_phases ? &picture->phases : &one;
    struct rps_part_shares shares = {0};
    int result = rps_profile_run(picture->arena, reader, picture->run.run_id, options->from_ns,
                                 options->to_ns, &options->cpus, phases, 1, 1, ret, err);

    if (result < 0)
        return result;
    if (picture->has_phases && options->code != RPS_PLOT_CODE_NONE)
        result = rps_part_shares_of_labels(picture->arena, reader, picture->run.run_id, phases,
                                           &options->cpus, &shares, err);
    if (result < 0)
        return result;
    rps_profile_place(ret, &shares);
    rps_profile_code(ret, &shares);
    return 0;
}

int rps_picture_fill_phases(struct rps_picture *picture, struct rps_reader *reader,
                            const struct rps_plot_options *options, struct rps_chart **ret,
                            struct rps_error *err)
{
    struct rps_profile profile = {0};
    struct grid grid = {.profile = &profile};

    if (!picture->has_phases)
        return rps_error_set(
            err, RPS_FAILED,
            "run %lld has no phases to draw; find them first with `rpistat phases -r %lld`",
            (long long)picture->run.run_id, (long long)picture->run.run_id);
    picture->left = picture->width / picture->scale < 700 ? PROFILE_NARROW : PROFILE_LEFT;
    if (rps_picture_profile(picture, reader, options, &profile, err) < 0)
        return RPS_FAILED;
    grid.figure = rps_arena_get(picture->arena, profile.figure_count + 1, sizeof(*grid.figure));
    grid.label =
        rps_arena_get(picture->arena, (size_t)profile.label_count + 1, sizeof(*grid.label));
    rps_picture_choose_words(picture, &profile, options);
    choose_rows(picture, options, &grid);
    choose_columns(picture, &grid);
    if (grid.rows == 0 || grid.columns == 0)
        return rps_error_set(
            err, RPS_FAILED,
            "no metric of run %lld has a value in this range; choose another range",
            (long long)picture->run.run_id);
    *ret = draw_grid(picture, &grid);
    return 0;
}
