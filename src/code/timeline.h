/*
 * Calls over time: the code in the samples of each period. The store counts samples by the numbers
 * of periods; the periods have the times.
 */
#ifndef RPISTAT_CODE_TIMELINE_H
#define RPISTAT_CODE_TIMELINE_H

#include "export.h"
#include "rpistat/shares.h"

/* The samples of a period of one CPU, or of a block of downsampled periods. Nodes are placed one
 * after another from the row's start; after the last one, until end_ns, nothing ran. */
struct rps_timeline_row {
    int64_t start_ns, end_ns;
    uint64_t samples; /* in all */
    size_t count;
    struct rps_timeline_seen {
        size_t node, order; /* of the tree; by order, the callees of one caller are together */
        uint64_t samples;
        int64_t start_ns, end_ns;
    } * seen; /* by order, once per node */
};

struct rps_timeline {
    struct rps_reader *reader;
    int64_t run_id;
    const struct rps_export_code *of;
    int32_t cpu;            /* RPS_CPU_ALL if the run is not by CPU */
    struct rps_calls calls; /* of that CPU's samples in the part */
    size_t *order;          /* of each node */
};

/* List the CPUs in a part of a run, in the arena: only RPS_CPU_ALL if the run is not by CPU.
 * Errors: those of the store. */
int rps_timeline_cpus(const struct rps_export_job *job, const struct rps_export_code *of,
                      int32_t **ret, size_t *ret_count, struct rps_error *err);

/* Open the timeline of one CPU, in the arena. Errors: those of the store. */
int rps_timeline_open(struct rps_timeline *ret, struct rps_arena *arena,
                      const struct rps_export_job *job, const struct rps_export_code *of,
                      int32_t cpu, struct rps_error *err);

/* Put its rows with samples, in order of time. Errors: those of the store. */
int rps_timeline_walk(const struct rps_timeline *timeline,
                      void (*row)(void *context, const struct rps_timeline_row *row), void *context,
                      struct rps_error *err);

/* Implements rps_wing.calls. */
int rps_timeline_calls(struct rps_export_job *job, const struct rps_part_choice *choice,
                       const struct rps_cpus *cpus, const struct rps_call_sink *sink,
                       struct rps_error *err);

#endif
