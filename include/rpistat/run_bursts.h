/* The recurring bursts of a run: when, how often, and how they differ from the rest. */
#ifndef RPISTAT_RUN_BURSTS_H
#define RPISTAT_RUN_BURSTS_H

#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/bursts.h"
#include "rpistat/cpus.h"
#include "rpistat/error.h"
#include "rpistat/part_shares.h"
#include "rpistat/phase.h"

struct rps_reader;

struct rps_run_bursts {
    struct rps_bursts bursts; /* in period numbers; count 0: no bursts, and no times */
    int64_t *start_ns;        /* of each; the arena's */
    int64_t length_ns, every_ns;
    /* how they differ: "in flush, 7.5 x the context switches of the whole run"; "": unknown; the
     * arena's */
    const char *words, *outlier_words; /* of bursts, and of the outliers in none */
};

/*
 * Find the bursts in the outliers of a run's phases (as of rps_run_phases_get or _detect), in the
 * arena. Bursts and ten or more other outliers have words, for which the run is walked once more.
 * The same walk finds the shares of the phases for *ret_labels, with one group per label; none
 * without samples. Errors: those of rps_part_shares_find and rps_part_words_find.
 */
int rps_run_bursts_find(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                        const struct rps_cpus *cpus, const struct rps_phases *phases,
                        struct rps_part_shares *ret_labels, struct rps_run_bursts *ret,
                        struct rps_error *err);

#endif
