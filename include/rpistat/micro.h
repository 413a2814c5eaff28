/*
 * Microbenchmarks: workloads whose counts are known before they run (Korn, Teller and Castillo,
 * "Just how accurate are performance counters?", 2001).
 *
 * The instructions of a loop in assembly are known exactly. Other loops are compiled, and only the
 * guarantees of C are predicted. Counts are of user mode; the start and the end of a run add a few
 * hundred instructions.
 */
#ifndef RPISTAT_MICRO_H
#define RPISTAT_MICRO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rpistat/error.h"

#define RPS_MICRO_PREDICTION_MAX 8

/* The expected count of one event in a run. */
struct rps_micro_prediction {
    const char *what; /* role of the event, or its generic name */
    double count;
    double of;        /* base of the error: count, or the chances if 0 is expected */
    double tolerance; /* share of `of` that is still right */
    double above;     /* the same for more than expected */
};

/* The child's measurement of its own run. */
struct rps_micro_result {
    int64_t cpu_ns; /* CPU time of the run, by the kernel's accounting */
};

struct rps_micro {
    const char *name;    /* "loop" */
    const char *summary; /* one line */
    uint64_t turns;      /* a suitable number: some tenths of a second at most */
    size_t memory_bytes; /* 0: none; small machines use less */
    /* Before counting, in the child. Returns 0, or -1 if this machine cannot run it. */
    int (*prepare)(void *memory, size_t bytes);
    void (*run)(void *memory, size_t bytes, uint64_t turns);
    /* Predictions for so many iterations; returns how many of RPS_MICRO_PREDICTION_MAX. */
    int (*predict)(uint64_t turns, const struct rps_micro_result *result,
                   struct rps_micro_prediction *ret);
};

/* All microbenchmarks; the last row is NULL. */
extern const struct rps_micro *const rps_micros[];

/* Return the microbenchmark of that name, or NULL. */
const struct rps_micro *rps_micro_find(const char *name);

/* A child that is prepared and waits. */
struct rps_micro_child {
    pid_t pid;
    int pidfd; /* readable when it has ended */
    int go_fd; /* written to release it */
    int result_fd;
};

/*
 * Fork a child that prepares the microbenchmark and waits, so that counters can be opened on it.
 * Returns 0; 1 if this machine cannot run it (one processor, no memory), without a child; or
 * negative.
 */
int rps_micro_launch(struct rps_micro_child *ret, const struct rps_micro *micro, uint64_t turns,
                     struct rps_error *err);

/* Release the child; it ends by itself. */
int rps_micro_release(struct rps_micro_child *child, struct rps_error *err);

/* Wait for its end, and close everything; *ret is its measurement. RPS_FAILED if it died. */
int rps_micro_finish(struct rps_micro_child *child, struct rps_micro_result *ret,
                     struct rps_error *err);

#endif
