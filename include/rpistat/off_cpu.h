/* Time on and off the CPU by stack, in a run that was recorded with `record --wall`. Each sample on
 * the CPU represents the time of one sampling interval. The time off the CPU was measured. Times of
 * all threads are added up. */
#pragma once

#include "rpistat/shares.h"

struct rps_off_cpu {
    uint64_t *time;   /* Time of each stack in us, used like samples by rps_shares_find */
    uint64_t *waited; /* Part of `time` that was off the CPU */
    uint64_t time_us, waited_us, samples; /* Totals of the group; samples are of time on the CPU */
};

/* Read the time of each group of a part into ret[], in the arena. RPS_FAILED: there are none. */
int rps_off_cpu_read(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                     const struct rps_run_part *part, const struct rps_cpus *cpus,
                     const struct rps_code *code, struct rps_off_cpu *ret, struct rps_error *err);

enum rps_off_cpu_at {
    RPS_OFF_CPU_REASON,   /* Kernel function that called the scheduler */
    RPS_OFF_CPU_FUNCTION, /* Innermost function that is outside the C library and the kernel */
};

/* Return, for each stack, the caller to which its time off the CPU is attributed, in the arena. */
size_t *rps_off_cpu_callers(struct rps_arena *arena, const struct rps_code *code,
                            enum rps_off_cpu_at at);

/* Move time off the CPU from the innermost function, which always belongs to the scheduler, to the
 * callers from rps_off_cpu_callers. */
struct rps_off_cpu rps_off_cpu_move(struct rps_arena *arena, const struct rps_code *code,
                                    const struct rps_off_cpu *of, const size_t *caller);

/* Return how much time of each call was off the CPU, in the arena. The time of a call is without,
 * or with, the time of the functions that it calls. The calls come from rps_shares_calls. */
uint64_t *rps_off_cpu_calls(struct rps_arena *arena, const struct rps_code *code,
                            const struct rps_off_cpu *of, const struct rps_calls *calls,
                            int is_total);

/* Time that a share was off the CPU, and the kernel function with most of this time. */
struct rps_off_cpu_share {
    uint64_t waited_us;
    const char *reason; /* Kernel function (NULL: unknown, or the share is not a function) */
};

/* Return the time off the CPU of each share. rps_off_cpu_move (to RPS_OFF_CPU_FUNCTION) and then
 * rps_shares_find must be called before. `of` is the time before the move. */
struct rps_off_cpu_share *rps_off_cpu_shares(struct rps_arena *arena, const struct rps_code *code,
                                             const struct rps_off_cpu *of, const size_t *caller,
                                             enum rps_shares_by by,
                                             const struct rps_shares *shares);

/* Find the functions in which the threads of each group of a part waited longest. Add these
 * functions to the group's shares, in the arena. Errors are those of rps_off_cpu_read. */
int rps_off_cpu_find_waits(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                           const struct rps_run_part *part, const struct rps_cpus *cpus,
                           const struct rps_code *code, struct rps_part_shares *ret,
                           struct rps_error *err);
