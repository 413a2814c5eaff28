/* The samples of a recording: from the sampler through the tracker into the store, by period. */
#ifndef RPISTAT_CODE_RECORDER_H
#define RPISTAT_CODE_RECORDER_H

#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/period.h"
#include "rpistat/pmu.h"
#include "rpistat/sampler.h"

struct rps_writer;

/* What goes on beside the loop, once it is open; zeroed it is not there. */
struct rps_code_recorder {
    void *self;
    struct rps_sampler sampler; /* for the loop, */
    struct rps_sample_sink sink;

    /* The run was added to the store, and begins at start_ns of the event loop's clock. */
    void (*begin)(void *self, struct rps_writer *writer, int64_t start_ns);

    /* A period has ended: samples that came before it are counted, and now and then a process begins
     * to name the frames that have no names yet. */
    void (*period)(void *self, const struct rps_period *period);

    /* All periods and samples have been handed over. Returns the CPU time of the processes that
     * unwound stacks and found names, which have ended, ns. */
    int64_t (*end)(void *self);

    /* Name the frames that are left of the run, which rps_writer_end has ended. What has no name
     * says why there. Errors: those of rps_naming_name and rps_writer_set_locations. */
    int (*name)(void *self, int64_t run_id, struct rps_error *err);

    void (*close)(void *self); /* the sampler, too */
};

/*
 * Open a sampler of the backend on the target that was attached, and look at what runs there
 * already. Errors: those of open_sampler; *ret is as it was then.
 */
int rps_code_recorder_open(struct rps_code_recorder *ret,
                           const struct rps_sampling_options *options, const struct rps_pmu *pmu,
                           void *pmu_self, const struct rps_target *target, struct rps_error *err);

#endif
