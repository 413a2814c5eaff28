/*
 * Internals of sampling by perf_event, shared by its files: sampler_perf.c (opening, and the
 * sampler), sampler_perf_event.c (the sampled event), sampler_perf_ring.c (reading the rings),
 * sampler_perf_tree.c (whose samples are kept) and sampler_perf_queue.c (waits for a CPU).
 */
#ifndef RPISTAT_MEASURE_SAMPLER_PERF_H
#define RPISTAT_MEASURE_SAMPLER_PERF_H

#include <stddef.h>
#include <stdint.h>

#include "pmu_perf.h"
#include "rpistat/clock.h"
#include "rpistat/sampler.h"

struct perf_event_mmap_page;
struct taskstats;

/* --- sampler_perf_event.c: what is sampled ---------------------------------------------------- */

struct rps_perf_sampled {
    struct rps_perf *perf;
    struct rps_sampling_options options; /* options that were left open have their chosen values */
    struct rps_event event;
    uint64_t registers; /* that the kernel copies, with the top of the stack; 0: none */
    size_t depth_limit; /* limit of the kernel's call stacks */
    int is_wide;        /* CPUs are sampled, and samples of other programs are dropped */
};

/*
 * Choose the event and the frequency, by trying. RPS_USAGE for invalid options, RPS_FAILED with the
 * reason if the event cannot be sampled here.
 */
int rps_perf_choose_sampled(struct rps_perf *perf, const struct rps_sampling_options *options,
                            const struct rps_target *target, struct rps_perf_sampled *ret,
                            struct rps_error *err);

/* Replace AUTO by stacks from frame pointers only. */
void rps_perf_leave_out_registers(struct rps_perf_sampled *sampled);

/* Fill the argument of perf_event_open to sample the target, for any kind of core. */
void rps_perf_fill_sampling(const struct rps_perf_sampled *sampled, const struct rps_target *target,
                            struct perf_event_attr *attr);

/* Set the error of a system call that failed with that number; RPS_FAILED. */
int rps_perf_cannot_sample(const struct rps_event *event, int number, struct rps_error *err);

/* --- sampler_perf_tree.c: whose samples are kept ---------------------------------------------- */

/*
 * Live threads of the target, if whole CPUs are sampled. Inherited events cover only its threads,
 * and their records build the tree. If a ring was full and records may be lost, the tree is rebuilt
 * from the running processes: the threads in it before that, and their present children. Orphans
 * may be lost then. A foreign process stays at most until the next but one reading of the rings.
 */
struct rps_perf_tree {
    struct rps_perf_member {
        pid_t tid, pid;
    } * member; /* owned; in order of tid */
    size_t count;
    int is_in_doubt;   /* the records are incomplete; rps_perf_tree_check handles that */
    int64_t doubt_ns;  /* CLOCK_MONOTONIC, when that was noticed; 0: the tree is correct */
    int64_t since_ns;  /* CLOCK_BOOTTIME, until when it was correct; */
    int64_t looked_ns; /* of the check before */
    uint64_t lookups;  /* number of rebuilds */
};

/* Initialize an empty tree; the caller frees it. */
void rps_perf_tree_init(struct rps_perf_tree *tree);

void rps_perf_tree_free(struct rps_perf_tree *tree);

/* Return whether a thread belongs to the target. */
int rps_perf_tree_has(const struct rps_perf_tree *tree, pid_t pid, pid_t tid);

/* Add a thread if it is missing. Without memory the tree is in doubt. */
void rps_perf_tree_add(struct rps_perf_tree *tree, pid_t pid, pid_t tid);

/* Update the tree from a record of the target: a fork, a name from an exec, or an end. */
void rps_perf_tree_hear(struct rps_perf_tree *tree, const struct rps_sample *sample);

/* Call after the rings were drained up to until_ns; rebuilds the tree if necessary. */
void rps_perf_tree_check(struct rps_perf_tree *tree, int64_t until_ns);

/* --- sampler_perf_wall.c: of which switches stacks are taken ----------------------------------- */

#define RPS_PERF_WAITS_PER_S    300  /* stacks of switches: all up to that rate, then so many */
#define RPS_PERF_SWITCHES_MAX   5000 /* per second; above, neither stacks nor switches are read, */
#define RPS_PERF_SWITCHES_AGAIN 4000 /* until their rate is below this */
#define RPS_PERF_WINDOWS_MAX    16   /* at least one of so many windows is drawn */
#define RPS_PERF_WINDOW_NS      (RPS_NS_PER_S / 10)

/* Windows of a tenth of a second, or of the time between two readings of the rings if longer. */
struct rps_perf_wall {
    uint64_t seed;
    int takes_stacks, hears_switches; /* in the current window */
    uint32_t of;                      /* one of so many windows is drawn; 0: too many switches */
    uint32_t at, place; /* number of the current window among them, and of the drawn one */
    double rate;        /* switches per second, when they were last recorded */
    int64_t window_ns;  /* when the window began, CLOCK_MONOTONIC */
    int64_t heard_ns;   /* switches have been recorded since then */
    int64_t until_ns;   /* at the beginning of the window, those before this time were read: */
    uint64_t switches;  /* this many */
};

/* Begin with a window that records all stacks. */
void rps_perf_wall_init(struct rps_perf_wall *wall, uint64_t seed, int64_t now_ns);

/* Begin a new window after a pause. */
void rps_perf_wall_resume(struct rps_perf_wall *wall, int64_t now_ns);

/* Call at each reading of the rings; `switches` is the total read so far, all before until_ns.
 * Returns 1 if the stacks or switches to record have changed. */
int rps_perf_wall_step(struct rps_perf_wall *wall, uint64_t switches, int64_t until_ns,
                       int64_t now_ns);

/* --- sampler_perf_queue.c: how long threads waited for a CPU ------------------------------------ */

#define RPS_PERF_QUEUE_BYTES 4096 /* maximum size of a message */

struct rps_perf_queue {
    int fd; /* netlink socket; 0: none */
    uint16_t family;
    const char *failure; /* why waits are unknown; NULL: they are known, or not requested */
};

/* Parse a message of taskstats about a thread that has ended: fill *ret up to its number. -1:
 * other. */
int rps_perf_queue_parse(const uint8_t *message, size_t size, int family, struct taskstats *ret);

/* Open the socket, if that is permitted. */
void rps_perf_queue_open(struct rps_perf_queue *queue);
void rps_perf_queue_close(struct rps_perf_queue *queue);

/* Pass the received waits on (RPS_SAMPLE_QUEUE); without a sink they are dropped. is_on 0: sampling
 * is paused, which makes waits unknown unless is_end is 1. */
void rps_perf_queue_drain(struct rps_perf_queue *queue, int is_on, int is_end,
                          const struct rps_sample_sink *sink);

/* --- sampler_perf_ring.c: the rings ----------------------------------------------------------- */

/*
 * Memory into which the kernel writes records of a CPU. Each kind of event has its own ring, so
 * that many records of one kind cannot push out the others. SAFETY: the kernel writes the times of
 * a thread that ends into the rings of all CPUs, from the CPU where it ended. It does not guard
 * that against the other CPUs' writes, which may break a ring for good.
 */
enum rps_perf_ring_kind {
    RPS_PERF_SAMPLES,  /* of running code */
    RPS_PERF_HEARD,    /* maps, names, forks, ends */
    RPS_PERF_TIMES,    /* CPU times of threads that ended; not if CPUs are the target */
    RPS_PERF_WAITS,    /* if requested: stacks of threads that leave their CPU, */
    RPS_PERF_SWITCHES, /* records of leaving and of returning to a CPU, */
    RPS_PERF_PLACES,   /* and the innermost part of their stack, in windows without stacks */
    RPS_PERF_RING_KINDS,
};

struct rps_perf_ring {
    enum rps_perf_ring_kind kind;
    int cpu;
    int fd; /* event that owns the ring */
    struct perf_event_mmap_page *page;
    const uint8_t *data;
    size_t bytes; /* of data; a power of two */

    int64_t last_ns; /* of the latest record */

    /* While it is drained: */
    uint64_t head, tail;
    int64_t time_ns; /* of the first record, */
    size_t size;     /* its size; 0: there is none */
};

/*
 * An event that counts the CPU time of an opened thread and of the threads that it starts; the
 * latter's when they end. When two of them follow each other on a CPU, the kernel may exchange
 * their events to save work, and only ensures that each keeps its time. So a started thread may end
 * with the opened thread's event and report nothing; the opened thread then reports it. (An event
 * that is not inherited would prevent that, but took 2 us more per such switch.)
 */
struct rps_perf_timer {
    uint64_t id; /* assigned by the kernel */
    int fd;      /* owned by the sampler */
    int cpu;
    pid_t pid, tid;
    uint64_t told_ns; /* time of the threads that ended */
    int is_told;      /* includes the time of the opened thread */
};

/* A thread that has ended. */
struct rps_perf_ended {
    pid_t pid, tid;
};

#define RPS_PERF_RECORD_BYTES 65536 /* maximum */

struct rps_perf_rings {
    struct rps_perf_ring *ring; /* owned */
    int count;
    enum rps_stacks stacks;           /* content of samples */
    uint64_t registers;               /* registers of the workload in samples, with its stack */
    size_t depth_max;                 /* limit of addresses in the kernel's call stacks */
    uint64_t lost, throttled;         /* samples, of any program, and times of throttling; so far */
    uint64_t own, foreign;            /* samples of the target, and others, which were skipped */
    uint64_t switches, switches_lost; /* threads leaving their CPU, so far */
    int64_t complete_ns; /* all switches are read from then on; 0: that was passed on */
    int64_t deaf_ns;     /* no switches are read from then on; 0: they are, or that was passed on */
    int is_paused;       /* because of a pause */
    int counts_only;     /* switches are counted, but not passed on */
    struct rps_perf_tree *tree;   /* threads whose samples are kept; NULL: all */
    struct rps_perf_timer *timer; /* owned; in order of id */
    size_t timer_count;
    struct rps_perf_ended *silent; /* owned; threads that ended without reporting a time so far */
    size_t silent_count;
    int64_t last_ns; /* time of the latest record passed on */
    /* SAFETY: space for a record that wraps around the end of its ring, RPS_PERF_RECORD_BYTES. Core
     * dumps exclude it: the kernel leaves old data after a copied stack, maybe of other users. */
    uint64_t *scratch;
};

/* Return the registers of a place: the instruction and the stack pointer; 0: unknown here. */
uint64_t rps_perf_place_registers(void);

/* Return the fields of a sample, as the kernel's PERF_SAMPLE_* bits. */
uint64_t rps_perf_sample_type(enum rps_stacks stacks, uint64_t registers);

/* Return the maximum size of such a sample, in bytes, with call stacks of depth_max addresses. */
size_t rps_perf_sample_bytes(enum rps_stacks stacks, uint64_t registers, size_t depth_max);

/* Size of the copied top of the stack. */
#define RPS_PERF_STACK_BYTES 8192

/*
 * Pass on the records before until_ns, as in struct rps_sampler. A sample of a thread outside the
 * tree is skipped in place: only its length, time and thread number are read. A record with an
 * invalid length or content counts as lost. If its length is wrong, all present records after it in
 * that ring are lost too.
 */
void rps_perf_rings_drain(struct rps_perf_rings *rings, int64_t until_ns,
                          const struct rps_sample_sink *sink);

/* Return the estimated number of lost samples of the target. If other programs' samples were
 * skipped, the target's part of the lost samples is assumed to equal its part of those read. */
uint64_t rps_perf_rings_lost(const struct rps_perf_rings *rings);

#endif
