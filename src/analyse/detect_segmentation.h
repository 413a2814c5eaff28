/*
 * Segmentation: one segmentation of the observations, and the search for the best one at a penalty
 * per change. Private to the detector.
 */
#ifndef RPISTAT_ANALYSE_DETECT_SEGMENTATION_H
#define RPISTAT_ANALYSE_DETECT_SEGMENTATION_H

#include "detect_candidates.h"

/* In an arena. */
struct rps_segmentation {
    size_t count; /* segments */
    size_t free;  /* boundaries between them that are not forced */
    size_t sloped_count;
    size_t *first;   /* first observation of each; first[count] is the number of observations */
    uint8_t *sloped; /* 1: a line describes the segment, 0: a constant */
    uint8_t *forced; /* 1: the boundary at its first observation is forced */
};

struct rps_penalties {
    double change;     /* of a boundary that is not forced */
    double slope;      /* of a segment that is a line */
    size_t min_length; /* of a segment, if its block is that long */
};

/*
 * Return the segmentation with boundaries at candidates that has the least squares plus penalties,
 * exactly: PELT (Killick, Fearnhead, Eckley 2012). Lines are tried if candidates have their sums.
 */
struct rps_segmentation rps_segmentation_search(struct rps_arena *arena,
                                                const struct rps_candidates *candidates,
                                                const struct rps_penalties *penalties);

/* Place of a boundary between its neighbours. */
struct rps_boundary_place {
    size_t best;
    size_t earliest, latest; /* outermost places that are worse by at most the slack */
};

/*
 * Move each free boundary to its best place between its neighbours, in `rounds` rounds. Penalties
 * are as for the search. A last round without moves fills `place` (one per segment; may be NULL)
 * with places that are worse by at most `slack`.
 */
void rps_segmentation_refine(const struct rps_observed *observed,
                             const struct rps_penalties *penalties, int rounds, double slack,
                             struct rps_segmentation *segmentation,
                             struct rps_boundary_place *place);

/* Description of a signal in segment k: level + slope * observation. */
struct rps_fit {
    double level, slope;
};
struct rps_fit rps_segmentation_fit(const struct rps_observed *observed,
                                    const struct rps_segmentation *segmentation, size_t k,
                                    size_t signal);

/* Return the segmentation into constants at the places (0 ... count) where `keep` is 1, and into
 * the blocks. keep NULL: only into the blocks. */
struct rps_segmentation rps_segmentation_at(struct rps_arena *arena,
                                            const struct rps_observed *observed,
                                            const uint8_t *keep);

/* Return the candidates at the boundaries. */
struct rps_candidates rps_segmentation_candidates(struct rps_arena *arena,
                                                  struct rps_observed *observed,
                                                  const struct rps_segmentation *segmentation,
                                                  int lines);

/* Keep some segments, each with the following ones up to the next kept segment. First move the kept
 * ones to the front, in their order; then drop the others. */
void rps_segmentation_move(struct rps_segmentation *segmentation, size_t from, size_t to);
void rps_segmentation_shorten(struct rps_segmentation *segmentation, size_t count);

#endif
