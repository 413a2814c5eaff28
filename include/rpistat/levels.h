/*
 * Levels of phases: a build has three phases (configure, compile, link), but also forty. The fine
 * phases of a detection are merged into a tree, two neighbours at a time. Each number of phases is
 * a level.
 *
 * A segment costs n / (2 tau) log(v + f) for every signal. The variance v is about the segment's
 * mean, so that the spread counts as well as the mean. There is a floor f. One independent value is
 * worth tau values. The merge whose cost rises least is next.
 */
#ifndef RPISTAT_LEVELS_H
#define RPISTAT_LEVELS_H

#include <stddef.h>

#include "rpistat/arena.h"
#include "rpistat/detect.h"
#include "rpistat/error.h"
#include "rpistat/phase.h"

/* Rows that a user reads at once, at most. The default level has no more rows, or consists of a few
 * phase classes that recur often. */
#define RPS_LEVELS_READABLE 60

/* Steps of sensitivity from the default level to one phase, and to the fine phases. */
#define RPS_LEVELS_STEPS 12

struct rps_level {
    size_t stretches; /* of several runs: in the run that has the most */
    size_t all;       /* in all runs */
    size_t rows;      /* rows for the reader, with loops folded (rpistat/fold.h), of the run that
                         has the most; 0: not examined */
    double lost; /* rise of the cost up to here, as a share of that up to one segment: 0 ... 1 */
};

struct rps_levels {
    double alike_finest;     /* private: difference of segments of one label at the finest level */
    size_t count;            /* at least 1 */
    struct rps_level *level; /* from the coarsest, one segment, to the fine phases */
    struct rps_phases *phases; /* owned; of each examined level */
    size_t usual;              /* the default level: the readable one with the least lost + .1
                                  sqrt(rows), or a finer one that loops fold to at most three times
                                  its rows */
    struct rps_level_tree *tree;
    struct rps_arena *arena; /* owned; of everything but the phases */
};

/*
 * Find the levels of the fine phases that rps_detect found in signals. Boundaries with a confidence
 * below one half are left out. Several consecutive runs (RPS_BROKEN_RUN) have common levels, by the
 * cost of a merge in any run. Segments of different runs never merge, but have the same labels. The
 * result is for rps_levels_free.
 */
struct rps_levels rps_levels_find(const struct rps_signals *signals, const struct rps_phases *fine);

/* The requested level. All 0: the default level. */
struct rps_level_choice {
    int fine;       /* 1: the finest */
    size_t size;    /* the level of so many segments, or */
    size_t at_most; /* the finest of at most so many */
    int steps;      /* finer (above 0) or coarser than that level. RPS_LEVELS_STEPS of them lead to
                       the finest, as many below 0 to one segment, in even parts of the levels */
};

/* Set *ret to the requested level. RPS_USAGE: the size is beyond the finest level. */
int rps_levels_choose(const struct rps_levels *levels, const struct rps_level_choice *choice,
                      size_t *ret, struct rps_error *err);

/*
 * Return the phases of a level, for rps_phases_free: like those of rps_detect, but without outliers
 * and with loops. Segments that are alike have one label, unless at least half of their samples are
 * in other functions. *ret_rows: see rps_level.
 */
struct rps_phases rps_levels_phases(const struct rps_levels *levels, size_t at, size_t *ret_rows);

/*
 * Return the phases of the level `shown` and of the other levels worth keeping, which are the
 * examined ones. These are all levels that can be read, finer ones with half as many more segments
 * than the one before, and the finest. They are moved out of levels. The result is for
 * rps_phase_levels_free.
 */
struct rps_phase_levels rps_levels_keep(struct rps_levels *levels, size_t shown);

void rps_levels_free(struct rps_levels *levels);

#endif
