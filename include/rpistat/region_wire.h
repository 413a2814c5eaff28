/*
 * Messages of a measured program to the recorder that started it. They go to an abstract socket
 * (SOCK_SEQPACKET) named after the recorder's child, since nothing in the child's environment may
 * refer to the recorder.
 *
 * SAFETY: the recorder listens at "\0rpistat-region.PID" before it releases the process PID; the
 * program tries its own number and those of its ancestors. Each checks the other's credentials
 * (SO_PEERCRED): it must be the same user. A message holds one struct, cut after its last mark.
 * Both ends are on one machine.
 */
#ifndef RPISTAT_REGION_WIRE_H
#define RPISTAT_REGION_WIRE_H

#include <stdint.h>

#define RPS_REGION_WIRE_SOCKET "rpistat-region."
#define RPS_REGION_WIRE_MAGIC  "rpsreg1"
#define RPS_REGION_NAME_SIZE   80
#define RPS_REGION_WIRE_MAX    24

/* A region that is entered more often than this in a second is no longer marked. */
#define RPS_REGION_MARKED_MAX 10

enum rps_region_wire_kind {
    RPS_REGION_WIRE_BEGIN,
    RPS_REGION_WIRE_END,
    RPS_REGION_WIRE_TOTALS, /* `entered` and `elapsed_ns` hold the region's totals */
};

struct rps_region_wire_mark {
    int64_t time_ns; /* CLOCK_MONOTONIC */
    uint32_t kind;   /* enum rps_region_wire_kind */
    uint32_t unused; /* 0 */
};

struct rps_region_wire {
    char magic[8]; /* RPS_REGION_WIRE_MAGIC */
    uint32_t mark_count;
    uint32_t unused; /* 0 */
    uint64_t entered;
    uint64_t elapsed_ns;
    char name[RPS_REGION_NAME_SIZE]; /* terminated */
    struct rps_region_wire_mark mark[RPS_REGION_WIRE_MAX];
};

#endif
