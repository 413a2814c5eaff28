/*
 * The regions of a run, from its marks (rpistat/region.h): "region NAME begin", "region NAME end".
 * Regions that are entered too often for single marks have totals at the program's end: "region
 * NAME: 1000 entries, 0.250000 s".
 *
 * Marks do not name the thread that made them. An end belongs to the newest begin without one. The
 * total time of all entries, and when any thread was in the region, are correct in any case.
 */
#ifndef RPISTAT_RUN_REGIONS_H
#define RPISTAT_RUN_REGIONS_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"
#include "rpistat/cpu_series.h"
#include "rpistat/store.h"

/* Further names are ignored. */
#define RPS_RUN_REGIONS_MAX 100

struct rps_run_region {
    const char *name;
    uint64_t entered;       /* entries: those that were marked and have ended, or the totals */
    uint64_t marked;        /* entries that were marked and have ended */
    uint64_t open;          /* begun and not ended, according to the marks */
    uint64_t at_once;       /* most marked entries at the same time, of several threads */
    int64_t time_ns;        /* of all entries, added up */
    struct rps_spans spans; /* when any thread was in it, according to marks */
};

struct rps_run_regions {
    size_t count;
    struct rps_run_region *region; /* in order of their first marks */
    int more;                      /* 1: there are regions beyond RPS_RUN_REGIONS_MAX */
};

/* Return 1 if a mark of that text is of a region. */
int rps_run_regions_is_mark(const char *text);

/*
 * Find the regions that have something in the part [from_ns, to_ns). Counts and times cover the
 * part, totals only if it is all of the run; spans are whole. All memory is the arena's.
 */
struct rps_run_regions rps_run_regions_find(struct rps_arena *arena, const struct rps_notes *marks,
                                            int64_t from_ns, int64_t to_ns);

/* Keep only the region of that name. RPS_FAILED names the existing ones. */
int rps_run_regions_choose(struct rps_run_regions *regions, int64_t run_id, const char *name,
                           struct rps_error *err);

/* Keep only the `most` regions that threads were in for longest, according to marks. */
void rps_run_regions_keep_longest(struct rps_run_regions *regions, size_t most);

/* Let the walks of a series return only the rows, as measured, that lie wholly inside the region,
 * which must live as long. Return RPS_FAILED if there is none. */
int rps_run_region_keep(struct rps_cpu_series *series, const struct rps_run_region *region,
                        struct rps_error *err);

#endif
