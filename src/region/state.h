/* State of the region library in this process: the chosen events, the regions, and their sums. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "counters.h"
#include "rpistat/region_wire.h"

/* Functions that send marks of regions to the recorder of this program, if there is one. */

/* The marks of a region. All members are 0 before the region's first mark. */
struct rps_marks {
    int entries;       /* number of entries in the current second */
    int muted;         /* 1 if the region was entered too often, so that only its totals are sent */
    int held;          /* number of marks that are not sent yet */
    int64_t second_ns; /* start of the current second */
    struct rps_region_wire_mark mark[RPS_REGION_WIRE_MAX];
};

/* Return a socket to the recorder of process pid, or of its nearest recorded ancestor. Return -1 if
 * there is no recorder. `proc` is the directory of processes, "/proc" except in tests. */
int rps_marks_connect(pid_t pid, const char *proc);

/* Add a mark of an entry or an exit. The first entry of a second is sent at once. Later entries are
 * sent at the end of the second, if there are not too many of them. The call never waits. */
void rps_marks_add(struct rps_marks *marks, int fd, const char *name,
                   enum rps_region_wire_kind kind, int64_t time_ns);

/* Send the held marks that are due at now_ns. INT64_MAX sends all held marks. */
void rps_marks_flush(struct rps_marks *marks, int fd, const char *name, int64_t now_ns);

/* Send the held marks, and the totals of a muted region, at the end of the program. The call may
 * wait for a moment. */
void rps_marks_finish(struct rps_marks *marks, int fd, const char *name, int64_t now_ns,
                      uint64_t entered, uint64_t elapsed_ns);

/* The choice of events in self-measurement: one event set, and reasons for the other events. */

struct rps_region_choice {
    struct rps_plan *plan; /* plan (owned); NULL: nothing can be counted */
    int set;               /* number of the counted set in the plan */
    char problem[4096];    /* lines that explain what is not counted; "" if everything is counted */
};

/* Load the set file `sets` (NULL: the one that rpistat would record on this machine) and try its
 * events. Join sets that can be counted together, and choose the first set. All other events get a
 * state and a reason. If nothing can be counted, return a negative value and set ret->problem. */
int rps_choice_make(struct rps_region_choice *ret, const char *sets);

/* Append a line (printf style) to `problem`. Text that does not fit is left out. */
void rps_choice_complain(struct rps_region_choice *choice, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Free the choice, whose plan may be NULL. */
void rps_choice_free(struct rps_region_choice *choice);

/* Sums over the completed entries of a region, and the numbers of entries that did not end. */
struct rps_sums {
    uint64_t entered, elapsed_ns, enabled_ns, running_ns;
    uint64_t left; /* entries known to have been left without their end */
    uint64_t open; /* number of open entries, set only in a sum over threads */
    uint64_t value[RPS_COUNTERS_MAX];
    uint32_t lost; /* bit i is set if value[i] could not be read at least once */
};

struct rps_region {
    struct rps_region *next;
    char name[RPS_REGION_NAME_SIZE];
    struct rps_sums ended; /* sums over the threads that have ended */
    atomic_int marking;    /* 1 if entries are sent to the recorder */
    struct rps_marks marks;
};

struct rps_region_state {
    int opened;    /* 1 if the program has called rps_region_open to measure itself */
    int counting;  /* 1 if at least one thread has counters */
    int from_user; /* 1 if the counters of at least one thread can be read without a system call */
    struct rps_region_choice choice;
    struct rps_sums empty;  /* overhead of an entry in its own values */
    struct rps_sums around; /* overhead of an entry in the values of a region around it */
    struct rps_region *first;
};

/* SAFETY: return the state, locked against other threads. */
struct rps_region_state *rps_region_state_lock(void);
void rps_region_state_unlock(void);

/* SAFETY: the caller has locked the state. rps_region_state_find returns a region or NULL; the
 * other function returns a region's sums over all threads. */
struct rps_region *rps_region_state_find(const struct rps_region_state *state, const char *name);
void rps_region_state_sum(const struct rps_region *region, struct rps_sums *ret);
