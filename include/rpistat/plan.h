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
 *     [plan]                    name, title, explain, match (see rps_plan_matches), base
 *     [family ID]               label: names a block of the report ("DC" gives "DC periods")
 *     [event ID]                event (what to count: see rps_event_resolve), label, role, unit,
 *                               family, explain
 *     [set ID]                  events (IDs, comma-separated, at most RPS_SLOT_MAX), explain,
 *                               default (no: counted only when a scenario asks for its events)
 *     [metric ID]               formula, label, unit, family, panel, explain
 *
 * Sections may refer only to what stands above them. IDs are names as formulas take them. At least
 * one set is counted by default.
 *
 * With `base = NAME`, in its first section, a document says only what it has other than the
 * embedded document of that name: a section whose ID the base has changes the keys that it gives
 * (events = all of them: events of the base that are named no more are not counted), another is
 * added.
 *
 * Formulas may use, beside the events of the plan's sets (by ID, by what they count, or by role):
 * `clock` (the clock event's count), `seconds` (elapsed time) and `cpu_seconds` (the workload's CPU
 * time). All event counts in formulas are scaled estimates over the stretch that is looked at.
 *
 * A role says what an event is for, the same on every processor: instructions, frontend_stall,
 * backend_stall, l1d_access, l1d_miss, l1i_miss, l2_access, l2_miss, llc_access, llc_miss,
 * dtlb_l1_miss, dtlb_miss, dtlb_store_miss, itlb_l1_miss, branches, branch_misses; of top-down,
 * where a slot is a place that the processor could start an operation in: slots_retired,
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

/* Unit of an event that an import made of a gauge: a sum that its metric makes a value again, and
 * that reports leave out. */
#define RPS_UNIT_GAUGE "gauge x time"

/* Their names in the store and in what is shown; the last is NULL. */
extern const char *const rps_event_states[];

struct rps_event {
    char name[RPS_NAME_SIZE];   /* ID: operand of formulas, column of CSV files */
    char spec[RPS_SPEC_SIZE];   /* what was asked for: "L1-dcache-loads", "r0b", "msr/tsc/" */
    char label[RPS_NAME_SIZE];  /* "DC misses" */
    char role[RPS_NAME_SIZE];   /* "l1d_miss", or "" */
    char unit[RPS_NAME_SIZE];   /* "events", "cycles", "ns" */
    char family[RPS_NAME_SIZE]; /* label of the family, "DC", or "" */
    char modifiers[8];          /* "u": counted without the kernel; "k"; "" */
    char explain[RPS_EXPLAIN_SIZE];
    uint32_t type; /* enum rps_event_type, or a PMU's number in sysfs */
    uint64_t config, config1, config2;
    enum rps_event_state state;
    int by_clock;    /* 1: its count is the clock event's, it takes no counter */
    int copy_of;     /* operand of a software event's first copy, in a set before; 0: none */
    int64_t cost_ns; /* what counting it takes each time that it occurs; 0: not known */
    char reason[RPS_REASON_SIZE]; /* why not measured; "" when it is */
    char where[RPS_WHERE_SIZE];   /* "FILE:LINE" of the document, for messages; or "" */
    /* its first two readings, of all CPUs, in a run's first two rotations, when these have ended, and
       the time that the workload had run before the first; first_ns, second_ns 0: not known */
    int64_t first_count, first_ns, second_count, second_ns, before_ns;
    struct rps_interval whole; /* of a whole run that has ended, from its store; else without
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
    int on_request;  /* 1: counted only when a scenario asks for its events */
    int event_count; /* 1 ... RPS_SLOT_MAX; event[s] is slot s */
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
    struct rps_interval whole; /* as an event's */
};

struct rps_plan {
    char name[RPS_NAME_SIZE]; /* "arm1176", "generic", "software" */
    char title[RPS_NAME_SIZE * 2];
    char explain[RPS_EXPLAIN_SIZE];
    char match[RPS_MATCH_SIZE];  /* processors it is for; "" any */
    struct rps_event clock;      /* the clock event; set by the PMU backend */
    char sampled[RPS_SPEC_SIZE]; /* event that samples are taken by: sets leave it a counter; "" */
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

/* The event set that an operand is of, -1: of none; and its slot there. */
static inline int rps_operand_set(int operand)
{
    return operand >= RPS_OPERAND_EVENTS ? (operand - RPS_OPERAND_EVENTS) / RPS_SLOT_MAX : -1;
}

static inline int rps_operand_slot(int operand)
{
    return (operand - RPS_OPERAND_EVENTS) % RPS_SLOT_MAX;
}

/* Number of operands of the plan's formulas. */
int rps_plan_operand_count(const struct rps_plan *plan);

/* Operand of that name, or -1. Beside the fixed names and event IDs, an event's spec is found too,
 * and then its role. Has the type rps_formula_lookup; context is a const struct rps_plan *. */
int rps_plan_operand(void *plan, const char *name);

/* Name of an operand, "" if it is none; lives as long as the plan. */
const char *rps_plan_operand_name(const struct rps_plan *plan, int operand);

/* Event with the given role, or NULL; *ret_set and *ret_slot (each may be NULL) say where. */
const struct rps_event *rps_plan_role(const struct rps_plan *plan, const char *role, int *ret_set,
                                      int *ret_slot);

/* 1 when a formula of the plan is an imported gauge's. Its numbers are of that import alone:
 * gauges of one name are the same quantity, whatever their formulas. */
int rps_plan_is_gauge(const struct rps_plan *plan, const struct rps_formula *formula);

/* 1 when the CPU time is known: 0 when the clock event is the elapsed time of an import. */
int rps_plan_knows_cpu_time(const struct rps_plan *plan);

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
 * A document by name: an embedded one ("cortex-a72", "generic", "software"), or, if the name has a
 * '/' or ends in ".ini", a file. Errors as above; an unknown name lists the known ones.
 */
int rps_plan_load(const char *name, struct rps_plan **ret, struct rps_error *err);

/* Names of the embedded documents, NULL-terminated; for each kind of processor before the more
 * general ones. */
const char *const *rps_plan_names(void);

/* The place of the metric of that name; -1: there is none. */
int rps_plan_metric(const struct rps_plan *plan, const char *name);

/* "cpi, dc_miss_rate": the names of all, as many as have room. Returns ret. */
char *rps_plan_metric_names(const struct rps_plan *plan, char *ret, size_t size);

/* An empty plan (no set, no metric) for rps_plan_free; NULL without memory. */
struct rps_plan *rps_plan_new(void);

/* Append an empty set or metric and return it; NULL without memory. Pointers to the plan's other
 * sets or metrics are no longer valid then. */
struct rps_event_set *rps_plan_add_set(struct rps_plan *plan);
struct rps_metric *rps_plan_add_metric(struct rps_plan *plan);

/* Compile all formulas again, and find copies: after sets were merged, split or read from a store.
 * Metrics whose events are all gone stay; they give missing values. */
int rps_plan_compile(struct rps_plan *plan, struct rps_error *err);

void rps_plan_free(struct rps_plan *plan);

/* --- the user's own choice -------------------------------------------------------------------- */

/*
 * A plan of one set for each of the `count` groups (`-e a,b -e c,d`), in which commas separate
 * events, but not inside PMU/.../; a group of more than RPS_SLOT_MAX events becomes several sets of
 * about the same size. An event's ID is made from what was typed, so that formulas can use it
 * ("L1-dcache-loads" gives L1_dcache_loads; formulas may also quote 'L1-dcache-loads'), and its
 * label is what was typed. There are no metrics yet, and nothing is resolved. RPS_USAGE for an
 * empty event, or one that is too long.
 */
int rps_plan_from_events(const char *const *group, int count, struct rps_plan **ret,
                         struct rps_error *err);

/* An ID made from a text in that way, which neither an event of the plan nor a fixed operand has:
 * x, x_2, x_3. */
void rps_plan_new_id(const struct rps_plan *plan, const char *text, char ret[RPS_NAME_SIZE]);

/*
 * Add the metric of "NAME=FORMULA"; NAME is its label and its panel too. A formula alone is its own
 * label, and its name is made as an event's ID. RPS_USAGE when the text is not of that form, the
 * formula does not compile, or the plan has such a metric.
 */
int rps_plan_add_formula(struct rps_plan *plan, const char *text, struct rps_error *err);

/*
 * Give every event that no metric uses, and that is not known not to be counted, a metric of its
 * own: its count per second (for times in ns: the share of elapsed time in percent), so that there
 * is something to draw.
 */
int rps_plan_add_rates(struct rps_plan *plan, struct rps_error *err);

/* Take out of the plan the sets that are counted on request only, and the metrics that need them:
 * what is left is counted when no scenario was chosen. */
void rps_plan_keep_default(struct rps_plan *plan);

/* Names of the scenarios, NULL-terminated: "l1", "l2", "tlb", "ipc", "branches", "topdown",
 * "syscalls". */
const char *const *rps_plan_scenarios(void);

/*
 * Keep of the plan what a scenario looks at: the events with its roles, in its own sets; the plan's
 * metrics that these are enough for; and add the scenario's own metrics, hit ratios and memory
 * density among them, where its events are enough for these. Events of the kernel that the plan
 * does not have are those of the document "software", with its metrics. RPS_USAGE, with the plan
 * unchanged, for an unknown scenario, or when the events are enough for none of its metrics.
 */
int rps_plan_select(struct rps_plan *plan, const char *scenario, struct rps_error *err);

/* --- processors ------------------------------------------------------------------------------- */

/*
 * A plan's `match` lists the processors that it is for, separated by commas, as perf names them:
 * VENDOR-FAMILY-MODEL-STEPPING on x86 (model and stepping hexadecimal: GenuineIntel-6-8F-8), else
 * IMPLEMENTER/PART of /proc/cpuinfo (0x41/0xd08), or that and the revision (0x41/0xd49/r0p3), and
 * `armv8` for every processor of that architecture. * stands for any text, ? for any character.
 *
 * The file is "/proc/cpuinfo" but in tests; without a processor that it names, only plans for any
 * processor match.
 */

/*
 * 1 when the plan is for every kind of processor of this machine, else 0 and a sentence in *why
 * (which may be NULL) that says what it is for, and what this is.
 */
int rps_plan_matches(const struct rps_plan *plan, const char *cpuinfo, struct rps_error *why);

/* Name of the embedded document for this machine: the first that is for some processor and for all
 * kinds of this machine, so "armv8" where fast and slow cores differ; "generic" when there is none.
 * Lives as long as the program. */
const char *rps_plan_for_cpu(const char *cpuinfo);

/* --- resolution ------------------------------------------------------------------------------- */

/*
 * Find the encoding of event->spec and fill type, config*, modifiers. Order: perf's generic names
 * (`instructions`, `L1-dcache-load-misses`, `task-clock`); a role, through the document for this
 * machine (`l1d_miss`); a PMU event of sysfs (`msr/tsc/`, `cpu/event=0x3c,umask=0x1/`; a * in the
 * PMU's name stands for any text, the first PMU in the order of the alphabet is taken); `rNNN`
 * (hexadecimal); a tracepoint (`sched:sched_switch`); libpfm4's names for this processor, where it
 * was there at build time (`INST_RETIRED:ANY_P`). Modifiers `:u` and `:k` may follow each.
 *
 * An event found by its role, which has no role yet, gets role, unit and explain of the document's.
 *
 * Returns 0 with event->state RPS_EVENT_MEASURED when found; 0 with another state and a reason when
 * the name is well-formed but this machine does not have it (no such PMU, tracefs not mounted or
 * not readable, no event with that role); RPS_USAGE when no event has such a name, with names that
 * are much like it. The message begins with event->where.
 *
 * `sys` is the folder of sysfs, "/sys" but in tests.
 */
int rps_event_resolve(struct rps_event *event, const char *sys, struct rps_error *err);

#endif
