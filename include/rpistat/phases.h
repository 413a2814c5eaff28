/* Detection of phases at several levels from signals. The steps are the detection of fine phases,
 * the tree of levels, the choice of the level to show, and properties of the whole run. */
#pragma once

#include <stddef.h>

#include "rpistat/detect.h"
#include "rpistat/error.h"
#include "rpistat/levels.h"
#include "rpistat/phase.h"

/* A wave: values of a run that are periodic. A run with a wave may also have phases, if the longest
 * phase contains at least four cycles. */

struct rps_wave {
    double turns;  /* Number of cycles (0: no wave); 12.5: the thirteenth was incomplete */
    double length; /* Length of one cycle in observations */
};

/* Find a wave: a signal whose autocorrelation has peaks at a lag and its multiples. At least .35 of
 * the signal's variance must recur, measured by the height of the peaks above the valleys. The
 * recurring deviation must be at least half the signal's resolution. The search uses means of 1, 4,
 * 16 ... observations, and needs at least 4 cycles. The search covers at most 2,048 means each at
 * the beginning, in the middle and at the end. With is_in_steps, the level of the signal may change
 * in steps. In that case, differences of successive means are used, and at least 24 means are
 * needed. The result is all 0 if there is no wave. */
struct rps_wave rps_wave_find(const struct rps_signals *signals, int is_in_steps);

struct rps_phases_options {
    struct rps_detect_options detect;
    size_t counts_min_length; /* Minimum length, in observations, of a phase that is found from
                                 tables of counts (0: automatic) */
    struct rps_level_choice level;
};

/* The observations of a detection. All zero: observations are rows of a table. */
struct rps_observing {
    int64_t observation_ns; /* Usual length of an observation */
    int64_t longest_ns;     /* Length of the longest observation */
    int in_blocks;          /* 1: observations are blocks of periods */
    double late; /* Share of the periods that became part of longer periods because the recorder
                    woke up late; meaningless for blocks */
};

struct rps_found_phases {
    struct rps_phase_levels levels; /* Phases at the kept levels, in observations */
    size_t tree_count;
    struct rps_level *tree; /* All levels of the tree, kept or not, from the coarsest */
    size_t tree_shown;      /* Index of the shown level in `tree` */
    size_t tree_usual;      /* Index of the default level in `tree` */
    struct rps_wave wave;   /* Wave, if the shown level has no loop */
    int drifts;             /* 1: there is no loop, and values drift or rise during the whole run */
    struct rps_detect_details details;
};

/* Find the phases of signals. *ret is in the arena. Errors come from rps_detect and
 * rps_levels_choose. */
int rps_phases_find(struct rps_arena *arena, const struct rps_signals *signals,
                    const struct rps_phases_options *options, struct rps_found_phases *ret,
                    struct rps_error *err);

/* Return the phases whose first observation is in begin ... end - 1, without outliers. Observations
 * are counted from `begin`. */
struct rps_phases rps_phases_part(struct rps_arena *arena, const struct rps_phases *phases,
                                  uint64_t begin, uint64_t end);
