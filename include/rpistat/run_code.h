/* The samples of a part of a run: the number of samples of each stack or task in the part, and the
 * functions of the part's groups. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/code.h"
#include "rpistat/cpus.h"
#include "rpistat/error.h"
#include "rpistat/part_shares.h"
#include "rpistat/run.h"
#include "rpistat/run_part.h"
#include "rpistat/code_store.h"

/* A number of samples, and their latency in us if the part has weights (otherwise the number). */
struct rps_code_weight {
    uint64_t samples, weight;
};

/* Receive a number of samples of one stack or task in a group. Several calls may be for the same
 * stack or task. If the result is not 0, the walk ends. If the result is negative, the walk returns
 * it. */
typedef int rps_run_code_each(void *context, size_t group, int64_t id, struct rps_code_weight of,
                              struct rps_error *err);

/* Call `each` for all counts of a kind in the part. If CPUs are listed, only counts of these CPUs
 * are passed. In a downsampled run, the counts of a block belong to the block's first period. */
int rps_run_code_walk(struct rps_reader *reader, int64_t run_id, const struct rps_run_part *part,
                      const struct rps_cpus *cpus, enum rps_code_counted what,
                      rps_run_code_each *each, void *context, struct rps_error *err);

/* Weight of the samples of each key in each group of a part (without latency: their number). */
struct rps_code_counts {
    const int64_t *key; /* Key of each stack or task, for example the number of its function or
                           program; -1: none. NULL: there are no keys. */
    size_t key_count, ids;
    uint64_t *seen; /* weight of each key in each group: seen[group * key_count + key] */
    uint64_t *of;   /* weight of all samples of each group, including samples without a key */
    uint64_t *id;   /* weight of each stack or task, summed over all groups, for rps_shares_find */
    uint64_t *samples_of, *samples_id; /* numbers of samples, as `of` and `id` */
};

/* Count the samples of each key. The caller sets `key`, `key_count`. Errors come from the store. */
int rps_code_counts_read(struct rps_arena *arena, struct rps_code_counts *counts,
                         struct rps_reader *reader, int64_t run_id, const struct rps_run_part *part,
                         const struct rps_cpus *cpus, const struct rps_code *code,
                         enum rps_code_counted what, struct rps_error *err);

/* Find the shares of each group of `count` parts. ret[count] receives the results, whose memory is
 * in the arena. Samples are read once for all parts. Errors are those of the store. */
int rps_code_part_shares(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                         const struct rps_run_part *part, size_t count, const struct rps_cpus *cpus,
                         const struct rps_code *code, struct rps_part_shares *ret,
                         struct rps_error *err);

/* Return the CPU time that the samples of a run do not cover, in the arena. */
struct rps_unsampled rps_code_unsampled(struct rps_arena *arena, const struct rps_code *code);

/* Return 1 if samples were taken or requested. Return 0 for a simulation whose script has no code.
 */
int rps_code_is_sampled(const struct rps_run *run, const struct rps_code *code);

/* Report that the run has no samples, and how to record samples. Return RPS_FAILED. */
int rps_run_code_none(int64_t run_id, struct rps_error *err);

/* Set the error for a part of a run that has no measurement period. Returns RPS_FAILED. */
int rps_run_code_no_period(int64_t run_id, struct rps_error *err);

/* Return RPS_FAILED, with advice, if the control groups of tasks were not recorded. */
int rps_run_code_check_cgroups(int64_t run_id, const struct rps_code *code, struct rps_error *err);
