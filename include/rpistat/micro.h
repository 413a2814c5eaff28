/*
 * Microbenchmarks: workloads whose counts are known before they run (Korn, Teller and Castillo,
 * "Just how accurate are performance counters?", 2001).
 *
 * Where a loop is written in assembly its instructions are known exactly; elsewhere a compiler made
 * it, and only what C promises is predicted. Counts are of user mode; what starts and ends a run
 * adds a few hundred instructions.
 */
#ifndef RPISTAT_MICRO_H
#define RPISTAT_MICRO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rpistat/error.h"

#define RPS_MICRO_PREDICTION_MAX 8

/* What one event should count in a run. */
struct rps_micro_prediction {
    const char *what; /* role of the event, or its generic name */
    double count;
    double of;        /* what the error is a share of: count, or for 0 expected the chances */
    double tolerance; /* share of `of` that is still right */
    double above;     /* the same for more than expected */
};

/* What the child measured of its own run. */
struct rps_micro_result {
    int64_t cpu_ns; /* CPU time of the run, by the kernel's accounting */
};

struct rps_micro {
    const char *name;    /* "loop" */
    const char *summary; /* one line */
    uint64_t turns;      /* a good number of them: some tenths of a second at most */
    size_t memory_bytes; /* 0: none; on small machines less is used */
    /* Before counting, in the child. Returns 0, or -1 when this machine cannot run it. */
    int (*prepare)(void *memory, size_t bytes);
    void (*run)(void *memory, size_t bytes, uint64_t turns);
    /* Predictions for so many turns; returns how many of RPS_MICRO_PREDICTION_MAX. */
    int (*predict)(uint64_t turns, const struct rps_micro_result *result,
                   struct rps_micro_prediction *ret);
};

/* All of them; the last row is NULL. */
extern const struct rps_micro *const rps_micros[];

/* The microbenchmark of that name, or NULL. */
const struct rps_micro *rps_micro_find(const char *name);

/* A child that is prepared and waits. */
struct rps_micro_child {
    pid_t pid;
    int pidfd; /* readable when it has ended */
    int go_fd; /* written to let it run */
    int result_fd;
};

/*
 * Fork a child that prepares the microbenchmark and waits: counters are opened on it now. Returns
 * 0; 1 when this machine cannot run it (one processor, no memory), and there is no child; or
 * negative.
 */
int rps_micro_launch(struct rps_micro_child *ret, const struct rps_micro *micro, uint64_t turns,
                     struct rps_error *err);

/* Let it run; it ends by itself. */
int rps_micro_release(struct rps_micro_child *child, struct rps_error *err);

/* Wait for its end, and close everything; *ret is what it measured. RPS_FAILED when it died. */
int rps_micro_finish(struct rps_micro_child *child, struct rps_micro_result *ret,
                     struct rps_error *err);

#endif
