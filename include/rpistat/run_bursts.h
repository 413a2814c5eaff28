/* The recurring bursts of a run: when and how often they occur, and how they differ from the rest
 * of the run. */
#pragma once

#include <stdint.h>

#include "rpistat/bursts.h"
#include "rpistat/cpus.h"
#include "rpistat/error.h"
#include "rpistat/part_shares.h"
#include "rpistat/phase.h"

struct rps_profile;

struct rps_run_bursts {
    struct rps_bursts bursts; /* bursts in period numbers */
    size_t outliers;          /* number of outliers outside bursts */
    /* The bursts, the outliers outside bursts and the rest of the run as phases, if bursts or ten
     * other outliers exist. Otherwise there are no phases and no texts. */
    struct rps_phases described;
    int64_t *start_ns; /* start of each burst, in the arena */
    int64_t length_ns, every_ns;
    /* Texts in the arena that describe how bursts and other outliers differ from the whole run: "in
     * flush, 7.5 x the rate of context switches of the whole run". "": unknown. */
    const char *words, *outlier_words; /* text on the bursts, and on outliers outside bursts */
};

/* Find the bursts in the outliers of a run's phases (from rps_run_phases_get or _detect), in the
 * arena. */
struct rps_run_bursts rps_run_bursts_find(struct rps_arena *arena, const struct rps_phases *phases);

/* Add the texts. `profile` is the profile of bursts->described. *ret_labels receives the shares of
 * the phases, with one group per label (empty if the run has no samples). Errors are those of
 * rps_part_shares_find. */
int rps_run_bursts_describe(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                            const struct rps_cpus *cpus, const struct rps_phases *phases,
                            struct rps_profile *profile, struct rps_part_shares *ret_labels,
                            struct rps_run_bursts *bursts, struct rps_error *err);
