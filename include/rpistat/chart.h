/* The contents of a picture before it is drawn. A chart has panels. A panel has two axes, and
 * layers of shapes whose positions are in the axes' units. For each kind of picture, a file fills a
 * chart. to_gnuplot.c draws any chart without knowledge of runs. All data is in the arena.
 * Positions of panels are pixels at scale 1, from the chart's left and top. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

/* Colours of pictures, for both themes: distinct for colour-blind readers, and in grey.
 *
 * Lines have the colours of Okabe and Ito. Phases have Paul Tol's light scheme, which is made for
 * areas under dark text. Light and dark colours alternate in the scheme, so that neighbours differ
 * also in print. A point of a phase has a stronger ink with the hue of the phase. Areas of
 * functions are violet and brown, because no phase has these hues. Every colour has only one
 * meaning in a picture. */

#define RPS_PALETTE_LINES  8
#define RPS_PALETTE_AREAS  8 /* Number of colours for functions, programs and threads */
#define RPS_PALETTE_LABELS 9 /* Number of label colours; further labels are hatched or shaped */
#define RPS_PALETTE_TINTS  5 /* Tints of a label's ink for finer phases; further ones repeat */

enum rps_theme {
    RPS_THEME_CHOSEN, /* Default: light; a page follows the reader's browser */
    RPS_THEME_LIGHT,
    RPS_THEME_DARK,
};

/* Colours of a theme, each as six hexadecimal digits. */
struct rps_palette {
    const char *background, *text, *quiet, *axis, *grid;
    const char *faint;                    /* Colour of hatching over areas */
    const char *band[RPS_PALETTE_LABELS]; /* Colours of areas of phases */
    const char *ink[RPS_PALETTE_LABELS];  /* Colours of points of phases */
    int band_veil;                        /* Transparency of areas under lines, 0 ... 255 */
    int tint_veil[RPS_PALETTE_TINTS];     /* Transparency of each tint, in an order in which
                                             neighbours differ most */
    const char *line[RPS_PALETTE_LINES];
    const char *area[RPS_PALETTE_AREAS];
    const char *low, *middle, *high; /* Colours for values below, at and above the mean */
};

const struct rps_palette *rps_palette(enum rps_theme theme);

/* A colour of the palette. For an indexed colour, add the index to the base value. */
typedef uint32_t rps_ink;

enum {
    RPS_INK_TEXT,
    RPS_INK_QUIET,
    RPS_INK_AXIS,
    RPS_INK_GRID,
    RPS_INK_FAINT,
    RPS_INK_BACKGROUND,
    RPS_INK_ON_AREA, /* Ink of text on areas of phases, in both themes */
    RPS_INK_WHITE,
    RPS_INK_LINE = 0x10000,  /* Base ink of lines; add the number. Lines 8 ... 15 are dashed. */
    RPS_INK_BAND = 0x20000,  /* Base ink for areas of phases; add the label */
    RPS_INK_POINT = 0x30000, /* Base ink for points of phases; add the label */
    RPS_INK_MAP = 0x40000,   /* Base ink for a colour scale; add 0 (lowest) ... RPS_INK_MAP_STEPS */
    RPS_INK_AREA = 0x50000,  /* Base ink for areas of functions, programs, states; add a number */
};

#define RPS_INK_MAP_STEPS 40

/* Return 1 if another label also has this ink, because there are more labels than colours. */
int rps_ink_is_repeated(rps_ink ink);

/* An ink with a transparency from 0 (none) to 255 (full). */
#define RPS_INK_VEIL(ink, veil) ((rps_ink)(ink) | (rps_ink)(veil) << 24)

enum rps_layer_kind {
    RPS_LAYER_LINE,     /* Line through the points (x, y); NaN is a gap */
    RPS_LAYER_BAND,     /* Vertical band from y to y2 at each x; NaN is a gap */
    RPS_LAYER_BOXES,    /* Box from (x, y) to (x2, y2) */
    RPS_LAYER_SPANS,    /* Span from x to x2 over the panel's height */
    RPS_LAYER_RULES,    /* Vertical line at x over the panel's height */
    RPS_LAYER_SEGMENTS, /* Segment from (x, y) to (x2, y2) */
    RPS_LAYER_POINTS,   /* Point at (x, y) */
};

/* Look of a layer, whose meaning depends on the layer's kind, or position of a label. */
enum rps_look {
    RPS_LOOK_PLAIN,   /* Solid look; a label is to the right of its position */
    RPS_LOOK_DASHED,  /* Dashed look of lines and rules */
    RPS_LOOK_DOTTED,  /* Dotted look of lines and rules */
    RPS_LOOK_HATCHED, /* Hatched areas, for labels without a colour of their own */
    RPS_LOOK_UNSURE,  /* Range of an uncertain boundary */
    RPS_LOOK_GAP,     /* Time range that was not recorded */
    RPS_LOOK_CENTRE,  /* Label centred at its position */
    RPS_LOOK_RIGHT,   /* Label to the left of its position */
    RPS_LOOK_BOXED,   /* Label centred on a background */
    RPS_LOOK_BESIDE,  /* Label on a background, above and to the right of its position */
};

enum rps_text_size { RPS_TEXT_NORMAL, RPS_TEXT_SMALL, RPS_TEXT_TITLE };

struct rps_shape {
    double x, y, x2, y2;
    rps_ink ink; /* Ink of the shape, used if the layer has `each` */
};

struct rps_layer {
    enum rps_layer_kind kind;
    const char *file; /* Name of the data file, without .dat; layers with equal shapes share it */
    const char *name; /* Name in the panel's legend (NULL: not listed) */
    rps_ink ink;
    int each; /* 1 if each shape has its own ink, to which the layer's transparency is added */
    enum rps_look look;
    int shape_of;  /* Label that determines the shape of points */
    double weight; /* Width of lines or size of points */
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
    const char *label; /* Label below the x axis */
    int shown;         /* 1 if the axis has its line, tics and grid, 0 if hidden */
    size_t tic_count;
    struct rps_tic *tic;
};

struct rps_panel {
    double left, right, top, bottom;
    const char *heading;   /* Heading above the panel, at the left */
    int legend_rows;       /* Rows of the legend below the heading (0: next to the heading) */
    int quiet;             /* 1 if the tics are small and faint */
    struct rps_scale x, y; /* Axes of the panel; y.from is at the bottom */
    size_t layer_count;
    struct rps_layer **layer; /* Layers from back to front; another panel may share a layer */
    size_t label_count;
    struct rps_label *label; /* Labels in front of the layers */
};

struct rps_chart {
    struct rps_arena *arena; /* borrowed */
    const struct rps_palette *palette;
    int width, height; /* Size of the chart in pixels */
    double scale;      /* Scale of text, lines and positions: 1 for a width of 1200 pixels */
    int nameless;      /* Number of layers without a file name */
    size_t panel_count;
    struct rps_panel **panel; /* Panels in drawing order. The first panel is the whole chart,
                                 with positions as units. */
};

/* --- building: chart.c ------------------------------------------------------------------------ */

struct rps_chart *rps_chart_new(struct rps_arena *arena, const struct rps_palette *palette,
                                int width, int height, double scale);

struct rps_panel *rps_chart_panel(struct rps_chart *chart, double left, double right, double top,
                                  double bottom);

/* Add a layer in front of the panel's other layers. If `panel` is NULL, the layer has no panel yet.
 * `file` is borrowed; if it is NULL, the layer gets a number as its file name. */
struct rps_layer *rps_chart_layer(struct rps_chart *chart, struct rps_panel *panel,
                                  enum rps_layer_kind kind, const char *file, rps_ink ink);

/* Draw a layer of another panel in this panel, too. */
void rps_chart_share(struct rps_chart *chart, struct rps_panel *panel, struct rps_layer *layer);

/* Add a shape, and return it. The pointer is valid until the next call. */
struct rps_shape *rps_chart_shape(struct rps_chart *chart, struct rps_layer *layer, double x,
                                  double y, double x2, double y2);

void rps_chart_tic(struct rps_chart *chart, struct rps_scale *scale, double at, const char *text);

/* Put a copy of a text into a panel (rps_chart_label) or into the chart (rps_chart_text). */
void rps_chart_label(struct rps_chart *chart, struct rps_panel *panel, double x, double y,
                     enum rps_look look, rps_ink ink, const char *text);
void rps_chart_text(struct rps_chart *chart, double x, double y, enum rps_look look,
                    enum rps_text_size size, rps_ink ink, const char *text);

/* Draw a box in the chart. The box is hatched if its phase label has no colour of its own. */
void rps_chart_box(struct rps_chart *chart, double x, double y, double x2, double y2, rps_ink ink);

/* Draw a line or a point in the chart, in the look of the layer `like`. */
void rps_chart_line(struct rps_chart *chart, double x, double y, double x2, double y2,
                    const struct rps_layer *like);

/* Put an entry of a legend at a position in the chart. An entry is a text after a small sample of
 * the layer: a box, a segment or a point. */
void rps_chart_entry(struct rps_chart *chart, double x, double y, const struct rps_layer *like,
                     const char *text);

/* --- drawing: to_gnuplot.c -------------------------------------------------------------------- */

/* Write the files that plot/draw.gp needs into a directory. xml is 1 for an XML-based format. */
int rps_chart_write(const struct rps_chart *chart, int xml, int folder_fd, struct rps_error *err);
