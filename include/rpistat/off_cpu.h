/*
 * Time on and off the CPU by stack, of a run by `record --wall`. On the CPU each sample counts for
 * its interval; off the CPU the time is known. Threads are added up.
 */
#ifndef RPISTAT_OFF_CPU_H
#define RPISTAT_OFF_CPU_H

#include "rpistat/run_code.h"
#include "rpistat/shares.h"

struct rps_off_cpu {
    uint64_t *time;   /* us of each stack; used like samples for rps_shares_find */
    uint64_t *waited; /* part of it off the CPU */
    uint64_t time_us, waited_us, samples; /* of the group: all times, and the samples on the CPU */
};

/* Read the time of each group of a part into ret[], in the arena. RPS_FAILED: the run has none. */
int rps_off_cpu_read(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                     const struct rps_run_part *part, const struct rps_cpus *cpus,
                     const struct rps_code *code, struct rps_off_cpu *ret, struct rps_error *err);

enum rps_off_cpu_at {
    RPS_OFF_CPU_REASON,   /* the kernel's function that called the scheduler */
    RPS_OFF_CPU_FUNCTION, /* the program's innermost function, outside the C library and the
                             kernel */
};

/* Return for each stack the caller that its time off the CPU counts for, in the arena. */
size_t *rps_off_cpu_callers(struct rps_arena *arena, const struct rps_code *code,
                            enum rps_off_cpu_at at);

/* Move time off the CPU from the innermost function, which is always the scheduler's, to the
 * callers that rps_off_cpu_callers returned. */
struct rps_off_cpu rps_off_cpu_move(struct rps_arena *arena, const struct rps_code *code,
                                    const struct rps_off_cpu *of, const size_t *caller);

/* Return how much of each call was off the CPU, in the call alone or with its callees, in the
 * arena. The calls are those of rps_shares_calls. */
uint64_t *rps_off_cpu_calls(struct rps_arena *arena, const struct rps_code *code,
                            const struct rps_off_cpu *of, const struct rps_calls *calls,
                            int is_total);

/* How long a share was off the CPU itself, and the kernel function with most of that. */
struct rps_off_cpu_share {
    uint64_t waited_us;
    const char *reason; /* NULL: not known, or not a function */
};

/* Return this for the shares that rps_shares_find found in the time after it was moved to the
 * callers RPS_OFF_CPU_FUNCTION. of: the time as it was read. */
struct rps_off_cpu_share *rps_off_cpu_shares(struct rps_arena *arena, const struct rps_code *code,
                                             const struct rps_off_cpu *of, const size_t *caller,
                                             enum rps_shares_by by,
                                             const struct rps_shares *shares);

/* Find, for the shares of each group of a part, the functions that its threads waited longest in,
 * in the arena. Errors as above. */
int rps_off_cpu_find_waits(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                           const struct rps_run_part *part, const struct rps_cpus *cpus,
                           const struct rps_code *code, struct rps_part_shares *ret,
                           struct rps_error *err);

#endif
