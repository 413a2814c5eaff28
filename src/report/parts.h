/* Declarations shared by the parts of the report: the report under construction, and its items. */
#pragma once

#include "rpistat/part_shares.h"
#include "rpistat/phase_output.h"
#include "rpistat/report.h"
#include "rpistat/run_regions.h"
#include "rpistat/run_system.h"
#include "rpistat/tally.h"

#define RPS_REPORT_NUMBER_SIZE  80 /* size of a number in any locale */
#define RPS_REPORT_LABEL_SIZE   (2 * RPS_NAME_SIZE + 16)
#define RPS_REPORT_EXPLAIN_SIZE (RPS_NAME_SIZE + RPS_EXPLAIN_SIZE + 4)

struct rps_report;

/* The clock event, an event or a metric. The plan owns the texts. */
struct rps_report_item {
    const struct rps_event *event;   /* the event; NULL: the item is a metric */
    const struct rps_metric *metric; /* the metric; NULL: the item is an event */
    int set, slot;                   /* set and slot of an event; set -1: the clock event */
    const char *label, *unit, *family;
};

/* The value of an item for a tally. */
struct rps_report_value {
    int is_counted; /* 1: the item is an event and was counted */
    uint64_t count;
    int has_estimate;
    uint64_t estimate; /* scaled estimate, rounded (layout of 2013: rounded down) */
    double number;     /* scaled estimate or metric value; NaN: unknown, or counted too rarely */
    struct rps_interval sure;
};

/* A function that receives a remark of one or more sentences. */
typedef void rps_report_remark(struct rps_report *report, const char *remark);

struct rps_report {
    struct rps_arena *arena;       /* arena of the report (owned) */
    struct rps_document *document; /* the document; NULL: print to `out` */
    FILE *out;                     /* stream for the layout of 2013 */
    int plain;                     /* 1: layout of 2013, without intervals */
    const struct rps_report_options *options;
    struct rps_run run;
    struct rps_plan *plan;
    struct rps_report_item *item; /* the clock event, then the items of one family after another */
    size_t item_count;
    struct rps_cpu_series cpu_series;
    struct rps_tally tally;      /* sum of all CPUs */
    struct rps_tally *cpu_tally; /* tally of each CPU; NULL: not requested */
    int64_t thinned_ns;          /* periods before this time were downsampled; -1: none */
    struct rps_notes gaps, marks;
    struct rps_run_regions regions;
    struct rps_tally *region_tally; /* tally of the periods completely inside each region */
    struct rps_run_summary summary;
    struct rps_part_shares shares; /* shares of functions in the reported part, in one group */
    double cpu_s;                  /* CPU time of the reported part that may have samples */
    struct rps_phase_levels levels;
    const struct rps_phases *phases;     /* displayed phases of the run; NULL: unknown */
    struct rps_error no_phases;          /* error that prevented the phases, if any */
    char remark[RPS_PHASE_REMARK_SIZE];  /* remark that applies to all phases */
    struct rps_profile *profile;         /* profile of the reported part; no metrics if unknown */
    struct rps_part_shares label_shares; /* functions' shares in the part, one group per class */
    const struct rps_run_window *window; /* the part against the rest of the run; NULL: unknown */
    struct rps_run_system system;        /* system readings in the reported part */
    double *operand;                     /* operands of the plan's formulas */
    rps_report_remark *tell;
    int titled;               /* 1: the title of the remarks was printed */
    struct rps_block *fields; /* current block of fields */
};

/* --- items (figures.c) ------------------------------------------------------------------------ */

void rps_report_list(struct rps_report *report);

/* Return the value of an item. For metrics, report->operand must hold the operands of the tally. */
struct rps_report_value rps_report_value(const struct rps_report *report,
                                         const struct rps_report_item *item,
                                         const struct rps_tally *tally);

/* Return the end of the family that begins with item `first`. A family's events precede its
 * metrics. The second function returns the number of periods of the family's sets. */
size_t rps_report_family_end(const struct rps_report *report, size_t first);
uint64_t rps_report_family_periods(const struct rps_report *report, size_t first, size_t end);

/* Format the label of an item. Append the unit unless the item is a number of things. The second
 * function formats the heading of the column per clock event. The third formats "Label:
 * explanation", or "" if explanations are not requested. All return ret. */
char *rps_report_label(const struct rps_report_item *item, char ret[RPS_REPORT_LABEL_SIZE]);
char *rps_report_per_clock(const struct rps_report *report, char ret[RPS_REPORT_LABEL_SIZE]);
/* Return the divisor of the column per clock event, from report->operand: millions of cycles, or
 * ms. Return 0 if the divisor is unknown. */
double rps_report_clock_units(const struct rps_report *report);
char *rps_report_explain(const struct rps_report *report, const struct rps_report_item *item,
                         char ret[RPS_REPORT_EXPLAIN_SIZE]);

/* --- fields (fields.c) ------------------------------------------------------------------------ */

/* Format a number with the locale's separators into RPS_REPORT_NUMBER_SIZE bytes. Return ret. */
char *rps_report_count(char *ret, uint64_t count);
char *rps_report_figure(char *ret, int decimals, double figure);

/* Return the label of the clock event. The second function returns its unit, or "" for cycles. */
const char *rps_report_clock_label(const struct rps_report *report);
const char *rps_report_clock_unit(const struct rps_report *report);

/* Return the mean period in ns if the recorder stretched periods because switching event sets took
 * too long. Otherwise return 0. */
int64_t rps_report_stretched_ns(const struct rps_report *report);

/* Return 1 if the run has so many periods that it must have begun with --fine-start. */
int rps_report_has_fine_start(const struct rps_report *report);

/* Return 1 if only a part of the run is reported. */
int rps_report_is_part(const struct rps_report *report);

/* Return the reason for which the recording ended, or "". */
const char *rps_report_end_reason(const struct rps_run *run);

/* Return the CPU time of the part in seconds. For a whole run whose counted CPU time differs from
 * the command's resource usage, return the larger of both. */
double rps_report_cpu_s(const struct rps_report *report);

/* Return the recorder's CPU time while recording, as a share of the workload's CPU time. Return NaN
 * for unknown times, a part of a run, a simulation, or a recording of CPUs. */
double rps_report_recorder_share(const struct rps_report *report);

/* Format the start of the run in the user's time zone, or "" if it is unknown. Return ret. */
char *rps_report_start(const struct rps_report *report, char ret[RPS_REPORT_NUMBER_SIZE]);

/* Put the fields "System information" and "Run". */
void rps_report_machine(struct rps_report *report);
void rps_report_run(struct rps_report *report);

/* --- parts ------------------------------------------------------------------------------------ */

/* Read the phases for the first lines of the report (answer.c). Missing phases are no error.
 * RPS_FAILED: memory is exhausted. rps_report_answer formats the lines and returns ret. */
int rps_report_read_phases(struct rps_report *report, struct rps_error *err);
/* Read how the time was spent, and the readings of packages (system.c). The second function puts
 * these readings into the document for programs. The errors are those of the store. */
int rps_report_read_system(struct rps_report *report, struct rps_error *err);
void rps_report_system(struct rps_report *report);

/* Format a line of the answer without its line feed, or "" if the line's values were not read.
 * Return ret. The lines are: threads' time by state, bytes read and written, possible deadlock, CPU
 * limit, time that a hypervisor took, machine's run queue, programs in the run queue, readings of
 * packages. */
typedef char *rps_report_line(const struct rps_report *report, char *ret, size_t size);
rps_report_line rps_report_threads, rps_report_io, rps_report_deadlock, rps_report_limit,
    rps_report_steal, rps_report_queue, rps_report_waiting, rps_report_packages;

char *rps_report_answer(const struct rps_report *report, char ret[RPS_REPORT_ANSWER_SIZE]);

/* Print the whole report in the layout of 2013 (layout_2013.c). Returns RPS_FAILED if memory is
 * exhausted or a write failed. */
int rps_report_print(struct rps_report *report, struct rps_error *err);

/* Put blocks of the document (blocks.c): the run's members for programs, the metrics, tables with
 * one row per CPU or region, marks and gaps. */
void rps_report_members(struct rps_report *report);
void rps_report_figures(struct rps_report *report);
void rps_report_cpus(struct rps_report *report, struct rps_document *document);
void rps_report_regions(struct rps_report *report);
void rps_report_notes(struct rps_report *report);

/* Return how the window differs, in one sentence without full stop, in the arena (window.c). */
const char *rps_window_words(struct rps_arena *arena, const struct rps_run_window *window);

/* Compare the reported part with the rest of the run. If the comparison fails, for example because
 * the part is the whole run, the report omits it. rps_report_window() puts the result into the
 * machine-readable formats. */
void rps_report_read_window(struct rps_report *report);
void rps_report_window(struct rps_report *report);

/* Find the samples' functions (shares.c). The second function puts these into the document. */
int rps_report_read_shares(struct rps_report *report, struct rps_error *err);
void rps_report_shares(struct rps_report *report);

/* Format lines of the answer. The first line lists the run's main functions or programs. The second
 * line exists for a run of a whole machine. It lists the classes in which a program used a larger
 * share than in the other classes, largest difference first. */
rps_report_line rps_report_shares_of_run, rps_report_differences;

/* Format the programs' shares of the time that the machine's threads waited for a CPU: "make 30 %,
 * cc1 20 %, 4 others 50 %". Format "" if unknown. Return ret. */
char *rps_report_waits(const struct rps_report *report, char *ret, size_t size);

/* --- remarks (remarks.c) ---------------------------------------------------------------------- */

/* Report all remarks that affect the reliability of the values to `tell`. */
void rps_report_remarks(struct rps_report *report, rps_report_remark *tell);

/* Return why the event was not counted. Return "" if the event was counted, or if a single remark
 * explains why no event was counted. */
const char *rps_report_reason(const struct rps_report *report, const struct rps_event *event,
                              int set, int slot);

/* Output of bursts and outliers in the document of detected phases. */

/* Put the blocks "bursts" and "outliers". The text has one sentence per block instead. */
void rps_phase_outliers(struct rps_document *document, const struct rps_phase_output *output);
