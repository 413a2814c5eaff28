/*
 * System signals: what the kernel knows of the workload and of the machine anyway, read beside the
 * counters and never multiplexed: time on a CPU and waiting for one, what threads sleep for, memory,
 * bytes. A source is what is read together; a reading is its signals at the end of a period. No
 * reading, no row: what could not be read is missing, never 0.
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
    RPS_SYSTEM_MACHINE, /* all that runs on the machine */
    RPS_SYSTEM_GROUP,   /* the control group that is recorded, or whose limit the workload has */
    RPS_SYSTEM_PACKAGE, /* what whole packages count, of a recording of all CPUs */
    RPS_SYSTEM_SOURCES,
};

enum rps_system_kind {
    RPS_SYSTEM_COUNTER, /* what came since the reading before */
    RPS_SYSTEM_GAUGE,   /* as it stood at the reading */
};

/* Slots of each source: places in rps_system_signals[source]. */
#define RPS_TREE_SLOT(slot, ...)    RPS_TREE_##slot,
#define RPS_MACHINE_SLOT(slot, ...) RPS_MACHINE_##slot,
#define RPS_GROUP_SLOT(slot, ...)   RPS_GROUP_##slot,
#define RPS_PACKAGE_SLOT(slot, ...) RPS_PACKAGE_##slot,
enum rps_tree_slot { RPS_TREE_METRICS(RPS_TREE_SLOT) RPS_TREE_SLOTS };
enum rps_machine_slot { RPS_MACHINE_METRICS(RPS_MACHINE_SLOT) RPS_MACHINE_SLOTS };
enum rps_group_slot { RPS_GROUP_METRICS(RPS_GROUP_SLOT) RPS_GROUP_SLOTS };
enum rps_package_slot { RPS_PACKAGE_METRICS(RPS_PACKAGE_SLOT) RPS_PACKAGE_SLOTS };
_Static_assert(RPS_TREE_SLOTS <= RPS_SYSTEM_SLOT_MAX, "the store has a column per slot");

/* What a signal is. */
struct rps_system_signal {
    const char *name;  /* "wait": unique over all sources */
    const char *label; /* "Waiting for a CPU" */
    const char *unit;  /* "us", "KiB", "threads", "uJ", "MHz": of what is stored */
    enum rps_system_kind kind;
    const char *origin;  /* "schedstat" */
    const char *explain; /* one sentence for people */
    struct {
        const char *stem, *suffix; /* name in sheets: "rss", "_mib"; NULL: none */
        double divisor;            /* of what is stored, or came per second */
        enum {
            RPS_COLUMN_SHEET,
            RPS_COLUMN_MEAN,
            RPS_COLUMN_RANGE
        } json;    /* in reports: nothing;
                                      its mean; that, its lowest and its highest */
        int later; /* 1: behind the columns of all that are not */
    } column;
    struct {
        const char *title, *name, *unit; /* NULL: another line of the panel before it */
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

/* The signals of each source, in order of slots, and how many there are. */
extern const struct rps_system_signal *const rps_system_signals[RPS_SYSTEM_SOURCES];
extern const int rps_system_signal_count[RPS_SYSTEM_SOURCES];

/* Their sources' names in the store and in options: "tree", "machine", "group", "package". */
extern const char *const rps_system_sources[RPS_SYSTEM_SOURCES];

/* One reading of one source. */
struct rps_system_reading {
    enum rps_system_source source;
    uint64_t period;   /* at whose end it was read */
    int64_t end_ns;    /* when, since the start of the run */
    int64_t length_us; /* since the reading before, or the start of counting */
    uint32_t valid;    /* bit s: value[s] could be read */
    int64_t value[RPS_SYSTEM_SLOT_MAX];
    int64_t hidden_us; /* part of RPS_TREE_RUNNING in processes that Linux has stopped counting;
                          not kept in the store */
};

/* Which signals a source can read at all here. */
struct rps_system_state {
    enum rps_system_source source;
    uint32_t supported;                   /* bit s */
    char reason[RPS_SYSTEM_SLOT_MAX][80]; /* why a slot is not; "" where it is */
};

/* Who gets readings: called on the measurement loop, must not wait. */
struct rps_system_sink {
    void *context;
    void (*reading)(void *context, const struct rps_system_reading *reading);
};

struct rps_system_options {
    int tree, machine; /* 1: read that source; tree: the group too */
    int package;       /* 1: of all CPUs: read that source, where there is anything of it */
    int hears;         /* 1: FORK and EXIT records will be handed over; 0: look in /proc */
    int64_t period_ns; /* nominal, between readings */
    double budget;     /* part of a CPU that reading may take: 0.001 */
};

/* A reader of signals that is open on a target. */
struct rps_system_reader {
    void *self;

    /* What it reads, after opening: fills *ret for `source`. 0, or 1: that source is not read; of
     * packages that were asked for *ret says why. */
    int (*state)(void *self, enum rps_system_source source, struct rps_system_state *ret);

    /* A record of the sampler's, before the sample sink has it: FORK and EXIT tell the threads.
     * NULL: no more will come, and threads are looked for in /proc from now on. */
    void (*hear)(void *self, const struct rps_sample *sample);

    /* The period `period` has ended at time_ns (event loop's clock; start_ns is the run's zero): read
     * what is due, and hand it to the sink. force 1: at a pause and at the end, whether due or not.
     * A note (size bytes, "" none) tells that readings were stretched. Never fails: what cannot be
     * read is missing. */
    void (*read)(void *self, uint64_t period, int64_t time_ns, int64_t start_ns, int force,
                 const struct rps_system_sink *sink, char *note, size_t size);

    /* Counting begins at time_ns, or goes on after a pause: the next reading counts from here. */
    void (*resume)(void *self, int64_t time_ns);

    /* The processes of the workload that go on now; *ret_pid gets the numbers of the first `size`.
     * NULL: nobody can tell. */
    size_t (*left)(void *self, pid_t *ret_pid, size_t size);

    void (*close)(void *self); /* NULL is harmless */
};

#endif
