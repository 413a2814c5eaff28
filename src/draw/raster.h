/*
 * A raster of character cells, to draw in: text, and dots that are eight to a cell, two across and
 * four down, as the braille characters of Unicode have them. Pure: what comes out depends on what
 * was drawn alone.
 */
#ifndef RPISTAT_DRAW_RASTER_H
#define RPISTAT_DRAW_RASTER_H

#include <stdint.h>
#include <stdio.h>

#include "rpistat/arena.h"

#define RPS_RASTER_ACROSS 2 /* dots of a cell */
#define RPS_RASTER_DOWN   4

/* What a cell is drawn in. The inks and the backgrounds are counted from 0 behind the names, and
 * begin again where there are no more. */
enum rps_raster_colour {
    RPS_RASTER_PLAIN,
    RPS_RASTER_QUIET,
    RPS_RASTER_STRONG,
    RPS_RASTER_INK,
    RPS_RASTER_BACKGROUND = RPS_RASTER_INK + 64,
};

struct rps_raster_cell {
    uint32_t code;   /* character; 0: none, or the second half of a wide one */
    uint8_t dots;    /* a bit each, as in U+2800 */
    uint8_t colour;  /* enum rps_raster_colour */
    uint8_t covered; /* 1: the second half of a wide character */
};

struct rps_raster {
    int columns, rows;
    struct rps_raster_cell *cell;
};

/* An empty raster, at least one cell large. */
struct rps_raster rps_raster_new(struct rps_arena *arena, int columns, int rows);

/* Text from a cell on, as much as there is room for; returns the column behind it. Control
 * characters are the caller's business (rps_text_printable). */
int rps_raster_text(struct rps_raster *raster, int column, int row, const char *text,
                    enum rps_raster_colour colour);

/* 1 for a cell of the raster without a character. */
int rps_raster_is_free(const struct rps_raster *raster, int column, int row);

/* A dot, counted from the upper left corner; outside there is none. */
void rps_raster_dot(struct rps_raster *raster, int x, int y, enum rps_raster_colour colour);

/* A line of dots from one to another, of each `period` of them the first `on`; *drawn counts them,
 * so that dashes go on from line to line. */
struct rps_raster_dash {
    int on, period, drawn;
};
void rps_raster_line(struct rps_raster *raster, int x, int y, int to_x, int to_y,
                     struct rps_raster_dash *dash, enum rps_raster_colour colour);

/* The row of dots of a value, from 0 for `to` to rows - 1 for `from`; what lies outside is at the
 * edge. */
int rps_raster_level(double value, double from, double to, int rows);

/* How a raster is written. */
#define RPS_RASTER_ASCII  1 /* no other characters */
#define RPS_RASTER_COLOUR 2 /* with escape sequences */

/* Write the rows, without blanks at their ends. */
void rps_raster_write(const struct rps_raster *raster, unsigned flags, FILE *file);

#endif
