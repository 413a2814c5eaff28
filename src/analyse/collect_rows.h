/* Observations that are being collected, and their signals as a matrix. collect.c adds to it, and
 * collect_end.c returns it. */
#ifndef RPISTAT_ANALYSE_COLLECT_ROWS_H
#define RPISTAT_ANALYSE_COLLECT_ROWS_H

#include "rpistat/collect.h"
#include "rpistat/rotation.h"
#include "sources.h"

struct rps_collect {
    struct rps_collect_options options;
    struct rps_sources sources;
    size_t track_count, signal_count;
    size_t reach_count;                /* columns after the signals, for blocks: largest distance of
                                          each event, and the CPU use, from its mean */
    size_t count, room;                /* rows */
    struct rps_collect_row *row;       /* owned */
    double *value;                     /* owned; value[signal * room + row] */
    float *weight;                     /* owned; same places */
    struct rps_arena *arena;           /* owned; has the members below */
    double *operand;                   /* scratch */
    struct rps_tally one;              /* tally of the period that is being added */
    struct rps_rotation rotation;      /* the rotation that is being added up */
    size_t rotation_row, rotation_end; /* its first and last row */
    int track;                         /* of the rotation */
    int is_fine;                       /* 1: all periods of the track so far were shorter */
    double period_s;
};

/* End the rotation: add the values that only a whole rotation has. */
int rps_collect_end_rotation(struct rps_collect *collect, struct rps_error *err);

#endif
