/*
 * The code of a run in its store: the tables sampling, module, frame, stack, task, cgroup, program,
 * location and code_count (schema/).
 */
#ifndef RPISTAT_CODE_STORE_H
#define RPISTAT_CODE_STORE_H

#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/code.h"
#include "rpistat/error.h"
#include "rpistat/store_wing.h"

struct rps_reader;
struct rps_writer;

/* The store's description of these tables, for rps_store_use. Without it, none of them are written,
 * and reading still works. */
extern const struct rps_store_wing rps_code_store;

/*
 * Pass on code, each item before the first that refers to it, and counts of stacks and tasks in
 * periods; repeated counts add up. A repeated task, program or location, and the sampling status,
 * replace the earlier ones. `alike` is a frame whose location of depth 0 has the same function and
 * file. They are then not written; -1: none. Like periods, these calls never wait.
 */
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

/*
 * Read the code in a run's samples. Returns 1 and *ret, all in the arena; 0: no samples were taken;
 * negative: an error. Invalid rows, such as a stack whose parent is not lower, are left out.
 */
int rps_reader_code(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                    struct rps_code *ret, struct rps_error *err);

/* Query counts of one kind in the periods first ... last of one CPU, or with RPS_CPU_ALL of all
 * tracks. A downsampled block counts at its first period. A number may occur more than once, and
 * may be missing in the code. The walk ends when `count` returns a value other than 0, and returns
 * it. */
struct rps_code_count_query {
    enum rps_code_counted what;
    int32_t cpu;
    uint64_t first, last;
    int (*count)(void *context, const struct rps_code_count *count, struct rps_error *err);
    void *context;
};

int rps_reader_code_counts(struct rps_reader *reader, int64_t run_id,
                           const struct rps_code_count_query *query, struct rps_error *err);

/* Replace the locations of these frames, and the number of complete stacks, in the run of the store
 * at path, in one transaction. Errors: those of rps_writer_open; no such run. */
int rps_store_set_locations(const char *path, int64_t run_id, const struct rps_code *code,
                            struct rps_error *err);

/* Do the same for the run that rps_writer_end has ended. `alike` has one number per location; NULL:
 * -1 for all. */
int rps_writer_set_locations(struct rps_writer *writer, int64_t run_id, const struct rps_code *code,
                             const int64_t *alike, struct rps_error *err);

#endif
