/*
 * Pictures: what a picture of a run holds, before anybody draws it. A picture is read from the
 * store and binned to its width; a kind of picture makes a chart of it (rpistat/chart.h).
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

/* Room in a picture (pixels at scale 1) and in a drawing (characters) that panels do not get. */
#define RPS_PICTURE_LEFT          58 /* of a panel, where a kind has no reason for another */
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
#define RPS_PICTURE_GAUGE_HEIGHT  96  /* of a panel of system signals */
#define RPS_PICTURE_CHARACTER     6.6 /* width of a character of text */
#define RPS_PICTURE_COLUMN_LEFT   8
#define RPS_PICTURE_COLUMN_MARGIN 11
#define RPS_PICTURE_COLUMNS_LEAST 20 /* of a drawing; a narrower terminal shows its left part */

#define RPS_PICTURE_TEXT_SIZE 2048
#define RPS_PICTURE_TIC_SIZE  48

#define RPS_PICTURE_ZERO (-2) /* panel of a metric that is folded: nothing but zeros */
#define RPS_PICTURE_LOW  (-3) /* of one that is left out: others of its panel reach higher */

/* Where the cycle timestamp stood: the way from a time to a place on the axis of cycles. */
struct rps_cycle_map {
    size_t count, room;
    uint64_t seen, stride;  /* every so many periods one is kept */
    double *time_s, *cycle; /* ascending */
};

/* What sets labels apart, in a legend between title and panels: words.c. */
#define RPS_PICTURE_WORDS_MOST 8

struct rps_picture_words {
    int count, rows, columns;
    double left, entry; /* where they begin, and width of one, in pixels at scale 1 */
    int room;           /* characters of one */
    int all;            /* 1: each label in the picture has an entry */
    struct rps_picture_word {
        int label;
        char text[RPS_PICTURE_TEXT_SIZE]; /* "B: 3.1 x the page faults" */
    } word[RPS_PICTURE_WORDS_MOST];
};

/* A panel of areas one on another, in steps: of code its shares of the time (code_panel.c), of
 * threads how many there are on average (system_panels.c). */
#define RPS_PICTURE_AREAS_LINES 29
#define RPS_PICTURE_AREAS_NAME  256
#define RPS_PICTURE_AREAS_OTHER 7 /* colour of all that has no line of its own */

struct rps_picture_areas {
    int line_count;                                             /* 0: no panel */
    char name[RPS_PICTURE_AREAS_LINES][RPS_PICTURE_AREAS_NAME]; /* most of all samples first */
    int colour
        [RPS_PICTURE_AREAS_LINES]; /* place in the palette; -1: the grid's, -2: of quiet text */
    char title[RPS_PICTURE_AREAS_NAME];
    double top; /* that the axis reaches to: 100 of shares */
    size_t step_count;
    double *at;        /* the picture's arena's; step_count + 1 places on the axis */
    double *share;     /* the same; % of each line of each step, or threads */
    int rows, columns; /* of the legend */
    double entry;      /* ... and width of one of it, in pixels at scale 1 */
};

/* A panel of system signals, as resident memory or power: rpistat/system_metrics.h. Arrays are the picture's
 * arena's. */
#define RPS_PICTURE_GAUGES      16
#define RPS_PICTURE_GAUGE_LINES 2

struct rps_picture_gauge {
    const char *title, *name, *unit; /* "Power (W)", "Power", "W" */
    double most;                     /* of all lines */
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
    uint8_t *chosen; /* of each metric: 1 when it is looked at */
    int named;       /* 1: metrics or panels were asked for */
    int apart;       /* 1: CPUs side by side: a panel a metric, in it a line a CPU */
    int quantile;    /* 1: a line is the median of the CPUs, its band reaches from 10 % to 90 % */
    struct rps_cpu_series cpu_series;
    int64_t thinned_ns; /* before it periods were thinned to their sums; -1: nowhere */
    enum rps_axis axis;
    int clock;       /* 1: the axis of time shows the clock on the wall */
    double from, to; /* of the axis: s or clock ticks */
    struct rps_cycle_map cycle_map;
    int characters; /* 1: width and height are characters, not pixels */
    int width, height;
    double scale;              /* of text and lines: 1 for 1200 pixels across */
    int left, right;           /* beside the panels, in pixels at scale 1 */
    size_t bin_count;          /* across */
    int line_count;            /* of each metric: the CPUs that are side by side, or 1 */
    struct rps_series *series; /* of each metric of the plan its lines, one after another;
                                  empty when it is not drawn */
    struct rps_series duty;    /* of what was multiplexed: share of the time that a set was counted;
                                  else empty */
    struct rps_picture_areas code, threads;
    int gauge_count;
    struct rps_picture_gauge gauge[RPS_PICTURE_GAUGES];
    int panel_count;                   /* at least 1 */
    int panel_total;                   /* with those for which there was no room */
    int *panel;                        /* panel of each metric, negative when it is not drawn */
    int zero_rows;                     /* lines that name what is nothing but zeros, and */
    char zeros[RPS_PICTURE_TEXT_SIZE]; /* these lines */
    int below;                         /* room under the panels that a kind has more for, in pixels
                                          at scale 1 */
    int has_phases;
    char remark[RPS_PHASE_REMARK_SIZE]; /* on the whole run: that it repeats, drifts; or "" */
    struct rps_phase_levels levels;     /* of the whole run; none where phases were given */
    const struct rps_loop *turn;    /* NULL, or what one turn is drawn of: the axis is its time */
    struct rps_phases phases;       /* those given, or the level that is shown: borrowed from it */
    struct rps_picture_words words; /* none: all zero */
    struct rps_notes marks, gaps;   /* marks of regions are in `regions` */
    struct rps_run_regions regions; /* those that have a row above the panels */
};

struct rps_picture_axis {
    double from, to, step, scale;
    const char *suffix;
    double peak; /* the largest value when it lies above the axis, else 0 */
};

/* --- charts: fill.c --------------------------------------------------------------------------- */

/* A chart of the picture's size, all of the picture's arena, with title and second line (which
 * `remark` ends, and may be "") and what is nothing but zeros; with other titles. */
struct rps_chart *rps_picture_chart(struct rps_picture *picture, const char *remark);
struct rps_chart *rps_picture_titled_chart(struct rps_picture *picture, const char *title,
                                           const char *second);

/* A panel with the picture's room beside it. */
struct rps_panel *rps_picture_panel(struct rps_chart *chart, const struct rps_picture *picture,
                                    double top, double bottom);

/* An axis with tics at its steps; of cycles or time, with texts or without. */
void rps_picture_scale(struct rps_chart *chart, const struct rps_picture_axis *axis,
                       struct rps_scale *ret);
void rps_picture_x_scale(struct rps_chart *chart, const struct rps_picture *picture, int with_texts,
                         struct rps_scale *ret);

/* --- reading: picture.c ----------------------------------------------------------------------- */

/*
 * Read what all pictures of a run need: run, plan, cpu_series, phases, marks and gaps, the metrics
 * that were asked for, width and scale. RPS_FAILED: the store's errors, a run without periods in
 * that part; RPS_USAGE for a metric or panel that is not there. Free in any case.
 */
int rps_picture_open(struct rps_picture *picture, struct rps_reader *reader, int64_t run_id,
                     const struct rps_plot_options *options, int characters, struct rps_error *err);

/* Fill series, duty and panels of an open picture. bin_count 0: as fits its width. */
int rps_picture_bin(struct rps_picture *picture, size_t bin_count, struct rps_error *err);

/* Width, scale and the room beside the panels. */
void rps_picture_choose_width(struct rps_picture *picture, const struct rps_plot_options *options);

/* Choose height, in pixels, and the panels that fit into one that was given. */
void rps_picture_fit(struct rps_picture *picture, const struct rps_plot_options *options);

/* Keep the first panels alone, at least one. */
void rps_picture_drop_panels(struct rps_picture *picture, int fit);

/* An all-zero picture is harmless. */
void rps_picture_free(struct rps_picture *picture);

/* A walk through the periods of the picture's cpu_series: added up, or each CPU's where side by
 * side. */
struct rps_walk rps_picture_walk(const struct rps_picture *picture);

/* Line `line` of a metric. */
static inline struct rps_series *rps_picture_series(const struct rps_picture *picture, int metric,
                                                    int line)
{
    return &picture->series[metric * picture->line_count + line];
}

/* --- several CPUs: cpus.c ------------------------------------------------------------- ------- */

/* Added up, side by side, or as quantiles. RPS_USAGE where only a sum can be drawn. */
int rps_picture_choose_look(struct rps_picture *picture, enum rps_cpus_way way,
                            struct rps_error *err);

/* From `count` series of each metric, one after another, to one of their median and band. The
 * picture gets these. */
void rps_picture_merge_lines(struct rps_picture *picture, const struct rps_series *series,
                             int count);

/* The bands of many lines lie on one another and hide the lines. */
void rps_picture_drop_bands(struct rps_picture *picture);

/* Rows of the CPUs' legend above the panels; 0 when there is none. */
int rps_picture_legend_rows(const struct rps_picture *picture);

/* --- phases, marks and gaps: strips.c ------------------------------------------------- ------- */

int rps_picture_read_phases(struct rps_picture *picture, struct rps_reader *reader,
                            const struct rps_plot_options *options, struct rps_error *err);

/* Where a time lies on the axis. */
double rps_picture_position(const struct rps_picture *picture, int64_t time_ns);

/* Index of the phase that a period (by its number) belongs to; *hint speeds up ascending searches
 * and is 0 at first. */
size_t rps_picture_phase_of(const struct rps_picture *picture, uint64_t period, size_t *hint);

/* The same by time. */
size_t rps_picture_phase_at(const struct rps_picture *picture, int64_t time_ns);

/* A period as one of a turn, in *ret: with its time in the turn and, as its CPU, the number of the
 * turn in its loop; 0: it is in no usual turn. *hint as above. */
int rps_picture_place_in_turn(const struct rps_picture *picture, size_t *hint,
                              const struct rps_period *period, struct rps_period *ret);

/* Add a period to the cycle_map, of one CPU in order. */
void rps_cycle_map_add(struct rps_picture *picture, double time_s, double cycle);

/* Stretches of time on the axis, within the picture, those less than `least` apart as one, and none
 * shorter than that: each in turn, from *next (0 at first) on; 0 when there are no more. */
int rps_picture_next_stretch(const struct rps_picture *picture, const struct rps_spans *spans,
                             double least, size_t *next, double *ret_from, double *ret_to);

/* A stretch of one label on the axis, within the picture. */
struct rps_picture_box {
    double from, to;
    int label; /* -1: of no label */
    int tint;  /* of a phase of a finer level: shade of its label's colour; else 0 */
};

/*
 * The phases as boxes: one a phase, or where more than a quarter of the `columns` across would be
 * boundaries, the label that prevails in each column. *ret_exact (may be NULL) tells which.
 */
struct rps_picture_box *rps_picture_boxes(const struct rps_picture *picture, size_t columns,
                                          size_t *ret_count, int *ret_exact);

/* A phase's place in the picture; 0 when it has none. */
int rps_picture_place(const struct rps_picture *picture, const struct rps_phase *phase,
                      struct rps_picture_box *ret);

/* Return the turns and parts of a loop, as in "60 x B C D E"; of many parts only the first. */
const char *rps_picture_loop_name(const struct rps_picture *picture,
                                  const struct rps_loop_run *run);

/* Is a label of some phase nowhere written in the strip, for want of room? */
int rps_picture_needs_label_legend(const struct rps_picture *picture);

/* Rows of texts above the panels: one a region, and one of marks and gaps where there are any. */
int rps_picture_note_rows(const struct rps_picture *picture);

/* --- other levels: levels.c----------------------------------------------------------- -------- */

/* The level whose phases stand in a band under the strip: the finest that can be seen in the
 * picture, if it tells more than the one that is shown; 0: none. */
size_t rps_picture_finer(const struct rps_picture *picture);

/*
 * The phases of a level, with labels of the level that is shown: that of the phase which a finer one
 * is a part of; of a coarser one that which prevails in it.
 */
struct rps_picture_box *rps_picture_level_boxes(const struct rps_picture *picture, size_t level,
                                                size_t *ret_count);

/* Height of the strip and that band, in pixels at scale 1; 0 without phases. */
int rps_picture_strip_height(const struct rps_picture *picture);

/* --- code: code_panel.c --------------------------------------------------------------------- - */

/* Read what the panel "Code" of a picture with bins shows, and lay out its legend; line_count stays
 * 0 where there is no such panel. */
int rps_picture_read_code(struct rps_picture *picture, const struct rps_plot_options *options,
                          struct rps_error *err);

/* Height of the panel with its legend, in pixels at scale 1; 0 without it. */
double rps_picture_areas_height(const struct rps_picture_areas *areas);
void rps_picture_lay_out_areas(const struct rps_picture *picture, struct rps_picture_areas *areas);

/* Read what the panels of system signals show, of a picture with bins; their height:
 * system_panels.c. Errors: the store's. */
int rps_picture_read_system(struct rps_picture *picture, const struct rps_plot_options *options,
                            struct rps_error *err);
double rps_picture_system_height(const struct rps_picture *picture);

/* --- what lies on a chart's axis: overlay.c ---------------------------------------------- ---- */

/* Layers over the picture's axis, which panels share. */
struct rps_picture_overlay {
    struct rps_layer *phases, *hatched, *edges, *bounds, *gaps, *marks;
    size_t box_count;
    struct rps_picture_box *box; /* of the phases */
    int exact;                   /* 1: a box a phase, see rps_picture_boxes */
    size_t loop_count;           /* loops whose turns are too narrow for letters and lines, and */
    struct rps_picture_loop {
        double from, to; /* where they are, and */
        const char *text;
    } * loop;
};

/* Make them; of a strip of phases alone, whose files' names begin with `before`: those of label -1
 * are grey. */
void rps_picture_overlay(struct rps_chart *chart, const struct rps_picture *picture,
                         struct rps_picture_overlay *ret);
void rps_picture_overlay_of_phases(struct rps_chart *chart, const struct rps_picture *picture,
                                   const char *before, struct rps_picture_overlay *ret);

/* Draw phases and gaps behind what a panel gets next; boundaries, gaps and marks over areas that
 * fill it. */
void rps_picture_shade(struct rps_chart *chart, struct rps_panel *panel,
                       const struct rps_picture_overlay *overlay);
void rps_picture_over_areas(struct rps_chart *chart, struct rps_panel *panel,
                            const struct rps_picture_overlay *overlay);

/* A strip of phases with their letters; a legend of those that are in the picture, in a row around
 * y. */
struct rps_panel *rps_picture_add_strip(struct rps_chart *chart, const struct rps_picture *picture,
                                        const struct rps_picture_overlay *overlay, double top,
                                        double bottom);
void rps_picture_add_label_legend(struct rps_chart *chart, const struct rps_picture *picture,
                                  double y);

/* Rows above the panels from `top` on: words, regions, texts of marks, legend, strip, finer phases.
 * Returns where they end. */
double rps_picture_add_rows(struct rps_chart *chart, const struct rps_picture *picture,
                            const struct rps_picture_overlay *overlay, double top);

/* A panel of areas one on another above `bottom`, with its data in files of that name: code_panel.c.
 * A panel of system signals: system_panels.c. */
struct rps_panel *rps_picture_add_areas(struct rps_chart *chart, const struct rps_picture *picture,
                                        const struct rps_picture_areas *areas, const char *file,
                                        const struct rps_picture_overlay *overlay, double bottom);
struct rps_panel *rps_picture_add_gauge(struct rps_chart *chart, const struct rps_picture *picture,
                                        const struct rps_picture_gauge *gauge,
                                        const struct rps_picture_overlay *overlay, double bottom);

/* A series as a line, with dots of that size where it would not be seen: fill_time.c. */
struct rps_layer *rps_picture_add_line(struct rps_chart *chart, struct rps_panel *panel,
                                       const struct rps_series *series, const char *file,
                                       rps_ink ink, double dot);

/* The text of a mark or a gap, and where it stands. */
#define RPS_PICTURE_NOTE_SIZE 120
struct rps_picture_note {
    double at;
    char text[RPS_PICTURE_NOTE_SIZE];
};

/* The next of marks and gaps in order of time; 0 when there is none left. *mark and *gap are 0 at
 * first. */
int rps_picture_next_note(const struct rps_picture *picture, size_t *mark, size_t *gap,
                          struct rps_picture_note *ret);

/* Characters that fit across the picture at `px` pixels high. */
int rps_picture_characters_across(const struct rps_picture *picture, double px);

/* The second line; `remark` (may be "") ends it. */
char *rps_picture_subtitle(const struct rps_picture *picture, const char *remark,
                           char text[RPS_PICTURE_TEXT_SIZE]);
char *rps_picture_x_label(const struct rps_picture *picture, char text[RPS_PICTURE_TEXT_SIZE]);
char *rps_picture_heading(const struct rps_picture *picture, int panel,
                          char text[RPS_PICTURE_TEXT_SIZE]);

/* Title of the panel that a metric lies in. */
const char *rps_picture_panel_title(const struct rps_metric *metric);

/* Name the panels from number `from` on, in lines as wide as a drawing; returns how many these
 * are. */
int rps_picture_name_left_out(const struct rps_picture *picture, int from,
                              char text[RPS_PICTURE_TEXT_SIZE]);

/* Name the metrics of no panel that are marked RPS_PICTURE_ZERO, in zeros and zero_rows. */
void rps_picture_name_zeros(struct rps_picture *picture);

/* What a metric's panel would be called if it were alone in it: with its unit. */
char *rps_picture_metric_title(const struct rps_metric *metric, char text[RPS_PICTURE_TEXT_SIZE]);

/* The unit that all metrics of the panel share, "" when they do not. */
const char *rps_picture_panel_unit(const struct rps_picture *picture, int panel);

/* Cut text to `most` characters, the last of them an ellipsis then. */
void rps_picture_cut_text(char *text, int most);
/* ... to what fits left of the panels, at their names' distance and with the picture's margin. */
void rps_picture_cut_name(const struct rps_picture *picture, char *text);

/* Metrics in a panel. */
int rps_picture_panel_lines(const struct rps_picture *picture, int panel);

/* An axis from `from` to `to` with at most `tics` steps: widened to round numbers, and labelled
 * with a unit prefix. */
struct rps_picture_axis rps_picture_axis(double from, double to, int tics);

/* Label the axis without a prefix, if its unit has one. */
void rps_picture_axis_unit(struct rps_picture_axis *axis, const char *unit);

/* The axis of a panel of series. */
struct rps_picture_axis rps_picture_panel_axis(const struct rps_picture *picture, int panel);

/* The power of ten that the axis of time or cycles is labelled in. */
int rps_picture_x_power(const struct rps_picture *picture);

struct rps_picture_tic {
    double at;
    char text[RPS_PICTURE_TIC_SIZE]; /* without blanks */
};

/* The next tic of the axis of time or cycles: 1, or 0 behind the last one. *next is 0 at first. */
int rps_picture_x_tic(const struct rps_picture *picture, int64_t *next,
                      struct rps_picture_tic *ret);

/* The moment of real time of a place on the axis of time. */
int64_t rps_picture_moment_ns(const struct rps_picture *picture, double place);

/* --- in characters: to_characters.c ------------------------------------------------------ ---- */

/*
 * Draw an open picture of characters over time: lines of dots, eight a character, with short axes,
 * the phases as a band of letters and marks as tics below; panels that do not fit are left out.
 */
int rps_picture_draw_characters(struct rps_picture *picture, const struct rps_plot_options *options,
                                FILE *file, struct rps_error *err);

#endif
