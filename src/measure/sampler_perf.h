/*
 * Rings of perf_event: a CPU's samples and what else the kernel tells of it, in memory that both
 * share. sampler_perf.c opens them; here they are read, in order of time over all CPUs.
 */
#ifndef RPISTAT_MEASURE_SAMPLER_PERF_H
#define RPISTAT_MEASURE_SAMPLER_PERF_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/sampler.h"

struct perf_event_mmap_page;

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
    uint64_t registers;          /* of the workload's that they hold; DWARF */
    size_t depth_max;            /* addresses that the kernel has room for in a chain */
    uint64_t lost, throttled;    /* so far */
    int64_t last_ns;             /* time of what was handed over last */
    uint64_t scratch[65536 / 8]; /* for a record that goes over the end of its ring */
};

/* What a sample has, in the kernel's words (PERF_SAMPLE_*). */
uint64_t rps_perf_sample_type(enum rps_stacks stacks);

/* Bytes of the longest sample of that kind, when chains have so many addresses. */
size_t rps_perf_sample_bytes(enum rps_stacks stacks, uint64_t registers, size_t depth_max);

/* Bytes of the stack's top that are copied. */
#define RPS_PERF_STACK_BYTES 4096

/*
 * Hand over what came before until_ns, as struct rps_sampler says. A record whose length or content
 * makes no sense counts as lost; where its length is wrong, so is all that stands behind it in that
 * ring at this time.
 */
void rps_perf_rings_drain(struct rps_perf_rings *rings, int64_t until_ns,
                          const struct rps_sample_sink *sink);

#endif
