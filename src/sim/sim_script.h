/*
 * The script of a simulated ARM1176: the workload's phases and the deliberate faults. The language
 * is described in src/sim/README.md.
 */
#ifndef RPISTAT_SIM_SCRIPT_H
#define RPISTAT_SIM_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/clock.h"
#include "rpistat/error.h"
#include "rpistat/plan.h"
#include "sim_code.h"
#include "sim_signals.h"

/* Event numbers of the ARM1176 are below this, except that of the cycle counter, which programmable
 * counters can count too; the names are in sim_events.c. */
#define SIM_EVENT_COUNT 0x27
#define SIM_CYCLES      0xff

/* Rates are whole events per second of CPU time, small enough for exact 64-bit arithmetic. */
#define SIM_RATE_MAX UINT64_C(4000000000)

struct sim_phase {
    char name[32];
    int64_t length_ns;
    int sleeping;                   /* the workload does not run */
    int idle;                       /* enabled nevertheless, as on an idle CPU */
    uint32_t rate[SIM_EVENT_COUNT]; /* events per second of CPU time */
    int mix;                        /* position, index into sim_code.mix; -1: unknown */
    struct sim_signals signals;
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
    uint32_t noise_ppm; /* maximum change of rates, renewed each 100 ms */
    int64_t switch_ns;  /* cost of a switch */
    int exit_status, exit_signal;

    size_t phase_count;
    struct sim_phase *phase; /* owned: definitions */
    size_t order_count;
    uint32_t *order; /* owned: the run, as indexes of phase */

    struct sim_code code;
    uint32_t named[RPS_SYSTEM_SOURCES]; /* its system metrics: bit slot */

    struct sim_stretches switches;               /* cost of a switch (length_ns) from at_ns on */
    struct sim_stretches readings;               /* the same for a reading of system metrics */
    struct sim_stretches fail_reading;           /* readings of them fail */
    struct sim_stretches late;                   /* wake-ups later than requested */
    struct sim_stretches steal;                  /* another user has the programmable counters */
    struct sim_stretches steal_clock;            /* another user has the cycle counter */
    struct sim_stretches fail_read;              /* reads of programmable counters fail */
    struct sim_stretches lose;                   /* samples are lost, and counted as lost */
    struct sim_stretches throttle;               /* no sampling until the kernel's next tick */
    enum rps_event_state state[SIM_EVENT_COUNT]; /* result of opening each event */
};

/* Return the events of a rate since an interval began: the integer part of rate x time. */
static inline uint64_t rps_sim_events_at(uint64_t rate, int64_t passed_ns)
{
    uint64_t ns = (uint64_t)passed_ns;

    return rate * (ns / RPS_NS_PER_S) + rate * (ns % RPS_NS_PER_S) / RPS_NS_PER_S;
}

/* Return the time of so many: the least passed_ns for which rps_sim_events_at is >= events. */
static inline int64_t rps_sim_events_when(uint64_t rate, uint64_t events)
{
    return (int64_t)(events / rate * RPS_NS_PER_S +
                     (events % rate * RPS_NS_PER_S + rate - 1) / rate);
}

/* Return the CPU time per second of a thread that needs it, ns. */
static inline uint64_t rps_sim_cpu_per_s(const struct sim_phase *phase)
{
    return RPS_NS_PER_S / SIM_PPM * (SIM_PPM - phase->signals.wait_ppm);
}

/* Return the workload's CPU time in an interval of a phase that began so long ago, ns; for an idle
 * CPU the whole time. */
static inline int64_t rps_sim_cpu_at(const struct sim_phase *phase, int64_t passed_ns)
{
    if (phase->idle)
        return passed_ns;
    return (int64_t)(phase->signals.runners *
                     rps_sim_events_at(rps_sim_cpu_per_s(phase), passed_ns));
}

/* Return 1 if the time is inside an interval. */
int rps_sim_stretches_have(const struct sim_stretches *list, int64_t time_ns);

/* Return the length of the last item that has begun; 0: none. */
int64_t rps_sim_stretches_at(const struct sim_stretches *list, int64_t time_ns);

/* Return the event number of a script's name or rNN, or -1. */
int rps_sim_event(const char *name);

/* Return the event number of a requested name, or -1. It may also be a generic name, as in the
 * ARM1176's Linux driver, a role or the cycles. */
int rps_sim_event_asked(const char *spec);

/* Read and check a script. RPS_USAGE with "FILE:LINE: what is wrong". */
int rps_sim_script_load(const char *path, struct sim_script **ret, struct rps_error *err);
void rps_sim_script_free(struct sim_script *script);

#endif
