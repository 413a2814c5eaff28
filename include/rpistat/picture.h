/*
 * Pictures: the contents of a picture of a run before it is drawn. A picture is read from the store
 * and binned to its width; each kind of picture makes a chart of it (rpistat/chart.h).
 */
#ifndef RPISTAT_PICTURE_H
#define RPISTAT_PICTURE_H

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

/* Space in a picture (pixels at scale 1) and in a drawing (characters) that panels do not get. */
#define RPS_PICTURE_LEFT          58 /* of a panel (default) */
#define RPS_PICTURE_RIGHT         34
#define RPS_PICTURE_HEAD          52  /* title above the panels */
#define RPS_PICTURE_FOOT          46  /* axis below them */
#define RPS_PICTURE_LEGEND_HEIGHT 17  /* of one row of a legend, or of marks, below the title */
#define RPS_PICTURE_LEGEND_ENTRY  73  /* width of one entry of the CPUs' legend */
#define RPS_PICTURE_LABEL_ENTRY   36  /* ... of the phases' legend */
#define RPS_PICTURE_HEADING       24  /* above a panel, for its title */
#define RPS_PICTURE_FLOOR         5   /* below it */
#define RPS_PICTURE_STRIP_HEIGHT  22  /* of the phases' strip */
#define RPS_PICTURE_FINER_HEIGHT  9   /* of the band of finer phases under it */
#define RPS_PICTURE_DUTY_HEIGHT   40  /* of the share of time that was counted */
#define RPS_PICTURE_CODE_HEIGHT   120 /* of the panel "Code", without its legend */
#define RPS_PICTURE_GAUGE_HEIGHT  96  /* of a panel of system metrics */
#define RPS_PICTURE_CHARACTER     6.6 /* width of a character of text */
#define RPS_PICTURE_COLUMN_LEFT   8
#define RPS_PICTURE_COLUMN_MARGIN 11
#define RPS_PICTURE_COLUMNS_LEAST 20 /* of a drawing; a narrower terminal shows its left part */

#define RPS_PICTURE_TEXT_SIZE 2048
#define RPS_PICTURE_TIC_SIZE  48

#define RPS_PICTURE_ZERO (-2) /* panel of a folded metric: only zeros */
#define RPS_PICTURE_LOW  (-3) /* of one left out: others of its panel have higher peaks */

/* Values of the cycle timestamp: the conversion from a time to a place on the axis of cycles. */
struct rps_cycle_map {
    size_t count, room;
    uint64_t seen, stride;  /* every stride-th period is kept */
    double *time_s, *cycle; /* ascending */
};

/* Descriptions that distinguish labels, in a legend between title and panels: words.c. */
#define RPS_PICTURE_WORDS_MOST 8

struct rps_picture_words {
    int count, rows, columns;
    double left, entry; /* start of the first, and width of one, in pixels at scale 1 */
    int room;           /* characters of one */
    int all;            /* 1: each label in the picture has an entry */
    struct rps_picture_word {
        int label;
        char text[RPS_PICTURE_TEXT_SIZE]; /* "B: 3.1 x the page faults" */
    } word[RPS_PICTURE_WORDS_MOST];
};

/* A panel of stacked areas, in steps. For code, areas are shares of its time (code_panel.c), for
 * threads their average number (system_panels.c). */
#define RPS_PICTURE_AREAS_LINES 29
#define RPS_PICTURE_AREAS_NAME  256
#define RPS_PICTURE_AREAS_OTHER 7 /* colour of everything without a line of its own */

struct rps_picture_areas {
    int line_count;                                             /* 0: no panel */
    char name[RPS_PICTURE_AREAS_LINES][RPS_PICTURE_AREAS_NAME]; /* largest share first */
    int colour
        [RPS_PICTURE_AREAS_LINES]; /* index in the palette; -1: the grid's, -2: of quiet text */
    char title[RPS_PICTURE_AREAS_NAME];
    double top; /* end of the axis: 100 for shares */
    size_t step_count;
    double *at;        /* the picture's arena's; step_count + 1 places on the axis */
    double *share;     /* the same; % of each line per step, or threads */
    int rows, columns; /* of the legend */
    double entry;      /* ... and width of one entry, in pixels at scale 1 */
};

/* A panel of system metrics, such as resident memory or power: rpistat/system_metrics.h. Arrays are
 * the picture's arena's. */
#define RPS_PICTURE_GAUGES      16
#define RPS_PICTURE_GAUGE_LINES 2

struct rps_picture_gauge {
    const char *title, *name, *unit; /* "Power (W)", "Power", "W" */
    double most;                     /* maximum of all lines */
    int line_count;
    struct rps_picture_gauge_line {
        const char *name, *file; /* file: of its data */
        size_t count;
        double *at, *mean, *low, *high;
    } line[RPS_PICTURE_GAUGE_LINES];
};

struct rps_picture {
    struct rps_arena *arena; /* owned; of the arrays below */
    struct rps_run run;
    struct rps_plan *plan;
    enum rps_plot_kind kind;
    const struct rps_palette *palette;
    uint8_t *chosen; /* per metric: 1 if selected */
    int named;       /* 1: the user named metrics or panels */
    int apart;       /* 1: CPUs side by side: one panel per metric, with one line per CPU */
    int quantile;    /* 1: a line is the median of the CPUs, its band reaches from 10 % to 90 % */
    struct rps_cpu_series cpu_series;
    int64_t thinned_ns; /* earlier periods were downsampled to their sums; -1: none were */
    enum rps_axis axis;
    int clock;       /* 1: the axis of time shows the time of day */
    double from, to; /* of the axis: s or clock ticks */
    struct rps_cycle_map cycle_map;
    int characters; /* 1: width and height are characters, not pixels */
    int width, height;
    double scale;              /* of text and lines: 1 for 1200 pixels across */
    int left, right;           /* of the panels, in pixels at scale 1 */
    size_t bin_count;          /* across */
    int line_count;            /* per metric: the CPUs that are side by side, or 1 */
    struct rps_series *series; /* the lines of each metric of the plan, one after another; empty if
                                  not drawn */
    struct rps_series duty;    /* of multiplexed events: counted share of the time per set;
                                  otherwise empty */
    struct rps_picture_areas code, threads;
    int gauge_count;
    struct rps_picture_gauge gauge[RPS_PICTURE_GAUGES];
    int panel_count;                   /* at least 1 */
    int panel_total;                   /* with those that did not fit */
    int *panel;                        /* panel of each metric, negative if not drawn */
    int zero_rows;                     /* lines that name all metrics that are always zero, and */
    char zeros[RPS_PICTURE_TEXT_SIZE]; /* these lines */
    int below;                         /* extra height under the panels for some kinds, in pixels at
                                          scale 1 */
    int has_phases;
    char remark[RPS_PHASE_REMARK_SIZE]; /* on the whole run: it repeats or drifts; or "" */
    struct rps_phase_levels levels;     /* of the whole run; none if phases were given */
    const struct rps_loop *turn;    /* NULL, or the loop of the one iteration drawn: the axis is its
                                       time */
    struct rps_phases phases;       /* those given, or the level shown: borrowed from it */
    struct rps_picture_words words; /* none: all zero */
    struct rps_notes marks, gaps;   /* marks of regions are in `regions` */
    struct rps_run_regions regions; /* regions that have a row above the panels */
};

struct rps_picture_axis {
    double from, to, step, scale;
    const char *suffix;
    double peak; /* the largest value if it is above the axis, otherwise 0 */
};

/* --- charts: fill.c --------------------------------------------------------------------------- */

/* Make a chart of the picture's size, in the picture's arena. It has title, second line (which ends
 * with `remark`, may be "") and the metrics that are always zero; or other titles. */
struct rps_chart *rps_picture_chart(struct rps_picture *picture, const char *remark);
struct rps_chart *rps_picture_titled_chart(struct rps_picture *picture, const char *title,
                                           const char *second);

/* Add a panel with the picture's margins. */
struct rps_panel *rps_picture_panel(struct rps_chart *chart, const struct rps_picture *picture,
                                    double top, double bottom);

/* Set an axis with tics at its steps; for cycles or time, with or without texts. */
void rps_picture_scale(struct rps_chart *chart, const struct rps_picture_axis *axis,
                       struct rps_scale *ret);
void rps_picture_x_scale(struct rps_chart *chart, const struct rps_picture *picture, int with_texts,
                         struct rps_scale *ret);

/* --- reading: picture.c ----------------------------------------------------------------------- */

/*
 * Read the data that all pictures of a run need: run, plan, cpu_series, phases, marks and gaps, the
 * selected metrics, width and scale. RPS_FAILED: the store's errors, or no periods in that time
 * range; RPS_USAGE for an unknown metric or panel. Free in any case.
 */
int rps_picture_open(struct rps_picture *picture, struct rps_reader *reader, int64_t run_id,
                     const struct rps_plot_options *options, int characters, struct rps_error *err);

/* Fill series, duty and panels of an open picture. bin_count 0: from its width. */
int rps_picture_bin(struct rps_picture *picture, size_t bin_count, struct rps_error *err);

/* Choose width, scale and the margins of the panels. */
void rps_picture_choose_width(struct rps_picture *picture, const struct rps_plot_options *options);

/* Choose height, in pixels, and the panels that fit into a given height. */
void rps_picture_fit(struct rps_picture *picture, const struct rps_plot_options *options);

/* Keep only the first panels, at least one. */
void rps_picture_drop_panels(struct rps_picture *picture, int fit);

/* Free a picture. An all-zero picture is harmless. */
void rps_picture_free(struct rps_picture *picture);

/* Return a walk through the periods of the picture's cpu_series: added up, or per CPU if side by
 * side. */
struct rps_walk rps_picture_walk(const struct rps_picture *picture);

/* Return line `line` of a metric. */
static inline struct rps_series *rps_picture_series(const struct rps_picture *picture, int metric,
                                                    int line)
{
    return &picture->series[metric * picture->line_count + line];
}

/* --- several CPUs: cpus.c ------------------------------------------------------------- ------- */

/* Choose a sum, CPUs side by side, or quantiles. RPS_USAGE if only a sum can be drawn. */
int rps_picture_choose_look(struct rps_picture *picture, enum rps_cpus_way way,
                            struct rps_error *err);

/* Merge `count` series of each metric, one after another, into one of their median and band, and
 * put these into the picture. */
void rps_picture_merge_lines(struct rps_picture *picture, const struct rps_series *series,
                             int count);

/* Remove the bands of many lines: they overlap and hide the lines. */
void rps_picture_drop_bands(struct rps_picture *picture);

/* Return the rows of the CPUs' legend above the panels; 0: none. */
int rps_picture_legend_rows(const struct rps_picture *picture);

/* --- phases, marks and gaps: strips.c ------------------------------------------------- ------- */

int rps_picture_read_phases(struct rps_picture *picture, struct rps_reader *reader,
                            const struct rps_plot_options *options, struct rps_error *err);

/* Return the place of a time on the axis. */
double rps_picture_position(const struct rps_picture *picture, int64_t time_ns);

/* Return the index of the phase of a period (by its number); *hint speeds up ascending searches and
 * is 0 at first. */
size_t rps_picture_phase_of(const struct rps_picture *picture, uint64_t period, size_t *hint);

/* Return the same by time. */
size_t rps_picture_phase_at(const struct rps_picture *picture, int64_t time_ns);

/* Convert a period to one of an iteration, in *ret. Its time is that in the iteration, its CPU the
 * iteration's number in the loop. 0: it is in no usual iteration. *hint as above. */
int rps_picture_place_in_turn(const struct rps_picture *picture, size_t *hint,
                              const struct rps_period *period, struct rps_period *ret);

/* Add a period to the cycle_map; periods of one CPU come in order. */
void rps_cycle_map_add(struct rps_picture *picture, double time_s, double cycle);

/* Find the next interval of time on the axis, within the picture, from *next (0 at first) on; 0: no
 * more. Intervals less than `least` apart are merged, and none is shorter than that. */
int rps_picture_next_stretch(const struct rps_picture *picture, const struct rps_spans *spans,
                             double least, size_t *next, double *ret_from, double *ret_to);

/* An interval of one label on the axis, within the picture. */
struct rps_picture_box {
    double from, to;
    int label; /* -1: no label */
    int tint;  /* of a phase of a finer level: shade of its label's colour; otherwise 0 */
};

/*
 * Return the phases as boxes, one each. If boundaries would be in more than a quarter of the
 * `columns` across, each column is the prevailing label's. *ret_exact (may be NULL): 1 if one each.
 */
struct rps_picture_box *rps_picture_boxes(const struct rps_picture *picture, size_t columns,
                                          size_t *ret_count, int *ret_exact);

/* Find a phase's place in the picture; 0: none. */
int rps_picture_place(const struct rps_picture *picture, const struct rps_phase *phase,
                      struct rps_picture_box *ret);

/* Return the iterations and parts of a loop, as in "60 x B C D E"; only the first of many parts. */
const char *rps_picture_loop_name(const struct rps_picture *picture,
                                  const struct rps_loop_run *run);

/* Return 1 if the strip has no space for the label of some phase. */
int rps_picture_needs_label_legend(const struct rps_picture *picture);

/* Return the rows of texts above the panels: one per region, and one for marks and gaps, if any. */
int rps_picture_note_rows(const struct rps_picture *picture);

/* --- other levels: levels.c----------------------------------------------------------- -------- */

/* Return the level whose phases are in a band under the strip. It is the finest that is visible, if
 * it shows more than the level shown; 0: none. */
size_t rps_picture_finer(const struct rps_picture *picture);

/*
 * Return the phases of a level, with labels of the level shown. A finer phase has the label of the
 * phase that contains it, a coarser one the label that prevails in it.
 */
struct rps_picture_box *rps_picture_level_boxes(const struct rps_picture *picture, size_t level,
                                                size_t *ret_count);

/* Return the height of the strip and that band, in pixels at scale 1; 0 without phases. */
int rps_picture_strip_height(const struct rps_picture *picture);

/* --- code: code_panel.c --------------------------------------------------------------------- - */

/* Read the panel "Code" of a picture with bins, and lay out its legend. Without such a panel,
 * line_count stays 0. */
int rps_picture_read_code(struct rps_picture *picture, const struct rps_plot_options *options,
                          struct rps_error *err);

/* Return the height of the panel with its legend, in pixels at scale 1; 0 without it. */
double rps_picture_areas_height(const struct rps_picture_areas *areas);
void rps_picture_lay_out_areas(const struct rps_picture *picture, struct rps_picture_areas *areas);

/* Read the panels of system metrics of a picture with bins; return their height: system_panels.c.
 * Errors: the store's. */
int rps_picture_read_system(struct rps_picture *picture, const struct rps_plot_options *options,
                            struct rps_error *err);
double rps_picture_system_height(const struct rps_picture *picture);

/* --- annotations on a chart's axis: overlay.c ------------------------------------------------- */

/* Layers over the picture's axis, which panels share. */
struct rps_picture_overlay {
    struct rps_layer *phases, *hatched, *edges, *bounds, *gaps, *marks;
    size_t box_count;
    struct rps_picture_box *box; /* of the phases */
    int exact;                   /* 1: one box per phase, see rps_picture_boxes */
    size_t loop_count;           /* loops with iterations too narrow for letters and lines, and */
    struct rps_picture_loop {
        double from, to; /* their places, and */
        const char *text;
    } * loop;
};

/* Make the layers. For a strip of phases alone, files' names begin with `before`, and phases of
 * label -1 are grey. */
void rps_picture_overlay(struct rps_chart *chart, const struct rps_picture *picture,
                         struct rps_picture_overlay *ret);
void rps_picture_overlay_of_phases(struct rps_chart *chart, const struct rps_picture *picture,
                                   const char *before, struct rps_picture_overlay *ret);

/* Draw phases and gaps in the background of a panel's next layers; or boundaries, gaps and marks
 * over areas that fill it. */
void rps_picture_shade(struct rps_chart *chart, struct rps_panel *panel,
                       const struct rps_picture_overlay *overlay);
void rps_picture_over_areas(struct rps_chart *chart, struct rps_panel *panel,
                            const struct rps_picture_overlay *overlay);

/* Add a strip of phases with their letters; or a legend of the phases in the picture, in a row
 * around y. */
struct rps_panel *rps_picture_add_strip(struct rps_chart *chart, const struct rps_picture *picture,
                                        const struct rps_picture_overlay *overlay, double top,
                                        double bottom);
void rps_picture_add_label_legend(struct rps_chart *chart, const struct rps_picture *picture,
                                  double y);

/* Add rows above the panels from `top` on: words, regions, texts of marks, legend, strip, finer
 * phases. Return their end. */
double rps_picture_add_rows(struct rps_chart *chart, const struct rps_picture *picture,
                            const struct rps_picture_overlay *overlay, double top);

/* Add a panel of stacked areas above `bottom`, with its data in files of that name: code_panel.c.
 * Add a panel of system metrics: system_panels.c. */
struct rps_panel *rps_picture_add_areas(struct rps_chart *chart, const struct rps_picture *picture,
                                        const struct rps_picture_areas *areas, const char *file,
                                        const struct rps_picture_overlay *overlay, double bottom);
struct rps_panel *rps_picture_add_gauge(struct rps_chart *chart, const struct rps_picture *picture,
                                        const struct rps_picture_gauge *gauge,
                                        const struct rps_picture_overlay *overlay, double bottom);

/* Add a series as a line, with dots of that size where a line would be invisible: fill_time.c. */
struct rps_layer *rps_picture_add_line(struct rps_chart *chart, struct rps_panel *panel,
                                       const struct rps_series *series, const char *file,
                                       rps_ink ink, double dot);

/* The text of a mark or a gap, and its position. */
#define RPS_PICTURE_NOTE_SIZE 120
struct rps_picture_note {
    double at;
    char text[RPS_PICTURE_NOTE_SIZE];
};

/* Find the next mark or gap in order of time; 0: no more. *mark and *gap are 0 at first. */
int rps_picture_next_note(const struct rps_picture *picture, size_t *mark, size_t *gap,
                          struct rps_picture_note *ret);

/* Return the characters that fit across the picture at `px` pixels high. */
int rps_picture_characters_across(const struct rps_picture *picture, double px);

/* Return the second line; `remark` (may be "") ends it. */
char *rps_picture_subtitle(const struct rps_picture *picture, const char *remark,
                           char text[RPS_PICTURE_TEXT_SIZE]);
char *rps_picture_x_label(const struct rps_picture *picture, char text[RPS_PICTURE_TEXT_SIZE]);
char *rps_picture_heading(const struct rps_picture *picture, int panel,
                          char text[RPS_PICTURE_TEXT_SIZE]);

/* Return the title of a metric's panel. */
const char *rps_picture_panel_title(const struct rps_metric *metric);

/* Name the panels from number `from` on, in lines as wide as a drawing; return the number of
 * lines. */
int rps_picture_name_left_out(const struct rps_picture *picture, int from,
                              char text[RPS_PICTURE_TEXT_SIZE]);

/* Name the metrics marked RPS_PICTURE_ZERO, which have no panel, in zeros and zero_rows. */
void rps_picture_name_zeros(struct rps_picture *picture);

/* Return the title of a metric's panel if it were alone in it, with its unit. */
char *rps_picture_metric_title(const struct rps_metric *metric, char text[RPS_PICTURE_TEXT_SIZE]);

/* Return the unit that all metrics of the panel share, "" if they differ. */
const char *rps_picture_panel_unit(const struct rps_picture *picture, int panel);

/* Cut text to `most` characters, with an ellipsis as the last if it was longer. */
void rps_picture_cut_text(char *text, int most);
/* ... to the space left of the panels, at their names' distance and with the picture's margin. */
void rps_picture_cut_name(const struct rps_picture *picture, char *text);

/* Return the number of metrics in a panel. */
int rps_picture_panel_lines(const struct rps_picture *picture, int panel);

/* Make an axis from `from` to `to` with at most `tics` steps: widened to round numbers, and
 * labelled with a unit prefix. */
struct rps_picture_axis rps_picture_axis(double from, double to, int tics);

/* Label the axis without a prefix, if its unit has one. */
void rps_picture_axis_unit(struct rps_picture_axis *axis, const char *unit);

/* Return the axis of a panel of series. */
struct rps_picture_axis rps_picture_panel_axis(const struct rps_picture *picture, int panel);

/* Return the power of ten for the labels of the axis of time or cycles. */
int rps_picture_x_power(const struct rps_picture *picture);

struct rps_picture_tic {
    double at;
    char text[RPS_PICTURE_TIC_SIZE]; /* without blanks */
};

/* Find the next tic of the axis of time or cycles: 1, or 0 after the last. *next is 0 at first. */
int rps_picture_x_tic(const struct rps_picture *picture, int64_t *next,
                      struct rps_picture_tic *ret);

/* Return the real time of a place on the axis of time. */
int64_t rps_picture_moment_ns(const struct rps_picture *picture, double place);

/* --- in characters: to_characters.c ------------------------------------------------------ ---- */

/*
 * Draw an open picture in characters over time: lines of dots, eight per character. It has short
 * axes, phases as a band of letters, and marks as tics below. Panels that do not fit are left out.
 */
int rps_picture_draw_characters(struct rps_picture *picture, const struct rps_plot_options *options,
                                FILE *file, struct rps_error *err);

#endif
