/*
 * What the files of sampling by perf_event share: sampler_perf.c (opening, and the sampler),
 * sampler_perf_event.c (what is sampled), sampler_perf_ring.c (reading the rings),
 * sampler_perf_tree.c (whose samples are kept) and sampler_perf_queue.c (who waited for a CPU).
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
    struct rps_sampling_options options; /* with what was chosen for what was left open */
    struct rps_event event;
    uint64_t registers; /* that the kernel copies, with the stack's top; 0: none */
    size_t depth_limit; /* of the kernel's chains of addresses */
    int is_wide;        /* CPUs are sampled, and what is not the target's is dropped */
};

/*
 * Choose the event and the frequency, by trying. RPS_USAGE for options that make no sense,
 * RPS_FAILED with the reason when the event cannot be sampled here.
 */
int rps_perf_choose_sampled(struct rps_perf *perf, const struct rps_sampling_options *options,
                            const struct rps_target *target, struct rps_perf_sampled *ret,
                            struct rps_error *err);

/* Stacks by frame pointers alone, in the place of AUTO. */
void rps_perf_leave_out_registers(struct rps_perf_sampled *sampled);

/* What perf_event_open takes to sample the target; of no kind of core in particular. */
void rps_perf_fill_sampling(const struct rps_perf_sampled *sampled, const struct rps_target *target,
                            struct perf_event_attr *attr);

/* The error of a system call that failed with that number; RPS_FAILED. */
int rps_perf_cannot_sample(const struct rps_event *event, int number, struct rps_error *err);

/* --- sampler_perf_tree.c: whose samples are kept ---------------------------------------------- */

/*
 * Threads of the target that live, where whole CPUs are sampled. Events that are inherited hear of
 * its threads alone: what they hear makes the tree. Where a ring was full and something may not
 * have been heard, the tree is made anew from the processes that run: those that were in it before
 * that and their children of now. Orphans may be lost then; nobody else's process stays for longer
 * than until the next look at the rings but one.
 */
struct rps_perf_tree {
    struct rps_perf_member {
        pid_t tid, pid;
    } * member; /* owned; in order of tid */
    size_t count;
    int is_in_doubt;   /* what is heard is not all, to be dealt with by rps_perf_tree_check */
    int64_t doubt_ns;  /* CLOCK_MONOTONIC, when that was seen; 0: it is right */
    int64_t since_ns;  /* CLOCK_BOOTTIME, until when it was right; */
    int64_t looked_ns; /* of the check before */
    uint64_t lookups;  /* times that it was made anew */
};

/* A tree of no threads; to be freed. */
void rps_perf_tree_init(struct rps_perf_tree *tree);

void rps_perf_tree_free(struct rps_perf_tree *tree);

/* Is it the target's? */
int rps_perf_tree_has(const struct rps_perf_tree *tree, pid_t pid, pid_t tid);

/* One more, where it is not there. Without memory the tree is in doubt. */
void rps_perf_tree_add(struct rps_perf_tree *tree, pid_t pid, pid_t tid);

/* What was heard of the target: forks, names that an exec gives, and ends change the tree. */
void rps_perf_tree_hear(struct rps_perf_tree *tree, const struct rps_sample *sample);

/* To be called when the rings were drained until then; makes the tree anew where that is due. */
void rps_perf_tree_check(struct rps_perf_tree *tree, int64_t until_ns);

/* --- sampler_perf_wall.c: of which switches stacks are taken ----------------------------------- */

#define RPS_PERF_WAITS_PER_S    300  /* stacks of switches: all up to that rate, above it so many */
#define RPS_PERF_SWITCHES_MAX   5000 /* a second; above, neither stacks nor switches are recorded, */
#define RPS_PERF_SWITCHES_AGAIN 4000 /* until there are no more than these */
#define RPS_PERF_WINDOWS_MAX    16   /* of so many windows one is drawn at least */
#define RPS_PERF_WINDOW_NS      (RPS_NS_PER_S / 10)

/* Windows of a tenth of a second, or from one look at the rings to the next where that is longer. */
struct rps_perf_wall {
    uint64_t seed;
    int takes_stacks, hears_switches; /* in the window that is on */
    uint32_t of;        /* of so many windows one is drawn; 0: there are too many switches */
    uint32_t at, place; /* the window's number among them, and that of the drawn one */
    double rate;        /* switches a second, when they were last heard */
    int64_t window_ns;  /* when the window began, CLOCK_MONOTONIC */
    int64_t heard_ns;   /* they are heard since then */
    int64_t until_ns;   /* when the window began those before this time were read, */
    uint64_t switches;  /* so many */
};

/* A first window, of which all stacks are taken. */
void rps_perf_wall_init(struct rps_perf_wall *wall, uint64_t seed, int64_t now_ns);

/* After a pause: the window begins anew. */
void rps_perf_wall_resume(struct rps_perf_wall *wall, int64_t now_ns);

/* To be called at each look at the rings, from which so many switches were read so far, all that came
 * before until_ns. 1: what is to be taken, or heard, has changed. */
int rps_perf_wall_step(struct rps_perf_wall *wall, uint64_t switches, int64_t until_ns,
                       int64_t now_ns);

/* --- sampler_perf_queue.c: how long threads waited for a CPU ------------------------------------ */

#define RPS_PERF_QUEUE_BYTES 4096 /* of a message at most */

struct rps_perf_queue {
    int fd; /* of netlink; 0: none */
    uint16_t family;
    const char *failure; /* why waits are unknown; NULL: they are known, or not asked for */
};

/* Parse a message of taskstats about a thread that has ended: fill *ret up to its number. -1: it is
 * none. */
int rps_perf_queue_parse(const uint8_t *message, size_t size, int family, struct taskstats *ret);

/* Open it, as far as that is allowed. */
void rps_perf_queue_open(struct rps_perf_queue *queue);
void rps_perf_queue_close(struct rps_perf_queue *queue);

/* Hand over what came (RPS_SAMPLE_QUEUE); without a sink it is dropped. is_on 0: sampling stands
 * still, which makes waits unknown unless is_end is 1. */
void rps_perf_queue_drain(struct rps_perf_queue *queue, int is_on, int is_end,
                          const struct rps_sample_sink *sink);

/* --- sampler_perf_ring.c: the rings ----------------------------------------------------------- */

/*
 * Memory that a CPU's kernel writes records into. There is one for each kind of event: what much is
 * heard or sampled of cannot push out the rest. And the kernel writes the times of a thread that
 * ends into the rings of all CPUs, from the one that it ended on, while the others may be writing
 * there as well, which it does not guard against: that may leave a ring broken for good.
 */
enum rps_perf_ring_kind {
    RPS_PERF_SAMPLES,  /* of what runs */
    RPS_PERF_HEARD,    /* maps, names, forks, ends */
    RPS_PERF_TIMES,    /* CPU times of threads that ended; not where CPUs are the target */
    RPS_PERF_WAITS,    /* stacks of threads that leave their CPU, if they are asked for, */
    RPS_PERF_SWITCHES, /* and that they leave it, or are on one again, */
    RPS_PERF_PLACES,   /* and the innermost part of their stack, in windows without stacks */
    RPS_PERF_RING_KINDS,
};

struct rps_perf_ring {
    enum rps_perf_ring_kind kind;
    int cpu;
    int fd; /* that the ring belongs to */
    struct perf_event_mmap_page *page;
    const uint8_t *data;
    size_t bytes; /* of data; a power of two */

    int64_t last_ns; /* of the latest record */

    /* While it is drained: */
    uint64_t head, tail;
    int64_t time_ns; /* of the first record, */
    size_t size;     /* which is so long; 0: there is none */
};

/*
 * An event that tells the CPU time of a thread that was opened, and of those that it makes: of the
 * latter when they end. When two of them follow one another on a CPU the kernel may exchange their
 * events, to save work, and only sees to it that each keeps its time: a thread that was made may
 * end with the event that was opened, and says nothing then, while the first one does. (An event
 * that is not inherited would forbid that, and took 2 us more of each such switch.)
 */
struct rps_perf_timer {
    uint64_t id; /* that the kernel gave it */
    int fd;      /* owned by the sampler */
    int cpu;
    pid_t pid, tid;
    uint64_t told_ns; /* of the threads that ended */
    int is_told;      /* the time of this one is among that */
};

/* A thread that has ended. */
struct rps_perf_ended {
    pid_t pid, tid;
};

#define RPS_PERF_RECORD_BYTES 65536 /* at most */

struct rps_perf_rings {
    struct rps_perf_ring *ring; /* owned */
    int count;
    enum rps_stacks stacks;           /* what samples hold */
    uint64_t registers;               /* of the workload's that they hold, with its stack */
    size_t depth_max;                 /* addresses that the kernel has room for in a chain */
    uint64_t lost, throttled;         /* samples, of whomever, and times that these were; so far */
    uint64_t own, foreign;            /* samples of the target, and others that were passed over */
    uint64_t switches, switches_lost; /* of threads that left their CPU, so far */
    int64_t complete_ns; /* all switches are read from then on; 0: that was handed over */
    int64_t deaf_ns; /* no switches are read from then on; 0: they are, or that was handed over */
    int is_paused;   /* and that is a pause */
    int counts_only; /* switches are counted, and not handed over */
    struct rps_perf_tree *tree;   /* whose samples are kept; NULL: all */
    struct rps_perf_timer *timer; /* owned; in order of id */
    size_t timer_count;
    struct rps_perf_ended *silent; /* owned; threads that have ended and told no time so far */
    size_t silent_count;
    int64_t last_ns; /* time of what was handed over last */
    /* Room for a record that goes over the end of its ring, RPS_PERF_RECORD_BYTES; in no core dump:
     * behind a copied stack the kernel leaves what was there before, which may be others'. */
    uint64_t *scratch;
};

/* The registers of a place, the instruction and the stack pointer; 0: not known here. */
uint64_t rps_perf_place_registers(void);

/* What a sample has, in the kernel's words (PERF_SAMPLE_*). */
uint64_t rps_perf_sample_type(enum rps_stacks stacks, uint64_t registers);

/* Bytes of the longest sample of that kind, when chains have so many addresses. */
size_t rps_perf_sample_bytes(enum rps_stacks stacks, uint64_t registers, size_t depth_max);

/* Bytes of the stack's top that are copied. */
#define RPS_PERF_STACK_BYTES 8192

/*
 * Hand over what came before until_ns, as struct rps_sampler says. A sample that is not the tree's
 * is passed over where it lies: of it no more than its length, time and number of thread is read. A
 * record whose length or content makes no sense counts as lost; where its length is wrong, so is all
 * that stands behind it in that ring at this time.
 */
void rps_perf_rings_drain(struct rps_perf_rings *rings, int64_t until_ns,
                          const struct rps_sample_sink *sink);

/* The samples of the target that were lost so far: where others' were passed over as large a part of
 * all that were lost as the target's are of those that were read. */
uint64_t rps_perf_rings_lost(const struct rps_perf_rings *rings);

#endif
