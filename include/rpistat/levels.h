/*
 * Levels of phases: a build is three phases (configure, compile, link) and also forty. The fine
 * phases of a detection are merged, two neighbours at a time, into a tree; each number of phases is
 * a level.
 *
 * A stretch costs, for every signal, n / (2 tau) log(v + f): v is the variance about the stretch's
 * one mean, so that the spread counts as well as the mean; f a floor; tau how many values are worth
 * one independent value. The neighbours are merged whose cost rises least.
 */
#ifndef RPISTAT_LEVELS_H
#define RPISTAT_LEVELS_H

#include <stddef.h>

#include "rpistat/arena.h"
#include "rpistat/detect.h"
#include "rpistat/error.h"
#include "rpistat/phase.h"

/* Most rows that a person reads at once. The level that is shown when none is asked for has no more,
 * or is read as a few kinds that come often. */
#define RPS_LEVELS_READABLE 60

/* Steps of sensitivity from the usual level to one phase, and to the fine phases. */
#define RPS_LEVELS_STEPS 12

struct rps_level {
    size_t stretches; /* of several runs put together: of the one that has most */
    size_t all;       /* of all runs */
    size_t rows;      /* that a reader sees, loops folded (rpistat/fold.h), of the run that has
                         most; 0: not looked at */
    double lost; /* rise of the cost up to here, as a share of that up to one stretch: 0 ... 1 */
};

struct rps_levels {
    double alike_finest; /* private: how much stretches of one label of the finest level differ */
    size_t count;        /* at least 1 */
    struct rps_level *level;   /* from the coarsest, one stretch, to the fine phases */
    struct rps_phases *phases; /* owned; of each level that was looked at */
    size_t usual;              /* the level to show when none is asked for: of those that can
                                    be read the least lost + .1 sqrt(rows), or a finer one
                                    that loops fold to at most three times as many rows */
    struct rps_level_tree *tree;
    struct rps_arena *arena; /* owned; of all but the phases */
};

/*
 * The levels of the fine phases that rps_detect found in signals. Boundaries that are less than
 * half sure are left out. Several runs one behind the other (RPS_BROKEN_RUN) have their levels
 * together, by what a merge costs wherever it is; one run's stretches never merge with another's,
 * but have the same labels. For rps_levels_free.
 */
struct rps_levels rps_levels_find(const struct rps_signals *signals, const struct rps_phases *fine);

/* Which level is asked for. All 0: the usual one. */
struct rps_level_choice {
    int fine;       /* 1: the finest */
    size_t size;    /* the one of so many stretches, or */
    size_t at_most; /* the finest of at most so many */
    int steps;      /* finer (above 0) or coarser than that: RPS_LEVELS_STEPS of them lead to the
                       finest, as many below 0 to one stretch, in even parts of the levels */
};

/* The level that is asked for, in *ret. RPS_USAGE for a size that is beyond the finest. */
int rps_levels_choose(const struct rps_levels *levels, const struct rps_level_choice *choice,
                      size_t *ret, struct rps_error *err);

/*
 * The phases of a level, for rps_phases_free: as those of rps_detect, without outliers, and with
 * their loops. Stretches that are alike have one label, unless at
 * least half of their samples are in other functions. *ret_rows: see rps_level.
 */
struct rps_phases rps_levels_phases(const struct rps_levels *levels, size_t at, size_t *ret_rows);

/*
 * The phases of the level `shown` and of the levels beside it that are worth keeping, which are
 * those that were looked at: all of so many stretches as can be read, of finer ones those that have
 * half as many more than the one before, and the finest. They are taken from levels. For
 * rps_phase_levels_free.
 */
struct rps_phase_levels rps_levels_keep(struct rps_levels *levels, size_t shown);

void rps_levels_free(struct rps_levels *levels);

#endif
