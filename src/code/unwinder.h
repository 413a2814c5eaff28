/*
 * The process that unwinds: it alone reads the call frame information of the workload's files,
 * since they may be hostile. It is started when the first stack comes, has the limits of child.h,
 * and gets nothing but a stack and the map that its frame is in; what it answers are addresses,
 * which are looked up as any others are.
 */
#ifndef RPISTAT_CODE_UNWINDER_H
#define RPISTAT_CODE_UNWINDER_H

#include <sys/types.h>

#include "maps.h"
#include "unwind.h"

#define RPS_UNWINDER_WAIT_US 100000

/* All else zero: there is no process, and none has been. */
struct rps_unwinder {
    suseconds_t wait_us; /* for an answer */
    pid_t pid;           /* 0: none */
    int fd;
    int is_late;    /* an answer is still to come, which nobody waits for any more */
    int64_t module; /* whose file it reads, or read last; -1: none */
    int has_died;   /* of that, until the caller has taken note */
    int64_t cpu_ns; /* of the processes that have ended */
};

/* A frame's callers, up to the first that is not in the same map. */
struct rps_unwinder_answer {
    uint64_t address[RPS_SAMPLE_DEPTH_MAX];
    uint32_t count;
    uint32_t step; /* enum rps_unwind_step: CALLER: go on in the map of the last address */
};

/* Whether it can be asked now; starts the process if need be. */
int rps_unwinder_is_ready(struct rps_unwinder *unwinder);

/*
 * Ask for the callers of the frame at `address`, which is in `map`, or in none, NULL. registers:
 * those of the sample, for its innermost frame, and NULL for a frame that the last answer ended
 * with. use_file: the map's file may be read; without it frame pointers are followed. What does
 * not come in time is RPS_UNWIND_LOST.
 */
void rps_unwinder_ask(struct rps_unwinder *unwinder, const struct rps_sample_registers *registers,
                      const struct rps_map *map, uint64_t address, int use_file,
                      struct rps_unwinder_answer *ret);

/* End the process, if there is one. */
void rps_unwinder_end(struct rps_unwinder *unwinder);

#endif
