/* System metrics: the kernel's data about the workload and the machine, read alongside the counters
 * and never multiplexed. System metrics include times on a CPU and waiting for a CPU, reasons for
 * sleep, memory, and bytes. A source is a group of metrics that are read together, at the end of a
 * period. Unreadable values are missing, never 0. The store has rows only for readings that were
 * made. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "rpistat/system_metrics.h"

struct rps_sample;

#define RPS_SYSTEM_SLOT_MAX  32
#define RPS_SYSTEM_LATER_MAX 3 /* highest value of `column.later` */

enum rps_system_source {
    RPS_SYSTEM_TREE,    /* processes and threads of the workload */
    RPS_SYSTEM_MACHINE, /* the whole machine */
    RPS_SYSTEM_GROUP,   /* the recorded control group, or the group that limits the workload */
    RPS_SYSTEM_PACKAGE, /* counters of whole packages, in a recording of all CPUs */
    RPS_SYSTEM_SOURCES,
};

enum rps_system_kind {
    RPS_SYSTEM_COUNTER, /* value is the increase since the previous reading */
    RPS_SYSTEM_GAUGE,   /* value is the state at the reading */
};

/* Indices of the metrics of each source in rps_system_metrics[source], called slots. */
#define RPS_TREE_SLOT(slot, ...)    RPS_TREE_##slot,
#define RPS_MACHINE_SLOT(slot, ...) RPS_MACHINE_##slot,
#define RPS_GROUP_SLOT(slot, ...)   RPS_GROUP_##slot,
#define RPS_PACKAGE_SLOT(slot, ...) RPS_PACKAGE_##slot,
enum rps_tree_slot { RPS_TREE_METRICS(RPS_TREE_SLOT) RPS_TREE_SLOTS };
enum rps_machine_slot { RPS_MACHINE_METRICS(RPS_MACHINE_SLOT) RPS_MACHINE_SLOTS };
enum rps_group_slot { RPS_GROUP_METRICS(RPS_GROUP_SLOT) RPS_GROUP_SLOTS };
enum rps_package_slot { RPS_PACKAGE_METRICS(RPS_PACKAGE_SLOT) RPS_PACKAGE_SLOTS };
_Static_assert(RPS_TREE_SLOTS <= RPS_SYSTEM_SLOT_MAX, "the store has a column per slot");

/* Description of a system metric. */
struct rps_system_metric {
    const char *name;  /* name of the metric, unique over all sources: "wait" */
    const char *label; /* label of the metric: "Waiting for a CPU" */
    const char *unit;  /* unit of the stored value: "us", "KiB", "threads", "uJ", "MHz" */
    enum rps_system_kind kind;
    const char *origin;  /* kernel interface of the value: "schedstat" */
    const char *explain; /* explanation for users, one sentence */
    struct {
        const char *stem, *suffix; /* column name in exported tables: "rss", "_mib"; NULL: none */
        double divisor;            /* divisor of the stored value, or of its increase per second */
        enum {
            RPS_COLUMN_SHEET,
            RPS_COLUMN_MEAN,
            RPS_COLUMN_RANGE
        } json;    /* values in the report's JSON: none; the mean; or mean, lowest and highest */
        int later; /* order of columns: columns with a lower number come first */
    } column;
    struct {
        const char *title, *name, *unit; /* texts of a new plot panel; NULL: the metric is in the
                                            previous metric's panel */
        const char *line, *file;         /* texts of a line in the panel; NULL: no line */
    } panel;
    struct {
        enum {
            RPS_PHASES_NONE,
            RPS_PHASES_LEVEL,
            RPS_PHASES_BY_CPU
        } how;        /* signal for phases: none, the value, or the increase per CPU second */
        double scale; /* value that is regarded as small, in the unit of the exported column */
        double resolution;
        int is_memory;
    } phases;
    struct {
        const char *name, *unit; /* texts in the lines of `watch`; NULL: not shown */
    } watch;
};

/* Metrics of each source in the order of slots, and their number. */
extern const struct rps_system_metric *const rps_system_metrics[RPS_SYSTEM_SOURCES];
extern const int rps_system_metric_count[RPS_SYSTEM_SOURCES];

/* Names of the sources in the store and in options: "tree", "machine", "group", "package". */
extern const char *const rps_system_sources[RPS_SYSTEM_SOURCES];

/* A reading of a source. */
struct rps_system_reading {
    enum rps_system_source source;
    uint64_t period;   /* number of the period at whose end the values were read */
    int64_t end_ns;    /* time of the reading, since the start of the run */
    int64_t length_us; /* time since the previous reading, or since the start of counting */
    uint32_t valid;    /* bit s is set if value[s] could be read */
    int64_t value[RPS_SYSTEM_SLOT_MAX];
    int64_t hidden_us; /* Part of the time RPS_TREE_RUNNING that belongs to processes that Linux
                          has stopped counting; not in the store. */
};

/* Readable metrics of a source on this machine. */
struct rps_system_state {
    enum rps_system_source source;
    uint32_t supported;                   /* bit s is set if metric s is readable */
    char reason[RPS_SYSTEM_SLOT_MAX][80]; /* reason why a metric is unreadable, or "" */
};

/* A receiver of readings. The measurement loop calls the receiver, so that it must not wait. */
struct rps_system_sink {
    void *context;
    void (*reading)(void *context, const struct rps_system_reading *reading);
};

struct rps_system_options {
    int tree, machine; /* tree: 1 to read the workload's processes with their control group;
                          machine: 1 to read the machine */
    int package;       /* 1 to read packages if possible; only in a recording of all CPUs */
    int hears;         /* 1 if `hear` receives FORK and EXIT records, 0 to search /proc */
    int64_t period_ns; /* nominal time between readings */
    double budget;     /* share of a CPU that reading may take, for example 0.001 */
};

/* An open reader of system metrics for a target. */
struct rps_system_reader {
    void *self;

    /* Return the readable metrics of a source after opening. Return 0, or 1 if the source is not
     * read. If the source is packages, and they were requested, *ret then has the reason. */
    int (*state)(void *self, enum rps_system_source source, struct rps_system_state *ret);

    /* Receive a record of the sampler before the sample sink receives it. FORK and EXIT records
     * identify the threads. If `sample` is NULL, there are no further records, and threads are
     * searched in /proc from now on. */
    void (*hear)(void *self, const struct rps_sample *sample);

    /* Read the metrics that are due and pass them to the sink. Period `period` has ended at
     * time_ns, by the event loop's clock; start_ns is the run's start. With force 1 (at a pause and
     * at the end), all metrics are read. `note` (`size` bytes, "": none) reports a longer interval
     * between readings. Reading never fails: unreadable values are missing. */
    void (*read)(void *self, uint64_t period, int64_t time_ns, int64_t start_ns, int force,
                 const struct rps_system_sink *sink, char *note, size_t size);

    /* Start or continue counting at time_ns. The length of the next reading begins at time_ns. */
    void (*resume)(void *self, int64_t time_ns);

    /* Return the number of live processes of the workload. *ret_pid receives the PIDs of the first
     * `size` processes. The pointer is NULL if the number is unknown. */
    size_t (*left)(void *self, pid_t *ret_pid, size_t size);

    void (*close)(void *self); /* accepts NULL */
};
