/*
 * The multiplexer: the current event set, and 64-bit virtual counters over counters of any width.
 * Pure arithmetic: no clock, no counters, no files.
 */
#ifndef RPISTAT_MEASURE_MUX_H
#define RPISTAT_MEASURE_MUX_H

#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/order.h"
#include "rpistat/period.h"
#include "rpistat/pmu.h"

struct rps_mux_set {
    unsigned width[RPS_SLOT_MAX]; /* bits of each slot's counter */
    uint32_t measured;            /* bit s: slot s is an event that can be counted */
    uint32_t by_clock;            /* bit s: of these, those whose count equals the clock event's */
    uint32_t stale;               /* bit s: the last reading of slot s failed */
    uint64_t last[RPS_SLOT_MAX];  /* value when last read */
    uint64_t total[RPS_SLOT_MAX]; /* virtual counters: the run's total while the set was on */
    uint64_t last_running_ns;
};

struct rps_mux {
    int set_count;
    struct rps_order order;
    int32_t cpu; /* of the track */
    int current; /* current set */
    unsigned clock_width;
    int64_t read_within_ns; /* of the backend */
    uint64_t last_clock;
    uint64_t last_enabled_ns, last_clock_running_ns;
    int64_t last_idle_ns;    /* -1: unknown */
    int64_t idle_left_ns;    /* earlier idle time that no period had space for */
    uint64_t cycle;          /* virtual clock counter: the cycle timestamp */
    int64_t boundary_ns;     /* end of the last period, since the start of the run */
    struct rps_period open;  /* the period being measured, with the readings so far */
    struct rps_mux_set *set; /* owned */
};

/*
 * Initialize a multiplexer for the plan's sets on one track (of CPU `cpu`) of an attached backend,
 * whose counters begin at 0. The first set of the order is current. RPS_FAILED: no memory.
 */
int rps_mux_init(struct rps_mux *mux, const struct rps_plan *plan, const struct rps_order *order,
                 const struct rps_pmu *pmu, void *self, int32_t cpu, struct rps_error *err);
void rps_mux_free(struct rps_mux *mux);

/* Begin the open period at time_ns (since the start of the run): after a delay or a pause. */
void rps_mux_resume(struct rps_mux *mux, int64_t time_ns);

/*
 * Return 1 if the clock event was enabled for so long since the last reading that a counter may
 * have wrapped more than once. This reading may then be wrong, and must be skipped.
 */
int rps_mux_is_lost(const struct rps_mux *mux, const struct rps_reading *reading);

/*
 * Skip the time since the last reading at last_ns, and continue from this one, made at time_ns
 * (both since the start of the run). Returns 1 and *ret if the open period has a part before
 * last_ns: it ends there, and the next set is current. 0: it begins again.
 */
int rps_mux_skip(struct rps_mux *mux, const struct rps_reading *reading, int64_t last_ns,
                 int64_t time_ns, struct rps_period *ret);

/*
 * Add a reading of the current set to the open period without ending it. Differences are taken
 * modulo each counter's width, so one wrap since the last reading is harmless.
 */
void rps_mux_fold(struct rps_mux *mux, const struct rps_reading *reading);

/*
 * End the period at end_ns (since the start of the run) with a last reading of the current set. The
 * next set of the order becomes current. If the workload did not run (enabled time 0), counts are
 * true zeros. A set that was enabled but never on a counter has no bit in `counted`. Neither has an
 * unreadable slot, in that period and until it is read again.
 *
 * A period is never idle for longer than it was enabled. Idle time comes in ticks, so the excess of
 * one period counts in the next, and sums stay right.
 */
void rps_mux_end_period(struct rps_mux *mux, const struct rps_reading *reading, int64_t end_ns,
                        struct rps_period *ret);

#endif
