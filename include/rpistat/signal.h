/* Signals for the detection of phases, from other sources than counters, as tables of counts. An
 * extension has a provider of such signals (rpistat/code_hooks.h). Each detection calls the
 * provider for each run, and the provider adds tables to the collected signals. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/collect.h"
#include "rpistat/cpus.h"
#include "rpistat/error.h"

struct rps_reader;

/* A range of periods of a run. */
struct rps_signal_run {
    struct rps_reader *reader; /* reader of the run's store (borrowed) */
    int64_t run_id;
    uint64_t first, last;
};

/* The chosen signals. If all members are 0, there are no chosen signals. */
struct rps_chosen_signals {
    size_t name_count;       /* number of signals */
    const char *const *name; /* names of the signals */
    size_t table_count;      /* number of tables that the provider adds */
    size_t having;     /* runs with these signals, which are used only if all runs have them */
    const void *state; /* data of the provider */
};

struct rps_signal_provider {
    /* Return 1 if the name means a signal of this provider, or all signals of the provider. */
    int (*is_name)(const char *name);

    /* Choose the signals that are used for all runs. If there is only one run, only signals that
     * the caller names are chosen. The result is in the arena; `run` and `name` must live as long
     * as the result. Errors come from the store, or from a name without data (RPS_USAGE). */
    int (*choose)(struct rps_arena *arena, const struct rps_signal_run *run, size_t count,
                  const struct rps_cpus *cpus, const char *const *name, size_t name_count,
                  struct rps_chosen_signals *ret, struct rps_error *err);

    /* Add the tables of counts of run[r] to its collected signals. CPUs are added up as in
     * `collected`. Errors are those of the store. */
    int (*add)(const struct rps_chosen_signals *chosen, size_t r, struct rps_collected *collected,
               struct rps_error *err);
};
