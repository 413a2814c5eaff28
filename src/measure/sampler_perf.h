/*
 * What the files of sampling by perf_event share: sampler_perf.c (opening, and the sampler),
 * sampler_perf_event.c (what is sampled) and sampler_perf_ring.c (reading the rings).
 */
#ifndef RPISTAT_MEASURE_SAMPLER_PERF_H
#define RPISTAT_MEASURE_SAMPLER_PERF_H

#include <stddef.h>
#include <stdint.h>

#include "pmu_perf.h"
#include "rpistat/sampler.h"

struct perf_event_mmap_page;

/* --- sampler_perf_event.c: what is sampled ---------------------------------------------------- */

struct rps_perf_sampled {
    struct rps_perf *perf;
    struct rps_sampling_options options; /* with what was chosen for what was left open */
    struct rps_event event;
    uint64_t registers; /* that the kernel copies, with the stack's top; 0: none */
    size_t depth_limit; /* of the kernel's chains of addresses */
};

/*
 * Choose the event and the frequency, by trying. RPS_USAGE for options that make no sense,
 * RPS_FAILED with the reason when the event cannot be sampled here.
 */
int rps_perf_choose_sampled(struct rps_perf *perf, const struct rps_sampling_options *options,
                            const struct rps_target *target, struct rps_perf_sampled *ret,
                            struct rps_error *err);

/* Stacks by frame pointers alone, in the place of AUTO. */
void rps_perf_leave_out_registers(struct rps_perf_sampled *sampled);

/* What perf_event_open takes to sample the target; of no kind of core in particular. */
void rps_perf_fill_sampling(const struct rps_perf_sampled *sampled, const struct rps_target *target,
                            struct perf_event_attr *attr);

/* The error of a system call that failed with that number; RPS_FAILED. */
int rps_perf_cannot_sample(const struct rps_event *event, int number, struct rps_error *err);

/* --- sampler_perf_ring.c: the rings ----------------------------------------------------------- */

/* A CPU's samples, and what else the kernel tells of it, in memory that both share. */

struct rps_perf_ring {
    int cpu;
    int fd; /* that the ring belongs to */
    struct perf_event_mmap_page *page;
    const uint8_t *data;
    size_t bytes; /* of data; a power of two */

    /* While it is drained: */
    uint64_t head, tail;
    int64_t time_ns; /* of the first record, */
    size_t size;     /* which is so long; 0: there is none */
};

struct rps_perf_rings {
    struct rps_perf_ring *ring; /* owned */
    int count;
    enum rps_stacks stacks;      /* what samples hold */
    uint64_t registers;          /* of the workload's that they hold, with its stack */
    size_t depth_max;            /* addresses that the kernel has room for in a chain */
    uint64_t lost, throttled;    /* so far */
    int64_t last_ns;             /* time of what was handed over last */
    uint64_t scratch[65536 / 8]; /* for a record that goes over the end of its ring */
};

/* What a sample has, in the kernel's words (PERF_SAMPLE_*). */
uint64_t rps_perf_sample_type(enum rps_stacks stacks, uint64_t registers);

/* Bytes of the longest sample of that kind, when chains have so many addresses. */
size_t rps_perf_sample_bytes(enum rps_stacks stacks, uint64_t registers, size_t depth_max);

/* Bytes of the stack's top that are copied. */
#define RPS_PERF_STACK_BYTES 8192

/*
 * Hand over what came before until_ns, as struct rps_sampler says. A record whose length or content
 * makes no sense counts as lost; where its length is wrong, so is all that stands behind it in that
 * ring at this time.
 */
void rps_perf_rings_drain(struct rps_perf_rings *rings, int64_t until_ns,
                          const struct rps_sample_sink *sink);

#endif
