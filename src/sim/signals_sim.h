/*
 * The simulated processor's reader of system metrics. Its readings follow from the script and the
 * time alone.
 */
#ifndef RPISTAT_SIGNALS_SIM_H
#define RPISTAT_SIGNALS_SIM_H

#include "rpistat/signal_pace.h"
#include "rpistat/system_signals.h"
#include "sim_script.h"

struct sim_reader {
    const struct sim_script *script; /* borrowed */
    struct rps_signal_pace pace;     /* of the tree */
    int64_t period_ns;
    int reads[RPS_SYSTEM_SOURCES];       /* 1: that source is read */
    int64_t now_ns;                      /* totals are added up to here */
    int64_t read_ns[RPS_SYSTEM_SOURCES]; /* time of the last reading, or start of counting */
    size_t order;                        /* phase of now_ns, also if it is at its end */
    int64_t phase_ns;                    /* its start */
    /* Ns, bytes or uJ of counters: of earlier phases, up to now, and as last read. */
    uint64_t before[RPS_SYSTEM_SOURCES][RPS_SYSTEM_SLOT_MAX];
    uint64_t total[RPS_SYSTEM_SOURCES][RPS_SYSTEM_SLOT_MAX];
    uint64_t read[RPS_SYSTEM_SOURCES][RPS_SYSTEM_SLOT_MAX];
};

/* Open a reader of the script's values; close it through *ret. RPS_FAILED if the script has none of
 * those to read. */
int rps_signals_sim_open(struct sim_reader *reader, const struct sim_script *script,
                         const struct rps_system_options *options, struct rps_system_reader *ret,
                         struct rps_error *err);

#endif
