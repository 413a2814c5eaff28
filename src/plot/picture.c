/* Pictures: read the store, and make the series. If the height of a picture is given, its text is
 * still readable. Panels that do not fit are left out, and the second line lists them. (Before,
 * text and panels shrank together; nine panels in 400 x 300 pixels were unreadable.) */
#include "rpistat/picture.h"

#include <math.h>
#include <string.h>

#include "rpistat/loops.h"
#include "rpistat/plan.h"
#include "rpistat/rotation.h"
#include "rpistat/run.h"
#include "rpistat/system_reader.h"
#include "rpistat/text.h"

#define PICTURE_WIDTH         1200
#define PICTURE_PANEL_HEIGHT  160
#define PICTURE_PANEL_MIN     72 /* minimum height of a panel with text */
#define PICTURE_SCALE_MIN     0.72
#define PICTURE_BIN_PX        1.5
#define PICTURE_COLUMNS       80
#define PICTURE_BAND_LINES    4    /* maximum number of CPUs side by side with bands of extremes */
#define PICTURE_WHOLE_COUNTED 0.95 /* events with at least this counted share are not multiplexed */

static double between(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

/* --- walking ---------------------------------------------------------------------------------- */

static int side_by_side(const struct rps_picture *picture)
{
    return picture->apart || picture->quantile;
}

struct rps_walk rps_picture_walk(const struct rps_picture *picture)
{
    return (struct rps_walk){.series = &picture->cpu_series,
                             .way = side_by_side(picture) ? RPS_CPUS_EACH : RPS_CPUS_SUM};
}

/* Extend the picture by a time range recorded on a CPU. */
static void widen(struct rps_picture *picture, int32_t cpu, double start_s, double end_s,
                  uint64_t from_cycle, uint64_t to_cycle)
{
    int by_time = picture->axis == RPS_AXIS_TIME;

    picture->from = fmin(picture->from, by_time ? start_s : (double)from_cycle);
    picture->to = fmax(picture->to, by_time ? end_s : (double)to_cycle);
    if (by_time || (side_by_side(picture) && cpu != picture->cpu_series.cpu[0]))
        return;
    if (picture->cycle_map.count == 0)
        rps_cycle_map_add(picture, start_s, (double)from_cycle);
    rps_cycle_map_add(picture, end_s, (double)to_cycle);
}

static void widen_by_block(struct rps_picture *picture, struct rps_rotation *block)
{
    if (block->tally.periods > 0)
        widen(picture, block->cpu, (double)block->tally.start_ns / 1e9,
              (double)block->tally.end_ns / 1e9, block->from_cycle, block->to_cycle);
    rps_rotation_reset(block);
}

/* Extend the picture by a period. `block` is 1 for a row of a coarser level; such rows overlap. */
static void widen_by_period(struct rps_picture *picture, const struct rps_period *period,
                            struct rps_rotation *block)
{
    if (rps_rotation_ends(block, period))
        widen_by_block(picture, block);
    if (period->level > 0)
        rps_rotation_add(block, period);
    else
        widen(picture, period->cpu, (double)period->start_ns / 1e9,
              (double)rps_period_end_ns(period) / 1e9, period->cycle - period->cycles,
              period->cycle);
}

static int walk_range(struct rps_picture *picture, struct rps_error *err)
{
    struct rps_walk walk = rps_picture_walk(picture);
    struct rps_rotation block = rps_rotation_new(picture->arena, picture->plan);
    int result = 0;

    while (rps_walk_next(&walk, &result, err))
        widen_by_period(picture, walk.period, &block);
    if (result == 0)
        widen_by_block(picture, &block);
    return result;
}

/* Read the run's time range: from the stored length, or for an axis of cycles from the periods. */
static int read_range(struct rps_picture *picture, const struct rps_plot_options *options,
                      struct rps_error *err)
{
    if (picture->axis == RPS_AXIS_TIME && picture->run.elapsed_ns > 0) {
        picture->from = (double)options->from_ns / 1e9;
        picture->to = fmin((double)options->to_ns, (double)picture->run.elapsed_ns) / 1e9;
    } else {
        picture->from = INFINITY;
        picture->to = 0;
        if (walk_range(picture, err) < 0)
            return RPS_FAILED;
    }
    if (!isfinite(picture->from))
        picture->from = 0;
    if (!(picture->to > picture->from))
        picture->to = picture->from + 1;
    return 0;
}

/* --- options ---------------------------------------------------------------------------------- */

static int choose_named(struct rps_picture *picture, const char *name, struct rps_error *err)
{
    int m = rps_plan_metric(picture->plan, name);
    char known[512];

    if (m >= 0) {
        picture->chosen[m] = 1;
        return 0;
    }
    rps_plan_metric_names(picture->plan, known, sizeof(known));
    return rps_error_set(err, RPS_USAGE, "--metric: run %lld has no metric '%s'; choose from %s",
                         (long long)picture->run.run_id, name, known[0] ? known : "none");
}

/* Return 1 if the text is in the title of a panel of threads, code or system metrics. */
static int is_other_panel(const char *text)
{
    int found = strcasestr(RPS_PICTURE_THREADS, text) || strcasestr(RPS_PICTURE_CODE, text);

    for (int source = 0; source < RPS_SYSTEM_SOURCES; source++) {
        for (int s = 0; s < rps_system_metric_count[source]; s++) {
            const struct rps_system_metric *metric = &rps_system_metrics[source][s];

            found |= metric->panel.title && (strcasestr(metric->panel.title, text) ||
                                             strcasestr(metric->panel.name, text));
        }
    }
    return found;
}

static int choose_panel(struct rps_picture *picture, const struct rps_plot_options *options,
                        const char *text, struct rps_error *err)
{
    const struct rps_plan *plan = picture->plan;
    const char *functions = options->function_count > 0 ? "'Functions with callees'" : "";
    char known[512], quoted[RPS_NAME_SIZE + 3];
    int is_other = options->kind == RPS_PLOT_TIME && is_other_panel(text);
    int found = is_other || strcasestr(functions, text);

    picture->has_others |= is_other;
    strcpy(known, functions);
    for (size_t k = 0; k < options->function_count; k++)
        found |= strcasestr(options->function[k], text) != NULL;
    for (int m = 0; m < plan->metric_count; m++) {
        const char *title = rps_picture_panel_title(&plan->metric[m]);

        if (strcasestr(title, text)) {
            picture->chosen[m] = 1;
            found = 1;
        }
        if (m > 0 && strcmp(title, rps_picture_panel_title(&plan->metric[m - 1])) == 0)
            continue;
        snprintf(quoted, sizeof(quoted), "'%s'", title);
        rps_text_list(known, sizeof(known), quoted);
    }
    if (found)
        return 0;
    return rps_error_set(err, RPS_USAGE,
                         "--panel: no panel of run %lld has '%s' in its title; choose from %s, "
                         "or 'Threads', 'Code' and the system metrics that the picture shows",
                         (long long)picture->run.run_id, text, known[0] ? known : "none");
}

static int choose_metrics(struct rps_picture *picture, const struct rps_plot_options *options,
                          struct rps_error *err)
{
    int metrics = picture->plan->metric_count, result = 0;

    picture->named = options->metric_count + options->panel_count > 0;
    picture->chosen = rps_arena_get(picture->arena, (size_t)metrics, sizeof(*picture->chosen));
    for (int m = 0; m < metrics && !picture->named; m++)
        picture->chosen[m] = picture->plan->metric[m].panel[0] != '\0';
    for (size_t i = 0; i < options->metric_count && result == 0; i++)
        result = choose_named(picture, options->metric[i], err);
    for (size_t i = 0; i < options->panel_count && result == 0; i++)
        result = choose_panel(picture, options, options->panel[i], err);
    return result;
}

void rps_picture_choose_width(struct rps_picture *picture, const struct rps_plot_options *options)
{
    int chosen = picture->characters ? PICTURE_COLUMNS : PICTURE_WIDTH;
    double smaller;

    picture->left = RPS_PICTURE_LEFT;
    picture->right = RPS_PICTURE_RIGHT;
    picture->width = options->width > 0 ? options->width : chosen;
    if (picture->characters && picture->width < RPS_PICTURE_COLUMNS_MIN)
        picture->width = RPS_PICTURE_COLUMNS_MIN;
    smaller = picture->width / (double)PICTURE_WIDTH;
    if (options->height > 0)
        smaller = fmin(smaller, options->height / (PICTURE_WIDTH * 0.5));
    picture->scale = picture->characters ? 1 : between(smaller, PICTURE_SCALE_MIN, 8);
}

int rps_picture_open(struct rps_picture *picture, struct rps_reader *reader, int64_t run_id,
                     const struct rps_plot_options *options, int characters, struct rps_error *err)
{
    int result;

    memset(picture, 0, sizeof(*picture));
    picture->arena = rps_arena_new();
    picture->kind = options->kind;
    picture->palette = rps_palette(options->theme);
    picture->axis = options->axis;
    picture->clock = options->clock;
    picture->characters = characters;
    rps_picture_choose_width(picture, options);
    result = rps_reader_run(picture->arena, reader, run_id, &picture->run, err);
    if (result == 0 && picture->clock && picture->run.start_realtime_ns < 0)
        result = rps_error_set(err, RPS_FAILED,
                               "the start time of run %lld is unknown; leave out --x-axis clock",
                               (long long)run_id);
    if (result == 0)
        result = rps_reader_plan(picture->arena, reader, run_id, &picture->plan, err);
    if (result == 0)
        result = rps_reader_downsampled(reader, run_id, &picture->thinned_ns, err);
    if (result == 0)
        result = choose_metrics(picture, options, err);
    if (result == 0)
        result = rps_cpu_series_open(picture->arena, &picture->cpu_series, reader, run_id,
                                     options->from_ns, options->to_ns, &options->cpus, err);
    if (result == 0 && picture->cpu_series.count == 0)
        result = rps_cpu_series_none(&picture->cpu_series, err);
    if (result == 0) {
        rps_cpu_series_choose_signals(&picture->cpu_series, 1);
        result = rps_picture_choose_look(picture, options->cpus.way, err);
    }
    if (result == 0)
        result = read_range(picture, options, err);
    if (result == 0)
        result = rps_picture_read_phases(picture, reader, options, err);
    return result;
}

/* --- series ----------------------------------------------------------------------------------- */

static size_t bins_across(const struct rps_picture *picture)
{
    double room =
        picture->characters
            ? 2 * (picture->width - RPS_PICTURE_COLUMN_MARGIN) /* two dots per character */
            : (picture->width - (picture->left + picture->right) * picture->scale) / PICTURE_BIN_PX;

    return room > 10 ? (size_t)room : 10;
}

/* The bins of the current CPU, and the series that they fill. */
struct binning {
    struct rps_picture *picture;
    struct rps_bins *bins;
    int32_t cpu;
    int lines;                 /* number of lines per metric for which there is space */
    int line;                  /* line that is currently filled */
    struct rps_series *series; /* series as in the picture, `lines` per metric */
    int multiplexed;
    size_t hint; /* argument of rps_picture_place_in_turn */
};

static void end_cpu(struct binning *binning)
{
    struct rps_picture *picture = binning->picture;

    if (!binning->bins)
        return;
    for (int m = 0; m < picture->plan->metric_count; m++) {
        if (picture->chosen[m])
            binning->series[m * binning->lines + binning->line] =
                rps_bins_series(binning->bins, m, picture->arena);
    }
    if (binning->line == 0 && binning->multiplexed)
        picture->counted = rps_bins_counted(binning->bins, picture->arena);
    rps_bins_free(binning->bins);
    binning->bins = NULL;
    binning->line++;
}

static void bin_period(struct binning *binning, const struct rps_period *period)
{
    const struct rps_picture *picture = binning->picture;
    struct rps_period in_turn;

    if (picture->turn) { /* iterations are drawn side by side, like CPUs */
        if (!rps_picture_place_in_turn(picture, &binning->hint, period, &in_turn))
            return;
        period = &in_turn;
    }
    if (period->cpu != binning->cpu)
        end_cpu(binning);
    if (binning->line >= binning->lines)
        return; /* leave out a CPU that came online after the CPUs were counted */
    if (!binning->bins)
        binning->bins = rps_bins_new(picture->plan, picture->axis, picture->from, picture->to,
                                     picture->bin_count,
                                     rps_rotation_least_ns(&picture->run, picture->plan->set_count,
                                                           picture->plan->set_count));
    binning->cpu = period->cpu;
    binning->multiplexed |=
        !rps_run_is_import(&picture->run) &&
        (double)period->running_ns < PICTURE_WHOLE_COUNTED * (double)period->enabled_ns;
    rps_bins_add(binning->bins, period);
}

static int read_series(struct rps_picture *picture, struct rps_error *err)
{
    size_t metrics = (size_t)picture->plan->metric_count + RPS_PALETTE_LINES; /* with functions */
    struct binning binning = {.picture = picture, .lines = 1};
    struct rps_walk walk = rps_picture_walk(picture);
    int result = 0;

    binning.lines = picture->turn           ? (int)picture->turn->iteration_count
                    : side_by_side(picture) ? picture->cpu_series.count
                                            : 1;
    binning.multiplexed = picture->plan->set_count > 1 && !rps_run_is_import(&picture->run);
    binning.series =
        rps_arena_get(picture->arena, metrics * (size_t)binning.lines, sizeof(*binning.series));
    while (rps_walk_next(&walk, &result, err))
        bin_period(&binning, walk.period);
    end_cpu(&binning);
    picture->series = binning.series;
    picture->line_count = binning.lines;
    if (picture->quantile || picture->turn)
        rps_picture_merge_lines(picture, binning.series, binning.lines);
    return result;
}

/* --- panels ----------------------------------------------------------------------------------- */

/* Return the largest distance of a metric's values from zero; -INFINITY: there is no value. */
static double peak_of(const struct rps_picture *picture, int metric)
{
    double peak = -INFINITY;

    for (int line = 0; line < picture->line_count; line++) {
        const struct rps_series *series = rps_picture_series(picture, metric, line);

        for (size_t i = 0; i < series->count; i++) {
            if (isfinite(series->value[i]))
                peak = fmax(peak, fmax(fabs(series->min[i]), fabs(series->max[i])));
        }
    }
    return peak;
}

int rps_picture_has_data(const struct rps_picture *picture, int metric)
{
    return peak_of(picture, metric) >= 0;
}

/* Return metric m's panel: the one of an earlier drawn metric with the same title, or a new one. */
static int panel_of(struct rps_picture *picture, int m)
{
    for (int i = 0; i < m && !picture->apart; i++) {
        if (picture->panel[i] >= 0 &&
            strcmp(rps_picture_panel_title(&picture->plan->metric[i]),
                   rps_picture_panel_title(&picture->plan->metric[m])) == 0)
            return picture->panel[i];
    }
    return picture->panel_count++;
}

/* Return 1 if all values in a panel (in a map: the row of one metric) are zero. */
static int panel_is_zero(const struct rps_picture *picture, int metric)
{
    for (int m = 0; m < picture->plan->metric_count; m++) {
        if (picture->panel[m] == picture->panel[metric] && peak_of(picture, m) > 0 &&
            (picture->kind != RPS_PLOT_HEAT || m == metric))
            return 0;
    }
    return 1;
}

/* Replace panels that are always zero and not requested by a line of names, unless all are zero. */
static void fold_zeros(struct rps_picture *picture)
{
    int metrics = picture->plan->metric_count, panels = 0, drawn = 0;
    int *place = rps_arena_get(picture->arena, 2 * (size_t)metrics, sizeof(*place));
    int *zero = place + metrics;

    for (int m = 0; m < metrics; m++) {
        zero[m] = picture->panel[m] >= 0 && panel_is_zero(picture, m);
        drawn += picture->panel[m] >= 0 && !zero[m];
    }
    for (int m = 0; m < metrics && drawn > 0; m++) {
        int *panel = &picture->panel[m];

        if (*panel >= 0 && !zero[m] && place[*panel] == 0)
            place[*panel] = ++panels;
        if (*panel >= 0)
            *panel = zero[m] ? RPS_PICTURE_ZERO : place[*panel] - 1;
    }
    if (drawn > 0) {
        picture->panel_count = panels;
        rps_picture_name_zeros(picture);
    }
}

/* If an import's panel has more lines than there are colours, draw only the lines with the highest
 * peaks. Imports with many processes usually have such panels. */
static void leave_low(struct rps_picture *picture)
{
    int metrics = picture->plan->metric_count;
    double *peak = rps_arena_get(picture->arena, (size_t)metrics, sizeof(*peak));

    for (int m = 0; m < metrics; m++)
        peak[m] = peak_of(picture, m);
    for (int panel = 0; panel < picture->panel_count && rps_run_is_import(&picture->run); panel++) {
        for (int lines = rps_picture_panel_lines(picture, panel); lines > RPS_PALETTE_LINES;
             lines -= picture->line_count) {
            int lowest = -1;

            for (int m = 0; m < metrics; m++) {
                if (picture->panel[m] == panel && (lowest < 0 || peak[m] <= peak[lowest]))
                    lowest = m;
            }
            picture->panel[lowest] = RPS_PICTURE_LOW;
        }
    }
}

int rps_picture_bin(struct rps_picture *picture, size_t bin_count, struct rps_error *err)
{
    size_t metrics = (size_t)picture->plan->metric_count + RPS_PALETTE_LINES; /* with functions */

    picture->bin_count = bin_count > 0 ? bin_count : bins_across(picture);
    rps_cpu_series_choose_bins(&picture->cpu_series,
                               picture->bin_count *
                                   (picture->turn ? picture->turn->iteration_count : 1));
    picture->panel = rps_arena_get(picture->arena, metrics, sizeof(*picture->panel));
    if (read_series(picture, err) < 0)
        return RPS_FAILED;
    if (picture->apart && picture->line_count > PICTURE_BAND_LINES)
        rps_picture_drop_bands(picture);
    for (int m = 0; m < picture->plan->metric_count; m++)
        picture->panel[m] =
            picture->chosen[m] && rps_picture_has_data(picture, m) ? panel_of(picture, m) : -1;
    if (!picture->named) {
        fold_zeros(picture);
        leave_low(picture);
    }
    if (picture->panel_count == 0 && !picture->has_others)
        picture->panel_count = 1;
    picture->panel_total = picture->panel_count;
    return 0;
}

/* --- height ----------------------------------------------------------------------------------- */

/* Return the height of everything except panels, in pixels at scale 1. */
static double frame_height(const struct rps_picture *picture)
{
    int rows = rps_picture_legend_rows(picture) + rps_picture_needs_label_legend(picture) +
               rps_picture_note_rows(picture) + picture->words.rows + picture->zero_rows;

    return RPS_PICTURE_HEAD + RPS_PICTURE_FOOT + (double)RPS_PICTURE_LEGEND_HEIGHT * rows +
           rps_picture_strip_height(picture) +
           (picture->counted.count > 0 ? RPS_PICTURE_COUNTED_HEIGHT : 0) + picture->below +
           rps_picture_areas_height(&picture->code) + rps_picture_system_height(picture);
}

void rps_picture_drop_panels(struct rps_picture *picture, int fit)
{
    fit = fit < 1 ? 1 : fit;
    picture->panel_count = fit < picture->panel_count ? fit : picture->panel_count;
    for (int m = 0; m < picture->plan->metric_count; m++) {
        if (picture->panel[m] >= picture->panel_count)
            picture->panel[m] = -1;
    }
}

void rps_picture_fit(struct rps_picture *picture, const struct rps_plot_options *options)
{
    double frame, least;

    frame = frame_height(picture);
    if (options->height <= 0) {
        picture->height =
            (int)((frame + (double)PICTURE_PANEL_HEIGHT * picture->panel_count) * picture->scale);
        return;
    }
    picture->height = options->height;
    least = frame + (double)PICTURE_PANEL_MIN * picture->panel_count;
    if (least * fmin(PICTURE_SCALE_MIN, picture->scale) > picture->height) {
        picture->words = (struct rps_picture_words){0}; /* panels have priority over words */
        frame = frame_height(picture);
        least = frame + (double)PICTURE_PANEL_MIN * picture->panel_count;
    }
    picture->scale =
        between(picture->height / least, fmin(PICTURE_SCALE_MIN, picture->scale), picture->scale);
    if (picture->counted.count > 0 &&
        picture->height <
            (frame + (double)PICTURE_PANEL_MIN * picture->panel_count) * picture->scale)
        picture->counted.count = 0;
    if (picture->height <
        (frame_height(picture) + (double)PICTURE_PANEL_MIN * picture->panel_count) *
            picture->scale) {
        picture->threads = (struct rps_picture_areas){0};
        picture->gauge_count = 0;
    }
    if (picture->height <
        (frame_height(picture) + (double)PICTURE_PANEL_MIN * picture->panel_count) * picture->scale)
        picture->code = (struct rps_picture_areas){0}; /* panels have priority over the code */
    rps_picture_drop_panels(
        picture,
        (int)((picture->height / picture->scale - frame_height(picture)) / PICTURE_PANEL_MIN));
}

/* --- the end ---------------------------------------------------------------------------------- */

void rps_picture_free(struct rps_picture *picture)
{
    rps_arena_free(picture->arena);
    memset(picture, 0, sizeof(*picture));
}
