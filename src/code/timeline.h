/*
 * Calls over time: what the samples of each period were in. The store counts samples by the numbers
 * of periods; when that was, the periods tell.
 */
#ifndef RPISTAT_CODE_TIMELINE_H
#define RPISTAT_CODE_TIMELINE_H

#include "export.h"
#include "rpistat/shares.h"

/* The samples of a period of one CPU, or of a block where the run was thinned. What ran is laid one
 * after another from its start on; behind the last until end_ns nothing did. */
struct rps_timeline_row {
    int64_t start_ns, end_ns;
    uint64_t samples; /* in all */
    size_t count;
    struct rps_timeline_seen {
        size_t node, order; /* of the tree; by order, what one caller has called is together */
        uint64_t samples;
        int64_t start_ns, end_ns;
    } * seen; /* by order, each node once */
};

struct rps_timeline {
    struct rps_reader *reader;
    int64_t run_id;
    const struct rps_export_code *of;
    int32_t cpu;            /* RPS_CPU_ALL of a run that is not by CPU */
    struct rps_calls calls; /* of what that CPU has in the part */
    size_t *order;          /* of each node */
};

/* The CPUs that a part of a run has, in the arena: RPS_CPU_ALL alone where the run is not by CPU.
 * Errors: the store's. */
int rps_timeline_cpus(const struct rps_export_job *job, const struct rps_export_code *of,
                      int32_t **ret, size_t *ret_count, struct rps_error *err);

/* What one of them has, in the arena. Errors: the store's. */
int rps_timeline_open(struct rps_timeline *ret, struct rps_arena *arena,
                      const struct rps_export_job *job, const struct rps_export_code *of,
                      int32_t cpu, struct rps_error *err);

/* Its rows with samples, in order of time. Errors: the store's. */
int rps_timeline_walk(const struct rps_timeline *timeline,
                      void (*row)(void *context, const struct rps_timeline_row *row), void *context,
                      struct rps_error *err);

/* rps_wing.calls. */
int rps_timeline_calls(struct rps_export_job *job, const struct rps_part_choice *choice,
                       const struct rps_cpus *cpus, const struct rps_call_sink *sink,
                       struct rps_error *err);

#endif
