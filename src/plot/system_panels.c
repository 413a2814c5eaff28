/* The panels of system metrics: thread states, stacked, and resident memory; without data on
 * threads, the pressure, memory and traffic of the machine. With metrics of packages, also power,
 * memory traffic and frequency, each with its lowest and highest value. Idle threads, and those
 * that wait for timers or children, are left out, because hundreds would hide the others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/picture.h"
#include "rpistat/run_system.h"

#define US_PER_S   1e6
#define COLUMNS_PX 3 /* minimum width of a step in bins of the picture */
#define STEP_ROWS  8 /* minimum number of readings or blocks of readings per step, if possible */

static const struct {
    const char *name;
    enum rps_tree_slot slot;
    double divisor;
    int colour; /* colour number as in rpistat/picture.h */
} line_of[] = {
    {"running", RPS_TREE_RUNNING, US_PER_S, 2},
    {"waiting for a CPU", RPS_TREE_WAIT, US_PER_S, -2},
    {"in block I/O", RPS_TREE_IN_IO, 1, 0},
    {"in lock or thread waits", RPS_TREE_IN_LOCK, 1, 4},
    {"in pipes, sockets, polls", RPS_TREE_IN_MESSAGE, 1, -1},
    {"unknown", RPS_TREE_UNSEEN, US_PER_S, 6},
};

#define LINES ((int)RPS_COUNT(line_of))

struct step {
    double from, to; /* range on the axis; each step begins at the end of the previous one */
    struct rps_run_system system;
};

/* Steps that are being made from readings. */
struct steps {
    struct rps_picture *picture;
    double least; /* minimum length of a step on the axis */
    size_t count;
    struct step *step;
};

static void add_row(struct steps *steps, const struct rps_system_row *row)
{
    const struct rps_picture *picture = steps->picture;
    double from =
        fmax(rps_picture_position(picture, row->end_ns - row->length_us * 1000), picture->from);
    double to = fmin(rps_picture_position(picture, row->end_ns), picture->to);
    struct step *last = steps->count > 0 ? &steps->step[steps->count - 1] : NULL;

    if (!(from < to))
        return;
    if (!last || last->to - last->from >= steps->least) {
        from = last ? last->to : from;
        steps->step =
            rps_arena_grow(picture->arena, steps->step, steps->count, sizeof(*steps->step));
        last = &steps->step[steps->count++];
        *last = (struct step){.from = from};
    }
    last->to = to;
    rps_run_system_add(&last->system, row);
}

/* If the last step is shorter than the step before, merge both. At the end of the run, the last
 * reading follows soon after the previous one, and thread events arrive one reading late. */
static void join_last(struct steps *steps)
{
    struct step *last, *before;

    if (steps->count < 2)
        return;
    last = steps->step + steps->count - 1;
    before = last - 1;
    if (last->to - last->from >= before->to - before->from)
        return;
    rps_run_system_join(&before->system, &last->system);
    before->to = last->to;
    steps->count--;
}

static double mean_of(const struct rps_run_system *system, enum rps_tree_slot slot)
{
    return rps_run_system_mean(system, RPS_SYSTEM_TREE, slot);
}

/* Return the number of threads that a line shows. A late reading may exceed the available time, but
 * each thread uses at most one CPU. A wait is counted when it ends, and only threads that are not
 * on a CPU can wait. All other threads are shown as asleep, whatever state was read. */
static double threads_of(const struct rps_run_system *system, int line)
{
    const enum rps_tree_slot slot = line_of[line].slot;
    double value = mean_of(system, slot) / line_of[line].divisor, asleep = 0;
    double most = mean_of(system, RPS_TREE_THREADS) + mean_of(system, RPS_TREE_UNSEEN) / US_PER_S -
                  fmax(0, mean_of(system, RPS_TREE_IDLE));

    if (slot == RPS_TREE_RUNNING)
        return value > most ? most : value;
    most -= mean_of(system, RPS_TREE_RUNNING) / US_PER_S;
    if (slot == RPS_TREE_WAIT)
        return value > most ? fmax(most, 0) : value;
    if (slot < RPS_TREE_IN_IO || slot > RPS_TREE_IN_OTHER)
        return value;
    most = fmax(most - mean_of(system, RPS_TREE_WAIT) / US_PER_S, 0);
    for (int s = RPS_TREE_IN_IO; s <= RPS_TREE_IN_OTHER; s++)
        asleep += mean_of(system, (enum rps_tree_slot)s);
    return asleep > most ? value * most / asleep : value;
}

static void fill_threads(struct rps_picture *picture, const struct steps *steps)
{
    struct rps_picture_areas *threads = &picture->threads;
    const struct step *step = steps->step;
    size_t count = steps->count;

    while (count > 1 && !(step->system.slot[RPS_SYSTEM_TREE][RPS_TREE_THREADS].length_s > 0))
        step++, count--; /* The states are unknown, as in the first 10 ms of a run. */
    threads->at = rps_arena_get(picture->arena, count + 1, sizeof(*threads->at));
    threads->at[0] = step->from;
    for (size_t i = 0; i < count; i++)
        threads->at[i + 1] = step[i].to;
    threads->step_count = count;
    threads->share =
        rps_arena_get(picture->arena, count, RPS_PICTURE_AREAS_LINES * sizeof(*threads->share));
    strcpy(threads->title, RPS_PICTURE_THREADS);
    for (int k = 0; k < LINES; k++) {
        int line = threads->line_count, is_there = 0;

        for (size_t i = 0; i < count; i++) {
            double value = threads_of(&step[i].system, k);

            threads->share[i * RPS_PICTURE_AREAS_LINES + (size_t)line] =
                isfinite(value) ? value : 0;
            is_there |= value > 0;
        }
        if (!is_there)
            continue;
        threads->colour[line] = line_of[k].colour;
        threads->letter[line] = "rwilpu"[k]; /* letters from a on: functions and programs */
        strcpy(threads->name[line], line_of[k].name);
        threads->line_count++;
    }
    for (size_t i = 0; i < count; i++) {
        double all = 0;

        for (int line = 0; line < threads->line_count; line++)
            all += threads->share[i * RPS_PICTURE_AREAS_LINES + (size_t)line];
        threads->top = fmax(threads->top, all);
    }
}

static void fill_line(struct rps_picture *picture, const struct steps *steps,
                      struct rps_picture_gauge *gauge, enum rps_system_source source, int slot)
{
    const struct rps_system_metric *signal = &rps_system_metrics[source][slot];
    struct rps_picture_gauge_line *line = &gauge->line[gauge->line_count];
    const double divisor = signal->column.divisor;

    *line = (struct rps_picture_gauge_line){
        .name = signal->panel.line,
        .file = signal->panel.file,
        .at = rps_arena_get(picture->arena, steps->count, sizeof(*line->at)),
        .mean = rps_arena_get(picture->arena, steps->count, sizeof(*line->mean)),
        .low = rps_arena_get(picture->arena, steps->count, sizeof(*line->low)),
        .high = rps_arena_get(picture->arena, steps->count, sizeof(*line->high)),
    };
    for (size_t i = 0; i < steps->count; i++) {
        const struct rps_run_system *system = &steps->step[i].system;
        const struct rps_system_sum *sum = &system->slot[source][slot];

        if (!(sum->length_s > 0))
            continue;
        line->at[line->count] = (steps->step[i].from + steps->step[i].to) / 2;
        line->mean[line->count] = rps_run_system_mean(system, source, slot) / divisor;
        line->low[line->count] = sum->low / divisor;
        line->high[line->count] = sum->high / divisor;
        gauge->most = fmax(gauge->most, line->high[line->count++]);
    }
    gauge->line_count += line->count > 0;
}

int rps_picture_shows(const struct rps_picture *picture, const struct rps_plot_options *options,
                      const char *title)
{
    int shows = !picture->named;

    for (size_t i = 0; i < options->panel_count; i++)
        shows |= strcasestr(title, options->panel[i]) != NULL;
    return shows;
}

/* Fill the panels of a source's metrics; a metric without a title is in the previous panel. */
static void fill_gauges(struct rps_picture *picture, const struct rps_plot_options *options,
                        const struct steps *steps, enum rps_system_source source)
{
    struct rps_picture_gauge *gauge = NULL;

    for (int s = 0; s < rps_system_metric_count[source]; s++) {
        const struct rps_system_metric *signal = &rps_system_metrics[source][s];

        if (signal->panel.title) {
            picture->gauge_count += gauge && gauge->line_count > 0;
            gauge = NULL;
        }
        if (signal->panel.title && (rps_picture_shows(picture, options, signal->panel.title) ||
                                    rps_picture_shows(picture, options, signal->panel.name))) {
            if (picture->gauge_count == RPS_PICTURE_GAUGES)
                return;
            gauge = &picture->gauge[picture->gauge_count];
            *gauge = (struct rps_picture_gauge){.title = signal->panel.title,
                                                .name = signal->panel.name,
                                                .unit = signal->panel.unit};
        }
        if (signal->panel.line && gauge && gauge->line_count < RPS_PICTURE_GAUGE_LINES)
            fill_line(picture, steps, gauge, source, s);
    }
    picture->gauge_count += gauge && gauge->line_count > 0;
}

/* Return the coarsest level of blocks of readings at which there are enough blocks for steps. */
static int choose_resolution(const struct rps_picture *picture)
{
    const struct rps_cpu_series *series = &picture->cpu_series;
    uint64_t periods = series->periods / (uint64_t)(series->count > 0 ? series->count : 1);
    uint64_t least = STEP_ROWS * (uint64_t)picture->bin_count / COLUMNS_PX;
    int resolution = 0;

    while (resolution < RPS_LEVELS && periods >> (RPS_LEVEL_BITS * (resolution + 1)) >= least)
        resolution++;
    return resolution;
}

static int read_steps(struct steps *steps, const struct rps_plot_options *options,
                      enum rps_system_source source, struct rps_error *err)
{
    const struct rps_picture *picture = steps->picture;
    const struct rps_cpu_series *series = &picture->cpu_series;
    struct rps_system_cursor *cursor;
    struct rps_system_row row;
    int result =
        rps_system_cursor_open(&cursor, series->reader, series->run_id, source, options->from_ns,
                               options->to_ns, choose_resolution(picture), err);

    if (result < 0)
        return result;
    steps->least = COLUMNS_PX * (picture->to - picture->from) / (double)picture->bin_count;
    while ((result = rps_system_cursor_next(cursor, &row, err)) > 0)
        add_row(steps, &row);
    rps_system_cursor_close(cursor);
    join_last(steps);
    return result;
}

int rps_picture_read_system(struct rps_picture *picture, const struct rps_plot_options *options,
                            struct rps_error *err)
{
    struct steps tree = {.picture = picture}, machine = tree, package = tree;

    if ((picture->named && !picture->has_others) || picture->turn)
        return 0;
    if (read_steps(&tree, options, RPS_SYSTEM_TREE, err) < 0 ||
        (tree.count == 0 && read_steps(&machine, options, RPS_SYSTEM_MACHINE, err) < 0) ||
        read_steps(&package, options, RPS_SYSTEM_PACKAGE, err) < 0)
        return RPS_FAILED;
    if (tree.count > 0 && rps_picture_shows(picture, options, RPS_PICTURE_THREADS)) {
        fill_threads(picture, &tree);
        rps_picture_lay_out_areas(picture, &picture->threads);
    }
    fill_gauges(picture, options, &tree, RPS_SYSTEM_TREE);
    fill_gauges(picture, options, &machine, RPS_SYSTEM_MACHINE);
    fill_gauges(picture, options, &package, RPS_SYSTEM_PACKAGE);
    if (picture->panel_count + picture->gauge_count + picture->threads.line_count +
            picture->code.line_count ==
        0)
        return rps_error_set(err, RPS_FAILED,
                             "--panel: run %lld has no data for this panel; see all its panels "
                             "without --panel",
                             (long long)picture->run.run_id);
    return 0;
}

double rps_picture_system_height(const struct rps_picture *picture)
{
    return rps_picture_areas_height(&picture->threads) +
           picture->gauge_count * RPS_PICTURE_GAUGE_HEIGHT;
}

static void add_gauge_line(struct rps_chart *chart, struct rps_panel *panel,
                           const struct rps_picture_gauge *gauge, int k)
{
    const struct rps_picture_gauge_line *from = &gauge->line[k];
    const rps_ink ink = RPS_INK_LINE + (rps_ink)k;
    struct rps_layer *band, *line;

    band = rps_chart_layer(chart, panel, RPS_LAYER_BAND,
                           rps_arena_print(chart->arena, "%s-extremes", from->file),
                           RPS_INK_VEIL(ink, 0xa0));
    line = rps_chart_layer(chart, panel, RPS_LAYER_LINE, from->file, ink);
    line->weight = 1.5;
    line->name = gauge->line_count > 1 ? from->name : NULL;
    for (size_t i = 0; i < from->count; i++) {
        rps_chart_shape(chart, band, from->at[i], from->low[i], 0, from->high[i]);
        rps_chart_shape(chart, line, from->at[i], from->mean[i], 0, 0);
    }
}

struct rps_panel *rps_picture_add_gauge(struct rps_chart *chart, const struct rps_picture *picture,
                                        const struct rps_picture_gauge *gauge,
                                        const struct rps_picture_overlay *overlay, double bottom)
{
    double top = bottom - RPS_PICTURE_GAUGE_HEIGHT + RPS_PICTURE_HEADING;
    struct rps_panel *panel = rps_picture_panel(chart, picture, top, bottom - RPS_PICTURE_FLOOR);
    struct rps_picture_axis axis = rps_picture_axis(0, gauge->most, 2);

    rps_picture_axis_unit(&axis, gauge->unit);
    panel->heading = gauge->title;
    rps_picture_x_scale(chart, picture, 0, &panel->x);
    rps_picture_scale(chart, &axis, &panel->y);
    rps_picture_shade(chart, panel, overlay);
    for (int k = 0; k < gauge->line_count; k++)
        add_gauge_line(chart, panel, gauge, k);
    rps_chart_share(chart, panel, overlay->marks);
    return panel;
}
