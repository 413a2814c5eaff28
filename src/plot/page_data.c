/* The data of the interactive page as JSON, which page.js draws. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "rpistat/document.h"
#include "rpistat/loops.h"
#include "rpistat/page_parts.h"
#include "rpistat/phase_output.h"
#include "rpistat/clock.h"
#include "rpistat/plan.h"
#include "rpistat/profile.h"
#include "rpistat/text.h"
#include "rpistat/code_hooks.h"

#define PAGE_BOXES 20000 /* maximum number of phases, of all levels together: 0.3 MB */
#define PAGE_TABLE 1000  /* maximum number of phases whose metrics are on the page: 0.2 MB */

void rps_page_put_number(struct rps_json *json, double value, int digits)
{
    char text[64];

    if (!isfinite(value)) {
        rps_json_null(json, NULL);
        return;
    }
    snprintf(text, sizeof(text), "%.*g", digits, value);
    rps_json_raw(json, NULL, text);
}

static void put_numbers(struct rps_json *json, const char *name, const double *value, size_t count,
                        int digits)
{
    rps_json_array(json, name);
    for (size_t i = 0; i < count; i++)
        rps_page_put_number(json, value[i], digits);
    rps_json_end(json);
}

static int same_numbers(const double *a, const double *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if ((isfinite(a[i]) || isfinite(b[i])) && !(a[i] <= b[i] && a[i] >= b[i]))
            return 0;
    }
    return 1;
}

/* Put an array. If the array equals another array, put null; the page then uses the other array. */
static void put_unless_same(struct rps_json *json, const char *name, const double *value,
                            const double *other, size_t count, int digits)
{
    if (other && same_numbers(value, other, count))
        rps_json_null(json, name);
    else
        put_numbers(json, name, value, count, digits);
}

/* Return 1 if the series has intervals. */
static int known(const struct rps_series *series)
{
    for (size_t i = 0; i < series->count; i++) {
        if (isfinite(series->low[i]))
            return 1;
    }
    return 0;
}

void rps_page_put_points(struct rps_json *json, const struct rps_series *series,
                         const struct rps_series *first)
{
    put_unless_same(json, "x", series->position,
                    first != series && first->count == series->count ? first->position : NULL,
                    series->count, 9);
    put_numbers(json, "value", series->value, series->count, 5);
    put_unless_same(json, "min", series->min, series->value, series->count, 4);
    put_unless_same(json, "max", series->max, series->value, series->count, 4);
    put_numbers(json, "low", series->low, known(series) ? series->count : 0, 4);
    put_numbers(json, "high", series->high, known(series) ? series->count : 0, 4);
}

static void put_line(struct rps_json *json, const struct rps_picture *picture, int metric, int line,
                     const struct rps_series *first)
{
    const struct rps_series *series = rps_picture_series(picture, metric, line);
    const struct rps_metric *row = &picture->plan->metric[metric];
    char cpu[32];

    rps_json_object(json, NULL);
    snprintf(cpu, sizeof(cpu), "CPU %d", (int)picture->cpu_series.cpu[line]);
    rps_json_text(json, "label", picture->apart ? cpu : row->label);
    rps_json_text(json, "unit", row->unit);
    rps_json_text(json, "explain", row->explain);
    rps_json_bool(json, "isStepped", series->is_stepped);
    rps_page_put_points(json, series, first);
    rps_json_end(json);
}

static void put_panels(struct rps_json *json, const struct rps_picture *picture)
{
    const struct rps_series *first = NULL;
    char text[RPS_PICTURE_TEXT_SIZE];

    rps_json_array(json, "panels");
    for (int p = 0; p < picture->panel_count; p++) {
        struct rps_picture_axis axis = rps_picture_panel_axis(picture, p);

        rps_json_object(json, NULL);
        rps_json_text(json, "title", rps_picture_heading(picture, p, text));
        rps_json_text(json, "unit", rps_picture_panel_unit(picture, p));
        rps_json_double(json, "from", axis.from);
        rps_json_double(json, "to", axis.to);
        rps_json_array(json, "lines");
        for (int m = 0; m < picture->plan->metric_count; m++) {
            for (int line = 0; picture->panel[m] == p && line < picture->line_count; line++) {
                first = first ? first : rps_picture_series(picture, m, line);
                put_line(json, picture, m, line, first);
            }
        }
        rps_json_end(json);
        rps_json_end(json);
    }
    rps_json_end(json);
}

static void put_counted(struct rps_json *json, const struct rps_picture *picture)
{
    rps_json_object(json, "duty");
    put_numbers(json, "x", picture->counted.position, picture->counted.count, 9);
    rps_json_array(json, "value");
    for (size_t i = 0; i < picture->counted.count; i++)
        rps_page_put_number(json, 100 * picture->counted.value[i], 4);
    rps_json_end(json);
    rps_json_end(json);
}

/* The contents of an array of the phases. */
enum phase_column {
    PHASE_LABEL,
    PHASE_FROM,
    PHASE_TO,
    PHASE_EARLIEST,
    PHASE_LATEST,
    PHASE_START,
    PHASE_END,
    PHASE_CONFIDENCE,
    PHASE_COLUMNS,
};

static double phase_value(const struct rps_picture *picture, const struct rps_phase *phase,
                          enum phase_column column)
{
    int64_t before = phase->start_ns - (int64_t)phase->first * picture->run.period_ns;

    switch (column) {
    case PHASE_FROM:
        return rps_picture_position(picture, phase->start_ns);
    case PHASE_TO:
        return rps_picture_position(picture, phase->end_ns);
    case PHASE_EARLIEST:
        return rps_picture_position(picture,
                                    before + (int64_t)phase->earliest * picture->run.period_ns);
    case PHASE_LATEST:
        return rps_picture_position(picture,
                                    before + (int64_t)phase->latest * picture->run.period_ns);
    case PHASE_START:
        return (double)phase->start_ns / 1e9;
    case PHASE_END:
        return (double)phase->end_ns / 1e9;
    case PHASE_CONFIDENCE:
        return phase->confidence;
    default:
        return phase->label;
    }
}

/* Put the phases. There is one array per property, since a long run has thousands of phases. On a
 * time axis, the positions in the arrays are times. */
static void put_phases(struct rps_json *json, const struct rps_picture *picture)
{
    static const char *const name[PHASE_COLUMNS] = {"label",  "from",  "to",  "earliest",
                                                    "latest", "start", "end", "confidence"};
    const struct rps_phases *phases = &picture->phases;

    rps_json_object(json, "phases");
    for (int column = 0; column < PHASE_COLUMNS; column++) {
        int is_time = column == PHASE_START || column == PHASE_END;

        if (is_time && picture->axis == RPS_AXIS_TIME)
            continue;
        rps_json_array(json, name[column]);
        for (size_t i = 0; picture->has_phases && i < phases->count; i++) {
            const struct rps_phase *phase = &phases->phase[i];

            if (phase_value(picture, phase, PHASE_TO) > picture->from &&
                phase_value(picture, phase, PHASE_FROM) < picture->to)
                rps_page_put_number(json, phase_value(picture, phase, (enum phase_column)column),
                                    column == PHASE_CONFIDENCE ? 3 : 9);
        }
        rps_json_end(json);
    }
    rps_json_end(json);
}

static void put_boxes(struct rps_json *json, const struct rps_picture_box *box, size_t count)
{
    rps_json_array(json, "at");
    for (size_t i = 0; i < count; i++)
        rps_page_put_number(json, box[i].from, 9);
    if (count > 0)
        rps_page_put_number(json, box[count - 1].to, 9);
    rps_json_end(json);
    rps_json_array(json, "label");
    for (size_t i = 0; i < count; i++)
        rps_json_int64(json, NULL, box[i].label);
    rps_json_end(json);
    rps_json_array(json, "tint");
    for (size_t i = 0; i < count; i++)
        rps_json_int64(json, NULL, box[i].tint);
    rps_json_end(json);
}

/* Put the levels, from coarse to fine: the number of phases in the run, and the first phase in the
 * picture. The boundaries, labels and tints in the picture follow as arrays, since there may be
 * thousands of each. The number of levels finer than the one shown is limited by space. */
static void put_levels(struct rps_json *json, const struct rps_picture *picture)
{
    const struct rps_phase_levels *levels = &picture->levels;
    size_t boxes = 0;

    rps_json_array(json, "levels");
    for (size_t at = 0; at < levels->count; at++) {
        const struct rps_phases *phases = &levels->level[at];
        struct rps_picture_box *box, unused;
        size_t count = 0, first = 0;

        boxes += phases->count;
        if (at > levels->shown && boxes > PAGE_BOXES)
            break;
        while (first < phases->count && !rps_picture_place(picture, &phases->phase[first], &unused))
            first++;
        box = rps_picture_level_boxes(picture, at, &count);
        rps_json_object(json, NULL);
        rps_json_uint64(json, "total", phases->count);
        rps_json_uint64(json, "first", first);
        put_boxes(json, box, count);
        rps_json_end(json);
    }
    rps_json_end(json);
    rps_json_uint64(json, "shown", levels->shown);
}

/* Put the iterations of a loop (phases `first` to `end` - 1), except the first `before` ones. */
static void put_loop(struct rps_json *json, const struct rps_picture *picture,
                     const struct rps_loop_run *run, size_t first, size_t end, size_t before)
{
    const struct rps_phase *phase = picture->phases.phase;
    const struct rps_phase *last = &phase[run->first + run->count - 1];
    char text[RPS_PICTURE_TEXT_SIZE];

    rps_json_object(json, NULL);
    rps_json_uint64(json, "depth", run->loop->depth);
    rps_json_uint64(json, "first", first - before);
    rps_json_uint64(json, "count", end - first);
    rps_json_double(json, "from", phase_value(picture, &phase[first], PHASE_FROM));
    rps_json_double(json, "to", phase_value(picture, &phase[end - 1], PHASE_TO));
    rps_json_double(json, "turn",
                    (double)(last->end_ns - phase[run->first].start_ns) / (double)run->turns / 1e9);
    rps_json_text(json, "name", rps_picture_loop_name(picture, run));
    snprintf(text, sizeof(text), "%zu iterations, mean ", run->turns);
    rps_text_duration(text + strlen(text), RPS_TEXT_NUMBER_SIZE, (int64_t)run->loop->length);
    snprintf(text + strlen(text), 64, " (sd %.2f s)", run->loop->deviation / 1e9);
    rps_json_text(json, "words", text);
    rps_json_end(json);
}

/* Put the loops in the picture: the listed phases, and the loops' positions and descriptions. */
static void put_loops(struct rps_json *json, const struct rps_picture *picture)
{
    const struct rps_phases *phases = &picture->phases;
    struct rps_loops loops = rps_loops_of(picture->arena, phases);
    struct rps_loop_runs runs = rps_loop_runs_of(picture->arena, &loops);
    char text[RPS_LOOPS_ITERATION_SIZE];
    size_t before = 0;

    while (before < phases->count &&
           phase_value(picture, &phases->phase[before], PHASE_TO) <= picture->from)
        before++;
    rps_json_array(json, "loops");
    for (size_t k = 0; k < runs.count; k++) {
        const struct rps_loop_run *run = &runs.run[k];
        size_t first = run->first > before ? run->first : before;
        size_t end = run->first + run->count;

        while (end > first &&
               phase_value(picture, &phases->phase[end - 1], PHASE_FROM) >= picture->to)
            end--;
        if (end > first)
            put_loop(json, picture, run, first, end, before);
    }
    rps_json_end(json);
    rps_json_text(json, "turn", rps_loops_iteration_text(phases, text));
}

/* Put the table of the phases in the picture, and the table's first phase. Also put the table of
 * the phase classes, as in `rpistat phases`. */
static void put_tables(struct rps_json *json, const struct rps_picture *picture,
                       const struct rps_profile *profile)
{
    const struct rps_phases *all = &picture->phases;
    struct rps_document document = {.arena = rps_arena_new()};
    struct rps_phases shown = {.label_count = all->label_count};
    struct rps_profile part = *profile;
    size_t first = 0;

    while (first < all->count &&
           phase_value(picture, &all->phase[first], PHASE_TO) <= picture->from)
        first++;
    shown.phase = all->phase + first;
    while (first + shown.count < all->count && shown.count < PAGE_TABLE &&
           phase_value(picture, &shown.phase[shown.count], PHASE_FROM) < picture->to)
        shown.count++;
    part.phase += first * profile->figure_count;
    part.phase_interval += first * profile->figure_count;
    rps_json_object(json, "phaseTable");
    rps_block_write_grid(rps_phase_block(&document, &picture->run, &shown, &part), json);
    rps_json_end(json);
    rps_json_object(json, "labelTable");
    rps_block_write_grid(rps_label_block(&document, &picture->run, profile, NULL), json);
    rps_json_end(json);
    rps_arena_free(document.arena);
}

static void put_labels(struct rps_json *json, const struct rps_picture *picture,
                       const struct rps_profile *profile)
{
    rps_json_array(json, "labels");
    for (int l = 0; picture->has_phases && l < profile->label_count; l++) {
        char name[RPS_PHASE_LABEL_SIZE], words[RPS_PROFILE_WORDS_SIZE];

        rps_json_object(json, NULL);
        rps_json_text(json, "name", rps_phase_label(l, name));
        rps_json_text(json, "words", rps_profile_words(words, profile, l, 0));
        rps_json_text(json, "colour", picture->palette->band[l % RPS_PALETTE_LABELS]);
        rps_json_bool(json, "hatched", l >= RPS_PALETTE_LABELS);
        rps_json_end(json);
    }
    rps_json_end(json);
}

static void put_figures(struct rps_json *json, const struct rps_profile *profile)
{
    rps_json_array(json, "figures");
    for (size_t f = 0; f < profile->figure_count; f++) {
        rps_json_object(json, NULL);
        rps_json_text(json, "label", profile->figure[f].label);
        rps_json_text(json, "unit", profile->figure[f].unit);
        rps_json_double(json, "whole", profile->figure[f].whole);
        rps_json_end(json);
    }
    rps_json_end(json);
}

static void put_notes(struct rps_json *json, const struct rps_picture *picture, const char *name,
                      const struct rps_notes *notes)
{
    rps_json_array(json, name);
    for (size_t i = 0; i < notes->count; i++) {
        const struct rps_note *note = &notes->note[i];

        rps_json_object(json, NULL);
        rps_json_double(json, "from", rps_picture_position(picture, note->start_ns));
        rps_json_double(json, "to",
                        rps_picture_position(picture, note->start_ns + note->length_ns));
        rps_json_int64(json, "cpu", note->cpu);
        rps_json_double(json, "start", (double)note->start_ns / 1e9);
        rps_json_double(json, "length", (double)note->length_ns / 1e9);
        rps_json_text(json, "text", note->text);
        rps_json_end(json);
    }
    rps_json_end(json);
}

/* Intervals shorter than 1 / PAGE_STRETCHES of the page's length are merged. */
#define PAGE_STRETCHES 2000

static void put_regions(struct rps_json *json, const struct rps_picture *picture)
{
    double least = (picture->to - picture->from) / PAGE_STRETCHES, from, to;

    rps_json_array(json, "regions");
    for (size_t i = 0; i < picture->regions.count; i++) {
        const struct rps_run_region *region = &picture->regions.region[i];
        size_t next = 0;

        rps_json_object(json, NULL);
        rps_json_text(json, "name", region->name);
        rps_json_double(json, "entered", (double)region->entered);
        rps_json_double(json, "time", (double)region->time_ns / 1e9);
        rps_json_array(json, "at");
        while (rps_picture_next_stretch(picture, &region->spans, least, &next, &from, &to)) {
            rps_json_double(json, NULL, from);
            rps_json_double(json, NULL, to);
        }
        rps_json_end(json);
        rps_json_end(json);
    }
    rps_json_end(json);
}

static void put_row(struct rps_json *json, const char *name, const char *text)
{
    if (!text || !text[0])
        return;
    rps_json_array(json, NULL);
    rps_json_text(json, NULL, name);
    rps_json_text(json, NULL, text);
    rps_json_end(json);
}

static void put_end(struct rps_json *json, const struct rps_run *run)
{
    static const char *const states[] = {
        [RPS_RUN_RECORDING] = "still being recorded",
        [RPS_RUN_COMPLETE] = "complete",
        [RPS_RUN_INTERRUPTED] = "interrupted",
    };
    char text[RPS_TEXT_NUMBER_SIZE + 32];

    put_row(json, "State", states[run->state]);
    put_row(json, "Recording ended", run->end_reason);
    if (run->exit_signal > 0)
        snprintf(text, sizeof(text), "ended by signal %d", run->exit_signal);
    else
        snprintf(text, sizeof(text), "%d", run->exit_status);
    put_row(json, "Exit status", run->exit_status >= 0 || run->exit_signal > 0 ? text : "");
}

static void put_run(struct rps_json *json, const struct rps_picture *picture)
{
    const struct rps_run *run = &picture->run;
    char text[RPS_PICTURE_TEXT_SIZE];

    rps_json_array(json, "run");
    put_row(json, "Command", rps_run_title(text, sizeof(text), run));
    snprintf(text, sizeof(text), "%" PRId64, run->run_id);
    put_row(json, "Number", text);
    put_row(json, "Label", run->label);
    for (int i = 0; i < run->tag_count; i++)
        put_row(json, run->tag[i].key, run->tag[i].value);
    put_row(json, "Host", run->host);
    put_row(json, "Processor", run->cpu_model);
    put_row(json, "Kernel", run->kernel);
    put_row(json, "Folder", run->folder);
    put_row(json, "Started", rps_text_utc(text, sizeof(text), run->start_realtime_ns));
    if (run->elapsed_ns >= 0)
        put_row(json, "Elapsed", rps_text_duration(text, sizeof(text), run->elapsed_ns));
    put_row(json, "Period",
            rps_text_duration(text, sizeof(text),
                              run->period_ns * rps_run_row_periods(run, picture->plan->set_count)));
    put_row(json, "Counters", run->pmu);
    put_row(json, "Counted", picture->plan->title[0] ? picture->plan->title : picture->plan->name);
    put_row(json, "CPUs", rps_cpu_series_name(text, &picture->cpu_series));
    put_end(json, run);
    rps_json_end(json);
}

void rps_page_put_palette(struct rps_json *json, const char *name, enum rps_theme theme)
{
    const struct rps_palette *palette = rps_palette(theme);

    rps_json_object(json, name);
    rps_json_text(json, "background", palette->background);
    rps_json_text(json, "text", palette->text);
    rps_json_text(json, "quiet", palette->quiet);
    rps_json_text(json, "axis", palette->axis);
    rps_json_text(json, "grid", palette->grid);
    rps_json_double(json, "veil", 1 - palette->band_veil / 255.0);
    rps_json_texts(json, "line", palette->line, RPS_PALETTE_LINES);
    rps_json_texts(json, "area", palette->area, RPS_PALETTE_AREAS);
    rps_json_text(json, "low", palette->low);
    rps_json_text(json, "middle", palette->middle);
    rps_json_text(json, "high", palette->high);
    rps_json_texts(json, "band", palette->band, RPS_PALETTE_LABELS);
    rps_json_texts(json, "ink", palette->ink, RPS_PALETTE_LABELS);
    rps_json_array(json, "tint");
    for (int i = 0; i < RPS_PALETTE_TINTS; i++)
        rps_page_put_number(json, 1 - palette->tint_veil[i] / 255.0, 3);
    rps_json_end(json);
    rps_json_end(json);
}

/* Put the description of what a point on the page means. */
static void put_resolution(struct rps_json *json, const struct rps_picture *picture)
{
    size_t points = 0;

    for (int m = 0; m < picture->plan->metric_count; m++) {
        for (int line = 0; picture->panel[m] >= 0 && line < picture->line_count; line++) {
            size_t count = rps_picture_series(picture, m, line)->count;

            points = count > points ? count : points;
        }
    }
    rps_json_uint64(json, "points", points);
    rps_json_bool(json, "binned", points > picture->bin_count / 2);
    rps_json_text(json, "point",
                  rps_run_is_import(&picture->run) ? "row of the file"
                                                   : "rotation of the event sets");
    rps_json_double(json, "binSeconds",
                    (double)picture->run.elapsed_ns / 1e9 / (double)picture->bin_count);
}

/* Put the time of day: the start of the axis, the offset from UTC, and the times at which it
 * changes. Also put a second name of the axis, for the form with or without the time of day. */
static void put_clock(struct rps_json *json, const struct rps_picture *picture)
{
    int64_t at_ns = rps_picture_moment_ns(picture, picture->from);
    int64_t end_ns = rps_picture_moment_ns(picture, picture->to);
    struct rps_picture other = *picture;
    char text[RPS_PICTURE_TEXT_SIZE];

    rps_json_bool(json, "byClock", picture->clock);
    if (picture->axis != RPS_AXIS_TIME || picture->run.start_realtime_ns < 0)
        return;
    other.clock = !picture->clock;
    rps_json_text(json, "otherLabel", rps_picture_x_label(&other, text));
    rps_json_int64(json, "startNs", picture->run.start_realtime_ns);
    rps_json_array(json, "zones");
    for (; at_ns < end_ns; at_ns = rps_wall_change_ns(at_ns, end_ns)) {
        rps_json_object(json, NULL);
        rps_json_double(json, "from",
                        (double)(at_ns - picture->run.start_realtime_ns) / RPS_NS_PER_S);
        rps_json_int64(json, "ahead", rps_wall_offset_s(at_ns));
        rps_json_end(json);
    }
    rps_json_end(json);
}

void rps_page_put_rows(struct rps_json *json, const struct rps_picture *picture)
{
    rps_json_double(json, "from", picture->from);
    rps_json_double(json, "to", picture->to);
    put_panels(json, picture);
    put_counted(json, picture);
}

/* Put the panel "Code" with its shares, or the panel of threads. */
static void put_areas(struct rps_json *json, const char *name, const char *unit,
                      const struct rps_picture_areas *code)
{
    if (code->line_count == 0)
        return;
    rps_json_object(json, name);
    rps_json_text(json, "title", code->title);
    rps_json_text(json, "unit", unit);
    rps_json_double(json, "top", code->top);
    put_numbers(json, "at", code->at, code->step_count + 1, 9);
    rps_json_array(json, "lines");
    for (int line = 0; line < code->line_count; line++) {
        rps_json_object(json, NULL);
        rps_json_text(json, "name", code->name[line]);
        rps_json_int64(json, "colour", code->colour[line]);
        rps_json_array(json, "share");
        for (size_t i = 0; i < code->step_count; i++)
            rps_page_put_number(json, code->share[i * RPS_PICTURE_AREAS_LINES + (size_t)line], 3);
        rps_json_end(json);
        rps_json_end(json);
    }
    rps_json_end(json);
    rps_json_end(json);
}

static void put_gauges(struct rps_json *json, const struct rps_picture *picture)
{
    rps_json_array(json, "gaugePanels");
    for (int g = 0; g < picture->gauge_count; g++) {
        const struct rps_picture_gauge *gauge = &picture->gauge[g];

        rps_json_object(json, NULL);
        rps_json_text(json, "title", gauge->title);
        rps_json_text(json, "unit", gauge->unit);
        rps_json_double(json, "top", gauge->most);
        rps_json_array(json, "lines");
        for (int k = 0; k < gauge->line_count; k++) {
            const struct rps_picture_gauge_line *line = &gauge->line[k];

            rps_json_object(json, NULL);
            rps_json_text(json, "label", line->name);
            put_numbers(json, "x", line->at, line->count, 9);
            put_numbers(json, "value", line->mean, line->count, 5);
            put_numbers(json, "min", line->low, line->count, 5);
            put_numbers(json, "max", line->high, line->count, 5);
            rps_json_end(json);
        }
        rps_json_end(json);
        rps_json_end(json);
    }
    rps_json_end(json);
}

int rps_page_put_data(struct rps_json *json, const struct rps_picture *picture,
                      const struct rps_profile *profile, int has_code, struct rps_error *err)
{
    const struct rps_code_hooks *hooks = rps_store_used_hooks();
    char text[RPS_PICTURE_TEXT_SIZE];

    rps_json_text(json, "title", rps_run_title(text, sizeof(text), &picture->run));
    rps_json_text(json, "subtitle", rps_picture_subtitle(picture, "", text));
    rps_json_text(json, "zeros", picture->zero_rows > 0 ? picture->zeros : "");
    rps_json_bool(json, "apart", picture->apart);
    rps_json_text(json, "axisLabel", rps_picture_x_label(picture, text));
    rps_json_bool(json, "axisIsTime", picture->axis == RPS_AXIS_TIME);
    rps_json_double(json, "axisScale", pow(10, rps_picture_x_power(picture)));
    rps_json_double(json, "from", picture->from);
    rps_json_double(json, "to", picture->to);
    put_clock(json, picture);
    put_resolution(json, picture);
    rps_page_put_palette(json, "light", RPS_THEME_LIGHT);
    rps_page_put_palette(json, "dark", RPS_THEME_DARK);
    put_panels(json, picture);
    put_counted(json, picture);
    put_phases(json, picture);
    put_levels(json, picture);
    put_loops(json, picture);
    if (picture->has_phases)
        put_tables(json, picture, profile);
    put_labels(json, picture, profile);
    put_figures(json, profile);
    put_notes(json, picture, "marks", &picture->marks);
    put_notes(json, picture, "gaps", &picture->gaps);
    put_regions(json, picture);
    put_run(json, picture);
    put_areas(json, "threadsPanel", "threads", &picture->threads);
    put_gauges(json, picture);
    put_areas(json, "codePanel", "%", &picture->code);
    return has_code && hooks && hooks->page ? hooks->page(json, picture, err) : 0;
}
