/* Find phases by the mix of counts. Private to counts*.c, levels*.c and phases.c.
 *
 * A mix is the shares of the symbols of a table. The counts of a segment are assumed to be draws
 * from one unknown mix. Its prior is the mix of the whole run with a weight of PRIOR counts
 * (Dirichlet-multinomial). The cost of a segment is the negative log-likelihood of its counts. */
#pragma once

#include <stddef.h>

#include "rpistat/arena.h"
#include "rpistat/detect.h"

/* Number of entries per symbol in the lookup table, which is used for whole counts below it. */
#define RPS_MIX_STEPS 1024

/* The mix of one table, allocated in an arena. */
struct rps_mix {
    size_t width;
    double divisor;
    int is_read;
    double *prior; /* prior counts of each symbol; prior[width]: sum over all symbols */
    double *base;  /* base[symbol]: ln Gamma of prior[symbol] */
    double *rise; /* rise[symbol * RPS_MIX_STEPS + c]: ln Gamma(prior[symbol] + c) - base[symbol] */
};

struct rps_mix rps_mix_make(struct rps_arena *arena, const struct rps_count_table *table);

/* Return the same value as rps_mix_rise, but compute the value without the lookup table. */
double rps_mix_rise_far(const struct rps_mix *mix, size_t symbol, double count);

/* Return ln Gamma(prior[symbol] + count) - ln Gamma(prior[symbol]). Symbol `width`: all symbols. */
static inline double rps_mix_rise(const struct rps_mix *mix, size_t symbol, double count)
{
    size_t whole = count < RPS_MIX_STEPS ? (size_t)count : RPS_MIX_STEPS;

    return whole < RPS_MIX_STEPS && count <= (double)whole
               ? mix->rise[symbol * RPS_MIX_STEPS + whole]
               : rps_mix_rise_far(mix, symbol, count);
}

/* A change in the mix of a count table: the observation at which the change begins, and the range
 * of its possible positions. */
struct rps_cut {
    size_t at, earliest, latest;
};

struct rps_cuts {
    size_t count;
    struct rps_cut *cut; /* cuts, allocated in an arena */
};

/* Maximum number of observations in a run for which cuts are searched with dense windows. */
#define RPS_CUTS_DENSE_MAX 65536

/* Find where the mix of a table changes. The search may return too many cuts, but rarely too few.
 * Segments have at least `shortest` observations. `price` is the minimum gain of a cut, in units of
 * ln(number of observations). */
struct rps_cuts rps_counts_find_cuts(struct rps_arena *arena, const struct rps_signals *signals,
                                     const struct rps_count_table *table, size_t shortest,
                                     double price);

/* The places at which a run may be cut, and the cost of each segment between two places. */
struct rps_count_path {
    const void *context;
    /* cost of the segment between two places */
    double (*cost)(const void *context, size_t from, size_t to);
    const size_t *at;      /* observation of each place, ascending from 0 to the end of the run */
    size_t count;          /* number of places, at least 2 */
    const uint8_t *broken; /* observations at which the run must be cut; NULL: none */
    size_t shortest;       /* minimum observations per segment, except before a forced cut */
    double price;          /* price of a segment */
    double slack;          /* a path is dropped if it costs this much more than the best path */
};

/* Store the places of the cheapest path in ret, from the first to the last. ret has room for all
 * places. Return the number of segments between the stored places. */
size_t rps_counts_best_path(const struct rps_count_path *path, size_t *ret);

/* Replace the fine phases that were found from signals by phases that were found from signals and
 * count tables together. A boundary is kept if it saves more cost than its price and is large
 * enough for a user to see. Boundaries at an end of the run are dropped. */
void rps_counts_refine(struct rps_arena *arena, const struct rps_signals *signals, size_t shortest,
                       struct rps_phases *fine);
