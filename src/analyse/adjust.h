/* Signals without their season, or with their noise as further signals. Private to analyse. *ret
 * shares arrays with `signals` and must not be freed; its other arrays are in the arena. */
#ifndef RPISTAT_ANALYSE_ADJUST_H
#define RPISTAT_ANALYSE_ADJUST_H

#include "rpistat/arena.h"
#include "rpistat/wave.h"

/* Remove the season of each signal that has one. Returns the season of one; all 0 if none has. */
struct rps_wave rps_season_remove(struct rps_arena *arena, const struct rps_signals *signals,
                                  struct rps_signals *ret);

/* Put the noise of each signal before the signals if it changes. Returns 1 if so, otherwise 0. */
int rps_spread_append(struct rps_arena *arena, const struct rps_signals *signals,
                      struct rps_signals *ret);

#endif
