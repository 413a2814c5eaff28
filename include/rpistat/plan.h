/*
 * A plan: the contents of a recording. It has events in sets, and metrics derived from them.
 *
 * A plan begins as a document (an .ini file, embedded or the user's own). It is resolved to
 * encodings, fitted to the counters of this machine by the recorder, and copied into the store with
 * the run, from which analyses read it. It is the same struct throughout.
 *
 * The document, in the dialect of inih (`;` and `#` start comments, indented lines continue a
 * value):
 *
 *     [plan]                    name, title, explain, match (see rps_plan_matches), base
 *     [family ID]               label: names a block of the report ("DC" gives "DC periods")
 *     [event ID]                event (its spec: see rps_event_resolve), label, role, unit,
 *                               family, explain
 *     [set ID]                  events (IDs, comma-separated, at most RPS_SLOT_MAX), explain,
 *                               default (no: counted only when a scenario uses its events)
 *     [metric ID]               formula, label, unit, family, panel, explain
 *
 * Sections may refer only to earlier ones. IDs are names that are valid in formulas. At least one
 * set is counted by default.
 *
 * With `base = NAME` in its first section, a document has only its differences from the embedded
 * document of that name. A section with an ID of the base changes the keys that it gives (events =
 * all of them: unlisted events of the base are not counted). Other sections are added.
 *
 * Formulas may use the events of the plan's sets (by ID, by spec, or by role). In addition they may
 * use `clock` (the clock event's count), `seconds` (elapsed time) and `cpu_seconds` (the workload's
 * CPU time). All event counts in formulas are scaled estimates over a time range.
 *
 * A role is the purpose of an event, the same on every processor: instructions, frontend_stall,
 * backend_stall, l1d_access, l1d_miss, l1i_miss, l2_access, l2_miss, llc_access, llc_miss,
 * dtlb_l1_miss, dtlb_miss, dtlb_store_miss, itlb_l1_miss, branches, branch_misses; of top-down,
 * where a slot is a place in which the processor could start an operation: slots_retired,
 * slots_frontend, slots_backend (both left empty), ops_issued; of software: task_clock,
 * minor_faults, major_faults, context_switches, cpu_migrations, syscalls, block_io.
 */
#ifndef RPISTAT_PLAN_H
#define RPISTAT_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/formula.h"
#include "rpistat/interval.h"
#include "rpistat/period.h"

#define RPS_REASON_SIZE 256
#define RPS_WHERE_SIZE  192
#define RPS_MATCH_SIZE  1024

/* Numbers of Linux's perf ABI; the perf backend asserts that they equal the kernel's. */
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

/* Unit of an event made from an imported gauge: a sum that its metric converts to a value again;
 * reports omit it. */
#define RPS_UNIT_GAUGE "gauge x time"

/* Their names in the store and in the output; the last is NULL. */
extern const char *const rps_event_states[];

struct rps_event {
    char name[RPS_NAME_SIZE];   /* ID: operand of formulas, column of CSV files */
    char spec[RPS_SPEC_SIZE];   /* the requested event: "L1-dcache-loads", "r0b", "msr/tsc/" */
    char label[RPS_NAME_SIZE];  /* "DC misses" */
    char role[RPS_NAME_SIZE];   /* "l1d_miss", or "" */
    char unit[RPS_NAME_SIZE];   /* "events", "cycles", "ns" */
    char family[RPS_NAME_SIZE]; /* label of the family, "DC", or "" */
    char modifiers[8];          /* "u": counted without the kernel; "k"; "" */
    char explain[RPS_EXPLAIN_SIZE];
    uint32_t type; /* enum rps_event_type, or a PMU's number in sysfs */
    uint64_t config, config1, config2;
    enum rps_event_state state;
    int by_clock;    /* 1: its count is the clock event's; it needs no counter */
    int copy_of;     /* operand of a software event's first copy, in an earlier set; 0: none */
    int64_t cost_ns; /* time to count each occurrence; 0: unknown */
    char reason[RPS_REASON_SIZE]; /* why it is not measured; "" if it is */
    char where[RPS_WHERE_SIZE];   /* "FILE:LINE" of the document, for messages; or "" */
    /* the first two readings, of all CPUs, in a run's first two rotations, at the end of these.
       before_ns: the workload's time before the first; first_ns, second_ns 0: unknown */
    int64_t first_count, first_ns, second_count, second_ns, before_ns;
    struct rps_interval whole; /* of an ended run as a whole, from its store; otherwise without
                                  certainty */
};

/* Return 1 for an event that the kernel counts, without a counter of the processor. */
static inline int rps_event_is_software(const struct rps_event *event)
{
    return event->type == RPS_EVENT_SOFTWARE || event->type == RPS_EVENT_TRACEPOINT;
}

struct rps_event_set {
    char name[RPS_NAME_SIZE];
    char explain[RPS_EXPLAIN_SIZE];
    int on_request;  /* 1: counted only for a scenario that uses its events */
    int event_count; /* 1 ... RPS_SLOT_MAX; event[s] is slot s */
    struct rps_event event[RPS_SLOT_MAX];
};

struct rps_metric {
    char name[RPS_NAME_SIZE];
    char label[RPS_NAME_SIZE];
    char unit[RPS_NAME_SIZE];   /* "%", "PTI", "/s", "" */
    char family[RPS_NAME_SIZE]; /* label of the family with its block of the report */
    char panel[RPS_NAME_SIZE];  /* title of the plot panel; metrics of one panel share its axis */
    char formula_text[512];
    char explain[RPS_EXPLAIN_SIZE];
    struct rps_formula formula;
    struct rps_interval whole; /* as an event's */
};

struct rps_plan {
    char name[RPS_NAME_SIZE]; /* "arm1176", "generic", "software" */
    char title[RPS_NAME_SIZE * 2];
    char explain[RPS_EXPLAIN_SIZE];
    char match[RPS_MATCH_SIZE];  /* processors it is for; "" any */
    struct rps_event clock;      /* the clock event; set by the PMU backend */
    char sampled[RPS_SPEC_SIZE]; /* event that triggers samples: sets leave it a counter; "" */
    int is_incomplete;           /* of a run in which Linux stopped counting some processes */
    int set_count;
    struct rps_event_set *set; /* owned */
    int metric_count;
    struct rps_metric *metric; /* owned */
};

/* --- operands of formulas --------------------------------------------------------------------- */

/* Fixed operands; event slot s of set n is RPS_OPERAND_EVENTS + n * RPS_SLOT_MAX + s. */
enum rps_operand {
    RPS_OPERAND_CLOCK,
    RPS_OPERAND_SECONDS,
    RPS_OPERAND_CPU_SECONDS,
    RPS_OPERAND_EVENTS,
};

/* Return the event set of an operand, -1: none; and its slot there. */
static inline int rps_operand_set(int operand)
{
    return operand >= RPS_OPERAND_EVENTS ? (operand - RPS_OPERAND_EVENTS) / RPS_SLOT_MAX : -1;
}

static inline int rps_operand_slot(int operand)
{
    return (operand - RPS_OPERAND_EVENTS) % RPS_SLOT_MAX;
}

/* Return the number of operands of the plan's formulas. */
int rps_plan_operand_count(const struct rps_plan *plan);

/* Return the operand of that name, or -1. Besides fixed names and event IDs, it accepts an event's
 * spec, then its role. Has the type rps_formula_lookup; context is a const struct rps_plan *. */
int rps_plan_operand(void *plan, const char *name);

/* Return the name of an operand, "" if there is none; it lives as long as the plan. */
const char *rps_plan_operand_name(const struct rps_plan *plan, int operand);

/* Return the event with the given role, or NULL; *ret_set and *ret_slot (or NULL) are its place. */
const struct rps_event *rps_plan_role(const struct rps_plan *plan, const char *role, int *ret_set,
                                      int *ret_slot);

/* Return 1 if a formula of the plan is an imported gauge's. Its numbers belong to that import:
 * gauges with the same name are the same quantity, whatever their formulas. */
int rps_plan_is_gauge(const struct rps_plan *plan, const struct rps_formula *formula);

/* Return 1 if the CPU time is known: 0 if the clock event is the elapsed time of an import. */
int rps_plan_knows_cpu_time(const struct rps_plan *plan);

/* --- documents -------------------------------------------------------------------------------- */

/*
 * Parse a document. `origin` is its file name, for messages that begin "FILE:LINE: ". The clock
 * event is left empty, events are not resolved, formulas are compiled. *ret is a new plan for
 * rps_plan_free. Returns RPS_USAGE for a document that does not parse, refers to an unknown event
 * or family, or names one twice.
 */
int rps_plan_parse(const char *origin, const char *text, size_t size, struct rps_plan **ret,
                   struct rps_error *err);

/*
 * Load a document by name: an embedded one ("cortex-a72", "generic", "software"), or, if the name
 * has a '/' or ends in ".ini", a file. Errors as above; an unknown name lists the known ones.
 */
int rps_plan_load(const char *name, struct rps_plan **ret, struct rps_error *err);

/* Return the names of the embedded documents, NULL-terminated; specific kinds of processor come
 * before general ones. */
const char *const *rps_plan_names(void);

/* Return the index of the metric of that name; -1: none. */
int rps_plan_metric(const struct rps_plan *plan, const char *name);

/* Return "cpi, dc_miss_rate": the names of all metrics, as many as fit, in ret. */
char *rps_plan_metric_names(const struct rps_plan *plan, char *ret, size_t size);

/* Return an empty plan (no set, no metric) for rps_plan_free; NULL: no memory. */
struct rps_plan *rps_plan_new(void);

/* Append an empty set or metric and return it; NULL: no memory. Pointers to the plan's other sets
 * or metrics become invalid. */
struct rps_event_set *rps_plan_add_set(struct rps_plan *plan);
struct rps_metric *rps_plan_add_metric(struct rps_plan *plan);

/* Compile all formulas again, and find copies, after sets were merged, split or read from a store.
 * Metrics without any events stay, and give missing values. */
int rps_plan_compile(struct rps_plan *plan, struct rps_error *err);

void rps_plan_free(struct rps_plan *plan);

/* --- the user's own choice -------------------------------------------------------------------- */

/*
 * Make a plan with one set for each of the `count` groups (`-e a,b -e c,d`). Commas separate
 * events, except inside PMU/.../; a group of more than RPS_SLOT_MAX events becomes several sets of
 * about the same size. An event's label is the typed text, and its ID is made from that for
 * formulas. "L1-dcache-loads" gives L1_dcache_loads; formulas may also quote 'L1-dcache-loads'. The
 * plan has no metrics yet, and nothing is resolved. RPS_USAGE for an empty event, or one that is
 * too long.
 */
int rps_plan_from_events(const char *const *group, int count, struct rps_plan **ret,
                         struct rps_error *err);

/* Make an ID from a text in that way, different from the plan's events and the fixed operands: x,
 * x_2, x_3. */
void rps_plan_new_id(const struct rps_plan *plan, const char *text, char ret[RPS_NAME_SIZE]);

/*
 * Add the metric of "NAME=FORMULA"; NAME is also its label and its panel. A formula alone is its
 * own label, and its name is made like an event's ID. RPS_USAGE: the text has another form, the
 * formula does not compile, or the plan has such a metric.
 */
int rps_plan_add_formula(struct rps_plan *plan, const char *text, struct rps_error *err);

/*
 * Give every event without a metric a metric of its own, so that there is something to draw. Events
 * known not to be counted get none. It is the count per second (for times in ns: the share of
 * elapsed time in percent).
 */
int rps_plan_add_rates(struct rps_plan *plan, struct rps_error *err);

/* Remove the sets that are counted only on request, and the metrics that need them. The rest is
 * counted without a scenario. */
void rps_plan_keep_default(struct rps_plan *plan);

/* Return the names of the scenarios, NULL-terminated: "l1", "l2", "tlb", "ipc", "branches",
 * "topdown", "syscalls". */
const char *const *rps_plan_scenarios(void);

/*
 * Reduce the plan to a scenario: the events with its roles, in its own sets, and the plan's metrics
 * that need no others. Add the scenario's own metrics for which its events are enough, such as hit
 * ratios and memory density. Kernel events that the plan lacks come from the document "software",
 * with its metrics. RPS_USAGE, with the plan unchanged: the scenario is unknown, or the events are
 * enough for none of its metrics.
 */
int rps_plan_select(struct rps_plan *plan, const char *scenario, struct rps_error *err);

/* --- processors ------------------------------------------------------------------------------- */

/*
 * A plan's `match` lists its processors, separated by commas, as perf names them. On x86 it is
 * VENDOR-FAMILY-MODEL-STEPPING (model and stepping hexadecimal: GenuineIntel-6-8F-8). Otherwise it
 * is IMPLEMENTER/PART of /proc/cpuinfo (0x41/0xd08), or that and the revision (0x41/0xd49/r0p3), or
 * `armv8` for every processor of that architecture. * matches any text, ? any character.
 *
 * The file is "/proc/cpuinfo" except in tests; if it names no processor, only plans for any match.
 */

/*
 * Return 1 if the plan is for every kind of processor of this machine, otherwise 0. *why (may be
 * NULL) is a sentence with the plan's processors and this one.
 */
int rps_plan_matches(const struct rps_plan *plan, const char *cpuinfo, struct rps_error *why);

/* Return the name of the embedded document for this machine: the first for specific processors that
 * matches all kinds of this machine. So it is "armv8" if fast and slow cores differ; "generic" if
 * none matches. It lives as long as the program. */
const char *rps_plan_for_cpu(const char *cpuinfo);

/* --- resolution ------------------------------------------------------------------------------- */

/*
 * Find the encoding of event->spec and fill type, config*, modifiers. The order is: perf's generic
 * names (`instructions`, `L1-dcache-load-misses`, `task-clock`); a role, through the document for
 * this machine (`l1d_miss`); a PMU event of sysfs (`msr/tsc/`, `cpu/event=0x3c,umask=0x1/`; a * in
 * the PMU's name matches any text, the first PMU in alphabetical order is used); `rNNN`
 * (hexadecimal); a tracepoint (`sched:sched_switch`); libpfm4's names for this processor, if it was
 * available at build time (`INST_RETIRED:ANY_P`). Modifiers `:u` and `:k` may follow each.
 *
 * An event found by its role, which has no role yet, gets the document's role, unit and explain.
 *
 * Returns 0 with event->state RPS_EVENT_MEASURED if found. Returns 0 with another state and a
 * reason if this machine does not have a well-formed name (no such PMU, tracefs not mounted or not
 * readable, no event with that role). RPS_USAGE: no event has such a name; the message has similar
 * names. It begins with event->where.
 *
 * `sys` is the directory of sysfs, "/sys" except in tests.
 */
int rps_event_resolve(struct rps_event *event, const char *sys, struct rps_error *err);

#endif
