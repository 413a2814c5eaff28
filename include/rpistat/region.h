/*
 * Self-measurement: a program counts its own critical sections, with the events, names and formulas
 * of rpistat's recordings.
 *
 *     rps_region_open(NULL);                  once, at the start: measure from now on
 *     rps_region_begin("multiply");
 *     ...
 *     rps_region_end("multiply");
 *     rps_region_report(stderr);
 *
 * Compile and link with `pkg-config --cflags --libs rpistat`. The header has no other needs, and
 * may be used from C++.
 *
 * Counters are per thread: each thread counts its own work between its own begin and end. The
 * values of a region are the sum over all threads, also ended ones. Counting never disturbs the
 * program: if nothing can be counted, begin and end only measure the time, and the report gives the
 * reason. Only rps_region_report prints, and no signal, environment variable or file of the program
 * is touched.
 *
 * Only events that the processor can count at the same time are counted: as many of the first event
 * sets as fit together. A count is scaled if other users of the counters (a recording with rpistat,
 * for instance) prevented the events from counting all the time.
 *
 * If the program runs under rpistat, the beginning and end of a region become marks in the
 * recording, even without rps_region_open. A region that is entered more than ten times per second
 * is marked at its first entry only, and with its totals at the end.
 *
 * A begin and its end together cost:
 *
 *     nobody records, no rps_region_open   0.8 ns: nothing is called
 *     a recorder, no rps_region_open       80 ns: the clock is read, no counters
 *     rps_region_open, counters that       two read() of a group + 0.2 us: 3.0 us where one read()
 *     only the kernel can read             takes 1.4 us (eight software events); 3.1 us recorded
 *     rps_region_open, counters that       no system call: 1,030 instructions with three counters
 *     the program can read                 (ARM), a fifth of the time of two read()
 *
 * These figures are from a virtual machine on an AMD EPYC, and from ARM in an emulator. See
 * rps_region_way for the way in which counters are read. The counts include a part of the cost: see
 * rps_region_value for how much.
 *
 * SAFETY: all functions may be called from any thread, but not from signal handlers. In a child
 * after fork() counting starts again at 0. Counters are open descriptors: a program that closes all
 * its descriptors (to become a daemon) calls rps_region_close before.
 */
#ifndef RPISTAT_REGION_H
#define RPISTAT_REGION_H

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Measure from now on, and choose the events. `sets` is a document of event sets or a file, as for
 * `rpistat record --sets`; NULL is rpistat's choice on this machine. A second call does nothing.
 * Without this call, regions are sent to a recorder with their times alone; without a recorder
 * nothing is measured. Returns 0, or a negative value if no event can be counted. Then
 * rps_region_problem is the reason, and all other functions may still be called. Regions that began
 * before, and threads that entered a region before, are not counted.
 */
int rps_region_open(const char *sets);

/*
 * Return the reason why nothing, or less than requested, is counted, in lines without a final
 * newline. Return "" without a problem. The text lives until rps_region_close.
 */
const char *rps_region_problem(void);

/*
 * Begin and end a region in this thread. The name is copied at its first use; only its first 79
 * bytes are used. Regions of different names may be nested or overlap. If a region begins again
 * before its end, the outermost entry counts once it has ended. Until then, or if it never ends,
 * the entries within it count. An end without a begin does nothing.
 *
 * A region that is left without its end (by longjmp, an exception, a return) can be entered again.
 * The abandoned entry is given up, and counted as left, when the region begins again at the same
 * place or less deep in the stack. The end of the thread has the same effect; until then it is
 * open. In a thread with several stacks (coroutines), regions need a name for each.
 */
void rps_region_begin(const char *name);
void rps_region_end(const char *name);

/* While this is not 0 nobody uses regions; only the library sets it. The macros check it first:
 * then a begin or end is not a call, and its argument is not evaluated. */
extern int rps_region_quiet;
#define RPS_REGION_IF_ASKED(call)                                                                  \
    (__atomic_load_n(&rps_region_quiet, __ATOMIC_RELAXED) ? (void)0 : (call))
#define rps_region_begin(name) RPS_REGION_IF_ASKED(rps_region_begin(name))
#define rps_region_end(name)   RPS_REGION_IF_ASKED(rps_region_end(name))

/* Print the results for users: one block per region, in the order of their first entry. */
void rps_region_report(FILE *out);

/* --- the figures, for programs ---------------------------------------------------------------- */

/* Times of a region, over all its completed entries in all threads, and the number of other
 * entries. */
struct rps_region_times {
    uint64_t entered;    /* completed entries */
    uint64_t elapsed_ns; /* CLOCK_MONOTONIC */
    uint64_t enabled_ns; /* time in which the events could count: the threads ran */
    uint64_t running_ns; /* part of it in which they did count */
    uint64_t left;       /* entries left without their end, as far as known */
    uint64_t open;       /* entries that have neither ended nor are known to have been left */
};

/* Return the number of regions so far, or the name of one of them in the order of their first
 * entry; NULL: no such region. The name lives until rps_region_close. */
int rps_region_count(void);
const char *rps_region_name(int region);

/* Return 0, or a negative value (with *ret untouched) if no region has that name. */
int rps_region_get(const char *name, struct rps_region_times *ret);

/*
 * Return a value of a region. `what` is an event ("instructions", "L1-dcache-loads", "l1d_miss": by
 * name, by spec, or by role), "clock" (the clock event), "seconds" (elapsed), "cpu_seconds", or the
 * name of a metric ("cpi"). NaN: the region or the value is unknown, or no entry has ended.
 *
 * The region NULL is an empty one: the overhead of each entry in the region's own values. It is the
 * minimum of a few entries, none of them the first, that rps_region_open makes in its thread. An
 * entry adds more to a region around it, which rps_region_report also prints.
 */
double rps_region_value(const char *name, const char *what);

enum rps_region_kind {
    RPS_REGION_CLOCK, /* the clock event, always the first item */
    RPS_REGION_EVENT,
    RPS_REGION_METRIC,
};

/* An event or metric of the opened sets. All texts live until rps_region_close. */
struct rps_region_item {
    enum rps_region_kind kind;
    const char *name;   /* as for rps_region_value */
    const char *label;  /* as in reports: "DC misses" */
    const char *unit;   /* "events", "cycles", "ns", "%", ... */
    const char *reason; /* why it is not counted; "" if it is */
};

/* Get item `number`, from 0. Returns 0, or a negative value if there are no more. */
int rps_region_item(int number, struct rps_region_item *ret);

/* Return how counters are read: "without a system call", "with a system call", or "not at all". */
const char *rps_region_way(void);

/* Discard all regions and counters; SAFETY: no other thread may be inside a region. Called
 * automatically when the program ends, for the marks. */
void rps_region_close(void);

#ifdef __cplusplus
}
#endif

#endif
