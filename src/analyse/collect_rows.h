/* The matrix of observations and signals during collection. collect.c fills the matrix, and
 * collect_end.c returns it. */
#pragma once

#include "rpistat/collect.h"
#include "rpistat/rotation.h"
#include "sources.h"

struct rps_collect {
    struct rps_collect_options options;
    struct rps_sources sources;
    size_t track_count, signal_count;
    size_t reach_count;                /* number of extra columns after the signals (blocks
                                          only): the largest distance of each event and of CPU
                                          use from its mean */
    size_t count, room;                /* rows in use, rows allocated */
    struct rps_collect_row *row;       /* data of each row (owned) */
    double *value;                     /* values (owned): value[signal * room + row] */
    float *weight;                     /* weights (owned): weight[signal * room + row] */
    struct rps_arena *arena;           /* arena of the members below (owned) */
    double *operand;                   /* scratch for the operands of a formula */
    struct rps_tally one;              /* tally of the period that is being added */
    struct rps_rotation rotation;      /* the rotation to which the next periods are added */
    size_t rotation_row, rotation_end; /* first and last row of the rotation */
    int track;                         /* track of the rotation */
    int is_fine;                       /* 1: all periods of the track that were added were short */
    double period_s;
    uint64_t periods, missed; /* totals of all tracks */
};

/* End the rotation and add the values that exist only for a whole rotation. */
int rps_collect_end_rotation(struct rps_collect *collect, struct rps_error *err);
