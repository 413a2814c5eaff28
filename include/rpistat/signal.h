/*
 * Signals of phases that come from beside the counters, as tables of counts. A wing brings a provider (rpistat/wing.h);
 * detections ask it of every run that takes part, and have it add to what was collected.
 */
#ifndef RPISTAT_SIGNAL_H
#define RPISTAT_SIGNAL_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/collect.h"
#include "rpistat/cpus.h"
#include "rpistat/error.h"

struct rps_reader;

/* The periods of a run. */
struct rps_signal_run {
    struct rps_reader *reader; /* borrowed */
    int64_t run_id;
    uint64_t first, last;
};

/* What was chosen; all zero: nothing. */
struct rps_chosen_signals {
    size_t name_count;       /* 0: there are none */
    const char *const *name; /* what they are called */
    size_t table_count;      /* that are added */
    size_t having; /* runs that have any such signals; of several there are none unless all have */
    const void *state; /* the provider's */
};

struct rps_signal_provider {
    /* Is it the name of such a signal, or of all of them? */
    int (*is_name)(const char *name);

    /* What is counted, the same for all runs; or, of one run, what is named, in the arena; `run`
     * and `name` live as long. Errors: the store's; RPS_USAGE for a name of which there is
     * nothing. */
    int (*choose)(struct rps_arena *arena, const struct rps_signal_run *run, size_t count,
                  const struct rps_cpus *cpus, const char *const *name, size_t name_count,
                  struct rps_chosen_signals *ret, struct rps_error *err);

    /* Add tables of counts to what was collected of run[r], of the same CPUs added up. Errors: the
     * store's. */
    int (*add)(const struct rps_chosen_signals *chosen, size_t r, struct rps_collected *collected,
               struct rps_error *err);
};

#endif
