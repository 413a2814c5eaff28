/*
 * System metrics: the kernel's data about the workload and the machine, read in addition to the
 * counters and never multiplexed. They are time on a CPU and waiting for one, reasons for threads'
 * sleep, memory, bytes. A source is a group that is read together; a reading has its metrics at the
 * end of a period. Without a reading there is no row: a missing value is never 0.
 */
#ifndef RPISTAT_SYSTEM_SIGNALS_H
#define RPISTAT_SYSTEM_SIGNALS_H

#include <stdint.h>
#include <sys/types.h>

#include "rpistat/error.h"
#include "rpistat/system_metrics.h"

struct rps_sample;

#define RPS_SYSTEM_SLOT_MAX 16

enum rps_system_source {
    RPS_SYSTEM_TREE,    /* the workload's processes and threads */
    RPS_SYSTEM_MACHINE, /* everything that runs on the machine */
    RPS_SYSTEM_GROUP,   /* the control group that is recorded, or whose limit the workload has */
    RPS_SYSTEM_PACKAGE, /* counts of whole packages, in a recording of all CPUs */
    RPS_SYSTEM_SOURCES,
};

enum rps_system_kind {
    RPS_SYSTEM_COUNTER, /* the increase since the previous reading */
    RPS_SYSTEM_GAUGE,   /* the value at the reading */
};

/* Slots of each source: indexes into rps_system_signals[source]. */
#define RPS_TREE_SLOT(slot, ...)    RPS_TREE_##slot,
#define RPS_MACHINE_SLOT(slot, ...) RPS_MACHINE_##slot,
#define RPS_GROUP_SLOT(slot, ...)   RPS_GROUP_##slot,
#define RPS_PACKAGE_SLOT(slot, ...) RPS_PACKAGE_##slot,
enum rps_tree_slot { RPS_TREE_METRICS(RPS_TREE_SLOT) RPS_TREE_SLOTS };
enum rps_machine_slot { RPS_MACHINE_METRICS(RPS_MACHINE_SLOT) RPS_MACHINE_SLOTS };
enum rps_group_slot { RPS_GROUP_METRICS(RPS_GROUP_SLOT) RPS_GROUP_SLOTS };
enum rps_package_slot { RPS_PACKAGE_METRICS(RPS_PACKAGE_SLOT) RPS_PACKAGE_SLOTS };
_Static_assert(RPS_TREE_SLOTS <= RPS_SYSTEM_SLOT_MAX, "the store has a column per slot");

/* Properties of a metric. */
struct rps_system_signal {
    const char *name;  /* "wait": unique over all sources */
    const char *label; /* "Waiting for a CPU" */
    const char *unit;  /* "us", "KiB", "threads", "uJ", "MHz": of stored values */
    enum rps_system_kind kind;
    const char *origin;  /* "schedstat" */
    const char *explain; /* one sentence for users */
    struct {
        const char *stem, *suffix; /* name in sheets: "rss", "_mib"; NULL: none */
        double divisor;            /* of the stored value, or of its rate per second */
        enum {
            RPS_COLUMN_SHEET,
            RPS_COLUMN_MEAN,
            RPS_COLUMN_RANGE
        } json;    /* in reports: nothing;
                                      its mean; that, its lowest and its highest */
        int later; /* 1: after the columns of all others */
    } column;
    struct {
        const char *title, *name, *unit; /* NULL: another line of the previous panel */
        const char *line, *file;         /* NULL: no panel */
    } panel;
    struct {
        enum {
            RPS_PHASES_NONE,
            RPS_PHASES_LEVEL,
            RPS_PHASES_BY_CPU
        } how;        /* as it stands; what
                                      came in a CPU second */
        double scale; /* small value, in the column's unit */
        double resolution;
        int is_memory;
    } phases;
};

/* The metrics of each source, in order of slots, and their number. */
extern const struct rps_system_signal *const rps_system_signals[RPS_SYSTEM_SOURCES];
extern const int rps_system_signal_count[RPS_SYSTEM_SOURCES];

/* Names of the sources in the store and in options: "tree", "machine", "group", "package". */
extern const char *const rps_system_sources[RPS_SYSTEM_SOURCES];

/* One reading of one source. */
struct rps_system_reading {
    enum rps_system_source source;
    uint64_t period;   /* it was read at the end of this one */
    int64_t end_ns;    /* its time, since the start of the run */
    int64_t length_us; /* since the previous reading, or the start of counting */
    uint32_t valid;    /* bit s: value[s] could be read */
    int64_t value[RPS_SYSTEM_SLOT_MAX];
    int64_t hidden_us; /* part of RPS_TREE_RUNNING in processes that Linux has stopped counting; not
                          in the store */
};

/* The metrics that a source can read here. */
struct rps_system_state {
    enum rps_system_source source;
    uint32_t supported;                   /* bit s */
    char reason[RPS_SYSTEM_SLOT_MAX][80]; /* why a slot is not supported; "" if it is */
};

/* SAFETY: receives readings on the measurement loop, and must not wait. */
struct rps_system_sink {
    void *context;
    void (*reading)(void *context, const struct rps_system_reading *reading);
};

struct rps_system_options {
    int tree, machine; /* 1: read that source; tree: the group too */
    int package;       /* 1: of all CPUs: read that source, if available */
    int hears;         /* 1: FORK and EXIT records will be passed on; 0: search /proc */
    int64_t period_ns; /* nominal, between readings */
    double budget;     /* share of a CPU that reading may use: 0.001 */
};

/* A reader of system metrics that is open on a target. */
struct rps_system_reader {
    void *self;

    /* Fill *ret for `source`, after opening. 0, or 1: that source is not read; for requested
     * packages *ret has the reason. */
    int (*state)(void *self, enum rps_system_source source, struct rps_system_state *ret);

    /* Receive a record of the sampler, before the sample sink: FORK and EXIT describe the threads.
     * NULL: no more will come, and threads are searched in /proc from now on. */
    void (*hear)(void *self, const struct rps_sample *sample);

    /* The period `period` has ended at time_ns (event loop's clock; start_ns is the run's zero):
     * read the sources that are due, and pass readings to the sink. force 1: at a pause and at the
     * end, due or not. A note (size bytes, "" none) reports longer intervals. Never fails:
     * unreadable values are missing. */
    void (*read)(void *self, uint64_t period, int64_t time_ns, int64_t start_ns, int force,
                 const struct rps_system_sink *sink, char *note, size_t size);

    /* Counting begins at time_ns, or continues after a pause: the next reading counts from here. */
    void (*resume)(void *self, int64_t time_ns);

    /* Return the number of the workload's processes that are running now; *ret_pid gets the first
     * `size`. NULL: unknown. */
    size_t (*left)(void *self, pid_t *ret_pid, size_t size);

    void (*close)(void *self); /* NULL is harmless */
};

#endif
