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
    uint8_t *forced;      /* 1: there is a boundary whatever the signals say */
    double *sum;          /* sum[point * width + signal], times the root of the gain */
    double *moment;       /* the same of time times value; NULL: lines are not wanted */
    uint64_t *weight_sum; /* three a signal: weights, times time, times its square, modulo 2^64;
                        NULL: everything was seen */
};

/* Searches over all places are quick enough when places^2 * signals is below this. */
#define RPS_CANDIDATES_WORK_MAX 2e7

/* What describing observations from..to by a constant, and by a line, takes off their squares. */
struct rps_candidate_gain {
    double constant, line;
};

/* Candidates at the places (0 ... count) that `keep` has a 1 for, and at the ends of blocks; NULL:
 * all, as for exact search. lines: 1: gains of lines are wanted. */
struct rps_candidates rps_candidates_make(struct rps_arena *arena, struct rps_observed *observed,
                                          const uint8_t *keep, int lines);

/* The places where neighbouring windows of some length differ most, and more than chance allows.
 * All places when there are few. With `constants`,
 * candidates for lines instead: those of constants, and the places where windows are off a line. */
struct rps_candidates rps_candidates_screen(struct rps_arena *arena, struct rps_observed *observed,
                                            const struct rps_candidates *constants);

/* Add everything up again, after the gains of the signals changed. */
void rps_candidates_add_up(struct rps_candidates *candidates);

/* Of the observations between two candidates; from < to. Gains of lines where they are wanted. */
struct rps_candidate_gain rps_candidates_gain(const struct rps_candidates *candidates, size_t from,
                                              size_t to);

/* The same for `count` starts and one end. */
void rps_candidates_gains(const struct rps_candidates *candidates, const size_t *from, size_t count,
                          size_t to, struct rps_candidate_gain *ret);

#endif
