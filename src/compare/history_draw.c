/* The picture of a history: a panel per metric, with a point per run and a line per level. */
#include <math.h>

#include "rpistat/history.h"
#include "rpistat/picture.h"

#define PANEL_MAX    8
#define PANEL_HEIGHT 150
#define WIDTH        1200

/* Add the layers of a metric. The y axis covers all values. */
static void fill_panel(struct rps_chart *chart, const struct rps_history *history,
                       const struct rps_history_metric *metric, struct rps_panel *panel)
{
    struct rps_layer *points =
        rps_chart_layer(chart, panel, RPS_LAYER_POINTS, NULL, RPS_INK_LINE + 0);
    struct rps_layer *outliers =
        rps_chart_layer(chart, panel, RPS_LAYER_POINTS, NULL, RPS_INK_LINE + 1);
    struct rps_layer *levels =
        rps_chart_layer(chart, panel, RPS_LAYER_SEGMENTS, NULL, RPS_INK_TEXT);
    double low = INFINITY, high = -INFINITY;
    struct rps_picture_axis axis;

    points->weight = outliers->weight = .5;
    outliers->shape_of = 1;
    levels->weight = 1.5;
    for (size_t r = 0; r < history->run_count; r++) {
        double value = metric->step[r].value;

        if (!isfinite(value))
            continue;
        rps_chart_shape(chart, metric->step[r].is_outlier ? outliers : points, (double)r + 1, value,
                        0, 0);
        low = fmin(low, value);
        high = fmax(high, value);
    }
    for (size_t k = 0; k < metric->level_count; k++)
        rps_chart_shape(chart, levels, (double)metric->level[k].first + .6,
                        metric->level[k].change.b, (double)metric->level[k + 1].first + .4,
                        metric->level[k].change.b);
    axis = rps_picture_axis(low, fmax(high, low + .01 * fabs(low)), 4);
    rps_picture_scale(chart, &axis, &panel->y);
}

struct rps_chart *rps_history_chart(const struct rps_history *history)
{
    size_t count = history->metric_count < PANEL_MAX ? history->metric_count : PANEL_MAX;
    struct rps_picture frame = {.arena = history->arena,
                                .palette = rps_palette(RPS_THEME_LIGHT),
                                .width = WIDTH,
                                .scale = 1,
                                .left = RPS_PICTURE_LEFT,
                                .right = RPS_PICTURE_RIGHT};
    struct rps_picture_axis places =
        rps_picture_axis(0, (double)history->run_count + 1, WIDTH / 100);
    const char *label = count < history->metric_count
                            ? "Run, in order of time (not all metrics are drawn)"
                            : "Run, in order of time";
    struct rps_chart *chart;
    struct rps_panel *panel = NULL;

    frame.height = RPS_PICTURE_HEAD + (int)count * PANEL_HEIGHT + RPS_PICTURE_FOOT;
    chart = rps_picture_titled_chart(&frame, history->name, rps_history_answer(history));
    for (size_t m = 0; m < count; m++) {
        const struct rps_comparison_figure *is = &history->metric[m].is;
        double top = RPS_PICTURE_HEAD + (double)m * PANEL_HEIGHT;

        panel = rps_picture_panel(chart, &frame, top + RPS_PICTURE_HEADING,
                                  top + PANEL_HEIGHT - RPS_PICTURE_FLOOR);
        panel->heading = rps_arena_print(history->arena, is->unit[0] ? "%s (%s)" : "%s",
                                         is->label[0] ? is->label : is->name, is->unit);
        rps_picture_scale(chart, &places, &panel->x);
        panel->x.from = 0;
        panel->x.to = (double)history->run_count + 1;
        for (size_t i = 0; i < panel->x.tic_count; i++) {
            double at = panel->x.tic[i].at;
            int is_run = at >= 1 && at <= (double)history->run_count && at == floor(at);

            panel->x.tic[i].text =
                m + 1 == count && is_run
                    ? rps_arena_print(history->arena, "%lld",
                                      (long long)history->run[(size_t)at - 1].run.run_id)
                    : "";
        }
        panel->x.label = m + 1 == count ? label : NULL;
        fill_panel(chart, history, &history->metric[m], panel);
    }
    return chart;
}
