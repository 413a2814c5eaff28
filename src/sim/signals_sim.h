/*
 * The simulated processor's reader of system signals. What it reads follows from the script and the
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
    int64_t now_ns;                      /* up to here totals have been added up */
    int64_t read_ns[RPS_SYSTEM_SOURCES]; /* when was read last, or counting began */
    size_t order;                        /* phase that now_ns is in, or at the end of */
    int64_t phase_ns;                    /* where it begins */
    /* Of counters, ns, bytes or uJ: of the phases before, up to now, and as read last. */
    uint64_t before[RPS_SYSTEM_SOURCES][RPS_SYSTEM_SLOT_MAX];
    uint64_t total[RPS_SYSTEM_SOURCES][RPS_SYSTEM_SLOT_MAX];
    uint64_t read[RPS_SYSTEM_SOURCES][RPS_SYSTEM_SLOT_MAX];
};

/* A reader of what the script says; to be closed through *ret. RPS_FAILED when it says nothing of
 * what is to be read. */
int rps_signals_sim_open(struct sim_reader *reader, const struct sim_script *script,
                         const struct rps_system_options *options, struct rps_system_reader *ret,
                         struct rps_error *err);

#endif
