/* The code of a run in its store: the tables sampling, module, frame, stack, task, cgroup, program,
 * location and code_count (schema/). */
#pragma once

#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/code.h"
#include "rpistat/error.h"
#include "rpistat/store_hooks.h"

/* Description of the code tables for rps_store_use. Without this description, the tables are not
 * written, but reading still works. */
extern const struct rps_store_hooks rps_code_store;

/* Pass items of code, and the counts of stacks and tasks in periods, to the writer. Pass each item
 * before any item that refers to it. If a count is passed again, it is added to the earlier count.
 * A repeated task, program, location or sampling status replaces the earlier one. `alike` is
 * another frame whose location of depth 0 has an equal function and file, so that these texts are
 * not written again (-1: none). Like rps_writer_period, these calls never wait. */
void rps_writer_sampling(struct rps_writer *writer, const struct rps_sampling *sampling);
void rps_writer_module(struct rps_writer *writer, const struct rps_module *module);
void rps_writer_frame(struct rps_writer *writer, const struct rps_frame *frame);
void rps_writer_stack(struct rps_writer *writer, const struct rps_stack *stack);
void rps_writer_cgroup(struct rps_writer *writer, const struct rps_cgroup *cgroup);
void rps_writer_task(struct rps_writer *writer, const struct rps_task *task);
void rps_writer_location(struct rps_writer *writer, const struct rps_location *location,
                         int64_t alike);
void rps_writer_process_time(struct rps_writer *writer, int64_t task, int64_t cpu_ns);
void rps_writer_program(struct rps_writer *writer, const struct rps_program *program);
void rps_writer_code_count(struct rps_writer *writer, enum rps_code_counted what,
                           const struct rps_code_count *count);

/* Read the code in a run's samples. Return 1 and set *ret, with all data in the arena; 0 if no
 * samples were taken; or a negative error. Invalid rows, such as a stack whose parent is not lower,
 * are skipped. */
int rps_reader_code(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                    struct rps_code *ret, struct rps_error *err);

/* A query for counts of one kind in the periods first ... last. The periods belong to one CPU, or
 * with RPS_CPU_ALL to all tracks. The counts of a downsampled block belong to the block's first
 * period. `count` may receive the number of a stack or task more than once, also a number that the
 * code lacks. When `count` returns a value other than 0, the query ends and returns this value. */
struct rps_code_count_query {
    enum rps_code_counted what;
    int32_t cpu;
    uint64_t first, last;
    int (*count)(void *context, const struct rps_code_count *count, struct rps_error *err);
    void *context;
};

int rps_reader_code_counts(struct rps_reader *reader, int64_t run_id,
                           const struct rps_code_count_query *query, struct rps_error *err);

/* Replace the locations of the frames in `code`, and the number of complete stacks, in a run of the
 * store at path, in one transaction. Errors come from rps_writer_open. A run that does not exist is
 * also an error. */
int rps_store_set_locations(const char *path, int64_t run_id, const struct rps_code *code,
                            struct rps_error *err);

/* Replace locations as rps_store_set_locations does, but in the run that rps_writer_end has ended.
 * `alike` has one number per location (NULL: -1 for all). */
int rps_writer_set_locations(struct rps_writer *writer, int64_t run_id, const struct rps_code *code,
                             const int64_t *alike, struct rps_error *err);
