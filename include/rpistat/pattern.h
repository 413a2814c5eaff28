/*
 * What can be said of a whole run: that it repeats, phase by phase or as a wave; that it drifts.
 */
#ifndef RPISTAT_PATTERN_H
#define RPISTAT_PATTERN_H

#include <stddef.h>

#include "rpistat/detect.h"
#include "rpistat/error.h"
#include "rpistat/phase.h"

/* Most phases of one turn that are named. */
#define RPS_PATTERN_LABELS_MAX 12

enum rps_pattern_kind {
    RPS_PATTERN_NONE,
    RPS_PATTERN_TURNS, /* phases come again in the same order */
    RPS_PATTERN_WAVE,  /* values come again, whether there are phases or not */
};

struct rps_pattern {
    enum rps_pattern_kind kind;
    double turns;                      /* of a repetition: 12.5: the thirteenth was not ended */
    double length;                     /* of a turn, in observations */
    size_t stretches;                  /* of turns: of the level that has them */
    size_t label_count;                /* of turns */
    int label[RPS_PATTERN_LABELS_MAX]; /* of one turn, in the words of that level */
};

/*
 * Look for turns in the labels of a level: the smallest number of stretches p such that each has
 * the label of that p before it, for at least 3.9 turns over at least 60 % of the observations,
 * whose lengths vary by at most 25 % (standard deviation by mean): two kinds of phases always
 * alternate. A turn of more than two has three kinds at least, or it would be two turns.
 */
void rps_pattern_find_turns(const struct rps_phases *phases, struct rps_pattern *ret);

/*
 * Look for a wave: a signal whose autocorrelation has peaks at a lag and at its multiples, so high
 * above the valleys between them that .35 of its variance at least comes again, deviating by half
 * of the signal's resolution at least. Looked for in means of 1, 4, 16 ... observations, at most
 * 2,048 of them at the beginning, in the middle and at the end, with 4 turns at least. RPS_FAILED
 * without memory.
 */
int rps_pattern_find_wave(const struct rps_signals *signals, struct rps_pattern *ret,
                          struct rps_error *err);

#endif
