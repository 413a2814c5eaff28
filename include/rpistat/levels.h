/* Levels of phases. A build has three phases at one level (configure, compile, link), and forty at
 * another. The fine phases of a detection are merged into a tree: in each step, two neighbours
 * become one phase. Each number of phases is a level.
 *
 * A segment costs n / (2 tau) log(v + f) for every signal. n is the number of values. v is the
 * variance about the segment's mean, so that segments can also differ in their spread. f prevents a
 * very small v. tau neighbouring values are as informative as one independent value. The next merge
 * is always the one that raises the cost least. */
#pragma once

#include <stddef.h>

#include "rpistat/detect.h"
#include "rpistat/error.h"
#include "rpistat/phase.h"

/* Maximum number of rows that users read at once. The default level has at most this number of
 * rows, or consists of a few phase classes that recur often. */
#define RPS_LEVELS_READABLE 60

/* Number of steps of sensitivity from the default level to one phase, or to the fine phases. */
#define RPS_LEVELS_STEPS 12

struct rps_level {
    size_t stretches; /* Number of segments in the run that has most segments */
    size_t all;       /* Number of segments in all runs */
    size_t rows;      /* Number of rows that users see with loops folded (rpistat/loops.h), in
                         the run that has most rows (0: level not examined) */
    double lost;      /* Rise of the cost up to this level, as a share of the whole rise, 0 ... 1 */
};

struct rps_levels {
    double alike_finest;       /* Maximum difference of segments with equal labels at the finest
                                  level (internal) */
    size_t count;              /* Number of levels, at least 1 */
    struct rps_level *level;   /* Levels, from one segment (coarsest) to the fine phases */
    struct rps_phases *phases; /* Phases of each examined level */
    size_t usual;              /* Default level: the readable level with the smallest lost + .1
                                  sqrt(rows), or a finer level that has at most three times as
                                  many rows with loops folded. With samples, if that level has
                                  several phases: the smallest lost + .015 per class, or a finer
                                  level that has no more rows with loops folded */
    struct rps_level_tree *tree;
    struct rps_arena *arena; /* Arena of all members */
};

/* Find the levels of the fine phases that rps_detect found in signals. Boundaries with a confidence
 * below one half are left out. If the signals have several runs one after another (RPS_BROKEN_RUN),
 * the levels apply to all runs. Segments of two runs never merge, but may have equal labels. */
struct rps_levels rps_levels_find(struct rps_arena *arena, const struct rps_signals *signals,
                                  const struct rps_phases *fine);

/* A request for a level. All zero: the default level. */
struct rps_level_choice {
    int fine;       /* 1: the finest level */
    size_t size;    /* Number of segments of the requested level */
    size_t at_most; /* Choose the finest level that has at most this number of segments */
    int steps;      /* Number of steps to a finer level (above 0) or coarser level (below 0).
                       Each step crosses an equal number of levels, so that RPS_LEVELS_STEPS
                       steps lead to the finest level, or to a single segment. */
};

/* Set *ret to the requested level. Return RPS_USAGE if the size is beyond the finest level. */
int rps_levels_choose(const struct rps_levels *levels, const struct rps_level_choice *choice,
                      size_t *ret, struct rps_error *err);

/* Return the phases of a level. The phases are like those of rps_detect, but
 * without outliers and with loops. Segments that are alike get equal labels, unless the functions
 * of at least half of their samples differ. For *ret_rows, see struct rps_level. */
struct rps_phases rps_levels_phases(const struct rps_levels *levels, size_t at, size_t *ret_rows);

/* Return the phases of the level `shown` and of all other examined levels. All readable levels and
 * the finest level are examined. Between them, each examined level has at least 1.5 times as many
 * segments as the next coarser one. */
struct rps_phase_levels rps_levels_keep(struct rps_levels *levels, size_t shown);
