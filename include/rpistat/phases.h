/*
 * From signals to phases at several levels: the detection, the tree of its fine phases, the level
 * to show, and properties of the whole.
 */
#ifndef RPISTAT_PHASES_H
#define RPISTAT_PHASES_H

#include <stddef.h>

#include "rpistat/detect.h"
#include "rpistat/error.h"
#include "rpistat/levels.h"
#include "rpistat/phase.h"
#include "rpistat/wave.h"

struct rps_phases_options {
    struct rps_detect_options detect;
    size_t counts_min_length; /* shortest phase by tables of counts, observations; 0: automatic */
    struct rps_level_choice level;
};

struct rps_found_phases {
    struct rps_phase_levels levels; /* first and last are observations */
    size_t tree_count;
    struct rps_level *tree; /* owned; every level of the tree, kept or not; from the coarsest */
    size_t tree_shown;      /* the one in levels.level[levels.shown] */
    size_t tree_usual;      /* the default level */
    struct rps_wave wave;   /* if the shown level has no loop */
    int drifts;             /* 1: no loop either; values drift, or rise and never rest */
    struct rps_detect_details details;
};

/* Find the phases of signals. *ret is for rps_found_phases_free. Errors: those of rps_detect and
 * rps_levels_choose. */
int rps_phases_find(const struct rps_signals *signals, const struct rps_phases_options *options,
                    struct rps_found_phases *ret, struct rps_error *err);
void rps_found_phases_free(struct rps_found_phases *found);

/* Return the phases that begin at begin ... end - 1, numbered from there, without outliers. The
 * result is for rps_phases_free. */
struct rps_phases rps_phases_part(const struct rps_phases *phases, uint64_t begin, uint64_t end);

#endif
