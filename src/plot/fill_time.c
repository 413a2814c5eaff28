/* A run over time (RPS_PLOT_TIME): panels of metrics above one axis. A line is a metric or, with
 * CPUs side by side, a CPU; all panels then have the same lines, with one legend at the top. Panels
 * at the bottom show the code that used the time, and the counted share of the time. */
#include <math.h>
#include <string.h>

#include "rpistat/picture.h"
#include "rpistat/plan.h"
#include "rpistat/profile.h"

#define TIME_DOTS_MAX 40  /* maximum number of points for which a series is also drawn as dots */
#define TIME_NARROW   760 /* minimum width of a picture in which names are next to headings */
#define TIME_EDGE     14
#define LEGEND_GAP    8 /* characters of a legend's entry in addition to its name */

/* --- panels ----------------------------------------------------------------------------------- */

/* The parts of a panel's lines, from back to front. */
enum part { PART_EXTREMES, PART_INTERVAL, PART_BARS, PART_DOTS, PART_MEAN, PART_COUNT };

/* Return 1 for a point of a series that a line alone would not show. */
static int is_dot(const struct rps_series *series, size_t i)
{
    return isfinite(series->value[i]) && ((series->count <= TIME_DOTS_MAX && !series->is_stepped) ||
                                          rps_series_is_lone(series, i));
}

static void add_part(struct rps_chart *chart, const struct rps_series *series, enum part part,
                     struct rps_layer *layer)
{
    size_t wide = 0;

    for (size_t i = 0; i < series->count; i++) {
        double x = series->position[i], value = series->value[i];

        if (part == PART_EXTREMES)
            rps_chart_shape(chart, layer, x, series->min[i], 0, series->max[i]);
        else if (part == PART_INTERVAL)
            rps_chart_shape(chart, layer, x, series->low[i], 0, series->high[i]);
        else if (part == PART_MEAN)
            rps_chart_shape(chart, layer, x, isfinite(value) ? value : NAN, 0, 0);
        else if (is_dot(series, i) && part == PART_DOTS)
            rps_chart_shape(chart, layer, x, value, 0, 0);
        else if (is_dot(series, i) && part == PART_BARS)
            rps_chart_shape(chart, layer, x, series->min[i], x, series->max[i]);
        wide += part == PART_INTERVAL ? series->high[i] > series->low[i]
                                      : part > PART_BARS || series->max[i] > series->min[i];
    }
    if (wide == 0)
        layer->count = 0; /* drop the layer, because nothing of it would be visible */
}

static struct rps_layer *add_layer(struct rps_chart *chart, struct rps_panel *panel,
                                   const struct rps_series *series, const char *file,
                                   enum part part, rps_ink ink)
{
    static const struct {
        const char *ending;
        enum rps_layer_kind kind;
        double weight;
    } parts[PART_COUNT] = {
        [PART_EXTREMES] = {"-extremes", RPS_LAYER_BAND, 1},
        [PART_INTERVAL] = {"-interval", RPS_LAYER_BAND, 1},
        [PART_BARS] = {"-bars", RPS_LAYER_SEGMENTS, 1},
        [PART_DOTS] = {"-dots", RPS_LAYER_POINTS, 0.35},
        [PART_MEAN] = {"", RPS_LAYER_LINE, 1.5},
    };
    struct rps_layer *layer =
        rps_chart_layer(chart, panel, parts[part].kind,
                        rps_arena_print(chart->arena, "%s%s", file, parts[part].ending), ink);

    layer->weight = parts[part].weight;
    add_part(chart, series, part, layer);
    return layer;
}

struct rps_layer *rps_picture_add_line(struct rps_chart *chart, struct rps_panel *panel,
                                       const struct rps_series *series, const char *file,
                                       rps_ink ink, double dot)
{
    add_layer(chart, panel, series, file, PART_DOTS, ink)->weight = dot;
    return add_layer(chart, panel, series, file, PART_MEAN, ink);
}

/* Return the name of a line in a panel's legend, without the panel's name: "vda" for "vda r/s". */
static const char *line_name(struct rps_chart *chart, const struct rps_picture *picture, int metric,
                             int line)
{
    const struct rps_metric *of = &picture->plan->metric[metric];
    const char *panel = rps_picture_panel_title(of);
    size_t length = strlen(of->label), end = strlen(panel) + 1;
    char text[RPS_PICTURE_TEXT_SIZE];

    if (length > end && of->label[length - end] == ' ' &&
        strcmp(of->label + length - end + 1, panel) == 0)
        return rps_arena_print(chart->arena, "%.*s", (int)(length - end), of->label);
    if (picture->apart)
        return rps_arena_print(chart->arena, "CPU %d", (int)picture->cpu_series.cpu[line]);
    if (rps_picture_panel_unit(picture, picture->panel[metric])[0])
        return rps_arena_text(chart->arena, of->label);
    return rps_arena_text(chart->arena, rps_picture_metric_title(of, text));
}

static rps_ink line_ink(int number)
{
    return RPS_INK_LINE + (rps_ink)number;
}

static enum rps_look line_look(int number)
{
    return number < RPS_PALETTE_LINES ? RPS_LOOK_PLAIN : RPS_LOOK_DASHED;
}

static void add_lines(struct rps_chart *chart, const struct rps_picture *picture, int number,
                      struct rps_panel *panel)
{
    int lines = rps_picture_panel_lines(picture, number);
    int extremes_veil = !picture->apart ? 0xa0 : lines <= 2 ? 0xc0 : 0xd8;

    for (enum part part = 0; part < PART_COUNT; part++) {
        int line = 0;

        if ((part == PART_INTERVAL && picture->apart) ||
            (part == PART_BARS && (picture->apart || picture->quantile)))
            continue;
        for (int m = 0; m < picture->plan->metric_count; m++) {
            for (int k = 0; picture->panel[m] == number && k < picture->line_count; k++, line++) {
                const char *file =
                    rps_arena_print(chart->arena, "panel-%d-%d", number + 1, line + 1);
                int veil = part == PART_EXTREMES ? extremes_veil : part == PART_INTERVAL ? 0xb8 : 0;
                struct rps_layer *layer = add_layer(chart, panel, rps_picture_series(picture, m, k),
                                                    file, part, RPS_INK_VEIL(line_ink(line), veil));

                if (part != PART_MEAN)
                    continue;
                layer->look = line_look(line);
                if (lines > 1 && !picture->apart)
                    layer->name = line_name(chart, picture, m, k);
            }
        }
    }
}

/* Return the number of rows of names below the heading. 0: there are no names, or they fit next to
 * the heading. gnuplot makes each name as wide as the longest one. */
static int legend_rows(struct rps_chart *chart, const struct rps_picture *picture, int number,
                       const char *heading)
{
    int lines = rps_picture_panel_lines(picture, number), longest = 0, columns, rows;
    int across = rps_picture_characters_across(picture, 12);

    if (picture->apart || lines < 2)
        return 0;
    for (int m = 0; m < picture->plan->metric_count; m++) {
        int length = picture->panel[m] == number ? (int)strlen(line_name(chart, picture, m, 0)) : 0;

        longest = length > longest ? length : longest;
    }
    columns = across / (longest + LEGEND_GAP);
    columns = picture->characters || columns > lines ? lines : columns > 1 ? columns : 1;
    rows = (lines + columns - 1) / columns;
    return rows > 1 || chart->panel[0]->right < TIME_NARROW ||
                   lines * (longest + LEGEND_GAP) + (int)strlen(heading) > across
               ? rows
               : 0;
}

static struct rps_panel *add_panel(struct rps_chart *chart, const struct rps_picture *picture,
                                   const struct rps_picture_overlay *overlay, int number,
                                   double top, double bottom)
{
    char text[RPS_PICTURE_TEXT_SIZE];
    const char *heading = rps_arena_text(chart->arena, rps_picture_heading(picture, number, text));
    int rows = legend_rows(chart, picture, number, heading);
    struct rps_panel *panel = rps_picture_panel(
        chart, picture, top + RPS_PICTURE_HEADING + rows * RPS_PICTURE_LEGEND_HEIGHT,
        bottom - RPS_PICTURE_FLOOR);
    struct rps_picture_axis axis = rps_picture_panel_axis(picture, number);

    panel->heading = heading;
    panel->legend_rows = rows;
    rps_picture_x_scale(chart, picture, 0, &panel->x);
    rps_picture_scale(chart, &axis, &panel->y);
    rps_picture_shade(chart, panel, overlay);
    if (rps_picture_panel_lines(picture, number) == 0)
        rps_chart_text(chart, (panel->left + panel->right) / 2, (panel->top + panel->bottom) / 2,
                       RPS_LOOK_CENTRE, RPS_TEXT_NORMAL, RPS_INK_QUIET, "no data");
    return panel;
}

/* Add the legend of the CPUs. Returns the height of the legend. */
static double add_cpu_legend(struct rps_chart *chart, const struct rps_picture *picture, double top)
{
    int across = (int)((chart->panel[0]->right - 2 * TIME_EDGE) / RPS_PICTURE_LEGEND_ENTRY);

    for (int line = 0; line < picture->line_count && picture->apart; line++) {
        const struct rps_layer like = {.kind = RPS_LAYER_SEGMENTS,
                                       .ink = line_ink(line),
                                       .look = line_look(line),
                                       .weight = 1.8};

        rps_chart_entry(chart, TIME_EDGE + line % across * RPS_PICTURE_LEGEND_ENTRY,
                        top + (line / across + 0.5) * RPS_PICTURE_LEGEND_HEIGHT - 4, &like,
                        line_name(chart, picture, 0, line));
    }
    return rps_picture_legend_rows(picture) * RPS_PICTURE_LEGEND_HEIGHT;
}

/* --- below the panels ------------------------------------------------------------------------- */

/* Add the counted share of time per set, as one faint line: it describes only the measurement. */
static struct rps_panel *add_counted(struct rps_chart *chart, const struct rps_picture *picture,
                                     double bottom)
{
    double top = bottom - RPS_PICTURE_COUNTED_HEIGHT;
    struct rps_panel *panel = rps_picture_panel(chart, picture, top + 16, bottom);
    struct rps_layer *area = rps_chart_layer(chart, panel, RPS_LAYER_BAND, "duty-area",
                                             RPS_INK_VEIL(RPS_INK_QUIET, 200));
    struct rps_layer *line =
        add_layer(chart, panel, &picture->counted, "duty", PART_MEAN, RPS_INK_QUIET);

    line->weight = 0.8;
    for (size_t i = 0; i < line->count; i++)
        rps_chart_shape(chart, area, line->shape[i].x, line->shape[i].y, 0, 0);
    panel->quiet = 1;
    panel->y = (struct rps_scale){.to = 1, .shown = 1};
    rps_chart_tic(chart, &panel->y, 0, "0");
    rps_chart_tic(chart, &panel->y, 1, "100 %");
    rps_chart_text(chart, panel->left, top + 9, RPS_LOOK_PLAIN, RPS_TEXT_SMALL, RPS_INK_QUIET,
                   "Counted: share of the time for which each event set was counted");
    return panel;
}

/* --- the picture ------------------------------------------------------------------------------ */

struct rps_chart *rps_picture_draw_panels(struct rps_picture *picture, const char *remark)
{
    struct rps_chart *chart = rps_picture_chart(picture, remark);
    double bottom =
        chart->panel[0]->bottom - RPS_PICTURE_FOOT - picture->zero_rows * RPS_PICTURE_LEGEND_HEIGHT;
    double counted = picture->counted.count > 0 ? RPS_PICTURE_COUNTED_HEIGHT : 0, top, each;
    double areas = rps_picture_areas_height(&picture->code) + rps_picture_system_height(picture);
    struct rps_picture_overlay overlay;
    struct rps_panel *panel = NULL;

    rps_picture_overlay(chart, picture, &overlay);
    top = RPS_PICTURE_HEAD + add_cpu_legend(chart, picture, RPS_PICTURE_HEAD);
    top = rps_picture_add_rows(chart, picture, &overlay, top);
    each = (bottom - counted - areas - top) / picture->panel_count;
    for (int p = 0; p < picture->panel_count; p++) {
        panel = add_panel(chart, picture, &overlay, p, top + p * each, top + (p + 1) * each);
        add_lines(chart, picture, p, panel);
        rps_chart_share(chart, panel, overlay.marks);
    }
    areas = bottom - counted - areas;
    if (picture->threads.line_count > 0)
        panel = rps_picture_add_areas(chart, picture, &picture->threads, "threads", &overlay,
                                      areas += rps_picture_areas_height(&picture->threads));
    for (int g = 0; g < picture->gauge_count; g++)
        panel = rps_picture_add_gauge(chart, picture, &picture->gauge[g], &overlay,
                                      areas += RPS_PICTURE_GAUGE_HEIGHT);
    if (picture->code.line_count > 0)
        panel = rps_picture_add_areas(chart, picture, &picture->code, "code", &overlay,
                                      bottom - counted);
    if (counted > 0)
        panel = add_counted(chart, picture, bottom);
    rps_picture_x_scale(chart, picture, 1, &panel->x);
    return chart;
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
    return 0;
}

int rps_picture_fill_time(struct rps_picture *picture, struct rps_reader *reader,
                          const struct rps_plot_options *options, struct rps_chart **ret,
                          struct rps_error *err)
{
    if (rps_picture_bin(picture, 0, err) < 0 || rps_picture_read_code(picture, options, err) < 0 ||
        rps_picture_read_system(picture, options, err) < 0 ||
        read_words(picture, reader, options, err) < 0)
        return RPS_FAILED;
    rps_picture_fit(picture, options);
    *ret = rps_picture_draw_panels(picture, "");
    return 0;
}
