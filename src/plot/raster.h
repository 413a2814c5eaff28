/* A raster of character cells for text and dots. A cell has eight dots, two across and four down,
 * like the braille characters of Unicode. The result depends only on the drawing calls. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "rpistat/arena.h"

#define RPS_RASTER_ACROSS 2 /* number of dots in a row and in a column of a cell */
#define RPS_RASTER_DOWN   4

/* The colour of a cell. The number of an ink or a background, from 0, is added to RPS_RASTER_INK or
 * RPS_RASTER_BACKGROUND. Higher numbers repeat the colours. */
enum rps_raster_colour {
    RPS_RASTER_PLAIN,
    RPS_RASTER_QUIET,
    RPS_RASTER_STRONG,
    RPS_RASTER_INK,
    RPS_RASTER_BACKGROUND = RPS_RASTER_INK + 64,
};

struct rps_raster_cell {
    uint32_t code;   /* character; 0: none, or the cell is the second half of a wide character */
    uint8_t dots;    /* one bit per dot, as in U+2800 */
    uint8_t colour;  /* enum rps_raster_colour, or a higher number */
    uint8_t covered; /* 1: the second half of a wide character */
};

struct rps_raster {
    int columns, rows;
    struct rps_raster_cell *cell;
};

/* Return an empty raster of at least one cell. */
struct rps_raster rps_raster_new(struct rps_arena *arena, int columns, int rows);

/* Write as much of the text as fits, starting at a cell. Returns the column after the text. The
 * caller must have removed control characters (rps_text_printable). */
int rps_raster_text(struct rps_raster *raster, int column, int row, const char *text,
                    enum rps_raster_colour colour);

/* Return 1 if the cell is in the raster and has no character. */
int rps_raster_is_free(const struct rps_raster *raster, int column, int row);

/* Draw a dot; x and y are dots from the upper left. Dots outside the raster are ignored. */
void rps_raster_dot(struct rps_raster *raster, int x, int y, enum rps_raster_colour colour);

/* A dashed line of dots: the first `on` of every `period` dots are drawn. *drawn is the number of
 * dots so far, so that dashes continue in the next line. */
struct rps_raster_dash {
    int on, period, drawn;
};
void rps_raster_line(struct rps_raster *raster, int x, int y, int to_x, int to_y,
                     struct rps_raster_dash *dash, enum rps_raster_colour colour);

/* Return the row of dots for a value: 0 for `to`, rows - 1 for `from`. For a value outside this
 * range, return the nearest row. */
int rps_raster_level(double value, double from, double to, int rows);

/* Flags for writing a raster. */
#define RPS_RASTER_ASCII  1 /* use ASCII characters only */
#define RPS_RASTER_COLOUR 2 /* use escape sequences for colours */

/* Write the rows of the raster, without blanks at the ends of rows. */
void rps_raster_write(const struct rps_raster *raster, unsigned flags, FILE *file);
