/* The simulated reader of system metrics. The values depend only on the script and the time. */
#pragma once

#include "rpistat/system_pace.h"
#include "rpistat/system_reader.h"
#include "sim_script.h"

struct sim_reader {
    const struct sim_script *script; /* script of the simulation, borrowed */
    struct rps_system_pace pace;     /* pace of readings of the process tree */
    int64_t period_ns;
    int reads[RPS_SYSTEM_SOURCES];       /* 1: the source is read */
    int64_t now_ns;                      /* time up to which totals were computed */
    int64_t read_ns[RPS_SYSTEM_SOURCES]; /* time of the last reading, or start of counting */
    size_t order;                        /* phase at now_ns, even if now_ns is its end */
    int64_t phase_ns;                    /* start of the phase at now_ns */
    /* Counters in ns, bytes or uJ: totals of earlier phases, up to now, and at the last reading. */
    uint64_t before[RPS_SYSTEM_SOURCES][RPS_SYSTEM_SLOT_MAX];
    uint64_t total[RPS_SYSTEM_SOURCES][RPS_SYSTEM_SLOT_MAX];
    uint64_t read[RPS_SYSTEM_SOURCES][RPS_SYSTEM_SLOT_MAX];
};

/* Open a reader of the script's values. The caller closes the reader through *ret. Returns
 * RPS_FAILED if the script has none of the requested sources' metrics. */
int rps_system_sim_open(struct sim_reader *reader, const struct sim_script *script,
                        const struct rps_system_options *options, struct rps_system_reader *ret,
                        struct rps_error *err);
