/*
 * The regions of a run, as its marks tell of them (rpistat/region.h): "region NAME begin", "region
 * NAME end", and of regions that are entered too often to be marked each time their totals at the
 * program's end, "region NAME: 1000 entries, 0.250000 s".
 *
 * Marks do not say which thread made them. An end belongs to the newest begin that has none: what
 * all entries take together, and when anybody was in it, is right whichever they belong to.
 */
#ifndef RPISTAT_RUN_REGIONS_H
#define RPISTAT_RUN_REGIONS_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"
#include "rpistat/cpu_series.h"
#include "rpistat/store.h"

/* Regions of further names are not looked at. */
#define RPS_RUN_REGIONS_MAX 100

struct rps_run_region {
    const char *name;
    uint64_t entered;       /* entries: those that were marked and have ended, or the totals */
    uint64_t marked;        /* entries that were marked and have ended */
    uint64_t open;          /* that were begun and not ended, as far as marks tell */
    uint64_t at_once;       /* most marked entries at the same time, of several threads */
    int64_t time_ns;        /* of all entries, added up */
    struct rps_spans spans; /* when anybody was in it, as far as marked */
};

struct rps_run_regions {
    size_t count;
    struct rps_run_region *region; /* in order of their first marks */
    int more;                      /* 1: there are regions beyond RPS_RUN_REGIONS_MAX */
};

/* 1 when a mark of that text is of a region. */
int rps_run_regions_is_mark(const char *text);

/*
 * The regions that the part [from_ns, to_ns) has something of: what is counted and timed is what
 * lies in the part, totals only where that is all of the run; spans are whole. All is the arena's.
 */
struct rps_run_regions rps_run_regions_find(struct rps_arena *arena, const struct rps_notes *marks,
                                            int64_t from_ns, int64_t to_ns);

/* Drop all but the region of that name. RPS_FAILED names those that there are. */
int rps_run_regions_choose(struct rps_run_regions *regions, int64_t run_id, const char *name,
                           struct rps_error *err);

/* Drop all but the so many in which somebody was longest, as far as marked. */
void rps_run_regions_keep_longest(struct rps_run_regions *regions, size_t most);

/* Let the walks of a series hand out only the rows that lie wholly inside the region, which must
 * live as long, as they were measured. RPS_FAILED when there is none. */
int rps_run_region_keep(struct rps_cpu_series *series, const struct rps_run_region *region,
                        struct rps_error *err);

#endif
