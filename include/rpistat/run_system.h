/*
 * System metrics of segments of a run's periods (rpistat/system_signals.h): how long its threads
 * were on a CPU, waited for one, and slept, and why; memory, bytes; energy.
 */
#ifndef RPISTAT_RUN_SYSTEM_H
#define RPISTAT_RUN_SYSTEM_H

#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"
#include "rpistat/run_part.h"
#include "rpistat/system_rows.h"
#include "rpistat/system_signals.h"

/* Reasons for sleep: slots of the tree, without children, and unknown. */
enum rps_sleep {
    RPS_SLEEP_IO,
    RPS_SLEEP_LOCK,
    RPS_SLEEP_MESSAGE,
    RPS_SLEEP_TIMER,
    RPS_SLEEP_OTHER,
    RPS_SLEEP_UNKNOWN, /* the rest, so that they add up to the time asleep */
    RPS_SLEEPS,
};

/* "block I/O", "locks, or waiting for threads", ...: the words after "asleep in". */
extern const char *const rps_sleep_words[RPS_SLEEPS];

/* A metric in a segment. */
struct rps_system_sum {
    double length_s;  /* of the readings in which it was known; 0: in none */
    double sum;       /* of a counter; of a gauge the integral over time, value x s */
    double low, high; /* of readings; a counter's per second */
};

struct rps_run_system {
    double length_s[RPS_SYSTEM_SOURCES]; /* of the readings */
    struct rps_system_sum slot[RPS_SYSTEM_SOURCES][RPS_SYSTEM_SLOT_MAX];
};

/* Where the time was spent; NaN: unknown. Threads that wait for children and idle threads are not
 * part of it. */
struct rps_system_time {
    double elapsed_s; /* of the readings; 0: unknown */
    double threads_s; /* lifetime of all threads */
    double on_s;      /* of it on a CPU, */
    double wait_s;    /* ready to run, waiting for a CPU; at most the time off it, */
    double unknown_s; /* off the CPU, of threads that ended before they were read, */
    double asleep_s;  /* and the rest */
    double unseen_s;  /* lifetime of such threads, and their time on a CPU */
    double unseen_on_s;
    double asleep_in_s[RPS_SLEEPS]; /* time asleep by reason at the readings */
    double idle_s; /* thread time of idle threads; NaN: unknown, and part of locks */
};

/* Package metrics, as users read them. */
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

/* Their names, "power_w", labels, "Power", and units, "W". */
extern const struct rps_package_figure_name {
    const char *name, *label, *unit;
    enum rps_package_slot slot;
    double divisor; /* of the metric, or of its rate per second */
} rps_package_figures[RPS_PACKAGE_FIGURES];

/* Return 1 if the run has system metrics, or 0. Errors: the store's. */
int rps_run_system_is_there(struct rps_reader *reader, int64_t run_id, struct rps_error *err);

/* Add a reading, or a block of them. */
void rps_run_system_add(struct rps_run_system *system, const struct rps_system_row *row);

/* Add all sums of another segment. */
void rps_run_system_join(struct rps_run_system *to, const struct rps_run_system *from);

/* Read the sums of each group of a part, and after them those of all together, into the arena; only
 * of readings in [from_ns, to_ns). Without a part (NULL), (*ret)[0] has all of these. In a
 * downsampled run, a block counts in the group that its end is in. Errors: the store's. */
int rps_run_system_read(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                        int64_t from_ns, int64_t to_ns, const struct rps_run_part *part,
                        struct rps_run_system **ret, struct rps_error *err);

/* Return the times of a segment in which the workload was on a CPU for on_s, as counted. */
struct rps_system_time rps_run_system_time(const struct rps_run_system *system, double on_s);

/* Return the mean of a gauge, or the rate per second of a counter; NaN: unknown. */
double rps_run_system_mean(const struct rps_run_system *system, enum rps_system_source source,
                           int slot);

/* Return a package metric of a segment; NaN: unknown. Energy is that of all of the segment: it is
 * unknown if it could not be read at times. */
double rps_run_system_package(const struct rps_run_system *system, enum rps_package_figure figure);

/* Return 1 if on average it had about one thread, whose time is that of the run. */
int rps_system_time_is_of_one(const struct rps_system_time *time);

/* Return 1 if hardly any thread ran and all slept in futex, as in a deadlock. */
int rps_system_time_is_stuck(const struct rps_system_time *time);

/* Return the share of the time it needed a CPU that it waited for one, 0 ... 1; NaN: unknown. */
double rps_system_time_waited(const struct rps_system_time *time);

/* Return the share that others took of the CPU time that it would have had alone, 0 ... 1. It was
 * on a CPU for on_s, and waited for one for wait_s. All CPUs have most_s, beyond which its own
 * threads wait for one another. NaN: unknown. */
double rps_system_taken(double on_s, double wait_s, double most_s);

/* A larger share is reported. */
#define RPS_SYSTEM_TAKEN_TOLD .05

/* Return the share of the machine's CPUs that a hypervisor took; NaN: unknown. */
double rps_run_system_stolen(const struct rps_run_system *system, int cpu_count);

/* Return how long its control group's CPU limit stopped it, s, summed over CPUs; NaN: unknown. */
double rps_run_system_throttled_s(const struct rps_run_system *system);

/* Return the reason of most of the sleep; -1: the workload hardly sleeps, or for no single reason.
 * Locks and block I/O hold it up. In messages, timers and others, threads may also idle while
 * another works: that is -1. */
int rps_system_time_sleep(const struct rps_system_time *time);

#endif
