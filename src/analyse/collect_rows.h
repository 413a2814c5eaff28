/* Observations that are being collected, and signals of them as a matrix; collect.c adds to it, and
 * collect_end.c gives it out. */
#ifndef RPISTAT_ANALYSE_COLLECT_ROWS_H
#define RPISTAT_ANALYSE_COLLECT_ROWS_H

#include "rpistat/collect.h"
#include "rpistat/rotation.h"
#include "sources.h"

struct rps_collect {
    struct rps_collect_options options;
    struct rps_sources sources;
    size_t track_count, signal_count;
    size_t reach_count;                /* columns behind the signals, of blocks: how far from its
                                          mean each event, and the CPU use, was at most */
    size_t count, room;                /* rows */
    struct rps_collect_row *row;       /* owned */
    double *value;                     /* owned; value[signal * room + row] */
    float *weight;                     /* owned; same places */
    struct rps_arena *arena;           /* owned; of these: */
    double *operand;                   /* scratch */
    struct rps_tally one;              /* of the period that is being added */
    struct rps_rotation rotation;      /* that is being added up */
    size_t rotation_row, rotation_end; /* its first and last row */
    int track;                         /* of the rotation */
    int is_fine;                       /* 1: all periods of the track were shorter so far */
    double period_s;
};

/* The rotation is over: add what can be seen in a rotation only. */
int rps_collect_end_rotation(struct rps_collect *collect, struct rps_error *err);

#endif
