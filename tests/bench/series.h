/* Artificial series of measurement periods, as workloads might have them, with one event each and
 * known totals. */
#ifndef BENCH_SERIES_H
#define BENCH_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/period.h"

/* Parameters and arrays of one series. */
struct bench_draft {
    uint64_t *random;
    size_t count;   /* number of grains; a period has `grains` grains */
    size_t grains;
    int sets;       /* number of event sets that will rotate */
    double of_kind; /* parameter of the kind of series */
    double *c;      /* counts of the event, filled by the function of the kind */
    double *awake;  /* share of each grain in which the workload runs; initially 1 */
};

struct bench_kind {
    const char *name;
    void (*make)(struct bench_draft *draft);
    double number;
    int random_order; /* 1 if the event sets rotate in random order */
};

/* Kinds of series: those that the interval rules cover, those that drift or begin differently, and
 * those beyond the rules. The last row of each has no name. */
extern const struct bench_kind bench_kinds[], bench_drifts[], bench_beyond[];

/* Kinds of series whose ends or starts differ from the rest, for each event in its own way. The
 * last row has no name. */
extern const struct bench_kind bench_edges[];

/* Kinds of series that show the effect of single occurrences on an estimate. The last row has no
 * name. */
extern const struct bench_kind bench_bursts[];

/* Fill `count` periods of 100 ms, all of set 0. Slot 0 counts a series of the kind. If `slots` is
 * 2, slot 1 counts a third of it times another series of the kind, of mean 1. */
void bench_make_series(const struct bench_kind *kind, uint64_t *random, int sets, int slots,
                       struct rps_period *period, size_t count);

/* Length of the first periods: equal to all others; or 10 ms in the first rotation; or as in record
 * --fine-start. There it is a hundredth of the run so far, at least a grain and at most 100 ms. */
enum bench_start { BENCH_START_EQUAL, BENCH_START_SHORT, BENCH_START_FINE };

/* Make a series with `grains` grains per 100 ms. Return the number of its periods. */
size_t bench_make_grains(const struct bench_kind *kind, uint64_t *random, int sets, int slots,
                         struct rps_period *period, size_t count, size_t grains,
                         enum bench_start start);

#endif
