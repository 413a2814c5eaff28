/* System metrics of segments of a run's periods (rpistat/system_reader.h). The metrics are times of
 * threads on a CPU, waiting for a CPU and sleeping, reasons for sleep, memory, bytes read and
 * written, and energy. */
#pragma once

#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/run_part.h"
#include "rpistat/system_rows.h"
#include "rpistat/system_reader.h"

/* Reasons for which threads sleep: one per RPS_TREE_IN_* metric of the tree, and "unknown". */
enum rps_sleep {
    RPS_SLEEP_IO,
    RPS_SLEEP_LOCK,
    RPS_SLEEP_MESSAGE,
    RPS_SLEEP_TIMER,
    RPS_SLEEP_OTHER,
    RPS_SLEEP_UNKNOWN, /* Time asleep without a known reason; all reasons add up to asleep_s */
    RPS_SLEEPS,
};

/* Words after "asleep in" for each reason, for example "block I/O" or "locks, or waiting for
 * threads". */
extern const char *const rps_sleep_words[RPS_SLEEPS];

/* Sum of a metric over a segment. */
struct rps_system_sum {
    double length_s;  /* total time between readings, if the metric was known; 0: never known */
    double sum;       /* sum of a counter; for a gauge, the integral over time (value x s) */
    double low, high; /* lowest and highest reading; for a counter, rate per second */
};

struct rps_run_system {
    double length_s[RPS_SYSTEM_SOURCES]; /* total length of the readings of each source */
    struct rps_system_sum slot[RPS_SYSTEM_SOURCES][RPS_SYSTEM_SLOT_MAX];
};

/* Times of a segment, by the state in which threads were; NaN: unknown. Idle threads and threads
 * that wait for children are excluded. */
struct rps_system_time {
    double elapsed_s; /* length of the readings; 0: unknown */
    double threads_s; /* sum of the lifetimes of all threads */
    double on_s;      /* part of threads_s in which the threads were on a CPU */
    double wait_s;    /* part of threads_s in which ready threads waited for a CPU */
    double unknown_s; /* part of threads_s off the CPU, for threads that ended before a reading */
    double asleep_s;  /* time that threads slept: threads_s - on_s - wait_s - unknown_s */
    double unseen_s;  /* lifetime of threads that ended before a reading, and their CPU time */
    double unseen_on_s;
    double asleep_in_s[RPS_SLEEPS]; /* time asleep by reason, from the readings */
    double child_s; /* time in which threads waited for children; not part of threads_s */
    double idle_s;  /* time of idle threads; NaN: unknown, and part of waits for locks */
    double futex_s; /* time in futex without timers, also of idle threads; NaN: unknown */
};

/* Metrics of a processor package, in the units for users. */
enum rps_package_figure {
    RPS_PACKAGE_ENERGY_J,
    RPS_PACKAGE_POWER_W,
    RPS_PACKAGE_RAM_ENERGY_J,
    RPS_PACKAGE_RAM_POWER_W,
    RPS_PACKAGE_READ_GB_S,
    RPS_PACKAGE_WRITTEN_GB_S,
    RPS_PACKAGE_GHZ,
    RPS_PACKAGE_FIGURES,
};

/* Names of package metrics ("power_w"), their labels ("Power") and units ("W"). */
extern const struct rps_package_figure_name {
    const char *name, *label, *unit;
    enum rps_package_slot slot;
    double divisor; /* divisor of the metric, or of its rate per second */
} rps_package_figures[RPS_PACKAGE_FIGURES];

/* Return 1 if the run has system metrics, 0 if not. Errors are those of the store. */
int rps_run_system_is_there(struct rps_reader *reader, int64_t run_id, struct rps_error *err);

/* Add a reading, or a block of readings, to the sums. */
void rps_run_system_add(struct rps_run_system *system, const struct rps_system_row *row);

/* Add all sums of another segment to the sums of a segment. */
void rps_run_system_join(struct rps_run_system *to, const struct rps_run_system *from);

/* Read the sums of each group of a part into the arena, followed by the sums of all groups
 * together. Only readings in [from_ns, to_ns) are added. If the part is NULL, (*ret)[0] has the
 * sums of the readings in [from_ns, to_ns). In a downsampled run, a block is added to the group in
 * which it ends. Errors come from the store. */
int rps_run_system_read(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                        int64_t from_ns, int64_t to_ns, const struct rps_run_part *part,
                        struct rps_run_system **ret, struct rps_error *err);

/* Return the times of a segment. on_s is the time on a CPU according to the counters. The times are
 * unknown for 10 ms or less, and if the readings missed too much of on_s. */
struct rps_system_time rps_run_system_time(const struct rps_run_system *system, double on_s);

/* Return the mean of a gauge, or the rate per second of a counter; NaN if unknown. */
double rps_run_system_mean(const struct rps_run_system *system, enum rps_system_source source,
                           int slot);

/* Return a package metric of a segment, or NaN if it is unknown. Energy is the total of the whole
 * segment, and is unknown if a reading of the energy failed. */
double rps_run_system_package(const struct rps_run_system *system, enum rps_package_figure figure);

/* Return 1 if the workload had about one thread on average. Thread time is then elapsed time. */
int rps_system_time_is_of_one(const struct rps_system_time *time);

/* Return 1 if threads ran or waited for a CPU most of the time, summed over threads. */
int rps_system_time_is_busy(const struct rps_system_time *time);

/* Return 1 if hardly any thread ran and all threads slept in futex, as in a deadlock. Return 0 if a
 * timeout could wake them, or if their timeouts are unknown. */
int rps_system_time_is_stuck(const struct rps_system_time *time);

/* Return 1 if the waiting time may include sleep: readings found threads in block I/O for more than
 * 2 % of the threads' time, and Linux 6.12 and later counts some of this sleep as a wait. */
int rps_system_time_waits_at_most(const struct rps_system_time *time);

/* Return waiting time / (running time + waiting time) of the threads (0 to 1); NaN if unknown. */
double rps_system_time_waited(const struct rps_system_time *time);

/* Return the CPU time in s that the workload used, and that other programs took while it was ready;
 * NaN if unknown. The result is a lower limit, because threads also wait for one another. The CPUs
 * that the workload was allowed to use are unknown, so the fewest CPUs that its CPU time needs are
 * assumed. While a thread waits for a CPU, these CPUs are busy. T threads that are ready for the
 * share f of their time (on a CPU or waiting for one) are therefore ready to use min(n, T) f of n
 * CPUs. throttled_s is the time in which a CPU limit stopped the workload (NaN: unknown); others
 * did not take this time. */
double rps_system_time_ready_s(const struct rps_system_time *time, double throttled_s);

/* The share of this time that others took is reported if it is above this threshold. */
#define RPS_SYSTEM_TAKEN_THRESHOLD .05

/* Return the share of the machine's CPU time that a hypervisor took; NaN if unknown. */
double rps_run_system_stolen(const struct rps_run_system *system, int cpu_count);

/* Return the time in s (summed over CPUs) in which a CPU limit stopped the workload; NaN if
 * unknown. */
double rps_run_system_throttled_s(const struct rps_run_system *system);

/* Return the main reason of sleep, or -1 if the workload hardly sleeps or has no main reason. Locks
 * and block I/O always delay the workload. If threads sleep for messages, timers or other reasons
 * while another thread may work, the result is -1. */
int rps_system_time_sleep(const struct rps_system_time *time);
