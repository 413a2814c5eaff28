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
 * Compile and link with `pkg-config --cflags --libs rpistat`. The header needs nothing else, and
 * may be used from C++.
 *
 * Counters are per thread: each thread counts what it does itself between its own begin and end,
 * and what is read of a region is the sum over all threads, those that have ended included.
 * Counting never disturbs the program: where nothing can be counted, begin and end do nothing but
 * keep the time, and the report says why. Nothing is ever printed but by rps_region_report, and no
 * signal, environment variable or file of the program is touched.
 *
 * Only events that the processor can count at the same time are counted: of the event sets, as many
 * of the first ones as fit together. A count is scaled when other users of the counters (a
 * recording with rpistat, for instance) kept the events from counting all the time.
 *
 * When the program runs under rpistat, the beginning and end of a region become marks in the
 * recording, whether or not rps_region_open was called. A region that is entered more than ten
 * times a second is marked at its first entry only, and with its totals at the end.
 *
 * What a begin and its end cost together:
 *
 *     nobody records, no rps_region_open   0.8 ns: nothing is called
 *     a recorder, no rps_region_open       80 ns: the clock is read, no counters
 *     rps_region_open, counters that       two read() of a group + 0.2 us: 3.0 us where one read()
 *     only the kernel can read             takes 1.4 us (eight software events); 3.1 us recorded
 *     rps_region_open, counters that       no system call: 1,030 instructions with three counters
 *     the program can read                 (ARM), a fifth of the time of two read()
 *
 * That is on a virtual machine on an AMD EPYC, and ARM in an emulator; rps_region_way says which
 * way counters are read. A part of the cost is in what is counted: see rps_region_value for how
 * much.
 *
 * All functions may be called from any thread, not from signal handlers. In a child after fork()
 * counting starts anew at 0. Counters are open descriptors: a program that closes all of its
 * descriptors (to become a daemon) calls rps_region_close before.
 */
#ifndef RPISTAT_REGION_H
#define RPISTAT_REGION_H

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Measure from now on, and choose what is counted. `sets` is what `rpistat record --sets` takes:
 * the name of a document of event sets, or a file; NULL is what rpistat would choose on this
 * machine. A second call does nothing. Without this call, regions are told to a recorder if there
 * is one, with their times alone, and nothing is measured when there is none. Returns 0, or a
 * negative value when no event can be counted; rps_region_problem says why, and everything else may
 * be called all the same. What began before, and threads that entered a region before, are not
 * counted.
 */
int rps_region_open(const char *sets);

/*
 * Why nothing, or less than was asked for, is counted, in lines without a final newline; "" when
 * all is well. Lives until rps_region_close.
 */
const char *rps_region_problem(void);

/*
 * Begin and end a region in this thread. The name is copied at its first use; 79 bytes of it count.
 * Regions of different names may be nested or overlap. Of a region that is begun again before it
 * ended, the outermost entry counts once it has ended; until then, and if it never does, those
 * within it do. An end without a begin does nothing.
 *
 * A region that is left without its end (by longjmp, an exception, a return) can be entered again.
 * The entry that was left is given up, and counted as left, when the region is begun again at the
 * same place, or less deep in the stack, and when the thread ends; until then it is open. In a
 * thread with several stacks (coroutines), regions need a name for each.
 */
void rps_region_begin(const char *name);
void rps_region_end(const char *name);

/* While this is not 0 nobody wants to know of regions; it is the library's. The macros look at it
 * first, so that such a begin or end is no call, and its argument is not evaluated. */
extern int rps_region_quiet;
#define RPS_REGION_IF_ASKED(call)                                                                  \
    (__atomic_load_n(&rps_region_quiet, __ATOMIC_RELAXED) ? (void)0 : (call))
#define rps_region_begin(name) RPS_REGION_IF_ASKED(rps_region_begin(name))
#define rps_region_end(name)   RPS_REGION_IF_ASKED(rps_region_end(name))

/* What was measured, for people: a block a region, in the order of their first entry. */
void rps_region_report(FILE *out);

/* --- the figures, for programs ---------------------------------------------------------------- */

/* Times of a region, over all its completed entries in all threads, and the entries that were not
 * completed, of which nothing else is known. */
struct rps_region_times {
    uint64_t entered;    /* completed entries */
    uint64_t elapsed_ns; /* CLOCK_MONOTONIC */
    uint64_t enabled_ns; /* time in which the events could count: the threads ran */
    uint64_t running_ns; /* part of it in which they did count */
    uint64_t left;       /* entries that were left without their end, as far as this is known */
    uint64_t open;       /* entries that have not ended, nor are known to have been left */
};

/* Number of regions so far, and the name of one of them in the order of their first entry; NULL
 * when there is no such region. The name lives until rps_region_close. */
int rps_region_count(void);
const char *rps_region_name(int region);

/* Returns 0, or a negative value (with *ret untouched) when there is no region of that name. */
int rps_region_get(const char *name, struct rps_region_times *ret);

/*
 * A figure of a region: `what` is an event (by name, by what it counts, or by role: "instructions",
 * "L1-dcache-loads", "l1d_miss"), "clock" (the clock event), "seconds" (elapsed), "cpu_seconds", or
 * the name of a metric ("cpi"). NaN when the region is not known, or no entry of it has ended, or
 * the figure is not known.
 *
 * The region NULL is an empty one: what each entry adds to the region's own figures. It is the
 * least of a few entries, none of them the first, that rps_region_open makes in its thread. To a
 * region around it an entry adds more, which rps_region_report tells too.
 */
double rps_region_value(const char *name, const char *what);

enum rps_region_kind {
    RPS_REGION_CLOCK, /* the clock event, always the first item */
    RPS_REGION_EVENT,
    RPS_REGION_METRIC,
};

/* An event or metric of the sets that were opened. All texts live until rps_region_close. */
struct rps_region_item {
    enum rps_region_kind kind;
    const char *name;   /* as rps_region_value takes it */
    const char *label;  /* as reports show it: "DC misses" */
    const char *unit;   /* "events", "cycles", "ns", "%", ... */
    const char *reason; /* why it is not counted; "" when it is */
};

/* Item `number`, from 0. Returns 0, or a negative value when there are no more. */
int rps_region_item(int number, struct rps_region_item *ret);

/* How counters are read: "without a system call", "with a system call", or "not at all". */
const char *rps_region_way(void);

/* Forget all regions and counters; no other thread may be inside a region. Happens by itself, for
 * the marks' sake, when the program ends. */
void rps_region_close(void);

#ifdef __cplusplus
}
#endif

#endif
