/* The script of a simulated ARM1176: phases and deliberate faults (language: src/sim/README.md). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/clock.h"
#include "rpistat/error.h"
#include "rpistat/system_reader.h"
#include "sim_code.h"

/* The system metrics of a simulated workload, from the words of its phases (src/sim/README.md). */

#define SIM_PPM           1000000u
#define SIM_THREADS_MAX   1000000u
#define SIM_RUNNERS_MAX   256u                  /* maximum number of threads that need a CPU */
#define SIM_PER_S_MAX     UINT64_C(16000000000) /* maximum bytes, ns or uJ/s: exact in 64 bits */
#define SIM_REASONS       (RPS_TREE_IN_OTHER - RPS_TREE_IN_IO + 1)
#define SIM_THREADS_UNSET UINT32_MAX

/* The system metrics of a phase. */
struct sim_system {
    uint32_t wait_ppm; /* waiting time / whole time, for a thread that needs a CPU */
    uint32_t seen_ppm; /* share of the time on a CPU that is visible to readings */
    uint32_t threads;
    uint32_t in[SIM_REASONS]; /* number of sleeping threads by reason; other threads need a CPU */
    int rest;                 /* reason for which all other threads sleep; -1: they do not sleep */
    uint32_t runners;         /* number of threads that need a CPU */
    /* Values by source and slot: a gauge's value, or a counter's ns, bytes or uJ per second of
     * elapsed time. Metrics that have a member above are not included. */
    uint64_t amount[RPS_SYSTEM_SOURCES][RPS_SYSTEM_SLOT_MAX];
};

/* Parse the word name=value of a system metric; the word may be modified. Returns 1 and adds the
 * metric to named[source], bit slot; 0 for any other word; RPS_USAGE for an invalid value. */
int rps_sim_system_word(struct sim_system *signals, uint32_t named[RPS_SYSTEM_SOURCES],
                        const char *name, char *value, struct rps_error *err);

/* Determine the number of threads in a phase, after all words of the phase are parsed. If `runs` is
 * set, the workload runs in the phase. Returns RPS_USAGE if too many threads are asleep. */
int rps_sim_system_settle(struct sim_system *signals, int runs, struct rps_error *err);

/* The upper limit of the ARM1176's event numbers. The number of the cycle counter is above this
 * limit, but programmable counters can count cycles, too. The names are in sim_events.c. */
#define SIM_EVENT_COUNT 0x27
#define SIM_CYCLES      0xff

/* The maximum rate, in whole events per second of CPU time, for exact 64-bit arithmetic. */
#define SIM_RATE_MAX UINT64_C(4000000000)

struct sim_phase {
    char name[32];
    int64_t length_ns;
    int sleeping;                   /* 1: the workload does not run */
    int idle;                       /* 1: counters are enabled, as on an idle CPU */
    uint32_t rate[SIM_EVENT_COUNT]; /* rates in events per second of CPU time */
    int mix;                        /* index into sim_code.mix; -1: unknown code */
    struct sim_system signals;
};

struct sim_stretch { /* start, as a time of the run, and length from this start */
    int64_t at_ns, length_ns;
};

struct sim_stretches {
    size_t count;
    struct sim_stretch *item; /* items in order of time */
};

struct sim_script {
    struct rps_arena *arena; /* holds the script itself and all its arrays */
    int counters;            /* number of programmable counters */
    int width;               /* number of bits of every counter */
    uint32_t clock_hz;
    uint64_t seed;
    uint32_t noise_ppm; /* maximum change of rates by noise, renewed each 100 ms */
    int exit_status, exit_signal;

    size_t phase_count;
    struct sim_phase *phase; /* definitions of the phases */
    size_t order_count;
    uint32_t *order; /* phases of the run in order, as indexes into `phase` */

    struct sim_code code;
    uint32_t named[RPS_SYSTEM_SOURCES]; /* system metrics that the script names, one bit per slot */

    struct sim_stretches switches;     /* at_ns: time from which the cost is valid;
                                          length_ns: cost of switching the event set */
    struct sim_stretches readings;     /* at_ns: time from which the cost is valid;
                                          length_ns: cost of a system reading */
    struct sim_stretches fail_reading; /* times in which system readings fail */
    struct sim_stretches late;         /* delays of wake-ups */
    struct sim_stretches steal;        /* another user has the programmable counters */
    struct sim_stretches steal_clock;  /* another user has the cycle counter */
    struct sim_stretches fail_read;    /* reads of programmable counters fail */
    struct sim_stretches lose;         /* samples are lost, and counted as lost */
    struct sim_stretches throttle;     /* no sampling until the kernel's next tick */
    int state[SIM_EVENT_COUNT];        /* result of opening each event (enum rps_event_state) */
};

/* Return the number of events since an interval began: the integer part of rate x time. */
static inline uint64_t rps_sim_events_at(uint64_t rate, int64_t passed_ns)
{
    uint64_t ns = (uint64_t)passed_ns;

    return rate * (ns / RPS_NS_PER_S) + rate * (ns % RPS_NS_PER_S) / RPS_NS_PER_S;
}

/* Return the time of event `events`: the smallest passed_ns with rps_sim_events_at >= events. */
static inline int64_t rps_sim_events_when(uint64_t rate, uint64_t events)
{
    return (int64_t)(events / rate * RPS_NS_PER_S +
                     (events % rate * RPS_NS_PER_S + rate - 1) / rate);
}

/* Return the CPU time, in ns per second, that a thread gets while it needs a CPU. */
static inline uint64_t rps_sim_cpu_per_s(const struct sim_phase *phase)
{
    return RPS_NS_PER_S / SIM_PPM * (SIM_PPM - phase->signals.wait_ppm);
}

/* Return the workload's CPU time in ns, passed_ns after an interval began (idle CPU: passed_ns). */
static inline int64_t rps_sim_cpu_at(const struct sim_phase *phase, int64_t passed_ns)
{
    if (phase->idle)
        return passed_ns;
    return (int64_t)(phase->signals.runners *
                     rps_sim_events_at(rps_sim_cpu_per_s(phase), passed_ns));
}

/* Return 1 if the time is inside an interval of the list. */
int rps_sim_stretches_have(const struct sim_stretches *list, int64_t time_ns);

/* Return the length of the last item that has begun; 0: none has begun. */
int64_t rps_sim_stretches_at(const struct sim_stretches *list, int64_t time_ns);

/* Return the event number of a name in a script, or of rNN; -1: unknown. */
int rps_sim_event(const char *name);

/* Return the event number of a name that a user requests; -1: unknown. The name may also be a
 * generic name (as in the ARM1176's Linux driver), a role, or the name of the cycles. */
int rps_sim_event_asked(const char *spec);

/* Read and check a script. The caller frees it by its arena. RPS_USAGE with a message "FILE:LINE:
 * what is wrong". */
int rps_sim_script_load(const char *path, struct sim_script **ret, struct rps_error *err);
