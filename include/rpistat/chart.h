/*
 * The contents of a picture before it is drawn: panels, each with two axes and layers of shapes in
 * the axes' units. A kind of picture fills a chart; to_gnuplot.c draws it, without knowledge of
 * runs. All is the arena's. Places of panels are pixels at scale 1, from the chart's left and top.
 */
#ifndef RPISTAT_CHART_H
#define RPISTAT_CHART_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"
#include "rpistat/palette.h"

/* A colour of the palette; colours with an index are the sum of both. */
typedef uint32_t rps_ink;

enum {
    RPS_INK_TEXT,
    RPS_INK_QUIET,
    RPS_INK_AXIS,
    RPS_INK_GRID,
    RPS_INK_FAINT,
    RPS_INK_BACKGROUND,
    RPS_INK_ON_AREA, /* text on areas of phases, in both themes */
    RPS_INK_WHITE,
    RPS_INK_LINE = 0x10000,  /* + n: of the n-th line; the second eight are dashed */
    RPS_INK_BAND = 0x20000,  /* + label: area of a phase */
    RPS_INK_POINT = 0x30000, /* + label: point of a phase */
    RPS_INK_MAP = 0x40000,   /* + 0 ... RPS_INK_MAP_STEPS: from the lowest to the highest */
    RPS_INK_AREA = 0x50000,  /* + n: area of the n-th function, program or thread state */
};

#define RPS_INK_MAP_STEPS 40

/* Return 1 if another label has the same ink, for labels beyond the colours. */
int rps_ink_is_repeated(rps_ink ink);

/* An ink with a transparency from 0 (none) to 255 (full). */
#define RPS_INK_VEIL(ink, veil) ((rps_ink)(ink) | (rps_ink)(veil) << 24)

enum rps_layer_kind {
    RPS_LAYER_LINE,     /* through x, y; NaN is a gap */
    RPS_LAYER_BAND,     /* at x from y to y2; NaN is a gap */
    RPS_LAYER_BOXES,    /* from x, y to x2, y2 */
    RPS_LAYER_SPANS,    /* from x to x2, as high as the panel */
    RPS_LAYER_RULES,    /* at x, as high as the panel */
    RPS_LAYER_SEGMENTS, /* from x, y to x2, y2 */
    RPS_LAYER_POINTS,   /* at x, y */
};

/* The look of a layer, depending on its kind; the position of a label. */
enum rps_look {
    RPS_LOOK_PLAIN,   /* solid; labels: to the right of their place */
    RPS_LOOK_DASHED,  /* lines, rules */
    RPS_LOOK_DOTTED,  /* ... */
    RPS_LOOK_HATCHED, /* areas of labels beyond the colours */
    RPS_LOOK_UNSURE,  /* the range of an uncertain boundary */
    RPS_LOOK_GAP,     /* a time range that was not recorded */
    RPS_LOOK_CENTRE,  /* labels: in the middle of their place, or */
    RPS_LOOK_RIGHT,   /* ... to the left of it; */
    RPS_LOOK_BOXED,   /* in the middle, on a background; or */
    RPS_LOOK_BESIDE,  /* likewise, above and to the right */
};

enum rps_text_size { RPS_TEXT_NORMAL, RPS_TEXT_SMALL, RPS_TEXT_TITLE };

struct rps_shape {
    double x, y, x2, y2;
    rps_ink ink; /* if the layer has `each` */
};

struct rps_layer {
    enum rps_layer_kind kind;
    const char *file; /* of its data, without .dat; layers with the same shapes share it */
    const char *name; /* in the panel's legend; NULL: not listed */
    rps_ink ink;
    int each; /* 1: each shape has its own ink, plus the layer's veil */
    enum rps_look look;
    int shape_of;  /* of points: the label that determines their form */
    double weight; /* width of lines, size of points */
    size_t count;
    struct rps_shape *shape;
};

struct rps_label {
    double x, y;
    enum rps_look look;
    enum rps_text_size size;
    rps_ink ink;
    const char *text;
};

struct rps_tic {
    double at;
    const char *text;
};

struct rps_scale {
    double from, to;
    const char *label; /* of x: below it */
    int shown;         /* 1: with its line, tics and their grid */
    size_t tic_count;
    struct rps_tic *tic;
};

struct rps_panel {
    double left, right, top, bottom;
    const char *heading;   /* above, at the left */
    int legend_rows;       /* of names of layers below the heading; 0: next to it */
    int quiet;             /* 1: tics small and faint */
    struct rps_scale x, y; /* y.from is at the bottom */
    size_t layer_count;
    struct rps_layer **layer; /* from back to front; may also belong to another panel */
    size_t label_count;
    struct rps_label *label; /* in front of them */
};

struct rps_chart {
    struct rps_arena *arena; /* borrowed */
    const struct rps_palette *palette;
    int width, height; /* pixels */
    double scale;      /* of text, lines and places: 1 for 1200 pixels across */
    int nameless;      /* layers without a name for their file */
    size_t panel_count;
    struct rps_panel **panel; /* in the order of drawing; the first is the whole chart, whose units
                                 are places */
};

/* --- building: chart.c ------------------------------------------------------------------------ */

struct rps_chart *rps_chart_new(struct rps_arena *arena, const struct rps_palette *palette,
                                int width, int height, double scale);

struct rps_panel *rps_chart_panel(struct rps_chart *chart, double left, double right, double top,
                                  double bottom);

/* Add a layer in front of the panel's others; to no panel yet if `panel` is NULL. `file` is
 * borrowed; if it is NULL, the layer gets a number. */
struct rps_layer *rps_chart_layer(struct rps_chart *chart, struct rps_panel *panel,
                                  enum rps_layer_kind kind, const char *file, rps_ink ink);

/* Draw another panel's layer here, too. */
void rps_chart_share(struct rps_chart *chart, struct rps_panel *panel, struct rps_layer *layer);

/* Add a shape; borrowed until the next call. */
struct rps_shape *rps_chart_shape(struct rps_chart *chart, struct rps_layer *layer, double x,
                                  double y, double x2, double y2);

void rps_chart_tic(struct rps_chart *chart, struct rps_scale *scale, double at, const char *text);

/* Put a copy of a text into a panel, or at a place of the chart. */
void rps_chart_label(struct rps_chart *chart, struct rps_panel *panel, double x, double y,
                     enum rps_look look, rps_ink ink, const char *text);
void rps_chart_text(struct rps_chart *chart, double x, double y, enum rps_look look,
                    enum rps_text_size size, rps_ink ink, const char *text);

/* Draw a box in the chart, hatched for a phase beyond the colours. */
void rps_chart_box(struct rps_chart *chart, double x, double y, double x2, double y2, rps_ink ink);

/* Draw a line or a point in the chart, like a layer of segments or points. */
void rps_chart_line(struct rps_chart *chart, double x, double y, double x2, double y2,
                    const struct rps_layer *like);

/* Put an entry of a legend at a place of the chart: a swatch like a layer of boxes, segments or
 * points, and a text. */
void rps_chart_entry(struct rps_chart *chart, double x, double y, const struct rps_layer *like,
                     const char *text);

/* --- drawing: to_gnuplot.c -------------------------------------------------------------------- */

/* Write the files that plot/draw.gp needs into a directory; xml: for a format that is XML. */
int rps_chart_write(const struct rps_chart *chart, int xml, int folder_fd, struct rps_error *err);

#endif
