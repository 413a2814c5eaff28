/* Clouds of points: reduced to the resolution of a picture. */
#include "cloud.h"

#include <math.h>
#include <stdlib.h>

#include "rpistat/arena.h"

#define CLOUD_CELL_PX          3.0   /* size of a cell; many points in it become one dot */
#define CLOUD_POINTS_THRESHOLD 3000  /* maximum number of points that are drawn one by one */
#define CLOUD_SAMPLE           20000 /* number of points from which an axis is chosen */
#define CLOUD_FAR              0.005 /* maximum share of points outside the axis */
#define CLOUD_FAR_TIMES        1.5   /* distance of far points, as a multiple of the range */
#define CLOUD_SKEWED           20 /* minimum ratio of largest to middle value to use logarithms */
#define CLOUD_DECADES          6
#define CLOUD_POINT_FAINT      64  /* transparency (of 255) of a point if there are few points */
#define CLOUD_FAINT            150 /* transparency (of 255) of a point if there are many points */

void rps_cloud_add(struct rps_cloud *cloud, struct rps_arena *arena, double x, double y, int label)
{
    if (!isfinite(x) || !isfinite(y))
        return;
    cloud->x = rps_arena_grow(arena, cloud->x, cloud->count, sizeof(*cloud->x));
    cloud->y = rps_arena_grow(arena, cloud->y, cloud->count, sizeof(*cloud->y));
    cloud->label = rps_arena_grow(arena, cloud->label, cloud->count, sizeof(*cloud->label));
    cloud->x[cloud->count] = (float)x;
    cloud->y[cloud->count] = (float)y;
    cloud->label[cloud->count++] = (uint16_t)label;
}

RPS_ARRAY_ORDER(compare_floats, float, )

static struct rps_picture_axis linear_axis(struct rps_arena *arena, const float *values,
                                           size_t count, int tics)
{
    size_t step = count / CLOUD_SAMPLE + 1, sampled = 0, far;
    float *sample = rps_arena_get(arena, count / step + 1, sizeof(*sample));
    double least = INFINITY, most = -INFINITY, low, high, room;

    for (size_t i = 0; i < count; i++) {
        double value = (double)values[i];

        /* no fmin() and fmax(): gcc 12 for arm64 fails with an internal error (-O3) */
        least = value < least ? value : least;
        most = value > most ? value : most;
        if (i % step == 0)
            sample[sampled++] = values[i];
    }
    if (sampled > 0) {
        qsort(sample, sampled, sizeof(*sample), compare_floats);
        far = (size_t)(CLOUD_FAR * (double)sampled);
        low = sample[far];
        high = sample[sampled - 1 - far];
        room = CLOUD_FAR_TIMES * (high - low);
        if (least < low - room)
            least = low;
        if (most > high + room)
            most = high;
    }
    if (least > 0 && least < 0.4 * most)
        least = 0;
    return rps_picture_axis(least, most, tics);
}

/* Replace the values by their decimal logarithms, if otherwise nearly all values would be at one
 * end of the axis. Values below the decades that are drawn move to the lower end. */
static int take_log(struct rps_arena *arena, float *values, size_t count)
{
    size_t step = count / CLOUD_SAMPLE + 1, sampled = 0;
    float *sample = rps_arena_get(arena, count / step + 1, sizeof(*sample));
    int skewed = 0;

    for (size_t i = 0; i < count; i += step)
        sample[sampled++] = values[i];
    if (sampled > 0) {
        double middle, high;

        qsort(sample, sampled, sizeof(*sample), compare_floats);
        middle = (double)sample[sampled / 2];
        high = (double)sample[sampled - 1 - (size_t)(CLOUD_FAR * (double)sampled)];
        skewed = sample[0] >= 0 && high > 0 && middle < high / CLOUD_SKEWED;
        for (size_t i = 0; skewed && i < count; i++)
            values[i] = (float)fmax(log10((double)values[i]), ceil(log10(high)) - CLOUD_DECADES);
    }
    return skewed;
}

/* Choose a logarithmic axis. Each decade has a label, or only some decades if there is little
 * space. Zero is drawn at the lower end of the axis. */
static void log_scale(struct rps_chart *chart, const float *values, size_t count, int tics,
                      struct rps_scale *ret)
{
    double from = INFINITY, to = -INFINITY, step;
    char text[RPS_PICTURE_TIC_SIZE];

    for (size_t i = 0; i < count; i++) {
        double low = floor((double)values[i] + 1e-6), high = ceil((double)values[i] - 1e-6);

        /* no fmin() and fmax(): gcc 12 for arm64 fails with an internal error (-O3) */
        from = low < from ? low : from;
        to = high > to ? high : to;
    }
    if (to <= from)
        to = from + 1;
    *ret = (struct rps_scale){.from = from, .to = to, .shown = 1};
    step = ceil((to - from) / tics);
    for (double at = step * ceil(from / step); at <= to; at += step) {
        snprintf(text, sizeof(text), "%s%g%s", at <= from ? "≤" : "",
                 pow(10, at >= 9   ? at - 9
                         : at >= 6 ? at - 6
                         : at >= 4 ? at - 3
                                   : at),
                 at >= 9   ? " G"
                 : at >= 6 ? " M"
                 : at >= 4 ? " k"
                           : "");
        rps_chart_tic(chart, ret, at, text);
    }
}

void rps_cloud_scale(struct rps_chart *chart, float *values, size_t count, int tics, int may_log,
                     struct rps_scale *ret)
{
    struct rps_picture_axis axis;

    if (may_log && take_log(chart->arena, values, count)) {
        log_scale(chart, values, count, tics, ret);
        return;
    }
    axis = linear_axis(chart->arena, values, count, tics);
    rps_picture_scale(chart, &axis, ret);
}

/* --- reduction -------------------------------------------------------------------------------- */

/* The points of one label within a cell. */
struct dot {
    uint32_t cell;
    uint16_t label;
    float x, y;
};

static int compare_dots(const void *a, const void *b)
{
    const struct dot *p = a, *q = b;

    if (p->label != q->label)
        return p->label < q->label ? -1 : 1;
    if (p->cell != q->cell)
        return p->cell < q->cell ? -1 : 1;
    if (p->x < q->x || p->x > q->x)
        return p->x < q->x ? -1 : 1;
    return (p->y > q->y) - (p->y < q->y);
}

/* Return the points inside the panel's axes, by label and cell. */
static struct dot *make_dots(const struct rps_cloud *cloud, const struct rps_chart *chart,
                             const struct rps_panel *panel, size_t *ret_count)
{
    const struct rps_scale *x = &panel->x, *y = &panel->y;
    double columns = fmax(1, (panel->right - panel->left) * chart->scale / CLOUD_CELL_PX);
    double rows = fmax(1, (panel->bottom - panel->top) * chart->scale / CLOUD_CELL_PX);
    struct dot *dot = rps_arena_get(chart->arena, cloud->count, sizeof(*dot));
    size_t count = 0;

    for (size_t i = 0; i < cloud->count; i++) {
        double column = ((double)cloud->x[i] - x->from) / (x->to - x->from);
        double row = ((double)cloud->y[i] - y->from) / (y->to - y->from);

        if (column < -1e-6 || column > 1 + 1e-6 || row < -1e-6 || row > 1 + 1e-6)
            continue;
        dot[count++] = (struct dot){
            .cell = (uint32_t)(fmax(0, row) * rows) * (uint32_t)(columns + 1) +
                    (uint32_t)(fmax(0, column) * columns),
            .label = cloud->label[i],
            .x = cloud->x[i],
            .y = cloud->y[i],
        };
    }
    qsort(dot, count, sizeof(*dot), compare_dots);
    *ret_count = count;
    return dot;
}

/* Draw the dots of one label in one cell as one point, or one by one if there are few in total. */
static void add_cell(struct rps_chart *chart, struct rps_layer *layer, const struct dot *dot,
                     size_t count, int few)
{
    rps_ink ink =
        RPS_INK_VEIL(RPS_INK_POINT + dot->label,
                     few ? CLOUD_POINT_FAINT : fmax(0, CLOUD_FAINT - 50 * log10((double)count)));
    double x = 0, y = 0;

    for (size_t i = 0; i < count; i++) {
        x += (double)dot[i].x / (double)count;
        y += (double)dot[i].y / (double)count;
        if (few)
            rps_chart_shape(chart, layer, (double)dot[i].x, (double)dot[i].y, 0, 0)->ink = ink;
    }
    if (!few)
        rps_chart_shape(chart, layer, x, y, 0, 0)->ink = ink;
}

/* Put the name of a label where its points are dense: at the median of each coordinate. */
static void add_name(struct rps_chart *chart, struct rps_panel *panel, const struct dot *dot,
                     size_t count)
{
    float *sorted = rps_arena_get(chart->arena, count, sizeof(*sorted));
    char text[RPS_PHASE_LABEL_SIZE];
    double middle[2];

    for (int axis = 0; axis < 2; axis++) {
        for (size_t i = 0; i < count; i++)
            sorted[i] = axis ? dot[i].y : dot[i].x;
        qsort(sorted, count, sizeof(*sorted), compare_floats);
        middle[axis] = (double)sorted[count / 2];
    }
    rps_chart_label(chart, panel, middle[0], middle[1], RPS_LOOK_BESIDE, RPS_INK_TEXT,
                    rps_phase_label(dot->label, text));
}

size_t rps_cloud_draw(const struct rps_cloud *cloud, struct rps_chart *chart,
                      struct rps_panel *panel, int named)
{
    size_t count = 0;
    struct dot *dot = make_dots(cloud, chart, panel, &count);
    int few = count <= CLOUD_POINTS_THRESHOLD;

    for (size_t begin = 0, end; begin < count; begin = end) {
        struct rps_layer *layer =
            rps_chart_layer(chart, panel, RPS_LAYER_POINTS,
                            rps_arena_print(chart->arena, "points-%d", dot[begin].label),
                            RPS_INK_POINT + dot[begin].label);

        layer->each = 1;
        layer->shape_of = dot[begin].label;
        layer->weight = few ? 0.8 : 0.5;
        for (end = begin + 1; end < count && dot[end].label == dot[begin].label;)
            end++;
        for (size_t from = begin, to; from < end; from = to) {
            for (to = from + 1; to < end && dot[to].cell == dot[from].cell;)
                to++;
            add_cell(chart, layer, &dot[from], to - from, few);
        }
        if (named)
            add_name(chart, panel, &dot[begin], end - begin);
    }
    return cloud->count - count;
}
