/*
 * Principal components of a run (RPS_PLOT_PCA): how the two first ones go over time, the points
 * that they make against each other, and what each metric has to do with them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cloud.h"
#include "rpistat/picture_kinds.h"
#include "rpistat/run_phases.h"

#define PCA_SHAPE    0.75 /* height of a picture of which only the width is known */
#define PCA_TIME     0.36 /* share of the panel over time */
#define PCA_LOADINGS 330  /* room for the loadings, from this width on: */
#define PCA_WIDE     700
#define PCA_ROW      19
#define PCA_BETWEEN  66

/* Places in pixels at scale 1. */
struct layout {
    double top;     /* of the panel over time */
    double time_up; /* its height */
    double lower;   /* top of what stands below it */
    double lower_up, points_across;
    int loadings; /* rows */
};

static struct layout lay_out(const struct rps_picture *picture, size_t signals)
{
    double width = picture->width / picture->scale, height = picture->height / picture->scale;
    struct layout layout = {.top = RPS_PICTURE_HEAD + RPS_PICTURE_LEGEND_HEIGHT};
    int wide = width >= PCA_WIDE;

    layout.top += rps_picture_strip_height(picture);
    layout.top += RPS_PICTURE_LEGEND_HEIGHT *
                  (rps_picture_needs_label_legend(picture) + rps_picture_note_rows(picture));
    layout.time_up = PCA_TIME * (height - layout.top);
    layout.lower = layout.top + layout.time_up + PCA_BETWEEN;
    layout.lower_up = fmax(20, height - layout.lower - RPS_PICTURE_FOOT);
    layout.points_across = width - picture->left - picture->right - (wide ? PCA_LOADINGS : 0);
    layout.loadings = wide ? (int)(layout.lower_up / PCA_ROW) : 0;
    if (layout.loadings > (int)signals)
        layout.loadings = (int)signals;
    return layout;
}

/* --- over time -------------------------------------------------------------------------------- */

static double position_of(const struct rps_picture *picture, const struct rps_run_components *found,
                          size_t i)
{
    return picture->axis == RPS_AXIS_CYCLE ? (double)found->cycle[i]
                                           : (double)(found->start_ns[i] + found->end_ns[i]) / 2e9;
}

/* Scores of a component brought to the width of the picture: column, mean, smallest, largest. */
static int write_scores(const struct rps_picture *picture, const struct rps_run_components *found,
                        int component, int folder_fd, struct rps_error *err)
{
    const double *score = &found->components.score[(size_t)component * found->components.count];
    double column = (picture->to - picture->from) / fmax(10, picture->width / 1.5);
    char name[32];
    FILE *file;

    snprintf(name, sizeof(name), "component-%d.dat", component + 1);
    file = rps_picture_file(folder_fd, name, err);
    if (!file)
        return RPS_FAILED;
    for (size_t begin = 0, end; begin < found->components.count; begin = end) {
        double from = position_of(picture, found, begin), at = 0, sum = 0, least = NAN, most = NAN;
        size_t known = 0;

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
        if (known > 0)
            fprintf(file, "%.12g %.7g %.7g %.7g\n", at / (double)known, sum / (double)known, least,
                    most);
        else
            fputc('\n', file);
    }
    return rps_picture_file_close(file, name, err);
}

/* --- points and loadings ---------------------------------------------------------------------- */

static int make_cloud(const struct rps_picture *picture, const struct rps_run_components *found,
                      struct rps_cloud *ret, struct rps_error *err)
{
    const struct rps_components *components = &found->components;

    for (size_t i = 0; i < components->count; i++) {
        int64_t middle_ns = (found->start_ns[i] + found->end_ns[i]) / 2;
        int label = picture->has_phases
                        ? picture->phases.phase[rps_picture_phase_at(picture, middle_ns)].label
                        : 0;

        if (rps_cloud_add(ret, components->score[i], components->score[components->count + i],
                          label, err) < 0)
            return RPS_FAILED;
    }
    return 0;
}

/* What a signal has to do with the two components together. */
static double part_of(const struct rps_components *components, size_t signal)
{
    double sum = 0;

    for (size_t c = 0; c < 2; c++) {
        double loading = components->loading[c * components->signal_count + signal];

        sum += loading * loading * components->share[c];
    }
    return sum;
}

/* The `count` signals that have most to do with the components, most first. */
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

static void write_loadings(const struct rps_components *components, const size_t *signal, int count,
                           FILE *file)
{
    fprintf(file, "loadings = %d\n", count);
    for (int c = 0; c < 2 && count > 0; c++) {
        fprintf(file, "array loading_%d[%d] = [", c + 1, count);
        for (int k = 0; k < count; k++)
            fprintf(file, "%s%.4f", k ? ", " : "",
                    components->loading[(size_t)c * components->signal_count + signal[k]]);
        fprintf(file, "]\n");
    }
}

static void write_axis(const char *name, const struct rps_picture_axis *axis, FILE *file)
{
    fprintf(file, "%s_from = %.17g\n%s_to = %.17g\n%s_step = %.17g\n", name, axis->from, name,
            axis->to, name, axis->step);
}

static int write_numbers(const struct rps_picture *picture, const struct layout *layout,
                         const struct rps_components *components, const size_t *signal,
                         const struct rps_cloud *cloud, int folder_fd, struct rps_error *err)
{
    struct rps_picture_axis x =
        rps_cloud_axis(cloud->x, cloud->count, layout->points_across > 300 ? 6 : 3);
    struct rps_picture_axis y =
        rps_cloud_axis(cloud->y, cloud->count, layout->lower_up > 200 ? 5 : 3);
    FILE *file = rps_picture_file(folder_fd, "figure.gp", err);
    int result;

    if (!file)
        return RPS_FAILED;
    rps_picture_write_canvas(picture, file);
    rps_picture_write_x_axis(picture, file);
    result = rps_picture_write_overlay(picture, folder_fd, file, err);
    fprintf(file,
            "time_top = %.6g\ntime_up = %.6g\nlower_top = %.6g\nlower_up = %.6g\n"
            "points_across = %.6g\nrow_height = %d\n",
            layout->top, layout->time_up, layout->lower, layout->lower_up, layout->points_across,
            PCA_ROW);
    write_axis("a", &x, file);
    write_axis("b", &y, file);
    write_loadings(components, signal, layout->loadings, file);
    if (result == 0)
        result = rps_cloud_write(cloud, picture, "points", &x, &y,
                                 layout->points_across * picture->scale,
                                 layout->lower_up * picture->scale, folder_fd, file, err);
    return rps_picture_file_close(file, "figure.gp", err) < 0 ? RPS_FAILED : result;
}

/* The label of a metric where the signal is one; its own name else. */
static const char *signal_label(const struct rps_picture *picture, const char *name)
{
    for (int m = 0; m < picture->plan->metric_count; m++) {
        if (strcmp(picture->plan->metric[m].name, name) == 0)
            return picture->plan->metric[m].label;
    }
    return strcmp(name, "cpu_use") == 0 ? "CPU use" : name;
}

static int write_texts(const struct rps_picture *picture, const struct rps_run_components *found,
                       const size_t *signal, int count, int folder_fd, struct rps_error *err)
{
    const struct rps_components *components = &found->components;
    FILE *file = rps_picture_file(folder_fd, "text.gp", err);
    char text[RPS_PICTURE_TEXT_SIZE];

    if (!file)
        return RPS_FAILED;
    fprintf(file,
            "# Title, second line, name of the x axis; names of the two components; metrics;\n"
            "# texts of marks. A line of text is what follows its bar.\n$text << END\n");
    snprintf(text, sizeof(text),
             "principal components of %zu signals, with their share of the variance",
             components->signal_count);
    rps_picture_write_titles(picture, text, file);
    rps_picture_write_line(picture, file, rps_picture_x_label(picture, text));
    for (int c = 0; c < 2; c++) {
        snprintf(text, sizeof(text), "Component %d (%.0f %%)", c + 1, 100 * components->share[c]);
        rps_picture_write_line(picture, file, text);
    }
    for (int k = 0; k < count; k++) {
        snprintf(text, sizeof(text), "%s", signal_label(picture, found->name[signal[k]]));
        rps_picture_cut_text(text, 22);
        rps_picture_write_line(picture, file, text);
    }
    rps_picture_write_overlay_texts(picture, file);
    fprintf(file, "END\n");
    return rps_picture_file_close(file, "text.gp", err);
}

static int write_found(struct rps_picture *picture, const struct rps_run_components *found,
                       int folder_fd, struct rps_error *err)
{
    struct layout layout = lay_out(picture, found->components.signal_count);
    size_t *signal = calloc((size_t)layout.loadings + 1, sizeof(*signal));
    struct rps_cloud cloud = {0};
    int result = signal ? make_cloud(picture, found, &cloud, err) : rps_error_memory(err);

    if (result == 0) {
        choose_signals(&found->components, signal, layout.loadings);
        result =
            write_numbers(picture, &layout, &found->components, signal, &cloud, folder_fd, err);
    }
    if (result == 0)
        result = write_texts(picture, found, signal, layout.loadings, folder_fd, err);
    for (int c = 0; c < 2 && result == 0; c++)
        result = write_scores(picture, found, c, folder_fd, err);
    rps_cloud_free(&cloud);
    free(signal);
    return result;
}

int rps_picture_write_pca(struct rps_picture *picture, struct rps_reader *reader,
                          const struct rps_plot_options *options, int folder_fd,
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
    int result;

    if (rps_run_components_find(&at, &wanted, 2, &found, err) < 0)
        return RPS_FAILED;
    picture->height =
        options->height > 0 ? options->height : (int)(PCA_SHAPE * (double)picture->width);
    if (found.components.component_count < 2)
        result = rps_error_set(err, RPS_FAILED,
                               "the metrics of run %lld all say the same: there are not two "
                               "components to draw",
                               (long long)picture->run.run_id);
    else
        result = write_found(picture, &found, folder_fd, err);
    rps_run_components_free(&found);
    return result;
}
