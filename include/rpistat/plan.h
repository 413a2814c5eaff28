/*
 * A plan: what a recording counts. Its events in their sets, and the metrics derived from them.
 *
 * A plan begins as a document (an .ini file, embedded or the user's own), is resolved to encodings,
 * fitted to the counters of this machine by the recorder, copied into the store with the run, and
 * read back by whoever analyses it. It is the same struct all the way.
 *
 * The document, in the dialect of inih (`;` and `#` start comments, indented lines continue a
 * value):
 *
 *     [plan]                    name, title, explain
 *     [family ID]               label: names a block of the report ("DC" gives "DC periods")
 *     [event ID]                event (what to count: see rps_event_resolve), label, role, unit,
 *                               family, explain
 *     [set ID]                  events (IDs, comma-separated, at most RPS_SLOT_MAX), explain
 *     [metric ID]               formula, label, unit, family, panel, explain
 *
 * Sections may refer only to what stands above them. IDs are names as formulas take them.
 * Formulas may use, beside the events of the plan's sets: `clock` (the clock event's count),
 * `seconds` (elapsed time) and `cpu_seconds` (the workload's CPU time). All event counts in
 * formulas are scaled estimates over the stretch that is looked at.
 */
#ifndef RPISTAT_PLAN_H
#define RPISTAT_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/formula.h"
#include "rpistat/period.h"

#define RPS_NAME_SIZE    64
#define RPS_SPEC_SIZE    192
#define RPS_EXPLAIN_SIZE 1024
#define RPS_REASON_SIZE  256

/* Numbers of Linux's perf ABI; the perf backend asserts that they are the kernel's. */
enum rps_event_type {
    RPS_EVENT_HARDWARE = 0,
    RPS_EVENT_SOFTWARE = 1,
    RPS_EVENT_TRACEPOINT = 2,
    RPS_EVENT_HW_CACHE = 3,
    RPS_EVENT_RAW = 4, /* larger numbers: PMUs of sysfs */
};

enum rps_event_state {
    RPS_EVENT_MEASURED,      /* is, or was, counted */
    RPS_EVENT_UNSUPPORTED,   /* this machine, kernel or PMU does not have it */
    RPS_EVENT_NOT_PERMITTED, /* it is there, but this user may not count it */
};

struct rps_event {
    char name[RPS_NAME_SIZE];   /* ID: operand of formulas, column of CSV files */
    char spec[RPS_SPEC_SIZE];   /* what was asked for: "L1-dcache-loads", "r0b", "msr/tsc/" */
    char label[RPS_NAME_SIZE];  /* "DC misses" */
    char role[RPS_NAME_SIZE];   /* "l1d_miss", or "" */
    char unit[RPS_NAME_SIZE];   /* "events", "cycles", "ns" */
    char family[RPS_NAME_SIZE]; /* label of the family, "DC", or "" */
    char modifiers[8];          /* "u": counted without the kernel; "k"; "" */
    char explain[RPS_EXPLAIN_SIZE];
    uint32_t type;              /* enum rps_event_type, or a PMU's number in sysfs */
    uint64_t config, config1, config2;
    enum rps_event_state state;
    char reason[RPS_REASON_SIZE]; /* why not measured; "" when it is */
};

struct rps_event_set {
    char name[RPS_NAME_SIZE];
    char explain[RPS_EXPLAIN_SIZE];
    int event_count;            /* 1 ... RPS_SLOT_MAX; event[s] is slot s */
    struct rps_event event[RPS_SLOT_MAX];
};

struct rps_metric {
    char name[RPS_NAME_SIZE];
    char label[RPS_NAME_SIZE];
    char unit[RPS_NAME_SIZE];   /* "%", "PTI", "/s", "" */
    char family[RPS_NAME_SIZE]; /* label of the family whose block of the report it belongs to */
    char panel[RPS_NAME_SIZE];  /* title of the plot panel; metrics of one panel share its axis */
    char formula_text[512];
    char explain[RPS_EXPLAIN_SIZE];
    struct rps_formula formula;
};

struct rps_plan {
    char name[RPS_NAME_SIZE];   /* "arm1176", "generic", "software" */
    char title[RPS_NAME_SIZE * 2];
    char explain[RPS_EXPLAIN_SIZE];
    struct rps_event clock;     /* the clock event; set by the PMU backend */
    int set_count;
    struct rps_event_set *set;  /* owned */
    int metric_count;
    struct rps_metric *metric;  /* owned */
};

/* --- operands of formulas ------------------------------------------------------------------- */

/* Fixed operands; event slot s of set n is RPS_OPERAND_EVENTS + n * RPS_SLOT_MAX + s. */
enum rps_operand {
    RPS_OPERAND_CLOCK,
    RPS_OPERAND_SECONDS,
    RPS_OPERAND_CPU_SECONDS,
    RPS_OPERAND_EVENTS,
};

/* Number of operands of the plan's formulas. */
int rps_plan_operand_count(const struct rps_plan *plan);

/* Operand of that name, or -1. Beside the fixed names and event IDs, an event's spec is found too.
 * Has the type rps_formula_lookup; context is a const struct rps_plan *. */
int rps_plan_operand(void *plan, const char *name);

/* Name of an operand, "" if it is none; lives as long as the plan. */
const char *rps_plan_operand_name(const struct rps_plan *plan, int operand);

/* Event with the given role, or NULL; *ret_set and *ret_slot (each may be NULL) say where. */
const struct rps_event *rps_plan_role(const struct rps_plan *plan, const char *role, int *ret_set,
                                      int *ret_slot);

/* --- documents -------------------------------------------------------------------------------- */

/*
 * Parse a document. `origin` is its file name, for messages ("FILE:LINE: what is wrong"). The clock
 * event is left empty, events are not resolved, formulas are compiled. *ret is a new plan for
 * rps_plan_free. Returns RPS_USAGE for a document that does not parse, refers to an unknown event
 * or family, or names one twice.
 */
int rps_plan_parse(const char *origin, const char *text, size_t size, struct rps_plan **ret,
                   struct rps_error *err);

/*
 * A document by name: an embedded one ("arm1176", "generic", "software"), or, when the name holds a
 * '/' or ends in ".ini", a file. Errors as above; an unknown name lists the known ones.
 */
int rps_plan_load(const char *name, struct rps_plan **ret, struct rps_error *err);

/* Names of the embedded documents, NULL-terminated. */
const char *const *rps_plan_names(void);

/* An empty plan (no set, no metric) for rps_plan_free; NULL without memory. */
struct rps_plan *rps_plan_new(void);

/* Append an empty set or metric and return it; NULL without memory. Pointers to the plan's other
 * sets or metrics are no longer valid then. */
struct rps_event_set *rps_plan_add_set(struct rps_plan *plan);
struct rps_metric *rps_plan_add_metric(struct rps_plan *plan);

/* Compile every metric's formula again: after sets were merged, split or read from a store.
 * Metrics whose events are all gone stay; they give missing values. */
int rps_plan_compile(struct rps_plan *plan, struct rps_error *err);

void rps_plan_free(struct rps_plan *plan);

/* --- resolution ------------------------------------------------------------------------------- */

/*
 * Find the encoding of event->spec and fill type, config*, modifiers. Order: perf's generic names
 * (`instructions`, `L1-dcache-load-misses`, `task-clock`); a PMU event of sysfs (`msr/tsc/`,
 * `cpu/event=0x3c,umask=0x1/`); `rNNN` (hexadecimal); a tracepoint (`sched:sched_switch`).
 * Modifiers `:u` and `:k` may follow each.
 *
 * Returns 0 with event->state RPS_EVENT_MEASURED when found; 0 with another state and a reason when
 * the name is well-formed but this machine does not have it (no such PMU, tracefs not mounted or not
 * readable); RPS_USAGE when no event has such a name.
 *
 * `sys` is the folder of sysfs, "/sys" but in tests.
 */
int rps_event_resolve(struct rps_event *event, const char *sys, struct rps_error *err);

#endif
