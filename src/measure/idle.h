/*
 * How long CPUs have been idle, by /proc/stat: the use of a CPU is the rest of its time. No clock
 * event shows it, since an event that counts everything on a CPU also counts while the CPU is idle.
 *
 * Linux counts these times exactly and reports them in ticks, usually of 10 ms. They are
 * cumulative, so that nothing is lost over time; the value of one short period is coarse.
 */
#ifndef RPISTAT_MEASURE_IDLE_H
#define RPISTAT_MEASURE_IDLE_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

struct rps_idle_cpu {
    int64_t last_ns;  /* maximum idle time since the machine's start so far; -1: unknown */
    int64_t total_ns; /* part of that, while counting */
    int known;        /* the latest look found it */
    int taken;        /* read since then */
};

/* All zero means no CPUs, and needs no rps_idle_close. */
struct rps_idle {
    int fd; /* of /proc/stat; -1: it cannot be read */
    int64_t tick_ns;
    int count;                /* CPU numbers: 0 ... count - 1 */
    struct rps_idle_cpu *cpu; /* owned */
    size_t size;
    char *text; /* owned, of that size */
};

/*
 * Parse the next CPU in the text of /proc/stat: fills *ret_cpu and its idle time in ticks. That
 * includes waiting for disks (Linux's iowait, during which the CPU is free). Returns where to
 * continue, or NULL if no line of a CPU is left. Other lines, and incomplete ones, are skipped.
 */
const char *rps_idle_parse(const char *text, int *ret_cpu, uint64_t *ret_ticks);

/* Watch these CPUs. Without /proc/stat all times are unknown. RPS_FAILED: no memory. */
int rps_idle_open(struct rps_idle *idle, const int *cpu, int count, struct rps_error *err);
void rps_idle_close(struct rps_idle *idle);

/* Begin counting; the time since the last look, in a pause, is excluded. */
void rps_idle_start(struct rps_idle *idle);

/* Read all CPUs, with one system call. */
void rps_idle_look(struct rps_idle *idle);

/* Return how long the CPU was idle while counting; -1: unknown. Uses the latest look, or a new one
 * if that was already used for this CPU. */
int64_t rps_idle_ns(struct rps_idle *idle, int cpu);

#endif
