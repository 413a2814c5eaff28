/* Idle times of CPUs from /proc/stat. The CPU use is the time that is not idle. No clock event
 * shows the CPU use, because a clock event for a whole CPU also counts while the CPU is idle.
 *
 * Linux counts these times exactly and reports them in ticks, usually of 10 ms. The times are
 * cumulative, so that no idle time is lost in a long run. The value of one short period is coarse.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"

struct rps_idle_cpu {
    int64_t last_ns;  /* highest idle time since boot of all readings; -1: unknown */
    int64_t total_ns; /* idle time during counting */
    int known;        /* 1 if the last reading found this CPU */
    int taken;        /* 1 if the last reading was used for this CPU */
};

/* Idle times of some CPUs. A struct of zeros has no CPUs, and needs no rps_idle_close. */
struct rps_idle {
    int fd; /* descriptor of /proc/stat; -1: it cannot be read */
    int64_t tick_ns;
    int count;                /* the CPU numbers are 0 ... count - 1 */
    struct rps_idle_cpu *cpu; /* owned */
    size_t size;
    char *text; /* owned; `size` bytes */
};

/* Parse the next CPU in /proc/stat's text, and fill *ret_cpu and its idle time in ticks. Idle time
 * includes waiting for disks (iowait, during which the CPU is free). Returns the text after that
 * line, or NULL if no line of a CPU is left. Other lines and incomplete lines are skipped. */
const char *rps_idle_parse(const char *text, int *ret_cpu, uint64_t *ret_ticks);

/* Prepare to read the idle times of the given CPUs. Without /proc/stat all times are unknown.
 * Returns RPS_FAILED if memory is short. */
int rps_idle_open(struct rps_idle *idle, const int *cpu, int count, struct rps_error *err);
void rps_idle_close(struct rps_idle *idle);

/* Begin counting. If there was a pause, the time since the last reading is excluded. */
void rps_idle_start(struct rps_idle *idle);

/* Read all CPUs, with one system call. */
void rps_idle_look(struct rps_idle *idle);

/* Return the CPU's total idle time during counting, or -1 if unknown. Uses the most recent reading,
 * or a new reading if the most recent one was already used for this CPU. */
int64_t rps_idle_ns(struct rps_idle *idle, int cpu);
