/* The samples of a run, read once and counted for several parts of it. */
#ifndef RPISTAT_CODE_SAMPLE_SOURCE_H
#define RPISTAT_CODE_SAMPLE_SOURCE_H

#include "rpistat/run_code.h"
#include "shares_index.h"

struct rps_kept_counts {
    int is_read, is_kept; /* is_kept 0: there are too many, so each part is read again */
    size_t count;
    struct rps_kept_count {
        uint64_t period;
        uint32_t id, samples;
    } * of;
};

struct rps_sample_source {
    struct rps_arena *arena;        /* owned, and holds all below; the rest is borrowed */
    struct rps_share_index index;   /* functions */
    struct rps_kept_counts kept[2]; /* of stacks, and of tasks */
    uint64_t first, last;           /* periods of all parts */
    struct rps_reader *reader;
    int64_t run_id;
    const struct rps_cpus *cpus;
    const struct rps_code *code;
};

/* Open the samples of these parts; release them with rps_sample_source_close. */
struct rps_sample_source rps_sample_source_open(struct rps_reader *reader, int64_t run_id,
                                                const struct rps_cpus *cpus,
                                                const struct rps_code *code,
                                                const struct rps_run_part *part, size_t count);
void rps_sample_source_close(struct rps_sample_source *source);

/* Call `each` for the counts of stacks, or tasks, in a part. Errors: those of the store. */
int rps_sample_source_walk(struct rps_sample_source *source, const struct rps_run_part *part,
                           enum rps_code_counted what, rps_run_code_each *each, void *context,
                           struct rps_error *err);

/* Count as rps_code_counts_read does. */
int rps_sample_source_count(struct rps_arena *arena, struct rps_code_counts *counts,
                            struct rps_sample_source *source, const struct rps_run_part *part,
                            enum rps_code_counted what, struct rps_error *err);

#endif
