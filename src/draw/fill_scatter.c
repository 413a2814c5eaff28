/*
 * Pictures of points: two metrics against each other (RPS_PLOT_SCATTER), and the two first
 * principal components (RPS_PLOT_PCA), in which the arrows of the metrics and the way over time are
 * drawn too.
 *
 * Which two metrics, when nobody says so: those in which the phases lie furthest apart, measured by
 * their spread inside phases. A pair of labels counts at most once, however far apart they are, so
 * that the second metric is one that separates what the first one does not.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cloud.h"
#include "rpistat/picture_kinds.h"
#include "rpistat/run_phases.h"
#include "rpistat/rotation.h"

#define SCATTER_SHAPE    0.68 /* height of a picture of which only the width is known */
#define SCATTER_LEFT     76
#define SCATTER_FOOT     50
#define SCATTER_HEAD     76
#define SCATTER_LOADINGS 12 /* metrics whose part in the components is drawn */

static double clamp(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

static void choose_height(struct rps_picture *picture, const struct rps_plot_options *options)
{
    picture->height = options->height > 0 ? options->height : (int)(SCATTER_SHAPE * picture->width);
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

static int metric_of(const struct rps_picture *picture, const char *name)
{
    for (int m = 0; m < picture->plan->metric_count; m++) {
        if (strcmp(picture->plan->metric[m].name, name) == 0)
            return m;
    }
    return -1;
}

/* The figures of the profile that are metrics which are looked at, and have a value. */
static int usable(const struct rps_picture *picture, const struct rps_profile *profile, size_t f)
{
    int m = metric_of(picture, profile->figure[f].name);

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
                ret[0] = metric_of(picture, profile->figure[f].name);
                ret[1] = metric_of(picture, profile->figure[g].name);
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
            ret[i] = metric_of(picture, options->metric[i]);
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
        rps_profile_free(&profile);
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
    double *operand; /* owned */
};

static int end_rotation(struct gathering *gathering, struct rps_error *err)
{
    const struct rps_picture *picture = gathering->picture;
    const struct rps_tally *tally = &gathering->rotation.tally;
    double value[2];
    int label = 0;

    if (tally->periods == 0)
        return 0;
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
    return rps_cloud_add(&gathering->cloud, value[0], value[1], label, err);
}

static int gather_points(const struct rps_picture *picture, const int metric[2],
                         struct rps_cloud *ret, struct rps_error *err)
{
    struct gathering gathering = {.picture = picture, .metric = {metric[0], metric[1]}};
    struct rps_walk walk = rps_picture_walk(picture);
    int result = rps_rotation_init(&gathering.rotation, picture->plan, err);

    gathering.operand =
        calloc((size_t)rps_plan_operand_count(picture->plan), sizeof(*gathering.operand));
    if (result == 0 && !gathering.operand)
        result = rps_error_memory(err);
    while (rps_walk_next(&walk, &result, err)) {
        if (rps_rotation_ends(&gathering.rotation, walk.period))
            result = end_rotation(&gathering, err);
        rps_rotation_add(&gathering.rotation, walk.period);
    }
    if (result == 0)
        result = end_rotation(&gathering, err);
    *ret = gathering.cloud;
    rps_rotation_free(&gathering.rotation);
    free(gathering.operand);
    return result;
}

/* --- files ------------------------------------------------------------------------------------ */

static void write_axis(const char *name, const struct rps_picture_axis *axis, FILE *file)
{
    fprintf(file,
            "%s_from = %.17g\n%s_to = %.17g\n%s_step = %.17g\n%s_scale = %g\n%s_suffix = \"%s\"\n",
            name, axis->from, name, axis->to, name, axis->step, name, axis->scale, name,
            axis->suffix);
}

/* The labels' names by their numbers, for legends. */
static void write_label_names(const struct rps_picture *picture, FILE *file)
{
    int labels = picture->has_phases ? picture->phases.label_count : 0;

    fprintf(file, "legend = %d\nlabel_entry = %d\n", labels, RPS_PICTURE_LABEL_ENTRY);
    if (labels > 0)
        fprintf(file, "array label_name[%d]\n", labels);
    for (int label = 0; label < labels; label++) {
        char text[RPS_PHASE_LABEL_SIZE];

        fprintf(file, "label_name[%d] = \"%s\"\n", label + 1, rps_phase_label(label, text));
    }
}

/* Decades are labelled, with less room only some. */
static struct rps_picture_axis log_axis(const float *values, size_t count, int tics)
{
    struct rps_picture_axis axis = {INFINITY, -INFINITY, 1, 1, "", 0};

    for (size_t i = 0; i < count; i++) {
        double low = floor((double)values[i] + 1e-6), high = ceil((double)values[i] - 1e-6);

        /* not fmin() and fmax(), at which gcc 12 for arm64 ends with an internal error (-O3) */
        axis.from = low < axis.from ? low : axis.from;
        axis.to = high > axis.to ? high : axis.to;
    }
    if (axis.to <= axis.from)
        axis.to = axis.from + 1;
    axis.step = ceil((axis.to - axis.from) / tics);
    return axis;
}

static int write_scatter_numbers(const struct rps_picture *picture, struct rps_cloud *cloud,
                                 int folder_fd, struct rps_error *err)
{
    double across = picture->width - (SCATTER_LEFT + RPS_PICTURE_RIGHT) * picture->scale;
    double up = picture->height - (SCATTER_HEAD + SCATTER_FOOT) * picture->scale;
    int across_tics = (int)clamp(across / picture->scale / 90, 2, 10);
    int up_tics = (int)clamp(up / picture->scale / 50, 2, 8);
    int x_log = rps_cloud_take_log(cloud->x, cloud->count);
    int y_log = rps_cloud_take_log(cloud->y, cloud->count);
    struct rps_picture_axis x = x_log ? log_axis(cloud->x, cloud->count, across_tics)
                                      : rps_cloud_axis(cloud->x, cloud->count, across_tics);
    struct rps_picture_axis y = y_log ? log_axis(cloud->y, cloud->count, up_tics)
                                      : rps_cloud_axis(cloud->y, cloud->count, up_tics);
    FILE *file = rps_picture_file(folder_fd, "figure.gp", err);
    int result;

    if (!file)
        return RPS_FAILED;
    rps_picture_write_canvas(picture, file);
    fprintf(file, "plot_left_px = %d\nplot_head_px = %d\nplot_foot_px = %d\n", SCATTER_LEFT,
            SCATTER_HEAD, SCATTER_FOOT);
    fprintf(file, "x_log = %d\ny_log = %d\n", x_log, y_log);
    write_axis("x", &x, file);
    write_axis("y", &y, file);
    write_label_names(picture, file);
    result = rps_cloud_write(cloud, picture, "points", &x, &y, across, up, folder_fd, file, err);
    return rps_picture_file_close(file, "figure.gp", err) < 0 ? RPS_FAILED : result;
}

static int write_scatter_texts(const struct rps_picture *picture, const struct rps_cloud *cloud,
                               const int metric[2], int folder_fd, struct rps_error *err)
{
    FILE *file = rps_picture_file(folder_fd, "text.gp", err);
    char text[RPS_PICTURE_TEXT_SIZE];

    if (!file)
        return RPS_FAILED;
    fprintf(file, "# Title, second line, names of the axes. A line of text is what follows its "
                  "bar.\n$text << END\n");
    snprintf(text, sizeof(text), "%zu points, one a %s", cloud->count,
             picture->cpu_series.resolution > 0 ? "block"
             : picture->plan->set_count > 1     ? "rotation of the event sets"
                                                : "period");
    rps_picture_write_titles(picture, text, file);
    for (int i = 0; i < 2; i++)
        rps_picture_write_line(picture, file,
                               rps_picture_metric_title(&picture->plan->metric[metric[i]], text));
    fprintf(file, "END\n");
    return rps_picture_file_close(file, "text.gp", err);
}

int rps_picture_write_scatter(struct rps_picture *picture, struct rps_reader *reader,
                              const struct rps_plot_options *options, int folder_fd,
                              struct rps_error *err)
{
    struct rps_cloud cloud = {0};
    int metric[2];
    int result = choose(picture, reader, options, metric, err);

    choose_height(picture, options);
    if (result == 0)
        result = gather_points(picture, metric, &cloud, err);
    if (result == 0 && cloud.count == 0)
        result =
            rps_error_set(err, RPS_FAILED, "no rotation of run %lld has values of both %s and %s",
                          (long long)picture->run.run_id, picture->plan->metric[metric[0]].name,
                          picture->plan->metric[metric[1]].name);
    if (result == 0)
        result = write_scatter_numbers(picture, &cloud, folder_fd, err);
    if (result == 0)
        result = write_scatter_texts(picture, &cloud, metric, folder_fd, err);
    rps_cloud_free(&cloud);
    return result;
}
