/*
 * The system metrics of a simulated workload, from the words of its phases. The language is
 * described in src/sim/README.md.
 */
#ifndef RPISTAT_SIM_SIGNALS_H
#define RPISTAT_SIM_SIGNALS_H

#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/system_signals.h"

#define SIM_PPM           1000000u
#define SIM_THREADS_MAX   1000000u
#define SIM_RUNNERS_MAX   256u                  /* threads that need a CPU at the same time */
#define SIM_PER_S_MAX     UINT64_C(16000000000) /* bytes, ns or uJ per second: exact in 64 bits */
#define SIM_REASONS       (RPS_TREE_IN_OTHER - RPS_TREE_IN_IO + 1)
#define SIM_THREADS_UNSET UINT32_MAX

/* In a phase. */
struct sim_signals {
    uint32_t wait_ppm; /* share of the time in which a thread that needs a CPU waits for it */
    uint32_t seen_ppm; /* share of the time on a CPU that readings see */
    uint32_t threads;
    uint32_t in[SIM_REASONS]; /* number asleep, by reason; the others need a CPU */
    int rest;                 /* the reason for the other threads' sleep; -1: none */
    uint32_t runners;         /* threads that need a CPU */
    /* By source and slot. For a gauge its value, for a counter the ns, bytes or uJ per second of
     * elapsed time. Those above have their own members. */
    uint64_t amount[RPS_SYSTEM_SOURCES][RPS_SYSTEM_SLOT_MAX];
};

/* Set the values before any word. */
void rps_sim_signals_init(struct sim_signals *signals);

/*
 * Parse the word name=value, which may be modified, if it is for a system metric: returns 1, and
 * adds the metric to named[source], bit slot. 0: another word. RPS_USAGE for an invalid value.
 */
int rps_sim_signals_word(struct sim_signals *signals, uint32_t named[RPS_SYSTEM_SOURCES],
                         const char *name, char *value, struct rps_error *err);

/* Count the threads of a phase that runs, or sleeps, after all words. RPS_USAGE if too many are
 * asleep. */
int rps_sim_signals_settle(struct sim_signals *signals, int runs, struct rps_error *err);

#endif
