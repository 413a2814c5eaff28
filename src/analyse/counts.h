/*
 * Phases by the mix of counts. Private to counts*.c, levels*.c and phases.c.
 *
 * The counts of a stretch are taken for draws from one mix, which is not known but lies about the
 * whole run's, worth PRIOR counts (Dirichlet-multinomial). What a stretch costs is the negative
 * logarithm of how likely its counts are then.
 */
#ifndef RPISTAT_ANALYSE_COUNTS_H
#define RPISTAT_ANALYSE_COUNTS_H

#include <stddef.h>

#include "rpistat/arena.h"
#include "rpistat/detect.h"

/* Of one table, in an arena. */
struct rps_mix {
    size_t width;
    double divisor;
    double *prior; /* counts that each symbol is taken to have anyway; [width]: in all */
    double *base;  /* ln Gamma of these */
    double *rise;  /* rise[symbol * steps + c]: of ln Gamma from prior[symbol] on by c counts;
                      symbol `width`: of all of them */
};

struct rps_mix rps_mix_make(struct rps_arena *arena, const struct rps_count_table *table);

/* ln Gamma(prior[symbol] + count) - ln Gamma(prior[symbol]); symbol `width`: of all counts. */
double rps_mix_rise(const struct rps_mix *mix, size_t symbol, double count);

/* Where something other than counters begins: an observation, and where it may lie. */
struct rps_cut {
    size_t at, earliest, latest;
};

struct rps_cuts {
    size_t count;
    struct rps_cut *cut; /* in an arena */
};

/* Where the mix of a table changes, more often too often than too seldom; stretches of at least
 * `shortest` observations. */
struct rps_cuts rps_counts_find_cuts(struct rps_arena *arena, const struct rps_signals *signals,
                                     const struct rps_count_table *table, size_t shortest);

/* On a search for the best path: of the places that a stretch may begin at, and what the way over
 * each costs, keep those that may still be best, given the cost of what was reached; the 256 best
 * where more are. Returns how many. */
size_t rps_counts_drop_hopeless(size_t *alive, double *via, size_t count, double reached);

/*
 * The fine phases of signals that have tables of counts, in place of those by their values alone:
 * boundaries of both kinds, of which those stay that pay ln n by both together, that a person would
 * see, and that are not at an end.
 */
void rps_counts_refine(const struct rps_signals *signals, size_t shortest, struct rps_phases *fine);

#endif
