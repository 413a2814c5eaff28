/*
 * Matching: which phases of several runs are the same. The runs' phases were detected together, so
 * that labels mean the same in all of them; the phases of each are then aligned in order. Pure
 * functions.
 */
#ifndef RPISTAT_COMPARE_MATCH_H
#define RPISTAT_COMPARE_MATCH_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"
#include "rpistat/phase.h"

/* Most phases of a run that are aligned. */
#define RPS_MATCH_MAX 2000

#define RPS_MATCH_NONE SIZE_MAX

/* Labels common to all runs, and how far they are apart. */
struct rps_match_labels {
    int count;
    const double *distance; /* distance[x * count + y]: 0 alike ... 1 as far as any two */
};

/*
 * Align phases b with phases a in order (Needleman and Wunsch 1970): ret[i] is the phase of b that
 * phase i of a is, or RPS_MATCH_NONE. The same label costs 0; two labels of which neither is in the
 * other run .3 + .4 x distance; others 1.2; a phase that is left over .55. Of alignments that cost
 * the same it is the one whose partners are most alike in length, as parts of their runs.
 * Neither has more than RPS_MATCH_MAX phases. Returns what the alignment costs.
 */
double rps_match_align(const struct rps_phases *a, const struct rps_phases *b,
                       const struct rps_match_labels *labels, size_t *ret);

/* RPS_FAILED for more phases of a run than can be aligned. */
int rps_match_check(size_t count, struct rps_error *err);

/* A kind of phase: those that have label a on side A and label b on side B. */
struct rps_match_row {
    int a, b; /* label; -1: there is none on that side */
};

struct rps_matching {
    size_t row_count;
    struct rps_match_row *row; /* in the order in which side A has them first, and between
                                  them, where they come, those of side B alone */
    size_t standing[2];        /* the run that stands for each side; RPS_MATCH_NONE without runs */
    size_t **row_of;           /* row_of[run][phase]: its row, or RPS_MATCH_NONE */
};

/*
 * Match the phases of `count` runs: side[i] is 0 (A) or 1 (B). The run of each side whose alignment
 * with its others costs least stands for it; these two are aligned with one another, which gives
 * the rows, and every other run with the one of its side. A phase that is left over is in the row
 * of its label, as the further turns of a loop are; phases in another order have one row too, where
 * they have one label. One of another run whose label the run of its side does not have is in no
 * row. Of a loop (rpistat/fold.h) the first phase of each label is aligned, as long as all of them,
 * and stands for them. What *ret points to lies in the arena. Errors: that of rps_match_check.
 */
int rps_match_runs(struct rps_arena *arena, const struct rps_phases *run, const int *side,
                   size_t count, const struct rps_match_labels *labels, struct rps_matching *ret,
                   struct rps_error *err);

#endif
