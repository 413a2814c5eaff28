/* Waves: a run whose values come again, whether it has phases or not. */
#ifndef RPISTAT_WAVE_H
#define RPISTAT_WAVE_H

#include "rpistat/detect.h"
#include "rpistat/error.h"

struct rps_wave {
    double turns;  /* 12.5: the thirteenth was not ended; 0: there is no wave */
    double length; /* of a turn, in observations */
};

/*
 * Look for a wave: a signal whose autocorrelation has peaks at a lag and at its multiples, so high
 * above the valleys between them that .35 of its variance at least comes again, deviating by half
 * of the signal's resolution at least. Looked for in means of 1, 4, 16 ... observations, at most
 * 2,048 of them at the beginning, in the middle and at the end, with 4 turns at least.
 * is_in_steps: 1: the level may change in steps; differences between neighbouring means are looked
 * at, of 24 means at least. All 0: there is none.
 */
struct rps_wave rps_wave_find(const struct rps_signals *signals, int is_in_steps);

#endif
