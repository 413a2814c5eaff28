/* The multiplexer: the current event set, and 64-bit virtual counters over counters of any width.
 * The code only computes: it reads no clock, no counters and no files. */
#pragma once

#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/order.h"
#include "rpistat/period.h"
#include "rpistat/pmu.h"

struct rps_mux_set {
    unsigned width[RPS_SLOT_MAX]; /* width of each slot's counter, in bits */
    uint32_t measured;            /* bit s: slot s has an event that can be counted */
    uint32_t by_clock;            /* bit s: slot s is measured by the clock event's count */
    uint32_t stale;               /* bit s: the last reading of slot s failed */
    uint64_t last[RPS_SLOT_MAX];  /* value at the last reading */
    uint64_t total[RPS_SLOT_MAX]; /* virtual counters: totals of the run while the set was active */
    uint64_t last_running_ns;
};

struct rps_mux {
    int set_count;
    struct rps_order order;
    int32_t cpu; /* CPU of the track */
    int current; /* current event set */
    unsigned clock_width;
    int64_t read_within_ns; /* the backend's read_within_ns (pmu.h) */
    uint64_t last_clock;
    uint64_t last_enabled_ns, last_clock_running_ns;
    int64_t last_idle_ns;    /* -1: unknown */
    int64_t idle_left_ns;    /* excess of idle time over enabled time, from earlier periods */
    uint64_t cycle;          /* virtual clock counter: the cycle timestamp */
    int64_t boundary_ns;     /* end of the last period, ns since the start of the run */
    struct rps_period open;  /* the current period, with the readings so far */
    struct rps_mux_set *set; /* owned */
};

/* Initialize a multiplexer for the plan's sets and one track of an attached backend. `cpu` is the
 * CPU of the track. The backend's counters must begin at 0. The first set of the order is current.
 * Returns RPS_FAILED if memory is short. */
int rps_mux_init(struct rps_mux *mux, const struct rps_plan *plan, const struct rps_order *order,
                 const struct rps_pmu *pmu, void *self, int32_t cpu, struct rps_error *err);
void rps_mux_free(struct rps_mux *mux);

/* Begin the open period at time_ns (since the start of the run), after a delay or a pause. */
void rps_mux_resume(struct rps_mux *mux, int64_t time_ns);

/* Return 1 if the clock event was enabled for so long since the last reading that a counter may
 * have wrapped more than once. The caller must then skip this reading, which may be wrong. */
int rps_mux_is_lost(const struct rps_mux *mux, const struct rps_reading *reading);

/* Skip the time since the last reading at last_ns, and continue from this reading at time_ns (both
 * since the start of the run). Returns 1 and sets *ret if a part of the open period is before
 * last_ns. That period ends at last_ns, and the next set becomes current. Otherwise returns 0, and
 * the open period begins again. */
int rps_mux_skip(struct rps_mux *mux, const struct rps_reading *reading, int64_t last_ns,
                 int64_t time_ns, struct rps_period *ret);

/* Add a reading of the current set to the open period without ending the period. Differences are
 * taken modulo each counter's width, so one wrap since the last reading is harmless. */
void rps_mux_fold(struct rps_mux *mux, const struct rps_reading *reading);

/* End the period at end_ns (since the start of the run) with a last reading of the current set. The
 * next set of the order becomes current.
 *
 * If the workload did not run (enabled time 0), counts are true zeros. If a set was enabled but was
 * never on a counter, the bits of its slots in `counted` are 0. The bit of an unreadable slot is
 * also 0, until the slot can be read again.
 *
 * A period is never idle for longer than it was enabled. Idle time is measured in ticks, and may
 * exceed the enabled time. The excess is added to the next period, so that sums are right. */
void rps_mux_end_period(struct rps_mux *mux, const struct rps_reading *reading, int64_t end_ns,
                        struct rps_period *ret);
