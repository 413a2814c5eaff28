/*
 * Time on and off the CPU by stack, of a run that `record --wall` made: on it each sample stands for
 * its interval, off it the time is known. All threads are added up.
 */
#ifndef RPISTAT_OFF_CPU_H
#define RPISTAT_OFF_CPU_H

#include "rpistat/run_code.h"
#include "rpistat/shares.h"

struct rps_off_cpu {
    uint64_t *time;   /* us of each stack: in the place of samples, for rps_shares_find */
    uint64_t *waited; /* of them off the CPU */
    uint64_t time_us, waited_us, samples; /* of the group: all, and the samples on the CPU */
};

/* Of each group of a part, all of the arena; ret has room for so many. RPS_FAILED for a run without it; else the store's errors. */
int rps_off_cpu_read(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                     const struct rps_run_part *part, const struct rps_cpus *cpus,
                     const struct rps_code *code, struct rps_off_cpu *ret, struct rps_error *err);

enum rps_off_cpu_at {
    RPS_OFF_CPU_REASON,   /* the kernel's function that called the scheduler */
    RPS_OFF_CPU_FUNCTION, /* the program's: the innermost that is not the C library's or the
                             kernel's */
};

/* Of each stack the caller of it that time off the CPU counts for; in the arena. */
size_t *rps_off_cpu_callers(struct rps_arena *arena, const struct rps_code *code,
                            enum rps_off_cpu_at at);

/* The same, with time off the CPU moved from the innermost function, which is always the
 * scheduler's, to the callers of it that rps_off_cpu_callers gave. */
struct rps_off_cpu rps_off_cpu_move(struct rps_arena *arena, const struct rps_code *code,
                                    const struct rps_off_cpu *of, const size_t *caller);

/* Of each of the calls that rps_shares_calls found of the time how much was off the CPU, in it
 * alone, or with its callees; in the arena. */
uint64_t *rps_off_cpu_calls(struct rps_arena *arena, const struct rps_code *code,
                            const struct rps_off_cpu *of, const struct rps_calls *calls,
                            int is_total);

/* Of a share how long it was off the CPU itself, and in which function of the kernel most. */
struct rps_off_cpu_share {
    uint64_t waited_us;
    const char *reason; /* NULL: not known, or no function */
};

/* Of each of the shares that rps_shares_find found of the time that was moved to functions, the
 * callers RPS_OFF_CPU_FUNCTION; `of` is the time as it was read. */
struct rps_off_cpu_share *rps_off_cpu_shares(struct rps_arena *arena, const struct rps_code *code,
                                             const struct rps_off_cpu *of, const size_t *caller,
                                             enum rps_shares_by by,
                                             const struct rps_shares *shares);

/* Of the shares of each group of a part the functions that its threads waited in most, in the arena.
 * Errors as above. */
int rps_off_cpu_find_waits(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                           const struct rps_run_part *part, const struct rps_cpus *cpus,
                           const struct rps_code *code, struct rps_part_shares *ret,
                           struct rps_error *err);

#endif
