/* Pictures: the contents of a picture of a run before it is drawn. A picture is read from the store
 * and binned to its width. Each kind of picture makes a chart from the bins (rpistat/chart.h). */
#pragma once

#include <stdio.h>

#include "rpistat/chart.h"
#include "rpistat/phase.h"
#include "rpistat/plot.h"
#include "rpistat/series.h"
#include "rpistat/run_regions.h"
#include "rpistat/walk.h"

struct rps_loop_run;
struct rps_metric;
struct rps_profile;

/* Sizes in a picture (pixels at scale 1) and in a drawing (characters). */
#define RPS_PICTURE_LEFT           58 /* Left margin of a panel (default) */
#define RPS_PICTURE_RIGHT          34
#define RPS_PICTURE_HEAD           52  /* Height of the title above the panels */
#define RPS_PICTURE_FOOT           46  /* Height of the axis below the panels */
#define RPS_PICTURE_LEGEND_HEIGHT  17  /* Height of one row of a legend, or of one row of marks */
#define RPS_PICTURE_LEGEND_ENTRY   73  /* Width of one entry in the legend of CPUs */
#define RPS_PICTURE_LABEL_ENTRY    36  /* Width of one entry in the legend of phases */
#define RPS_PICTURE_HEADING        24  /* Space above a panel for its title */
#define RPS_PICTURE_FLOOR          5   /* Space below a panel */
#define RPS_PICTURE_STRIP_HEIGHT   22  /* Height of the strip of phases */
#define RPS_PICTURE_FINER_HEIGHT   9   /* Height of the band of finer phases under the strip */
#define RPS_PICTURE_COUNTED_HEIGHT 40  /* Height of the panel for the counted share of the time */
#define RPS_PICTURE_CODE_HEIGHT    120 /* Height of the panel "Code" without its legend */
#define RPS_PICTURE_GAUGE_HEIGHT   96  /* Height of a panel of system metrics */
#define RPS_PICTURE_CHARACTER      6.6 /* Width of a character of text */
#define RPS_PICTURE_COLUMN_LEFT    8
#define RPS_PICTURE_COLUMN_MARGIN  11
#define RPS_PICTURE_COLUMNS_MIN    20 /* Minimum width of a drawing; its right may be cut off */

#define RPS_PICTURE_TEXT_SIZE 2048
#define RPS_PICTURE_TIC_SIZE  48

#define RPS_PICTURE_ZERO (-2) /* Panel of a metric that is always zero */
#define RPS_PICTURE_LOW  (-3) /* Panel of a metric that was left out because its peak is low */

/* Map from times to positions on the axis of cycles, made from cycle timestamps. */
struct rps_cycle_map {
    size_t count, room;
    uint64_t seen, stride;  /* Number of seen periods; every stride-th period is kept */
    double *time_s, *cycle; /* Kept values in ascending order */
};

/* Descriptions of labels, in a legend between the title and the panels (words.c). */
#define RPS_PICTURE_WORDS_MAX 8

struct rps_picture_words {
    int count, rows, columns;
    double left, entry; /* Start of the first entry and width of an entry, in pixels at scale 1 */
    int room;           /* Number of characters in an entry */
    int all;            /* 1: each label in the picture has an entry */
    int left_out;       /* number of labels without an entry, if other labels have an entry */
    struct rps_picture_word {
        int label;
        char text
            [RPS_PICTURE_TEXT_SIZE]; /* Description of a label: "B: 3.1 x the rate of page faults" */
    } word[RPS_PICTURE_WORDS_MAX];
};

/* A panel of stacked areas, whose heights change in steps. In the panel of code, an area is a
 * function's or program's share of the time (code_panel.c). In the panel of threads, an area is the
 * average number of threads in a state (system_panels.c). */
#define RPS_PICTURE_AREAS_LINES 29
#define RPS_PICTURE_AREAS_NAME  256
#define RPS_PICTURE_AREAS_OTHER 7 /* Colour of the area for everything that has no separate area */

struct rps_picture_areas {
    int line_count;                                             /* Number of areas (0: no panel) */
    char name[RPS_PICTURE_AREAS_LINES][RPS_PICTURE_AREAS_NAME]; /* Area names, sorted by share */
    int colour
        [RPS_PICTURE_AREAS_LINES]; /* Index in the palette (-1: colour of the grid, -2: colour of
                                      quiet text) */
    char letter[RPS_PICTURE_AREAS_LINES]; /* Letter of a state in a text drawing (0: a, b, c ...) */
    char title[RPS_PICTURE_AREAS_NAME];
    double top; /* Upper end of the y axis, 100 for shares */
    size_t step_count;
    double *at;        /* step_count + 1 positions on the axis, in the picture's arena */
    double *share;     /* Share of each area per step in %, or threads, in the picture's arena */
    int rows, columns; /* Rows and columns of the legend */
    double entry;      /* Width of a legend entry in pixels at scale 1 */
};

/* A panel of system metrics, such as resident memory or power (rpistat/system_metrics.h). The
 * panel's arrays are in the picture's arena. */
#define RPS_PICTURE_GAUGES      16
#define RPS_PICTURE_GAUGE_LINES 2

struct rps_picture_gauge {
    const char *title, *name, *unit; /* Texts of the panel: "Power (W)", "Power", "W" */
    double most;                     /* Maximum value over all lines of the panel */
    int line_count;
    struct rps_picture_gauge_line {
        const char *name, *file; /* Name of the line, and of its data file */
        size_t count;
        double *at, *mean, *low, *high;
    } line[RPS_PICTURE_GAUGE_LINES];
};

struct rps_picture {
    struct rps_arena *arena; /* Arena of the picture's arrays (owned) */
    struct rps_run run;
    struct rps_plan *plan;
    enum rps_plot_kind kind;
    const struct rps_palette *palette;
    uint8_t *chosen; /* Flag per metric: 1 if selected */
    int named;       /* 1: the user named metrics or panels */
    int has_others;  /* 1: the user named panels of threads, system metrics or code */
    int apart;       /* 1: each CPU has a separate line, and each metric a separate panel */
    int quantile;    /* 1: lines are medians of the CPUs, with bands from 10 % to 90 % */
    struct rps_cpu_series cpu_series;
    int64_t thinned_ns; /* Time before which periods were downsampled (-1: none) */
    enum rps_axis axis;
    int clock;       /* 1: the time axis shows the time of day */
    double from, to; /* Range of the axis in s or clock ticks */
    struct rps_cycle_map cycle_map;
    int characters; /* 1: width and height are characters, not pixels */
    int width, height;
    double scale;              /* Scale of text and lines: 1 for a width of 1200 pixels */
    int left, right;           /* Margins of the panels in pixels at scale 1 */
    size_t bin_count;          /* Number of bins across the picture */
    int line_count;            /* Lines per metric: number of CPUs with separate lines, or 1 */
    struct rps_series *series; /* Lines of each metric of the plan, metric by metric (empty if
                                  not drawn) */
    struct rps_series counted; /* Counted share of the time per set, for multiplexed events
                                  (otherwise empty) */
    struct rps_picture_areas code, threads;
    int gauge_count;
    struct rps_picture_gauge gauge[RPS_PICTURE_GAUGES];
    int panel_count;                   /* Number of panels of metrics; 0: only other panels */
    int panel_total;                   /* Number of panels, including panels that did not fit */
    int *panel;                        /* Panel of each metric, negative if not drawn */
    int zero_rows;                     /* Number of lines in `zeros` */
    char zeros[RPS_PICTURE_TEXT_SIZE]; /* Names of all metrics that are always zero */
    int below;                         /* Additional height below the panels that some kinds of
                                          pictures need, in pixels at scale 1 */
    int has_phases;
    char remark[RPS_PHASE_REMARK_SIZE]; /* Remark that the whole run repeats or drifts, or "" */
    struct rps_phase_levels levels;     /* Phases of the whole run (none if phases were given) */
    const struct rps_loop *turn;    /* Loop, if only one of its iterations is drawn (NULL: none).
                                       The axis then shows the iteration's time. */
    struct rps_phases phases;       /* Phases from the caller, or borrowed from the shown level */
    struct rps_picture_words words; /* Descriptions of labels (all zero: none) */
    struct rps_notes marks, gaps;   /* Marks and gaps; marks of regions are in `regions` */
    struct rps_run_regions regions; /* Regions that have a row above the panels */
};

struct rps_picture_axis {
    double from, to, step, scale;
    const char *suffix;
    double peak; /* Largest value, if it is above the end of the axis; otherwise 0 */
};

/* --- charts: texts.c -------------------------------------------------------------------------- */

/* Make a chart of the picture's size, in the picture's arena. rps_picture_chart adds a title, a
 * second line that ends with `remark` (may be ""), and the names of metrics that are always zero.
 * rps_picture_titled_chart adds the given titles. */
struct rps_chart *rps_picture_chart(struct rps_picture *picture, const char *remark);
struct rps_chart *rps_picture_titled_chart(struct rps_picture *picture, const char *title,
                                           const char *second);

/* Add a panel with the picture's margins. */
struct rps_panel *rps_picture_panel(struct rps_chart *chart, const struct rps_picture *picture,
                                    double top, double bottom);

/* Set an axis with tics at its steps. An axis of cycles or time may have tics without texts. */
void rps_picture_scale(struct rps_chart *chart, const struct rps_picture_axis *axis,
                       struct rps_scale *ret);
void rps_picture_x_scale(struct rps_chart *chart, const struct rps_picture *picture, int with_texts,
                         struct rps_scale *ret);

/* --- reading: picture.c ----------------------------------------------------------------------- */

/* Read the data that all pictures of a run need: run, plan, cpu_series, phases, marks, gaps,
 * selected metrics, width and scale. Return RPS_FAILED with errors of the store, or if the time
 * range has no periods. Return RPS_USAGE for an unknown metric or panel. Free the picture even
 * after an error. */
int rps_picture_open(struct rps_picture *picture, struct rps_reader *reader, int64_t run_id,
                     const struct rps_plot_options *options, int characters, struct rps_error *err);

/* Fill series, counted shares and panels of an open picture. bin_count 0: chosen by the width. */
int rps_picture_bin(struct rps_picture *picture, size_t bin_count, struct rps_error *err);

/* Choose the width, the scale and the panels' margins. */
void rps_picture_choose_width(struct rps_picture *picture, const struct rps_plot_options *options);

/* Choose the height in pixels, and the panels that fit into a given height. */
void rps_picture_fit(struct rps_picture *picture, const struct rps_plot_options *options);

/* Keep only the first `fit` panels, at least one. */
void rps_picture_drop_panels(struct rps_picture *picture, int fit);

/* Free a picture. A picture whose members are all zero is permitted. */
void rps_picture_free(struct rps_picture *picture);

/* Return a walk through the periods of the picture's cpu_series. The periods of all CPUs are added
 * up, unless CPUs have separate lines. */
struct rps_walk rps_picture_walk(const struct rps_picture *picture);

/* Return line number `line` of a metric. */
static inline struct rps_series *rps_picture_series(const struct rps_picture *picture, int metric,
                                                    int line)
{
    return &picture->series[metric * picture->line_count + line];
}

/* Return 1 if a line of the metric has a value. */
int rps_picture_has_data(const struct rps_picture *picture, int metric);

/* --- several CPUs: cpus.c ------------------------------------------------------------- ------- */

/* Choose a sum, a line per CPU, or quantiles. Return RPS_USAGE if only a sum can be drawn. */
int rps_picture_choose_look(struct rps_picture *picture, enum rps_cpus_way way,
                            struct rps_error *err);

/* Merge the `count` series of each metric, which are next to each other in the array, into one
 * series with their median and band. Put the merged series into the picture. */
void rps_picture_merge_lines(struct rps_picture *picture, const struct rps_series *series,
                             int count);

/* Remove the bands of many lines, which overlap and hide the lines. */
void rps_picture_drop_bands(struct rps_picture *picture);

/* Return the number of rows of the CPUs' legend above the panels (0: no legend). */
int rps_picture_legend_rows(const struct rps_picture *picture);

/* --- phases, marks and gaps: strips.c ------------------------------------------------- ------- */

int rps_picture_read_phases(struct rps_picture *picture, struct rps_reader *reader,
                            const struct rps_plot_options *options, struct rps_error *err);

/* Return the position of a time on the axis. */
double rps_picture_position(const struct rps_picture *picture, int64_t time_ns);

/* Return the index of the phase that contains the period with the given number. *hint, which is 0
 * at first, makes searches in ascending order fast. */
size_t rps_picture_phase_of(const struct rps_picture *picture, uint64_t period, size_t *hint);

/* Return the index of the phase at a time. */
size_t rps_picture_phase_at(const struct rps_picture *picture, int64_t time_ns);

/* Convert a period to a period relative to the iteration that contains it, in *ret. The time of
 * *ret is the time in the iteration, and the CPU of *ret is the iteration's number in the loop.
 * Return 0 if no usual iteration contains the period. *hint is 0 at first. */
int rps_picture_place_in_turn(const struct rps_picture *picture, size_t *hint,
                              const struct rps_period *period, struct rps_period *ret);

/* Add a period to the cycle_map. Periods of one CPU must come in order. */
void rps_cycle_map_add(struct rps_picture *picture, double time_s, double cycle);

/* Find the next interval of the list from index *next (0 at first) on, as positions on the axis
 * within the picture. Return 0 if there is none. Intervals that are less than `least` apart are
 * merged, and shorter intervals are extended to the length `least`. */
int rps_picture_next_stretch(const struct rps_picture *picture, const struct rps_spans *spans,
                             double least, size_t *next, double *ret_from, double *ret_to);

/* An interval on the axis with one label, within the picture. */
struct rps_picture_box {
    double from, to;
    int label;       /* Label of the interval (-1: none) */
    int tint;        /* Shade of the label's colour, for a phase of a finer level (otherwise 0) */
    int is_doubtful; /* 1 if the label is uncertain, and is followed by "?" */
};

/* Return the phases as boxes, one box per phase. If more than a quarter of the `columns` columns
 * had boundaries, the boxes instead show the most frequent label of each column. *ret_exact (may be
 * NULL) is 1 if each phase has one box. */
struct rps_picture_box *rps_picture_boxes(const struct rps_picture *picture, size_t columns,
                                          size_t *ret_count, int *ret_exact);

/* Find the position of a phase in the picture. Return 0 if the phase is not in the picture. */
int rps_picture_place(const struct rps_picture *picture, const struct rps_phase *phase,
                      struct rps_picture_box *ret);

/* Return the iterations and first parts of a loop as text, such as "60 x B C D E". */
const char *rps_picture_loop_name(const struct rps_picture *picture,
                                  const struct rps_loop_run *run);

/* Return 1 if the strip has no space for the label of some phase. */
int rps_picture_needs_label_legend(const struct rps_picture *picture);

/* Return the number of rows of text above the panels: one per region, one for marks and gaps. */
int rps_picture_note_rows(const struct rps_picture *picture);

/* --- other levels: levels.c----------------------------------------------------------- -------- */

/* Return the level whose phases are in a band under the strip. The level is the finest visible one,
 * if it shows more than the main level; otherwise 0. */
size_t rps_picture_finer(const struct rps_picture *picture);

/* Return the phases of a level as boxes, with labels of the shown level. A finer phase has the
 * label of the phase that contains it. A coarser phase has the label that covers most of the phase.
 */
struct rps_picture_box *rps_picture_level_boxes(const struct rps_picture *picture, size_t level,
                                                size_t *ret_count);

/* Return the height of the strip and its finer band, in pixels at scale 1 (0: no phases). */
int rps_picture_strip_height(const struct rps_picture *picture);

/* --- code: code_panel.c --------------------------------------------------------------------- - */

/* Read the panel "Code" of a picture with bins, and lay out its legend. If there is nothing to
 * show, line_count is not changed from 0. */
int rps_picture_read_code(struct rps_picture *picture, const struct rps_plot_options *options,
                          struct rps_error *err);

/* Title of the panel of threads, and text with each word that a title of the panel of code can
 * have. */
#define RPS_PICTURE_THREADS "Threads: mean number by state, without idle threads and timers"
#define RPS_PICTURE_CODE    "Code: share of time by function module thread program cgroup"

/* Return 1 for a panel whose title the user selected, or if the user selected no panels. */
int rps_picture_shows(const struct rps_picture *picture, const struct rps_plot_options *options,
                      const char *title);

/* Return the height of a panel of areas with its legend, in pixels at scale 1 (0: no panel). */
double rps_picture_areas_height(const struct rps_picture_areas *areas);
void rps_picture_lay_out_areas(const struct rps_picture *picture, struct rps_picture_areas *areas);

/* Read the panels of system metrics of a picture with bins (system_panels.c). Errors come from the
 * store. rps_picture_system_height returns the height of these panels. */
int rps_picture_read_system(struct rps_picture *picture, const struct rps_plot_options *options,
                            struct rps_error *err);
double rps_picture_system_height(const struct rps_picture *picture);

/* --- annotations on a chart's axis: overlay.c ------------------------------------------------- */

/* Layers that all panels over the picture's axis share. */
struct rps_picture_overlay {
    struct rps_layer *phases, *hatched, *edges, *bounds, *gaps, *marks;
    size_t box_count;
    struct rps_picture_box *box; /* Boxes of the phases */
    int exact;                   /* 1: one box per phase, see rps_picture_boxes */
    size_t loop_count;           /* Number of loops whose iterations are too narrow for letters */
    struct rps_picture_loop {
        double from, to; /* Position of the loop */
        const char *text;
    } * loop;
};

/* Make the layers of an overlay. For a strip of phases alone, names of files begin with `before`,
 * and phases of label -1 are grey. */
void rps_picture_overlay(struct rps_chart *chart, const struct rps_picture *picture,
                         struct rps_picture_overlay *ret);
void rps_picture_overlay_of_phases(struct rps_chart *chart, const struct rps_picture *picture,
                                   const char *before, struct rps_picture_overlay *ret);

/* Draw phases and gaps behind the next layers of a panel. In a panel that areas cover, draw
 * boundaries, gaps and marks over the areas. */
void rps_picture_shade(struct rps_chart *chart, struct rps_panel *panel,
                       const struct rps_picture_overlay *overlay);
void rps_picture_over_areas(struct rps_chart *chart, struct rps_panel *panel,
                            const struct rps_picture_overlay *overlay);

/* rps_picture_add_strip adds a strip of phases with their letters; the other function adds a legend
 * of the phases in a row centred at y. */
struct rps_panel *rps_picture_add_strip(struct rps_chart *chart, const struct rps_picture *picture,
                                        const struct rps_picture_overlay *overlay, double top,
                                        double bottom);
void rps_picture_add_label_legend(struct rps_chart *chart, const struct rps_picture *picture,
                                  double y);

/* Add rows above the panels from `top` on: words, regions, texts of marks, legend, strip, finer
 * phases. Return the end of the rows. */
double rps_picture_add_rows(struct rps_chart *chart, const struct rps_picture *picture,
                            const struct rps_picture_overlay *overlay, double top);

/* Add a panel of stacked areas (code_panel.c) or of system metrics (system_panels.c) above
 * `bottom`. The areas' data files are named after `file`. */
struct rps_panel *rps_picture_add_areas(struct rps_chart *chart, const struct rps_picture *picture,
                                        const struct rps_picture_areas *areas, const char *file,
                                        const struct rps_picture_overlay *overlay, double bottom);
struct rps_panel *rps_picture_add_gauge(struct rps_chart *chart, const struct rps_picture *picture,
                                        const struct rps_picture_gauge *gauge,
                                        const struct rps_picture_overlay *overlay, double bottom);

/* Add a series as a line. Points that a line cannot show are dots of size `dot` (fill_time.c). */
struct rps_layer *rps_picture_add_line(struct rps_chart *chart, struct rps_panel *panel,
                                       const struct rps_series *series, const char *file,
                                       rps_ink ink, double dot);

/* Text of a mark or a gap, and its position. */
#define RPS_PICTURE_NOTE_SIZE 120
struct rps_picture_note {
    double at;
    char text[RPS_PICTURE_NOTE_SIZE];
};

/* Find the next mark or gap by time. Return 0 at the end. *mark and *gap are 0 at first. */
int rps_picture_next_note(const struct rps_picture *picture, size_t *mark, size_t *gap,
                          struct rps_picture_note *ret);

/* Return the number of characters, `px` pixels high, that fit across the picture. */
int rps_picture_characters_across(const struct rps_picture *picture, double px);

/* Return the second line of the picture; `remark` (may be "") ends the line. */
char *rps_picture_subtitle(const struct rps_picture *picture, const char *remark,
                           char text[RPS_PICTURE_TEXT_SIZE]);
char *rps_picture_x_label(const struct rps_picture *picture, char text[RPS_PICTURE_TEXT_SIZE]);
char *rps_picture_heading(const struct rps_picture *picture, int panel,
                          char text[RPS_PICTURE_TEXT_SIZE]);

/* Return the title of the panel of a metric. */
const char *rps_picture_panel_title(const struct rps_metric *metric);

/* List the names of the panels from number `from` on, in lines as wide as a drawing. Return the
 * number of lines. */
int rps_picture_name_left_out(const struct rps_picture *picture, int from,
                              char text[RPS_PICTURE_TEXT_SIZE]);

/* Set zeros and zero_rows to names of the metrics marked RPS_PICTURE_ZERO, without panels. */
void rps_picture_name_zeros(struct rps_picture *picture);

/* Return a metric's panel title with its unit, as if the panel had no other metric. */
char *rps_picture_metric_title(const struct rps_metric *metric, char text[RPS_PICTURE_TEXT_SIZE]);

/* Return the unit that all metrics of a panel share, or "" if the units differ. */
const char *rps_picture_panel_unit(const struct rps_picture *picture, int panel);

/* Cut a text to `most` characters. A text that was cut ends with an ellipsis. */
void rps_picture_cut_text(char *text, int most);

/* Return the number of metrics in a panel. */
int rps_picture_panel_lines(const struct rps_picture *picture, int panel);

/* Make an axis from `from` to `to` with at most `tics` steps. The range is widened to round
 * numbers, and the labels have a unit prefix such as "k". */
struct rps_picture_axis rps_picture_axis(double from, double to, int tics);

/* If `unit` already has a prefix, such as MiB, remove the prefix from the labels of the axis. */
void rps_picture_axis_unit(struct rps_picture_axis *axis, const char *unit);

/* Return the axis of a panel of series. */
struct rps_picture_axis rps_picture_panel_axis(const struct rps_picture *picture, int panel);

/* Return the power of ten for the labels of the axis of time or cycles. */
int rps_picture_x_power(const struct rps_picture *picture);

struct rps_picture_tic {
    double at;
    char text[RPS_PICTURE_TIC_SIZE]; /* Text of the tic, without blanks */
};

/* Find the next tic on a time or cycle axis. Return 1, or 0 at the end. *next is 0 at first. */
int rps_picture_x_tic(const struct rps_picture *picture, int64_t *next,
                      struct rps_picture_tic *ret);

/* Return the real time of a position on the time axis. */
int64_t rps_picture_moment_ns(const struct rps_picture *picture, double place);

/* --- in characters: to_characters.c ------------------------------------------------------ ---- */

/* Draw an open picture in characters over time: lines of dots, eight per character. Phases are a
 * row of letters, and marks are tics below the panels. Panels that do not fit are left out. */
int rps_picture_draw_characters(struct rps_picture *picture, const struct rps_plot_options *options,
                                FILE *file, struct rps_error *err);

/* Kinds of pictures of a run. Each kind makes a different chart. */

/* Make the chart of an open picture, in the picture's arena. Return RPS_FAILED if the run lacks the
 * picture's subject: phases, two metrics, ... */
typedef int rps_picture_fill(struct rps_picture *picture, struct rps_reader *reader,
                             const struct rps_plot_options *options, struct rps_chart **ret,
                             struct rps_error *err);

#define RPS_PICTURE_FILL(kind, name, help) rps_picture_fill rps_picture_fill_##name;
RPS_PLOT_KINDS(RPS_PICTURE_FILL)
#undef RPS_PICTURE_FILL

/* Draw the panels of a binned and fitted picture. `remark` begins the picture's second line. */
struct rps_chart *rps_picture_draw_panels(struct rps_picture *picture, const char *remark);

/* Read the profile of the picture's phases. A run without phases gets a single phase, A. */
int rps_picture_profile(const struct rps_picture *picture, struct rps_reader *reader,
                        const struct rps_plot_options *options, struct rps_profile *ret,
                        struct rps_error *err);

/* Choose the labels and words of a picture, after its width and before its height is chosen. */
void rps_picture_choose_words(struct rps_picture *picture, const struct rps_profile *profile,
                              const struct rps_plot_options *options);

/* Draw the words from `top` on, in pixels at scale 1. Return the height of the words. */
double rps_picture_add_words(struct rps_chart *chart, const struct rps_picture *picture,
                             double top);
