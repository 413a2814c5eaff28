/* Waves: a run with periodic values, with or without phases. */
#ifndef RPISTAT_WAVE_H
#define RPISTAT_WAVE_H

#include "rpistat/detect.h"
#include "rpistat/error.h"

struct rps_wave {
    double turns;  /* 12.5: the thirteenth was not completed; 0: there is no wave */
    double length; /* of one cycle, in observations */
};

/*
 * Find a wave: a signal whose autocorrelation has peaks at a lag and its multiples. At least .35 of
 * its variance recurs, by the height of the peaks above the valleys. The recurring deviation is at
 * least half the signal's resolution. The search uses means of 1, 4, 16 ... observations, at least
 * 4 cycles. It covers at most 2,048 means each at the beginning, in the middle and at the end. With
 * is_in_steps, the level may change in steps; differences of at least 24 means are compared. All 0:
 * none.
 */
struct rps_wave rps_wave_find(const struct rps_signals *signals, int is_in_steps);

#endif
