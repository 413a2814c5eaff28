/* Match the phases of several runs. The phases of all runs were detected together, so a label has
 * the same meaning in all runs. The phases of each run are then aligned in order. All functions are
 * pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"
#include "rpistat/phase.h"

/* Maximum number of phases of a run that is aligned. */
#define RPS_MATCH_MAX 2000

#define RPS_MATCH_NONE SIZE_MAX

/* Labels that are common to all runs, and the distance of each pair of labels. */
struct rps_match_labels {
    int count;
    const double *distance; /* distance[x * count + y]: 0 (same label) ... 1 (maximum) */
};

/* Align phases b with phases a in order (Needleman and Wunsch 1970). ret[i]: the phase of b that
 * matches phase i of a, or RPS_MATCH_NONE. Equal labels cost 0, and a phase without a partner costs
 * .55. Two labels that are both missing in the other run cost .3 + .4 x distance. Any other pair
 * costs 1.2. If several alignments have the least cost, choose the one in which matched phases have
 * the most similar lengths, as shares of their runs. Each side has at most RPS_MATCH_MAX phases.
 * Returns the cost. */
double rps_match_align(const struct rps_phases *a, const struct rps_phases *b,
                       const struct rps_match_labels *labels, size_t *ret);

/* Return RPS_FAILED if a run has too many phases for an alignment. */
int rps_match_check(size_t count, struct rps_error *err);

/* A class of phases, which have label a on side A and label b on side B. */
struct rps_match_row {
    int a, b; /* label on each side; -1: the side lacks the class */
};

struct rps_matching {
    size_t row_count;
    struct rps_match_row *row; /* rows in order of first occurrence on side A, with rows of side
                                  B only where they occur */
    size_t standing[2];        /* run that represents each side; RPS_MATCH_NONE: it has no runs */
    size_t **row_of;           /* row_of[run][phase]: row of the phase, or RPS_MATCH_NONE */
};

/* Match the phases of `count` runs: side[i] is 0 (A) or 1 (B). Each side is represented by the run
 * whose alignment with the side's other runs costs least. The alignment of both representing runs
 * gives the rows. Every other run is aligned with the representing run of its side. A phase without
 * a partner gets the row of its label, for example in an additional iteration of a loop. Phases
 * with the same label share a row even if their order differs between the runs. A phase whose label
 * is missing in the representing run has no row. In a loop (rpistat/loops.h), only the first phase
 * of each label is aligned, with the total length of that label. *ret points into the arena. The
 * errors are those of rps_match_check. */
int rps_match_runs(struct rps_arena *arena, const struct rps_phases *run, const int *side,
                   size_t count, const struct rps_match_labels *labels, struct rps_matching *ret,
                   struct rps_error *err);
