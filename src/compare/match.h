/*
 * Matches phases of several runs. The runs' phases were detected together, so labels mean the same
 * in all of them. The phases of each run are then aligned in order. Pure functions.
 */
#ifndef RPISTAT_COMPARE_MATCH_H
#define RPISTAT_COMPARE_MATCH_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"
#include "rpistat/phase.h"

/* Maximum number of phases of a run in an alignment. */
#define RPS_MATCH_MAX 2000

#define RPS_MATCH_NONE SIZE_MAX

/* Labels common to all runs, and the distances between them. */
struct rps_match_labels {
    int count;
    const double *distance; /* distance[x * count + y]: 0 equal ... 1 maximum */
};

/*
 * Align phases b with phases a in order (Needleman and Wunsch 1970). ret[i]: the phase of b that
 * matches phase i of a, or RPS_MATCH_NONE. The same label costs 0, a phase without a partner .55.
 * Two labels, neither of which is in the other run, cost .3 + .4 x distance; others 1.2. If costs
 * are equal, the alignment with the most similar lengths of partners, as shares of their runs, is
 * chosen. Neither side has more than RPS_MATCH_MAX phases. Returns the cost.
 */
double rps_match_align(const struct rps_phases *a, const struct rps_phases *b,
                       const struct rps_match_labels *labels, size_t *ret);

/* Return RPS_FAILED if a run has too many phases to be aligned. */
int rps_match_check(size_t count, struct rps_error *err);

/* A class of phases: those with label a on side A and label b on side B. */
struct rps_match_row {
    int a, b; /* label; -1: none on that side */
};

struct rps_matching {
    size_t row_count;
    struct rps_match_row *row; /* in order of first occurrence on side A; those of side B alone are
                                  inserted where they occur */
    size_t standing[2];        /* the run that represents each side; RPS_MATCH_NONE: no runs */
    size_t **row_of;           /* row_of[run][phase]: its row, or RPS_MATCH_NONE */
};

/*
 * Match the phases of `count` runs: side[i] is 0 (A) or 1 (B). The run of each side whose alignment
 * with its others costs least represents it. The alignment of these two gives the rows; every other
 * run is aligned with the one of its side. A phase without a partner is in the row of its label, as
 * further iterations of a loop are. Phases in another order share a row if they have one label. A
 * phase whose label is missing in the representing run is in no row. In a loop (rpistat/fold.h),
 * the first phase of each label is aligned, with the total length, for all. *ret points into the
 * arena. Errors: that of rps_match_check.
 */
int rps_match_runs(struct rps_arena *arena, const struct rps_phases *run, const int *side,
                   size_t count, const struct rps_match_labels *labels, struct rps_matching *ret,
                   struct rps_error *err);

#endif
