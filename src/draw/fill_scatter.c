/*
 * Two metrics against each other (RPS_PLOT_SCATTER), a point a rotation of the event sets.
 *
 * Which two metrics, when nobody says so: those in which the phases lie furthest apart, measured by
 * their spread inside phases. A pair of labels counts at most once, however far apart they are, so
 * that the second metric is one that separates what the first one does not.
 */
#include <math.h>

#include "cloud.h"
#include "rpistat/picture_kinds.h"
#include "rpistat/rotation.h"

#define SCATTER_SHAPE 0.68 /* height of a picture of which only the width is known */
#define SCATTER_LEFT  76
#define SCATTER_FOOT  50
#define SCATTER_HEAD  76

static double clamp(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

/* --- choosing two metrics --------------------------------------------------------------------- */

/* How far figure f tells two labels apart: squared distance of means in units of the spread. */
static double distance(const struct rps_profile *profile, size_t f, int a, int b)
{
    size_t figures = profile->figure_count;
    double gap = profile->mean[(size_t)a * figures + f] - profile->mean[(size_t)b * figures + f];
    double inside = profile->figure[f].inside;

    if (!isfinite(gap) || gap == 0)
        return 0;
    inside = fmax(inside, 1e-3 * fabs(profile->figure[f].whole));
    return inside > 0 ? gap * gap / (inside * inside) : 1e9;
}

static double separation(const struct rps_profile *profile, size_t f, size_t g)
{
    double sum = 0;

    for (int a = 0; a < profile->label_count; a++) {
        for (int b = a + 1; b < profile->label_count; b++) {
            double d = distance(profile, f, a, b) + (f == g ? 0 : distance(profile, g, a, b));
            double weight =
                sqrt((double)profile->label[a].periods) * sqrt((double)profile->label[b].periods);

            sum += weight * d / (d + 16); /* four times the spread: half apart */
        }
    }
    return sum;
}

/* The figures of the profile that are metrics which are looked at, and have a value. */
static int usable(const struct rps_picture *picture, const struct rps_profile *profile, size_t f)
{
    int m = rps_plan_metric(picture->plan, profile->figure[f].name);

    return m >= 0 && picture->chosen[m] && isfinite(profile->figure[f].whole);
}

static void choose_pair(const struct rps_picture *picture, const struct rps_profile *profile,
                        int ret[2])
{
    double best = -1;

    ret[0] = ret[1] = -1;
    for (size_t f = 0; f < profile->figure_count; f++) {
        for (size_t g = f + 1; g < profile->figure_count; g++) {
            double found;

            if (!usable(picture, profile, f) || !usable(picture, profile, g))
                continue;
            found = separation(profile, f, g);
            if (found > best * (1 + 1e-9)) {
                best = found;
                ret[0] = rps_plan_metric(picture->plan, profile->figure[f].name);
                ret[1] = rps_plan_metric(picture->plan, profile->figure[g].name);
            }
        }
    }
}

/* Were all its events counted? */
static int is_measured(const struct rps_plan *plan, const struct rps_metric *metric)
{
    for (int i = 0; i < metric->formula.step_count; i++) {
        int event = metric->formula.step[i].operand - RPS_OPERAND_EVENTS;

        if (metric->formula.step[i].op == RPS_FORMULA_OPERAND && event >= 0 &&
            plan->set[event / RPS_SLOT_MAX].event[event % RPS_SLOT_MAX].state != RPS_EVENT_MEASURED)
            return 0;
    }
    return 1;
}

/* The two that were asked for; without phases the first two; else by the phases. */
static int choose(struct rps_picture *picture, struct rps_reader *reader,
                  const struct rps_plot_options *options, int ret[2], struct rps_error *err)
{
    struct rps_profile profile = {0};

    if (options->metric_count == 2) {
        for (int i = 0; i < 2; i++)
            ret[i] = rps_plan_metric(picture->plan, options->metric[i]);
        return 0;
    }
    ret[0] = ret[1] = -1;
    for (int m = 0; m < picture->plan->metric_count && !picture->has_phases && ret[1] < 0; m++) {
        if (picture->chosen[m] && is_measured(picture->plan, &picture->plan->metric[m]))
            ret[ret[0] >= 0] = m;
    }
    if (picture->has_phases) {
        if (rps_picture_profile(picture, reader, options, &profile, err) < 0)
            return RPS_FAILED;
        choose_pair(picture, &profile, ret);
    }
    if (ret[1] < 0)
        return rps_error_set(err, RPS_FAILED,
                             "run %lld has not two metrics with values to draw against each other",
                             (long long)picture->run.run_id);
    return 0;
}

/* --- points ----------------------------------------------------------------------------------- */

struct gathering {
    const struct rps_picture *picture;
    int metric[2];
    struct rps_cloud cloud;
    struct rps_rotation rotation;
    size_t hint;
    double *operand;
};

static void end_rotation(struct gathering *gathering)
{
    const struct rps_picture *picture = gathering->picture;
    const struct rps_tally *tally = &gathering->rotation.tally;
    double value[2];
    int label = 0;

    if (tally->periods == 0)
        return;
    rps_tally_operands(tally, picture->plan, gathering->operand);
    for (int i = 0; i < 2; i++) {
        const struct rps_formula *formula = &picture->plan->metric[gathering->metric[i]].formula;

        value[i] = rps_tally_carries(tally, formula)
                       ? rps_formula_value(formula, gathering->operand)
                       : NAN;
    }
    if (picture->has_phases)
        label =
            picture->phases
                .phase[rps_picture_phase_of(picture, gathering->rotation.first, &gathering->hint)]
                .label;
    rps_rotation_reset(&gathering->rotation);
    rps_cloud_add(&gathering->cloud, picture->arena, value[0], value[1], label);
}

static int gather_points(const struct rps_picture *picture, const int metric[2],
                         struct rps_cloud *ret, struct rps_error *err)
{
    struct gathering gathering = {.picture = picture, .metric = {metric[0], metric[1]}};
    struct rps_walk walk = rps_picture_walk(picture);
    int result = 0;

    gathering.rotation = rps_rotation_new(picture->arena, picture->plan);
    gathering.operand = rps_arena_get(picture->arena, (size_t)rps_plan_operand_count(picture->plan),
                                      sizeof(*gathering.operand));
    while (rps_walk_next(&walk, &result, err)) {
        if (rps_rotation_ends(&gathering.rotation, walk.period))
            end_rotation(&gathering);
        rps_rotation_add(&gathering.rotation, walk.period);
    }
    if (result == 0)
        end_rotation(&gathering);
    *ret = gathering.cloud;
    return result;
}

/* --- figure ----------------------------------------------------------------------------------- */

/* Of the labels that have points. Without room for all, the letters among the points must do. */
static void add_legend(struct rps_chart *chart, const struct rps_panel *panel)
{
    size_t entries = panel->layer_count;
    double x = panel->right - (double)entries * RPS_PICTURE_LABEL_ENTRY;
    char text[RPS_PHASE_LABEL_SIZE];

    if (x < panel->right - chart->width / chart->scale + 320)
        return;
    for (size_t i = 0; i < entries; i++, x += RPS_PICTURE_LABEL_ENTRY) {
        struct rps_layer like = *panel->layer[i];

        like.weight = 0.8;
        rps_chart_entry(chart, x, panel->top - 13, &like, rps_phase_label(like.shape_of, text));
    }
}

static struct rps_chart *draw_points(struct rps_picture *picture, struct rps_cloud *cloud,
                                     const int metric[2])
{
    double width = picture->width / picture->scale, height = picture->height / picture->scale;
    char text[RPS_PICTURE_TEXT_SIZE], remark[96];
    struct rps_chart *chart;
    struct rps_panel *panel;
    size_t beyond;

    snprintf(remark, sizeof(remark), "%zu points, one a %s", cloud->count,
             picture->cpu_series.resolution > 0 ? "block"
             : picture->plan->set_count > 1     ? "rotation of the event sets"
                                                : "period");
    chart = rps_picture_chart(picture, remark);
    panel = rps_chart_panel(chart, SCATTER_LEFT, width - RPS_PICTURE_RIGHT, SCATTER_HEAD,
                            height - SCATTER_FOOT);
    rps_cloud_scale(chart, cloud->x, cloud->count,
                    (int)clamp((panel->right - panel->left) / 90, 2, 10), 1, &panel->x);
    rps_cloud_scale(chart, cloud->y, cloud->count,
                    (int)clamp((panel->bottom - panel->top) / 50, 2, 8), 1, &panel->y);
    panel->x.label = rps_arena_text(
        picture->arena, rps_picture_metric_title(&picture->plan->metric[metric[0]], text));
    panel->heading = rps_arena_text(
        picture->arena, rps_picture_metric_title(&picture->plan->metric[metric[1]], text));
    beyond = rps_cloud_draw(cloud, chart, panel, picture->has_phases);
    if (picture->has_phases)
        add_legend(chart, panel);
    snprintf(text, sizeof(text), "%zu beyond the axes", beyond);
    if (beyond > 0)
        rps_chart_text(chart, panel->right, panel->top + 9, RPS_LOOK_RIGHT, RPS_TEXT_SMALL,
                       RPS_INK_QUIET, text);
    return chart;
}

int rps_picture_fill_scatter(struct rps_picture *picture, struct rps_reader *reader,
                             const struct rps_plot_options *options, struct rps_chart **ret,
                             struct rps_error *err)
{
    struct rps_cloud cloud = {0};
    int metric[2];

    if (choose(picture, reader, options, metric, err) < 0)
        return RPS_FAILED;
    picture->height = options->height > 0 ? options->height : (int)(SCATTER_SHAPE * picture->width);
    if (gather_points(picture, metric, &cloud, err) < 0)
        return RPS_FAILED;
    if (cloud.count == 0)
        return rps_error_set(err, RPS_FAILED,
                             "no rotation of run %lld has values of both %s and %s",
                             (long long)picture->run.run_id, picture->plan->metric[metric[0]].name,
                             picture->plan->metric[metric[1]].name);
    *ret = draw_points(picture, &cloud, metric);
    return 0;
}
