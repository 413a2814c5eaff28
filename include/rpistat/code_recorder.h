/* The samples of a recording: from the sampler through the tracker into the store, by period. */
#ifndef RPISTAT_CODE_RECORDER_H
#define RPISTAT_CODE_RECORDER_H

#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/period.h"
#include "rpistat/pmu.h"
#include "rpistat/sampler.h"

struct rps_writer;

/* The part of a recording that works alongside the loop, once open; zeroed: none. */
struct rps_code_recorder {
    void *self;
    struct rps_sampler sampler; /* for the loop */
    struct rps_sample_sink sink;

    /* Start: the run was added to the store, and begins at start_ns of the event loop's clock. */
    void (*begin)(void *self, struct rps_writer *writer, int64_t start_ns);

    /* Count the samples before a period that has ended. From time to time, start a process that
     * names the frames without names. */
    void (*period)(void *self, const struct rps_period *period);

    /* End, after all periods and samples. Returns the CPU time of the processes that unwound stacks
     * and found names, which have ended, ns. */
    int64_t (*end)(void *self);

    /* Name the remaining frames of the run, which rps_writer_end has ended. Frames without a name
     * get the reason. Errors: those of rps_naming_name and rps_writer_set_locations. */
    int (*name)(void *self, int64_t run_id, struct rps_error *err);

    void (*close)(void *self); /* also closes the sampler */
};

/*
 * Open a sampler of the backend on the attached target, and add what already runs there. Errors:
 * those of open_sampler, which also leaves *ret unchanged.
 */
int rps_code_recorder_open(struct rps_code_recorder *ret,
                           const struct rps_sampling_options *options, const struct rps_pmu *pmu,
                           void *pmu_self, const struct rps_target *target, struct rps_error *err);

#endif
