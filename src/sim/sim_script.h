/*
 * The script of a simulated ARM1176: the workload's phases and the switches to misbehave. The
 * language is described in src/sim/README.md.
 */
#ifndef RPISTAT_SIM_SCRIPT_H
#define RPISTAT_SIM_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/plan.h"
#include "sim_code.h"

/* Event numbers of the ARM1176 are below this, but for that of the cycle counter, which
 * programmable counters can count too; the names are in sim_events.c. */
#define SIM_EVENT_COUNT 0x27
#define SIM_CYCLES      0xff

/* Rates are whole events per second of CPU time, small enough for exact 64-bit arithmetic. */
#define SIM_RATE_MAX UINT64_C(4000000000)

struct sim_phase {
    char name[32];
    int64_t length_ns;
    int sleeping;                   /* the workload does not run */
    int idle;                       /* enabled all the same, as on a CPU that has nothing to do */
    uint32_t rate[SIM_EVENT_COUNT]; /* events per second of CPU time */
    int mix;                        /* where it is, of sim_code.mix; -1: nobody knows */
};

struct sim_stretch { /* a time of the run, and a length */
    int64_t at_ns, length_ns;
};

struct sim_stretches {
    size_t count;
    struct sim_stretch *item; /* owned, in order of time */
};

struct sim_script {
    int counters;   /* programmable */
    unsigned width; /* bits of every counter */
    uint32_t clock_hz;
    uint64_t seed;
    uint32_t noise_ppm; /* rates vary by at most this, anew each 100 ms */
    int64_t switch_ns;  /* cost of a switch */
    int exit_status, exit_signal;

    size_t phase_count;
    struct sim_phase *phase; /* owned: definitions */
    size_t order_count;
    uint32_t *order; /* owned: the run, as indexes of phase */

    struct sim_code code;

    struct sim_stretches switches;    /* what a switch costs (length_ns) from at_ns on */
    struct sim_stretches late;        /* wake-ups that come later than asked */
    struct sim_stretches steal;       /* the programmable counters belong to somebody else */
    struct sim_stretches steal_clock; /* the cycle counter does */
    struct sim_stretches fail_read;   /* reads of programmable counters fail */
    struct sim_stretches lose;        /* samples are lost, and counted as lost */
    struct sim_stretches throttle;    /* sampling stands still until the kernel's next tick */
    enum rps_event_state state[SIM_EVENT_COUNT]; /* what opening each event answers */
};

/* Event number of a script's name or rNN, or -1. */
int rps_sim_event(const char *name);

/* That of what was asked for, which may also be a generic name, as the ARM1176's Linux driver maps
 * it, a role or the cycles; or -1. */
int rps_sim_event_asked(const char *spec);

/* Read and check a script. RPS_USAGE with "FILE:LINE: what is wrong". */
int rps_sim_script_load(const char *path, struct sim_script **ret, struct rps_error *err);
void rps_sim_script_free(struct sim_script *script);

#endif
