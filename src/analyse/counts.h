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

/* Whole counts below this are looked up. */
#define RPS_MIX_STEPS 1024

/* Of one table, in an arena. */
struct rps_mix {
    size_t width;
    double divisor;
    int is_read;
    double *prior; /* counts that each symbol is taken to have anyway; [width]: in all */
    double *base;  /* ln Gamma of these */
    double
        *rise; /* rise[symbol * RPS_MIX_STEPS + c]: of ln Gamma from prior[symbol] on by c counts;
                      symbol `width`: of all of them */
};

struct rps_mix rps_mix_make(struct rps_arena *arena, const struct rps_count_table *table);

/* The same without looking it up. */
double rps_mix_rise_far(const struct rps_mix *mix, size_t symbol, double count);

/* ln Gamma(prior[symbol] + count) - ln Gamma(prior[symbol]); symbol `width`: of all counts. */
static inline double rps_mix_rise(const struct rps_mix *mix, size_t symbol, double count)
{
    size_t whole = count < RPS_MIX_STEPS ? (size_t)count : RPS_MIX_STEPS;

    return whole < RPS_MIX_STEPS && count <= (double)whole
               ? mix->rise[symbol * RPS_MIX_STEPS + whole]
               : rps_mix_rise_far(mix, symbol, count);
}

/* Where something other than counters begins: an observation, and where it may lie. */
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
 * least `shortest` observations. price: what a cut must tell, in ln n. */
struct rps_cuts rps_counts_find_cuts(struct rps_arena *arena, const struct rps_signals *signals,
                                     const struct rps_count_table *table, size_t shortest,
                                     double price);

/* Places that a run may be cut at, and what cutting it there costs. */
struct rps_count_path {
    const void *context;
    double (*cost)(const void *context, size_t from, size_t to); /* of a stretch, by its places */
    const size_t *at;      /* observations, ascending; the first is 0, the last the run's end */
    size_t count;          /* of places, at least 2 */
    const uint8_t *broken; /* of observations: it must be cut there; NULL: nowhere */
    size_t shortest;       /* observations of a stretch, but before such a place */
    double price;          /* of a stretch */
    double slack;          /* a way that costs so much more than the best is not gone on with */
};

/* The places that make the least cost, into ret, which has room for all, from the first to the last;
 * returns how many stretches lie between them. */
size_t rps_counts_best_path(const struct rps_count_path *path, size_t *ret);

/*
 * The fine phases of signals that have tables of counts, in place of those by their values alone:
 * boundaries of both kinds, of which those stay that pay ln n by both together, that a person would
 * see, and that are not at an end.
 */
void rps_counts_refine(const struct rps_signals *signals, size_t shortest, struct rps_phases *fine);

#endif
