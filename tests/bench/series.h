/*
 * Series of measurement periods as workloads might have them, one event each, with known totals.
 */
#ifndef BENCH_SERIES_H
#define BENCH_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/period.h"

/* What one series is made from. */
struct bench_draft {
    uint64_t *random;
    size_t count;   /* grains, of which a period has so many: */
    size_t grains;
    int sets;       /* that will be counted in turn */
    double of_kind; /* the kind's own number */
    double *c;      /* the event's counts, filled by the kind's function */
    double *awake;  /* the part of each period in which the workload runs; 1 when it is called */
};

struct bench_kind {
    const char *name;
    void (*make)(struct bench_draft *draft);
    double number;
    int random_order; /* of the sets */
};

/* Kinds of series that the rules are meant for, those that drift or begin unlike the rest, and what
 * is beyond the rules; up to a row without name. */
extern const struct bench_kind bench_kinds[], bench_drifts[], bench_beyond[];

/* Kinds that end or begin unlike the rest, each event in its own way; up to a row without name. */
extern const struct bench_kind bench_edges[];

/* What single occurrences do to an estimate; up to a row without name. */
extern const struct bench_kind bench_bursts[];

/*
 * Fill `count` periods of 100 ms, all of them of set 0: slot 0 counts a series of the kind; slot 1,
 * when `slots` is 2, a third of it times another series of the kind, of mean 1.
 */
void bench_make_series(const struct bench_kind *kind, uint64_t *random, int sets, int slots,
                       struct rps_period *period, size_t count);

/*
 * The same from `grains` grains per period, and with `fine` in periods as record --fine-start makes
 * them: a hundredth of the run so far, at least a grain and at most 100 ms. Return how many.
 */
size_t bench_make_fine_series(const struct bench_kind *kind, uint64_t *random, int sets, int slots,
                              struct rps_period *period, size_t count, size_t grains, int fine);

#endif
