/* The HTML page of a comparison: the answer, its rows, both sides over time, and the samples of
 * both sides. It uses the scripts of the page of a run (page.c) and one more script. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "parts.h"
#include "words.h"
#include "work.h"
#include "rpistat/clock.h"
#include "rpistat/output_file.h"
#include "rpistat/page_parts.h"
#include "rpistat/plan.h"
#include "rpistat/code_hooks.h"

#define PAGE_FIGURES 12 /* maximum number of metrics drawn over time by default */

struct page {
    const struct rps_comparison_plot *plot;
    struct rps_comparison_series series;
};

/* Return the run that represents a side. */
static const struct rps_comparison_line *standing(const struct page *page, int side)
{
    return &page->series.run[page->plot->comparison->standing[side]];
}

/* --- figures ---------------------------------------------------------------------------------- */

/* Put both sides' values, the change, its interval and the verdict, in the form of the text. */
static void put_change(const struct rps_comparison *comparison, struct rps_json *json,
                       const char *name, const struct rps_comparison_figure *figure,
                       const struct rps_change *change)
{
    const struct rps_comparison_words words =
        rps_comparison_words(comparison->arena, figure, change);

    rps_json_array(json, name);
    rps_json_text(json, NULL, words.a);
    rps_json_text(json, NULL, words.b);
    rps_json_text(json, NULL, words.change);
    rps_json_text(json, NULL, words.interval);
    rps_json_text(json, NULL, words.verdict);
    rps_json_end(json);
}

static void put_functions(struct rps_json *json, const struct rps_comparison *comparison,
                          const struct rps_comparison_row *row)
{
    static const struct rps_comparison_figure cpu_time = {.kind = RPS_FIGURE_CPU, .unit = "s"};

    rps_json_array(json, "functions");
    for (size_t i = 0; i < row->function_count; i++) {
        const struct rps_share_name *name = &row->function[i].name;

        rps_json_object(json, NULL);
        rps_json_text(json, "name", name->name);
        rps_json_text(json, "module", name->module);
        rps_json_text(json, "file", name->file);
        rps_json_int64(json, "line", name->line);
        put_change(comparison, json, "seconds", &cpu_time, &row->function[i].seconds);
        rps_json_end(json);
    }
    rps_json_end(json);
}

static void put_rows(struct rps_json *json, const struct rps_comparison *comparison)
{
    rps_json_array(json, "rows");
    for (size_t r = 0; r < comparison->row_count; r++) {
        const struct rps_comparison_row *row = &comparison->row[r];
        double start_ns = (double)(row->a_start_ns >= 0 ? row->a_start_ns : row->b_start_ns);

        rps_json_object(json, NULL);
        rps_json_int64(json, "label", row->label);
        rps_json_array(json, "times");
        rps_json_uint64(json, NULL, row->a_times);
        rps_json_uint64(json, NULL, row->b_times);
        rps_json_end(json);
        rps_json_double(json, "start", start_ns / RPS_NS_PER_S);
        rps_json_double(json, "share", rps_comparison_share_of_change(comparison, r));
        rps_json_array(json, "changes");
        for (size_t i = 0; i < comparison->figure_count; i++) {
            if (rps_comparison_is_listed(comparison, i))
                put_change(comparison, json, NULL, &comparison->figure[i], &row->change[i]);
        }
        rps_json_end(json);
        put_functions(json, comparison, row);
        rps_json_end(json);
    }
    rps_json_end(json);
}

static void put_labels(struct rps_json *json, const struct rps_comparison *comparison)
{
    rps_json_array(json, "labels");
    for (size_t l = 0; l + 1 < comparison->row_count; l++) {
        char name[RPS_PHASE_LABEL_SIZE];

        rps_json_object(json, NULL);
        rps_json_text(json, "name", rps_phase_label((int)l, name));
        rps_json_text(json, "colour", rps_palette(RPS_THEME_LIGHT)->band[l % RPS_PALETTE_LABELS]);
        rps_json_bool(json, "hatched", l >= RPS_PALETTE_LABELS);
        rps_json_end(json);
    }
    rps_json_end(json);
}

/* --- over time -------------------------------------------------------------------------------- */

/* Return an axis that includes the means of all bins, but not the extremes of single periods. */
static struct rps_picture_axis panel_axis(const struct page *page, size_t figure)
{
    double from = 0, to = 0;

    for (int side = 0; side < 2; side++) {
        const struct rps_series *series = &standing(page, side)->series[figure];

        for (size_t i = 0; i < series->count; i++) {
            from = fmin(from, series->value[i]);
            to = fmax(to, series->value[i]);
        }
    }
    return rps_picture_axis(from, to, 4);
}

static void put_line(struct rps_json *json, const struct page *page, size_t figure, int side)
{
    const struct rps_comparison_line *run = standing(page, side);
    const struct rps_metric *metric = &page->series.metric[figure];

    rps_json_object(json, NULL);
    rps_json_text(json, "label", page->plot->comparison->name[side]);
    rps_json_int64(json, "side", side);
    rps_json_text(json, "unit", metric->unit);
    rps_json_text(json, "explain", metric->explain);
    rps_page_put_points(json, &run->series[figure], &run->series[0]);
    rps_json_end(json);
}

static void put_panels(struct rps_json *json, const struct page *page)
{
    char text[RPS_PICTURE_TEXT_SIZE];

    rps_json_array(json, "panels");
    for (size_t f = 0; f < page->series.figure_count; f++) {
        const struct rps_metric *metric = &page->series.metric[f];
        struct rps_picture_axis axis = panel_axis(page, f);

        rps_json_object(json, NULL);
        rps_json_text(json, "title", rps_picture_metric_title(metric, text));
        rps_json_text(json, "unit", metric->unit);
        rps_json_double(json, "from", axis.from);
        rps_json_double(json, "to", axis.to);
        rps_json_array(json, "lines");
        put_line(json, page, f, RPS_SIDE_A);
        put_line(json, page, f, RPS_SIDE_B);
        rps_json_end(json);
        rps_json_end(json);
    }
    rps_json_end(json);
}

/* Put a phase or a slot of an axis as an array. Arrays are short, in case there are thousands. */
static void put_place(struct rps_json *json, double from, double to, int64_t number, int label)
{
    rps_json_array(json, NULL);
    rps_page_put_number(json, from, 9);
    rps_page_put_number(json, to, 9);
    rps_json_int64(json, NULL, number);
    rps_json_int64(json, NULL, label);
    rps_json_end(json);
}

/* Put the phases of the run. Each phase has the members from, to, slot, label. */
static void put_stretches(struct rps_json *json, const struct rps_comparison_line *run)
{
    rps_json_array(json, "stretches");
    for (size_t i = 0; i < run->stretch_count; i++) {
        const struct rps_comparison_stretch *stretch = &run->stretch[i];

        put_place(json, stretch->from, stretch->to,
                  stretch->slot == SIZE_MAX ? -1 : (int64_t)stretch->slot, stretch->label);
    }
    rps_json_end(json);
}

static int has_samples(const struct rps_comparison *comparison, size_t run, int side)
{
    return (int)comparison->run[run].side == side && comparison->shares &&
           comparison->shares[run].sample_count > 0;
}

/* Return the total weight of the samples per second of the functions' time in the runs of a side.
 * Return 0 if it is unknown because some samples were taken by a threshold. */
static double samples_per_s(const struct rps_comparison *comparison, int side)
{
    double per_s = 0;

    for (size_t i = 0; i < comparison->run_count; i++) {
        double frequency =
            comparison->shares ? (double)comparison->shares[i].sampling.frequency : 0;

        if (frequency == 0 && has_samples(comparison, i, (int)comparison->run[i].side))
            return 0;
        per_s += !has_samples(comparison, i, side) ? 0 : comparison->is_latency ? 1e6 : frequency;
    }
    return per_s;
}

static void put_sides(struct rps_json *json, const struct page *page)
{
    rps_json_array(json, "sides");
    for (int side = 0; side < 2; side++) {
        rps_json_object(json, NULL);
        rps_json_text(json, "name", page->plot->comparison->name[side]);
        put_stretches(json, standing(page, side));
        rps_json_double(json, "samplesPerSecond", samples_per_s(page->plot->comparison, side));
        rps_json_end(json);
    }
    rps_json_end(json);
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Put samples if both sides have some. Each row of each side is a bin. The number of the bin is
 * side * row_count + label + 1. */
static int put_samples(struct rps_json *json, const struct rps_comparison *comparison,
                       struct rps_error *err)
{
    const struct rps_code_hooks *hooks = rps_store_used_hooks();
    size_t runs = comparison->run_count;
    struct rps_run_part *part = rps_arena_get(comparison->arena, runs, sizeof(*part));
    struct rps_page_joint_run *run = rps_arena_get(comparison->arena, runs, sizeof(*run));
    const struct rps_page_joint joint = {
        .count = runs,
        .run = run,
        .bin_count = 2 * comparison->row_count,
        .named = &comparison->run[comparison->standing[RPS_SIDE_B]].run,
    };
    int has[2] = {0, 0};

    for (size_t i = 0; i < runs; i++) {
        const struct rps_comparison_run *of = &comparison->run[i];

        for (int side = 0; side < 2; side++)
            has[side] |= has_samples(comparison, i, side);
        part[i] = rps_comparison_part(comparison->arena, &of->phases, comparison->row_count);
        part[i].is_latency = comparison->is_latency;
        run[i] = (struct rps_page_joint_run){of->reader, &of->run, &part[i],
                                             (size_t)of->side * comparison->row_count};
    }
    return has[RPS_SIDE_A] && has[RPS_SIDE_B] && hooks && hooks->page_joint
               ? hooks->page_joint(json, &joint, err)
               : 0;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Format the sides: "main: 5 runs (1-5). new: 5 runs (6-10)." */
static const char *sides_text(const struct rps_comparison *comparison)
{
    const char *text = "";

    for (int side = 0; side < 2; side++) {
        const char *more = rps_comparison_side_text(comparison, (enum rps_comparison_side)side);

        text = rps_arena_print(comparison->arena, "%s%s%s%s%s.", text, text[0] ? " " : "",
                               comparison->name[side], more[0] ? ": " : "", more);
    }
    return text;
}

static int put_data(struct rps_json *json, const void *context, struct rps_error *err)
{
    const struct page *page = context;
    const struct rps_comparison *comparison = page->plot->comparison;
    int result = 0;

    rps_json_object(json, NULL);
    rps_json_text(json, "title", rps_comparison_answer(comparison));
    rps_json_text(json, "subtitle", sides_text(comparison));
    rps_json_text(json, "tested", rps_comparison_tested_text(comparison));
    rps_json_bool(json, "axisIsTime", 1);
    rps_json_text(json, "axisLabel", "Time since the start of each run");
    rps_json_double(json, "to", page->series.length);
    rps_json_double(json, "phaseTo", page->series.phase_length);
    rps_page_put_palette(json, "light", RPS_THEME_LIGHT);
    rps_page_put_palette(json, "dark", RPS_THEME_DARK);
    put_panels(json, page);
    put_sides(json, page);
    /* Put the slots of the axis by phase. Each slot has the members from, to, sides, label. */
    rps_json_array(json, "slots");
    for (size_t i = 0; i < page->series.slot_count; i++) {
        const struct rps_comparison_slot *slot = &page->series.slot[i];

        put_place(json, slot->from, slot->to, slot->sides, slot->label);
    }
    rps_json_end(json);
    put_labels(json, comparison);
    rps_json_array(json, "figures");
    for (size_t i = 0; i < comparison->figure_count; i++) {
        if (rps_comparison_is_listed(comparison, i))
            rps_json_text(json, NULL, comparison->figure[i].label);
    }
    rps_json_end(json);
    put_rows(json, comparison);
    rps_json_texts(json, "remarks", (const char *const *)comparison->remark,
                   comparison->remark_count);
    rps_json_text(json, "functionTime", comparison->is_latency ? "latency" : "CPU time");
    result = put_samples(json, comparison, err);
    rps_json_end(json);
    return result;
}

static int write_page(const struct page *page, struct rps_error *err)
{
    const struct rps_comparison_plot *plot = page->plot;
    struct rps_output_file file = {0};
    struct rps_page parts = {.output = plot->path,
                             .template = "compare.html",
                             .folder = plot->script_folder,
                             .title = rps_arena_print(plot->comparison->arena, "%s against %s",
                                                      plot->comparison->name[0],
                                                      plot->comparison->name[1]),
                             .theme = plot->theme,
                             .put = put_data,
                             .context = page};
    int result = rps_output_file_open(&file, plot->path, 0, err);

    if (result < 0)
        return result;
    parts.out = fdopen(dup(file.fd), "w");
    if (parts.out)
        result = rps_page_fill(&parts, err);
    if (!parts.out || (fclose(parts.out) != 0 && result == 0))
        result = rps_error_set(err, RPS_FAILED, "cannot write %s: %s; choose another file with -o",
                               plot->path, strerror(errno));
    if (result == 0)
        result = rps_output_file_finish(&file, err);
    rps_output_file_abandon(&file);
    return result;
}

int rps_comparison_page(const struct rps_comparison_plot *plot, struct rps_error *err)
{
    struct page page = {.plot = plot};
    size_t figures = plot->metric_count > 0 ? plot->metric_count : PAGE_FIGURES;
    int result =
        rps_comparison_series_read(plot, figures, rps_page_bins(2 * figures), &page.series, err);

    return result == 0 ? write_page(&page, err) : result;
}
