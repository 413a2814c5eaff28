/* How a window of a run differs from the rest of the run, or from another window. A difference is
 * found if chance does not explain it. Chance is the noise within the phases of the run. */
#pragma once

#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"
#include "rpistat/part_shares.h"
#include "rpistat/profile.h"

struct rps_reader;

struct rps_run;

struct rps_run_window {
    int64_t from_ns[2], to_ns[2]; /* [0]: the window; [1]: the other window, both 0 for the rest */
    const char *region;           /* only the periods of the window inside it (NULL: all) */
    struct rps_cpus cpus;         /* CPUs (count 0: all) */
    const struct rps_phases *phases; /* phases of the run; NULL: the function finds them */
    struct rps_profile profile;    /* label 0: the window; label 1: the other window or the rest */
    struct rps_part_shares shares; /* one group per label; group_count 0: no samples */
};

/* Compare the window of *window. The caller sets the first five members; the function sets the
 * others, in the arena. Errors come from the store. RPS_FAILED: a side has no period, or both have
 * the same periods. */
int rps_run_window_find(struct rps_arena *arena, struct rps_reader *reader,
                        const struct rps_run *run, struct rps_run_window *window,
                        struct rps_error *err);
