/* A scatter plot of two metrics (RPS_PLOT_SCATTER), with one point per rotation of the event sets.
 * By default, these are the metrics that distinguish the phases best, found in one reading. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cloud.h"
#include "rpistat/arena.h"
#include "rpistat/formula.h"
#include "rpistat/picture.h"
#include "rpistat/plan.h"
#include "rpistat/rotation.h"

#define SCATTER_SHAPE 0.68 /* ratio of height to width, if only the width is given */
#define SCATTER_LEFT  76
#define SCATTER_FOOT  50
#define SCATTER_HEAD  76

/* Maximum points of one CPU: those of 10 million rotations with 60 metrics would take 2.4 GB. */
#define POINTS_MAX (1 << 18)

static double clamp(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

/* --- points ----------------------------------------------------------------------------------- */

/* Return 1 if all events of the metric were counted. */
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

struct gathering {
    const struct rps_picture *picture;
    int *metric; /* metrics for which points are gathered, as indexes into the plan */
    struct rps_scatter_points points;
    struct rps_rotation rotation;
    size_t hint;
    int shift;       /* log2 of the number of rotations per block */
    uint64_t stride; /* only every stride-th block becomes a point */
    double *operand;
};

static void end_rotation(struct gathering *gathering)
{
    const struct rps_picture *picture = gathering->picture;
    const struct rps_tally *tally = &gathering->rotation.tally;
    struct rps_scatter_points *points = &gathering->points;
    float *value;
    int label = 0;

    if (tally->periods == 0 ||
        (gathering->rotation.number >> gathering->shift) % gathering->stride) {
        rps_rotation_reset(&gathering->rotation);
        return;
    }
    rps_tally_operands(tally, picture->plan, gathering->operand);
    points->value = rps_arena_grow(picture->arena, points->value, points->count,
                                   points->metric_count * sizeof(*value));
    points->label =
        rps_arena_grow(picture->arena, points->label, points->count, sizeof(*points->label));
    value = &points->value[points->count * points->metric_count];
    for (size_t m = 0; m < points->metric_count; m++) {
        const struct rps_formula *formula = &picture->plan->metric[gathering->metric[m]].formula;

        value[m] = rps_tally_carries(tally, formula)
                       ? (float)rps_formula_value(formula, gathering->operand)
                       : NAN;
    }
    if (picture->has_phases)
        label =
            picture->phases
                .phase[rps_picture_phase_of(picture, gathering->rotation.first, &gathering->hint)]
                .label;
    points->label[points->count++] = (uint16_t)label;
    rps_rotation_reset(&gathering->rotation);
}

/* List the metrics that may be axes: the requested ones, or all that are chosen and measured. */
static void list_metrics(struct gathering *gathering, const struct rps_plot_options *options)
{
    const struct rps_picture *picture = gathering->picture;
    const struct rps_plan *plan = picture->plan;

    gathering->metric =
        rps_arena_get(picture->arena, (size_t)plan->metric_count + 2, sizeof(*gathering->metric));
    for (int i = 0; i < 2 && options->metric_count == 2; i++)
        gathering->metric[gathering->points.metric_count++] =
            rps_plan_metric(plan, options->metric[i]);
    for (int m = 0; m < plan->metric_count && options->metric_count != 2; m++) {
        if (picture->chosen[m] && is_measured(plan, &plan->metric[m]))
            gathering->metric[gathering->points.metric_count++] = m;
    }
}

static int gather_points(struct gathering *gathering, struct rps_error *err)
{
    const struct rps_picture *picture = gathering->picture;
    const struct rps_cpu_series *series = &picture->cpu_series;
    struct rps_walk walk = rps_picture_walk(picture);
    int result = 0;

    gathering->shift = RPS_LEVEL_BITS * series->resolution;
    gathering->stride =
        ((series->last_rotation - series->first_rotation) >> gathering->shift) / POINTS_MAX + 1;
    gathering->rotation = rps_rotation_new(picture->arena, picture->plan);
    gathering->rotation.least_ns =
        rps_rotation_least_ns(&picture->run, picture->plan->set_count, picture->plan->set_count);
    gathering->operand = rps_arena_get(
        picture->arena, (size_t)rps_plan_operand_count(picture->plan), sizeof(*gathering->operand));
    while (rps_walk_next(&walk, &result, err)) {
        if (rps_rotation_ends(&gathering->rotation, walk.period))
            end_rotation(gathering);
        rps_rotation_add(&gathering->rotation, walk.period);
    }
    if (result == 0)
        end_rotation(gathering);
    return result;
}

/* Choose two of the gathered metrics, by number: the requested ones, those that distinguish the
 * phases best, or the first two if none do. Returns RPS_FAILED for fewer than two metrics. */
static int choose(const struct gathering *gathering, const struct rps_plot_options *options,
                  int ret[2], struct rps_error *err)
{
    const struct rps_picture *picture = gathering->picture;

    ret[0] = ret[1] = -1;
    if (picture->has_phases && options->metric_count != 2)
        rps_scatter_choose_axes(&gathering->points, ret);
    for (int m = 0; m < (int)gathering->points.metric_count && ret[1] < 0; m++) {
        if (m != ret[0])
            ret[ret[0] >= 0] = m;
    }
    if (ret[1] < 0)
        return rps_error_set(err, RPS_FAILED,
                             "run %lld has no two metrics with values; choose another --kind",
                             (long long)picture->run.run_id);
    return 0;
}

/* --- figure ----------------------------------------------------------------------------------- */

/* Add the legend of labels with points. If it does not fit, letters among the points replace it. */
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
                                     const int metric[2], uint64_t stride)
{
    double width = picture->width / picture->scale, height = picture->height / picture->scale;
    char text[RPS_PICTURE_TEXT_SIZE], remark[96];
    struct rps_chart *chart;
    struct rps_panel *panel;
    size_t beyond;

    snprintf(remark, sizeof(remark), "%zu points, one per %s", cloud->count,
             picture->cpu_series.resolution > 0 ? "block"
             : picture->plan->set_count > 1     ? "rotation of the event sets"
                                                : "period");
    if (stride > 1)
        snprintf(remark + strlen(remark), sizeof(remark) - strlen(remark),
                 "; 1 in %" PRIu64 " drawn", stride);
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
    struct gathering gathering = {.picture = picture};
    const struct rps_scatter_points *points = &gathering.points;
    struct rps_cloud cloud = {0};
    int axis[2], metric[2];

    (void)reader;
    list_metrics(&gathering, options);
    if (gather_points(&gathering, err) < 0 || choose(&gathering, options, axis, err) < 0)
        return RPS_FAILED;
    for (int i = 0; i < 2; i++)
        metric[i] = gathering.metric[axis[i]];
    for (size_t i = 0; i < points->count; i++)
        rps_cloud_add(&cloud, picture->arena,
                      (double)points->value[i * points->metric_count + (size_t)axis[0]],
                      (double)points->value[i * points->metric_count + (size_t)axis[1]],
                      points->label[i]);
    picture->height = options->height > 0 ? options->height : (int)(SCATTER_SHAPE * picture->width);
    if (cloud.count == 0)
        return rps_error_set(
            err, RPS_FAILED,
            "no rotation of run %lld has values of both %s and %s; choose two others with --metric",
            (long long)picture->run.run_id, picture->plan->metric[metric[0]].name,
            picture->plan->metric[metric[1]].name);
    *ret = draw_points(picture, &cloud, metric, gathering.stride);
    return 0;
}

/* The choice of the axes of a scatter plot. The quality of a metric is the share of the variance of
 * its ranks that is between the labels: Kruskal and Wallis' H / (n - 1), adjusted for the number of
 * labels like R^2. Ranks are used since the rate of a rare event is usually 0, and occasionally a
 * hundred. A metric that has the same value at more than half of the points is useless. */

#define SAME_VALUE_MAX .5 /* maximum share of points with the same value */
#define LIKE_FIRST     .5 /* reduction in quality of a metric that orders labels like the first */

struct ranked {
    float value;
    uint16_t label;
};

struct axis {
    double explained;    /* share of variance that the labels explain, from 0 to 1 */
    double *rank, *size; /* each label's mean rank minus the middle rank, and number of points */
};

RPS_ARRAY_ORDER(compare_values, struct ranked, .value)

/* Add the ranks of sorted points to their labels. Points with equal values share their middle rank.
 * Returns the sum of squared ranks. *ret_same is the largest number of points with one value. */
static double add_ranks(const struct ranked *sorted, size_t count, struct axis *axis,
                        size_t *ret_same)
{
    double squares = 0;

    *ret_same = 0;
    for (size_t first = 0, next; first < count; first = next) {
        double rank;

        for (next = first + 1; next < count && sorted[next].value <= sorted[first].value;)
            next++;
        rank = (double)(first + next) / 2 - (double)count / 2;
        *ret_same = next - first > *ret_same ? next - first : *ret_same;
        for (size_t i = first; i < next; i++) {
            axis->rank[sorted[i].label] += rank;
            axis->size[sorted[i].label]++;
        }
        squares += rank * rank * (double)(next - first);
    }
    return squares;
}

static struct axis rank_metric(struct rps_arena *arena, const struct rps_scatter_points *points,
                               size_t metric, size_t labels)
{
    struct axis axis = {0, rps_arena_get(arena, labels, sizeof(*axis.rank)),
                        rps_arena_get(arena, labels, sizeof(*axis.size))};
    struct ranked *sorted = rps_arena_get(arena, points->count, sizeof(*sorted));
    double between = 0, used = 0, all, n;
    size_t count = 0, same;

    for (size_t i = 0; i < points->count; i++) {
        const float value = points->value[i * points->metric_count + metric];

        if (isfinite(value))
            sorted[count++] = (struct ranked){value, points->label[i]};
    }
    if (count == 0)
        return axis;
    qsort(sorted, count, sizeof(*sorted), compare_values);
    all = add_ranks(sorted, count, &axis, &same);
    for (size_t l = 0; l < labels; l++) {
        if (axis.size[l] == 0)
            continue;
        axis.rank[l] /= axis.size[l];
        between += axis.size[l] * axis.rank[l] * axis.rank[l];
        used++;
    }
    n = (double)count;
    if ((double)same <= SAME_VALUE_MAX * n && n > used && all > 0)
        axis.explained = fmax(0, 1 - (1 - between / all) * (n - 1) / (n - used));
    return axis;
}

/* Return the squared correlation of the labels' mean ranks in two metrics. */
static double likeness(const struct axis *a, const struct axis *b, size_t labels)
{
    double xx = 0, yy = 0, xy = 0;

    for (size_t l = 0; l < labels; l++) {
        xx += a->size[l] * a->rank[l] * a->rank[l];
        yy += a->size[l] * b->rank[l] * b->rank[l];
        xy += a->size[l] * a->rank[l] * b->rank[l];
    }
    return xx > 0 && yy > 0 ? xy * xy / (xx * yy) : 0;
}

void rps_scatter_choose_axes(const struct rps_scatter_points *points, int ret[2])
{
    struct rps_arena *scratch = rps_arena_new();
    struct axis *axis = rps_arena_get(scratch, points->metric_count, sizeof(*axis));
    double most[2] = {0, 0};
    size_t labels = 0;

    for (size_t i = 0; i < points->count; i++)
        labels = points->label[i] >= labels ? (size_t)points->label[i] + 1 : labels;
    ret[0] = ret[1] = -1;
    for (size_t m = 0; m < points->metric_count; m++) {
        axis[m] = rank_metric(scratch, points, m, labels);
        if (axis[m].explained > most[0]) {
            most[0] = axis[m].explained;
            ret[0] = (int)m;
        }
    }
    for (size_t m = 0; m < points->metric_count && ret[0] >= 0; m++) {
        double gain =
            axis[m].explained * (1 - LIKE_FIRST * likeness(&axis[ret[0]], &axis[m], labels));

        if ((int)m != ret[0] && gain > most[1]) {
            most[1] = gain;
            ret[1] = (int)m;
        }
    }
    rps_arena_free(scratch);
}
