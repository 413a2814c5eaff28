/* Self-measurement: a program counts its own critical sections, with the events, names and formulas
 * of rpistat's recordings.
 *
 *     rps_region_open(NULL);                  once, at the start: measure from now on
 *     rps_region_begin("multiply");
 *     ...
 *     rps_region_end("multiply");
 *     rps_region_report(stderr);
 *
 * Compile and link with `pkg-config --cflags --libs rpistat`. The header needs nothing else of
 * rpistat, and C++ programs may include it.
 *
 * Counters are per thread: each thread counts its own work between its own begin and end. The
 * values of a region are the sum over all threads, including ended threads. Counting never disturbs
 * the program: if nothing can be counted, begin and end only measure the time, and the report gives
 * the reason. Only rps_region_report prints. The library does not change signals, environment
 * variables or files of the program.
 *
 * Only the first event sets that the processor can count together are counted. A count
 * is scaled if another program (for example rpistat) used the counters for a part of the time.
 *
 * If rpistat records the program, the beginning and end of each region become marks in the
 * recording, even without rps_region_open. For a region that is entered more than ten times per
 * second, only the first entry gets marks, and a mark at the end has the region's totals.
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
 * The costs were measured on a virtual machine with an AMD EPYC, and on ARM in an emulator.
 * rps_region_way returns how counters are read. The counts of a region include a part of this cost.
 * rps_region_value with name NULL returns the included part.
 *
 * SAFETY: all functions may be called from any thread, but not from signal handlers. In a child
 * after fork(), counting starts again at 0. Each counter is an open descriptor. Before a program
 * closes all its descriptors (to become a daemon), it must call rps_region_close. */
#ifndef RPISTAT_REGION_H
#define RPISTAT_REGION_H

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Measure from now on, and choose the events. `sets` is the name or path of a file of event
 * sets, as for `rpistat record --sets`. NULL is rpistat's choice on this machine. A second call
 * does nothing. Without this call, only times of regions are measured if there is a recorder, and
 * nothing if there is none. Return 0, or a negative value if no event can be counted. In that case,
 * rps_region_problem returns the reason, and all other functions may still be called. Regions that
 * began before this call, in any thread, are not counted. */
int rps_region_open(const char *sets);

/* Return the reason why nothing, or only a part of the requested events, is counted. The text has
 * one or more lines, without a newline at the end; "" means no problem. The text is valid until
 * rps_region_close. */
const char *rps_region_problem(void);

/* Begin and end a region in this thread. The name is copied at its first use; only its first 79
 * bytes are used. Regions of different names may be nested or overlap. If a region begins again
 * before its end, only the outermost entry is counted, at the time of its end. Until then, the
 * results include the entries inside the outermost entry. An end without a begin does nothing.
 *
 * A region that is left without its end (by longjmp, an exception, a return) can be entered again.
 * The entry without an end is counted in `left` when the thread ends, or when the region begins
 * again at an equal or smaller stack depth. Until then, the entry is counted in `open`. If a thread
 * has several stacks (coroutines), use separate region names for each stack. */
void rps_region_begin(const char *name);
void rps_region_end(const char *name);

/* Not 0 if neither this program nor a recorder uses regions. Only the library sets this variable.
 * If rps_region_quiet is not 0, the macros do not call the functions and do not evaluate the
 * argument. */
extern int rps_region_quiet;
#define RPS_REGION_IF_ASKED(call)                                                                  \
    (__atomic_load_n(&rps_region_quiet, __ATOMIC_RELAXED) ? (void)0 : (call))
#define rps_region_begin(name) RPS_REGION_IF_ASKED(rps_region_begin(name))
#define rps_region_end(name)   RPS_REGION_IF_ASKED(rps_region_end(name))

/* Print the results for users, with one block per region in the order of their first entry. */
void rps_region_report(FILE *out);

/* --- the figures, for programs ---------------------------------------------------------------- */

/* Times and numbers of entries of a region. The times cover all completed entries in all threads.
 */
struct rps_region_times {
    uint64_t entered;    /* completed entries */
    uint64_t elapsed_ns; /* elapsed time of the completed entries, by CLOCK_MONOTONIC */
    uint64_t enabled_ns; /* time in which the threads ran, so that the events could count */
    uint64_t running_ns; /* part of enabled_ns in which the events were counted */
    uint64_t left;       /* entries that were certainly left without their end */
    uint64_t open;       /* entries that have not ended and are not in `left` */
};

/* rps_region_count returns the number of regions so far. rps_region_name returns the name of region
 * number `region` (NULL: there is none). Regions are in the order of their first entry. The name is
 * valid until rps_region_close. */
int rps_region_count(void);
const char *rps_region_name(int region);

/* Get the times of a region. Return 0, or a negative value (*ret is unchanged) for none. */
int rps_region_get(const char *name, struct rps_region_times *ret);

/* Return a value of a region. `what` is the name, spec or role of an event ("instructions",
 * "L1-dcache-loads", "l1d_miss"), or the name of a metric ("cpi"). `what` may also be "clock" (the
 * clock event), "seconds" (elapsed time) or "cpu_seconds" (CPU time). Return NaN if the region or
 * the value is unknown, or no entry has ended.
 *
 * The name NULL means an empty region, whose values are the overhead of an entry. rps_region_open
 * measures this overhead in its own thread, as the minimum over a few entries, without the first
 * entry. In the values of an enclosing region, an entry has a larger overhead; rps_region_report
 * prints both overheads. */
double rps_region_value(const char *name, const char *what);

enum rps_region_kind {
    RPS_REGION_CLOCK, /* the clock event, always the first item */
    RPS_REGION_EVENT,
    RPS_REGION_METRIC,
};

/* An event or metric of the opened sets. All texts are valid until rps_region_close. */
struct rps_region_item {
    enum rps_region_kind kind;
    const char *name;   /* name for rps_region_value */
    const char *label;  /* label in reports, for example "DC misses" */
    const char *unit;   /* unit of the value, for example "events", "cycles", "ns" or "%" */
    const char *reason; /* reason why the item is not counted; "" if it is counted */
};

/* Get item `number` (from 0). Return 0, or a negative value if there are no more items. */
int rps_region_item(int number, struct rps_region_item *ret);

/* Return how counters are read: "without a system call", "with a system call", or "not at all". */
const char *rps_region_way(void);

/* Discard all regions and counters. SAFETY: no other thread may be inside a region. When the
 * program ends, the library calls this function to send the last marks. */
void rps_region_close(void);

#ifdef __cplusplus
}
#endif

#endif
