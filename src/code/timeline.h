/* Calls over time: the code in the samples of each period. The store counts samples by the numbers
 * of periods; the periods have the times. */
#pragma once

#include "rpistat/shares.h"
#include "rpistat/export.h"

/* The export formats of samples, for the table of this extension. */

/* The code of a part of a run. */
struct rps_export_code {
    const struct rps_code *code;
    const struct rps_part_choice *choice;
    const struct rps_run_part *part; /* The part of the run, as one group. */
    const struct rps_cpus *cpus;
};

/* Read the part and write it with `write`, which returns 0 or negative. RPS_FAILED: no samples. */
int rps_export_code(struct rps_export_job *job, const struct rps_part_choice *choice,
                    const struct rps_cpus *cpus,
                    int (*write)(struct rps_export_job *job, const struct rps_export_code *of,
                                 struct rps_error *err),
                    struct rps_error *err);

/* The samples of a period of one CPU, or of a block of downsampled periods. Nodes are placed one
 * after another from the row's start. Between the last node's end and end_ns, nothing ran. */
struct rps_timeline_row {
    uint64_t period;
    int64_t start_ns, end_ns;
    uint64_t samples; /* Number of all samples in the row. */
    size_t count;
    struct rps_timeline_seen {
        size_t node, order; /* Tree node, and its depth-first position, which groups the callees
                               of each caller. */
        uint64_t samples;
        int64_t start_ns, end_ns;
    } * seen; /* Sorted by order; each node appears once. */
};

struct rps_timeline {
    struct rps_reader *reader;
    int64_t run_id;
    const struct rps_export_code *of;
    int32_t cpu;                /* RPS_CPU_ALL if the run is not by CPU */
    enum rps_code_counted what; /* stacks or tasks; if tasks, the nodes are tasks */
    size_t id_count;            /* number of stacks or tasks */
    struct rps_calls calls;     /* Calls of the CPU's samples in the part. */
    size_t *order;              /* Depth-first position of each node. */
};

/* List the CPUs in a part of a run, in the arena. If the run is not by CPU, the list has only the
 * element RPS_CPU_ALL. Errors are those of reading the store. */
int rps_timeline_cpus(const struct rps_export_job *job, const struct rps_export_code *of,
                      int32_t **ret, size_t *ret_count, struct rps_error *err);

/* Open the timeline of one CPU, in the arena. Errors are those of reading the store. */
int rps_timeline_open(struct rps_timeline *ret, struct rps_arena *arena,
                      const struct rps_export_job *job, const struct rps_export_code *of,
                      int32_t cpu, enum rps_code_counted what, struct rps_error *err);

/* Pass rows with samples to `row`, in order of time. Errors are those of reading the store. */
int rps_timeline_walk(const struct rps_timeline *timeline,
                      void (*row)(void *context, const struct rps_timeline_row *row), void *context,
                      struct rps_error *err);

/* Implement rps_code_hooks.calls. */
int rps_timeline_calls(struct rps_export_job *job, const struct rps_part_choice *choice,
                       const struct rps_cpus *cpus, const struct rps_call_sink *sink,
                       struct rps_error *err);
