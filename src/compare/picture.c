/* Pictures of a comparison: panels of metrics on a common axis. Each run is one line in the colour
 * of its side. The phases of both sides are below the panels.
 *
 * The picture has the same form as a picture of runs (picture.h). Each metric has a panel, and each
 * line is a run. */
#include "rpistat/comparison.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "parts.h"
#include "rpistat/picture.h"
#include "rpistat/clock.h"
#include "rpistat/plan.h"
#include "rpistat/text.h"

#define COMPARISON_PANELS      6
#define COMPARISON_BIN_PX      2.5
#define COMPARISON_STRIP_SPACE 8  /* pixels between panels and strips */
#define COMPARISON_NAME_LEFT   30 /* pixels for the line before a side's name in the legend */

struct drawing {
    const struct rps_comparison_plot *plot;
    const struct rps_plot_options options; /* options with the size of the picture */
    struct rps_comparison_series series;
    struct rps_picture picture; /* picture that uses the plan and series above */
    struct rps_phases side[2];  /* phases of each side, drawn as a strip */
    struct rps_phases both;     /* phases of both sides, for the labels in the legend */
};

/* --- phases ----------------------------------------------------------------------------------- */

static void add(const struct drawing *drawing, struct rps_phases *phases, double from, double to,
                int label)
{
    phases->phase = rps_arena_grow(drawing->plot->comparison->arena, phases->phase, phases->count,
                                   sizeof(*phases->phase));
    phases->phase[phases->count++] = (struct rps_phase){
        .start_ns = llround(from * RPS_NS_PER_S),
        .end_ns = llround(to * RPS_NS_PER_S),
        .label = label,
        .label_confidence = 1, /* doubt is printed by `phases` */
    };
    if (label >= phases->label_count)
        phases->label_count = label + 1;
}

static void fill_phases(struct drawing *drawing)
{
    for (int side = RPS_SIDE_A; side <= RPS_SIDE_B; side++) {
        const struct rps_comparison_line *line =
            &drawing->series.run[drawing->plot->comparison->standing[side]];

        for (size_t i = 0; i < line->stretch_count; i++) {
            const struct rps_comparison_stretch *stretch = &line->stretch[i];

            add(drawing, &drawing->side[side], stretch->from, stretch->to, stretch->label);
            add(drawing, &drawing->both, stretch->from, stretch->to, stretch->label);
        }
    }
}

/* --- series ----------------------------------------------------------------------------------- */

static void take_series(struct drawing *drawing)
{
    struct rps_arena *arena = drawing->plot->comparison->arena;
    struct rps_comparison_series *series = &drawing->series;
    struct rps_picture *picture = &drawing->picture;

    picture->plan = series->plan;
    picture->panel_count = picture->panel_total = (int)series->figure_count;
    picture->line_count = (int)series->run_count;
    picture->panel = rps_arena_get(arena, series->figure_count, sizeof(*picture->panel));
    picture->series =
        rps_arena_get(arena, series->figure_count * series->run_count, sizeof(*picture->series));
    for (size_t f = 0; f < series->figure_count; f++) {
        picture->panel[f] = (int)f;
        series->metric[f].panel[0] = '\0'; /* each metric has a separate panel */
        for (size_t r = 0; r < series->run_count; r++)
            picture->series[f * series->run_count + r] = series->run[r].series[f];
    }
    rps_picture_drop_bands(picture);
}

/* --- chart ------------------------------------------------------------------------------------ */

/* Format the name of a side. Shorten a name that is wider than half of the picture. */
static char *side_name(const struct drawing *drawing, enum rps_comparison_side side,
                       char ret[RPS_PICTURE_TEXT_SIZE])
{
    const struct rps_picture *picture = &drawing->picture;
    double room = (picture->width / picture->scale - 28) / 2 - COMPARISON_NAME_LEFT;

    rps_text_printable(ret, RPS_PICTURE_TEXT_SIZE - 8, drawing->plot->comparison->name[side]);
    rps_picture_cut_text(ret, (int)(room / RPS_PICTURE_CHARACTER));
    return ret;
}

/* Format the title: "make -j2", or for two commands "./naive 512 against ./interchange 512". */
static void title_of(const struct drawing *drawing, char text[RPS_PICTURE_TEXT_SIZE])
{
    const struct rps_comparison *comparison = drawing->plot->comparison;
    char a[RPS_PICTURE_TEXT_SIZE / 2 - 16], b[sizeof(a)];
    int same;

    rps_run_title(a, sizeof(a), &comparison->run[0].run);
    rps_run_title(b, sizeof(b), &comparison->run[comparison->a_count].run);
    same = strcmp(a, b) == 0;
    snprintf(text, RPS_PICTURE_TEXT_SIZE, "%s%s%s", a, same ? "" : " against ", same ? "" : b);
}

/* Format the second line: "5 runs against 5 · 2.11 s against 1.45 s". */
static void second_line_of(const struct drawing *drawing, char text[RPS_PICTURE_TEXT_SIZE])
{
    const struct rps_comparison *comparison = drawing->plot->comparison;
    const struct rps_picture *picture = &drawing->picture;
    char fit[96] = "", a[RPS_TEXT_NUMBER_SIZE], b[RPS_TEXT_NUMBER_SIZE];
    char elapsed[2 * RPS_TEXT_NUMBER_SIZE + 32] = "";

    if (picture->panel_total > picture->panel_count)
        snprintf(fit, sizeof(fit), "%d of %d panels fit; --metric chooses \xc2\xb7 ",
                 picture->panel_count, picture->panel_total);
    for (size_t f = 0; f < comparison->figure_count; f++) {
        const struct rps_change *change = &comparison->row[0].change[f];

        if (comparison->figure[f].kind != RPS_FIGURE_TIME || !(change->a < 1e9 && change->b < 1e9))
            continue;
        rps_text_duration(a, sizeof(a), llround(change->a * RPS_NS_PER_S));
        rps_text_duration(b, sizeof(b), llround(change->b * RPS_NS_PER_S));
        snprintf(elapsed, sizeof(elapsed), " \xc2\xb7 %s against %s", a, b);
        break;
    }
    snprintf(text, RPS_PICTURE_TEXT_SIZE, "%s%zu run%s against %zu%s", fit, comparison->a_count,
             comparison->a_count == 1 ? "" : "s", comparison->b_count, elapsed);
}

static struct rps_layer side_like(enum rps_comparison_side side)
{
    /* Side A is drawn wider, so that it is visible under side B if both are equal. */
    return (struct rps_layer){.kind = RPS_LAYER_SEGMENTS,
                              .ink = RPS_INK_LINE + (rps_ink)side,
                              .weight = side == RPS_SIDE_A ? 2.5 : 1.6};
}

static void add_legend(const struct drawing *drawing, struct rps_chart *chart, double y)
{
    struct rps_layer a = side_like(RPS_SIDE_A), b = side_like(RPS_SIDE_B);
    char text[RPS_PICTURE_TEXT_SIZE];

    rps_chart_entry(chart, 14, y, &a, side_name(drawing, RPS_SIDE_A, text));
    rps_chart_entry(chart,
                    14 + 2 * COMPARISON_NAME_LEFT + RPS_PICTURE_CHARACTER * rps_text_width(text), y,
                    &b, side_name(drawing, RPS_SIDE_B, text));
}

/* Add a run's line. If the run represents its side, draw this line in front of the others. */
static void add_run(const struct drawing *drawing, struct rps_chart *chart, struct rps_panel *panel,
                    int figure, size_t run, int stands)
{
    enum rps_comparison_side side =
        run < drawing->plot->comparison->a_count ? RPS_SIDE_A : RPS_SIDE_B;
    struct rps_layer like = side_like(side);
    const char *file = rps_arena_print(chart->arena, "panel-%d-%zu", figure + 1, run + 1);
    const struct rps_series *series = rps_picture_series(&drawing->picture, figure, (int)run);

    rps_picture_add_line(chart, panel, series, file, RPS_INK_VEIL(like.ink, stands ? 0 : 120),
                         stands ? 0.35 : 0.3)
        ->weight = stands ? like.weight : 0.8;
}

/* First add the runs that do not represent a side, alternately from side A and side B. So neither
 * side hides the other. */
static void add_runs(const struct drawing *drawing, struct rps_chart *chart,
                     struct rps_panel *panel, int figure)
{
    const struct rps_comparison *comparison = drawing->plot->comparison;
    size_t runs = drawing->series.run_count, a_count = comparison->a_count;
    const size_t *standing = comparison->standing;

    for (size_t n = 0; n < runs; n++) {
        if (n < a_count && n != standing[RPS_SIDE_A])
            add_run(drawing, chart, panel, figure, n, 0);
        if (n < runs - a_count && a_count + n != standing[RPS_SIDE_B])
            add_run(drawing, chart, panel, figure, a_count + n, 0);
    }
    add_run(drawing, chart, panel, figure, standing[RPS_SIDE_A], 1);
    add_run(drawing, chart, panel, figure, standing[RPS_SIDE_B], 1);
}

static struct rps_panel *add_panels(struct drawing *drawing, struct rps_chart *chart, double top,
                                    double bottom)
{
    const struct rps_picture *picture = &drawing->picture;
    double each = (bottom - top) / picture->panel_count;
    struct rps_panel *panel = NULL;
    char text[RPS_PICTURE_TEXT_SIZE];

    for (int p = 0; p < picture->panel_count; p++) {
        struct rps_picture_axis axis = rps_picture_panel_axis(picture, p);

        panel = rps_picture_panel(chart, picture, top + p * each + RPS_PICTURE_HEADING,
                                  top + (p + 1) * each - RPS_PICTURE_FLOOR);
        panel->heading =
            rps_arena_print(chart->arena, "%s%s", rps_picture_heading(picture, p, text),
                            rps_picture_has_data(picture, p) ? "" : ": no data");
        rps_picture_x_scale(chart, picture, 0, &panel->x);
        rps_picture_scale(chart, &axis, &panel->y);
        add_runs(drawing, chart, panel, p);
    }
    return panel;
}

static struct rps_panel *add_strip(struct drawing *drawing, struct rps_chart *chart,
                                   enum rps_comparison_side side, double bottom)
{
    double top = bottom - (RPS_PICTURE_STRIP_HEIGHT - 3);
    struct rps_picture_overlay overlay;
    char name[RPS_PICTURE_TEXT_SIZE];

    drawing->picture.phases = drawing->side[side];
    rps_picture_overlay_of_phases(chart, &drawing->picture, side == RPS_SIDE_A ? "a-" : "b-",
                                  &overlay);
    snprintf(name, sizeof(name), "%s", drawing->plot->comparison->name[side]);
    rps_picture_cut_text(name, (int)((drawing->picture.left - 9) / RPS_PICTURE_CHARACTER));
    rps_chart_text(chart, drawing->picture.left - 7, (top + bottom) / 2, RPS_LOOK_RIGHT,
                   RPS_TEXT_NORMAL, RPS_INK_LINE + (rps_ink)side, name);
    return rps_picture_add_strip(chart, &drawing->picture, &overlay, top, bottom);
}

static struct rps_chart *draw_runs(struct drawing *drawing)
{
    struct rps_picture *picture = &drawing->picture;
    char title[RPS_PICTURE_TEXT_SIZE], second[RPS_PICTURE_TEXT_SIZE];
    double top = RPS_PICTURE_HEAD + RPS_PICTURE_LEGEND_HEIGHT, bottom;
    struct rps_chart *chart;
    struct rps_panel *panel;

    title_of(drawing, title);
    second_line_of(drawing, second);
    chart = rps_picture_titled_chart(picture, title, second);
    bottom = chart->panel[0]->bottom - RPS_PICTURE_FOOT;
    add_legend(drawing, chart, top - RPS_PICTURE_LEGEND_HEIGHT / 2.0 - 4);
    if (rps_picture_needs_label_legend(picture)) {
        top += RPS_PICTURE_LEGEND_HEIGHT;
        rps_picture_add_label_legend(chart, picture, top - 9);
    }
    panel = add_panels(
        drawing, chart, top,
        bottom - (picture->has_phases ? COMPARISON_STRIP_SPACE + 2 * RPS_PICTURE_STRIP_HEIGHT : 0));
    if (picture->has_phases) {
        add_strip(drawing, chart, RPS_SIDE_A, bottom - RPS_PICTURE_STRIP_HEIGHT);
        panel = add_strip(drawing, chart, RPS_SIDE_B, bottom);
    }
    rps_picture_x_scale(chart, picture, 1, &panel->x);
    return chart;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static int has_phases(const struct rps_comparison *comparison)
{
    return comparison->run[comparison->standing[RPS_SIDE_A]].phases.count > 0 &&
           comparison->run[comparison->standing[RPS_SIDE_B]].phases.count > 0;
}

static int prepare(struct drawing *drawing, struct rps_error *err)
{
    const struct rps_comparison_plot *plot = drawing->plot;
    struct rps_picture *picture = &drawing->picture;
    double across;
    int result;

    picture->arena = rps_arena_new();
    picture->palette = rps_palette(plot->theme);
    rps_picture_choose_width(picture, &drawing->options);
    across = picture->width - (picture->left + picture->right) * picture->scale;
    result = rps_comparison_series_read(plot, COMPARISON_PANELS,
                                        across > 100 ? (size_t)(across / COMPARISON_BIN_PX) : 40,
                                        &drawing->series, err);
    if (result < 0)
        return result;
    picture->to = drawing->series.length;
    take_series(drawing);
    fill_phases(drawing);
    picture->has_phases = has_phases(plot->comparison);
    picture->phases = drawing->both;
    picture->below = RPS_PICTURE_LEGEND_HEIGHT;
    if (picture->has_phases)
        picture->below += COMPARISON_STRIP_SPACE + RPS_PICTURE_STRIP_HEIGHT;
    rps_picture_fit(picture, &drawing->options);
    return 0;
}

static int draw_picture(const struct rps_comparison_plot *plot,
                        const struct rps_gnuplot_format *format, struct rps_error *err)
{
    struct drawing drawing = {
        .plot = plot,
        .options = {.width = plot->width, .height = plot->height},
    };
    struct rps_gnuplot_picture picture = {.format = format,
                                          .script_folder = plot->script_folder,
                                          .keep = plot->keep,
                                          .temporary_folder = plot->temporary_folder};
    int result = prepare(&drawing, err);

    if (result == 0) {
        picture.chart = draw_runs(&drawing);
        result = rps_gnuplot_draw_file(&picture, plot->path, err);
    }
    rps_arena_free(drawing.picture.arena);
    return result;
}

int rps_comparison_draw(const struct rps_comparison_plot *plot, struct rps_error *err)
{
    const struct rps_gnuplot_format *format = rps_gnuplot_format(plot->path);
    const char *dot = strrchr(plot->path, '.');

    if (format)
        return draw_picture(plot, format, err);
    if (!dot || strcasecmp(dot, ".html") != 0)
        return rps_error_set(err, RPS_USAGE, "%s: unknown suffix; use .png, .svg, .pdf or .html",
                             plot->path);
    if (plot->keep)
        return rps_error_set(
            err, RPS_USAGE,
            "--keep-script: a page is made without gnuplot; leave out --keep-script");
    return rps_comparison_page(plot, err);
}
