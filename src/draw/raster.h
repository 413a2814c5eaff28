/*
 * A raster of character cells for text and dots. A cell has eight dots, two across and four down,
 * like the braille characters of Unicode. Pure: the result depends only on the drawing calls.
 */
#ifndef RPISTAT_DRAW_RASTER_H
#define RPISTAT_DRAW_RASTER_H

#include <stdint.h>
#include <stdio.h>

#include "rpistat/arena.h"

#define RPS_RASTER_ACROSS 2 /* dots of a cell */
#define RPS_RASTER_DOWN   4

/* The colour of a cell. Inks and backgrounds are numbered from 0 after the names, and repeat if
 * there are more. */
enum rps_raster_colour {
    RPS_RASTER_PLAIN,
    RPS_RASTER_QUIET,
    RPS_RASTER_STRONG,
    RPS_RASTER_INK,
    RPS_RASTER_BACKGROUND = RPS_RASTER_INK + 64,
};

struct rps_raster_cell {
    uint32_t code;   /* character; 0: none, or the second half of a wide one */
    uint8_t dots;    /* one bit each, as in U+2800 */
    uint8_t colour;  /* enum rps_raster_colour */
    uint8_t covered; /* 1: the second half of a wide character */
};

struct rps_raster {
    int columns, rows;
    struct rps_raster_cell *cell;
};

/* Return an empty raster of at least one cell. */
struct rps_raster rps_raster_new(struct rps_arena *arena, int columns, int rows);

/* Write as much text as fits, starting at a cell; return the column after it. The caller removes
 * control characters (rps_text_printable). */
int rps_raster_text(struct rps_raster *raster, int column, int row, const char *text,
                    enum rps_raster_colour colour);

/* Return 1 for a cell of the raster without a character. */
int rps_raster_is_free(const struct rps_raster *raster, int column, int row);

/* Draw a dot, counted from the upper left corner; dots outside are ignored. */
void rps_raster_dot(struct rps_raster *raster, int x, int y, enum rps_raster_colour colour);

/* A dashed line of dots: of every `period` dots the first `on` are drawn. *drawn counts them, so
 * that dashes continue from line to line. */
struct rps_raster_dash {
    int on, period, drawn;
};
void rps_raster_line(struct rps_raster *raster, int x, int y, int to_x, int to_y,
                     struct rps_raster_dash *dash, enum rps_raster_colour colour);

/* Return the row of dots of a value, from 0 for `to` to rows - 1 for `from`; values outside are at
 * the edge. */
int rps_raster_level(double value, double from, double to, int rows);

/* Flags for writing a raster. */
#define RPS_RASTER_ASCII  1 /* no other characters */
#define RPS_RASTER_COLOUR 2 /* with escape sequences */

/* Write the rows, without blanks at their ends. */
void rps_raster_write(const struct rps_raster *raster, unsigned flags, FILE *file);

#endif
