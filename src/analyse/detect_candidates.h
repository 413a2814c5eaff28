/*
 * Candidates: the observations before which a boundary may be, and the sums of the signals up to
 * them. Private to the detector.
 */
#ifndef RPISTAT_ANALYSE_DETECT_CANDIDATES_H
#define RPISTAT_ANALYSE_DETECT_CANDIDATES_H

#include "detect_observed.h"

/* Segments longer than this are not described by lines: their sums would overflow. */
#define RPS_CANDIDATES_LINE_MAX 1000000

/* Shorter ones neither: almost anything short is a line. */
#define RPS_CANDIDATES_LINE_MIN 8

/* In an arena. */
struct rps_candidates {
    struct rps_observed *observed;
    size_t count;
    size_t *at;           /* ascending; the first is 0, the last the number of observations */
    uint8_t *forced;      /* 1: there is a boundary regardless of the signals */
    double *sum;          /* sum[point * width + signal], times the root of the gain */
    double *moment;       /* the same of time times value; NULL: lines are not wanted */
    uint64_t *weight_sum; /* three per signal: weights, times time, times its square, modulo 2^64;
                             NULL: everything was seen */
};

/* A search over all places is fast enough if places^2 * signals is below this. */
#define RPS_CANDIDATES_WORK_MAX 2e7

/* Decrease of the squares if a constant, or a line, describes observations from..to. */
struct rps_candidate_gain {
    double constant, line;
};

/* Return the candidates at the places (0 ... count) where `keep` is 1, and at the ends of blocks.
 * NULL: at all places, for the exact search. Gains of lines if `lines` is 1. */
struct rps_candidates rps_candidates_make(struct rps_arena *arena, struct rps_observed *observed,
                                          const uint8_t *keep, int lines);

/* Return the places where neighbouring windows of some length differ most, and more than by chance;
 * if there are few places, all of them. `constants` not NULL: return candidates for lines, which
 * are those of `constants` and the places where windows deviate from a line. */
struct rps_candidates rps_candidates_screen(struct rps_arena *arena, struct rps_observed *observed,
                                            const struct rps_candidates *constants);

/* Add everything up again after a change of the signals' gains. */
void rps_candidates_add_up(struct rps_candidates *candidates);

/* Return the gains between two candidates, from < to; gains of lines if required. */
struct rps_candidate_gain rps_candidates_gain(const struct rps_candidates *candidates, size_t from,
                                              size_t to);

/* The same for `count` starts and one end. */
void rps_candidates_gains(const struct rps_candidates *candidates, const size_t *from, size_t count,
                          size_t to, struct rps_candidate_gain *ret);

#endif
