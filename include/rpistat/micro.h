/* Microbenchmarks: workloads whose counts are known before they run (Korn, Teller and Castillo,
 * "Just how accurate are performance counters?", 2001).
 *
 * The number of instructions of a loop in assembly is known exactly. Other loops are compiled, and
 * only the guarantees of C are predicted. Only counts in user mode are predicted. The beginning and
 * the end of a run add a few hundred instructions. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rpistat/error.h"
#include "rpistat/pmu.h"

#define RPS_MICRO_PREDICTION_MAX 8

/* The expected count of one event in a run. */
struct rps_micro_prediction {
    const char *what; /* Role of the event, or its generic name */
    double count;
    double of;        /* Base of the relative error: the count, or possible occurrences if it is
                         0 */
    double tolerance; /* Permitted error, as a share of `of` */
    double above;     /* Permitted error if the measured count is too high, as a share of `of` */
    int is_exact;     /* 1: the loop must be in assembly */
};

/* Measurement of a run by the child process itself. */
struct rps_micro_result {
    int64_t cpu_ns; /* CPU time of the run, from the kernel's accounting */
};

struct rps_micro {
    const char *name;    /* Name of the microbenchmark: "loop" */
    uint64_t turns;      /* Suitable number of iterations, in total at most tenths of a second */
    size_t memory_bytes; /* Memory in bytes (0: none); less on small machines */
    /* Prepare the memory in the child before counting. Return 0, or -1 if this is impossible. */
    int (*prepare)(void *memory, size_t bytes);
    void (*run)(void *memory, size_t bytes, uint64_t turns);
    struct rps_micro_prediction predicted[RPS_MICRO_PREDICTION_MAX]; /* Counts of one iteration;
                                                                        `what` NULL: end */
};

/* All microbenchmarks; a row without a name is the end. */
extern const struct rps_micro rps_micros[];

/* Return the microbenchmark with the given name, or NULL. */
const struct rps_micro *rps_micro_find(const char *name);

/* Predict the counts of `turns` iterations. Return the number of predictions. */
int rps_micro_predict(const struct rps_micro *micro, uint64_t turns,
                      const struct rps_micro_result *result, struct rps_micro_prediction *ret);

/* A child process that has prepared a microbenchmark and waits. */
struct rps_micro_child {
    pid_t pid;
    int pidfd; /* Descriptor that is readable when the child has ended */
    int go_fd; /* Descriptor; a write to it releases the child */
    int result_fd;
};

/* Fork a child that prepares the microbenchmark and waits, so that counters can be opened on the
 * child. Return 0 or a negative error. Return 1, without a child, if this machine cannot run the
 * microbenchmark (one processor, no memory). */
int rps_micro_launch(struct rps_micro_child *ret, const struct rps_micro *micro, uint64_t turns,
                     struct rps_error *err);

/* Release the waiting child, which later ends by itself. */
int rps_micro_release(struct rps_micro_child *child, struct rps_error *err);

/* Wait for the child's end, and close all descriptors. *ret is its measurement. Return RPS_FAILED
 * if the child died. */
int rps_micro_finish(struct rps_micro_child *child, struct rps_micro_result *ret,
                     struct rps_error *err);

/* The simulated ARM1176 processor, a backend. src/sim/README.md describes its script. */

extern const struct rps_pmu rps_pmu_sim;
