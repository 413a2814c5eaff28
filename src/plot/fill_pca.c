/* Principal components of a run (RPS_PLOT_PCA). The picture shows the first two components over
 * time, a scatter plot of both, and the contribution of each metric to them. */
#include <math.h>
#include <string.h>

#include "cloud.h"
#include "rpistat/picture.h"
#include "rpistat/plan.h"
#include "rpistat/run_phases.h"

#define PCA_SHAPE    0.75 /* ratio of height to width, if only the width is given */
#define PCA_TIME     0.36 /* share of the height for the panel over time */
#define PCA_LOADINGS 330  /* width of the panel of loadings, in pictures of at least PCA_WIDE */
#define PCA_NAMES    172  /* part of PCA_LOADINGS for the names of metrics */
#define PCA_WIDE     700
#define PCA_ROW      19
#define PCA_BETWEEN  66

/* --- over time -------------------------------------------------------------------------------- */

static double position_of(const struct rps_picture *picture, const struct rps_run_components *found,
                          size_t i)
{
    return picture->axis == RPS_AXIS_CYCLE
               ? (double)found->row[i].cycle
               : (double)(found->row[i].start_ns + found->row[i].end_ns) / 2e9;
}

/* Return a name such as "Component 1 (52 %)". */
static const char *component_name(struct rps_chart *chart, const struct rps_run_components *found,
                                  int component)
{
    return rps_arena_print(chart->arena, "Component %d (%.0f %%)", component + 1,
                           100 * found->components.share[component]);
}

/* Add a component's scores, reduced to columns: mean, smallest and largest score of each column. */
static void add_scores(struct rps_chart *chart, const struct rps_picture *picture,
                       const struct rps_run_components *found, int component,
                       struct rps_layer *band, struct rps_layer *line)
{
    const double *score = &found->components.score[(size_t)component * found->components.count];
    double column = (picture->to - picture->from) / fmax(10, picture->width / 1.5);

    for (size_t begin = 0, end; begin < found->components.count; begin = end) {
        double from = position_of(picture, found, begin), at = 0, sum = 0, least = NAN, most = NAN;
        double known = 0;

        for (end = begin; end < found->components.count; end++) {
            double position = position_of(picture, found, end);

            if (end > begin && position - from >= column)
                break;
            if (!isfinite(score[end]))
                continue;
            known++;
            at += position;
            sum += score[end];
            least = fmin(least, score[end]);
            most = fmax(most, score[end]);
        }
        rps_chart_shape(chart, band, at / known, least, 0, most); /* NaN if no value is known */
        rps_chart_shape(chart, line, at / known, sum / known, 0, 0);
    }
}

static void add_time(struct rps_chart *chart, const struct rps_picture *picture,
                     const struct rps_run_components *found, const struct rps_picture_overlay *over,
                     struct rps_panel *panel, const struct rps_panel *points)
{
    struct rps_picture_axis y =
        rps_picture_axis(fmin(points->x.from, points->y.from), fmax(points->x.to, points->y.to), 6);
    struct rps_layer *layer[2][2];

    rps_picture_x_scale(chart, picture, 1, &panel->x);
    rps_picture_scale(chart, &y, &panel->y);
    rps_picture_shade(chart, panel, over);
    for (unsigned kind = 0; kind < 2; kind++) {
        for (unsigned c = 0; c < 2; c++) {
            layer[kind][c] = rps_chart_layer(
                chart, panel, kind ? RPS_LAYER_LINE : RPS_LAYER_BAND,
                rps_arena_print(chart->arena, "component-%u%s", c + 1, kind ? "" : "-band"),
                RPS_INK_VEIL(RPS_INK_LINE + c, kind ? 0 : 160));
            layer[kind][c]->weight = 1.5;
        }
    }
    for (int c = 0; c < 2; c++) {
        layer[1][c]->name = component_name(chart, found, c);
        add_scores(chart, picture, found, c, layer[0][c], layer[1][c]);
    }
    rps_chart_share(chart, panel, over->marks);
}

/* --- points and loadings ---------------------------------------------------------------------- */

static void add_points(struct rps_chart *chart, const struct rps_picture *picture,
                       const struct rps_run_components *found, struct rps_panel *panel)
{
    const struct rps_components *components = &found->components;
    struct rps_cloud cloud = {0};
    char text[64];
    size_t beyond;

    for (size_t i = 0; i < components->count; i++) {
        int64_t middle_ns = (found->row[i].start_ns + found->row[i].end_ns) / 2;
        int label = picture->has_phases
                        ? picture->phases.phase[rps_picture_phase_at(picture, middle_ns)].label
                        : 0;

        rps_cloud_add(&cloud, chart->arena, components->score[i],
                      components->score[components->count + i], label);
    }
    rps_cloud_scale(chart, cloud.x, cloud.count, panel->right - panel->left > 300 ? 6 : 3, 0,
                    &panel->x);
    rps_cloud_scale(chart, cloud.y, cloud.count, panel->bottom - panel->top > 200 ? 5 : 3, 0,
                    &panel->y);
    panel->x.label = component_name(chart, found, 0);
    panel->heading = component_name(chart, found, 1);
    beyond = rps_cloud_draw(&cloud, chart, panel, picture->has_phases);
    snprintf(text, sizeof(text), "%zu beyond the axes", beyond);
    if (beyond > 0)
        rps_chart_text(chart, panel->right, panel->top - 12, RPS_LOOK_RIGHT, RPS_TEXT_SMALL,
                       RPS_INK_QUIET, text);
}

/* Return the contribution of a metric to both components together. */
static double part_of(const struct rps_components *components, size_t signal)
{
    double sum = 0;

    for (size_t c = 0; c < 2; c++) {
        double loading = components->loading[c * components->signal_count + signal];

        sum += loading * loading * components->share[c];
    }
    return sum;
}

/* Choose the `count` metrics with the largest contributions, largest first. */
static void choose_signals(const struct rps_components *components, size_t *ret, int count)
{
    for (int k = 0; k < count; k++) {
        size_t best = SIZE_MAX;

        for (size_t s = 0; s < components->signal_count; s++) {
            int taken = 0;

            for (int i = 0; i < k; i++)
                taken |= ret[i] == s;
            if (!taken && (best == SIZE_MAX || part_of(components, s) > part_of(components, best)))
                best = s;
        }
        ret[k] = best;
    }
}

/* Add the contributions of as many metrics as fit. Each metric has two bars, one per component. */
static void add_loadings(struct rps_chart *chart, const struct rps_picture *picture,
                         const struct rps_run_components *found, double left, double right,
                         double top, double bottom)
{
    const struct rps_components *components = &found->components;
    int most = (int)((bottom - top) / PCA_ROW);
    int count = most < (int)components->signal_count ? most : (int)components->signal_count;
    size_t *signal = rps_arena_get(chart->arena, (size_t)count + 1, sizeof(*signal));
    struct rps_panel *panel =
        rps_chart_panel(chart, left, right, top, top + (double)count * PCA_ROW);
    char text[RPS_PICTURE_TEXT_SIZE];

    panel->x = (struct rps_scale){.from = -1, .to = 1};
    panel->y = (struct rps_scale){.from = count};
    choose_signals(components, signal, count);
    for (unsigned c = 0; c < 2; c++) {
        struct rps_layer *bars = rps_chart_layer(chart, panel, RPS_LAYER_BOXES,
                                                 c ? "loading-2" : "loading-1", RPS_INK_LINE + c);

        for (int k = 0; k < count; k++)
            rps_chart_shape(chart, bars, 0, k + (c ? 0.5 : 0.12),
                            components->loading[c * components->signal_count + signal[k]],
                            k + (c ? 0.88 : 0.5));
    }
    rps_chart_shape(chart, rps_chart_layer(chart, panel, RPS_LAYER_RULES, "nought", RPS_INK_AXIS),
                    0, 0, 0, 0);
    rps_chart_text(chart, right, top - 12, RPS_LOOK_RIGHT, RPS_TEXT_NORMAL, RPS_INK_TEXT,
                   "Correlation with the components");
    for (int k = 0; k < count; k++) {
        const char *name = found->name[signal[k]];
        int m = rps_plan_metric(picture->plan, name);

        snprintf(text, sizeof(text), "%s",
                 m >= 0                         ? picture->plan->metric[m].label
                 : strcmp(name, "cpu_use") == 0 ? "CPU use"
                                                : name);
        rps_picture_cut_text(text, 22);
        rps_chart_text(chart, left - 8, top + (k + 0.5) * PCA_ROW, RPS_LOOK_RIGHT, RPS_TEXT_NORMAL,
                       RPS_INK_TEXT, text);
    }
}

static struct rps_chart *draw_found(struct rps_picture *picture,
                                    const struct rps_run_components *found)
{
    double right = picture->width / picture->scale - picture->right;
    double bottom = picture->height / picture->scale - RPS_PICTURE_FOOT;
    int wide = picture->width / picture->scale >= PCA_WIDE;
    struct rps_picture_overlay overlay;
    struct rps_panel *time, *points;
    struct rps_chart *chart;
    char remark[96];
    double top, floor;

    snprintf(remark, sizeof(remark),
             "principal components of %zu metrics, with their share of the variance",
             found->components.signal_count);
    chart = rps_picture_chart(picture, remark);
    rps_picture_overlay(chart, picture, &overlay);
    top = rps_picture_add_rows(chart, picture, &overlay, RPS_PICTURE_HEAD) +
          RPS_PICTURE_LEGEND_HEIGHT;
    floor = top + PCA_TIME * (bottom + RPS_PICTURE_FOOT - top);
    time = rps_picture_panel(chart, picture, top + 4, floor);
    top = floor + PCA_BETWEEN;
    points = rps_chart_panel(chart, picture->left, right - (wide ? PCA_LOADINGS : 0), top,
                             fmax(top + 20, bottom));
    add_points(chart, picture, found, points);
    add_time(chart, picture, found, &overlay, time, points);
    if (wide)
        add_loadings(chart, picture, found, points->right + PCA_NAMES, right, top, points->bottom);
    return chart;
}

int rps_picture_fill_pca(struct rps_picture *picture, struct rps_reader *reader,
                         const struct rps_plot_options *options, struct rps_chart **ret,
                         struct rps_error *err)
{
    const struct rps_run_phases_options wanted = {
        .from_ns = options->from_ns,
        .to_ns = options->to_ns,
        .cpus = options->cpus,
        .metric = options->metric,
        .metric_count = options->metric_count,
    };
    const struct rps_run_at at = {reader, picture->run.run_id};
    struct rps_run_components found;

    if (rps_run_components_find(picture->arena, &at, &wanted, 2, &found, err) < 0)
        return RPS_FAILED;
    picture->height =
        options->height > 0 ? options->height : (int)(PCA_SHAPE * (double)picture->width);
    if (found.components.component_count < 2)
        return rps_error_set(err, RPS_FAILED,
                             "the metrics of run %lld all change together, so there are not two "
                             "components to draw; choose another --kind",
                             (long long)picture->run.run_id);
    *ret = draw_found(picture, &found);
    return 0;
}
