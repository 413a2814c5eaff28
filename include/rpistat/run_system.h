/*
 * What the system signals of a run say (rpistat/system_signals.h): of stretches of its periods, how
 * long its threads were on a CPU, waited for one, and slept for what; memory, bytes; energy.
 */
#ifndef RPISTAT_RUN_SYSTEM_H
#define RPISTAT_RUN_SYSTEM_H

#include <stdint.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"
#include "rpistat/run_part.h"
#include "rpistat/system_rows.h"
#include "rpistat/system_signals.h"

/* What threads are asleep in: slots of the tree, without children, and unknown. */
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

/* A signal in a stretch. */
struct rps_system_sum {
    double length_s;  /* of the readings in which it was known; 0: it was in none */
    double sum;       /* of a counter; of a gauge the integral over time, value x s */
    double low, high; /* of readings; a counter's per second */
};

struct rps_run_system {
    double length_s[RPS_SYSTEM_SOURCES]; /* of the readings */
    struct rps_system_sum slot[RPS_SYSTEM_SOURCES][RPS_SYSTEM_SLOT_MAX];
};

/* Where the time went; NaN: not known. Threads that wait for children and idle threads are not part
 * of it. */
struct rps_system_time {
    double elapsed_s; /* of the readings; 0: nothing is known */
    double threads_s; /* that threads lived, in all */
    double on_s;      /* of it on a CPU, */
    double wait_s;    /* ready to run, waiting for a CPU; not more than they were off it, */
    double unknown_s; /* off the CPU, of threads that were gone before they were read, */
    double asleep_s;  /* and the rest */
    double unseen_s;  /* that such threads lived, and how long on a CPU */
    double unseen_on_s;
    double asleep_in_s[RPS_SLEEPS]; /* of it by what they did at the readings */
    double idle_s; /* thread time of idle threads; NaN: not known, and part of locks */
};

/* What packages come to, as people have it. */
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
    double divisor; /* of the signal, or of what came a second */
} rps_package_figures[RPS_PACKAGE_FIGURES];

/* Has the run system signals at all? 1, 0; errors: the store's. */
int rps_run_system_is_there(struct rps_reader *reader, int64_t run_id, struct rps_error *err);

/* Add a reading, or a block of them. */
void rps_run_system_add(struct rps_run_system *system, const struct rps_system_row *row);

/* Add all that another stretch has. */
void rps_run_system_join(struct rps_run_system *to, const struct rps_run_system *from);

/* Of each group of a part, in the arena, and behind them of all together; of readings in [from_ns,
 * to_ns) alone. Without a part (NULL) of all of these, in (*ret)[0]. Where a run is thinned a block
 * counts in the group that its end is in. Errors: the store's. */
int rps_run_system_read(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                        int64_t from_ns, int64_t to_ns, const struct rps_run_part *part,
                        struct rps_run_system **ret, struct rps_error *err);

/* Of a stretch in which the workload was on a CPU for on_s, as counted. */
struct rps_system_time rps_run_system_time(const struct rps_run_system *system, double on_s);

/* Of a gauge the mean, of a counter how much a second; NaN: not known. */
double rps_run_system_mean(const struct rps_run_system *system, enum rps_system_source source,
                           int slot);

/* What packages came to in a stretch; NaN: not known. An energy is that of all of it: of a stretch
 * with times at which it could not be read there is none. */
double rps_run_system_package(const struct rps_run_system *system, enum rps_package_figure figure);

/* 1: on average it had hardly more or less than one thread, whose time is that of the run. */
int rps_system_time_is_of_one(const struct rps_system_time *time);

/* Returns 1 when hardly any thread ran and all slept in futex, as in a deadlock. */
int rps_system_time_is_stuck(const struct rps_system_time *time);

/* Of the time that it wanted a CPU the share that it waited for one, 0 ... 1; NaN: not known. */
double rps_system_time_waited(const struct rps_system_time *time);

/* What others took of the CPU time that it would have had alone, 0 ... 1: it was on a CPU for on_s,
 * waited for one for wait_s, and all CPUs have most_s, beyond which its own threads wait for one
 * another. NaN: not known. */
double rps_system_taken(double on_s, double wait_s, double most_s);

/* More than that is worth a word. */
#define RPS_SYSTEM_TAKEN_TOLD .05

/* Share of the machine's CPUs that a hypervisor took; NaN: not known. */
double rps_run_system_stolen(const struct rps_run_system *system, int cpu_count);

/* How long its control group's CPU limit stopped it, s, summed over CPUs; NaN: not known. */
double rps_run_system_throttled_s(const struct rps_run_system *system);

/* What most of the sleep was in; -1: the workload hardly sleeps, or in no one thing. Locks and
 * block I/O hold it up; in messages, timers and others threads may also idle while one of them
 * works: that is none. */
int rps_system_time_sleep(const struct rps_system_time *time);

#endif
