/* Internals of sampling by perf_event, shared by its files:
 *
 * - sampler_perf.c: opening, and the sampler
 * - sampler_perf_event.c: the sampled event
 * - sampler_perf_ring.c: reads the rings
 * - sampler_perf_tree.c: decides whose samples are kept
 * - sampler_perf_queue.c: waits for a CPU */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/clock.h"
#include "rpistat/sampler.h"

struct perf_event_mmap_page;
struct taskstats;

/* --- sampler_perf_tree.c: whose samples are kept ---------------------------------------------- */

/* Live threads of the target, if whole CPUs are sampled. The target's inherited events cover only
 * its threads, and their records build the tree. If a ring was full and records may be lost, the
 * tree is rebuilt from the running processes. The new tree has the threads that were in the old
 * tree, and their present children. It may lack processes whose parents have ended. A process that
 * does not belong to the target remains in the tree for at most two readings of the rings. */
struct rps_perf_tree {
    struct rps_perf_member {
        pid_t tid, pid;
    } * member; /* owned; in order of tid */
    size_t count;
    int is_in_doubt;   /* 1 if records are missing; see rps_perf_tree_check */
    int64_t doubt_ns;  /* CLOCK_MONOTONIC: when missing records were noticed; 0: no doubt */
    int64_t since_ns;  /* CLOCK_BOOTTIME: time until which the tree was correct */
    int64_t looked_ns; /* CLOCK_BOOTTIME: time of the previous check */
    uint64_t lookups;  /* number of rebuilds */
};

/* Initialize an empty tree, which the caller frees. */
void rps_perf_tree_init(struct rps_perf_tree *tree);

void rps_perf_tree_free(struct rps_perf_tree *tree);

/* Return 1 if a thread belongs to the target. */
int rps_perf_tree_has(const struct rps_perf_tree *tree, pid_t pid, pid_t tid);

/* Add a thread if it is missing. If memory is short, is_in_doubt is set. */
void rps_perf_tree_add(struct rps_perf_tree *tree, pid_t pid, pid_t tid);

/* Update the tree from a record of the target: a fork, a name from an exec, or an end. */
void rps_perf_tree_hear(struct rps_perf_tree *tree, const struct rps_sample *sample);

/* Rebuild the tree if necessary. Call this function after the rings were drained up to until_ns. */
void rps_perf_tree_check(struct rps_perf_tree *tree, int64_t until_ns);

/* --- sampler_perf_event.c: of which switches stacks are taken --------------------------------- */

#define RPS_PERF_WAITS_PER_S    300  /* maximum rate at which all stacks of switches are read */
#define RPS_PERF_SWITCHES_MAX   5000 /* above this rate of switches per second, none are read */
#define RPS_PERF_SWITCHES_AGAIN 4000 /* below this rate, reading begins again */
#define RPS_PERF_WINDOWS_MAX    16   /* maximum windows in a group, one of which is chosen */
#define RPS_PERF_WINDOW_NS      (RPS_NS_PER_S / 10)

/* Windows that decide which switches are recorded. A window lasts a tenth of a second, or, if
 * longer, the time between two readings of the rings. */
struct rps_perf_wall {
    uint64_t seed;
    int takes_stacks, hears_switches; /* 1 if the current window records stacks or switches */
    uint32_t of;                      /* size of a group of windows; one is chosen; 0: none */
    uint32_t at, place; /* number of the current and of the chosen window in the group */
    double rate;        /* switches per second in the latest time in which they were recorded */
    int64_t window_ns;  /* CLOCK_MONOTONIC: begin of the window */
    int64_t heard_ns;   /* CLOCK_MONOTONIC: begin of recording switches */
    int64_t until_ns;   /* begin of the window; all switches before this time were read */
    uint64_t switches;  /* number of switches that were read before until_ns */
};

/* Begin with a window that records all stacks. */
void rps_perf_wall_init(struct rps_perf_wall *wall, uint64_t seed, int64_t now_ns);

/* Begin a new window after a pause. */
void rps_perf_wall_resume(struct rps_perf_wall *wall, int64_t now_ns);

/* Update the windows after each reading of the rings. `switches` is the number of switches read so
 * far, all before until_ns. Returns 1 if the stacks or switches to record have changed. */
int rps_perf_wall_step(struct rps_perf_wall *wall, uint64_t switches, int64_t until_ns,
                       int64_t now_ns);

/* --- sampler_perf_queue.c: how long threads waited for a CPU ---------------------------------- */

#define RPS_PERF_QUEUE_BYTES 4096 /* maximum size of a taskstats message */

struct rps_perf_queue {
    int fd; /* netlink socket; 0: none */
    uint16_t family;
    const char *failure; /* reason for which waits are unknown; NULL if known, or not requested */
};

/* Parse a message of taskstats about a thread that has ended. Fills *ret up to the thread's number.
 * Returns -1 for other messages. */
int rps_perf_queue_parse(const uint8_t *message, size_t size, int family, struct taskstats *ret);

/* Open the socket, if that is permitted. */
void rps_perf_queue_open(struct rps_perf_queue *queue);
void rps_perf_queue_close(struct rps_perf_queue *queue);

/* Pass on the received waits (RPS_SAMPLE_QUEUE), or drop them if there is no sink. If is_on is 0,
 * sampling is paused, which makes waits unknown unless is_end is 1. */
void rps_perf_queue_drain(struct rps_perf_queue *queue, int is_on, int is_end,
                          const struct rps_sample_sink *sink);

/* --- sampler_perf_ring.c: the rings ----------------------------------------------------------- */

/* Kinds of rings: memory into which the kernel writes records of a CPU. Each kind of event has its
 * own ring, so that many records of one kind cannot displace records of another kind. SAFETY: the
 * kernel writes the times of a thread that ends into the rings of all CPUs, from the CPU where the
 * thread ended. The kernel does not protect these writes against the other CPUs' writes, which may
 * break a ring permanently. */
enum rps_perf_ring_kind {
    RPS_PERF_SAMPLES,  /* samples of running code */
    RPS_PERF_HEARD,    /* maps, names, forks and ends of processes */
    RPS_PERF_TIMES,    /* CPU times of ended threads; not if CPUs are the target */
    RPS_PERF_WAITS,    /* if requested: stacks of threads that leave their CPU */
    RPS_PERF_SWITCHES, /* if requested: records of leaving a CPU and returning to one */
    RPS_PERF_PLACES,   /* if requested: innermost part of stacks, in windows without stacks */
    RPS_PERF_RING_KINDS,
};

struct rps_perf_ring {
    enum rps_perf_ring_kind kind;
    int cpu;
    int fd; /* descriptor of the event that owns the ring */
    struct perf_event_mmap_page *page;
    const uint8_t *data;
    size_t bytes; /* size of `data`; a power of two */

    int64_t last_ns; /* time of the last record */

    /* State while the ring is drained. */
    uint64_t head, tail;
    int64_t time_ns; /* time of the ring's first record */
    size_t size;     /* size of the ring's first record; 0: no record */
};

/* An event that counts the CPU time of an opened thread, and of the threads that it started when
 * they end. If two of these threads run directly after each other on a CPU, the kernel may exchange
 * their events to save work. The kernel only ensures that each thread keeps its time. A started
 * thread may thus end with the opened thread's event and report nothing. The event of the opened
 * thread then reports that time later. An additional event that is not inherited would prevent the
 * exchange. It is not used, because it made each such switch 2 us slower. */
struct rps_perf_timer {
    uint64_t id; /* assigned by the kernel */
    int fd;      /* descriptor that the sampler owns */
    int cpu;
    pid_t pid, tid;
    uint64_t told_ns; /* sum of the times of threads that ended */
    int is_reported;  /* 1 if told_ns includes the time of the opened thread */
};

/* A thread that has ended. */
struct rps_perf_ended {
    pid_t pid, tid;
};

#define RPS_PERF_RECORD_BYTES 65536 /* maximum size of a record */

struct rps_perf_rings {
    struct rps_perf_ring *ring; /* owned */
    int count;
    enum rps_stacks stacks;           /* stacks that samples contain */
    uint64_t registers;               /* registers in samples, with the top of the stack */
    size_t depth_max;                 /* limit of addresses in the kernel's call stacks */
    uint64_t lost, throttled;         /* lost samples of any program; number of throttlings */
    uint64_t own, foreign;            /* number of samples of the target, and of skipped samples */
    uint64_t switches, switches_lost; /* recorded switches away from a CPU, and lost switches */
    int64_t complete_ns;              /* time from which all switches are read; 0: passed on */
    int64_t deaf_ns;              /* time from which no switches are read; 0: none, or passed on */
    int is_paused;                /* 1 if no switches are read because of a pause */
    int counts_only;              /* 1 if switches since deaf_ns are only counted */
    struct rps_perf_tree *tree;   /* threads whose samples are kept; NULL: all */
    struct rps_perf_timer *timer; /* owned; in order of id */
    size_t timer_count;
    struct rps_perf_ended *silent; /* owned; ended threads that have not reported a time */
    size_t silent_count;
    int64_t last_ns; /* time of the last record passed on */
    /* SAFETY: space for a record that wraps around the end of its ring (RPS_PERF_RECORD_BYTES).
     * Core dumps exclude this memory: after a copied stack the kernel does not clear old data,
     * which may belong to other users. */
    uint64_t *scratch;
};

/* Return the registers of a place, which are the instruction and the stack pointer. Returns 0 if
 * they are unknown on this processor. */
uint64_t rps_perf_place_registers(void);

/* Return the fields of a sample, as the kernel's PERF_SAMPLE_* bits. */
uint64_t rps_perf_sample_type(enum rps_stacks stacks, uint64_t registers);

/* Return the maximum size of a sample in bytes, with call stacks of depth_max addresses. */
size_t rps_perf_sample_bytes(enum rps_stacks stacks, uint64_t registers, size_t depth_max);

/* Size of the top of the stack that the kernel copies. */
#define RPS_PERF_STACK_BYTES 8192

/* Pass on the records before until_ns, as in struct rps_sampler. A sample of a thread outside the
 * tree is skipped without being copied. Only the sample's length, time and thread number are read.
 * A record with an invalid length or content is counted as lost. If the length is wrong, all
 * present records after it in that ring are lost too. */
void rps_perf_rings_drain(struct rps_perf_rings *rings, int64_t until_ns,
                          const struct rps_sample_sink *sink);

/* Return the estimated number of lost samples of the target. If other programs' samples were
 * skipped, the target's share of lost samples is assumed to equal that of read samples. */
uint64_t rps_perf_rings_lost(const struct rps_perf_rings *rings);
