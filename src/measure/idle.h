/*
 * How long CPUs have been idle, by /proc/stat: the use of a CPU is the rest of its time, which no
 * clock event tells, since one that counts everything on a CPU goes on while there is nothing.
 *
 * Linux counts these times exactly and gives them in ticks, of 10 ms as a rule. They are
 * cumulative, so that nothing is lost over time; what one short period has of them is coarse.
 */
#ifndef RPISTAT_MEASURE_IDLE_H
#define RPISTAT_MEASURE_IDLE_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

struct rps_idle_cpu {
    int64_t last_ns;  /* idle since the machine's start, the most that was seen; -1: not known */
    int64_t total_ns; /* of that, while counting */
    int known;        /* the latest look saw how much it is */
    int taken;        /* it was asked for since */
};

/* All zero is one of no CPU, and needs no rps_idle_close. */
struct rps_idle {
    int fd; /* of /proc/stat; -1: it cannot be read */
    int64_t tick_ns;
    int count;                /* CPU numbers: 0 ... count - 1 */
    struct rps_idle_cpu *cpu; /* owned */
    size_t size;
    char *text; /* owned, of that size */
};

/*
 * The next CPU in the text of /proc/stat: fills *ret_cpu and its idle time, with what it waited for
 * disks (Linux calls that iowait; it is free for others meanwhile), in ticks. Returns where to go
 * on, or NULL when no line of a CPU is left. Lines that are no CPU's, or are cut off, are passed
 * over.
 */
const char *rps_idle_parse(const char *text, int *ret_cpu, uint64_t *ret_ticks);

/* Watch these CPUs. Where /proc/stat cannot be read nothing is known. RPS_FAILED without memory. */
int rps_idle_open(struct rps_idle *idle, const int *cpu, int count, struct rps_error *err);
void rps_idle_close(struct rps_idle *idle);

/* Counting begins: what passed since the last look, in a pause, is left out. */
void rps_idle_start(struct rps_idle *idle);

/* Look at all CPUs, with one system call. */
void rps_idle_look(struct rps_idle *idle);

/* How long the CPU was idle while counting, -1: not known. By the latest look, or, when that was
 * asked for this CPU before, by another one. */
int64_t rps_idle_ns(struct rps_idle *idle, int cpu);

#endif
