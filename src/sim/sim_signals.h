/*
 * The system signals of a simulated workload: what the words of its phases say of them. The language
 * is described in src/sim/README.md.
 */
#ifndef RPISTAT_SIM_SIGNALS_H
#define RPISTAT_SIM_SIGNALS_H

#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/system_signals.h"

#define SIM_PPM           1000000u
#define SIM_THREADS_MAX   1000000u
#define SIM_RUNNERS_MAX   256u                  /* threads that want a CPU at the same time */
#define SIM_PER_S_MAX     UINT64_C(16000000000) /* bytes, ns or uJ a second: exact in 64 bits */
#define SIM_REASONS       (RPS_TREE_IN_OTHER - RPS_TREE_IN_IO + 1)
#define SIM_THREADS_UNSET UINT32_MAX

/* In a phase. */
struct sim_signals {
    uint32_t wait_ppm; /* of the time that a thread wants a CPU it waits for one */
    uint32_t seen_ppm; /* of the time on a CPU the readings see */
    uint32_t threads;
    uint32_t in[SIM_REASONS]; /* of them asleep, by reason; the others want a CPU */
    int rest;                 /* the reason that the others are asleep for, too; -1: none */
    uint32_t runners;         /* threads that want a CPU */
    /* By source and slot. Of a gauge what is read; of a counter the ns, bytes or uJ a second of elapsed
     * time. Those above have their own members. */
    uint64_t amount[RPS_SYSTEM_SOURCES][RPS_SYSTEM_SLOT_MAX];
};

/* Before any word. */
void rps_sim_signals_init(struct sim_signals *signals);

/*
 * Take the word name=value, which may be changed, if it is one of signals: returns 1, and adds what
 * it speaks of to named[source], bit slot. 0: it is none. RPS_USAGE for a value that makes no sense.
 */
int rps_sim_signals_word(struct sim_signals *signals, uint32_t named[RPS_SYSTEM_SOURCES],
                         const char *name, char *value, struct rps_error *err);

/* All words are known: count the threads of a phase that runs, or sleeps. RPS_USAGE when too many
 * are asleep. */
int rps_sim_signals_settle(struct sim_signals *signals, int runs, struct rps_error *err);

#endif
