/* Samples of a recording, passed per period from the sampler through the tracker to the store. */
#pragma once

#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/period.h"
#include "rpistat/pmu.h"
#include "rpistat/sampler.h"

struct rps_writer;

/* The recorder of samples, which works alongside the measurement loop. All zero: not open. */
struct rps_code_recorder {
    void *self;
    struct rps_sampler sampler; /* Sampler that the measurement loop uses */
    struct rps_sample_sink sink;

    /* Start after the run was added to the store; the run begins at start_ns of the event loop. */
    void (*begin)(void *self, struct rps_writer *writer, int64_t start_ns);

    /* Receive a period that has ended, and count the samples of earlier periods. From time to time,
     * start a process that finds names for frames that have none. */
    void (*period)(void *self, const struct rps_period *period);

    /* End, after all periods and samples. Return the CPU time, in ns, of the ended processes that
     * unwound stacks and found names. */
    int64_t (*end)(void *self);

    /* Name the remaining frames of the run, which rps_writer_end has ended. A frame whose name is
     * not found gets the reason. Errors come from rps_symbolize and rps_writer_set_locations. */
    int (*name)(void *self, int64_t run_id, struct rps_error *err);

    void (*close)(void *self); /* Close the recorder and its sampler. */
};

/* Open a sampler of the backend on the attached target, and add the processes that already run
 * there. Errors come from open_sampler. After an error, *ret is unchanged. */
int rps_code_recorder_open(struct rps_code_recorder *ret,
                           const struct rps_sampling_options *options, const struct rps_pmu *pmu,
                           void *pmu_self, const struct rps_target *target, struct rps_error *err);
