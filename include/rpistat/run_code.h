/*
 * The samples of a part of a run: how often each stack or task was seen in it, and the functions of
 * its groups.
 */
#ifndef RPISTAT_RUN_CODE_H
#define RPISTAT_RUN_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/code.h"
#include "rpistat/cpus.h"
#include "rpistat/error.h"
#include "rpistat/part_shares.h"
#include "rpistat/run.h"
#include "rpistat/run_part.h"
#include "rpistat/shares.h"
#include "rpistat/code_store.h"

/* A number of samples of one stack or task in a group; it may be repeated. A result other than 0
 * ends the walk, which returns it if it is negative. */
typedef int rps_run_code_each(void *context, size_t group, int64_t id, uint64_t samples,
                              struct rps_error *err);

/* Call `each` for all counts of a kind in the part, only of these CPUs if listed. If the run is
 * downsampled, a block counts at its first period. */
int rps_run_code_walk(struct rps_reader *reader, int64_t run_id, const struct rps_run_part *part,
                      const struct rps_cpus *cpus, enum rps_code_counted what,
                      rps_run_code_each *each, void *context, struct rps_error *err);

/* How often each key of stacks or tasks was seen in each group of a part. */
struct rps_code_counts {
    const int64_t *key; /* of each stack or task: its function, program, ...; -1: none. NULL: no
                           keys */
    size_t key_count, ids;
    uint64_t *seen; /* seen[group * key_count + key] */
    uint64_t *of;   /* of each group: all samples, including those without a key */
    uint64_t *id;   /* of each stack or task, in all groups: for rps_shares_find */
};

/* Count samples; `key` and `key_count` are set. The rest is in the arena. Errors: the store's. */
int rps_code_counts_read(struct rps_arena *arena, struct rps_code_counts *counts,
                         struct rps_reader *reader, int64_t run_id, const struct rps_run_part *part,
                         const struct rps_cpus *cpus, const struct rps_code *code,
                         enum rps_code_counted what, struct rps_error *err);

/* Find the shares of each group of these parts, into ret[count], in the arena. Samples are read
 * once for all. Errors: those of the store. */
int rps_code_part_shares(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                         const struct rps_run_part *part, size_t count, const struct rps_cpus *cpus,
                         const struct rps_code *code, struct rps_part_shares *ret,
                         struct rps_error *err);

/* Return the CPU time that a run's samples do not cover, in the arena. */
struct rps_unsampled rps_code_unsampled(struct rps_arena *arena, const struct rps_code *code);

/* Return 1 if samples were taken, or should have been. A simulation's script may have no code. */
int rps_code_is_sampled(const struct rps_run *run, const struct rps_code *code);

/* Report that the run has no samples, and how to get them: RPS_FAILED. */
int rps_run_code_none(int64_t run_id, struct rps_error *err);

/* Return RPS_FAILED, and how to get them, if the control groups of tasks are not known. */
int rps_run_code_check_cgroups(int64_t run_id, const struct rps_code *code, struct rps_error *err);

#endif
