/* Internals of the perf_event backends, shared by their files:
 *
 * - pmu_perf.c: the two backends
 * - pmu_perf_event.c: opens one event
 * - pmu_perf_cores.c: kinds of core
 * - pmu_perf_fit.c: finds countable events
 * - pmu_perf_attach.c: opens the counters of a target
 * - pmu_perf_read.c: switches and reads counters
 * - sampler_perf.c: sampling
 *
 * A target has a number of places: threads, or CPUs. Each place has the clock event and one perf
 * group per event set, so that one read returns the whole set. pmu_perf_attach.c fills the places,
 * and pmu_perf_read.c reads them. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "idle.h"
#include "rpistat/plan.h"
#include "rpistat/pmu.h"

/* Maximum number of kinds of core in one machine. */
#define RPS_PERF_CORE_MAX 4

struct rps_perf_slot {
    int fd;       /* -1 if the slot is not measured */
    int position; /* index in the group's values; -1: the slot is read alone */
};

struct rps_perf_group {
    int leader_fd; /* leader of the group that is read; -1: no group */
    int members;   /* number of values in a group read */
    struct rps_perf_slot slot[RPS_SLOT_MAX];
    /* Values of the last successful read, so that totals never decrease. */
    uint64_t running_ns;
    uint64_t value[RPS_SLOT_MAX];
    uint32_t valid; /* bit mask of the slots that the last read returned */
};

/* A place where counters are open (a thread or a CPU), and its counters. */
struct rps_perf_place {
    pid_t pid;           /* thread, or descriptor of a control group; -1: all code on the CPU */
    int cpu;             /* -1 if the place follows the thread over all CPUs */
    unsigned long flags; /* flags of perf_event_open */
    int kind;            /* kind of core: index into perf->core, or 0 */
    int track;
    int gone; /* 1 if the CPU of the place went offline */
    int clock_fd;
    uint64_t clock, enabled_ns, clock_running_ns; /* values of the last reading */
    struct rps_perf_group *group;                 /* owned; one per set */
};

/* A kind of core on a hybrid processor. */
struct rps_perf_core {
    char name[64];   /* name of the kind's PMU, such as "cpu_atom" */
    uint32_t type;   /* type of the kind's PMU */
    char cpus[4096]; /* list of CPUs in the format of sysfs */
};

/* State of an open perf_event backend. */
struct rps_perf {
    int hardware;
    int group_reads;        /* 1 if PERF_FORMAT_GROUP works together with inherit */
    int limit;              /* maximum number of events that count with the clock event; INT_MAX:
                        unknown */
    struct rps_event clock; /* the chosen clock event */
    const struct rps_plan *plan;
    int clock_leads; /* 1 if the clock event leads the only group */
    int first_set;   /* event set that begins to count at the workload's exec */
    int core_count;  /* number of kinds of core; more than 1 on hybrid processors */
    struct rps_perf_core core[RPS_PERF_CORE_MAX];
    int track_count;
    int *track_cpu;       /* owned */
    struct rps_idle idle; /* idle times of whole CPUs */
    int place_count;
    struct rps_perf_place *place; /* owned */
};

/* --- pmu_perf_event.c: one event -------------------------------------------------------------- */

enum rps_perf_flags {
    RPS_PERF_DISABLED = 1, /* count only after being enabled */
    RPS_PERF_ON_EXEC = 2,  /* count from exec on */
    RPS_PERF_PINNED = 4,   /* the event is always on a counter; if it cannot be, it has an error */
    RPS_PERF_GROUP = 8,    /* a read returns the whole group */
    RPS_PERF_INHERIT = 16, /* children and threads are counted too */
};

struct perf_event_attr;

/* Fill the argument of perf_event_open to count the event. */
void rps_perf_fill_attr(struct perf_event_attr *attr, const struct rps_event *event,
                        unsigned flags);

/* Open the event that attr describes, like rps_perf_open_event. If counting kernel code is refused,
 * open the event for user code only, and set exclude_kernel in attr. */
int rps_perf_open_attr(struct perf_event_attr *attr, const struct rps_perf_place *place,
                       int group_fd);

/* Open the event at a place (NULL: this thread), in the group of group_fd (-1: a new group). After
 * a refusal, retry without kernel code, because counting only user code is permitted to more users.
 * *ret_user_only reports such a retry; ret_user_only may be NULL. Returns a descriptor, or -errno
 * of the first try. */
int rps_perf_open_event(const struct rps_event *event, const struct rps_perf_place *place,
                        int group_fd, unsigned flags, int *ret_user_only);

/* Close *fd if it is open, and set it to -1. */
void rps_perf_close_fd(int *fd);

/* Convert the errno of a failed open to a state, and write the meaning to `reason` (size bytes). */
enum rps_event_state rps_perf_explain(int number, char *reason, size_t size);

/* Return the value of kernel.perf_event_paranoid, or -100 if the file does not exist. */
int rps_perf_paranoid(void);

/* Return 1 if this machine reports that it is virtual. */
int rps_perf_is_virtual(void);

/* --- pmu_perf_cores.c: kinds of core ---------------------------------------------------------- */

/* Fill perf->core with the kinds of core. `probe` is an event that every kind counts. Kinds are not
 * distinguished if the kernel cannot select a kind for an event. */
void rps_perf_find_cores(struct rps_perf *perf, const struct rps_event *probe);

/* Return the number of kinds of core for a loop over the kinds: 1 if all cores are alike. */
int rps_perf_kinds(const struct rps_perf *perf);

/* Return the kind of core of a CPU, or 0 if all cores are alike. */
int rps_perf_kind_of_cpu(const struct rps_perf *perf, int cpu);

/* Return 1 if the event uses one of the processor's counters, otherwise 0. */
int rps_perf_needs_counter(const struct rps_perf *perf, const struct rps_event *event);

/* Return 1 if the event can be counted on this kind of core, otherwise 0. */
int rps_perf_counts_on(const struct rps_perf *perf, const struct rps_event *event, int kind);

/* Return a copy of the event that can be opened on one kind of core. */
struct rps_event rps_perf_event_on(const struct rps_perf *perf, const struct rps_event *event,
                                   int kind);

/* Move this thread to one kind of core. Returns 0 if the move is not permitted. */
int rps_perf_go_to(const struct rps_perf_core *core);

/* --- pmu_perf_fit.c: what can be counted here ------------------------------------------------- */

/* Implements struct rps_pmu. */
int rps_perf_try_event(void *self, struct rps_event *event, struct rps_error *err);
int rps_perf_fits(void *self, const struct rps_event *const *event, int count);

/* Check that the event counts on this thread, on at least one kind of core. Returns 0, the errno of
 * opening, or ENODATA for an event that opens but does not count. */
int rps_perf_counts_here(const struct rps_perf *perf, const struct rps_event *event);

/* Find how many events can count at the same time. Adds copies of one event to a group with the
 * clock event, as long as the counters have space for the group. All copies must have the same
 * count. Returns the number of copies that count, or INT_MAX if all copies count. This function is
 * not used on hybrid processors, where a generic event may be for the other kind of core. */
int rps_perf_find_limit(void);

/* --- pmu_perf_attach.c: the counters of a target ---------------------------------------------- */

/* Implements struct rps_pmu. */
int rps_perf_attach(void *self, const struct rps_plan *plan, const struct rps_target *target,
                    struct rps_error *err);

/* Close all counters, and free places and tracks. Harmless if nothing was attached. */
void rps_perf_detach(struct rps_perf *perf);

/* Functions that open the events of a thread. */
struct rps_perf_opener {
    void *context;
    /* returns 1 if the thread has ended */
    int (*open)(void *context, pid_t tid, struct rps_error *err);
    void (*drop)(void *context); /* closes all events that were opened for this process */
};

/* Open all threads of a running process. `inherit` covers threads that an opened thread starts. A
 * thread that starts while its siblings are being opened may have inherited all counters, some or
 * none. So all events are closed and opened again until no thread starts during the opening. In a
 * process with thousands of threads, it may be unknown for one thread in a hundred whether it
 * started during the opening. Such a thread is left out. */
int rps_perf_open_process(pid_t pid, const struct rps_perf_opener *opener, struct rps_error *err);

/* Count the present threads of a target. Returns 1 for a workload that is launched, 0 for CPUs. */
int rps_perf_count_threads(const struct rps_target *target, size_t *ret, struct rps_error *err);

/* Number of descriptors reserved for all other uses. */
#define RPS_PERF_DESCRIPTORS_FREE 64

/* Raise this process's limit so that it may open `need` descriptors. Returns 0 on success. If fewer
 * descriptors are permitted, returns the permitted number. */
unsigned long long rps_perf_reserve_descriptors(unsigned long long need);

/* --- pmu_perf_read.c: switching and reading --------------------------------------------------- */

/* Number of times that starting and stopping the counters is repeated. */
#define RPS_PERF_SETTLE_TIMES 3

/* Implements struct rps_pmu. */
int rps_perf_start(void *self, int set, struct rps_error *err);
int rps_perf_stop(void *self, int set, struct rps_error *err);
int rps_perf_enable(void *self, int set, struct rps_error *err);
int rps_perf_disable(void *self, int set, struct rps_error *err);
int rps_perf_read(void *self, int track, int set, struct rps_reading *ret, struct rps_error *err);

/* --- sampler_perf.c: sampling ----------------------------------------------------------------- */

/* Implements struct rps_pmu. */
int rps_perf_open_sampler(void *self, const struct rps_sampling_options *options,
                          const struct rps_target *target, struct rps_sampler *ret,
                          struct rps_error *err);

/* --- system_proc.c: system metrics ------------------------------------------------------------ */

/* Implements struct rps_pmu. */
int rps_perf_open_system(void *self, const struct rps_system_options *options,
                         const struct rps_target *target, struct rps_system_reader *ret,
                         struct rps_error *err);
