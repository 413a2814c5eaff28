/*
 * The samples of a part of a run: how often each stack, or each task, was seen in it, and the
 * functions of its groups.
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

/* A number of samples of one stack, or task, in a group; the same one may come again. What is not 0
 * ends the walk, which returns it when it is negative. */
typedef int rps_run_code_each(void *context, size_t group, int64_t id, uint64_t samples,
                              struct rps_error *err);

/* Call `each` for all counts of a kind in the part; of these CPUs alone where they
 * are listed. Where a run is thinned, a block counts where its first period lies. */
int rps_run_code_walk(struct rps_reader *reader, int64_t run_id, const struct rps_run_part *part,
                      const struct rps_cpus *cpus, enum rps_code_counted what,
                      rps_run_code_each *each, void *context, struct rps_error *err);

/* How often what stacks, or tasks, are told apart by was seen in each group of a part. */
struct rps_code_counts {
    const int64_t *key; /* of each stack, or task: its function, program, ...; -1: none. NULL: they
                           are not told apart */
    size_t key_count, ids;
    uint64_t *seen; /* seen[group * key_count + key] */
    uint64_t *of;   /* of each group: all samples, also those of no key */
    uint64_t *id;   /* of each stack, or task, in all groups: for rps_shares_find */
};

/* Count; `key` and `key_count` are there, the rest is the arena's. Errors: the store's. */
int rps_code_counts_read(struct rps_arena *arena, struct rps_code_counts *counts,
                         struct rps_reader *reader, int64_t run_id, const struct rps_run_part *part,
                         const struct rps_cpus *cpus, const struct rps_code *code,
                         enum rps_code_counted what, struct rps_error *err);

/* Find the shares of each group of these parts, into ret[count], in the arena. Samples are read once
 * for all parts. Errors: the store's. */
int rps_code_part_shares(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                         const struct rps_run_part *part, size_t count, const struct rps_cpus *cpus,
                         const struct rps_code *code, struct rps_part_shares *ret,
                         struct rps_error *err);

/* What the samples of a run say nothing of, in the arena. */
struct rps_unsampled rps_code_unsampled(struct rps_arena *arena, const struct rps_code *code);

/* Were samples taken, or should have been? The script of a simulation may have no code. */
int rps_code_is_sampled(const struct rps_run *run, const struct rps_code *code);

/* That the run has no samples, and how to get them: RPS_FAILED. */
int rps_run_code_none(int64_t run_id, struct rps_error *err);

/* RPS_FAILED, and how to get them, where it is not known in which control groups tasks were. */
int rps_run_code_check_cgroups(int64_t run_id, const struct rps_code *code, struct rps_error *err);

#endif
