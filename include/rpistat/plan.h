/* A plan defines the contents of a recording: events in sets, and metrics derived from the events.
 *
 * A plan begins as a set file (an .ini file, embedded or the user's own). The recorder resolves the
 * events to encodings and fits the sets to the counters of this machine. Analyses read the plan
 * from the store, where it is part of the run.
 *
 * The set file has the dialect of inih: `;` and `#` begin comments, and an indented line continues
 * the value of the line above.
 *
 *     [plan]                    name, title, explain, match (see rps_plan_matches), base
 *     [family ID]               label: names a block of the report ("DC" gives "DC periods")
 *     [event ID]                event (its spec: see rps_event_resolve), label, role, unit,
 *                               family, explain
 *     [set ID]                  events (IDs, comma-separated, at most RPS_SLOT_MAX), explain,
 *                               default (no: counted only when a scenario uses its events)
 *     [metric ID]               formula, label, unit, family, panel, explain
 *
 * A section may refer only to earlier sections. IDs are names that are valid in formulas. At least
 * one set must be counted by default.
 *
 * If its first section has `base = NAME`, a set file contains only the differences from the
 * embedded set file NAME. A section with an ID of the base changes only the keys that the section
 * contains. The key `events` of a set replaces the base's whole list of events. Sections with other
 * IDs are added to those of the base.
 *
 * Formulas may use the events of the plan's sets (by ID, by spec, or by role). Formulas may also
 * use `clock` (the clock event's count), `seconds` (elapsed time) and `cpu_seconds` (the workload's
 * CPU time). In formulas, the count of an event is its scaled estimate over a time range.
 *
 * A role names what an event counts, independent of the processor. The roles of hardware events are
 * instructions, frontend_stall, backend_stall, l1d_access, l1d_miss, l1i_miss, l2_access, l2_miss,
 * llc_access, llc_miss, dtlb_l1_miss, dtlb_miss, dtlb_store_miss, itlb_l1_miss, branches,
 * branch_misses. The roles of top-down events are slots_retired, slots_frontend, slots_backend,
 * ops_issued. A slot is an opportunity of the processor to start an operation; slots_frontend and
 * slots_backend count slots in which no operation was started. The roles of software events are
 * task_clock, minor_faults, major_faults, context_switches, cpu_migrations, syscalls, block_io. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/error.h"
#include "rpistat/formula.h"
#include "rpistat/interval.h"
#include "rpistat/period.h"

#define RPS_REASON_SIZE 256
#define RPS_WHERE_SIZE  192
#define RPS_MATCH_SIZE  1024

/* Event types, numbered as in Linux's perf ABI. The perf backend asserts that the numbers are
 * equal. */
enum rps_event_type {
    RPS_EVENT_HARDWARE = 0,
    RPS_EVENT_SOFTWARE = 1,
    RPS_EVENT_TRACEPOINT = 2,
    RPS_EVENT_HW_CACHE = 3,
    RPS_EVENT_RAW = 4, /* Larger numbers are PMUs of sysfs. */
};

enum rps_event_state {
    RPS_EVENT_MEASURED,      /* The event is, or was, counted. */
    RPS_EVENT_UNSUPPORTED,   /* The machine, kernel or PMU lacks the event. */
    RPS_EVENT_NOT_PERMITTED, /* The event exists, but this user may not count it. */
};

/* Unit of an event that was made from an imported gauge. The event's count is gauge x time, from
 * which a metric computes the gauge's value. Reports omit the event. */
#define RPS_UNIT_GAUGE "gauge x time"

/* Names of the event states in the store and in the output; the last is NULL. */
extern const char *const rps_event_states[];

struct rps_event {
    char name[RPS_NAME_SIZE];   /* ID: operand of formulas, column of CSV files */
    char spec[RPS_SPEC_SIZE];   /* the event as requested: "L1-dcache-loads", "r0b", "msr/tsc/" */
    char label[RPS_NAME_SIZE];  /* for example "DC misses" */
    char role[RPS_NAME_SIZE];   /* "l1d_miss", or "" for an event without a role */
    char unit[RPS_NAME_SIZE];   /* unit of the count: "events", "cycles", "ns" */
    char family[RPS_NAME_SIZE]; /* label of the event's family, for example "DC"; "" for none */
    char modifiers[8];          /* "u": no kernel events; "k": only kernel events; "": both */
    char explain[RPS_EXPLAIN_SIZE];
    uint32_t type; /* enum rps_event_type, or a PMU's number in sysfs */
    uint64_t config, config1, config2;
    enum rps_event_state state;
    int by_clock;    /* 1 if the clock event's count is used, without another counter */
    int copy_of;     /* for a repeated software event: operand of the first event that counts the
                        same; 0: not repeated */
    int64_t cost_ns; /* time that counting adds to each occurrence of the event; 0: unknown */
    char reason[RPS_REASON_SIZE]; /* reason why the event is not measured; "" if it is measured */
    char where[RPS_WHERE_SIZE];   /* "FILE:LINE" of the event's set file, for messages; or "" */
    /* Counts and times of the event's first two readings, in the run's first two rotations, summed
     * over all CPUs. first_ns, second_ns: 0 if unknown. before_ns: time of the workload before the
     * first reading. */
    int64_t first_count, first_ns, second_count, second_ns, before_ns;
    struct rps_interval whole; /* Estimate for the whole run, read from the store after the run
                                  has ended; otherwise RPS_CERTAINTY_NONE. */
};

/* Return 1 for an event that the kernel counts without a hardware counter. */
static inline int rps_event_is_software(const struct rps_event *event)
{
    return event->type == RPS_EVENT_SOFTWARE || event->type == RPS_EVENT_TRACEPOINT;
}

struct rps_event_set {
    char name[RPS_NAME_SIZE];
    char explain[RPS_EXPLAIN_SIZE];
    int on_request;  /* 1 if the set is counted only for a scenario that uses its events */
    int event_count; /* number of events in the set, 1 to RPS_SLOT_MAX; event[s] is slot s */
    struct rps_event event[RPS_SLOT_MAX];
};

struct rps_metric {
    char name[RPS_NAME_SIZE];
    char label[RPS_NAME_SIZE];
    char unit[RPS_NAME_SIZE];   /* unit of the metric: "%", "PTI", "/s", "" */
    char family[RPS_NAME_SIZE]; /* label of the family whose block in reports has the metric */
    char panel[RPS_NAME_SIZE];  /* title of the plot panel; metrics of one panel share its axis */
    char formula_text[512];
    char explain[RPS_EXPLAIN_SIZE];
    struct rps_formula formula;
    struct rps_interval whole; /* Estimate for the whole ended run, as in struct rps_event. */
};

struct rps_plan {
    struct rps_arena *arena;  /* holds the plan with its sets and metrics; NULL: malloc */
    char name[RPS_NAME_SIZE]; /* for example "arm1176", "generic", "software" */
    char title[RPS_NAME_SIZE * 2];
    char explain[RPS_EXPLAIN_SIZE];
    char match[RPS_MATCH_SIZE];  /* processors that the plan is for; "": any processor */
    struct rps_event clock;      /* the clock event; set by the PMU backend */
    char sampled[RPS_SPEC_SIZE]; /* event that triggers samples (sets leave one counter free); "" */
    int is_incomplete;           /* 1 if Linux stopped counting some processes of the run */
    int set_count;
    struct rps_event_set *set; /* array of the event sets (owned) */
    int metric_count;
    struct rps_metric *metric; /* array of the metrics (owned) */
};

/* --- operands of formulas --------------------------------------------------------------------- */

/* Fixed operands. The operand of event slot s of set n is RPS_OPERAND_EVENTS + n * RPS_SLOT_MAX +
 * s. */
enum rps_operand {
    RPS_OPERAND_CLOCK,
    RPS_OPERAND_SECONDS,
    RPS_OPERAND_CPU_SECONDS,
    RPS_OPERAND_EVENTS,
};

/* rps_operand_set returns an operand's event set (-1: none), rps_operand_slot the slot. */
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

/* Return the operand of that name, or -1. The search order is fixed names, event IDs, specs, roles.
 * The function has the type rps_formula_lookup; `plan` is a const struct rps_plan *. */
int rps_plan_operand(void *plan, const char *name);

/* Return the name of an operand, "" if it is unknown. The name is valid as long as the plan. */
const char *rps_plan_operand_name(const struct rps_plan *plan, int operand);

/* Return the event with the given role, or NULL. *ret_set and *ret_slot (either may be NULL) are
 * the event's set and slot. */
const struct rps_event *rps_plan_role(const struct rps_plan *plan, const char *role, int *ret_set,
                                      int *ret_slot);

/* Return 1 if a formula of the plan is the formula of an imported gauge. Gauges with equal names
 * are comparable between imports, even if their formulas differ. */
int rps_plan_is_gauge(const struct rps_plan *plan, const struct rps_formula *formula);

/* Return 1 if the CPU time is known. The CPU time is unknown if the clock event of an import is
 * elapsed time. */
int rps_plan_knows_cpu_time(const struct rps_plan *plan);

/* --- set files -------------------------------------------------------------------------------- */

/* Parse the text of a set file. `origin` is its file name, for messages that begin "FILE:LINE: ".
 * Formulas are compiled; events are not yet resolved, and the clock event is empty. *ret is a new
 * plan for rps_plan_free. Return RPS_USAGE if the set file has a syntax error, defines a name
 * twice, or refers to an unknown event or family. */
int rps_plan_parse(const char *origin, const char *text, size_t size, struct rps_plan **ret,
                   struct rps_error *err);

/* Load a set file by name. A name with a '/' or the suffix ".ini" is a file; other names are
 * embedded set files ("cortex-a72", "generic", "software"). Errors are those of rps_plan_parse. */
int rps_plan_load(const char *name, struct rps_plan **ret, struct rps_error *err);

/* Return the names of the embedded set files, NULL-terminated. Set files for specific processors
 * come before general set files. */
const char *const *rps_plan_names(void);

/* Return the index of the metric of that name, or -1 if there is none. */
int rps_plan_metric(const struct rps_plan *plan, const char *name);

/* Write the names of all metrics into ret, as many as fit ("cpi, dc_miss_rate"). Return ret. */
char *rps_plan_metric_names(const struct rps_plan *plan, char *ret, size_t size);

/* Return an empty plan (no set, no metric) for rps_plan_free. Return NULL without memory. */
struct rps_plan *rps_plan_new(void);

/* rps_plan_add_set appends an empty set; the other function appends an empty metric. Return NULL if
 * memory runs out. Earlier pointers to sets or metrics of the plan become invalid. */
struct rps_event_set *rps_plan_add_set(struct rps_plan *plan);
struct rps_metric *rps_plan_add_metric(struct rps_plan *plan);

/* Compile all formulas again and find repeated events. Call this function after sets were merged,
 * split or read from a store. A metric that lacks an event is kept without values. */
int rps_plan_compile(struct rps_plan *plan, struct rps_error *err);

/* Free a plan, which may be NULL. If the plan is in an arena, free the arena, so do not call this
 * function for a plan in an arena of the caller. */
void rps_plan_free(struct rps_plan *plan);

/* --- the user's own choice -------------------------------------------------------------------- */

/* Make a plan with one set for each of the `count` groups (`-e a,b -e c,d`). Commas separate
 * events, except inside PMU/.../; a group of more than RPS_SLOT_MAX events becomes several sets of
 * about equal size. An event's label is the typed text; its ID for formulas is made from the label.
 * For example, "L1-dcache-loads" gets the ID L1_dcache_loads; a formula may also use the quoted
 * label, 'L1-dcache-loads'. The plan has no metrics yet, and its events are not resolved. Return
 * RPS_USAGE for an event name that is empty or too long. */
int rps_plan_from_events(const char *const *group, int count, struct rps_plan **ret,
                         struct rps_error *err);

/* Make an ID for formulas from a text. The ID differs from all event IDs of the plan and from the
 * fixed operands; a number is appended if needed: x, x_2, x_3. */
void rps_plan_new_id(const struct rps_plan *plan, const char *text, char ret[RPS_NAME_SIZE]);

/* Add the metric of "NAME=FORMULA"; NAME is also its label and its panel. A formula without a name
 * is its own label, and its name is made by rps_plan_new_id. Return RPS_USAGE if the text has
 * another form, the formula does not compile, or the plan has a metric of that name. */
int rps_plan_add_formula(struct rps_plan *plan, const char *text, struct rps_error *err);

/* Add a metric for each event that has none, so that plots can show the event. The metric is the
 * count per second (for times in ns: the share of elapsed time in percent). Events that cannot be
 * counted get no metric. */
int rps_plan_add_rates(struct rps_plan *plan, struct rps_error *err);

/* Remove the sets that are counted only on request, and the metrics that need these sets. */
void rps_plan_keep_default(struct rps_plan *plan);

/* Return the names of the scenarios, NULL-terminated: "l1", "l2", "tlb", "ipc", "branches",
 * "topdown", "syscalls". */
const char *const *rps_plan_scenarios(void);

/* Reduce the plan to a scenario. The events with the scenario's roles are kept, in new sets. The
 * metrics that need only these events are kept, too. Add the scenario's own metrics if its events
 * suffice, for example hit ratios and memory density. Kernel events that the plan lacks are added
 * from the set file "software", with its metrics. Return RPS_USAGE, with the plan unchanged, if the
 * scenario is unknown, or no metric can be computed from the scenario's events. */
int rps_plan_select(struct rps_plan *plan, const char *scenario, struct rps_error *err);

/* --- processors ------------------------------------------------------------------------------- */

/* The key `match` of a plan lists the plan's processors, separated by commas. On x86 a name is
 * VENDOR-FAMILY-MODEL-STEPPING (model and stepping hexadecimal: GenuineIntel-6-8F-8). On ARM a name
 * is IMPLEMENTER/PART of /proc/cpuinfo (0x41/0xd08), optionally with the revision
 * (0x41/0xd49/r0p3), or `armv8` for all ARMv8 processors. In a name, * matches any text and ?
 * matches any character.
 *
 * `cpuinfo` is "/proc/cpuinfo" except in tests. If this file has no name of a processor, only plans
 * that are for any processor match. */

/* Return 1 if the plan is for all kinds of processors that this machine has, otherwise 0. *why (may
 * be NULL) receives a sentence with the plan's processors and the machine's processor. */
int rps_plan_matches(const struct rps_plan *plan, const char *cpuinfo, struct rps_error *why);

/* Return the name of the embedded set file for this machine. The first set file for specific
 * processors that matches all processors of the machine is chosen. The name is "armv8" if fast and
 * slow cores differ, and "generic" if nothing matches. The name is always valid. */
const char *rps_plan_for_cpu(const char *cpuinfo);

/* --- resolution ------------------------------------------------------------------------------- */

/* Find the encoding of event->spec and fill type, config*, modifiers. The spec is one of these
 * kinds of names, which are tried in order:
 * - perf's generic names (`instructions`, `L1-dcache-load-misses`, `task-clock`)
 * - a role, through the set file for this machine (`l1d_miss`)
 * - a PMU event of sysfs (`msr/tsc/`, `cpu/event=0x3c,umask=0x1/`); a * in the PMU's name matches
 *   any text, and the first PMU in alphabetical order is used
 * - `rNNN` (hexadecimal) or a tracepoint (`sched:sched_switch`)
 * - libpfm4's names for this processor (`INST_RETIRED:ANY_P`), if rpistat was built with libpfm4
 *
 * The modifiers `:u` and `:k` may follow any name. If the spec of an event without a role is a
 * role, the event gets role, unit and explain from the set file.
 *
 * Return 0 with event->state RPS_EVENT_MEASURED if the event is found. If this machine lacks a
 * well-formed event, return 0 with another state and a reason. Examples: the PMU is missing,
 * tracefs cannot be read, or the role has no event here. Return RPS_USAGE if no event has this
 * name. The message begins with event->where and has similar names.
 *
 * `sys` is the directory of sysfs, "/sys" except in tests. */
int rps_event_resolve(struct rps_event *event, const char *sys, struct rps_error *err);

/* Functions that format names and numbers for sentences about metrics. */

struct rps_run;

/* Format a metric's label for the middle of a sentence. A label that is a common noun is changed to
 * lower case; a proper name (a column, a user's metric) is not changed. Return ret. */
char *rps_words_name(char ret[RPS_NAME_SIZE], const char *label, const char *name);

/* Return the label of a run's clock event: "Cycles", "TSC cycles". */
const char *rps_words_clock_label(const struct rps_run *run, const struct rps_plan *plan);

/* Format the name that the clock event has in time series: "tsc_cycles" for a label with blanks,
 * otherwise the label. Return 1 if name and label differ: until version 0.3, series with the label
 * are also written. */
int rps_words_clock_name(char ret[RPS_NAME_SIZE], const char *label);

/* Format a ratio with two digits: "3.1", "31", "310". Return ret. */
char *rps_words_times(char *ret, size_t size, double ratio);

/* Make the text printable and cut it to at most `width` characters. A cut text ends with three
 * points. Return ret. */
char *rps_words_cut(char *ret, size_t size, const char *text, int width);
