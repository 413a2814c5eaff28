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

/* What the store must know of these tables, for rps_store_use. Without it nothing of them is
 * written, and reading goes on. */
extern const struct rps_store_wing rps_code_store;

/*
 * Hand over what was found of the code, each before the first that refers to it, and counts of
 * stacks and tasks in periods, which add up where one comes twice. A task, program or location that comes
 * again, and what sampling has come to, replace what is there. `alike` is a frame whose location of
 * depth 0 has function and file of this one, which are not written; -1: none. Like periods they
 * never wait.
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
 * The code that was seen in a run's samples: 1 and *ret, all of the arena, 0 and nothing when none
 * were taken, negative on error. Rows that cannot be, as a stack whose parent is not lower, are left
 * out.
 */
int rps_reader_code(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                    struct rps_code *ret, struct rps_error *err);

/* Counts of one kind of the periods first ... last of one CPU, or with RPS_CPU_ALL of
 * all tracks. A block that is thinned counts where its first period lies; a number may come more
 * than once, and be of a stack or task of which the code has nothing. Returned through: what
 * `count` returns when it is not 0. */
struct rps_code_count_query {
    enum rps_code_counted what;
    int32_t cpu;
    uint64_t first, last;
    int (*count)(void *context, const struct rps_code_count *count, struct rps_error *err);
    void *context;
};

int rps_reader_code_counts(struct rps_reader *reader, int64_t run_id,
                           const struct rps_code_count_query *query, struct rps_error *err);

/* Put the locations of `code`, and how many stacks are complete, in the place of what the run of
 * the store at path has of these frames, in one transaction. Errors: those of rps_writer_open; a run that is not
 * there. */
int rps_store_set_locations(const char *path, int64_t run_id, const struct rps_code *code,
                            struct rps_error *err);

/* The same of the run that rps_writer_end has ended; `alike` has a number for each location, or is
 * NULL: -1 for all. */
int rps_writer_set_locations(struct rps_writer *writer, int64_t run_id, const struct rps_code *code,
                             const int64_t *alike, struct rps_error *err);

#endif
