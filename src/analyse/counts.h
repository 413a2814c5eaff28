/*
 * Phases by the mix of counts. Private to counts*.c, levels*.c and phases.c.
 *
 * The counts of a segment are treated as draws from one unknown mix. It lies around that of the
 * whole run, worth PRIOR counts (Dirichlet-multinomial). The cost of a segment is the negative
 * logarithm of the likelihood of its counts.
 */
#ifndef RPISTAT_ANALYSE_COUNTS_H
#define RPISTAT_ANALYSE_COUNTS_H

#include <stddef.h>

#include "rpistat/arena.h"
#include "rpistat/detect.h"

/* Smaller whole counts are looked up. */
#define RPS_MIX_STEPS 1024

/* The mix of one table, in an arena. */
struct rps_mix {
    size_t width;
    double divisor;
    int is_read;
    double *prior; /* counts that each symbol is assumed to have in addition; [width]: in all */
    double *base;  /* ln Gamma of these */
    double
        *rise; /* rise[symbol * RPS_MIX_STEPS + c]: of ln Gamma from prior[symbol] on by c counts;
                  symbol `width`: of all of them */
};

struct rps_mix rps_mix_make(struct rps_arena *arena, const struct rps_count_table *table);

/* Return the rise without the lookup table. */
double rps_mix_rise_far(const struct rps_mix *mix, size_t symbol, double count);

/* Return ln Gamma(prior[symbol] + count) - ln Gamma(prior[symbol]); symbol `width`: all counts. */
static inline double rps_mix_rise(const struct rps_mix *mix, size_t symbol, double count)
{
    size_t whole = count < RPS_MIX_STEPS ? (size_t)count : RPS_MIX_STEPS;

    return whole < RPS_MIX_STEPS && count <= (double)whole
               ? mix->rise[symbol * RPS_MIX_STEPS + whole]
               : rps_mix_rise_far(mix, symbol, count);
}

/* A change outside the counters: the observation where it begins, and its possible range. */
struct rps_cut {
    size_t at, earliest, latest;
};

struct rps_cuts {
    size_t count;
    struct rps_cut *cut; /* in an arena */
};

/* In runs of at most so many observations, cuts are searched for with dense windows. */
#define RPS_CUTS_DENSE_MAX 65536

/* Find where the mix of a table changes. Too many cuts are preferred to too few. Segments have at
 * least `shortest` observations. price: the minimum gain of a cut, in ln n. */
struct rps_cuts rps_counts_find_cuts(struct rps_arena *arena, const struct rps_signals *signals,
                                     const struct rps_count_table *table, size_t shortest,
                                     double price);

/* Places at which a run may be cut, and the cost of cutting it there. */
struct rps_count_path {
    const void *context;
    double (*cost)(const void *context, size_t from, size_t to); /* of a segment, by its places */
    const size_t *at;      /* observations, ascending; the first is 0, the last the run's end */
    size_t count;          /* of places, at least 2 */
    const uint8_t *broken; /* of observations: the run must be cut there; NULL: nowhere */
    size_t shortest;       /* observations of a segment, except before such a place */
    double price;          /* of a segment */
    double slack;          /* a path that costs more than the best by this is not continued */
};

/* Put the places of the cheapest path into ret, which has room for all, from the first to the last.
 * Return the number of segments between them. */
size_t rps_counts_best_path(const struct rps_count_path *path, size_t *ret);

/*
 * Replace the fine phases by values alone with those of signals and tables of counts together.
 * Boundaries of both kinds remain if they pay ln n by both together, are visible to a user, and are
 * not at an end.
 */
void rps_counts_refine(const struct rps_signals *signals, size_t shortest, struct rps_phases *fine);

#endif
