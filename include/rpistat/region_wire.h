/* Messages from a measured program to the recorder that started the program. The messages go to an
 * abstract socket (SOCK_SEQPACKET) named after the recorder's child process. The socket's name is
 * not in the child's environment, because the environment must not refer to the recorder.
 *
 * SAFETY: the recorder listens at "\0rpistat-region.PID" before it releases the process PID. The
 * program tries the names with its own PID and with the PIDs of its ancestors. The program and the
 * recorder check with SO_PEERCRED that both have the same user. A message has one struct, which
 * ends after its last mark. The program and the recorder run on the same machine, so that the
 * layout of the struct is equal. */
#pragma once

#include <stdint.h>

#define RPS_REGION_WIRE_SOCKET "rpistat-region."
#define RPS_REGION_WIRE_MAGIC  "rpsreg1"
#define RPS_REGION_NAME_SIZE   80
#define RPS_REGION_WIRE_MAX    24

/* Limit of entries per second. A region that is entered more often is no longer marked. */
#define RPS_REGION_MARKED_MAX 10

enum rps_region_wire_kind {
    RPS_REGION_WIRE_BEGIN,
    RPS_REGION_WIRE_END,
    RPS_REGION_WIRE_TOTALS, /* message with the region's totals in `entered` and `elapsed_ns` */
};

struct rps_region_wire_mark {
    int64_t time_ns; /* time of the mark, by CLOCK_MONOTONIC */
    uint32_t kind;   /* kind of the mark: enum rps_region_wire_kind */
    uint32_t unused; /* always 0 */
};

struct rps_region_wire {
    char magic[8]; /* always RPS_REGION_WIRE_MAGIC */
    uint32_t mark_count;
    uint32_t unused; /* always 0 */
    uint64_t entered;
    uint64_t elapsed_ns;
    char name[RPS_REGION_NAME_SIZE]; /* name of the region, with a terminating 0 */
    struct rps_region_wire_mark mark[RPS_REGION_WIRE_MAX];
};
