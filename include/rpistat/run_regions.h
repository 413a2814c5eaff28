/* The regions of a run, found from the run's marks (rpistat/region.h): "region NAME begin", "region
 * NAME end". For a region that is entered too often for single marks, a mark at the program's end
 * has totals: "region NAME: 1000 entries, 0.250000 s".
 *
 * Marks do not name their thread. An end mark is matched with the newest begin mark that has no end
 * mark yet. Even if this match is wrong, the total time is correct, and so are the times at which
 * at least one thread was in the region. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/cpu_series.h"
#include "rpistat/store.h"

/* Maximum number of regions; regions with further names are ignored. */
#define RPS_RUN_REGIONS_MAX 100

struct rps_run_region {
    const char *name;
    uint64_t entered;       /* marked entries that ended, or all entries in the totals */
    uint64_t marked;        /* entries that were marked and have ended */
    uint64_t open;          /* entries that have begun and not ended, according to the marks */
    uint64_t at_once;       /* maximum number of marked entries that were open at the same time */
    int64_t time_ns;        /* total time of all entries */
    struct rps_spans spans; /* times with at least one thread inside, according to the marks */
};

struct rps_run_regions {
    size_t count;
    struct rps_run_region *region; /* regions in the order of their first marks */
    int more;                      /* 1 if there are more than RPS_RUN_REGIONS_MAX regions */
};

/* The mark of a region. */
struct rps_region_mark {
    enum {
        RPS_REGION_MARK_NONE, /* the text is not the mark of a region */
        RPS_REGION_MARK_BEGIN,
        RPS_REGION_MARK_END,
        RPS_REGION_MARK_TOTALS
    } kind;
    const char *name; /* points into the text */
    size_t length;    /* length of the name */
    uint64_t entered; /* set only for totals, like elapsed_s */
    double elapsed_s;
};

/* Read the text of a mark. */
struct rps_region_mark rps_region_mark_read(const char *text);

/* Find the regions that have an entry in [from_ns, to_ns). Counts and times cover only this range;
 * marks with totals are used only if the range is the whole run. `spans` is not cut to the range.
 * All memory is in the arena. */
struct rps_run_regions rps_run_regions_find(struct rps_arena *arena, const struct rps_notes *marks,
                                            int64_t from_ns, int64_t to_ns);

/* Keep only the region of that name. RPS_FAILED, with a list of regions: there is none. */
int rps_run_regions_choose(struct rps_run_regions *regions, int64_t run_id, const char *name,
                           struct rps_error *err);

/* Keep only the `most` regions in which threads spent the longest time, according to marks. */
void rps_run_regions_keep_longest(struct rps_run_regions *regions, size_t most);

/* Limit a series to periods as measured (not blocks) that lie completely inside the region. The
 * region must live as long as the series. Return RPS_FAILED if no period is inside. */
int rps_run_region_keep(struct rps_cpu_series *series, const struct rps_run_region *region,
                        struct rps_error *err);
