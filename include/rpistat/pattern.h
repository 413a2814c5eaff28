/*
 * What can be said of a whole run: that it repeats.
 */
#ifndef RPISTAT_PATTERN_H
#define RPISTAT_PATTERN_H

#include <stddef.h>

#include "rpistat/detect.h"
#include "rpistat/error.h"
#include "rpistat/phase.h"

/* Most phases of one turn that are named. */
#define RPS_PATTERN_LABELS_MAX 12

/* A run that repeats: so many turns of so many observations each. */
struct rps_pattern {
    size_t stretches; /* of the level that was looked at; 0: it does not repeat */
    size_t first;     /* observation that the first turn begins at */
    double turns;     /* 12.5: the thirteenth was not ended */
    double length;    /* of a turn, in observations */
    size_t label_count;
    int label[RPS_PATTERN_LABELS_MAX]; /* of one turn, in the words of that level */
};

/*
 * Look for turns in the labels of a level: the smallest number of stretches p such that each has the
 * label of that p before it, for at least 3.9 turns over at least 60 % of the observations, whose
 * lengths vary by at most 25 % (standard deviation by mean): two kinds of phases always alternate. A
 * turn of more than two has three kinds at least, or it would be two turns.
 * *ret.stretches stays 0 where there are none.
 */
void rps_pattern_find(const struct rps_phases *phases, struct rps_pattern *ret);

#endif
